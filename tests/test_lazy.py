"""Patterns that are compiled only when they are used; late modules are tested with processes."""

from __future__ import annotations

import re

import pytest

from arbor import lazy
from arbor.lazy import lazy_pattern


def test_a_pattern_is_compiled_once_and_only_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = re.compile

    def counting(source: str, flags: int) -> re.Pattern[str]:
        compiled.append(source)
        return real(source, flags)

    monkeypatch.setattr(lazy.re, "compile", counting)
    pattern = lazy_pattern("(a)|b")
    assert not compiled
    assert pattern.findall("abc") == ["a", ""]
    assert pattern.findall("xa") == ["a"]
    assert compiled == ["(a)|b"]


def test_a_pattern_has_the_flags_and_the_type_that_it_was_given() -> None:
    assert lazy_pattern("a", re.IGNORECASE).fullmatch("A")
    assert lazy_pattern(rb"\d+").findall(b"1, 22") == [b"1", b"22"]


def test_a_wrong_pattern_or_method_is_said_at_its_first_use() -> None:
    with pytest.raises(re.error):
        lazy_pattern("(").match("x")
    with pytest.raises(AttributeError):
        _ = lazy_pattern("x").no_such_method  # type: ignore[attr-defined]
