"""push: what is here goes to a remote, whose refs move only from where they were seen to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arbor.errors import ColdDocument
from arbor.objects.ids import OID_BYTES
from arbor.records import dataclass
from arbor.remote.exchange.accepting import NOT_FORWARD, TAG_EXISTS
from arbor.remote.exchange.enumerating import select_missing
from arbor.remote.exchange.negotiating import ROLLED_BACK, advertised, find_haves
from arbor.remote.exchange.sending import count_objects, iter_frames, parse_held, plan_frames
from arbor.remote.protocol.limits import HELD_BYTES
from arbor.remote.protocol.messages import (
    Advertisement,
    RefResult,
    RefUpdate,
    decode_bytes,
    decode_results,
    encode_updates,
)
from arbor.remote.protocol.wire import Message, NoneYet, Transport, take_message
from arbor.remote.quarantine.connectivity import complete_commits
from arbor.remote.quarantine.receiving import TransferProgress, quarantine_key
from arbor.repo.commits.history import is_ancestor, peel
from arbor.repo.repository import Repository
from arbor.repo.trust.witness import Seen, read_witnessed, remember
from arbor.store.pack_format import HEADER_BYTES, decode_frame_header
from arbor.store.refs import HEADS, REMOTES, check_ref_name

NO_SUCH_REF = "there is no such branch there; a tag that is not here is removed as refs/tags/NAME"
STALE = "it is not where it was last seen; fetch first"


@dataclass(frozen=True, slots=True)
class PushSpec:
    """One ref to be pushed.

    Attributes:
        there: Its full name on the other side.
        new: What it is to hold; b"" removes it.
        force: Also when it is no fast-forward, or a tag that exists.
        lease: Where it must be for a forced push (b"" for absent); None for wherever it is now.
        here: Full name of the ref here that is pushed; "" where it is none.
    """

    there: str
    new: bytes
    force: bool = False
    lease: bytes | None = None
    here: str = ""


@dataclass(frozen=True, slots=True)
class PushedRef:
    """What became of one ref: `new`, `forward`, `forced`, `removed`, `same` or `rejected` with a reason."""

    there: str
    old: str
    new: str
    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PushResult:
    """What a push did.

    Attributes:
        url: Where to.
        refs: What became of each ref.
        objects, sent_bytes: What was sent.
    """

    url: str
    refs: tuple[PushedRef, ...]
    objects: int = 0
    sent_bytes: int = 0

    @property
    def rejected(self) -> tuple[PushedRef, ...]:
        """The refs that did not move."""
        return tuple(ref for ref in self.refs if ref.status == "rejected")


def push(
    repo: Repository, transport: Transport, remote: str, specs: Sequence[PushSpec], *, dry_run: bool = False,
    progress: TransferProgress | None = None,
) -> PushResult:  # fmt: skip
    """Send what the refs need, and have them moved.

    Args:
        repo: Where from.
        transport: Where to.
        remote: Name of the remote whose tracking refs follow; "" for none.
        specs: Which refs.
        dry_run: Only say what would be done, as far as it can be known from here.
        progress: Told of objects and bytes sent.

    Raises:
        UsageError: when a name may not be used.
        ColdDocument: when passages that the other side lacks are cold here.
        RemoteError: when the other side fails or refuses.
    """
    for spec in specs:
        check_ref_name(spec.there)
    shown = _advertised(transport)
    seen = read_witnessed(repo.folder, transport.url) if transport.is_peer else {}
    judged = [_judge(repo, shown, spec, seen.get(spec.there)) for spec in specs]
    updates = [update for update, done in judged if done.status not in ("same", "rejected")]
    if not updates or dry_run:
        known = [done for _, done in judged]
        if remote and not dry_run and any(_is_news(repo, remote, done) for done in known):
            # Perhaps a push was cut off after the branch there had moved.
            _follow(repo, remote, transport, known)
        return PushResult(transport.url, tuple(known))
    results, objects, sent = _send(repo, transport, remote, shown, updates, progress)
    reasons = {result.name: result.reason for result in results}
    refs = []
    for update, done in judged:
        reason = reasons.get(update.name, "the other side does not say what became of it")
        pushed = done.status not in ("same", "rejected")
        refs.append(
            PushedRef(done.there, done.old, done.new, "rejected", reason) if pushed and reason else done
        )
    _follow(repo, remote, transport, refs)
    return PushResult(transport.url, tuple(refs), objects, sent)


def _advertised(transport: Transport) -> Advertisement:
    """The refs of the other side; none where this push makes it."""
    try:
        return advertised(transport)
    except NoneYet:
        return Advertisement("", ())


def _judge(
    repo: Repository, shown: Advertisement, spec: PushSpec, seen: Seen | None
) -> tuple[RefUpdate, PushedRef]:
    """What is to be asked of the other side for one ref, and what that will be called."""
    there = shown.find(spec.there)
    old = there.oid if there else b""
    update = RefUpdate(spec.there, old if spec.lease is None else spec.lease, spec.new, spec.force)

    def as_(status: str, reason: str = "") -> tuple[RefUpdate, PushedRef]:
        return update, PushedRef(spec.there, old.hex(), spec.new.hex(), status, reason)

    if old == spec.new:
        return as_("same") if old else as_("rejected", NO_SUCH_REF)
    if spec.lease is not None and spec.lease != old:
        return as_("rejected", STALE)
    went_back = (
        not spec.force
        and seen is not None
        and old not in (b"", seen.commit)
        and repo.store.has(old)
        and not is_ancestor(repo, seen.commit, old)
    )
    if went_back:
        return as_("rejected", ROLLED_BACK)
    if not spec.new:
        return as_("removed")
    if not old:
        return as_("new")
    if not spec.there.startswith(HEADS):
        return as_("forced") if spec.force else as_("rejected", TAG_EXISTS)
    if repo.store.has(old) and is_ancestor(repo, old, peel(repo, spec.new)):
        return as_("forward")
    return as_("forced") if spec.force else as_("rejected", NOT_FORWARD)


def _send(
    repo: Repository, transport: Transport, remote: str, shown: Advertisement, updates: Sequence[RefUpdate],
    progress: TransferProgress | None,
) -> tuple[tuple[RefResult, ...], int, int]:  # fmt: skip
    """(results, objects sent, bytes sent)."""
    news = sorted({update.new for update in updates if update.new})
    complete = complete_commits(repo) if news else set()
    haves = find_haves(repo, transport, shown, complete, remote, certain=True) if shown.refs else ()
    selection = select_missing(repo, news, haves)
    key = bytes.fromhex(quarantine_key(*news))
    arguments: Message = {"updates": encode_updates(updates), "key": key, "who": str(repo.who().name)}
    held: frozenset[bytes] = frozenset()
    if selection.oids:
        held, refused = _prepare(transport, arguments, list(selection.oids))
        if len([result for result in refused if result.reason]) == len(updates):
            return refused, 0, 0
    oids = [oid for oid in selection.oids if oid[:HELD_BYTES] not in held]
    if selection.cold and not held:
        raise ColdDocument(f"passages of {len(selection.cold)} of the documents to be sent are cold here, and the "
                           f"other side lacks them (first: document {min(selection.cold).hex()[:12]})",
                           "bring them back first: arbor rehydrate-cold --all")  # fmt: skip
    parts = plan_frames(repo.store, oids)
    meter = _Counter(iter_frames(parts), len(oids), progress)
    message = take_message(transport.call("push", {**arguments, "objects": count_objects(parts)}, meter))
    return decode_results(message), len(oids), meter.sent_bytes


def _prepare(
    transport: Transport, arguments: Message, oids: list[bytes]
) -> tuple[frozenset[bytes], tuple[RefResult, ...]]:
    """What the other side holds of these objects, and which refs it will refuse whatever is sent."""
    message = take_message(transport.call("prepare", {**arguments, "oids": b"".join(oids)}))
    held = decode_bytes(message, "held")
    if len(held) > len(oids) * OID_BYTES * 2:
        held = b""  # more than was asked about: what it says is of no use
    return parse_held(held), decode_results(message)


class _Counter:
    """Passes frames on and counts them."""

    def __init__(self, frames: Iterator[bytes], total: int, progress: TransferProgress | None) -> None:
        self._frames = frames
        self._total = total
        self._progress = progress
        self._objects = 0
        self.sent_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for frame in self._frames:
            yield frame
            header = decode_frame_header(frame[:HEADER_BYTES])
            self._objects += header.count if header else 0
            self.sent_bytes += len(frame)
            if self._progress is not None:
                self._progress(self._objects, self._total, self.sent_bytes)


def _is_news(repo: Repository, remote: str, done: PushedRef) -> bool:
    """Whether a branch that is there already stands elsewhere than was known here."""
    if done.status != "same" or not done.there.startswith(HEADS):
        return False
    known = repo.refs.read(f"{REMOTES}{remote}/{done.there[len(HEADS) :]}")
    return known != bytes.fromhex(done.new)


def _follow(repo: Repository, remote: str, transport: Transport, refs: Sequence[PushedRef]) -> None:
    """Remote-tracking refs stand where the other side's branches stand now, and so does what is remembered of it."""
    moved = {ref.there: bytes.fromhex(ref.new) or None for ref in refs
             if ref.status != "rejected" and ref.there.startswith(HEADS)}  # fmt: skip
    with repo.lock():
        for there, new in sorted(moved.items(), key=lambda row: bool(row[1])) if remote else ():
            name = f"{REMOTES}{remote}/{there[len(HEADS) :]}"
            for stale in repo.refs.in_the_way(name) if new else ():
                # It cannot be there any more, beside the branch that is there now.
                repo.refs.move(stale, repo.refs.read(stale), None, repo.who(), "push: gone there")
            old = repo.refs.read(name)
            if old != new:
                repo.refs.move(name, old, new, repo.who(), "push")
        if transport.is_peer:
            remember(repo, transport.url, moved)
