"""Words and endings of English that a query does not mean."""

from __future__ import annotations

from arbor.lazy import lazy_pattern

_STOP = """
a about an and any are as at be been being but by can could did do does for from had has have he her him his how i if
in into is it its may might must my no not of on or our s she should so some such t than that the their them then
there these they this to us was we were what when where which who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP.split())
"""Words that carry a question and not its subject. They rank only when a query has no other words."""

_NO_NAMES = {"A", "I", "AND", "OR", "NOT"}
_STOP_SHAPE = lazy_pattern(r"[\W_]*([^\W_]+)(?:['\u2019]([^\W_]+))?[\W_]*")
"""A word with the signs around it, or two that an apostrophe makes one."""

_ENDINGS = """
abilities able ably al alism alities ally ances ations atively ators e ed ements ences ently ers es est ful fully ibly
ical icate ings ions ism ists ities iveness ized izers izations less ly ments ness ousness s
"""
ENDINGS = tuple(_ENDINGS.split())
"""What the stemmer takes off the end of words."""


def is_stop_word(typed: str) -> bool:
    """Whether a word as typed carries no subject, as `What`, `is,` and `it's` do.

    What is in capitals is a name: `WHO`, `US`, and the T of `T cells`.
    """
    shape = _STOP_SHAPE.fullmatch(typed)
    words = [word for word in shape.groups() if word] if shape else []
    return bool(words) and all(
        word.lower() in STOP_WORDS and (not word.isupper() or word in _NO_NAMES) for word in words
    )
