"""Bringing cold documents back: bytes from wherever they are, accepted leaf by leaf by their hashes.

Nothing that a source says is believed. A source that has changed still gives back the passages that did not
change; the rest is drift, which is reported, journalled and perhaps staged as a new version, and never mixed
into the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from arbor.errors import IntegrityError
from arbor.objects.ids import Kind, object_id
from arbor.processes import bounded_batches, map_forked
from arbor.records import dataclass
from arbor.repo.file_bytes import is_same_file
from arbor.repo.forgetting.copies import (
    ByteSource,
    Found,
    WorkTreeSource,
    give_back,
    may_fork,
    prepare_sources,
)
from arbor.repo.forgetting.wanted import Wanted, iter_wanted
from arbor.repo.repository import Repository
from arbor.repo.snapshot import group_paths
from arbor.repo.tiers import make_hot, read_tiers, write_tiers
from arbor.repo.work_tree.checkout import write_missing
from arbor.store.frames import FrameCollector
from arbor.store.journal import NAMED_IN_JOURNAL, Journal
from arbor.text.charsets import split_recorded
from arbor.text.extraction import CHUNKER_ID, ChunkPolicy
from arbor.text.reading import extract

_BATCH = 250
_BATCH_BYTES = 8 * 1024 * 1024
_ROUND_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LeafDiff:
    """How a changed source differs from what was committed, in leaves.

    Attributes:
        same: Passages that are in both.
        gone: (position, leaf as hexadecimal digits) of committed passages that the source has no more.
        new: The same for the source's passages that were not committed.
    """

    same: int
    gone: tuple[tuple[int, str], ...]
    new: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Rehydration:
    """What became of one document.

    Attributes:
        paths, document: Where it lies, and its oid as hexadecimal digits.
        state: `whole`: hot again; `part`: some passages are here, the rest is still cold; `cold`: nothing was
            found.
        sources: The places that gave something.
        accepted, missing: Passages and pieces that came now, and that are still absent.
        drift: How a source that has changed differs; None where none has. A whole document can have one: its
            passages are all in the changed source.
        drifted: The place that has changed; "" where none has.
        note: What a person should know where it is not whole: a reader's version that is not available any more, why
            a source that should have it gave nothing.
        missing_original: How many of the missing are no passages but pieces of an original, such as a PDF file.
    """

    paths: tuple[str, ...]
    document: str
    state: str
    sources: tuple[str, ...]
    accepted: int
    missing: int
    drift: LeafDiff | None = None
    drifted: str = ""
    note: str = ""
    missing_original: int = 0


@dataclass(frozen=True, slots=True)
class Update:
    """What became of a path whose source has changed: `problem` says why that was not staged, "" where it is."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class RehydrateReport:
    """What a rehydration did.

    Attributes:
        documents: What became of each cold document.
        warmed: How many warm ones are hot again.
        accepted_bytes: Bytes that came.
        updates: Where an update was asked for, what became of each path whose source has changed.
    """

    documents: tuple[Rehydration, ...]
    warmed: int = 0
    accepted_bytes: int = 0
    updates: tuple[Update, ...] = ()

    @property
    def whole(self) -> tuple[Rehydration, ...]:
        """Those that are hot again."""
        return tuple(each for each in self.documents if each.state == "whole")


