"""The package as syntax trees: what the architecture tests look at, read once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "arbor"
LAZY_NAME = re.compile(r"arbor(?:\.[a-z_]+)+")
LOADERS = frozenset({"import_module", "lazy_module"})
LAZY_LOADING = LOADERS | {"importlib"}


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the package."""

    name: str  # dotted: arbor.text.reading
    path: Path
    source: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The room that the file belongs to; a file beside the rooms is a room of its own."""
        parts = self.name.split(".")
        if parts == ["arbor"]:
            return "arbor"
        return "cli" if parts[1] == "__main__" else parts[1]

    def at(self, line: int) -> str:
        """Where a line lies, as an editor understands it."""
        return f"{self.path.relative_to(REPOSITORY)}:{line}"


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module, resolved as far as the names in the repository allow."""

    target: str
    line: int
    at_run_time: bool  # False below `if TYPE_CHECKING:`


@cache
def modules() -> tuple[Module, ...]:
    """Every file of the package, by name."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("arbor", *path.relative_to(PACKAGE).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        source = path.read_text(encoding="utf-8")
        found.append(Module(name, path, source, ast.parse(source, str(path))))
    return tuple(found)


@cache
def nodes(module: Module) -> tuple[ast.AST, ...]:
    """Every node of a file's tree, walked once for all rules."""
    return tuple(ast.walk(module.tree))


@cache
def module_names() -> frozenset[str]:
    """The dotted names of every file of the package."""
    return frozenset(module.name for module in modules())


@cache
def imports(module: Module) -> tuple[Import, ...]:
    """What a file imports anywhere in it: by statement, by a loading function, by name in a lazy registry."""
    return tuple(_iter_imports(module))


def _iter_imports(module: Module) -> Iterator[Import]:
    typing_only = {id(node) for block in _type_checking_blocks(module) for node in ast.walk(block)}
    for node in nodes(module):
        run_time = id(node) not in typing_only
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, run_time) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                longer = f"{node.module}.{alias.name}"
                foreign = node.module.split(".")[0] != "arbor"
                yield Import(
                    longer if foreign or longer in module_names() else node.module, node.lineno, run_time
                )
        elif isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] in LOADERS:
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield Import(argument.value, node.lineno, at_run_time=False)
    if any(isinstance(node, ast.Name) and node.id in LAZY_LOADING for node in nodes(module)):
        for name, line in _string_constants(module):
            if LAZY_NAME.fullmatch(name):
                yield Import(name, line, at_run_time=False)


def room_of(target: str) -> str:
    """The room that a dotted name of the package belongs to."""
    parts = target.split(".")
    return parts[1] if len(parts) > 1 else "arbor"


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file, nested ones too."""
    for node in nodes(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def dotted(node: ast.AST) -> str:
    """`os.environ` for that expression; empty for anything that is no chain of names."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def _string_constants(module: Module) -> Iterator[tuple[str, int]]:
    for node in nodes(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno


def _type_checking_blocks(module: Module) -> Iterator[ast.stmt]:
    for node in nodes(module):
        if isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING"):
            yield from node.body
