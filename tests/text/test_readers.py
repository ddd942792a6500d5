"""Files that are not Markdown: their text, titles, fields and links, and what damage does to them."""

from __future__ import annotations

import io
import logging
import struct
import zipfile
from typing import Any

import docx
import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DecodedStreamObject, DictionaryObject, NameObject, NumberObject

from arbor.text.extraction import Extraction
from arbor.text.reading import extract


def text_of(extraction: Extraction) -> str:
    return b"".join(passage.data for passage in extraction.passages).decode()


def links_of(extraction: Extraction) -> list[tuple[str, str, str, str]]:
    return [(link.relation, link.target, link.anchor, link.text) for link in extraction.links]


# Plain text and source code


def test_plain_text() -> None:
    extraction = extract(b"# not a heading\n\nsee https://x.org/a\n", "a.txt")
    assert (extraction.title, extraction.passages[0].headings) == ("", ())
    assert [(link.target, link.line) for link in extraction.links] == [("https://x.org/a", 3)]


def test_definitions_are_the_headings_of_source_code() -> None:
    body = "    value = compute(1)\n" * 60
    code = f"import os\n\n\n@cache\ndef first(x):\n{body}\n\nasync def second():\n{body}\n\nclass Third(Base):\n{body}"
    data = code.encode()
    extraction = extract(data, "a.py")
    assert {passage.headings for passage in extraction.passages} == {("first",), ("second",), ("Third",)}
    assert b"".join(passage.data for passage in extraction.passages) == data


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.rs", "pub(crate) fn wanted<T>(x: T) {"),
        ("a.rs", "impl<T> wanted for X {"),
        ("a.go", "func (r *Reader) wanted(x int) {"),
        ("a.js", "export default async function wanted() {"),
        ("a.ts", "export interface wanted {"),
        ("a.java", "public final class wanted {"),
        ("a.kt", "data class wanted(val x: Int)"),
        ("a.ex", "defmodule wanted do"),
        ("a.c", "struct wanted {"),
    ],
)
def test_definitions_of_many_languages(name: str, line: str) -> None:
    data = ("// intro\n" * 200 + line + "\n" + "  body();\n" * 200).encode()
    assert ("wanted",) in {passage.headings for passage in extract(data, name).passages}


# reStructuredText

RST = b"""=====
Title
=====

:Author: Ada
:Date: 2020-01-01

Intro `Python <https://python.org>`_ and https://x.org/a.

Section
-------

.. image:: a.png

:doc:`other </a/b>` and :ref:`part`

Sub
~~~

text

Other
-----

-----

more
"""


def test_restructured_text() -> None:
    extraction = extract(RST, "a.rst")
    assert (extraction.title, extraction.front_matter) == ("Title", {"author": "Ada", "date": "2020-01-01"})
    assert [(link.relation, link.target, link.text, link.line) for link in extraction.links] == [
        ("links", "https://python.org", "Python", 8),
        ("embeds", "a.png", "", 13),
        ("links", "/a/b", "other", 15),
        ("links", "part", "", 15),
        ("links", "https://x.org/a", "", 8),
    ]


def test_levels_of_restructured_text_follow_the_order_of_their_lines() -> None:
    filler = "words " * 200 + "\n\n"
    text = f"AAA\n===\n\n{filler}BBB\n---\n\n{filler}CCC\n~~~\n\n{filler}DDD\n---\n\n{filler}"
    paths = [passage.headings for passage in extract(text.encode(), "a.rst").passages]
    assert paths == [("AAA",), ("AAA", "BBB"), ("AAA", "BBB", "CCC"), ("AAA", "DDD")]


# HTML

PAGE = """<!doctype html><html><head><title>T &amp; x</title><meta name="author" content="Ada">
<link rel="canonical" href="https://x.org/a"><style>p { color: red }</style></head><body><nav>menu</nav>
<h1>Head <a href="#x">one</a></h1><p>Hello <b>bold</b> &lt;x&gt; <a href="b.html#y">link
text</a><img src="a.png" alt="pic"></p><ul><li>a<li>b</ul><pre>  code
  x</pre><h2>Sub</h2><table><tr><td>1<td>2<tr><td>3<td>4</table><script>var hidden</script><p>Über 中文</p>
<a href="javascript:alert(1)">no</a></body></html>"""


