"""When a document says it is from: the dates that people write into front matter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from arbor.lazy import lazy_pattern

DATE_KEYS = ("updated", "modified", "last_modified", "lastmod", "date", "published", "created")
"""Front matter keys that date a document; the first one that holds a date counts."""

# A year, a month or a day; where only the order could tell the day from the month (3/4/2024), it is no date.
_DAY = lazy_pattern(
    r"""([12][0-9]{3})(?:
        ([-/.]) ([0-9]{1,2}) (?:\2 ([0-9]{1,2}))?
        | [\u5e74\ub144] \s* (?: ([0-9]{1,2}) [\u6708\uc6d4] \s* (?: ([0-9]{1,2}) [\u65e5\uc77c])?)?
    )?""",  # the signs are those for year, month and day in Chinese, Japanese and Korean
    re.VERBOSE,
)


def find_date(front_matter: Mapping[str, Any]) -> int | None:
    """Seconds since 1970 UTC of the first front matter date, None where there is none that can be read.

    A month or a year stands for its first day, as in `since:`.
    """
    for key in DATE_KEYS:
        value = front_matter.get(key)
        if isinstance(value, str) or type(value) is int:
            found = _parse(str(value).strip())
            if found is not None:
                return found
    return None


def _parse(text: str) -> int | None:
    day = _DAY.fullmatch(text)
    try:
        if day:
            year, month, number = day[1], day[3] or day[5] or 1, day[4] or day[6] or 1
            moment = datetime(int(year), int(month), int(number), tzinfo=UTC)
        elif text.isdigit() and len(text) != len("20240531"):
            return None  # milliseconds of a clock can also be read as a day and an hour of the 18th century
        else:
            moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
