"""The search itself: plan, candidates, ranking, audit, and what is shown."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from arbor.errors import IntegrityError
from arbor.index.reader import IndexReader, Session
from arbor.index.tokens import Tokenizer
from arbor.objects.ids import file_hash
from arbor.repo.snapshot import Snapshot
from arbor.search.audit import Auditor
from arbor.search.options import DEFAULT_OPTIONS, SearchOptions
from arbor.search.plan import Plan, lang_filter, make_plan, path_condition, path_filter
from arbor.search.presenting import HIDDEN, HitMaker, join_copies
from arbor.search.query import Query, is_pattern, parse_query, parse_raw_query
from arbor.search.results import AuditMode, Hit, SearchResult
from arbor.search.retrieval import Pool, retrieve
from arbor.search.work_tree import Content, WorkTree
from arbor.text.extraction import Extraction

EXAMINED_MAX = 5_000
"""Documents looked at when a mode withholds most of them."""
_FELL_BACK = "nothing holds the telling words of the query: its common words were used"
_ONLY_FILTERS = (
    "the query has no word that a text could hold, and STRICT shows nothing without; HYBRID lists what fits"
)


class Searcher:
    """Asks indexes, and remembers what it has proven and tokenized. Safe from several threads."""

    def __init__(self) -> None:
        self._tokenizer = Tokenizer()
        self._auditor = Auditor()

    def search(
        self,
        snapshot: Snapshot,
        index: IndexReader,
        query: str | Query,
        options: SearchOptions = DEFAULT_OPTIONS,
        work_tree: Mapping[str, Extraction | None] | None = None,
    ) -> SearchResult:
        """Search one version.

        Args:
            snapshot: The version; hits are proven against its ledger root.
            index: An index of that version.
            query: As typed, or parsed before.
            options: Mode, limits and hooks.
            work_tree: What differs in the work tree, by path: what was read from a file, or None where it is gone.
                Only VISUAL, which claims nothing, shows it; the other modes leave it alone.

        Raises:
            UsageError: when the query cannot be understood.
            IndexMoved: when the index holds another version by now: open it again and repeat.
            IndexDamaged: when the index is broken: rebuild it and repeat.
        """
        parsed = query if isinstance(query, Query) else parse(query, options)
        files = None
        if work_tree and options.mode is AuditMode.VISUAL:
            files = WorkTree(work_tree, int(time.time() if options.now is None else options.now))
        try:
            with index.session(snapshot.ledger_root) as session:
                desk = _Desk(session, parsed, options, files, self._tokenizer)
                maker = HitMaker(snapshot, session, self._auditor, self._tokenizer, parsed, options)
                hits, withheld, more = _collect(desk, maker, options)
                notes = (*desk.notes, *_tier_notes(session, snapshot))
                if not hits:
                    notes += tuple(_lacking_notes(session, parsed))
        finally:
            if files is not None:
                files.close()
        return SearchResult(
            query=parsed.text,
            mode=options.mode,
            ledger_root=snapshot.ledger_root,
            rev=b"",
            trace=_trace_of(snapshot, parsed, options, hits),
            hits=hits,
            withheld=withheld,
            more=more,
            notes=notes,
        )

    def rank(
        self,
        snapshot: Snapshot,
        index: IndexReader,
        query: str | Query,
        options: SearchOptions = DEFAULT_OPTIONS,
    ) -> list[tuple[tuple[str, ...], float]]:
        """The order of `search` alone: the paths of each document and its score, with nothing read or proven.

        Args:
            snapshot: The version.
            index: An index of that version.
            query: As typed, or parsed before.
            options: `limit`, hooks and ranker count; the mode does not, since nothing is withheld.

        Raises:
            UsageError: when the query cannot be understood.
        """
        parsed = query if isinstance(query, Query) else parse(query, options)
        with index.session(snapshot.ledger_root) as session:
            pool = _Desk(session, parsed, options, None, self._tokenizer).candidates(options.documents)
            ranked = options.rank(pool.candidates, session)[: options.limit]
            return [(tuple(session.paths_of(each.candidate.document.first)), each.score) for each in ranked]


def parse(text: str, options: SearchOptions = DEFAULT_OPTIONS) -> Query:
    """The query that a text means under these options; raises UsageError."""
    if options.raw:
        query = parse_raw_query(text)
    else:
        query = parse_query(text, time.time() if options.now is None else options.now)
    return query.of_kind(options.kind) if options.kind else query


def _tier_notes(session: Session, snapshot: Snapshot) -> tuple[str, ...]:
    """What of this version the search could not look into, one sentence each."""
    tiers, notes = snapshot.tiers(), []
    cold = session.count_bodiless() if tiers.cold else 0
    if cold:
        notes.append(f"searched only by title, path and kept words, being cold: {cold:,}")
    warm = 0
    with contextlib.suppress(IntegrityError):  # nothing else asks for a ledger that cannot be read
        warm = snapshot.count() - session.count_paths() if tiers.warm else 0
    if warm > 0:
        notes.append(f"not searched, being warm: {warm:,}")
    return tuple(notes)


def _lacking_notes(session: Session, query: Query) -> Iterator[str]:
    """Which `path:` and `lang:` of a query that found nothing is no document's."""
    for condition in query.paths:
        alone = None if condition.negated else path_condition([condition])
        if alone is not None and not session.list_documents([path_filter(alone)], 1):
            what = "fits" if is_pattern(condition.value) else "begins with"
            yield f"no path {what} '{condition.value}'"
    for condition in query.langs:
        if not condition.negated and not session.list_documents([lang_filter(condition.value)], 1):
            yield f"no document is known to be in '{condition.value}'; languages are codes, such as lang:en or lang:zh"