def test_rst_names_and_tables_of_contents_are_links() -> None:
    text = """T
=

See `doc`_ and page_ and alias_ and `The Doc`_, not snake_case_name or undefined_ or foo__.

.. _doc: target.rst
.. _page: https://x.org/y
.. _`the doc`: other/the%20doc.rst#part
.. _alias: doc_
.. _here:

.. toctree::
   :maxdepth: 2

   chapter1
   Chapter two <chapter2>
   self

after |sign|

.. |sign| image:: s.png
"""
    links = extract(text.encode(), "a.rst").links
    assert [(link.relation, link.target, link.anchor, link.text, link.line) for link in links] == [
        ("links", "target.rst", "", "doc", 4),
        ("links", "https://x.org/y", "", "page", 4),
        ("links", "target.rst", "", "alias", 4),
        ("links", "other/the doc.rst", "part", "The Doc", 4),
        ("links", "chapter1", "", "", 15),
        ("links", "chapter2", "", "Chapter two", 16),
        ("embeds", "s.png", "", "", 21),
    ]


def test_html() -> None:
    extraction = extract(PAGE.encode(), "a.html")
    assert extraction.title == "T & x"
    assert extraction.front_matter == {"author": "Ada", "url": "https://x.org/a"}
    assert text_of(extraction) == (
        "Head one\n\nHello bold <x> link text pic\n\n- a\n- b\n\n  code\n  x\n\nSub\n\n1 | 2\n3 | 4\n\n"
        "Über 中文\n\nno\n"
    )
    assert links_of(extraction) == [
        ("links", "", "x", "one"),
        ("links", "b.html", "y", "link text"),
        ("embeds", "a.png", "", "pic"),
    ]
    assert [link.line for link in extraction.links] == [1, 3, 3]
    assert b"".join(extraction.original) == PAGE.encode()


def test_readings_of_characters_do_not_cut_words() -> None:
    ruby = "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>"
    page = f"<h1>{ruby}</h1><p>{ruby}を<ruby>読<rt>よ</ruby>む<img alt=picture src=a.png>here</p>"
    page += "<ruby>a<rt>b<p>c</p></ruby>"
    extraction = extract(page.encode(), "a.html")
    assert text_of(extraction) == "漢字 (かんじ)\n\n漢字を読む picture here (かんじ よ)\n\nab\n\nc\n"
    first = extract(page.encode(), "a.html", extractor="html/1")
    assert first.extractor == "html/1"
    assert text_of(first).startswith("漢(かん)字じ\n\n")
    assert "picturehere" in text_of(first)
    mail = b"Subject: T\nContent-Type: text/html; charset=utf-8\n\n" + page.encode()
    assert "漢字を読む" in text_of(extract(mail, "a.eml"))
    assert "漢(かん)" in text_of(extract(mail, "a.eml", extractor="email/2"))


def test_html_headings() -> None:
    filler = "<p>" + "words " * 300 + "</p>"
    page = f"<h1>A</h1>{filler}<h2>B</h2>{filler}<h3>C</h3>{filler}<h2>D</h2>{filler}"
    paths = [passage.headings for passage in extract(page.encode(), "a.html").passages]
    assert paths == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D")]


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("gb18030", "gb2312"),
        ("cp932", "Shift_JIS"),
        ("utf-8", "utf-8"),
        ("cp1252", "iso-8859-1"),
        ("gb18030", None),
    ],
)
def test_html_encodings(encoding: str, declared: str | None) -> None:
    words = "café" if encoding == "cp1252" else "今日本国"
    meta = f'<meta charset="{declared}">' if declared else ""
    page = f"<html><head>{meta}</head><body><p>{words}</p></body></html>".encode(encoding)
    assert text_of(extract(page, "a.html")) == f"{words}\n"