def rehydrate(
    repo: Repository, documents: Iterable[tuple[str, bytes]], sources: Sequence[ByteSource], *,
    update: Callable[[Rehydration], Iterable[Update]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RehydrateReport:  # fmt: skip
    """Bring documents back to the hot tier as far as the sources have their bytes.

    Args:
        repo: Where.
        documents: (path, document oid); those that are hot already are passed over.
        sources: Asked in this order, until a document is whole.
        update: Stages what a source that has changed holds now. It does so before the document has its passages back:
            what was cut off before that is done by the same command, given again.
        progress: Called with (documents done, documents in all).

    Raises:
        Locked: when another writer holds the lock.
    """
    tiers = read_tiers(repo.folder)
    paths = group_paths(documents)
    warm = [oid for oid in paths if oid in tiers.warm]
    wanted = list(iter_wanted(repo.store, {oid: at for oid, at in paths.items() if oid in tiers.cold}))
    policy = repo.committed_policy(repo.head_snapshot()).chunking
    done: list[Rehydration] = []
    accepted = 0
    updates: list[Update] = []
    for part in _rounds(wanted):
        taken = _fetch_round(repo, part, sources, policy)
        results = [result for each in taken for result in each.results]
        if update is not None:  # first: of a document that lacks nothing any more no source is asked
            updates += [each for result in results if result.drift is not None for each in update(result)]
        _store_and_record(repo, taken, results)
        done += results
        accepted += sum(each.size_bytes for each in taken)
        if progress:
            progress(len(done), len(wanted))
    if warm:
        with repo.lock():
            Journal(repo.folder).append("rehydrate", {"tier": "warm", "documents": len(warm)})
            with repo.following_tiers(warm):
                write_tiers(repo.folder, read_tiers(repo.folder).with_tier(warm, "hot"))
    return RehydrateReport(tuple(done), len(warm), accepted, tuple(updates))


def _rounds(wanted: Sequence[Wanted], limit: int = _ROUND_BYTES) -> Iterator[list[Wanted]]:
    """Groups of documents; each becomes one pack, and is safe before the next begins."""
    return bounded_batches(wanted, _size, limit)


def _size(wanted: Wanted) -> int:
    return wanted.document.size


class _Taken:
    """One batch: what its documents became, and the frames with what was accepted."""

    def __init__(self) -> None:
        self.results: list[Rehydration] = []
        self.frames: list[tuple[bytes, list[bytes]]] = []
        self.size_bytes = 0


def _fetch_round(
    repo: Repository, wanted: Sequence[Wanted], sources: Sequence[ByteSource], policy: ChunkPolicy
) -> list[_Taken]:
    """Ask the sources for some documents."""
    store = repo.store
    store.refresh()

    def work(batch: Sequence[Wanted]) -> _Taken:
        taken, collector = _Taken(), FrameCollector(store.holds)
        prepare_sources(sources, batch)
        for each in batch:
            result, chunks = _ask(each, sources, policy, store.holds)
            for oid, data in chunks.items():
                collector.add(Kind.CHUNK, data, oid)
                taken.size_bytes += len(data)
            taken.results.append(result)
        taken.frames = collector.finish()
        return taken

    tasks = list(bounded_batches(wanted, _size, _BATCH_BYTES, _BATCH))
    return list(map_forked(work, tasks)) if may_fork(sources) else list(map(work, tasks))


def _store_and_record(repo: Repository, taken: Sequence[_Taken], results: Sequence[Rehydration]) -> None:
    """Under the lock, store what was accepted and record what is whole."""
    with repo.lock():
        with repo.store.writer() as writer:
            for each in taken:
                for frame, oids in each.frames:
                    writer.add_frame(frame, oids)
        _record(repo, results)


def _ask(
    wanted: Wanted, sources: Sequence[ByteSource], policy: ChunkPolicy, holds: Callable[[bytes], bool]
) -> tuple[Rehydration, dict[bytes, bytes]]:
    """Take what the sources have of one document until nothing is missing."""
    missing = {oid for oid in wanted.chunk_oids() if not holds(oid)}
    taken: dict[bytes, bytes] = {}
    places: list[str] = []
    changed: Found | None = None
    edited: Found | None = None
    problems: list[str] = []
    for source in sources:
        if not missing:
            break
        found = source.find(wanted)
        if found is None or found.problem:
            problems += [found.problem] if found is not None else []
            continue
        given = give_back(wanted, found, policy)
        if found.is_guess and not given:
            continue
        fresh = {oid: data for oid, data in given.items() if oid in missing}
        if found.data is not None and not is_same_file(wanted.document, found.data):
            if isinstance(source, WorkTreeSource):
                edited = found
            else:
                changed = changed or found
        if fresh:
            places.append(found.where)
            taken.update(fresh)
            missing.difference_update(fresh)
    held = len(wanted.chunk_oids()) - len(missing)
    state = "part" if missing and held else "cold" if missing else "whole"
    pieces = len(missing.difference(ref.oid for ref in wanted.manifest.passages))
    done = Rehydration(wanted.paths, wanted.oid.hex(), state, tuple(places), len(taken), len(missing),
                       missing_original=pieces)  # fmt: skip
    if missing:  # an edit in the work tree is no drift of a source, but says why bytes are missing
        changed = changed or edited
    explained = _explain(done, wanted, changed, policy)
    if missing and problems:
        explained = replace(explained, note="; ".join(filter(None, (explained.note, *problems))))
    return explained, taken


def _explain(done: Rehydration, wanted: Wanted, changed: Found | None, policy: ChunkPolicy) -> Rehydration:
    """Say how a source has changed, also where it still gave every passage, and why a document is not whole."""
    if changed is not None and changed.data is not None:
        return replace(done, drift=leaf_diff(wanted, changed.data, policy), drifted=changed.where)
    if done.state == "part" or (done.accepted and done.missing):
        return replace(done, note=_version_note(wanted, policy))
    return done


def _version_note(wanted: Wanted, policy: ChunkPolicy) -> str:
    """Whether the reader that made the passages is still this version's."""
    document = wanted.document
    now = extract(b"", wanted.paths[0], policy).extractor if not document.original_count else ""
    if document.chunker != CHUNKER_ID or (now and now != split_recorded(document.extractor)[0]):
        return (f"the passages were made by {document.extractor} and {document.chunker}, which this version of "
                "arbor does not have any more")  # fmt: skip
    return ""


def changed_bytes(repo: Repository, done: Rehydration, sources: Iterable[ByteSource]) -> Iterator[bytes]:
    """What the changed source of a rehydration holds now, asked for again."""
    [wanted] = iter_wanted(repo.store, {bytes.fromhex(done.document): done.paths})
    for source in sources:
        found = source.find(wanted)
        if found is not None and found.data is not None and found.where == done.drifted:
            yield found.data


def leaf_diff(wanted: Wanted, data: bytes, policy: ChunkPolicy) -> LeafDiff:
    """How the passages of a changed file differ from the committed ones."""
    extraction = extract(data, wanted.paths[0], policy, extractor=wanted.document.extractor)
    now = [object_id(Kind.CHUNK, passage.data) for passage in extraction.passages]
    before = [ref.oid for ref in wanted.manifest.passages]
    there, known = set(now), set(before)
    return LeafDiff(
        sum(1 for oid in before if oid in there),
        tuple((i, oid.hex()) for i, oid in enumerate(before) if oid not in there),
        tuple((i, oid.hex()) for i, oid in enumerate(now) if oid not in known),
    )


def _record(repo: Repository, results: Sequence[Rehydration]) -> None:
    """Journal what came and what has drifted, and let whole documents be hot."""
    journal = Journal(repo.folder)
    whole = [bytes.fromhex(each.document) for each in results if each.state == "whole"]
    came = [each for each in results if each.accepted or each.state == "whole"]
    if came:
        journal.append("rehydrate", {
            "tier": "cold",
            "documents": len(whole),
            "parts": sum(1 for each in came if each.state == "part"),
            "passages": sum(each.accepted for each in came),
            "sources": sorted({place for each in came for place in each.sources})[:NAMED_IN_JOURNAL],
            "paths": [each.paths[0] for each in came[:NAMED_IN_JOURNAL]],
        })  # fmt: skip
    for each in results:
        if each.drift is not None:
            journal.append("drift", {
                "document": each.document, "path": each.paths[0], "source": each.drifted, "same": each.drift.same,
                "gone": [leaf for _, leaf in each.drift.gone[:NAMED_IN_JOURNAL]],
                "new": [leaf for _, leaf in each.drift.new[:NAMED_IN_JOURNAL]],
            })  # fmt: skip
    tiers = read_tiers(repo.folder)
    some = [(bytes.fromhex(each.document), each.accepted) for each in results if each.state == "part"]
    parts = [oid for oid, accepted in some if accepted or oid not in tiers.parts]
    if parts:
        with repo.following_tiers(parts):
            write_tiers(repo.folder, tiers.with_parts(parts))
    if whole:
        _check_whole(repo, whole)
        write_missing(repo, frozenset(whole))  # first: a hot document without its file counts as deleted
        with repo.following_tiers(whole):
            make_hot(repo.folder, whole)


def _check_whole(repo: Repository, whole: Sequence[bytes]) -> None:
    """Before a document counts as hot, every passage must be found in the store."""
    for each in iter_wanted(repo.store, {oid: ["-"] for oid in whole}):
        if not all(repo.store.holds(oid) for oid in each.chunk_oids()):
            raise IntegrityError(f"document {each.oid.hex()[:12]} did not come back whole")
