"""The query language: words, "phrases", -not, prefix*, and fields; everything else is plain text.

    merkle proof            passages with any of the words, best first
    "merkle proof"          only documents that hold the phrase
    -draft  -"old name"     no documents that hold it
    distil*                 words that begin so; "merkle pro*" is a phrase whose last word begins so
    title:merkle            only documents with the word in their title
    path:notes/  path:*.md  where the document lies: the beginning of the path, or a pattern; `path:.` is everywhere
    kind:core  lang:zh  label:NOVEL  since:2024-05  since:30d  until:2024  rev:main~2
    -path:old/  -kind:core  fields can be negated, except since:, until: and rev:

A field is only a field when its name is one of these, in lower case, with a value right behind the colon;
`http://example.org` and `note:` are plain text. A quotation mark opens a phrase at the beginning of a word
only. What keyboards and writing programs put in its place is one too where another closes it: “so”, „so“, «so», »so«.
Signs that name titles or set off speech in Chinese and Japanese, 《so》 and 「so」, are plain text.
"""

from __future__ import annotations

import calendar
import unicodedata
from collections.abc import Iterator
from dataclasses import field, replace
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from arbor.errors import UsageError
from arbor.lazy import lazy_pattern
from arbor.objects.model import KINDS
from arbor.records import dataclass
from arbor.repo.commits.moments import UNIT_SECONDS
from arbor.search.doubts import doubt_operators, doubt_phrase, doubt_word
from arbor.text.analyzer import match_units

MAX_QUERY_CHARS = 1_000_000
MAX_FILTERS = 64
MAX_STARS = 8
_FIELDS = ("path", "kind", "lang", "label", "since", "until", "rev", "title")
_PART = lazy_pattern(
    r"""\s*(?P<minus>-(?=[^\s-]))?(?:(?P<field>[a-z]+):(?=[^\s]))?"""
    r"""(?:"(?P<quoted>[^"]*)(?P<closed>"?)"""
    r"""|(?P<marked>[\u201c-\u201f\uff02][^"\u201c-\u201f\uff02]*["\u201c-\u201f\uff02]|\xab[^\xab\xbb]*\xbb|\xbb[^\xab\xbb]*\xab)"""
    r"""|(?P<plain>\S+))"""
)
_BEGUN_PHRASE = lazy_pattern(r"[^*]*[^\W_]\*")
_NOTES_MAX = 3
_LAST_MOMENT = 253_402_300_799
"""The end of the year 9999, and of what a date can say."""
# `30d`, and as git takes it `2.weeks.ago`; quoted, with spaces. Minutes are left out, since an m is a month.
_AGE = lazy_pattern(r"(\d{1,5})[\s._]*([hdwmy]|(?:hour|day|week|month|year)s?)(?:[\s._]+ago)?")
_YEAR_OR_MONTH = lazy_pattern(r"\d{4}(-\d\d)?")
_WEEK = lazy_pattern(r"\d{4}-?W\d\d")
_HALVES = lazy_pattern("[\ud800-\udfff]")
_WILDCARDS = lazy_pattern(r"[*?\[]")


class Term(NamedTuple):
    """Something to look for in the text: `kind` is "word", "phrase", "prefix" or "begun phrase"."""

    text: str
    kind: str

    @property
    def is_phrase(self) -> bool:
        """Whether documents must hold it."""
        return self.kind in ("phrase", "begun phrase")

    @property
    def is_begun(self) -> bool:
        """Whether its last word is only the beginning of one."""
        return self.kind in ("prefix", "begun phrase")


def is_one_letter(term: Term) -> bool:
    """Whether a term is all words that begin with one letter; a character of an unspaced script is a word by itself."""
    if term.kind != "prefix" or len(term.text) != 1:
        return False
    unit = match_units(term.text)[-1]
    return (
        len(unit.text) == 1 and not unit.prefix
    )  # some characters stand for several, as a half does for 1/2