def test_html_that_is_nested_without_end() -> None:
    page = b"<title>T</title>" + b"<div>" * 100_000 + b"the words &amp; more" + b"</div>" * 100_000
    extraction = extract(page, "a.html")
    assert text_of(extraction).strip() == "T the words & more"
    assert "nested" in extraction.warnings[0]


# PDF


def make_pdf(*pages: str, title: str = "") -> bytes:
    writer = PdfWriter()
    for words in pages:
        page = writer.add_blank_page(300, 300)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        stream = DecodedStreamObject()
        shown = "".join(f"({line}) Tj 0 -14 Td " for line in words.split("\n"))
        stream.set_data(f"BT /F1 12 Tf 20 200 Td {shown} ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    if title:
        writer.add_metadata({"/Title": title, "/Author": "Ada", "/CreationDate": "D:20240131120000Z"})
    packed = io.BytesIO()
    writer.write(packed)
    return packed.getvalue()


CMAP = b"""begincmap
1 beginbfchar
<0001> <0061>
endbfchar
1 beginbfrange
<0002> <%b> <0062>
endbfrange
endcmap
"""


def make_pdf_of_glyphs(text: str, default_width: int, last: bytes, width: int) -> bytes:
    """A page of glyphs 1 for a, 2 for b, with gaps of a third of an em, in a font that says how wide glyph 32 is."""
    document = PdfReader(io.BytesIO(make_pdf("x")))
    writer = PdfWriter(document)
    page = writer.pages[0]
    cmap, stream = DecodedStreamObject(), DecodedStreamObject()
    cmap.set_data(CMAP % last)
    glyphs = {"a": "<0001>", "b": "<0002>", " ": "-300"}
    stream.set_data(f"BT /F1 12 Tf 20 200 Td [{''.join(glyphs[each] for each in text)}] TJ ET".encode())
    widths = ArrayObject([NumberObject(1), ArrayObject([NumberObject(500)] * 2)])
    widths += [NumberObject(30), ArrayObject([NumberObject(400), NumberObject(400), NumberObject(width)])]
    descendant = {
        "/Type": NameObject("/Font"), "/Subtype": NameObject("/CIDFontType2"), "/BaseFont": NameObject("/Own"),
        "/DW": NumberObject(default_width), "/W": widths,
    }  # fmt: skip
    font = {
        "/Type": NameObject("/Font"), "/Subtype": NameObject("/Type0"), "/BaseFont": NameObject("/Own"),
        "/Encoding": NameObject("/Identity-H"), "/ToUnicode": writer._add_object(cmap),
        "/DescendantFonts": ArrayObject([DictionaryObject({NameObject(k): v for k, v in descendant.items()})]),
    }  # fmt: skip
    fonts = DictionaryObject(
        {NameObject("/F1"): DictionaryObject({NameObject(k): v for k, v in font.items()})}
    )
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    page[NameObject("/Contents")] = writer._add_object(stream)
    packed = io.BytesIO()
    writer.write(packed)
    return packed.getvalue()


@pytest.mark.parametrize("width", [564, 1000])
@pytest.mark.parametrize("last", [b"0002", b"0040"])
def test_gaps_in_a_pdf_whose_font_has_no_space(width: int, last: bytes) -> None:
    data = make_pdf_of_glyphs("ab ba a", 500, last, width)
    extraction = extract(data, "a.pdf")
    assert text_of(extraction) == "ab ba a\n"
    earlier = extraction.extractor.replace("pdf/3", "pdf/2")
    assert "abba" in text_of(extract(data, "a.pdf", extractor=earlier)) or width == 564
    assert extract(data, "a.pdf", extractor=earlier).extractor == earlier


@pytest.mark.parametrize(("first", "shown"), [(97, "ab ba\n"), (32, "abba\n")])
def test_tight_gaps_in_a_pdf_whose_simple_font_names_its_glyphs(first: int, shown: str) -> None:
    writer = PdfWriter(PdfReader(io.BytesIO(make_pdf("x"))))
    page, stream = writer.pages[0], DecodedStreamObject()
    stream.set_data(b"BT /F1 12 Tf 20 200 Td [(ab)-230(ba)] TJ ET")
    names = [NameObject("/space")] * (97 - first) + [NameObject("/a"), NameObject("/b")]
    font = page["/Resources"]["/Font"]["/F1"]
    encoding = {NameObject("/Differences"): ArrayObject([NumberObject(first), *names])}
    font[NameObject("/Encoding")] = DictionaryObject(encoding)
    font[NameObject("/FirstChar")], font[NameObject("/LastChar")] = NumberObject(32), NumberObject(98)
    font[NameObject("/Widths")] = ArrayObject([NumberObject(500)] * 67)
    page[NameObject("/Contents")] = writer._add_object(stream)
    packed = io.BytesIO()
    writer.write(packed)
    assert text_of(extract(packed.getvalue(), "a.pdf")) == shown


def test_small_gaps_of_east_asia_in_a_pdf_are_none() -> None:
    assert text_of(extract(make_pdf_of_glyphs("ab ba", 1000, b"0002", 1000), "a.pdf")) == "abba\n"


def test_pdf() -> None:
    data = make_pdf("First page of an exam-\nple with words", "Second page", title="A Title")
    extraction = extract(data, "a.pdf")
    assert extraction.title == "A Title"
    assert extraction.front_matter == {"author": "Ada", "date": "2024-01-31"}
    assert text_of(extraction) == "First page of an example with words\n\nSecond page\n"
    assert extraction.passages[0].headings == ("page 1",)
    assert extraction.extractor.startswith("pdf/3 pypdf/")
    assert b"".join(extraction.original) == data


def test_a_passage_names_the_page_on_which_it_begins() -> None:
    extraction = extract(make_pdf(*("\n".join(["words of a page"] * 100) for _ in range(3))), "a.pdf")
    assert [passage.headings for passage in extraction.passages] == [("page 1",), ("page 2",), ("page 3",)]


def test_pdfs_without_text() -> None:
    blank = extract(make_pdf(), "a.pdf")
    assert "no text" in blank.warnings[0]
    encrypted = PdfWriter()
    encrypted.add_blank_page(10, 10)
    encrypted.encrypt("secret", algorithm="RC4-128")
    packed = io.BytesIO()
    encrypted.write(packed)
    assert extract(packed.getvalue(), "a.pdf").warnings


@pytest.mark.parametrize("cut", [5, 20, 100, 400, 700])
def test_damaged_pdfs(cut: int, capfd: pytest.CaptureFixture[str]) -> None:
    data = make_pdf("First page")
    for damaged in (
        data[:cut],
        data[cut:],
        data[:cut] + b"\xff" * 30 + data[cut + 30 :],
        b"%PDF-1.4\n" + data[-cut:],
    ):
        extraction = extract(damaged, "a.pdf")
        assert b"".join(extraction.original or [p.data for p in extraction.passages]) == damaged
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger("pypdf").handlers


# E-mail

MAIL = """From: =?utf-8?q?J=C3=B6rg?= <j@x.org>
To: a@b.c
Subject: =?utf-8?b?5Lit5paH?= hello
Date: Mon, 1 Jan 2024 10:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=OUT

--OUT
Content-Type: multipart/alternative; boundary=IN

--IN
Content-Type: text/plain; charset=gb2312
Content-Transfer-Encoding: 8bit

你好，见 https://x.org/p

第二段
--IN
Content-Type: text/html

<p>the same in html</p>
--IN--
--OUT
Content-Type: text/plain; charset=nonsense
Content-Disposition: attachment; filename=a.txt

attached words
--OUT
Content-Type: image/png

binary
--OUT--
"""


def test_mail() -> None:
    extraction = extract(MAIL.encode("gb18030"), "a.eml")
    assert extraction.title == "中文 hello"
    assert extraction.front_matter == {
        "from": "Jörg <j@x.org>", "to": "a@b.c", "date": "Mon, 1 Jan 2024 10:00:00 +0000",
    }  # fmt: skip
    head = "From: Jörg <j@x.org>\nTo: a@b.c\nDate: Mon, 1 Jan 2024 10:00:00 +0000\nSubject: 中文 hello\n\n"
    body = "你好，见 https://x.org/p\n\n第二段\n\nattached words\n"
    assert text_of(extraction) == head + body
    assert extraction.extractor == "email/4"
    assert links_of(extraction) == [("links", "https://x.org/p", "", "")]
    assert extraction.links[0].line == 6


def test_mail_is_still_read_as_the_first_version_did() -> None:
    extraction = extract(MAIL.encode("gb18030"), "a.eml", extractor="email/1")
    assert (extraction.extractor, extraction.title) == ("email/1", "中文 hello")
    assert text_of(extraction) == "你好，见 https://x.org/p\n\n第二段\n\nattached words\n"
    assert extract(MAIL.encode("gb18030"), "a.eml", extractor="email/9").extractor == "email/4"


@pytest.mark.parametrize(
    ("shown", "joined"),
    [
        ("know-\nledge", "knowledge"), ("Über-\ngröße", "Übergröße"), ("größ-\nte", "größte"),
        ("мате-\nматика", "математика"), ("Ver\u00ad\nFAHREN", "VerFAHREN"), ("co\u2010\nop", "coop"),
        ("X-\nray", "X-\nray"), ("well-\nKnown", "well-\nKnown"), ("1-\n2 a-\n3", "1-\n2 a-\n3"), ("a -\nb", "a -\nb"),
    ],
)  # fmt: skip
def test_words_that_a_line_end_divides_in_a_pdf(
    shown: str, joined: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pypdf.PageObject.extract_text", lambda _: shown)
    data = make_pdf("any")
    assert text_of(extract(data, "a.pdf")) == f"{joined}\n"
    version = extract(data, "a.pdf").extractor.removeprefix("pdf/3")
    first = extract(data, "a.pdf", extractor=f"pdf/1{version}")
    assert first.extractor == f"pdf/1{version}"
    assert ("-\n" in text_of(first)) == (shown.startswith(("größ", "мат")) or "-\n" in joined)


@pytest.mark.parametrize(
    ("label", "codec", "said"),
    [
        ("iso-8859-1", "latin_1", "Grüße aus Köln"),
        ("gb2312", "gb18030", "今天天气很好，镕基"),
        ("iso-8859-1", "cp1252", "it’s “quoted”"),
        ("windows-1257", "cp1257", "Ačiū už laišką"),
    ],
)
def test_a_page_in_a_mail_is_decoded_once(label: str, codec: str, said: str) -> None:
    head = f"From: a@b.c\nTo: d@e.f\nSubject: s\nContent-Type: text/html; charset={label}\n\n"
    page = f'<html><head><meta http-equiv="Content-Type" content="text/html; charset={label}"></head><p>{said}</p>'
    extraction = extract((head + page).encode(codec), "a.eml")
    assert text_of(extraction).endswith(f"\n\n{said}\n")
    assert extraction.extractor == "email/4"


@pytest.mark.parametrize(
    ("kind", "parts", "warned"),
    [
        ("text/plain", 199, False),
        ("text/plain", 200, True),
        ("message/rfc822", 200, True),
        ("image/png", 300, False),
    ],
)
def test_a_mail_with_too_many_parts_says_that_the_rest_is_not_searched(
    kind: str, parts: int, warned: bool
) -> None:
    head = 'Subject: s\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="=="\n\n'
    mail = (
        head
        + "".join(f"--==\nContent-Type: {kind}\n\npart{number}\n" for number in range(parts))
        + "--==--\n"
    )
    extraction = extract(mail.encode(), "a.eml")
    assert bool(extraction.warnings) == warned
    if kind == "text/plain":
        assert "part198" in text_of(extraction)
        assert ("part199" in text_of(extraction)) is False
    if warned:
        assert extraction.warnings == ["it has more than 200 parts; the text of the others is not searched"]


@pytest.mark.parametrize("kind", ["multipart/mixed", "multipart/mixed; boundary=B"])
def test_a_mail_whose_parts_cannot_be_told_apart_says_so(kind: str) -> None:
    head = f"Subject: x\nContent-Type: {kind}\n\n".encode()
    assert "cannot be told" in extract(head + b"no boundary in here\n", "a.eml").warnings[0]
    assert not extract(head + b"\n", "a.eml").warnings


def test_what_is_wrong_with_a_page_in_a_mail_is_said_once() -> None:
    page = "--==\nContent-Type: text/html\n\n" + "<div>" * 1200 + "deep\n"
    mail = (
        f'Subject: s\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="=="\n\n{page}{page}--==--\n'
    )
    assert extract(mail.encode(), "a.eml").warnings == ["the page is nested too deeply to tell its structure"]


@pytest.mark.parametrize(
    ("page", "codec"),
    [
        ("<meta charset=iso-8859-5><p>Да</p>", "iso8859_5"),
        ("<meta charset=windows-1257><p>šā</p>", "cp1257"),
        ("<meta charset=iso-8859-7><p>Άρα</p>", "iso8859_7"),
        ("<meta charset=us-ascii><p>Grüße</p>", "utf-8"),
        ("<meta charset=utf-16><p>Grüße</p>", "utf-8"),
    ],
)
def test_what_a_page_says_it_is_in(page: str, codec: str) -> None:
    assert text_of(extract(page.encode(codec), "a.html")).strip() in page


def test_mail_in_html_only() -> None:
    data = b'Subject: T\nContent-Type: text/html\n\n<h1>A</h1><p>words <a href="b.html">b</a></p>'
    extraction = extract(data, "a.eml")
    assert text_of(extraction) == "Subject: T\n\nA\n\nwords b\n"
    assert [(link.target, link.line) for link in extraction.links] == [("b.html", 5)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"Subject: =?bogus?q?x?=\n\nhi",
        b"Subject: =?utf-8?b?%%%?=\n\nhi",
        b"From: \xff\xfe\nSubject: caf\xe9\n\nhi",
        b"Content-Type: multipart/mixed\n\nhi",
        b"Content-Type: text/plain; charset=idna\n\n" + b"x" * 2000,
        b"Content-Type: text/plain; charset=zlib\n\nhi",
        b"Content-Type: ;;;\nContent-Transfer-Encoding: base64\n\n!!!",
        b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(300)),
        b"".join(b"Content-Type: message/rfc822\n\n" for n in range(2000)),
    ],
)
def test_damaged_mail(data: bytes) -> None:
    extraction = extract(data, "a.eml")
    assert b"".join(extraction.original) == data


