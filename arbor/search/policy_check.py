"""Whether an `arbor.toml` says what this version understands, in every section.

It may come from a clone. Nothing in it names a program or an address, so what is wrong in it harms nobody; but whoever
wrote it, or cloned it, believes that it is in force, and is told where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from arbor.errors import UsageError, printable
from arbor.graph import policy as ripple
from arbor.graph.rules import parse_rules
from arbor.repo.config import POLICY_FILE, check_keys, check_section, parse_add, parse_chunking, parse_tables
from arbor.search.profiles import choose_profile

_MAX_FAULTS = 8
_MAX_CHARS = 300


def policy_faults(data: bytes) -> tuple[str, ...]:
    """What is wrong with an `arbor.toml`, at most one thing of each section, each in one printable line."""
    try:
        tables = parse_tables(data)
    except UsageError as error:
        return (_line(f"{error.message}; the defaults are in force"),)
    return table_faults(tables)


def table_faults(tables: Mapping[str, Any]) -> tuple[str, ...]:
    """The same of its tables."""
    faults = [fault for section, table in tables.items() if (fault := _fault(section, table))]
    more = len(faults) - _MAX_FAULTS
    return (*faults[:_MAX_FAULTS], *([f"{POLICY_FILE}: and {more} more"] if more > 0 else []))


def _fault(section: str, table: Any) -> str:
    try:
        check_section(section, table)
        _CHECKS[section](table)
    except UsageError as error:
        plain = error.message.removeprefix(f"{POLICY_FILE}: ")
        text = plain if plain.startswith(POLICY_FILE) else f"{POLICY_FILE}: {plain}"
        return _line(f"{text} ({error.hint})" if error.hint else text)
    return ""


def _check_ripple(table: Mapping[str, Any]) -> None:
    check_keys("ripple", table, ripple.KEYS)
    ripple.parse_policy(table)
    text = next((key for key, value in table.items() if isinstance(value, str)), None)
    if text is not None:  # it is understood, and yet no number as the guide has it
        raise UsageError(
            f"{POLICY_FILE}: [ripple] {text} is a text, {table[text]!r}", "write it without quotes"
        )


def _check_none(section: str) -> Callable[[Mapping[str, Any]], None]:
    return lambda table: check_keys(section, table, ())


_CHECKS: dict[str, Callable[[Mapping[str, Any]], object]] = {
    "add": parse_add,
    "chunking": parse_chunking,
    "hooks": parse_rules,
    "ranking": lambda table: choose_profile(table, None),
    "ripple": _check_ripple,
    "search": _check_none("search"),
    "vocabulary": _check_none("vocabulary"),
}


def _line(text: str) -> str:
    return printable(text[:_MAX_CHARS], "?")
