"""Unicode folding: different ways to write the same word become one, for the index and for queries alike.

Only runs of characters outside ASCII are touched, since SQLite's own tokenizer folds the rest; so plain
English text passes through untouched.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from arbor.lazy import lazy_pattern

_NON_ASCII = lazy_pattern(r"[^\x00-\x7f]++")
_FEW = 80
"""One byte beyond ASCII in this many characters is where both ways take as long."""

_CACHED_CHARS_MAX = 4

_LETTERS = {
    "œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t", "ı": "i", "ё": "е",
    "ǽ": "ae", "ǣ": "ae", "ǿ": "o", "ǡ": "a", "ѐ": "е", "ѝ": "и",
    "آ": "ا", "أ": "ا", "إ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه",
}  # fmt: skip
_LETTERS |= {
    chr(code): unicodedata.normalize("NFD", chr(code))[0]
    for code in (*range(0x0370, 0x0400), *range(0x1F00, 0x2000))
    if unicodedata.category(chr(code)) == "Ll" and len(unicodedata.normalize("NFD", chr(code))) > 1
}
_LETTERS |= dict.fromkeys("\u02b9\u02bb\u02bc\u02be\u02bf", "'")
_DIGIT_ZEROS = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50, 0x0ED0,
    0x0F20, 0x1040, 0x17E0, 0x1810,
)  # fmt: skip
_LETTERS |= {chr(zero + digit): str(digit) for zero in _DIGIT_ZEROS for digit in range(10)}
"""Letters that people type as simpler ones and that SQLite does not take for those: Greek ones have accents, Arabic
ones a hamza or the form of the Persian keyboard, some apostrophes are letters, and digits have many forms."""

_IGNORED_MARKS = "\u093c\u17b4\u17b5"
IGNORED = (
    f"{_IGNORED_MARKS}"
    "\u00ad\u0300-\u036f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff"
    "\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
)
"""Inside of a character class: what is not seen (soft hyphens, joiners, spaces without width, signs of direction,
variation selectors), skin tones, and what is often left out: loose accents, vowel points of Hebrew and Arabic, dots of
Hindi."""

_EMOJI_CLASS = (
    "\u2318\u231a\u231b\u2325\u2328\u232b\u238b\u23ce\u23cf\u23e9-\u23fa\u25b6\u25c0\u2600-\u27bf\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
    "\u2200-\u2211\u221a-\u221e\u2227-\u2233"
)
"""Emoji, the signs of keys, and signs of mathematics that are read as a word, such as those of a sum or of infinity."""

_PRIVATE_CLASS = "\ue000-\uf8ff\U000f0000-\U0010fffd"
"""Pictures of icon fonts and the bullets that word processors write, which SQLite takes for letters."""


def _find_marks(*blocks: tuple[int, int]) -> list[str]:
    codes = (code for start, stop in blocks for code in range(start, stop))
    marks = [chr(code) for code in codes if unicodedata.category(chr(code)) in {"Mn", "Mc"}]
    return [mark for mark in marks if mark not in _IGNORED_MARKS]


_UNSPACED_MARKS = _find_marks(
    (0x0E31, 0x0E4F), (0x0EB1, 0x0ECF), (0x0F71, 0x0FBD), (0x102B, 0x10A0), (0x17B4, 0x17D4)
)
_SPACED_MARKS = _find_marks((0x0900, 0x0E00), (0x0730, 0x07C0))
_MARK_LETTERS = {mark: chr(0xA000 + number) for number, mark in enumerate(_UNSPACED_MARKS)}
_MARK_LETTERS |= {mark: chr(0xA200 + number) for number, mark in enumerate(_SPACED_MARKS)}
"""Vowel signs of South and South-East Asian scripts, which SQLite takes for spaces, become Yi letters."""

UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\u1100-\u11ff\uac00-\ud7a3\U00020000-\U0003ffff"
    "\u0e01-\u0e46\u0e81-\u0ec6\u0f40-\u0f6c\u1000-\u103f\u1780-\u17b3\ua000-\ua1ff"
)
"""Inside of a character class: the letters, once folded, of scripts without spaces between words."""

_WRAPPED_CLASS = (
    "\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Chinese and Japanese, whose lines are broken within words; Korean and Thai lines end where a word does."""

WRAPS = tuple(
    (end, lazy_pattern(f"{end}(?<=[{_WRAPPED_CLASS}]{end})[ \t>]*+(?=[{_WRAPPED_CLASS}])"))
    for end in ("\r\n", "\n")
)
"""Line ends within a run of Chinese or Japanese, with quotation signs: what each holds for sure, and its pattern."""

_WRAPPED_CHARS_MIN = 16
"""A shorter line is an item or a name by itself, and no line that had to be broken."""

UNSPACED_CHAR = lazy_pattern(f"[{UNSPACED}]")

_EMOJI = lazy_pattern(f"[{_EMOJI_CLASS}]")
_PRIVATE = lazy_pattern(f"[{_PRIVATE_CLASS}]")
_SPECIAL = lazy_pattern(
    f"[{IGNORED}]++|[{''.join(_LETTERS)}]|[{_EMOJI_CLASS}]|[{''.join(_MARK_LETTERS)}]|[{_PRIVATE_CLASS}]"
)


