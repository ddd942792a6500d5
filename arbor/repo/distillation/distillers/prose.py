"""The prose in a passage: what is left without front matter, headings, code, tables and markup."""

from __future__ import annotations

import re

from arbor.repo.distillation.distillers.contract import Source
from arbor.text.folded_text import joins
from arbor.text.folding import join_wrapped_lines

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n.*?\n(---|\.\.\.)[ \t]*(\r?\n|\Z)", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_SKIP = re.compile(
    r"^\s*(#{1,6}\s|\||!\[|<!--|</?[a-zA-Z][^>]*>\s*$|([-*_]\s*){3,}$|={3,}\s*$|\[[^\]]+\]:\s|:::|%%)"
)
_MARKER = re.compile(
    r"^\s*(?:(?:[-*+]|\d{1,3}[.)]|>+)\s+|[\u2022\u25a0\u25a1\u25c6\u25c7\u25cb\u25cf\u30fb]\s*)"
)
_WIDE_SIGN = (
    "\u2e80-\u312f\u31a0-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff9f\uffe0-\uffe6"
    "\U00020000-\U0003ffff"
)
_WRAPS = (("\n", re.compile(f"(?<=[{_WIDE_SIGN}])\n[ \t]*(?=[{_WIDE_SIGN}])")),)
"""A line end that stands for no space: between two letters or signs of Chinese or Japanese.
Source: CSS Text Module Level 3, "Segment Break Transformation Rules"."""

_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)|!\[\[[^\]]*\]\]")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_WIKILINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]")
_RST_LINK = re.compile(r"`([^`<>]+?)\s*(?:<[^<>`]*>)?`__?(?!\w)")
_TAG = re.compile(r"</?[a-zA-Z][^>]{0,200}>")
_EMPHASIS = re.compile(r"(\*\*|__|\*|_|~~|`)(?=\S)(.+?)(?<=\S)\1")
_SHORT_FORMS = frozenset(
    """
    e.g i.e mr mrs ms dr prof st vs fig eq no vol al approx cf ca inc ltd co jr sr dept est pp ed eds ch sec mt
    bzw evtl ggf inkl vgl nr abb bspw sog hrsg mio mrd z.b d.h u.a mme mlle p.ex env chap sra dra ud uds pág núm dott
    sig pag bijv blz m.b.t np tzn tj inż mgr např tzv т.е т.к г гг ул стр рис см напр тыс млн
    """.split()  # noqa: SIM905
)
"""A full stop after these, or after a single letter, seldom ends a sentence."""

_ENDING_LISTS = frozenset("etc usw ecc enz itd itp atd apod т.д т.п".split())  # noqa: SIM905
"""It does after these, where a capital follows."""

_MONTHS = frozenset("jan feb mar apr jun jul aug sep sept oct nov dec".split())  # noqa: SIM905
_MONTH_AFTER_DAY = re.compile(
    r"\s+(?:[^\W\d_A-Z]|(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b)"
)
_DAY = re.compile(r"(?<![\w.])\d{1,2}$")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_END = re.compile(
    "[.!?\u2026\u061f\u06d4]+[\"')\\]\u201d\u2019\u00bb]*(?=\\s|$)"
    "|(?:[\u3002\uff01\uff1f\uff61\u0964\u0965]|(?<![0-9A-Za-z\uff10-\uff5a])\uff0e(?![0-9\uff10-\uff19]))+"
    "[\u201d\u2019\u300d\u300f\uff09\u3011\u300b\u3009]*"
)
_OPENING, _CLOSING = (
    "\u300c\u300e\uff08\u3010\u300a\u3008\u201c",
    "\u300d\u300f\uff09\u3011\u300b\u3009\u201d",
)
_GOES_ON = re.compile(
    r"(?<=[」』])(?:と(?!ころ|にかく|ても)|って|など|の|は(?!い)|が|も(?!し|う|ちろん)|に|を|で(?!も|は)|から|まで)"
    r"|(?<=[！？])(?:と(?!ころ|にかく|ても)|って)"
)
"""What follows speech in a Japanese sentence that says whose it is."""

_RST_MARKUP = re.compile(r"^\s*(?:\.\.(?:\s|$)|:[\w-]+:|([=\-`:'\"~^_*+#<>.])\1{2,}\s*$)")
_EXTRACTED = frozenset(["text/html", "application/pdf", "message/rfc822"])
"""Media types whose text holds menus, page heads and the like, without marks that would tell them."""

_WORDS_MIN, _WIDE_CHARS_MIN = 4, 8
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_LAST_WORD = re.compile(r"([^\W\d_][\w.]*)$")


