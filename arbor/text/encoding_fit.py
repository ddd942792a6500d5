"""How likely a text is in each encoding that it could be in, as natural logarithms of probabilities.

A text's likelihood is the product of those of its characters. A character's is how much of a text in that language
characters of its kind make up, divided by how many of the kind there are: the 220 commonest Chinese characters are
half of any Chinese text, so each is a four-hundredth. Before it stands how often arbor's users have files in that
encoding: they write English, Chinese and Japanese. So a lone sign in an English text, which nearly any encoding
could explain, is what it is in Western Europe, while a pair of bytes that makes a common character in Chinese and
two unlikely ones there is the Chinese one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from arbor.lazy import lazy_pattern
from arbor.text.common_characters import (
    ARABIC_COMMON,
    ARABIC_ORDERED,
    BALTIC_SHARES,
    CENTRAL,
    CENTRAL_RARER,
    CENTRAL_SHARED,
    CENTRAL_SHARES,
    CHINESE,
    CHINESE_OFTEN,
    CHINESE_TRADITIONAL,
    CJK_MARKS,
    CYRILLIC_COMMON,
    CYRILLIC_LANGUAGES,
    CYRILLIC_RARER,
    CZECH_SLOVAK,
    CZECH_SLOVAK_RARER,
    GREEK_COMMON,
    GREEK_ORDERED,
    GREEK_RARER,
    HEBREW_COMMON,
    HEBREW_ORDERED,
    HUNGARIAN,
    HUNGARIAN_RARER,
    ICELANDIC,
    ICELANDIC_SHARED,
    JAPANESE,
    JAPANESE_OFTEN,
    KOREAN,
    POLISH,
    POLISH_RARER,
    ROMANIAN,
    ROMANIAN_RARER,
    SOUTH_SLAVIC,
    THAI_COMMON,
    TURKISH,
    TURKISH_SHARED,
    TURKISH_SHARES,
    WESTERN,
    WESTERN_LANGUAGES,
    WESTERN_RARER,
    WESTERN_RAREST,
    WESTERN_SHARES,
    WESTERN_SIGNS,
    WESTERN_SIGNS_RARER,
)
from arbor.text.segmentation import find_in_words

_ASCII = -3.0
"""What an ASCII character costs: reading one as the second half of something else must not come free."""

_FREQUENT, _OFTEN, _USUAL, _RARE, _ABSURD = -6.0, -7.7, -10.3, -15.0, -16.0
_MARK, _HIRAGANA, _KATAKANA, _HALF_KATAKANA, _WIDE_FORM = -5.5, -5.0, -6.5, -4.7, -9.0
_OWN_LETTER, _LETTER, _RARER_LETTER, _SHARED_LETTER, _CAPITAL, _SIGN, _RARER_SIGN = (
    -2.6,
    -3.2,
    -4.0,
    -4.7,
    -5.5,
    -3.5,
    -5.0,
)
_SIGN_ABROAD, _RAREST_LETTER, _UNKNOWN = -6.0, -7.5, -10.0
_FOREIGN_LETTER, _FOREIGN_LETTERS_FREE = -4.0, 1
"""What a letter costs that the language of the text does not have, and how many cost nothing: a name has one."""

_SEAM = lazy_pattern(
    r"[A-Za-z](?=[\u0370-\u1cff\u3041-\u9fff\uac00-\ud7a3\ue000-\uf8ff])|[\u0370-\u1cff](?=[A-Za-z])"
    r"|[a-z\xdf-\xff\u0430-\u045f](?=[\xc0-\xd6\xd8-\xdeА-Я])|[A-Za-z](?=[\xa1-\xbf†‡ˆ‰‹›¤¦¬¶¸](?:[a-z]))"
    r"|(?!æøå)[\xc0-\xff](?=[\xc0-\xff]{2}|[\xa1-\xbf][\xc0-\xff])|[“”‘’–—…•](?=[\\{|}~^`@])"
    r"|([\xa1-\xbf])(?=[\xa2-\xba\xbc-\xbf])(?!\1)|[\xa2-\xaa\xac-\xb6\xb8-\xbe](?=[\xc0-\xff])"
    r"|[\xa2-\xaa\xac-\xbf×÷](?=[\u0370-\u1cff])|[A-Za-z\xc0-\xff](?=[“•‰])|‰(?=\S)|•(?=[^\0-\x7f])|”(?=[A-Za-z\xc0-\xff])"
    r"|[–—](?=[\xa2\xa4-\xaa\xac-\xbe])|[ąćęłńśźżčďěňřšťůžőűăşţđ](?=[ĄĆĘŁŃŚŹŻČĎĚŇŘŠŤŮŽŐŰĂŞŢĐÄÖÜÁÉÍÓÚ])"
    r"|(?<![きしちにひみりぎじぢびぴキシチニヒミリギジヂビピテデトドフヴウクグツスズイ])[ゃゅょャュョ]"
    r"|ς(?=[α-ώ])|[ךםןףץ](?=[א-ת])"
    r"|[\uff61-\uff9f](?=[^\uff61-\uff9f]|\Z)|[\uff61-\uff9f](?=[\u4e00-\u9fff])"
)
"""What hardly any text has: two scripts, a small letter and a capital, or a letter and a sign that meet inside a word;
signs before what they do not stand before; a letter that ends words before another; a small kana after one that takes
none; the end of half-width kana, so that a single one costs more than its share of a run."""

_SEAM_COST = -4.0

_ODD_WEST = lazy_pattern(
    r"[èìòù](?=[aeiou])|(?<=\w)[ìù](?=[b-df-hj-np-tv-z])|ã(?=[bcdfghjlprtv])|õ(?!\w)|[øæ](?=[aiu])|(?<!\w)[èìùøã](?=[a-z])"
)
_ODD_ELSEWHERE = lazy_pattern(r"(?<![^\W\d])[cdkm]?m[ł\u02db](?!\w)|(?<=\d)[łąšşżļ¾](?!\w)")
"""Letters where those do not write them who have them. In the west: what č, ě, ň, ů, ă, ő, ř and ć look like there;
elsewhere: what the signs of cubic metres, ordinals and the like look like."""

_ODD_COST = -2.5


class Candidate(NamedTuple):
    """An encoding, how likely a file is in it before it is looked at, and how likely a character above ASCII is."""

    encoding: str
    prior: float
    rate: Callable[[str], float]


def _rate_unknown(char: str) -> float:
    """What is left when a character fits no expectation: private use, unassigned, a control, a symbol."""
    code = ord(char)
    if 0x80 <= code < 0xA0 or 0xE000 <= code < 0xF900 or code == 0xFFFD or code >= 0xF0000:
        return _ABSURD
    return _UNKNOWN


def _rate_by_lead_byte(char: str, encoding: str, usual: range) -> float:
    """East Asian standards put the characters in common use into their first rows, so the lead byte tells."""
    raw = char.encode(encoding, "replace")
    if len(raw) != 2:
        return _RARE
    is_standard = encoding in ("cp932", "big5hkscs") or raw[1] >= 0xA1
    return _USUAL if raw[0] in usual and is_standard else _RARE


def _is_han(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff"


def _is_wide_form(char: str) -> bool:
    return "\uff01" <= char <= "\uff5e"


def rate_simplified(char: str) -> float:
    """How likely a character above ASCII is in Chinese of the mainland."""
    if char in CJK_MARKS:
        return _MARK
    if char in CHINESE:
        return _FREQUENT
    if char in CHINESE_OFTEN:
        return _OFTEN
    if char in CHINESE_TRADITIONAL:
        return _USUAL
    if _is_han(char):
        return _rate_by_lead_byte(char, "gb18030", range(0xB0, 0xD8))
    return _WIDE_FORM if _is_wide_form(char) else _rate_unknown(char)


def rate_traditional(char: str) -> float:
    """How likely a character above ASCII is in Chinese of Taiwan and Hong Kong."""
    if char in CJK_MARKS:
        return _MARK
    if char in CHINESE_TRADITIONAL:
        return _FREQUENT
    if _is_han(char):
        return _rate_by_lead_byte(char, "big5hkscs", range(0xA4, 0xC7))
    return _WIDE_FORM if _is_wide_form(char) else _rate_unknown(char)


def rate_japanese(char: str) -> float:
    """How likely a character above ASCII is in Japanese."""
    if "\u3041" <= char <= "\u3096":
        return _HIRAGANA
    if "\u30a1" <= char <= "\u30fc":
        return _KATAKANA
    if char in CJK_MARKS:
        return _MARK
    if char in JAPANESE:
        return _FREQUENT - 1
    if char in JAPANESE_OFTEN:
        return _OFTEN
    if "\uff61" <= char <= "\uff9f":
        return _HALF_KATAKANA
    if _is_han(char):
        return _rate_by_lead_byte(char, "cp932", range(0x88, 0x98))
    return _WIDE_FORM if _is_wide_form(char) else _rate_unknown(char)


def rate_korean(char: str) -> float:
    """How likely a character above ASCII is in Korean."""
    if char in CJK_MARKS:
        return _MARK
    if char in KOREAN:
        return _FREQUENT
    if "\uac00" <= char <= "\ud7a3":
        return _rate_by_lead_byte(char, "cp949", range(0xB0, 0xC9)) + 1
    return _RARE if _is_han(char) else _rate_unknown(char)


def _rate_alphabet(
    letters: dict[float, frozenset[str]], signs: Callable[[str], float]
) -> Callable[[str], float]:
    """For letters by their likelihood; the capitals of all but the rarest are as likely as each other."""
    rates = {char: rate for rate, chars in letters.items() for char in chars}
    for char in [char for char, rate in rates.items() if rate > _RAREST_LETTER]:
        capital = char.upper()
        if len(capital) == 1:
            rates.setdefault(capital, _CAPITAL)
    return lambda char: rates[char] if char in rates else signs(char)


def _rate_sign(char: str) -> float:
    if char in WESTERN_SIGNS:
        return _SIGN
    return _RARER_SIGN if char in WESTERN_SIGNS_RARER else _rate_unknown(char)


def _rate_sign_abroad(char: str) -> float:
    return _SIGN_ABROAD if char in WESTERN_SIGNS or char in WESTERN_SIGNS_RARER else _rate_unknown(char)


def _rate_russian_sign(char: str) -> float:
    return _SIGN_ABROAD if char == "№" else _rate_sign_abroad(char)


def _rate_no_sign(char: str) -> float:
    return _SIGN_ABROAD if char == "\u00a0" else _rate_unknown(char)


_WESTERN_LETTERS = WESTERN | WESTERN_RARER | frozenset("ýþðšžÿ")
_CYRILLIC = {_LETTER: CYRILLIC_COMMON, _RARER_LETTER: CYRILLIC_RARER}

_WESTERN = {_LETTER: WESTERN, _RARER_LETTER: WESTERN_RARER, _RAREST_LETTER: WESTERN_RAREST}
_CENTRAL = {_RARER_LETTER: CENTRAL, _SHARED_LETTER: CENTRAL_SHARED, _CAPITAL: CENTRAL_RARER}
_CENTRAL_LANGUAGES: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (CZECH_SLOVAK, CZECH_SLOVAK_RARER),
    (POLISH, POLISH_RARER),
    (HUNGARIAN, HUNGARIAN_RARER),
    (ROMANIAN, ROMANIAN_RARER),
    (SOUTH_SLAVIC, frozenset()),
)

FIRST_CANDIDATES = (
    Candidate("cp1252", 0.0, _rate_alphabet(_WESTERN, _rate_sign)),
    Candidate("gb18030", 0.0, rate_simplified),
    Candidate("cp932", -1.0, rate_japanese),
    Candidate("euc_jp", -2.0, rate_japanese),
    Candidate("cp949", -2.5, rate_korean),
    Candidate("big5hkscs", -3.0, rate_traditional),
    Candidate("cp1251", -4.0, _rate_alphabet(_CYRILLIC, _rate_russian_sign)),
    Candidate("koi8_r", -6.0, _rate_alphabet(_CYRILLIC, _rate_no_sign)),
    Candidate("cp1250", -4.5, _rate_alphabet(_CENTRAL, _rate_sign_abroad)),
    *(
        Candidate("cp1250", -4.0, _rate_alphabet({_LETTER: most, _RARER_LETTER: others}, _rate_sign_abroad))
        for most, others in _CENTRAL_LANGUAGES
    ),
    Candidate(
        "cp1253",
        -4.0,
        _rate_alphabet({_LETTER: GREEK_COMMON, _RAREST_LETTER: GREEK_RARER}, _rate_sign_abroad),
    ),
    Candidate(
        "cp1254", -4.0, _rate_alphabet({_OWN_LETTER: TURKISH, _LETTER: TURKISH_SHARED}, _rate_sign_abroad)
    ),
    Candidate("cp1255", -9.0, _rate_alphabet({_LETTER: HEBREW_COMMON}, _rate_sign_abroad)),
    Candidate("cp1256", -9.0, _rate_alphabet({_LETTER: ARABIC_COMMON}, _rate_sign_abroad)),
    Candidate("cp874", -9.0, _rate_alphabet({_LETTER: THAI_COMMON}, _rate_sign_abroad)),
    Candidate(
        "cp1252", -4.5, _rate_alphabet({_OWN_LETTER: ICELANDIC, _LETTER: ICELANDIC_SHARED}, _rate_sign_abroad)
    ),
)
"""In order of preference where two fit equally well. An encoding of many languages is as likely as its best.