def run_replacer(name: str, replace: Callable[[str], str]) -> Callable[[str], str]:
    """A function that gives a text with `replace(run)` in place of every run of characters outside ASCII.

    Where they are few they are those that an ASCII codec hands to its error handler, which looks for them four times as
    fast as a regular expression; where they are many, a call for each of them would cost more than that saves.

    Args:
        name: What the handler is known by in this process.
        replace: Gets a run, gives any text.
    """

    def handle(error: UnicodeError) -> tuple[bytes, int]:
        assert isinstance(error, UnicodeEncodeError)
        return replace(error.object[error.start : error.end]).encode("utf-8", "surrogatepass"), error.end

    def replace_all(text: str) -> str:
        beyond_ascii = len(text.encode("utf-8", "surrogatepass")) - len(text)
        if beyond_ascii * _FEW > len(text):
            return _NON_ASCII.sub(lambda match: replace(match[0]), text)
        return text.encode("ascii", name).decode("utf-8", "surrogatepass")

    codecs.register_error(name, handle)
    return replace_all


def fold(text: str) -> str:
    """Fold the characters outside ASCII: compatibility forms, case, ligatures, signs of pronunciation.

    Characters that are not seen are dropped. Emoji and signs of mathematics become words of their own (`u128512`), so
    that they can be found. Letters keep their accents, which SQLite's tokenizer takes off.
    """
    return text if text.isascii() else _fold_runs(text)


def _fold_any_run(run: str) -> str:
    return _fold_short_run(run) if len(run) <= _CACHED_CHARS_MAX else fold_run(run)


def fold_run(run: str) -> str:
    """Fold a run of characters that are all outside ASCII."""
    folded = unicodedata.normalize("NFKC", run).casefold()
    return _SPECIAL.sub(_replace_special, folded)


_fold_short_run = lru_cache(maxsize=1 << 16)(fold_run)
_fold_runs = run_replacer("arbor.fold", _fold_any_run)


def _replace_special(match: re.Match[str]) -> str:
    char = match[0]
    if char in _LETTERS:
        return _LETTERS[char]
    if char in _MARK_LETTERS:
        return _MARK_LETTERS[char]
    if _EMOJI.match(char):
        return f" u{ord(char)} "
    return " " if _PRIVATE.match(char) else ""


def join_lines(text: str) -> str:
    """Take out the line ends at which a run of Chinese or Japanese goes on: a word may stand on both sides."""
    for end, pattern in WRAPS:
        if end in text:
            text = pattern.sub("", text)
    return text


def join_wrapped_lines(text: str, wraps: Sequence[tuple[str, re.Pattern[str]]] = WRAPS) -> str:
    """As `join_lines`, where the line is so long that it was broken: short ones stand for words of their own.

    Args:
        text: Any.
        wraps: Line ends and where they are to be taken out, as in `WRAPS`.
    """

    def join(wrap: re.Match[str]) -> str:
        start = wrap.start()
        return "" if start - wrap.string.rfind("\n", 0, start) > _WRAPPED_CHARS_MIN else wrap[0]

    for end, pattern in wraps:
        if end in text:
            text = pattern.sub(join, text)
    return text


# The patterns begin with their rarest character, which the regular expression engine looks for fastest.
NAMES = (
    ("++", re.compile(r"\+\+(?<=(?<![A-Za-z0-9_])[CcGgHh]\+\+)(?![A-Za-z+#])"), "plusplus "),
    ("#", re.compile(r"#(?<=(?<![A-Za-z0-9_])[CcFfJjQq]#)(?![A-Za-z0-9+#])"), "sharp "),
    (".", re.compile(r"\.(?<![A-Za-z0-9_\])/]\.)[Nn][Ee][Tt](?![A-Za-z0-9_])"), " dotnet"),
)
"""Names whose signs a tokenizer drops: what each holds for sure, where the signs stand, and what is written there."""

INNER_CAPITAL = lazy_pattern(r"[A-Z](?:(?<=[a-z0-9].)|(?<=[A-Z].)(?=[a-z]))")
"""What every word such as `parseRequest` has, and few others do: begun with what is rare, it is quick to rule out."""

_CAMEL = lazy_pattern(r"[a-z]\d*[A-Z]|[A-Z]{2}[a-z]")
_CAMEL_WORD = lazy_pattern(r"(?<![^\W_])[A-Za-z0-9]+(?![^\W_])")
_CAMEL_PARTS = lazy_pattern(r"[A-Z]+\d*(?=[A-Z][a-z]{2})|[A-Z]?[a-z]+\d*|[A-Z]+\d*")

_MOMENT = lazy_pattern(r"T(?<=\d\d-\d\dT)(?=[0-2]\d:?\d\d)")


def spell_names(text: str, joint: str = " ") -> str:
    """Spell out names whose signs a tokenizer drops (`C++`, `C#` and `.NET` become words), and part moments.

    Args:
        text: Any.
        joint: What parts such a name from what stands beside it, as from the 17 in `C++17`.
    """
    text = part_moments(text)
    for sign, pattern, spelled in NAMES:
        if sign in text:
            text = pattern.sub(spelled.replace(" ", joint), text)
    return text


def part_moments(text: str) -> str:
    """Put a space for the T in `2024-05-31T09:30`, which would else make one word of the day and the hour."""
    return _MOMENT.sub(" ", text)


@lru_cache(maxsize=1 << 12)
def camel_parts(word: str) -> tuple[str, ...]:
    """The parts of a word such as `parseHTTPRequest`: `parse`, `HTTP` and `Request`.

    Nothing where it has no two, or one of them is a single letter, as in `iPhone` or `PDFs`, and for codes such as
    `CX3CR1`.
    """
    parts = _CAMEL_PARTS.findall(word) if _CAMEL.search(word) else []
    are_all = len(parts) > 1 and min(map(len, parts)) > 1 and sum(map(len, parts)) == len(word)
    return tuple(parts) if are_all else ()


def find_camel_parts(text: str) -> list[str]:
    """The parts of all such words in a text, in order."""
    words = [word for word in _CAMEL_WORD.findall(text) if not word.islower() and not word.istitle()]
    return [part for word in words for part in camel_parts(word)]
