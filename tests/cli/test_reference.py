"""The reference is what the commands and the library say of themselves."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import pytest

from arbor import errors
from tests.cli.harness import REPOSITORY

FOLDER = REPOSITORY / "docs" / "reference"


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_reference", FOLDER / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["commands.md", "exit-codes.md", "python.md"])
def test_the_pages_are_current(name: str) -> None:
    made = load_generator().pages()[name]
    kept = (FOLDER / name).read_text(encoding="utf-8")
    assert kept == made, f"docs/reference/{name} is out of date; run: python docs/reference/generate.py"


def test_the_generator_makes_these_pages_and_no_others() -> None:
    assert set(load_generator().pages()) == {"commands.md", "exit-codes.md", "python.md"}


def test_every_variable_of_the_environment_is_on_the_page() -> None:
    page = (FOLDER / "commands.md").read_text(encoding="utf-8")
    named = {
        name
        for module in (REPOSITORY / "arbor").rglob("*.py")
        for name in re.findall(r'"(ARBOR_[A-Z_]+)"', module.read_text(encoding="utf-8"))
    }
    assert "ARBOR_CONFIG" in named
    internal = {"ARBOR_COMPLETE"}  # set by the completion scripts themselves
    assert {name for name in named if f"`{name}`" not in page} <= internal


def test_every_error_is_on_the_page() -> None:
    page = (FOLDER / "exit-codes.md").read_text(encoding="utf-8")
    for kind in vars(errors).values():
        is_error = isinstance(kind, type) and issubclass(kind, errors.ArborError)
        if is_error and kind is not errors.ArborError:
            assert f"| {kind.exit_code} | `{kind.__name__}` |" in page
