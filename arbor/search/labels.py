"""The consensus labels that hits carry and `label:` asks for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterator
from typing import Any

from arbor.errors import IntegrityError, UsageError
from arbor.graph.consensus import Consensus
from arbor.graph.desk import ConsensusDesk, parse_label
from arbor.graph.standing import CONTESTED
from arbor.index.cache_lock import Told
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot

IDLE_KEPT = 4
"""So many are kept open for searches that run at once."""

NOT_AT_HAND = "labels are not worked out yet; run: arbor consensus"


class LabelDesk:
    """The consensus of a version for searches, kept open from one to the next while the version stays the same.

    Safe from several threads: searches that run at once have one each, so that none is moved or closed under another.
    """

    def __init__(self, repo: Repository) -> None:
        self._desk = ConsensusDesk(repo)
        self._mutex = threading.Lock()
        self._idle: list[Consensus] = []

    @contextlib.contextmanager
    def at(
        self, snapshot: Snapshot, *, required: bool, progress: Told | None = None
    ) -> Iterator[tuple[Consensus | None, str]]:
        """The consensus of a version, or None and why, where it is not `required`.

        It may not be at hand, be damaged, or its policy in `arbor.toml`, which came with a clone, not make sense.
        """
        try:
            held = self._find(snapshot, required=required, progress=progress)
            lack = "" if held else NOT_AT_HAND
        except (IntegrityError, UsageError) as error:
            if required:
                raise
            held, lack = None, f"without labels: {error.message}"
        try:
            yield held, lack
        except BaseException:
            if held is not None:
                held.close()  # it may be what was wrong
            raise
        if held is not None:
            self._keep(held)

    def _find(self, snapshot: Snapshot, *, required: bool, progress: Told | None) -> Consensus | None:
        while (held := self._pop()) is not None:
            if _is_of(held, snapshot):
                return held
            held.close()
        if not required and not self._desk.is_at_hand(snapshot):
            return None
        return self._desk.labels(snapshot, progress)

    def _pop(self) -> Consensus | None:
        with self._mutex:
            return self._idle.pop() if self._idle else None

    def _keep(self, held: Consensus) -> None:
        """Keep what a search is done with for the next one, or close it where there are enough."""
        held.rest()
        with self._mutex:
            if len(self._idle) < IDLE_KEPT:
                self._idle.append(held)
                return
        held.close()

    def mend(self) -> None:
        """Make the consensus anew where what is on disk is damaged."""
        self.close()
        self._desk.mend()

    def distrust(self) -> None:
        """Make the consensus anew at the next search, for what is on disk is damaged."""
        self.close()
        self._desk.distrust()

    def close(self) -> None:
        """Give back what no search is using."""
        while (held := self._pop()) is not None:
            held.close()


def _is_of(consensus: Consensus, snapshot: Snapshot) -> bool:
    """Whether a consensus that was kept is, as it is now, of a version."""
    try:
        consensus.wake()
        return consensus.is_of(snapshot)
    except IntegrityError:
        return False


def label_hooks(consensus: Consensus | None) -> dict[str, Any]:
    """What a search asks of consensus: a document's label, what stands beside it, and who carries which."""
    if consensus is None:
        return {}

    def label_of(oid: bytes) -> str | None:
        label = consensus.label_of_document(oid)
        return None if label is None else label.value

    def documents_labelled(name: str) -> Collection[bytes]:
        if name.upper() == CONTESTED:
            return consensus.documents_contested()
        return consensus.documents_labelled(parse_label(name))

    return {
        "label_of": label_of, "is_contested": consensus.is_contested, "documents_labelled": documents_labelled,
    }  # fmt: skip
