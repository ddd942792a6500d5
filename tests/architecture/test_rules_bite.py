"""Each rule refuses an example of what it is there to refuse, so that none of them is asleep."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.architecture import package_source, test_docstrings, test_layers, test_shape
from tests.architecture.package_source import PACKAGE, Module

LONG_FUNCTION = "def long():\n" + "    x = 1\n" * 60
TYPED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import arbor.kb\n"


def written(name: str, source: str) -> Module:
    inner = Path(*name.split(".")[1:])
    path = PACKAGE / inner.with_suffix(".py") if name.count(".") > 1 else PACKAGE / inner / "__init__.py"
    return Module(name, path, source, ast.parse(source))


def assert_refused(
    rule: Callable[[], None], examples: tuple[Module, ...], patch: pytest.MonkeyPatch, *, refused: bool = True
) -> None:
    names = frozenset(module.name for module in examples) | {"arbor.kb", "arbor.repo.stage"}
    for place in (package_source, sys.modules[rule.__module__]):
        patch.setattr(place, "modules", lambda: examples, raising=False)
        patch.setattr(place, "module_names", lambda: names, raising=False)
    if refused:
        with pytest.raises(AssertionError):
            rule()
    else:
        rule()


@pytest.mark.parametrize(
    ("rule", "name", "source"),
    [
        (test_layers.test_every_room_has_its_place, "arbor.attic.box", ""),
        (test_layers.test_every_table_names_rooms_that_there_are, "arbor.store.odb", ""),
        (test_layers.test_rooms_import_downwards_only, "arbor.store.odb", "import arbor.repo.stage"),
        (test_layers.test_rooms_import_downwards_only, "arbor.store.odb", "from arbor.repo import stage"),
        (test_layers.test_rooms_import_downwards_only, "arbor.store.odb", "from arbor import kb"),
        (test_layers.test_rooms_import_downwards_only, "arbor.store.odb", TYPED),
        (test_layers.test_rooms_import_downwards_only, "arbor.text.links", "import arbor.store.odb"),
        (test_layers.test_rooms_import_downwards_only, "arbor.evaluation.runner", "import arbor.remote.http"),
        (
            test_layers.test_rooms_import_downwards_only,
            "arbor.graph.edges",
            "ROOMS = {'add': 'arbor.cli.add'}\nimportlib.import_module(ROOMS[name])",
        ),
        (
            test_layers.test_lower_rooms_take_nothing_but_the_version_from_the_front_page,
            "arbor.repo.stage",
            "from arbor import open",
        ),
        (test_layers.test_each_library_stays_in_its_rooms, "arbor.search.query", "import sqlite3"),
        (test_layers.test_each_library_stays_in_its_rooms, "arbor.kb", "from rich.table import Table"),
        (test_layers.test_each_library_stays_in_its_rooms, "arbor.kb", "import requests"),
        (test_layers.test_each_library_stays_in_its_rooms, "arbor.repo.stage", "import pickle"),
        (test_layers.test_each_library_stays_in_its_rooms, "arbor.kb", "numpy = lazy_module('numpy')"),
        (
            test_layers.test_one_file_knows_which_zstd_there_is,
            "arbor.store.packs",
            "from backports import zstd",
        ),
        (test_layers.test_what_is_declared_is_imported, "arbor.kb", ""),
        (
            test_shape.test_only_the_command_line_touches_the_process_and_the_terminal,
            "arbor.kb",
            "print('hello')",
        ),
        (
            test_shape.test_only_the_command_line_touches_the_process_and_the_terminal,
            "arbor.kb",
            "import os\nos.environ['X']",
        ),
        (
            test_shape.test_only_the_command_line_touches_the_process_and_the_terminal,
            "arbor.kb",
            "from os import environ",
        ),
        (
            test_shape.test_only_the_command_line_touches_the_process_and_the_terminal,
            "arbor.kb",
            "out.isatty()",
        ),
        (test_shape.test_no_function_is_longer_than_a_screen, "arbor.kb", LONG_FUNCTION),
        (test_shape.test_no_pattern_repeats_a_group_possessively, "arbor.kb", "X = rb'(?:ab?c)*+'"),
        (test_shape.test_no_pattern_repeats_a_group_possessively, "arbor.kb", "X = f'({y}){{3,}}+'"),
        (test_shape.test_no_module_is_longer_than_five_hundred_lines, "arbor.kb", "x = 1\n" * 501),
        (test_shape.test_no_module_is_a_drawer, "arbor.store.path_utils", ""),
        (test_shape.test_imports_stand_at_the_top, "arbor.kb", "def f():\n    import json"),
        (test_shape.test_nothing_is_left_unfinished, "arbor.kb", "x = 1  # TODO: think"),
        (test_shape.test_nothing_is_left_unfinished, "arbor.kb", "raise NotImplementedError"),
        (test_shape.test_data_classes_have_slots, "arbor.store.odb", "@dataclass\nclass Hit: ..."),
        (
            test_shape.test_data_classes_have_slots,
            "arbor.store.odb",
            "@dataclass(frozen=True)\nclass Hit: ...",
        ),
        (
            test_shape.test_dataclasses_come_from_one_place,
            "arbor.store.odb",
            "from dataclasses import dataclass, field",
        ),
        (
            test_shape.test_what_callers_get_is_frozen,
            "arbor.kb",
            "@dataclasses.dataclass(slots=True)\nclass Hit: ...",
        ),
        (
            test_docstrings.test_each_rooms_first_page_says_in_one_sentence_what_it_is_for,
            "arbor.text",
            '"""Text"""',
        ),
        (test_docstrings.test_every_module_and_public_name_is_documented, "arbor.kb", "x = 1"),
        (
            test_docstrings.test_every_module_and_public_name_is_documented,
            "arbor.kb",
            '"""Desk."""\nclass Desk:\n    """A desk."""\n    def sit(self): ...',
        ),
        (test_docstrings.test_docstrings_begin_with_a_sentence, "arbor.kb", 'def f():\n    """no end"""'),
    ],
)
def test_a_rule_refuses(
    rule: Callable[[], None], name: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_refused(rule, (written(name, source),), monkeypatch)


@pytest.mark.parametrize(
    ("rule", "name", "source"),
    [
        (test_layers.test_rooms_import_downwards_only, "arbor.kb", "import arbor.search.query, arbor.errors"),
        (
            test_layers.test_rooms_import_downwards_only,
            "arbor.text.links",
            "from arbor.errors import UsageError",
        ),
        (
            test_layers.test_lower_rooms_take_nothing_but_the_version_from_the_front_page,
            "arbor.repo.stage",
            "from arbor import __version__",
        ),
        (test_layers.test_each_library_stays_in_its_rooms, "arbor.index.reader", "import sqlite3"),
        (
            test_shape.test_only_the_command_line_touches_the_process_and_the_terminal,
            "arbor.cli.output",
            "import os, sys\nsys.stdout.isatty() and os.environ",
        ),
        (test_shape.test_no_function_is_longer_than_a_screen, "arbor.kb", LONG_FUNCTION[:-10]),
        (test_shape.test_imports_stand_at_the_top, "arbor.kb", TYPED),
        (
            test_shape.test_what_callers_get_is_frozen,
            "arbor.kb",
            "@dataclass(frozen=True, slots=True)\nclass Hit: ...\n@dataclass\nclass _State: ...",
        ),
        (
            test_docstrings.test_every_module_and_public_name_is_documented,
            "arbor.kb",
            '"""Desk."""\ndef _private(): ...\nclass Desk:\n    """A desk."""\n    def __len__(self): ...',
        ),
    ],
)
def test_a_rule_lets_through(
    rule: Callable[[], None], name: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = written(name, source)
    front = written("arbor", '"""arbor: git for knowledge."""')
    assert_refused(rule, (module, front), monkeypatch, refused=False)


def test_files_that_import_each_other_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    one = written("arbor.repo.one", "from arbor.repo import two")
    two = written("arbor.repo.two", "import arbor.repo.three")
    three = written("arbor.repo.three", "from arbor.repo.one import x")
    rule = test_layers.test_no_file_imports_itself_through_others
    assert_refused(rule, (one, two, three), monkeypatch)
    assert_refused(rule, (one, two, written("arbor.repo.three", "")), monkeypatch, refused=False)