def prose_of(source: Source) -> list[list[str]]:
    """The paragraphs of prose in each passage: without headings, the head of a mail, and the menus of a page."""
    names = {source.title, *(name for path in source.headings for name in path)}
    found: list[list[str]] = []
    for index, text in enumerate(source.texts):
        if (
            source.media_type == "message/rfc822"
            and not index
            and text.startswith(("From: ", "To: ", "Date: "))
        ):
            text = text.partition("\n\n")[2]
        if source.media_type == "text/x-rst":
            text = "\n".join("" if _RST_MARKUP.match(line) else line for line in text.splitlines())
        each = paragraphs(text, first=index == 0)
        is_marked = source.media_type == "text/markdown"
        found.append(each if is_marked else [paragraph for paragraph in each if paragraph not in names])
    return _without_menus(found) if source.media_type in _EXTRACTED else found


def _without_menus(passages: list[list[str]]) -> list[list[str]]:
    """From the first paragraph on that has a sentence; all of them where none has one."""
    for number, paragraphs_there in enumerate(passages):
        for place, paragraph in enumerate(paragraphs_there):
            if _has_sentence(paragraph):
                return [[]] * number + [paragraphs_there[place:]] + passages[number + 1 :]
    return passages


def _has_sentence(paragraph: str) -> bool:
    sentence = first_sentence(paragraph)
    wide = len(_WIDE.findall(sentence))
    is_long = len(sentence.split()) >= _WORDS_MIN or wide >= _WIDE_CHARS_MIN
    is_menu = " | " in sentence or " » " in sentence or sentence.endswith("...")
    return is_long and not is_menu and _END.search(sentence) is not None


def paragraphs(text: str, *, first: bool) -> list[str]:
    """The paragraphs of prose in a passage, in order, as plain text on one line each.

    Args:
        text: The decoded passage.
        first: Whether it is a document's first passage, which may begin with front matter.
    """
    if first:
        text = _FRONT_MATTER.sub("", text, count=1)
    found: list[str] = []
    lines: list[str] = []
    fence = ""
    for line in [*text.splitlines(), ""]:
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        if mark:
            fence = mark[1]
        if mark or not line.strip() or _SKIP.match(line):
            plain = plain_text(join_wrapped_lines("".join(lines), _WRAPS))
            found += [plain] if plain else []
            lines = []
            continue
        item = _MARKER.sub("", line)
        lines.append(("\n" if item == line else " ") + item.rstrip())
    return found


def plain_text(text: str) -> str:
    """A line without markup and with single spaces."""
    if "[" in text:
        text = _WIKILINK.sub(r"\1", _LINK.sub(r"\1", _IMAGE.sub("", text)))
    if "`_" in text:
        text = _RST_LINK.sub(r"\1", text)
    if "<" in text:
        text = _TAG.sub("", text)
    if any(mark in text for mark in "*_~`"):
        text = _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text))
    return " ".join(text.split())


def first_sentence(text: str) -> str:
    """A text up to the end of its first sentence; the whole text where none ends."""
    for end in _END.finditer(text):
        if end.end() == len(text) or _is_end(text, end.start(), end.end()):
            return text[: end.end()]
    return text


def _is_end(text: str, start: int, end: int) -> bool:
    """Whether what stands there ends a sentence and not a short form, nor a sentence within speech or brackets."""
    if text[start] == ".":
        return _ends(text[:start], text[end:])
    if text[start] < "\u3000":
        return True
    is_open = text.count('"', 0, end) % 2 and '"' in text[end:]
    for opening, closing in zip(_OPENING, _CLOSING, strict=True):
        is_open = is_open or (
            text.count(opening, 0, end) > text.count(closing, 0, end) and closing in text[end:]
        )
    return not is_open and _GOES_ON.match(text, end) is None


def _ends(before: str, after: str) -> bool:
    """Whether a full stop between two texts ends a sentence: not behind a short form, an initial or a day."""
    if _DAY.search(before):
        return _MONTH_AFTER_DAY.match(after) is None
    found = _LAST_WORD.search(before)
    if found is None:
        return True
    word = found[1].lower().rstrip(".")
    follows = after.lstrip()[:1]
    if word in _ENDING_LISTS:
        return follows.isupper()
    if word in _SHORT_FORMS or len(word) == 1 or _INITIALS.fullmatch(word):
        return False
    if word in _MONTHS:
        return not follows.isdigit()
    return len(word) > _WORDS_MIN or not follows.islower()


def cut(text: str, max_chars: int) -> str:
    """A text of so many characters at most, cut between words and marked where it is cut."""
    if len(text) <= max_chars:
        return text
    end = max(max_chars - 1, 0)
    while end and joins(text[end]):
        end -= 1
    head = text[:end]
    space = head.rfind(" ")
    return (head[:space] if space > max_chars // 2 else head).rstrip(" ,;:.、。，；：") + "…"