# Word documents


def make_docx() -> bytes:
    document = docx.Document()
    document.add_heading("My Title", 0)
    document.add_heading("Section", 1)
    document.add_paragraph("Hello world 中文")
    table = document.add_table(2, 2)
    for row, cells in enumerate((("a", "b"), ("c", "d"))):
        for column, words in enumerate(cells):
            table.cell(row, column).text = words
    document.add_heading("Deeper", 2)
    document.add_paragraph("end\twith tab")
    document.core_properties.title = "Core Title"
    document.core_properties.author = "Ada"
    packed = io.BytesIO()
    document.save(packed)
    return packed.getvalue()


def test_docx() -> None:
    extraction = extract(make_docx(), "a.docx")
    assert extraction.title == "Core Title"
    assert extraction.front_matter["author"] == "Ada"
    assert text_of(extraction) == (
        "My Title\n\nSection\n\nHello world 中文\n\na  | b\nc  | d\n\nDeeper\n\nend\twith tab\n"
    )
    assert extraction.passages[0].headings == ("My Title", "Section")
    assert extraction.warnings == []


def packed_docx(body: bytes, **members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", body)
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


W = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="r">'


def test_docx_links() -> None:
    body = W + b'<w:p><w:hyperlink r:id="r1"><w:r><w:t>here</w:t></w:r></w:hyperlink></w:p></w:document>'
    rels = b'<Relationships><Relationship Id="r1" Type="x/hyperlink" Target="https://x.org"/></Relationships>'
    extraction = extract(packed_docx(body, **{"word/_rels/document.xml.rels": rels}), "a.docx")
    assert links_of(extraction) == [("links", "https://x.org", "", "")]
    assert text_of(extraction) == "here\n"


BESIDE = """
<w:p><w:r><w:t>COVID</w:t><w:noBreakHyphen/><w:t>19 co</w:t><w:softHyphen/><w:t>op</w:t></w:r></w:p>
<w:p><w:r><w:t>before </w:t><w:AlternateContent><w:Choice><w:txbxContent><w:p><w:r><w:t>in a box</w:t></w:r></w:p>
</w:txbxContent></w:Choice><w:Fallback><w:pict><w:p><w:r><w:t>in a box</w:t></w:r></w:p></w:pict></w:Fallback>
</w:AlternateContent><w:t>after</w:t></w:r></w:p>
<w:p><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>
<w:moveTo><w:r><w:t>moved</w:t></w:r></w:moveTo></w:p>
<w:p><w:r><w:ruby><w:rt><w:r><w:t>かん</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby></w:r>
<w:r><w:t>字</w:t></w:r></w:p></w:document>"""


def test_what_stands_beside_the_main_text_of_a_docx() -> None:
    note = (
        W.replace(b"document", b"footnotes")
        + b"<w:footnote><w:p><w:r><w:t>%s</w:t></w:r></w:p></w:footnote></w:footnotes>"
    )
    members = {"word/footnotes.xml": note % b"see below", "word/endnotes.xml": note % b" "}
    data = packed_docx(W + BESIDE.encode(), **members)
    extraction = extract(data, "a.docx")
    assert extraction.warnings == []
    assert text_of(extraction).split("\n\n") == [
        "COVID-19 co\u00adop", "in a box", "before after", "moved", "漢字 (かん)", "see below\n",
    ]  # fmt: skip
    first = extract(data, "a.docx", extractor="docx/1")
    assert first.extractor == "docx/1"
    assert text_of(first).split("\n\n")[0] == "COVID19 coop"
    assert "see below" not in text_of(first)


@pytest.mark.parametrize(
    ("body", "warning"),
    [
        (b"<w:document", "damaged"),
        (b'<!DOCTYPE x [<!ENTITY a "aaaa">]>' + W + b"<w:p><w:t>&a;</w:t></w:p></w:document>", "entities"),
        (b" " * (65 << 20), "larger"),
        (W + b"<w:p><w:t>" + b"x" * (17 << 20) + b"</w:t></w:p></w:document>", "too long"),
    ],
)
def test_hostile_docx(body: bytes, warning: str) -> None:
    extraction = extract(packed_docx(body), "a.docx")
    assert warning in extraction.warnings[0]


def test_a_deep_docx() -> None:
    body = W + b"<w:p>" * 200_000 + b"<w:r><w:t>x</w:t></w:r>" + b"</w:p>" * 200_000 + b"</w:document>"
    assert text_of(extract(packed_docx(body), "a.docx")) == "x\n"


def test_docx_archives_that_lie() -> None:
    data = make_docx()
    for damaged in (data[:100], data[:-30], data.replace(b"word/document.xml", b"word/document.xmm")):
        assert extract(damaged, "a.docx").warnings
    size = struct.pack("<I", 1 << 31)
    place = data.rindex(b"PK\x01\x02") + 24
    assert isinstance(extract(data[:place] + size + data[place + 4 :], "a.docx"), Extraction)


def test_reader_results_are_plain_values() -> None:
    files: list[tuple[bytes, str]] = [
        (PAGE.encode(), "a.html"),
        (make_pdf("x"), "a.pdf"),
        (make_docx(), "a.docx"),
    ]
    for data, name in files:
        extraction: Any = extract(data, name)
        assert all(type(link.line) is int and link.line >= 1 for link in extraction.links)
        assert all(type(value) is str for value in extraction.front_matter.values())


def test_of_a_message_in_very_many_parts_only_the_first_are_read() -> None:
    parts = "".join(f"--b\nContent-Type: text/plain\n\nword{number}\n" for number in range(300))
    head = "From: a@b.example\nTo: c@d.example\nSubject: parts\n"
    message = f'{head}Content-Type: multipart/mixed; boundary="b"\n\n{parts}--b--\n'
    found = text_of(extract(message.encode(), "a.eml")).split()
    assert "word150" in found
    assert "word250" not in found
