"""From a query to what the index is asked: the words that tell, and conditions on documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from arbor.errors import UsageError
from arbor.index.reader import Filter, Session, all_of, matches_any
from arbor.index.tokens import Tokenizer
from arbor.records import dataclass
from arbor.search.beginnings import widen
from arbor.search.common_words import STOP_WORDS, is_stop_word
from arbor.search.query import Condition, Query, Term, is_one_letter, is_pattern
from arbor.search.spellings import other_spellings
from arbor.text.analyzer import Unit, match_units, phrase_unit, whole_run

COMMON_SHARE = 0.5
"""A word in more than this share of the passages does not rank: BM25's idf is zero there (FTS5 clamps it)."""
MAX_RANKED_UNITS = 128
"""Of longer queries the rarest words are used."""
MAX_LETTER_WORDS = 64
"""How many words stand for `a*`, which would else be a good part of the index."""
MAX_READ_UNITS = 10_000
MAX_REPEATS = 4
"""A word that is repeated more often than this counts this often."""


class RankedUnit(NamedTuple):
    """A unit that takes part in ranking.

    Attributes:
        unit: The unit.
        tokens: Its tokens.
        expression: FTS5's words for it.
        frequency: How many passages have it.
        beginning: What was typed in front of a `*`, where the unit is one of those that stand for it.
    """

    unit: Unit
    tokens: tuple[str, ...]
    expression: str
    frequency: int
    beginning: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the index is asked.

    Attributes:
        units: What ranks, repeated as in the query. Empty: nothing can match.
        fallback: What ranks when `units` finds nothing: every unit of the query.
        filters: Conditions on documents.
        notes: What was done to the query.
    """

    units: tuple[RankedUnit, ...]
    fallback: tuple[RankedUnit, ...]
    filters: tuple[Filter, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hooks:
    """What a search needs to know from rooms that it does not know.

    Attributes:
        documents_labelled: The oids of the documents that carry a consensus label, or CONTESTED beside it.
        label_of: The label of a document, None where it has none.
        is_contested: Whether CONTESTED stands beside it.
        paths_changed_since: Paths that changed after a moment (seconds since 1970 UTC): dates the documents whose
            text names no date. Without it, those never meet `since:` or `until:`.
    """

    documents_labelled: Callable[[str], Collection[bytes]] | None = None
    label_of: Callable[[bytes], str | None] | None = None
    is_contested: Callable[[bytes], bool] | None = None
    paths_changed_since: Callable[[int], Collection[str]] | None = None


def quote(text: str) -> str:
    """An FTS5 string: nothing in it has a meaning of its own."""
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def unit_expression(unit: Unit) -> str:
    """A unit as FTS5 writes it."""
    return quote(unit.text) + (" *" if unit.prefix else "")


def units_of(term: Term) -> list[Unit]:
    """The units of a term, any of which may match; a phrase or a prefix is a single one, if it has one spelling."""
    if term.kind == "word":
        whole = whole_run(term.text)
        return [*match_units(term.text), *([whole] if whole else []), *other_spellings(term.text)]
    return _phrase_units(term)


def _phrase_units(term: Term) -> list[Unit]:
    unit = phrase_unit(term.text, prefix=term.is_begun)
    if unit is None:
        return []
    return [unit] if term.is_begun else [unit, *other_spellings(term.text)]


def _required_units(term: Term, tokenizer: Tokenizer) -> list[Unit]:
    """The units of a term of which one must match; a run of Chinese is a phrase among them."""
    units = _phrase_units(term)
    return widen(units[0], tokenizer) if term.is_begun and units else units


def title_units(query: Query, tokenizer: Tokenizer) -> list[Unit]:
    """What the title must hold: words of the query like any others, so a text that holds them speaks for it too."""
    return [
        unit for term, negated in query.titles if not negated for unit in _required_units(term, tokenizer)
    ]


def make_plan(query: Query, sessions: Sequence[Session], tokenizer: Tokenizer, hooks: Hooks) -> Plan:
    """Decide what the indexes are asked.

    Args:
        query: The query.
        sessions: The indexes that will be asked, for how common the words are in all of them.
        tokenizer: Tells words that are one token from those that are several.
        hooks: Labels and dates.

    Raises:
        UsageError: for `label:` where labels are not known.
    """
    notes = list(query.notes)
    ranked = _ranked_units(query, sessions, tokenizer, notes)
    telling = _telling(ranked, sum(session.statistics().rows for session in sessions))
    if len(telling) > MAX_RANKED_UNITS:
        telling = _rarest(telling)
        notes.append(f"the query has many words: the {MAX_RANKED_UNITS} rarest of them were used")
    is_all = len(telling) == len(ranked)
    if is_all and _lacks_telling_words(query, ranked):
        telling, is_all = (), False
    fallback = () if is_all else _rarest(ranked)
    return Plan(telling, fallback, tuple(_filters(query, tokenizer, hooks)), tuple(notes))


def _ranked_units(
    query: Query, sessions: Sequence[Session], tokenizer: Tokenizer, notes: list[str]
) -> tuple[RankedUnit, ...]:
    """The units that are in an index at all, with how common they are, in the order of the query."""
    beginnings: dict[Unit, str] = {}
    units: list[Unit] = []
    for term in query.terms:
        if term.is_begun and len(units) <= MAX_READ_UNITS:
            required = [] if is_one_letter(term) else _required_units(term, tokenizer)
            beginnings |= dict.fromkeys(required, term.text)
            units += required
        else:
            units += units_of(term)
    if len(units) > MAX_READ_UNITS:
        notes.append(f"the query has {len(units):,} words: only the first {MAX_READ_UNITS:,} were read")
        del units[MAX_READ_UNITS:]
    tokens = tokenizer.tokens_of(unit.text for unit in units)
    ranked, seen = [], dict.fromkeys(units, 0)
    for unit in units:
        seen[unit] += 1
        if seen[unit] > MAX_REPEATS:
            continue
        parts = tokens[unit.text]
        frequency = sum(_frequency(session, unit, parts) for session in sessions)
        if frequency:
            ranked.append(RankedUnit(unit, parts, unit_expression(unit), frequency, beginnings.get(unit, "")))
    for term in dict.fromkeys(filter(is_one_letter, query.terms)):
        ranked += _frequent_words(term, sessions, tokenizer, notes)
    return tuple(ranked)


def _frequent_words(
    term: Term, sessions: Sequence[Session], tokenizer: Tokenizer, notes: list[str]
) -> Iterable[RankedUnit]:
    """What stands for all words that begin with one letter: those that most passages hold."""
    [beginning] = tokenizer.tokens(units_of(term)[0].text) or ("",)
    asked = MAX_LETTER_WORDS + len(STOP_WORDS)
    listed = [session.frequent_terms(beginning, asked) for session in sessions] if beginning else []
    frequencies = {
        token: sum(session.term_frequency(token) for session in sessions)
        for token in {token for tokens in listed for token in tokens}
        if token not in STOP_WORDS and tokenizer.tokens(token) == (token,)
    }
    ordered = sorted(frequencies, key=lambda token: (-frequencies[token], token))
    if len(ordered) > MAX_LETTER_WORDS:
        notes.append(
            f"'{term.text}*' stands for many words: the {MAX_LETTER_WORDS} most frequent of them were used"
        )
    for token in ordered[:MAX_LETTER_WORDS]:
        yield RankedUnit(Unit(token), (token,), quote(token), frequencies[token], term.text)


def _frequency(session: Session, unit: Unit, tokens: tuple[str, ...]) -> int:
    if len(tokens) == 1 and not unit.prefix:
        return session.term_frequency(tokens[0])
    return session.frequency(unit_expression(unit))


def _telling(ranked: tuple[RankedUnit, ...], rows: int) -> tuple[RankedUnit, ...]:
    """The units that tell passages apart.

    Leaving out a word that is in more than half of the rows changes no order: FTS5 gives it an idf of
    0.000001. Stop words are left out because they cost time and, measured, quality. If nothing would be left,
    all stay. Of a beginning with a common word, the rare ones that begin so too are no reason to leave that
    word out: `communi*` is `community` first of all, and not the one note with `communique`.
    """
    content = tuple(each for each in ranked if not _is_stop_word(each.unit))
    rare = tuple(each for each in content if each.frequency <= COMMON_SHARE * rows)
    common = {each.beginning for each in content if each.frequency > COMMON_SHARE * rows} - {""}
    alone = {each.unit.text for each in content}
    return rare if any(_tells(each, common, alone) for each in rare) else content or ranked


def _tells(each: RankedUnit, common: Collection[str], alone: Collection[str]) -> bool:
    """Whether a rare unit tells passages apart by itself: a whole run does only beside its pairs."""
    pairs = each.unit.text.split()
    is_run = len(pairs) > 1 and not each.unit.text.isascii() and all(pair in alone for pair in pairs)
    return each.beginning not in common and not is_run


def _is_stop_word(unit: Unit) -> bool:
    """Whether a unit carries no subject; `can*` does, as it is `canvas` too."""
    return not unit.prefix and is_stop_word(unit.text)


def _lacks_telling_words(query: Query, ranked: tuple[RankedUnit, ...]) -> bool:
    """Whether words of the query tell something, and the index has none of them: only stop words are left."""
    if any(not _is_stop_word(each.unit) for each in ranked):
        return False
    return any(not _is_stop_word(unit) for term in query.terms for unit in units_of(term))


def _rarest(units: tuple[RankedUnit, ...]) -> tuple[RankedUnit, ...]:
    """As many of the rarest units as are ranked, in the order of the query; of equally rare ones the first."""
    by_rarity = sorted(range(len(units)), key=lambda number: units[number].frequency)
    return tuple(units[number] for number in sorted(by_rarity[:MAX_RANKED_UNITS]))


def _filters(query: Query, tokenizer: Tokenizer, hooks: Hooks) -> Iterable[Filter]:
    for term in query.terms:
        if term.is_phrase:
            yield from _text_filter(term, tokenizer, "", negated=False)
    for term in query.excluded:
        yield from _text_filter(term, tokenizer, "", negated=True)
    for term, negated in query.titles:
        yield from _text_filter(term, tokenizer, "title : ", negated=negated)
    paths = path_condition(query.paths)
    if paths is not None:
        yield path_filter(paths)
    yield from _any_of(query.kinds, lambda value: Filter("d.kind = ?", (value,)))
    yield from _any_of(query.langs, lang_filter)
    yield from _any_of(query.labels, lambda value: _label_filter(value, hooks))
    if query.since is not None:
        yield _date_filter(">=", query.since, "IN", query.since, hooks)
    if query.until is not None:
        yield _date_filter("<=", query.until, "NOT IN", query.until + 1, hooks)


def _text_filter(term: Term, tokenizer: Tokenizer, column: str, *, negated: bool) -> Iterable[Filter]:
    """Documents that hold all units of the term (a run of Chinese as a phrase), or none that holds them."""
    units = _required_units(term, tokenizer)
    if units:
        found = matches_any(f"{column}({' OR '.join(map(unit_expression, units))})")
        yield _negate(found) if negated else found


def _negate(condition: Filter) -> Filter:
    return Filter(f"NOT ({condition.sql})", condition.values)


def _any_of(conditions: Sequence[Condition], make: Callable[[str], Filter]) -> Iterable[Filter]:
    """At least one of the conditions that are not negated, and none of the others."""
    wanted = [make(condition.value) for condition in conditions if not condition.negated]
    if wanted:
        values = tuple(value for condition in wanted for value in condition.values)
        yield Filter("(" + " OR ".join(f"({condition.sql})" for condition in wanted) + ")", values)
    for condition in conditions:
        if condition.negated:
            yield _negate(make(condition.value))


def path_condition(conditions: Sequence[Condition]) -> Filter | None:
    """What one path must be under all `path:` and `-path:` of a query; None without any.

    The same bytes can lie at several paths. They are one document, and it meets the conditions where one of its paths
    meets all of them: leaving out one folder does not hide what also lies elsewhere.
    """
    met = tuple(_any_of(conditions, _path_test))
    return all_of(met) if met else None


def path_filter(path: Filter) -> Filter:
    """The documents that have a path which meets a condition of `path_condition`."""
    return Filter(f"d.id IN (SELECT document FROM paths WHERE {path.sql})", path.values)


def lang_filter(code: str) -> Filter:
    """The documents in a language."""
    return Filter("d.lang = ?", (code,))


def _path_test(value: str) -> Filter:
    """Paths that begin with the value or, where it is a pattern, match it whole or from a folder on.

    Stars and brackets can be part of a name, so what is a pattern is also tried as it stands, as in git.
    """
    begins = Filter("path >= ? AND path < ?", (value, value + "\U0010ffff"))
    if is_pattern(value):
        return Filter(f"path GLOB ? OR path GLOB ? OR {begins.sql}", (value, "*/" + value, *begins.values))
    return begins


def _label_filter(value: str, hooks: Hooks) -> Filter:
    if hooks.documents_labelled is None:
        raise UsageError("labels are not known here", "leave label: out of the query")
    return one_of_documents(hooks.documents_labelled(value))


def one_of_documents(oids: Collection[bytes]) -> Filter:
    """The documents with these oids."""
    listed = json.dumps([oid.hex().upper() for oid in oids])
    return Filter("hex(d.oid) IN (SELECT value FROM json_each(?))", (listed,))


def _date_filter(compared: str, moment: int, among: str, since: int, hooks: Hooks) -> Filter:
    """By the document's own date; where the text names none, by whether its path is among those changed since."""
    dated = f"d.dated {compared} ?"
    if hooks.paths_changed_since is None:
        return Filter(dated, (moment,))
    listed = json.dumps(list(hooks.paths_changed_since(since)))
    return Filter(
        f"({dated} OR d.dated IS NULL AND d.id IN"
        f" (SELECT document FROM paths WHERE path {among} (SELECT value FROM json_each(?))))",
        (moment, listed),
    )
