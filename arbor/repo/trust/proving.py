"""Making proofs: from a path in a commit to something that can be checked without this knowledge base.

Every byte that goes into a proof is read from the object store and hashed now, and the finished proof is
checked as its reader will check it, by code that shares nothing with this module.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace

from arbor.errors import AnswerNo, ColdDocument, IntegrityError, UsageError
from arbor.objects import ledger, merkle
from arbor.objects.ids import Kind
from arbor.objects.paths import path_fault
from arbor.objects.proofs import (
    ROOMS,
    ConsistencyProof,
    Proof,
    check_consistency,
    check_proof,
    log_state,
)
from arbor.records import dataclass
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORE_MARK, Snapshot
from arbor.repo.tiers import to_rehydrate

_PREFIXES = {room: prefix for prefix, room in ROOMS.items()}
_MIN_OID_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Place:
    """What a person points at: a path, and perhaps a line (1-based) or a passage (position or oid digits).

    In the room `core` the path is the name of a core.
    """

    path: str
    line: int | None = None
    passage: str = ""
    room: str = "document"

    @property
    def key(self) -> str:
        """The ledger key."""
        return _PREFIXES[self.room] + self.path

    def no_passage(self, problem: str) -> UsageError:
        """The error for one that is not there, with what to type to see those that are."""
        is_core = self.room == "core"
        return UsageError(
            f"'{self.path}' has {problem}",
            f"run: arbor {'core show' if is_core else 'show'} {shlex.quote(self.path)}",
            "" if is_core else self.path,
        )

    def no_such_number(self, count: int) -> UsageError:
        """The error for a number that none of the passages has."""
        return self.no_passage(f"{count:,} passage{'' if count == 1 else 's'}, numbered from 0")


def parse_place(typed: str, is_path: bool = False) -> Place:
    """The place that `PATH`, `PATH:LINE` or `PATH#PASSAGE` means.

    Args:
        typed: What was typed.
        is_path: Take it as a path whatever is in it: for a document whose name ends like a line or a passage.
    """
    if not is_path:
        path, mark, rest = typed.rpartition(":")
        if mark and path and rest.isascii() and rest.isdigit():  # first: `C#.md:12` is a line of `C#.md`
            return Place(path, line=int(rest))
        path, mark, rest = typed.rpartition("#")
        if mark and path and rest:
            return Place(path, passage=rest)
    return Place(typed)


def find_place(snapshot: Snapshot, typed: str, room: str = "document") -> Place:
    """As `parse_place`, but what has exactly that name comes first, and a `#` after no such name is a part of it.

    Args:
        snapshot: Where to look.
        typed: What was typed; as a document also `core:NAME`, which means a core unless a document is called so.
        room: `document` or `core`.

    Raises:
        UsageError: for another room.
    """
    if room not in _PREFIXES:
        raise UsageError(f"'{room}' is no room of documents", f"the rooms are: {', '.join(_PREFIXES)}")
    is_name = snapshot.find_key(_PREFIXES[room] + typed) is not None
    place = replace(parse_place(typed, is_path=is_name), room=room)
    if snapshot.find_key(place.key) is not None:
        return place
    if room == "document" and typed.startswith(CORE_MARK):
        return find_place(snapshot, typed.removeprefix(CORE_MARK), "core")
    return replace(place, path=typed, passage="") if place.passage else place


def get_place(snapshot: Snapshot, place: Place) -> bytes:
    """The oid of the document or core at a place.

    Raises:
        UsageError: when there is none.
    """
    oid = snapshot.find_key(place.key)
    if oid is None and place.room == "core":
        raise UsageError(f"there is no core '{place.path}' in this revision", "run: arbor core list")
    return snapshot.get(place.path) if oid is None else oid


def find_passage(snapshot: Snapshot, place: Place) -> int | None:
    """The position of the passage that a place points at, None where it points at the document.

    Raises:
        UsageError: when there is no such document, line or passage.
    """
    document = snapshot.document(get_place(snapshot, place))
    manifest = snapshot.manifest(document)
    count = len(manifest.passages)
    if place.line is not None:
        return _passage_of_line(snapshot.line_spans(document, manifest), place.line, place)
    if not place.passage:
        return None
    if place.passage.isascii() and place.passage.isdigit() and len(place.passage) < 2 * _MIN_OID_DIGITS:
        index = int(place.passage)
        if index >= count:
            raise place.no_such_number(count)
        return index
    digits = place.passage.lower()
    found = [i for i, ref in enumerate(manifest.passages) if ref.oid.hex().startswith(digits)]
    if len(digits) < _MIN_OID_DIGITS or not found:
        raise place.no_passage(f"no passage '{place.passage}'")
    return found[0]


def _passage_of_line(spans: Iterable[tuple[int, int]], line: int, place: Place) -> int:
    """The passage that holds the start of a line, given the first and last line of each."""
    ending = 0
    for index, (first, last) in enumerate(spans):
        if first <= line <= last:
            return index
        ending = last
    if not ending:
        raise UsageError(
            f"'{place.path}' has no lines of text",
            f"prove it as a whole: arbor prove {shlex.quote(place.path)}",
            place.path,
        )
    raise UsageError(f"'{place.path}' has no line {line}", f"its last line is {ending}")


def prove(
    repo: Repository, commit_oid: bytes, path: str, index: int | None = None, *, room: str = "document"
) -> Proof:
    """A proof that a document, or one passage of it, belongs to a commit.

    Args:
        repo: Where.
        commit_oid: The commit.
        path: The document's path, or the core's name.
        index: The passage's 0-based position; None for the document as a whole.
        room: `document` or `core`.

    Raises:
        UsageError: when there is no such document or passage.
        ColdDocument: when the passage is cold here.
        IntegrityError: when an object on the way is damaged.
    """
    commit_data = repo.store.get_kind(commit_oid, Kind.COMMIT)
    root = repo.commit(commit_oid).ledger_root
    place = Place(path, room=room)
    key = place.key
    nodes = _nodes(repo, root, key)
    value = ledger.find(repo.store, root, key)
    if value is None:
        raise UsageError(f"there is no {room} '{path}' in this revision", "run: arbor prove --absent PATH")
    document_data = repo.store.get_kind(value, Kind.DOCUMENT)
    if index is None:
        return _checked(Proof("document", commit_oid, commit_data, key, nodes, document_data))
    snapshot = Snapshot(repo.store, root)
    manifest = snapshot.manifest(snapshot.document(value))
    if not 0 <= index < len(manifest.passages):
        raise place.no_such_number(len(manifest.passages))
    leaves = [ref.oid for ref in manifest.passages]
    inclusion = tuple(merkle.inclusion_path(leaves, index))
    if not repo.store.has(leaves[index]) and value in snapshot.tiers().cold:
        older = None if commit_oid == repo.refs.head_oid() else commit_oid
        raise ColdDocument(f"'{path}' is cold here, and a proof of a passage holds its text",
                           f"run: {to_rehydrate(path, older)}", ((path, value),))  # fmt: skip
    passage = repo.store.get_kind(leaves[index], Kind.CHUNK)
    return _checked(
        Proof("passage", commit_oid, commit_data, key, nodes, document_data, index, inclusion, passage)
    )


def prove_absent(repo: Repository, commit_oid: bytes, path: str, *, room: str = "document") -> Proof:
    """A proof that a commit has nothing at a path.

    Raises:
        AnswerNo: when there is something.
        UsageError: when nothing can ever be called so.
    """
    fault = path_fault(path)
    if fault:
        raise UsageError(f"nothing can be called {path!r}: {fault}")
    commit_data = repo.store.get_kind(commit_oid, Kind.COMMIT)
    root = repo.commit(commit_oid).ledger_root
    key = _PREFIXES[room] + path
    if ledger.find(repo.store, root, key) is not None:
        raise AnswerNo(f"'{path}' is in this revision, so its absence cannot be proven")
    return _checked(Proof("absence", commit_oid, commit_data, key, _nodes(repo, root, key)))


def _nodes(repo: Repository, root: bytes, key: str) -> tuple[bytes, ...]:
    return tuple(ledger.encode_node(node) for node in ledger.proof_nodes(repo.store, root, key))


def _checked(proof: Proof) -> Proof:
    check_proof(proof)
    return proof


def prove_consistency(repo: Repository, old: bytes, new: bytes) -> ConsistencyProof:
    """A proof that the history of `new` goes on from that of `old`: O(log n) hashes.

    Raises:
        AnswerNo: when `old` is not `new` or one of its first-parent ancestors.
    """
    old_commit = repo.commit(old)
    old_size, _ = log_state(old, old_commit)
    new_size = repo.commit(new).log_size + 1
    later = _first_parents(repo, new, new_size - old_size)
    if new_size < old_size or later.pop() != old:
        raise AnswerNo(
            "the newer commit's log does not hold the older one",
            "the log follows first parents: give two commits of one branch, the older one first",
        )
    peaks = merkle.append_leaf(old_commit.log_size, old_commit.log_peaks, old)
    known = _SparseLog(old_size, peaks, later[::-1])
    path = tuple(known.subproof(0, new_size, old_size, whole=True))
    proof = ConsistencyProof(
        old, repo.store.get_kind(old, Kind.COMMIT), new, repo.store.get_kind(new, Kind.COMMIT), path
    )
    check_consistency(proof)
    return proof


def _first_parents(repo: Repository, start: bytes, steps: int) -> list[bytes]:
    """`start` and the first parents below it, newest first: `steps` + 1 commits."""
    chain = [start]
    for _ in range(steps):
        parents = repo.commit(chain[-1]).parents
        if not parents:
            raise IntegrityError("a commit's log is longer than its history", "run: arbor verify")
        chain.append(parents[0])
    return chain


class _SparseLog:
    """A log of which only the peaks of its first part and the leaves after them are at hand.

    That is all a consistency proof between the two sizes needs, so no commit before the older one is read.
    """

    def __init__(self, old_size: int, old_peaks: Sequence[bytes], later: Sequence[bytes]) -> None:
        self._old_size = old_size
        self._later = later
        self._peaks: dict[tuple[int, int], bytes] = {}
        start = 0
        for peak in old_peaks:
            width = 1 << ((old_size - start).bit_length() - 1)
            self._peaks[start, start + width] = peak
            start += width

    def subproof(self, start: int, end: int, old_size: int, *, whole: bool) -> list[bytes]:
        """RFC 9162 2.1.4.1 from `start` to `end`, `old_size` of whose leaves belong to the older log."""
        if old_size == end - start:
            return [] if whole else [self._root(start, end)]
        split = start + (1 << ((end - start - 1).bit_length() - 1))
        if old_size <= split - start:
            return [*self.subproof(start, split, old_size, whole=whole), self._root(split, end)]
        return [
            *self.subproof(split, end, old_size - (split - start), whole=False),
            self._root(start, split),
        ]

    def _root(self, start: int, end: int) -> bytes:
        peak = self._peaks.get((start, end))
        if peak is not None:
            return peak
        return merkle.tree_root(self._later[start - self._old_size : end - self._old_size])
