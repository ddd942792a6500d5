"""One download from first question to checked quarantine; what it brought is published under the writer lock."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from arbor.errors import IntegrityError, LostObject
from arbor.records import dataclass
from arbor.remote.protocol.limits import DEFAULT_LIMITS, Limits
from arbor.remote.protocol.messages import FULL, FetchRequest, decode_fetch_answer, encode_fetch_request
from arbor.remote.protocol.wire import Transport, open_packets
from arbor.remote.quarantine import landing
from arbor.remote.quarantine.connectivity import Checked, check_connected, refuse_incomplete
from arbor.remote.quarantine.inspecting import Inspection
from arbor.remote.quarantine.receiving import Quarantine, TransferProgress, open_quarantine, quarantine_key
from arbor.repo.repository import Repository
from arbor.repo.tiers import read_tiers, write_tiers
from arbor.store.files import storing
from arbor.store.journal import Journal


@dataclass(frozen=True, slots=True)
class TransferOptions:
    """How to receive.

    Attributes:
        filter: Which passages are wanted, see `FetchRequest.filter`.
        limits: Bounds.
        progress: Told of objects and bytes.
        accept: Gets the new commits before anything is published; what it raises refuses the transfer.
    """

    filter: str = FULL
    limits: Limits = DEFAULT_LIMITS
    progress: TransferProgress | None = None
    accept: Callable[[Checked], None] | None = None


@dataclass(slots=True)
class Arrival:
    """What came and was checked. `publish` makes it part of the KB; without it nothing stays."""

    repo: Repository
    url: str
    checked: Checked
    objects: int
    received_bytes: int
    _quarantine: Quarantine
    _inspection: Inspection

    def publish(self) -> None:
        """Move the pack in place, and note what is cold. Refs are moved afterwards."""
        store = self.repo.store
        landing.begin(self.repo)
        self._quarantine.publish(store, self._inspection)
        self._quarantine.discard()  # before the refs: once they have moved, no second try would come by
        store.refresh()
        Journal(self.repo.folder).append("fetch", {
            "from": self.url.encode("utf-8", "replace").decode(), "objects": self.objects, "bytes": self.received_bytes,
            "commits": len(self.checked.commits), "cold": len(self.checked.cold),
        })  # fmt: skip
        if self.checked.cold:
            tiers = read_tiers(self.repo.folder)
            cold = replace(tiers, warm=tiers.warm - self.checked.cold, cold=tiers.cold | self.checked.cold)
            with self.repo.following_tiers(self.checked.cold):
                write_tiers(self.repo.folder, cold)


@contextlib.contextmanager
def download(
    repo: Repository, transport: Transport, wants: Sequence[bytes], haves: Sequence[bytes], targets: Collection[bytes],
    options: TransferOptions,
) -> Iterator[Arrival]:  # fmt: skip
    """Fetch what is wanted into quarantine and check it; the block runs under the writer lock.

    Args:
        repo: Where to.
        transport: Where from.
        wants: Commits or tag objects that are not here.
        haves: Commits that are here in full.
        targets: What refs are to stand at: `wants`, and perhaps more that was here.
        options: How.

    Raises:
        IntegrityError: when what came is damaged, malformed or incomplete.
        RemoteError: when the other side fails.
        StorageError: when the system refuses to store it: a full disk, say.
    """
    key = quarantine_key(transport.url, options.filter)
    with storing(repo.folder), open_quarantine(repo.folder, key, options.limits) as quarantine:
        cold: frozenset[bytes] = frozenset()
        if wants:
            held = quarantine.held() + landing.landed(repo)
            request = FetchRequest(tuple(wants), tuple(haves), options.filter, held)
            message, frames = open_packets(transport.call("fetch", encode_fetch_request(request)))
            answer = decode_fetch_answer(message)
            cold = frozenset(answer.cold)
            quarantine.receive(frames, answer.objects, options.progress, some_held=bool(held))
        inspection = quarantine.inspect()
        with repo.lock():
            tiers = read_tiers(repo.folder)
            try:
                checked = check_connected(
                    repo, inspection, targets, lambda oid: bool(options.filter) or oid in cold, tiers
                )
                quarantine.check_files(inspection, checked, repo.store, tiers.cold | checked.cold)
            except IntegrityError as error:
                # It may be what has landed that is at fault: next time, all of it comes.
                landing.end(repo.folder)
                if isinstance(error, LostObject):
                    raise refuse_incomplete(error, "the other side's") from error
                raise
            if options.accept is not None:
                options.accept(checked)
            yield Arrival(repo, transport.url, checked, len(inspection.rows), quarantine.received_bytes, quarantine,
                          inspection)  # fmt: skip
            landing.end(repo.folder)
