"""Signs that nobody sees and that make two names look alike, told from those that a name is written with.

Joiners shape words of Persian and of the scripts of India and hold pictures together, variation selectors choose
between forms of a picture or a Han character, and tags spell the flags of regions. Anywhere else these are as unseen as
the rest. Source: Unicode Technical Standards 39 (which signs no identifier needs) and 51 (pictures).
"""

from __future__ import annotations

import unicodedata

from arbor.lazy import lazy_pattern

_NEVER_SEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb"
)
_JOINERS = "\u200c\u200d"
_VARIATIONS = "\u180b-\u180d\u180f\ufe00-\ufe0f"
_TAGS = "\U000e0000-\U000e0fff"  # with the variation selectors of Han characters among them

UNSEEN = f"{_NEVER_SEEN}{_JOINERS}{_VARIATIONS}{_TAGS}"
"""All of them, as they stand within the brackets of a regular expression; some are parts of what is seen."""

_PICTURE = "\u00a9\u00ae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_SHAPED = "\u0600-\u109f\u1780-\u1cff\ua800-\uabff\U00010a00-\U00011fff\U0001e900-\U0001e95f"
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_FLAG_TAGS = "\U000e0030-\U000e0039\U000e0061-\U000e007a"
_VIRAMA = 9  # the combining class of the sign that takes a consonant's vowel away

_SEEN = lazy_pattern(
    f"(?<=[{_PICTURE}{_SHAPED}\ufe0f])[{_JOINERS}](?=[{_PICTURE}{_SHAPED}])"
    f"|(?<=[{_PICTURE}\u1000-\u109f\u1800-\u18af\ua840-\ua87f])[\u180b-\u180d\u180f\ufe00-\ufe0f]"
    f"|(?<=[{_HAN}])[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    "|(?<=[0-9#*])\ufe0f(?=\u20e3)"
)
_FLAG = lazy_pattern(f"\U0001f3f4[{_FLAG_TAGS}]{{2,6}}\U000e007f")
_LONGEST_FLAG = 8


def is_seen(text: str, place: int) -> bool:
    """Whether a sign of `UNSEEN` at a place in a text is a part of what is seen there."""
    if _SEEN.match(text, place):
        return True
    char = text[place]
    if char in _JOINERS:
        return place > 0 and unicodedata.combining(text[place - 1]) == _VIRAMA
    flag = text.rfind("\U0001f3f4", max(place - _LONGEST_FLAG, 0), place)
    found = _FLAG.match(text, flag) if flag >= 0 else None
    return found is not None and place < found.end()
