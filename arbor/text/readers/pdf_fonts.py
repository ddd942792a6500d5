"""What fonts in a PDF say of their space, mended where it is not meant: by it gaps between words are told.

XeTeX, for one, makes gaps between words by moving on, and embeds no space. pypdf takes glyph 32 for it, which in such a
font is any glyph, or one that was not embedded, with the width of an em: then a gap of a third of an em is none, and a
line becomes one word.
In pdfTeX's fonts code 32 is a visible space, wide enough that the gaps of a tight line are none.
Source: ISO 32000-1, 9.6.6 "Character Encoding", 9.7.4.3 "Glyph metrics in CIDFonts" and 9.10.3 "ToUnicode CMaps".
"""

from __future__ import annotations

import re

from pypdf import PageObject
from pypdf.generic import ArrayObject, DictionaryObject, NumberObject, StreamObject

_EM = 1000
_SPACE = 32
_LETTERS = frozenset(range(0x61, 0x7B))
_CMAP_MAX_BYTES = 1 << 20
_SECTION = re.compile(rb"beginbf(char|range)(.*?)endbf", re.DOTALL)
_LIST = re.compile(rb"\[[^\]]*+\]")
_CODE = re.compile(rb"<([0-9A-Fa-f]{1,512})>")


def mend_fonts(page: PageObject, done: set[int]) -> None:
    """Leave it open how wide the space of each font of a page is that has none.

    Args:
        page: Changed in memory.
        done: The object numbers of fonts that were looked at, which several pages share; added to.
    """
    resources = page.get("/Resources")
    fonts = resources.get_object().get("/Font") if resources is not None else None
    for reference in fonts.get_object().values() if fonts is not None else ():
        number = getattr(reference, "idnum", 0)
        if number and number in done:
            continue
        done.add(number)
        font = reference.get_object()
        encoding = font.get("/Encoding") if isinstance(font, DictionaryObject) else None
        encoding = encoding.get_object() if encoding is not None else None
        if encoding == "/Identity-H":
            _mend_composite(font)
        elif isinstance(encoding, DictionaryObject) and "/BaseEncoding" not in encoding:
            _mend_simple(font, encoding)


def _mend_simple(font: DictionaryObject, encoding: DictionaryObject) -> None:
    """TeX names every glyph that it embeds, and code 32 is not among them: what stands there is no space."""
    differences, widths = encoding.get("/Differences"), font.get("/Widths")
    if differences is None or widths is None:
        return
    named = _find_named(differences.get_object())
    array, place = widths.get_object(), _SPACE - int(font.get("/FirstChar", _SPACE + 1))
    if _LETTERS & named and _SPACE not in named and 0 <= place < len(array):
        array[place] = NumberObject(0)


def _find_named(differences: ArrayObject) -> set[int]:
    """The codes in an array of `first /name /name ...`."""
    named: set[int] = set()
    code = 0
    for each in differences:
        if isinstance(each, NumberObject):
            code = int(each)
        else:
            named.add(code)
            code += 1
    return named


def _mend_composite(font: DictionaryObject) -> None:
    descendants, to_unicode = font.get("/DescendantFonts"), font.get("/ToUnicode")
    if descendants is None or to_unicode is None:
        return
    descendant, cmap = descendants.get_object()[0].get_object(), to_unicode.get_object()
    widths = descendant.get("/W")
    # Where an em is the usual width, as in the fonts of East Asia, small gaps stand between the characters of a word.
    if widths is None or descendant.get("/DW", _EM) == _EM or not isinstance(cmap, StreamObject):
        return
    if not _is_space(cmap.get_data()[:_CMAP_MAX_BYTES], _SPACE):
        _forget_width(widths.get_object(), _SPACE)


def _is_space(cmap: bytes, glyph: int) -> bool:
    """Whether a glyph is mapped to a space, or to what a list says, which is not looked into."""
    for kind, body in _SECTION.findall(cmap):
        codes = [int(code, 16) for code in _CODE.findall(_LIST.sub(b"<20>", body))]
        width = 2 if kind == b"char" else 3
        for first, last, character in zip(
            codes[::width], codes[width - 2 :: width], codes[width - 1 :: width], strict=False
        ):
            if first <= glyph <= last:
                return character + glyph - first in (0x20, 0xA0)
    return False


def _forget_width(widths: ArrayObject, glyph: int) -> None:
    """Set the width of a glyph to 0 in an array of `first [width ...]` and `first last width`."""
    place = 0
    while place + 1 < len(widths):
        first, second = int(widths[place]), widths[place + 1].get_object()
        if not isinstance(second, ArrayObject):
            place += 3
            continue
        if first <= glyph < first + len(second):
            second[glyph - first] = NumberObject(0)
        place += 2
