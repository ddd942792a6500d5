"""Commands that need what is cold here: it is fetched from the remotes, all at once, before they begin or go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.sharing import connect_options
from arbor.cli.views import count
from arbor.errors import ColdDocument
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from arbor.remote import on_demand
    from arbor.repo.forgetting.cold_needs import Need
    from arbor.repo.results import TextDiff
else:
    on_demand = lazy_module("arbor.remote.on_demand")

T = TypeVar("T")
_NAMED = 5


def bring_back(session: Session, documents: Iterable[tuple[str, bytes]]) -> bool:
    """Bring cold documents (path, oid) of any version back from the remotes, and say so; whether something came."""
    wanted = list(documents)
    if not wanted or session.offline:
        return False
    report = on_demand.bring_documents(session.open().repo, wanted, connect_options(session),
                                       session.out.warning)  # fmt: skip
    if report.whole:
        places = clean_line(", ".join(sorted({place for done in report.whole for place in done.sources})))
        paths = sorted({done.paths[0] for done in report.whole})
        named = ", ".join(map(session.shown, paths))
        what = named if len(paths) <= _NAMED else count(len(report.whole), "document")
        session.out.note(f"brought back from {places}: {what}")
    return any(done.accepted for done in report.documents) or bool(report.whole)


def bring_needs(session: Session, needs: Sequence[Need]) -> None:
    """Bring back what an act needs as far as the remotes have it; the act itself refuses what it cannot do without."""
    bring_back(session, [(need.path, need.document) for need in needs])


def with_passages(session: Session, work: Callable[[], T]) -> T:
    """Do something; where it cannot be done for what is cold here, bring that back and do it again.

    Raises:
        ColdDocument: when no remote has it.
    """
    try:
        return work()
    except ColdDocument as cold:
        if not bring_back(session, cold.documents):
            raise
        return work()


def with_texts(
    session: Session, changes: tuple[TextDiff, ...], again: Callable[[], tuple[TextDiff, ...]]
) -> tuple[TextDiff, ...]:
    """Differences, compared again where texts were cold and the remotes have them."""
    cold = [(path, bytes.fromhex(oid)) for change in changes for path, oid in change.cold]
    return again() if bring_back(session, cold) else changes
