"""How to search: how much proof a hit needs, how many are shown, and what other rooms know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from arbor.errors import UsageError
from arbor.index.reader import Session
from arbor.objects.model import Document
from arbor.records import dataclass
from arbor.repo.snapshot import Snapshot
from arbor.search.plan import Hooks
from arbor.search.ranking import POOL_DOCUMENTS, ProfileRanker, Ranked, rank_by_relevance
from arbor.search.results import AuditMode
from arbor.search.retrieval import Candidate

MAX_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search.

    Attributes:
        mode: The least proof that a hit must have.
        limit: Documents to show, 1 ... `MAX_LIMIT`.
        passages: Passages to show of each document, from 1.
        raw: The query is an FTS5 expression.
        kind: Only documents of this kind, `surface` or `core`; "" for all.
        now: Seconds since 1970 UTC for `since:30d` and `until:30d`; None is the clock.
        check_core: Why the sources of a core are not proven, "" where they are; without it no core is STRICT.
        hooks: What other rooms know.
        ranker: Puts the candidates in order; without one, relevance alone does.
    """

    mode: AuditMode = AuditMode.HYBRID
    limit: int = 10
    passages: int = 3
    raw: bool = False
    kind: str = ""
    now: float | None = None
    check_core: Callable[[Snapshot, bytes, Document], str] | None = None
    hooks: Hooks = field(default_factory=Hooks)
    ranker: ProfileRanker | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_LIMIT:
            raise UsageError(f"the number of results must be 1 to {MAX_LIMIT:,}, not {self.limit}")
        if self.passages < 1:
            raise UsageError(f"the number of passages must be 1 or more, not {self.passages}")

    @property
    def documents(self) -> int:
        """How many candidates must be found before they can be put in order; one more tells whether more match."""
        return self.limit + 1 if self.ranker is None else max(self.limit + 1, POOL_DOCUMENTS)

    def rank(self, candidates: Sequence[Candidate], session: Session) -> list[Ranked]:
        """The candidates, best first."""
        return rank_by_relevance(candidates) if self.ranker is None else self.ranker.rank(candidates, session)


DEFAULT_OPTIONS = SearchOptions()