These are those of the first versions. Text that was taken out of an original must come out of it again, so that the
readers of those versions go on with them.
"""

_ORDERED_RATES = (-2.7, -3.4, -4.2, -5.4)
_ORDERED_STEP = 8
_CAPITALS, _SMALL_AMONG_CAPITALS = -0.2, -1.8


def _rate_ordered(letters: str) -> Callable[[str], float]:
    """For the letters of a language, the commonest first: finer than by kinds, to tell what shares a script."""
    tiers: dict[float, frozenset[str]] = {}
    for number, rate in enumerate(_ORDERED_RATES):
        start = number * _ORDERED_STEP
        stop = start + _ORDERED_STEP if number + 1 < len(_ORDERED_RATES) else None
        tiers[rate] = frozenset(letters[start:stop])
    return _rate_alphabet(tiers, _rate_russian_sign)


def _rate_shouted(letters: str) -> Callable[[str], float]:
    """The same where most letters are capitals: headlines, and the like."""
    small = _rate_ordered(letters)
    return lambda char: small(char.lower()) + (_SMALL_AMONG_CAPITALS if char.islower() else _CAPITALS)


_CYRILLIC_ORDERED = tuple(_rate_ordered(letters) for letters in CYRILLIC_LANGUAGES)
_CYRILLIC_SHOUTED = tuple(_rate_shouted(letters) for letters in CYRILLIC_LANGUAGES[:3])
_ALPHABETS_SHARED = (
    ("cp1251", -4.0, _CYRILLIC_ORDERED),
    ("koi8_r", -6.0, _CYRILLIC_ORDERED),
    ("koi8_u", -6.5, _CYRILLIC_ORDERED),
    ("iso8859_5", -6.5, _CYRILLIC_ORDERED),
    ("cp866", -7.0, _CYRILLIC_ORDERED),
    ("cp1251", -6.0, _CYRILLIC_SHOUTED),
    ("koi8_r", -9.0, _CYRILLIC_SHOUTED),
    ("iso8859_5", -11.0, _CYRILLIC_SHOUTED),
    ("cp866", -11.0, _CYRILLIC_SHOUTED),
    ("cp1253", -4.0, (_rate_ordered(GREEK_ORDERED),)),
    ("iso8859_7", -4.2, (_rate_ordered(GREEK_ORDERED),)),
    ("cp1253", -6.0, (_rate_shouted(GREEK_ORDERED),)),
    ("iso8859_7", -6.2, (_rate_shouted(GREEK_ORDERED),)),
    ("cp1255", -8.0, (_rate_ordered(HEBREW_ORDERED),)),
    ("cp1256", -8.5, (_rate_ordered(ARABIC_ORDERED),)),
    ("iso8859_6", -12.0, (_rate_ordered(ARABIC_ORDERED),)),
)


def _rate_shares(shares: str, signs: Callable[[str], float]) -> Callable[[str], float]:
    """For what share of its letters outside ASCII each letter of a language is, in a hundred."""
    rates: dict[float, set[str]] = {}
    for each in shares.split():
        rates.setdefault(math.log(int(each[1:]) / 100), set()).add(each[0])
    return _rate_alphabet({rate: frozenset(letters) for rate, letters in rates.items()}, signs)


_SHARES = (
    ("cp1252", -1.0, WESTERN_SHARES),
    ("cp1250", -4.0, CENTRAL_SHARES),
    ("iso8859_2", -5.0, CENTRAL_SHARES),
    ("cp1254", -4.0, TURKISH_SHARES),
    ("cp1257", -5.0, BALTIC_SHARES),
    ("iso8859_13", -5.5, BALTIC_SHARES),
)

_ODD_ENCODINGS = frozenset(encoding for encoding, _, _ in _SHARES)
_REPLACED = frozenset(encoding for encoding, _, _ in _ALPHABETS_SHARED)

CANDIDATES = (
    *(each for each in FIRST_CANDIDATES if each.encoding not in _REPLACED),
    *(Candidate(encoding, prior, rate) for encoding, prior, rates in _ALPHABETS_SHARED for rate in rates),
    *(
        Candidate(
            encoding, prior, _rate_shares(each, _rate_sign if encoding == "cp1252" else _rate_sign_abroad)
        )
        for encoding, prior, languages in _SHARES
        for each in languages
    ),
)
"""The same, with single languages judged by how often each letter comes in them."""

_WIDE_PRIOR = -5.0

_HAN_RUN = re.compile(r"[\u4e00-\u9fff]{2,}")
_IN_WORD, _IN_WORD_AT_LEAST = 2.5, -7.0
_OUTSIDE_WORDS, _OUTSIDE_WORDS_FREQUENT = -2.5, -1.2
_WORDS_SOUGHT_IN_CHARS_MAX = 64


class Counted(NamedTuple):
    """How often each character above ASCII stands in a text, in the order of their codes, and all the others."""

    above: list[tuple[str, int]]
    ascii_count: int


def count_characters(text: str) -> Counted:
    """Count once what many candidates rate."""
    above = sorted(each for each in Counter(text).items() if each[0] >= "\x80")
    return Counted(above, len(text) - sum(count for _, count in above))


def rate_characters(counted: Counted, candidate: Candidate) -> float:
    """The log-likelihood of a file that decodes to a text in the candidate's encoding, by its characters alone."""
    return candidate.prior + _sum_characters(counted, candidate.rate)


