"""Limits on size and naming, and the habits that keep the library usable from other programs."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from tests.architecture.package_source import PACKAGE, Module, dotted, functions, modules, nodes

MAX_FUNCTION_LINES = 60
MAX_MODULE_LINES = 500
MAX_ROOM_MODULES = 35
# Words for drawers where things get lost.
FORBIDDEN_NAMES = frozenset(
    f"{stem}{ending}"
    for stem in ("util", "helper", "common", "misc", "manager", "handler")
    for ending in ("", "s")
)
POSSESSIVE_GROUP = re.compile(r"(?:(?<!\\)\)|\\[1-9])(?:[*+?]|\{[0-9]*,?[0-9]*\})\+")
UNFINISHED = re.compile(
    r"\b(TODO|FIXME|XXX|HACK|TBD|WIP)\b|(?i:coming soon|not (yet )?implemented|raise NotImplementedError)"
)

# The process belongs to the program that uses the library: only the command line may read or write these.
PROCESS_NAMES = frozenset({
    "os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv", "os.chdir",
    "os.isatty", "os.get_terminal_size", "os._exit", "os.umask", "shutil.get_terminal_size", "sys.argv",
    "sys.stdin", "sys.stdout", "sys.stderr", "sys.exit", "sys.excepthook", "signal.signal",
    "logging.basicConfig", "locale.setlocale", "warnings.filterwarnings", "warnings.simplefilter",
    "breakpoint", "exit", "input", "print", "quit",
})  # fmt: skip
CLI_ROOM = "cli"
# What these rooms give out is kept, compared and shared between threads.
ROOMS_OF_VALUES = {"objects", "text", "graph", "search", "evaluation", "kb"}
ALLOWED_USES = {
    # A forked child must not run the exit handlers of its parent.
    ("arbor.processes", "os._exit"),
    # Within catch_warnings, around the import of a library that warns.
    ("arbor.text.jieba_dictionary", "warnings.simplefilter"),
}


def process_uses(module: Module) -> Iterator[tuple[int, str]]:
    for node in nodes(module):
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = dotted(node)
            if name in PROCESS_NAMES or name.endswith(".isatty"):
                yield node.lineno, name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if f"{node.module}.{alias.name}" in PROCESS_NAMES:
                    yield node.lineno, f"{node.module}.{alias.name}"


def test_only_the_command_line_touches_the_process_and_the_terminal() -> None:
    wrong = [
        f"{module.at(line)}: {name}"
        for module in modules()
        if module.room != CLI_ROOM
        for line, name in process_uses(module)
        if (module.name, name) not in ALLOWED_USES
    ]
    assert not wrong, "\n".join(wrong)


def test_no_function_is_longer_than_a_screen() -> None:
    wrong = []
    for module in modules():
        for function in functions(module):
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                wrong.append(f"{module.at(function.lineno)}: {function.name} has {lines} lines")
    assert not wrong, "\n".join(wrong)


def test_no_module_is_longer_than_five_hundred_lines() -> None:
    sizes = {module.name: len(module.source.splitlines()) for module in modules()}
    assert {name: size for name, size in sizes.items() if size > MAX_MODULE_LINES} == {}


def test_no_room_has_more_modules_than_one_takes_in() -> None:
    sizes = Counter(module.path.parent for module in modules())
    del sizes[PACKAGE / "cli" / "commands"]  # one for each command, and nothing else
    assert {str(room): size for room, size in sizes.items() if size > MAX_ROOM_MODULES} == {}


def test_no_module_is_a_drawer() -> None:
    last_words = {module.name: re.split(r"[._]", module.name)[-1] for module in modules()}
    wrong = [name for name, word in last_words.items() if word in FORBIDDEN_NAMES]
    assert wrong == []


def outside_of_scopes(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a file that are in no function or class."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def test_imports_stand_at_the_top() -> None:
    wrong = []
    for module in modules():
        at_the_top = set(outside_of_scopes(module.tree))
        wrong += [
            module.at(node.lineno)
            for node in nodes(module)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            or (isinstance(node, ast.Call) and dotted(node.func) == "__import__")
            if node not in at_the_top
        ]
    assert not wrong, f"imports inside functions or classes: {wrong}"


def test_nothing_is_left_unfinished() -> None:
    wrong = [
        f"{module.at(number)}: {line.strip()}"
        for module in modules()
        for number, line in enumerate(module.source.splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 goes on from the wrong place behind such a group: the same file gave other links there."""
    wrong = [
        f"{module.at(node.lineno)}: {node.value!r:.60}"
        for module in modules()
        for node in nodes(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
        if POSSESSIVE_GROUP.search(
            node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        )
    ]
    assert not wrong, "possessive groups:\n" + "\n".join(wrong)


def data_classes(module: Module) -> Iterator[tuple[ast.ClassDef, set[str]]]:
    """The dataclasses of a file, with the options that are switched on."""
    for node in nodes(module):
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
            call = decorator if isinstance(decorator, ast.Call) else None
            if isinstance(node, ast.ClassDef) and dotted(call.func if call else decorator).endswith(
                "dataclass"
            ):
                keywords = call.keywords if call else []
                yield node, {str(k.arg) for k in keywords if getattr(k.value, "value", None) is True}


def test_data_classes_have_slots() -> None:
    wrong = [
        f"{module.at(node.lineno)}: {node.name}"
        for module in modules()
        for node, options in data_classes(module)
        if "slots" not in options
    ]
    assert not wrong, "dataclasses without slots:\n" + "\n".join(wrong)


def test_what_callers_get_is_frozen() -> None:
    wrong = [
        f"{module.at(node.lineno)}: {node.name}"
        for module in modules()
        if module.room in ROOMS_OF_VALUES
        for node, options in data_classes(module)
        if "frozen" not in options and not node.name.startswith("_")
    ]
    assert not wrong, "public dataclasses that can be changed:\n" + "\n".join(wrong)


def test_dataclasses_come_from_one_place() -> None:
    wrong = [
        f"{module.at(node.lineno)}"
        for module in modules()
        if module.room != "records"
        for node in nodes(module)
        if isinstance(node, ast.ImportFrom)
        and node.module == "dataclasses"
        and "dataclass" in {alias.name for alias in node.names}
    ]
    assert not wrong, "half a millisecond at start for each class, take arbor.records:\n" + "\n".join(wrong)
