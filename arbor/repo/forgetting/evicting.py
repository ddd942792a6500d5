"""Evicting documents: out of the index (warm), or out of the store as far as others give the bytes (cold).

The order makes it safe at every moment: the copies are read and hashed, what goes is said to whoever asks, the copies
are asked for a last time, the act is journalled, the documents are recorded as cold, new packs without their passages
are written and made durable, and only then do the old ones go. A crash leaves documents that are recorded as cold and
still stored, which harms nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from blake3 import blake3

from arbor.errors import IntegrityError, UsageError
from arbor.processes import batches, map_forked
from arbor.records import dataclass
from arbor.repo.documents import read_texts
from arbor.repo.forgetting.cold_words import words_to_keep
from arbor.repo.forgetting.copies import ByteSource, gives_everything, may_fork, prepare_sources
from arbor.repo.forgetting.held_copies import gone_since, held_still, make_copies_durable
from arbor.repo.forgetting.wanted import Wanted, iter_wanted
from arbor.repo.repository import Repository
from arbor.repo.snapshot import group_paths
from arbor.repo.tiers import read_cold_words, read_tiers, write_cold_words, write_tiers
from arbor.repo.upkeep.gc import packed_bytes
from arbor.repo.upkeep.reachability import Reach
from arbor.store.journal import NAMED_IN_JOURNAL, Journal
from arbor.store.leaving import leaving
from arbor.store.repacking import drop_objects, merge_packs
from arbor.store.sequential import SequentialReader
from arbor.text.extraction import ChunkPolicy

_BATCH = 200


@dataclass(frozen=True, slots=True)
class Eviction:
    """One document of an eviction.

    Attributes:
        paths: Where it lies in the KB.
        document: Its oid as hexadecimal digits.
        size: Bytes of its file.
        copies: The places that gave its bytes now; empty for the warm tier, which keeps them.
        problem: Why it is not evicted; "" when it is.
    """

    paths: tuple[str, ...]
    document: str
    size: int
    copies: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class EvictReport:
    """What an eviction did, or with `dry_run` would do.

    Attributes:
        tier: `warm` or `cold`.
        evicted, refused: The documents that went, and those that did not and why.
        dropped: Passages and pieces of originals that went.
        shared: Those that stay because a document that is not cold has them too.
        freed_bytes: How much smaller the packs are now.
        lost: Documents of which no copy was found, evicted all the same by force.
        already: Those that were in that tier or a colder one before, and had nothing left to drop.
    """

    tier: str
    evicted: tuple[Eviction, ...]
    refused: tuple[Eviction, ...]
    dropped: int
    shared: int
    freed_bytes: int
    lost: tuple[Eviction, ...] = ()
    already: tuple[Eviction, ...] = ()


def evict(
    repo: Repository, documents: Iterable[tuple[str, bytes]], *, tier: str = "cold",
    sources: Sequence[ByteSource] = (), copies: int = 1, force: bool = False, dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> EvictReport:  # fmt: skip
    """Move documents to the warm or the cold tier.

    Args:
        repo: Where.
        documents: (path, document oid) of those to evict.
        tier: `warm`: they leave the index; `cold`: their passages leave the store too.
        sources: Where copies are looked for.
        copies: How many different copies there must be for a document to go cold.
        force: Also evict documents with fewer copies; the report says which are lost.
        dry_run: Check and say what would happen; write nothing.
        progress: Called with (documents checked, documents in all).

    Raises:
        UsageError: when a document is a core, or the tier is not one.
        IntegrityError: when something reachable is damaged: nothing is dropped then.
        Locked: when another writer holds the lock.
    """
    if tier not in ("warm", "cold"):
        raise UsageError(f"'{tier}' is not a tier to evict to", "the tiers are warm and cold")
    if copies < 1:
        raise UsageError("at least one copy must be elsewhere", "evict all the same with --force")
    wanted = _gather(repo, documents)
    if tier == "warm":
        return _evict_warm(repo, wanted, dry_run)
    policy = repo.committed_policy(repo.head_snapshot()).chunking
    gone = _gone(repo, wanted)
    there = [each for each in wanted if each.oid not in gone]
    already = tuple(
        Eviction(each.paths, each.oid.hex(), each.document.size) for each in wanted if each.oid in gone
    )
    checked = _check_copies(there, sources, copies, policy, force, progress)
    good = [item for item in checked if not item.problem]
    refused = tuple(item for item in checked if item.problem)
    lost = tuple(item for item in good if not item.copies)
    if dry_run or not good:
        return EvictReport("cold", tuple(good), refused, 0, 0, 0, lost, already)
    words = keywords_of(repo, wanted, good)
    going = _oids_of(good)
    chunks = {each.oid: each.chunk_oids() for each in wanted if each.oid in going}
    with held_still(repo, sources), leaving(repo.folder, chain.from_iterable(chunks.values())):
        kept = good if force else _still_good(chunks, good, sources)
        refused += tuple(item for item in kept if item.problem)
        good = [item for item in kept if not item.problem]
        if not good:
            return EvictReport("cold", (), refused, 0, 0, 0, lost, already)
        make_copies_durable(where for item in good for where in item.copies)
        return replace(_make_cold(repo, wanted, good, words, refused, lost, copies), already=already)


def _still_good(
    chunks: Mapping[bytes, Sequence[bytes]], good: Sequence[Eviction], sources: Sequence[ByteSource]
) -> list[Eviction]:
    """The same, with a problem where a knowledge base has let go of a copy since it was found, or is about to."""
    gone = gone_since(sources, {bytes.fromhex(item.document): item.copies for item in good}, chunks)
    return [
        replace(item, copies=(), problem=f"'{place}' has let go of it just now, or is about to")
        if place
        else item
        for item in good
        for place in [gone.get(bytes.fromhex(item.document), "")]
    ]


def _gone(repo: Repository, wanted: Sequence[Wanted]) -> set[bytes]:
    """The documents that are cold with nothing left to drop: after a crash there may be, and so it is looked for.

    What is left of the others is needed by documents that are not cold, or waits to be dropped.
    """
    cold = read_tiers(repo.folder).cold
    gone = [each for each in wanted if each.oid in cold]
    held = {oid for each in gone for oid in each.chunk_oids() if repo.store.holds(oid)}
    if held:
        reach = Reach(repo)
        reach.walk()
        held -= reach.chunks(without=cold)
    return {each.oid for each in gone if held.isdisjoint(each.chunk_oids())}


def _gather(repo: Repository, documents: Iterable[tuple[str, bytes]]) -> list[Wanted]:
    """The documents with their objects, each once, with all the paths given for it."""
    wanted = list(iter_wanted(repo.store, group_paths(documents)))
    for each in wanted:
        if each.document.kind == "core":
            raise UsageError(f"'{each.paths[0]}' is a core, and cores are never evicted")
    return wanted


def _check_copies(
    wanted: Sequence[Wanted], sources: Sequence[ByteSource], needed: int, policy: ChunkPolicy, force: bool,
    progress: Callable[[int, int], None] | None,
) -> list[Eviction]:  # fmt: skip
    """Ask the sources for every document now, in several processes where that is safe."""
    tasks = batches(wanted, _BATCH)

    def work(batch: Sequence[Wanted]) -> list[Eviction]:
        prepare_sources(sources, batch)
        return [check_one(each, sources, needed, policy, force=force) for each in batch]

    checked: list[Eviction] = []
    for part in map_forked(work, tasks) if may_fork(sources) else map(work, tasks):
        checked += part
        if progress:
            progress(len(checked), len(wanted))
    return checked


def check_one(
    wanted: Wanted, sources: Sequence[ByteSource], needed: int, policy: ChunkPolicy, *, force: bool = False
) -> Eviction:
    """Look for copies of one document until there are enough different ones."""
    copies: list[str] = []
    seen: set[bytes] = set()
    served: set[bytes] = set()  # what servers of the folders that were seen are identified by
    reasons: list[str] = []
    for source in sources:
        found = source.find(wanted)
        if found is None or not found.identity:
            reasons += [found.problem] if found is not None and found.problem else []
        elif gives_everything(wanted, found, policy):
            names = {found.identity, found.owner} - {b""}
            is_new = seen.isdisjoint(names | found.servers) and served.isdisjoint(names)
            copies += [found.where] if is_new else []
            seen |= names
            served |= found.servers
        elif not found.is_guess:
            what = "has only some of its passages" if found.data is None else "gives other bytes"
            reasons.append(f"'{found.where}' {what}")
        if len(copies) >= needed:
            break
    problem = "" if len(copies) >= needed or force else _why_not(copies, reasons, needed)
    return Eviction(wanted.paths, wanted.oid.hex(), wanted.document.size, tuple(copies), problem)


def _why_not(copies: Sequence[str], reasons: Sequence[str], needed: int) -> str:
    have = len(copies)
    text = "no other copy was found" if not have else f"only {have} of {needed} copies were found"
    return "; ".join((text, *reasons))


def _evict_warm(repo: Repository, wanted: Sequence[Wanted], dry_run: bool) -> EvictReport:
    with repo.lock():
        tiers = read_tiers(repo.folder)
        left = tiers.warm | tiers.cold
        items = {each.oid: Eviction(each.paths, each.oid.hex(), each.document.size) for each in wanted}
        good = {oid: item for oid, item in items.items() if oid not in left}
        if good and not dry_run:
            Journal(repo.folder).append("evict", _details("warm", list(good.values())))
            with repo.following_tiers(good):
                write_tiers(repo.folder, tiers.with_tier(good, "warm"))
        already = tuple(item for oid, item in items.items() if oid in left)
        return EvictReport("warm", tuple(good.values()), (), 0, 0, 0, (), already)


def _make_cold(
    repo: Repository, wanted: Sequence[Wanted], good: Sequence[Eviction], words: Mapping[bytes, str],
    refused: tuple[Eviction, ...], lost: tuple[Eviction, ...], copies: int,
) -> EvictReport:  # fmt: skip
    """Call it with the writer lock held; `words` are the keywords of these documents, and perhaps of others."""
    going = _oids_of(good)
    kept_words = {oid: text for oid, text in words.items() if oid in going}
    tiers = read_tiers(repo.folder).with_tier(going, "cold")
    reach = Reach(repo)
    cores = reach.walk().cores & going
    if cores:
        raise UsageError("a document among them is a core, and cores are never evicted")
    kept = reach.chunks(without=tiers.cold)
    chunks = {oid for each in wanted if each.oid in going for oid in each.chunk_oids()}
    unwanted = chunks - kept
    details = _details("cold", good) | {"copies": copies, "lost": len(lost)}
    Journal(repo.folder).append("evict", details)
    before = packed_bytes(repo.store)
    with repo.following_tiers(going | _losing(repo, tiers.parts, unwanted)):
        write_cold_words(repo.folder, read_cold_words(repo.folder) | kept_words)
        write_tiers(repo.folder, tiers)
        done = drop_objects(repo.store, unwanted)
    merge_packs(repo.store)
    freed = before - packed_bytes(repo.store)
    return EvictReport("cold", tuple(good), refused, done.dropped, len(chunks) - len(unwanted), freed, lost)


def _losing(repo: Repository, parts: Iterable[bytes], unwanted: set[bytes]) -> set[bytes]:
    """Those of the documents in part that have passages in common with what goes."""
    return {each.oid for each in _gather(repo, (("", oid) for oid in parts))
            if not unwanted.isdisjoint(each.chunk_oids())}  # fmt: skip


def _oids_of(items: Iterable[Eviction]) -> set[bytes]:
    return {bytes.fromhex(item.document) for item in items}


def keywords_of(repo: Repository, wanted: Sequence[Wanted], good: Iterable[Eviction]) -> dict[bytes, str]:
    """The keywords of the documents that are about to go, by which searches find them afterwards."""
    oids = _oids_of(good)
    going = [each for each in wanted if each.oid in oids]

    def work(batch: Sequence[Wanted]) -> dict[bytes, str]:
        reader = SequentialReader(repo.store)
        return {each.oid: words for each in batch if (words := _keywords(reader, each))}

    found: dict[bytes, str] = {}
    for part in map_forked(work, batches(going, _BATCH)):
        found |= part
    return found


def _keywords(reader: SequentialReader, wanted: Wanted) -> str:
    """The keywords of one document; "" where its text is not here (any more) or it has none."""
    try:
        return words_to_keep(read_texts(reader, wanted.document, wanted.manifest))
    except IntegrityError:
        return ""


def _details(tier: str, items: Sequence[Eviction]) -> dict[str, object]:
    oids = sorted(item.document for item in items)
    return {
        "tier": tier,
        "documents": len(items),
        "bytes": sum(item.size for item in items),
        "oids": blake3("".join(oids).encode()).hexdigest(),
        "paths": [item.paths[0] for item in items[:NAMED_IN_JOURNAL]],
    }
