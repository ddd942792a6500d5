"""The answering side of the protocol: one function for each command, the same behind every transport."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path

from arbor.errors import (
    ArborError,
    IntegrityError,
    LostObject,
    NoKnowledgeBase,
    RemoteError,
    UsageError,
    printable,
)
from arbor.objects.ids import Kind
from arbor.objects.model import Signature
from arbor.remote.exchange.accepting import accept_push, refuse_updates
from arbor.remote.exchange.enumerating import check_wants, cold_and_packs, known_commits, shown_refs
from arbor.remote.exchange.planning import plan_answer
from arbor.remote.exchange.sending import (
    FramePart,
    count_objects,
    iter_frames,
    parse_held,
    plan_frames,
    whole_packs,
)
from arbor.remote.protocol.limits import DEFAULT_LIMITS, HELD_BYTES, MAX_HAVES, Limits
from arbor.remote.protocol.messages import (
    FULL,
    Advertisement,
    FetchAnswer,
    FetchRequest,
    RefResult,
    decode_bytes,
    decode_count,
    decode_fetch_request,
    decode_oids,
    decode_updates,
    encode_advertisement,
    encode_fetch_answer,
    encode_results,
)
from arbor.remote.protocol.wire import (
    VERSION,
    Message,
    Packets,
    answer_packets,
    error_packet,
    open_packets,
)
from arbor.remote.quarantine.receiving import held_before
from arbor.repo.repository import Repository, open_repository
from arbor.repo.upkeep.gc import read_waiting
from arbor.store.leaving import read_leaving
from arbor.store.refs import HEADS, TAGS
from arbor.store.store_id import make_store_id

_MAX_PLANS = 4
_MAX_CHUNKS_ASKED = 100_000


Opener = Callable[[], AbstractContextManager[Repository]]


def _open_here(fs_path: Path) -> AbstractContextManager[Repository]:
    return closing(open_repository(fs_path))


class Service:
    """Answers for one KB. Requests do not depend on each other; several threads may ask at once.

    Args:
        place: The KB: a work tree, its `.arbor`, or a bare one; or what opens a repository for one request.
        may_push: Whether refs may be moved.
        whole_packs: Whether a clone of everything may get the packs as they are, with what no ref reaches: only for
            somebody who can read the disk anyway.
        limits: Bounds on what is received.
    """

    def __init__(
        self,
        place: Path | Opener,
        *,
        may_push: bool,
        whole_packs: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._open: Opener = partial(_open_here, place) if isinstance(place, Path) else place
        self._has_folder = isinstance(place, Path)
        self._may_push = may_push
        self._whole_packs = whole_packs
        self._limits = limits
        self._plans: OrderedDict[tuple[object, ...], tuple[FetchAnswer, list[tuple[str, FramePart]]]] = (
            OrderedDict()
        )
        self._mutex = threading.Lock()

    def answer(self, request: Packets, *, may_push: bool | None = None) -> Packets:
        """The packets that answer a request.

        Args:
            request: Its packets.
            may_push: Whether this one may move refs, where that differs from the service.
        """
        try:
            message, frames = open_packets(request)
            command = message.get("command")
            if message.get("version") != VERSION:
                raise RemoteError(f"version {message.get('version')!r} of the protocol is not spoken here")
            yield from self._dispatch(
                command, message, frames, self._may_push if may_push is None else may_push
            )
        except (
            LostObject
        ) as error:  # the hint is for who keeps this KB, and who reads the answer keeps another
            hint = "its owner can find out more with: arbor verify"
            yield error_packet(
                f"its history is incomplete or damaged: {error.message}", hint, error.exit_code
            )
        except NoKnowledgeBase as error:
            yield error_packet(error.message, "check the address", error.exit_code)
        except ArborError as error:
            yield error_packet(error.message, error.hint, error.exit_code)

    def _dispatch(
        self, command: object, message: Message, frames: Iterator[bytes], may_push: bool
    ) -> Packets:
        with self._open() as repo:
            if command == "push":
                yield from self._push(repo, message, frames, may_push)
                return
            for _ in frames:
                raise RemoteError("frames came with a request that takes none")
            if command == "refs":
                yield from answer_packets(encode_advertisement(advertise(repo)))
            elif command == "fetch":
                yield from self._fetch(repo, decode_fetch_request(message))
            elif command == "known":
                known = known_commits(repo, decode_oids(message, "oids", MAX_HAVES))
                yield from answer_packets({"oids": b"".join(known)})
            elif command == "chunks":
                oids = decode_oids(message, "oids")
                yield from self._kept(repo, oids) if message.get("kept") is True else _chunks(repo, oids)
            elif command == "prepare":
                yield from self._prepare(repo, message, may_push)
            else:
                raise RemoteError(f"the command {str(command)[:40]!r} is not known here")

    # --- reading

    def _fetch(self, repo: Repository, request: FetchRequest) -> Packets:
        if self._whole_packs and not request.haves and not request.held and request.filter == FULL:
            check_wants(repo, request.wants)
            cold, packs = cold_and_packs(repo)
            parts = whole_packs(packs)
            answer = FetchAnswer(count_objects(parts), tuple(sorted(cold)))
            yield from answer_packets(encode_fetch_answer(answer), iter_frames(parts))
            return
        answer, parts = self._plan(repo, request)
        yield from answer_packets(encode_fetch_answer(answer), iter_frames(parts, parse_held(request.held)))

    def _plan(self, repo: Repository, request: FetchRequest) -> tuple[FetchAnswer, list[FramePart]]:
        """What to send; clones of one state, which all ask the same, are planned once."""
        check_wants(repo, request.wants)
        known = request.wants, request.haves, request.filter
        packs = {pack.name: pack for pack in repo.store.packs()}
        with self._mutex:
            key = *known, frozenset(packs)
            if key in self._plans:
                self._plans.move_to_end(key)
                answer, named = self._plans[key]
                return answer, [part._replace(pack=packs[name]) for name, part in named]
            answer, parts = plan_answer(repo, *known)
            # Others than before, where some came or went meanwhile.
            names = frozenset(pack.name for pack in repo.store.packs())
            if names.issuperset(part.pack.name for part in parts):
                self._plans[*known, names] = answer, [(part.pack.name, part) for part in parts]
            while len(self._plans) > _MAX_PLANS:
                self._plans.popitem(last=False)
            return answer, parts

    def _kept(self, repo: Repository, oids: tuple[bytes, ...]) -> Packets:
        """Which of these passages stay here as far as anybody knows, and what store this is."""
        _refuse_too_many(oids)
        going = read_leaving(repo.folder) | read_waiting(repo.folder)
        repo.store.refresh()  # after it: what has gone by now is not said to be going any more
        kept = [oid for oid in oids if oid not in going and repo.store.holds(oid)]
        store = make_store_id(repo.folder) if self._has_folder else b""
        yield from answer_packets({"kept": b"".join(kept), "objects": 0, "store": store})

    # --- writing

    def _prepare(self, repo: Repository, message: Message, may_push: bool) -> Packets:
        """Which of the objects that somebody would push are here already, in packs or from an interrupted try."""
        _require_push(may_push)
        updates = decode_updates(message)
        refused = refuse_updates(repo, updates)
        oids = decode_oids(message, "oids")
        present = [oid for oid in oids if repo.store.holds(oid)] if repo.store.packs() else []
        held = held_before(repo.folder, _push_key(message), self._limits)
        joined = b"".join([oid[:HELD_BYTES] for oid in present]) + held
        results = [RefResult(update.name, refused.get(update.name, "")) for update in updates]
        yield from answer_packets({"held": joined, **encode_results(results)})

    def _push(self, repo: Repository, message: Message, frames: Iterator[bytes], may_push: bool) -> Packets:
        _require_push(may_push)
        updates = decode_updates(message)
        announced = decode_count(message, "objects")
        who = decode_who(repo, message)
        results = accept_push(repo, updates, frames, announced, _push_key(message), self._limits, who)
        yield from answer_packets(encode_results(results))


def advertise(repo: Repository) -> Advertisement:
    """The branches and tags of a KB, and the branch that HEAD follows."""
    head = repo.refs.head()
    names = [name for name in repo.refs.iter_names() if name.startswith((HEADS, TAGS))]
    return Advertisement(head if isinstance(head, str) else "", tuple(shown_refs(repo, names)))


def _chunks(repo: Repository, oids: tuple[bytes, ...]) -> Packets:
    """The passages of these oids, as far as they are here."""
    _refuse_too_many(oids)
    here = [oid for oid in oids if repo.store.holds(oid)]
    parts = plan_frames(repo.store, here)
    yield from answer_packets({"objects": len(here)}, _chunk_frames(parts))


def _refuse_too_many(oids: tuple[bytes, ...]) -> None:
    if len(oids) > _MAX_CHUNKS_ASKED:
        raise UsageError(f"more than {_MAX_CHUNKS_ASKED} passages were asked for at once")


def _chunk_frames(parts: Iterable[FramePart]) -> Iterator[bytes]:
    """Frames of passages alone: nothing else is handed out for its oid."""
    chosen = [part if part.slots is not None else part._replace(slots=_all_slots(part)) for part in parts]
    for part in chosen:
        kinds = part.pack.read_frame(part.frame).kinds
        if any(kinds[slot] != Kind.CHUNK for slot in part.slots or ()):
            raise UsageError("an object that is not a passage was asked for")
    yield from iter_frames(chosen)


def _all_slots(part: FramePart) -> tuple[int, ...]:
    return tuple(range(len(part.pack.read_frame(part.frame).kinds)))


def _require_push(may_push: bool) -> None:
    if not may_push:
        raise RemoteError(
            "pushing to this knowledge base is not allowed",
            "ask its owner; over http that takes a token, which goes into ARBOR_TOKEN",
        )


def _push_key(message: Message) -> str:
    key = decode_bytes(message, "key")
    if not 8 <= len(key) <= 32:
        raise IntegrityError("the key of a push has an impossible length")
    return "push-" + key.hex()


def decode_who(repo: Repository, message: Message) -> Signature:
    """Who pushes, for the reflog: the name is what the other side says, and marked so."""
    name = message.get("who")
    plain = printable(name[:100]) if isinstance(name, str) else ""
    return repo.who()._replace(name=f"push by {plain or 'unknown'}", email="")
