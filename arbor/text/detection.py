"""Tells the encoding of text that is not plain UTF-8, from its bytes alone and always in the same way.

Every candidate encoding is tried, and the one whose text looks most like something people write wins.
What counts as that is how often the commonest characters of a language occur: a third of any Chinese
text is made of the hundred commonest characters, and a wrong decoding hits hardly any of them. This also
works on a line or two, where statistics of byte pairs do not. No library is asked, since the encoding is
part of a document's identity and must not change with a library's version.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from arbor.lazy import lazy_pattern

SAMPLE_MAX_BYTES = 64 * 1024

_CHINESE = frozenset(
    "的一是了不在有人中大上国和个为年这到地出时以来会我他也行发多对要生学作就家能后可们同下部成用方得自新经工全过"
    "公进主市业所之而法动本日说分里于员长高现事还起小着关前者都月将理力面天机化好没开定与种其加产水想实外心重度制"
    "军意最合她区样看些但等当体去如物已你报内见从应子场政名又社通情问特正明只表间接海那美门民电位第文点由三两十么无"
    "道女成着把问没什呢吗啊请让使用件系统据数程序码网信息字符编简单中文本今气很坏晴雨早晚吃喝走买卖书写读听话语言"
)
_CHINESE_TRADITIONAL = frozenset(
    "的一是不了在人有我他這中大來上個國到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她里後小麼心多"
    "天而能好都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長知民樣現分將外但"
    "身些與高意進把法此實回二理美點月明其種聲全工己話兒者向情部正名定女問力機給等幾很業最間新什打便位因重被走電四第"
)
_JAPANESE = frozenset(
    "日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員"
    "九入選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制"
)
_KOREAN = frozenset(
    "이다는을의에가고하지로한은를기도사리나인자대어서아그라시있것들정일수해만보부전과제주우장상연조소원공게들면여되"
    "으니까와습했없스세국요오안동비무성마러때계중적같모든내구말위각생학교신방경문개경실회당진할야더거음던네너저선유"
)
_WESTERN = frozenset("éèàçêöüäßñíóáåøæœ¿¡")
_WESTERN_RARER = frozenset("âôîïûùãõëìòúÿýðþ")
_WESTERN_SIGNS = frozenset("“”‘’–—…•€£©®°«»·§½¼²³µ´\u00a0™ºª×±")
_CENTRAL = frozenset("ąćęłńóśźżčďěňřšťůžáéíýúőűôäöüăâîșțşţđ")
_CYRILLIC_COMMON = frozenset("оеаинтсрвлкмдпуяыьгзбчйхжш")
_CYRILLIC_RARER = frozenset("юцщэфіїєґўё")
_GREEK_COMMON = frozenset("αοιετσνηυρπκμλςωδγχθφάέήίόύώβξζψϊϋ")
_HEBREW_COMMON = frozenset("יוהלאתרבמשנעםדחקפכטגסזןצךףץ")
_ARABIC_COMMON = frozenset("البتثجحخدذرزسشصضطظعغفقكلمنهويىةءأإآئؤ،؟")
_THAI_COMMON = frozenset("นรากเงมยลวดทสตปอบคหแจพชไขใ่้ีัิ์ืุูะำโถผธ็ๆึ")
_TURKISH = frozenset("ıİşŞğĞüÜöÖçÇâî")


_CJK_MARKS = frozenset("、。，．：；？！「」『』（）《》〈〉【】…—“”‘’～\u3000·")

_FREQUENT, _USUAL, _POSSIBLE, _UNUSUAL, _ABSURD = 3.0, 1.0, -0.5, -2.0, -8.0


class _Candidate(NamedTuple):
    """An encoding and how well a character above ASCII fits the texts that are written in it."""

    encoding: str
    rate: Callable[[str], float]


def _rate_unknown(char: str) -> float:
    """What is left when a character fits no expectation: private use, unassigned, a control, a symbol."""
    code = ord(char)
    if 0x80 <= code < 0xA0 or 0xE000 <= code < 0xF900 or code == 0xFFFD or code >= 0xF0000:
        return _ABSURD
    return _UNUSUAL


def _rate_by_lead_byte(char: str, encoding: str, usual: range) -> float:
    """East Asian standards put the characters in common use into their first rows, so the lead byte tells."""
    try:
        raw = char.encode(encoding)
    except UnicodeEncodeError:
        return _UNUSUAL
    if len(raw) != 2:
        return _UNUSUAL
    if raw[0] in usual:
        is_standard = encoding == "cp932" or encoding == "big5hkscs" or raw[1] >= 0xA1
        return _USUAL if is_standard else _UNUSUAL
    return _POSSIBLE if raw[0] > usual.stop - 1 and raw[0] < 0xFA else _UNUSUAL


def _is_han(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff"


def _rate_simplified(char: str) -> float:
    if char in _CHINESE or char in _CJK_MARKS:
        return _FREQUENT
    if char in _CHINESE_TRADITIONAL:
        return _USUAL
    if _is_han(char):
        return _rate_by_lead_byte(char, "gb18030", range(0xB0, 0xD8))
    return _USUAL if "\uff01" <= char <= "\uff5e" else _rate_unknown(char)


def _rate_traditional(char: str) -> float:
    if char in _CHINESE_TRADITIONAL or char in _CJK_MARKS:
        return _FREQUENT
    if _is_han(char):
        return _rate_by_lead_byte(char, "big5hkscs", range(0xA4, 0xC7))
    return _USUAL if "\uff01" <= char <= "\uff5e" else _rate_unknown(char)


def _rate_japanese(char: str) -> float:
    if "\u3041" <= char <= "\u3096" or char in _JAPANESE or char in _CJK_MARKS:
        return _FREQUENT
    if "\u30a1" <= char <= "\u30fc":
        return 2.0
    if _is_han(char):
        return _rate_by_lead_byte(char, "cp932", range(0x88, 0x98))
    return _USUAL if "\uff01" <= char <= "\uff5e" else _rate_unknown(char)


def _rate_korean(char: str) -> float:
    if char in _KOREAN or char in _CJK_MARKS:
        return _FREQUENT
    if "\uac00" <= char <= "\ud7a3":
        return _rate_by_lead_byte(char, "cp949", range(0xB0, 0xC9))
    return _rate_unknown(char)


def _rate_alphabet(
    common: frozenset[str], signs: frozenset[str], rarer: frozenset[str] = frozenset()
) -> Callable[[str], float]:
    capitals = frozenset(
        char.upper() for char in common | rarer if char.upper() != char and len(char.upper()) == 1
    )

    def rate(char: str) -> float:
        if char in common:
            return 2.0
        if char in rarer:
            return 1.6
        if char in capitals:
            return _USUAL
        return _POSSIBLE + 1.0 if char in signs else _rate_unknown(char)

    return rate


_CANDIDATES = (
    _Candidate("cp1252", _rate_alphabet(_WESTERN, _WESTERN_SIGNS, _WESTERN_RARER)),
    _Candidate("gb18030", _rate_simplified),
    _Candidate("cp932", _rate_japanese),
    _Candidate("euc_jp", _rate_japanese),
    _Candidate("cp949", _rate_korean),
    _Candidate("big5hkscs", _rate_traditional),
    _Candidate("cp1251", _rate_alphabet(_CYRILLIC_COMMON, _WESTERN_SIGNS | {"№"}, _CYRILLIC_RARER)),
    _Candidate("koi8_r", _rate_alphabet(_CYRILLIC_COMMON, frozenset("\u00a0"), _CYRILLIC_RARER)),
    _Candidate("cp1250", _rate_alphabet(frozenset(), _WESTERN_SIGNS, _CENTRAL)),
    _Candidate("cp1253", _rate_alphabet(_GREEK_COMMON, _WESTERN_SIGNS)),
    _Candidate("cp1254", _rate_alphabet(_TURKISH, _WESTERN_SIGNS)),
    _Candidate("cp1255", _rate_alphabet(_HEBREW_COMMON, _WESTERN_SIGNS)),
    _Candidate("cp1256", _rate_alphabet(_ARABIC_COMMON, _WESTERN_SIGNS)),
    _Candidate("cp874", _rate_alphabet(_THAI_COMMON, _WESTERN_SIGNS)),
)
"""In order of preference where two fit equally well."""

_RATING_MIN = -2.0

_SEAM = lazy_pattern(
    r"[A-Za-z](?=[\u0370-\u1cff\u3041-\u9fff\uac00-\ud7a3\ue000-\uf8ff])|[\u0370-\u1cff](?=[A-Za-z])"
    r"|[a-z\xdf-\xff\u0430-\u045f](?=[\xc0-\xd6\xd8-\xdeА-Я])|[A-Za-z](?=[\xa1-\xbf†‡ˆ‰‹›¤¦¬¶¸](?:[a-z]))"
    r"|[\xc0-\xff](?=[\xc0-\xff]{2})"
)
"""Where two scripts, or a small letter and a capital, or a letter and a sign meet inside a word."""

_SEAM_RATING = -2.0

_ISO_2022_JP = re.compile(rb"\x1b\$[@B](?:[\x21-\x7e]{2})+\x1b\([BJ]")

_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\b\x1a\x1b") + b"\x7f"

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8", 1),
    (b"\xff\xfe\0\0", "utf-32-le", 4),
    (b"\0\0\xfe\xff", "utf-32-be", 4),
    (b"\xff\xfe", "utf-16-le", 2),
    (b"\xfe\xff", "utf-16-be", 2),
)

_WIDE = ("utf-16-le", "utf-16-be")

_WIDE_LIKELY = frozenset("\n\r\t").union(
    *(_CHINESE, _CHINESE_TRADITIONAL, _JAPANESE, _KOREAN, _CJK_MARKS, map(chr, range(0x3041, 0x30FF))),
    *(
        _WESTERN,
        _WESTERN_RARER,
        _CYRILLIC_COMMON,
        _GREEK_COMMON,
        _HEBREW_COMMON,
        _ARABIC_COMMON,
        _THAI_COMMON,
    ),
)
_WIDE_LIKELY_MIN = 0.3


def detect_unusual_encoding(data: bytes) -> str:
    """Tell the encoding of a file that is not clean UTF-8.

    Args:
        data: The file, or its beginning. Only the first 64 KiB are judged.

    Returns:
        A codec name; empty when this is no text.
    """
    marked = _detect_by_mark(data)
    if marked:
        return marked
    sample = data[:SAMPLE_MAX_BYTES]
    is_whole = len(sample) == len(data)
    if b"\0" in sample:
        wide = _detect_wide(sample)
        return wide or ("utf-8" if _is_text_with_stray_controls(sample) else "")
    if _ISO_2022_JP.search(sample):
        return "iso2022_jp"
    if _is_damaged_utf8(sample, is_whole):  # or not damaged at all, with a terminal's escapes in it
        return "utf-8"
    encoding = _rank_candidates(sample, is_whole)
    if encoding not in _WIDE and _count_controls(sample) * 10 > len(sample):
        return ""
    return encoding


def _detect_by_mark(data: bytes) -> str:
    """By a byte order mark, if what follows it is not plainly something else."""
    for mark, encoding, width in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) : SAMPLE_MAX_BYTES].decode(encoding, "replace")
            odd = sum(text.count(char) for char in "\0\ufffd")
            return encoding if odd * 20 <= len(text) or len(data) <= 2 * width else ""
    return ""


def _detect_wide(sample: bytes) -> str:
    """UTF-16 without a mark: in one byte order the text looks like text, in the other like noise."""
    sample = sample[: len(sample) & ~1]
    ratings = []
    for encoding in _WIDE:
        text = sample.decode(encoding, "replace")
        if "\0" in text or "\ufffd" in text[:-1]:
            continue
        counts = Counter(text)
        likely = sum(count for char, count in counts.items() if char in _WIDE_LIKELY or " " <= char < "\x7f")
        ratings.append((likely / max(len(text), 1), encoding))
    rating, encoding = max(ratings, default=(0.0, ""))
    return encoding if rating >= _WIDE_LIKELY_MIN else ""


def _count_controls(sample: bytes) -> int:
    """Control characters that text does not hold."""
    return len(sample) - len(sample.translate(None, _CONTROLS))


def _is_text_with_stray_controls(sample: bytes) -> bool:
    """Whether this is UTF-8 with the odd NUL in it, as logs and dumps have."""
    return _count_controls(sample) * 64 <= len(sample) and _is_damaged_utf8(sample, False)


def _is_damaged_utf8(sample: bytes, is_whole: bool) -> bool:
    """Whether this is UTF-8 apart from a few bytes; other encodings hardly ever hold valid sequences."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(sample, is_whole)
    errors = text.count("\ufffd")
    valid = sum(char >= "\x80" for char in text) - errors
    return valid >= 4 * errors