class _Desk:
    """Where candidates come from: the index, and the files beside it."""

    def __init__(
        self,
        session: Session,
        query: Query,
        options: SearchOptions,
        files: WorkTree | None,
        tokenizer: Tokenizer,
    ) -> None:
        self.session = session
        self._query = query
        self._files = files
        sessions = [session] if files is None else [session, files.overlay.session]
        self._plan: Plan = make_plan(query, sessions, tokenizer, options.hooks)
        self.hidden: frozenset[str] = frozenset() if files is None else files.paths
        self.notes = self._plan.notes

    @property
    def has_files(self) -> bool:
        """Whether files are looked at that are not committed; they can be copies of what is."""
        return self._files is not None

    def has_words(self, pool: Pool) -> bool:
        """Whether there is anything that a text could hold evidence for."""
        return bool(pool.units or self._query.raw)

    def candidates(self, documents: int) -> Pool:
        """At least this many of the best candidates, or all."""
        plan = self._plan
        pool = retrieve(self.session, self._query, plan, documents)
        if self._files is not None:
            pool = self._with_files(self._files, pool)
        if pool.candidates and pool.units and pool.units == plan.fallback:
            self.notes = (*plan.notes, _FELL_BACK)
        return pool

    def fall_back(self, pool: Pool) -> bool:
        """Ask for the common words too, every candidate being another file by now; False where they were asked for."""
        plan = self._plan
        if self._files is None or not plan.fallback or pool.units == plan.fallback:
            return False
        self._plan = replace(plan, units=plan.fallback, fallback=())
        self.notes = (*plan.notes, _FELL_BACK)
        return True

    def _with_files(self, files: WorkTree, pool: Pool) -> Pool:
        plan, beside = self._plan, self.session.statistics()
        units = plan.units
        found = files.candidates(self._query, plan, units, beside)
        if plan.fallback and (not pool.candidates or pool.units == plan.fallback):
            if found:  # what is committed holds only the common words, and these files the others
                pool = Pool((), True, units)
            else:
                units = plan.fallback
                found = files.candidates(self._query, plan, units, beside)
        merged = sorted([*pool.candidates, *found], key=lambda each: (-each.score, each.document.path))
        return Pool(tuple(merged), pool.complete, units)


def _collect(
    desk: _Desk, maker: HitMaker, options: SearchOptions
) -> tuple[tuple[Hit, ...], dict[str, int], bool]:
    """The hits that may be shown, the reasons of those passed over on the way, counted, and whether more match."""
    limit, wanted = options.limit, options.documents
    while True:
        pool = desk.candidates(wanted)
        maker.look_for(pool.units)
        shown: list[Hit] = []
        withheld: Counter[str] = Counter()
        more = False
        places: dict[Content, int] = {}  # where in `shown` the hit of each content is
        for ranked in options.rank(pool.candidates, desk.session):
            content = maker.content_of(ranked.candidate) if desk.has_files else None
            place = places.get(content) if content else None
            if len(shown) == limit and place is None:
                more = more or maker.is_shown(ranked, desk.hidden)
                if content is None:
                    break
                continue  # further copies of what is shown may come
            hit, reason = maker.make(ranked, len(shown) + 1, desk.hidden)
            if hit is None:
                withheld.update([reason] if reason != HIDDEN else [])
            elif place is not None and not (shown[place].document and hit.document):
                shown[place] = join_copies(shown[place], hit)
            elif len(shown) < limit:
                if content:
                    places.setdefault(content, len(shown))
                shown.append(hit)
        if pool.complete and not shown and not withheld and desk.fall_back(pool):
            continue
        found = tuple(shown), dict(sorted(withheld.items())), more or not pool.complete
        if more or pool.complete or wanted >= EXAMINED_MAX:
            return found
        if options.mode is AuditMode.STRICT and not desk.has_words(pool):
            desk.notes = (*desk.notes, f"{_ONLY_FILTERS} (withheld are the first {sum(withheld.values()):,})")
            return found
        wanted *= 4  # also where enough are shown: the others so far were withheld or hidden, and tell nothing of more


def _trace_of(snapshot: Snapshot, query: Query, options: SearchOptions, hits: Sequence[Hit]) -> str:
    """The same version, query, mode and hits have the same trace."""
    asked = f"\0{options.mode.value}\0{query.text}\0".encode("utf-8", "surrogatepass")
    return file_hash(b"".join([snapshot.ledger_root, asked, *(hit.document for hit in hits)])).hex()[:16]
