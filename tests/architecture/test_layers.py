"""Rooms import downwards only, and a heavy or dangerous library has one room that may use it."""

from __future__ import annotations

import sys
import tomllib

import pytest

from tests.architecture.package_source import (
    REPOSITORY,
    Import,
    Module,
    imports,
    module_names,
    modules,
    room_of,
)

# From the bottom up; rooms on one line do not know each other.
LAYERS = (
    ("errors", "lazy", "memory", "records"),
    ("processes",),
    ("arguments", "objects"),
    ("store", "proofs"),
    ("text",),
    ("repo",),
    ("index",),
    ("graph",),
    ("search",),
    ("evaluation", "remote"),
    ("kb",),
    ("arbor",),
    ("cli",),
)
RANK = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
# Stricter than the order: these are useful on their own.
ONLY = {
    "text": {"text", "objects", "errors", "lazy", "records"},
    "objects": {"objects", "errors", "lazy", "records"},
    "proofs": {"proofs", "objects", "errors", "records"},
    "errors": {"errors"},
    "lazy": {"lazy"},
    "memory": {"memory"},
    "records": {"records"},
    "processes": {"processes", "lazy"},
    "arguments": {"arguments", "errors"},
}

# import name -> (distribution, the rooms that may import it)
THIRD_PARTY = {
    "anyio": ("anyio", {"remote"}),
    "backports": ("backports.zstd", {"store"}),
    "blake3": ("blake3", {"objects", "store", "repo", "graph", "remote"}),
    "click": ("click", {"cli"}),
    "cryptography": ("cryptography", {"repo"}),
    "httpcore": ("httpcore", {"remote"}),
    "jieba": ("jieba", {"text"}),
    "msgpack": ("msgpack", {"objects", "store", "repo", "index", "graph", "remote"}),
    "numpy": ("numpy", {"index", "graph", "search"}),
    "obstore": ("obstore", {"remote"}),
    "platformdirs": ("platformdirs", {"text", "cli"}),
    "pypdf": ("pypdf", {"text"}),
    "rich": ("rich", {"cli"}),
    "selectolax": ("selectolax", {"text"}),
    "tomlkit": ("tomlkit", {"repo", "cli"}),
    "starlette": ("starlette", {"remote", "cli"}),
    "snowballstemmer": ("snowballstemmer", {"text"}),
    "Stemmer": ("PyStemmer", {"text"}),
    "uvicorn": ("uvicorn", {"remote", "cli"}),
    "yaml": ("PyYAML", {"text"}),
}
STANDARD_LIBRARY_OWNERS = {
    "sqlite3": {"index"},
    "pickle": {"processes"},  # between a process and the children it forked, nowhere else
    "marshal": set(),
    "shelve": set(),
    "readline": {"cli"},
    "getpass": {"cli"},
    "curses": {"cli"},
    "tty": {"cli"},
    "argparse": set(),
    "optparse": set(),
}
ZSTD_MODULE = "arbor.store.compression"


def every_import() -> list[tuple[Module, Import]]:
    return [(module, found) for module in modules() for found in imports(module)]


def test_every_room_has_its_place() -> None:
    unknown = {module.room for module in modules()} - RANK.keys()
    assert not unknown, f"rooms that LAYERS does not know: {sorted(unknown)}"


def test_every_table_names_rooms_that_there_are() -> None:
    named = RANK.keys() | ONLY.keys()
    named |= set().union(*ONLY.values(), *STANDARD_LIBRARY_OWNERS.values())
    named |= set().union(*(rooms for _, rooms in THIRD_PARTY.values()))
    absent = named - {module.room for module in modules()}
    assert not absent, f"no rooms: {sorted(absent)}"


def test_rooms_import_downwards_only() -> None:
    wrong = []
    for module, found in every_import():
        if found.target.split(".")[0] != "arbor":
            continue
        target = room_of(found.target)
        if target == module.room or (target == "arbor" and found.target == "arbor"):
            continue  # `from arbor import __version__` asks for a constant, not for a room
        if target in RANK and RANK[target] >= RANK[module.room]:
            wrong.append(f"{module.at(found.line)}: {module.room} imports {target}")
        elif target not in ONLY.get(module.room, {target}):
            wrong.append(
                f"{module.at(found.line)}: {module.room} may import only {sorted(ONLY[module.room])}"
            )
    assert not wrong, "\n".join(wrong)


def test_lower_rooms_take_nothing_but_the_version_from_the_front_page() -> None:
    wrong = [
        module.at(found.line)
        for module, found in every_import()
        if found.target == "arbor"
        and RANK[module.room] < RANK["arbor"]
        and "import __version__" not in module.source.splitlines()[found.line - 1]
    ]
    assert not wrong, f"imports of the front page from below: {wrong}"


def test_no_file_imports_itself_through_others() -> None:
    edges = {
        module.name: sorted(
            {f.target for f in imports(module) if f.at_run_time and f.target in module_names()}
        )
        for module in modules()
    }
    done: set[str] = set()

    def find_cycle(name: str, trail: tuple[str, ...]) -> tuple[str, ...] | None:
        if name in trail:
            return (*trail[trail.index(name) :], name)
        if name in done:
            return None
        for target in edges[name]:
            cycle = find_cycle(target, (*trail, name))
            if cycle:
                return cycle
        done.add(name)
        return None

    for name in edges:
        cycle = find_cycle(name, ())
        assert cycle is None, " -> ".join(cycle or ())


def test_each_library_stays_in_its_rooms() -> None:
    wrong = []
    for module, found in every_import():
        top = found.target.split(".")[0]
        if top == "arbor":
            continue
        if top in sys.stdlib_module_names:
            allowed = STANDARD_LIBRARY_OWNERS.get(top)
        elif top == "compression":  # the standard library's from Python 3.14 on
            allowed = {"store"}
        else:
            allowed = THIRD_PARTY.get(top, ("", set()))[1]
        if allowed is not None and module.room not in allowed:
            wrong.append(f"{module.at(found.line)}: {module.room} imports {top}")
    assert not wrong, "\n".join(wrong)


def test_one_file_knows_which_zstd_there_is() -> None:
    users = {module.name for module, found in every_import() if "zstd" in found.target}
    assert users <= {ZSTD_MODULE}, f"zstd is imported by {sorted(users)}"


def declared_distributions() -> tuple[set[str], set[str]]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def names(requirements: list[str]) -> set[str]:
        return {requirement.split(";")[0].split("[")[0].split(">")[0].strip() for requirement in requirements}

    core = names(project["dependencies"])
    extras = set().union(*(names(value) for value in project["optional-dependencies"].values()))
    return core, extras


def test_what_is_imported_is_declared() -> None:
    core, extras = declared_distributions()
    used = {f.target.split(".")[0] for _, f in every_import()} & THIRD_PARTY.keys()
    undeclared = {THIRD_PARTY[name][0] for name in used} - core - extras
    assert not undeclared, f"imported and not in pyproject.toml: {sorted(undeclared)}"


def test_what_is_declared_is_imported() -> None:
    core, _ = declared_distributions()
    used = {f.target.split(".")[0] for _, f in every_import()} & THIRD_PARTY.keys()
    unused = core - {THIRD_PARTY[name][0] for name in used}
    assert not unused, f"in pyproject.toml and imported nowhere: {sorted(unused)}"


@pytest.mark.parametrize(("room", "others"), sorted(ONLY.items()))
def test_the_rooms_that_stand_alone_are_named_right(room: str, others: set[str]) -> None:
    assert room in RANK
    assert others <= RANK.keys()