def rate_seams(text: str) -> float:
    """What the places where characters meet add to it; never positive."""
    return _SEAM_COST * sum(1 for _ in _SEAM.finditer(text))


def rate_foreign(text: str) -> float:
    """What letters of several languages add to a text of Western Europe; never positive.

    A text is in one of them, with a name of another. Without this, any text of Central Europe would be one in
    a mixture of French, Danish and Italian.

    Args:
        text: As `cp1252` decodes it.
    """
    counts = Counter(char for char in text.lower() if char in _WESTERN_LETTERS)
    languages = (
        (*WESTERN_LANGUAGES, ICELANDIC | ICELANDIC_SHARED) if counts.keys() & ICELANDIC else WESTERN_LANGUAGES
    )
    foreign = min(
        sum(count for char, count in counts.items() if char not in letters) for letters in languages
    )
    return _FOREIGN_LETTER * max(foreign - _FOREIGN_LETTERS_FREE, 0)


def rate_odd_letters(text: str, encoding: str) -> float:
    """What letters add that stand where languages do not have them; never positive."""
    if encoding == "cp1252":
        return _ODD_COST * sum(1 for _ in _ODD_WEST.finditer(text))
    if encoding in _ODD_ENCODINGS:
        return 2 * _ODD_COST * sum(1 for _ in _ODD_ELSEWHERE.finditer(text))
    return 0.0


