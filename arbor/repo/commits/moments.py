"""Moments and ages as people type them: `2026-01-31`, `yesterday`, `3 days ago`, `90d`."""

from __future__ import annotations

import contextlib
import re
import time
from datetime import datetime

from arbor.errors import UsageError
from arbor.lazy import lazy_pattern

_DAY = 24 * 3600
UNIT_SECONDS = {"h": 3600, "d": _DAY, "w": 7 * _DAY, "m": 30 * _DAY, "y": 365 * _DAY}
"""Hours, days, weeks, months and years, as in `30d`."""
_SECONDS = {"second": 1, "minute": 60}
_AGO = lazy_pattern(r"^([0-9]{1,6})\s*(second|minute|hour|day|week|month|year)s?(?:\s+ago)?$")
_SHORT_AGO = lazy_pattern(r"^([0-9]{1,6})([hdwmy])$")
_WITH_ZONE = lazy_pattern(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{4,})\s*(Z|[+-][0-9]{2}:?[0-9]{2})", re.IGNORECASE
)
_DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y-%m",
    "%Y",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M",
)


def parse_moment(text: str, now: float | None = None) -> int:
    """Seconds since 1970 of `2026-01-31`, `2026-01-31T09:30:00+01:00`, `yesterday`, `3 days ago`, `12h`, `30d`.

    Raises:
        UsageError: when it is no moment in time.
    """
    now = time.time() if now is None else now
    plain = " ".join(text.strip().lower().replace(".", " ").replace("_", " ").split())
    if plain in ("now", "yesterday"):
        return int(now) - (_DAY if plain == "yesterday" else 0)
    if plain == "today":
        return int(time.mktime((*time.localtime(now)[:3], 0, 0, 0, 0, 0, -1)))
    ago = _SHORT_AGO.match(plain) or _AGO.match(plain)
    if ago:
        number, unit = ago.groups()
        return int(now) - int(number) * (_SECONDS.get(unit) or UNIT_SECONDS[unit[0]])
    zoned = _WITH_ZONE.fullmatch(text.strip())
    if zoned:
        with contextlib.suppress(ValueError, OverflowError):
            return int(datetime.fromisoformat("".join(zoned.groups()).upper()).timestamp())
    for form in _DATE_FORMATS:
        with contextlib.suppress(ValueError, OverflowError):
            return int(time.mktime(time.strptime(text.strip(), form)))
    raise UsageError(f"'{text}' is not a date", "write it like 2026-01-31, yesterday, '3 days ago' or 30d")


def parse_age(text: str) -> float:
    """Seconds of `90d`, `12h`, `2w`, `6m`, `1y`, or `0`.

    Raises:
        UsageError: when it is not an age.
    """
    number, unit = (text[:-1], text[-1:].lower()) if text != "0" else ("0", "h")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if unit not in UNIT_SECONDS or not 0 <= value < 1e9:
        raise UsageError(f"'{text}' is not an age", "write it like 12h, 90d, 2w, 6m (months) or 1y")
    return value * UNIT_SECONDS[unit]