class Condition(NamedTuple):
    """Something that a document must be, or with `negated` must not be."""

    value: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Query:
    """A query that has been understood.

    Attributes:
        text: As it was typed.
        terms: What is looked for, in the order typed and with repetitions; each adds to the score. A phrase is also
            required.
        excluded: What a document may not hold.
        titles: What its title must (not) hold.
        paths, kinds, langs, labels: Conditions; of several that are not negated, one must hold.
        since, until: Seconds since 1970 UTC; only documents of that time or later, or of that time or earlier.
        rev: The revision to search, "" for the one at hand.
        raw: An FTS5 expression instead of all this, "" where there is none.
        notes: What may be meant otherwise than it was understood, one sentence each.
    """

    text: str
    terms: tuple[Term, ...] = ()
    excluded: tuple[Term, ...] = ()
    titles: tuple[tuple[Term, bool], ...] = ()
    paths: tuple[Condition, ...] = ()
    kinds: tuple[Condition, ...] = ()
    langs: tuple[Condition, ...] = ()
    labels: tuple[Condition, ...] = ()
    since: int | None = None
    until: int | None = None
    rev: str = ""
    raw: str = ""
    notes: tuple[str, ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether anything is looked for in the text; without, a search lists what meets the conditions."""
        return bool(self.terms or self.raw)

    def of_kind(self, kind: str) -> Query:
        """The same query for documents of one kind.

        Raises:
            UsageError: when there is no such kind, or the query itself asks for another one.
        """
        wanted = Condition(_check_value("kind", kind), negated=False)
        if any((each.value == kind) == each.negated for each in self.kinds):
            raise UsageError(f"the query asks for another kind than {kind}", "name one of them")
        return replace(self, kinds=(wanted,))


@dataclass(slots=True)
class _Draft:
    terms: list[Term] = field(default_factory=list)
    excluded: list[Term] = field(default_factory=list)
    titles: list[tuple[Term, bool]] = field(default_factory=list)
    conditions: dict[str, list[Condition]] = field(default_factory=dict)
    since: int | None = None
    until: int | None = None
    rev: str = ""
    filters: int = 0
    notes: list[str] = field(default_factory=list)


def parse_query(text: str, now: float) -> Query:
    """Understand a query.

    Args:
        text: As typed.
        now: Seconds since 1970 UTC, from which `since:30d` and `until:30d` count back.

    Raises:
        UsageError: for an empty query, one that only excludes, an open quotation mark, or a bad value of a
        field.
    """
    text = _readable(text)
    draft = _Draft()
    for minus, name, value, quoted in _iter_parts(text):
        if name:
            _add_field(draft, name, value, quoted, minus, now)
        else:
            _add_term(draft, value, quoted, minus)
            if len(draft.notes) < _NOTES_MAX:
                draft.notes += doubt_phrase(value) if quoted else doubt_word(value, _FIELDS, minus=minus)
    draft.notes += doubt_operators([term.text for term in draft.terms if term.kind == "word"])
    conditions = {name: tuple(found) for name, found in draft.conditions.items()}
    query = Query(
        text, tuple(draft.terms), tuple(draft.excluded), tuple(draft.titles),
        conditions.get("path", ()), conditions.get("kind", ()), conditions.get("lang", ()),
        conditions.get("label", ()), draft.since, draft.until, draft.rev, notes=tuple(draft.notes),
    )  # fmt: skip
    _check_content(query)
    return query


def parse_raw_query(text: str) -> Query:
    """A query that goes to FTS5 as it is; raises UsageError when it is empty or too long."""
    text = _readable(text)
    if not text.strip():
        raise UsageError("the raw query is empty", "write an FTS5 expression: 'body : NEAR(merkle proof)'")
    return Query(text, raw=text.replace("\0", " "))


def _readable(text: str) -> str:
    """What was typed, with U+FFFD in place of bytes that are no UTF-8, which Python hands on as halves of characters.

    Raises:
        UsageError: when it is too long.
    """
    if len(text) > MAX_QUERY_CHARS:
        raise UsageError(f"the query is longer than {MAX_QUERY_CHARS:,} characters", "ask with fewer words")
    return text if text.isascii() else _HALVES.sub("\ufffd", text)


def parse_plain_query(text: str) -> Query:
    """A query in which every sign is plain text, such as a question from a collection.

    Raises:
        UsageError: when it is too long or holds no letter or digit.
    """
    text = _readable(text)
    query = Query(text, tuple(Term(word, "word") for word in text.split() if match_units(word)))
    _check_content(query)
    return query


def _iter_parts(text: str) -> Iterator[tuple[bool, str, str, bool]]:
    """(negated, field name or "", value, whether it was quoted) of each part."""
    position, end = 0, len(text.rstrip())
    while position < end:
        found = _PART.match(text, position)
        assert found is not None, "every character that is no space begins a part"
        if found["quoted"] is not None and not found["closed"]:
            raise UsageError("a quotation mark is not closed", 'close it: "like this", or leave it out')
        marked = found["marked"]
        quoted = found["quoted"] if marked is None else marked[1:-1]
        name, value = found["field"] or "", found["plain"] if quoted is None else quoted
        if name and name not in _FIELDS:
            name, value = "", text[found.start("field") : found.end()]
            yield bool(found["minus"]), "", value, False
        else:
            yield bool(found["minus"]), name, value, found["plain"] is None
        position = found.end()


def _add_term(draft: _Draft, value: str, quoted: bool, minus: bool) -> None:
    term = _make_term(value, quoted)
    if term is None:
        return
    if minus:
        draft.excluded.append(term)
        _count_filter(draft)
    else:
        draft.terms.append(term)
        if term.is_phrase:
            _count_filter(draft)


def _make_term(value: str, quoted: bool) -> Term | None:
    """The term, or None where there is no letter or digit to look for."""
    kind = "phrase" if quoted else "word"
    if _BEGUN_PHRASE.fullmatch(value) if quoted else value.endswith("*"):
        value, kind = value.rstrip("*"), "begun phrase" if quoted else "prefix"
    return Term(value, kind) if match_units(value) else None


def _count_filter(draft: _Draft) -> None:
    draft.filters += 1
    if draft.filters > MAX_FILTERS:
        raise UsageError(f"the query has more than {MAX_FILTERS} conditions", "ask with fewer")


def _add_field(draft: _Draft, name: str, value: str, quoted: bool, minus: bool, now: float) -> None:
    _count_filter(draft)
    if name in ("since", "until", "rev"):
        if minus:
            raise UsageError(f"'-{name}:' has no meaning", f"write {name}:{value}")
        if name == "since":
            first, _ = parse_span(value, now, name)
            draft.since = first if draft.since is None else max(draft.since, first)
        elif name == "until":
            _, last = parse_span(value, now, name)
            draft.until = last if draft.until is None else min(draft.until, last)
        elif not value or draft.rev not in ("", value):
            raise UsageError("a query names one revision", "write rev:main~2 once")
        else:
            draft.rev = value
    elif name == "title":
        term = _make_term(value, quoted)
        if term is not None:
            draft.titles.append((term, minus))
    else:
        draft.conditions.setdefault(name, []).append(Condition(_check_value(name, value), minus))


def _check_value(name: str, value: str) -> str:
    if name == "kind":
        value = value.lower()
    if name == "kind" and value not in KINDS:
        raise UsageError(f"'{value}' is not a kind of document", f"the kinds are: {', '.join(KINDS)}")
    if name == "lang":
        code = value.lower().replace("_", "-").split("-")[0]
        if not code:
            raise UsageError(f"'{value}' is not a language", "write its code, such as lang:en or lang:zh")
        return code
    if name == "path":
        value = "" if value == "." else value.removeprefix("./").removeprefix("/")
    if name == "path" and (value.count("*") > MAX_STARS or len(value) > 1000):
        raise UsageError("the path pattern is too long", f"use at most {MAX_STARS} stars")
    return unicodedata.normalize("NFC", value)


def parse_span(value: str, now: float, name: str = "since") -> tuple[int, int]:
    """The first and the last second of a date or an age, in seconds since 1970 UTC.

    A date is `2024`, `2024-05`, ISO 8601, `today` or `yesterday`, and one without a time lasts to its end; an age
    (`12h 30d 2w 6m 2.weeks.ago`) and a time are one moment.

    Args:
        value: What stands behind the colon.
        now: Seconds since 1970 UTC, from which ages count back.
        name: The filter, for the hint.

    Raises:
        UsageError: when it is neither.
    """
    age = _AGE.fullmatch(value.lower())
    today = datetime.fromtimestamp(min(max(now, 0), _LAST_MOMENT), UTC)  # a clock may show any year
    try:
        if value in ("today", "yesterday"):
            midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
            first = midnight - timedelta(days=value == "yesterday")
            return _span(first, 1)
        if age:
            return _span(today - timedelta(seconds=int(age[1]) * UNIT_SECONDS[age[2][0]]))
        if _YEAR_OR_MONTH.fullmatch(value):
            first = datetime.fromisoformat((value + "-01-01")[:10]).replace(tzinfo=UTC)
            in_month = calendar.monthrange(first.year, first.month)[1]
            return _span(first, in_month if "-" in value else 365 + calendar.isleap(first.year))
        moment = datetime.fromisoformat(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return _span(moment, 7 if _WEEK.fullmatch(value) else int(_is_day(value)))
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"'{value}' is neither a date nor an age",
            f"write {name}:2024-05-31 or {name}:30d (h, d, w, m, y)",
        ) from error


def _span(first: datetime, days: int = 0) -> tuple[int, int]:
    """The first and the last second of some days; of none, one moment."""
    start = int(first.timestamp())
    return start, start + max(days * 86_400 - 1, 0)


def _is_day(value: str) -> bool:
    """Whether what is a date in ISO 8601 names no time."""
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def is_pattern(path: str) -> bool:
    """Whether a `path:` value is a pattern and not the beginning of a path."""
    return _WILDCARDS.search(path) is not None


def _check_content(query: Query) -> None:
    if query.has_words:
        return
    if not query.text.strip():
        raise UsageError("the query is empty", "write one or more words to look for")
    conditions = [*query.paths, *query.kinds, *query.langs, *query.labels]
    if (
        query.since is not None
        or query.until is not None
        or not all([*(each.negated for each in conditions), *(negated for _, negated in query.titles)])
    ):
        return  # what is left out is left out of what meets these
    if query.excluded or query.titles or conditions:
        raise UsageError(
            "the query only says what to leave out", "add a word to look for, or path:. for all the rest"
        )
    if query.rev:
        raise UsageError("the query has no words", "add a word to look for")
    raise UsageError("the query holds no letter or digit to look for", "write one or more words")
