"""What a document says of its own quality and age, as numbers from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arbor.index.dates import find_date

UNSTATED = 0.5
_WORDS = {
    "verified": 1.0, "stable": 1.0, "final": 1.0, "published": 0.9, "reviewed": 0.9, "accepted": 0.9, "high": 1.0,
    "active": 0.7, "medium": 0.5, "growing": 0.5, "draft": 0.3, "wip": 0.3, "seedling": 0.3, "low": 0.2, "stub": 0.2,
    "deprecated": 0.1, "obsolete": 0.1, "rejected": 0.1, "withdrawn": 0.1, "evergreen": 1.0, "budding": 0.5,
}  # fmt: skip
_SOURCE_KINDS = {"core": 0.6, "surface": UNSTATED}


def quality_of(front_matter: Mapping[str, Any], kind: str = "surface") -> float:
    """Quality from 0 to 1: the mean of `quality`, `confidence`, `status` and `verified` where they are given.

    Numbers may be written from 0 to 1, to 10 or to 100, or with a per cent sign. A document that says nothing
    has the value of its kind.
    """
    stated = [
        value
        for key, raw in front_matter.items()
        if key.lower() in ("quality", "confidence", "status", "verified")
        for value in [_read(raw)]
        if value is not None
    ]
    return sum(stated) / len(stated) if stated else _SOURCE_KINDS.get(kind, UNSTATED)


def _read(raw: Any) -> float | None:
    if isinstance(raw, bool):
        return 1.0 if raw else 0.2
    if isinstance(raw, str) and raw.strip().casefold() in _WORDS:
        return _WORDS[raw.strip().casefold()]
    text = str(raw).strip()
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        return None
    if not 0.0 <= value <= 100.0:
        return None
    if text.endswith("%") or value > 10.0:
        return value / 100.0
    return value / 10.0 if value > 1.0 else value


def freshness_of(dated: int | None, newest: int | None, half_life_days: float) -> float:
    """Freshness from 0 to 1: one half after each half-life; `UNSTATED` for a document without a date.

    Args:
        dated: Seconds since 1970 UTC.
        newest: The same, of the newest document: what age is counted back from. The clock would give the same
            documents another ranking every moment.
        half_life_days: Days.
    """
    if dated is None or newest is None:
        return UNSTATED
    age_days = max(0, newest - dated) / 86_400.0
    return float(0.5 ** min(age_days / half_life_days, 1_000.0))


def date_of(front_matter: Mapping[str, Any]) -> int | None:
    """Seconds since 1970 UTC of the document's own date, None where it has none."""
    return find_date(front_matter)
