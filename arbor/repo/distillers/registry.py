"""Which distillers there are: the built-in ones, and those that other packages declare."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any

from arbor.errors import UsageError
from arbor.repo.distillers.contract import GROUP, Distiller, Parameter
from arbor.repo.distillers.excerpts import FirstSentence, Lead, Outline
from arbor.repo.distillers.keywords import Keywords

BUILT_IN: tuple[Distiller, ...] = (FirstSentence(), Keywords(), Lead(), Outline())


def list_distillers() -> list[str]:
    """The names of all distillers; plugged-in ones are named without being loaded."""
    names = {each.name for each in BUILT_IN}
    return sorted(names | {point.name for point in metadata.entry_points(group=GROUP)})


def find_distiller(name: str) -> Distiller | None:
    """The distiller of a name, or None; a built-in one cannot be replaced."""
    for each in BUILT_IN:
        if each.name == name:
            return each
    for point in metadata.entry_points(group=GROUP):
        if point.name == name:
            loaded: Any = point.load()
            made = loaded() if callable(loaded) and not hasattr(loaded, "distill") else loaded
            found: Distiller = made() if isinstance(made, type) else made
            return found
    return None


def get_distiller(name: str) -> Distiller:
    """The distiller of a name.

    Raises:
        UsageError: when there is none.
    """
    found = find_distiller(name)
    if found is None:
        raise UsageError(f"there is no distiller '{name}'", f"there are: {', '.join(list_distillers())}")
    return found


def read_parameters(distiller: Distiller, given: dict[str, str]) -> dict[str, Parameter]:
    """The distiller's parameters from text, with its defaults for the rest.

    Raises:
        UsageError: when a parameter is unknown or not of its type.
    """
    values: dict[str, Parameter] = dict(distiller.defaults)
    for name, text in given.items():
        if name not in values:
            known = ", ".join(values) or "none"
            raise UsageError(f"'{distiller.name}' has no parameter '{name}'", f"its parameters are: {known}")
        values[name] = _typed(name, text, values[name])
    return dict(sorted(values.items()))


def takes_parameters(distiller: Distiller, given: Mapping[str, object]) -> bool:
    """Whether these are all of the distiller's parameters, each of its type; a recorded core may say anything."""
    types = {name: type(value) for name, value in distiller.defaults.items()}
    return {name: type(value) for name, value in given.items()} == types


def _typed(name: str, text: str, default: Parameter) -> Parameter:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise UsageError(f"'{name}' is true or false, not '{text}'")
        return text.lower() == "true"
    if isinstance(default, int):
        if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1_000_000:
            raise UsageError(f"'{name}' is a whole number from 1 to 1,000,000, not '{text}'")
        return int(text)
    return text
