"""Whoever opens a room reads in one sentence what it is for, and every public name says what for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.package_source import Module, dotted, modules

Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def public_definitions(
    scope: ast.Module | ast.ClassDef, prefix: str = ""
) -> Iterator[tuple[str, Documented]]:
    for node in scope.body:
        if not isinstance(
            node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        ) or node.name.startswith("_"):
            continue
        decorators = {
            dotted(d.func if isinstance(d, ast.Call) else d).split(".")[-1] for d in node.decorator_list
        }
        if decorators & {"overload", "override", "setter", "deleter"}:
            continue
        yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from public_definitions(node, f"{prefix}{node.name}.")


def rooms() -> list[Module]:
    return [module for module in modules() if module.path.name == "__init__.py"]


def test_each_rooms_first_page_says_in_one_sentence_what_it_is_for() -> None:
    wrong = []
    for module in rooms():
        sentence = (ast.get_docstring(module.tree) or "").strip()
        first_paragraph = sentence.split("\n\n")[0]
        if not first_paragraph.endswith(".") or len(first_paragraph) < 12:
            wrong.append(f"{module.at(1)}: {first_paragraph!r}")
    assert not wrong, "\n".join(wrong)


def test_every_module_and_public_name_is_documented() -> None:
    wrong = []
    for module in modules():
        if not ast.get_docstring(module.tree):
            wrong.append(f"{module.at(1)}: the module")
        wrong += [
            f"{module.at(node.lineno)}: {name}"
            for name, node in public_definitions(module.tree)
            if not ast.get_docstring(node)
        ]
    assert not wrong, "without a docstring:\n" + "\n".join(wrong)


def test_docstrings_begin_with_a_sentence() -> None:
    wrong = []
    for module in modules():
        for name, node in public_definitions(module.tree):
            first_line = (ast.get_docstring(node) or "x.").split("\n\n")[0].rstrip()
            if first_line[-1] not in ".:?!)`":
                wrong.append(f"{module.at(node.lineno)}: {name}: {first_line!r}")
    assert not wrong, "\n".join(wrong)