def rate_wide(text: str) -> float:
    """That of a file in UTF-16 without an ASCII character in it, which can only be Chinese, Japanese or Korean."""
    rates = (rate_simplified, rate_traditional, rate_japanese, rate_korean)
    counted = count_characters(text)
    return _WIDE_PRIOR + max(_sum_characters(counted, rate) for rate in rates)


def rate_words(text: str) -> float:
    """What Chinese words add to the likelihood of a short text, since characters alone do not tell it from Japanese.

    Args:
        text: As `gb18030` decodes it.

    Returns:
        Positive where the characters make words, negative where rare ones stand together by accident.
    """
    runs = _HAN_RUN.findall(text)
    if sum(map(len, runs)) > _WORDS_SOUGHT_IN_CHARS_MAX:
        return 0.0
    return sum(map(_rate_run, runs))


@lru_cache(maxsize=1 << 10)
def _rate_run(run: str) -> float:
    """In a word a rare character is no surprise; outside of words only the commonest stand alone."""
    covered = find_in_words(run)
    total = 0.0
    for position, char in enumerate(run):
        if position in covered:
            total += max(_IN_WORD, _IN_WORD_AT_LEAST - rate_simplified(char))
        else:
            total += _OUTSIDE_WORDS_FREQUENT if char in CHINESE else _OUTSIDE_WORDS
    return total


def _sum_characters(counted: Counted, rate: Callable[[str], float]) -> float:
    return sum((count * rate(char) for char, count in counted.above), counted.ascii_count * _ASCII)