def _rank_candidates(sample: bytes, is_whole: bool) -> str:
    best, best_rating = "", _RATING_MIN
    if is_whole and len(sample) % 2 == 0:
        best_rating, best = max(
            (_rate_wide(sample.decode(encoding, "replace")), encoding) for encoding in _WIDE
        )
    for candidate in _CANDIDATES:
        text = codecs.getincrementaldecoder(candidate.encoding)("replace").decode(sample, is_whole)
        rating = _rate_text(text, candidate.rate)
        if rating > best_rating:
            best, best_rating = candidate.encoding, rating
    return best or "latin_1"


def _rate_wide(text: str) -> float:
    """UTF-16 without a single ASCII character in it can only be Chinese, Japanese or Korean."""
    counts = Counter(text)
    rates = (_rate_simplified, _rate_traditional, _rate_japanese, _rate_korean)
    return max(sum(count * rate(char) for char, count in counts.items()) for rate in rates) / len(text) - 0.5


def _rate_text(text: str, rate: Callable[[str], float]) -> float:
    counts = Counter(char for char in text if char >= "\x80")
    total = sum(counts.values())
    fit = sum(count * rate(char) for char, count in counts.items())
    return (fit + _SEAM_RATING * sum(1 for _ in _SEAM.finditer(text))) / max(total, 1)
