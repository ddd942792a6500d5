"""Which distillers there are: the built-in ones, and those that other packages declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from arbor.errors import UsageError
from arbor.lazy import lazy_module
from arbor.objects.paths import path_fault
from arbor.repo.distillation.distillers.contract import (
    GROUP,
    MAX_TEXT_BYTES,
    Distillate,
    Distiller,
    Parameter,
    Parameters,
)
from arbor.repo.distillation.distillers.excerpts import FirstSentence, Lead, Outline
from arbor.repo.distillation.distillers.keywords import Keywords

if TYPE_CHECKING:
    from importlib import metadata
else:  # only a distiller that is not built in is looked for
    metadata = lazy_module("importlib.metadata")

_INT_MIN, _INT_MAX = 1, 1_000_000
_NOT_USED = "does not say which of its passages it used"
BUILT_IN: tuple[Distiller, ...] = (FirstSentence(), Keywords(), Lead(), Outline())


def list_distillers() -> list[str]:
    """The names of all distillers; plugged-in ones are named without being loaded."""
    names = {each.name for each in BUILT_IN}
    return sorted(names | {point.name for point in metadata.entry_points(group=GROUP)})


def find_distiller(name: str) -> Distiller | None:
    """The distiller of a name, or None; a built-in one cannot be replaced.

    Raises:
        UsageError: when a plugged-in one cannot be loaded.
    """
    for each in BUILT_IN:
        if each.name == name:
            return each
    for point in metadata.entry_points(group=GROUP):
        if point.name == name:
            return _load(point)
    return None


def _load(point: metadata.EntryPoint) -> Distiller:
    try:
        loaded: Any = point.load()
        made = loaded() if callable(loaded) and not hasattr(loaded, "distill") else loaded
        found: Distiller = made() if isinstance(made, type) else made
        fault = _fault_of(point.name, found)
    except Exception as error:
        raise UsageError(f"the distiller '{point.name}' cannot be loaded: {told(error)}") from error
    if fault:
        raise UsageError(
            f"the distiller '{point.name}' does not keep its contract: {fault}",
            "ask who wrote it to follow arbor/repo/distillation/distillers/contract.py",
        )
    return found


def _fault_of(name: str, found: Any) -> str:
    """What of a plugged-in object is not as its contract has it; "" for nothing."""
    if found.name != name or path_fault(name):
        return f"its name is {found.name!r}, which is not the entry point's, or no name"
    if type(found.version) is not int or not _INT_MIN <= found.version <= _INT_MAX:
        return f"its version is {found.version!r} and no whole number from {_INT_MIN}"
    if type(found.deterministic) is not bool:
        return "it does not say whether it is deterministic"
    for parameter, value in dict(found.defaults).items():
        if type(parameter) is not str or type(value) not in (int, str, bool):
            return (
                f"its default for {parameter!r} is {value!r}, and neither a whole number, a text nor a truth"
            )
    missing = [each for each in ("uses_statistics", "distill") if not callable(getattr(found, each))]
    return f"its {missing[0]} cannot be called" if missing else ""


def asks_statistics(distiller: Distiller, parameters: Parameters) -> bool:
    """Whether a distiller wants statistics of the whole knowledge base; raises UsageError when it cannot say."""
    try:
        return bool(distiller.uses_statistics(parameters))
    except Exception as error:
        raise UsageError(f"the distiller '{distiller.name}' fails: {told(error)}") from error


def fault_of_distillate(made: Any, passages: int) -> str:
    """What of a distillate is not as the contract has it, for a document of so many passages; "" for nothing."""
    if not isinstance(made, Distillate) or type(made.text) is not str:
        return "makes something else than a text"
    try:
        size = len(made.text.encode("utf-8"))
    except UnicodeEncodeError:
        return "makes a text that is not Unicode"
    if not made.text.strip() or size > MAX_TEXT_BYTES:
        return f"makes a text that is empty or larger than {MAX_TEXT_BYTES:,} bytes"
    used = list(made.used) if isinstance(made.used, (tuple, list)) else []
    is_position = all(type(index) is int and 0 <= index < passages for index in used)
    return "" if used and is_position and used == sorted(set(used)) else _NOT_USED


def told(error: Exception) -> str:
    """What went wrong in somebody else's code, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".removesuffix(": ")


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


def takes(distiller: Distiller, parameters: Mapping[str, object]) -> bool:
    """Whether recorded parameters are such as a distiller is given: all of its names, each with a possible value."""
    defaults = distiller.defaults
    return parameters.keys() == defaults.keys() and all(
        type(value) is type(defaults[name]) and (type(value) is not int or _INT_MIN <= value <= _INT_MAX)
        for name, value in parameters.items()
    )


def _typed(name: str, text: str, default: Parameter) -> Parameter:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise UsageError(f"'{name}' is true or false, not '{text}'")
        return text.lower() == "true"
    if isinstance(default, int):
        if not text.isascii() or not text.isdigit() or not _INT_MIN <= int(text[:20]) <= _INT_MAX:
            raise UsageError(f"'{name}' is a whole number from {_INT_MIN} to {_INT_MAX:,}, not '{text}'")
        return int(text)
    return text
