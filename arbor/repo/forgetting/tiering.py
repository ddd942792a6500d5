"""Choosing documents for a tier, and the sources that are asked when nobody names any."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from arbor.errors import UsageError
from arbor.objects.model import Commit
from arbor.records import dataclass
from arbor.repo.commits.history import ancestors, first_parents, ref_commits
from arbor.repo.config import POLICY_FILE
from arbor.repo.file_bytes import read_document
from arbor.repo.forgetting.copies import ByteSource, Fetch, UriSource, WorkTreeSource, open_place
from arbor.repo.importing.known_sources import OwnFiles
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORE_MARK, DOCUMENTS, Snapshot
from arbor.repo.tiers import Tiers, read_tiers
from arbor.repo.upkeep.gc import packed_bytes
from arbor.repo.work_tree.selections import lies_at, select_tracked
from arbor.store.refs import TAGS
from arbor.store.sequential import SequentialReader, in_stored_order


@dataclass(frozen=True, slots=True)
class Criteria:
    """Which documents to choose; every one that is given must hold.

    Attributes:
        older_than_s: Not changed by a commit for so many seconds.
        larger_than: Files of more bytes.
        to_fit: Only so many, least lately changed first, that the packs come to about so many bytes.
        among: Only these paths, where given: those with a label, say.
    """

    older_than_s: float | None = None
    larger_than: int | None = None
    to_fit: int | None = None
    among: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class TierSizes:
    """How much of a version is in one tier: documents, and bytes of their files."""

    documents: int
    size: int


@dataclass(frozen=True, slots=True)
class TierReport:
    """The tiers of a version, and what the store takes on the disk.

    Attributes:
        hot, warm, cold: Each tier.
        packed: Bytes of all packs, history included.
        folder: Bytes of the whole `.arbor` folder.
        cache: Those of its caches, which are made anew when they are needed.
        past, past_cold: What no branch holds any more and nothing staged does, and how much of it is cold; not counted
            where paths were asked for.
        rows: (path, tier, bytes, passages here, passages in all) where paths were asked for.
    """

    hot: TierSizes
    warm: TierSizes
    cold: TierSizes
    packed: int
    folder: int
    cache: int
    past: TierSizes
    past_cold: TierSizes
    rows: tuple[tuple[str, str, int, int, int], ...] = ()


def choose(
    repo: Repository, snapshot: Snapshot, selections: Sequence[str], criteria: Criteria, *,
    tier: str | None = None, now: float | None = None,
) -> list[tuple[str, bytes]]:  # fmt: skip
    """(path, document oid) of the documents that selections and criteria mean, in path order.

    Args:
        repo: Where.
        snapshot: The version to choose from.
        selections: Paths, folders or globs; none means all.
        criteria: What must hold.
        tier: Only documents of this tier.
        now: The time that ages are counted to, in seconds since 1970 UTC.

    Raises:
        UsageError: when a selection matches no document, the tier is none, or an age or size is below 0.
    """
    numbers = (criteria.older_than_s, criteria.larger_than, criteria.to_fit)
    if any(number is not None and number < 0 for number in numbers):
        raise UsageError("the age and the sizes that choose documents are 0 or more")
    if tier not in (None, "hot", "warm", "cold"):
        raise UsageError(f"'{tier}' is not a tier", "the tiers are hot, warm and cold")
    listing = dict(snapshot.paths())
    paths = _select(snapshot, selections, listing) if selections else list(listing)
    if criteria.among is not None:
        paths = [path for path in paths if path in criteria.among]
    tiers = read_tiers(repo.folder)
    chosen = [(path, listing[path]) for path in paths if tier is None or tiers.tier_of(listing[path]) == tier]
    if criteria.larger_than is not None or criteria.to_fit is not None:
        sizes = _sizes(repo, {oid for _, oid in chosen})
        chosen = [(path, oid) for path, oid in chosen if sizes[oid] > (criteria.larger_than or 0)]
    if criteria.older_than_s is not None or criteria.to_fit is not None:
        changed = last_changes(repo, {path for path, _ in chosen})
        limit = (time.time() if now is None else now) - (criteria.older_than_s or 0.0)
        chosen = [(path, oid) for path, oid in chosen if changed.get(path, 0) <= limit]
        if criteria.to_fit is not None:
            chosen = _fit(repo, chosen, changed, _sizes(repo, set(listing.values())), tiers, criteria.to_fit)
    return chosen


def _select(snapshot: Snapshot, selections: Sequence[str], listing: Mapping[str, bytes]) -> list[str]:
    """The paths that selections mean; raises UsageError where one matches no document, or means a core."""
    for selection in selections:
        name = selection.removeprefix(CORE_MARK)
        if name == selection or any(lies_at(path, selection) for path in listing):
            continue
        if any(lies_at(core, name) for core, _ in snapshot.cores(name)):
            raise UsageError(
                f"'{selection}' is a core, and cores never leave the hot tier",
                "documents do; where a core is from: arbor core show NAME",
            )
    return select_tracked(selections, listing)


def with_twins(snapshot: Snapshot, chosen: Sequence[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """What was chosen, with the other paths of the same documents: a document has one tier, wherever it lies."""
    oids = {oid for _, oid in chosen}
    if not oids:
        return []
    named = dict.fromkeys(chosen)
    named.update(((path, oid), None) for path, oid in snapshot.paths() if oid in oids)
    return list(named)


def without_policy(
    chosen: Sequence[tuple[str, bytes]], selections: Sequence[str], *, force: bool
) -> list[tuple[str, bytes]]:
    """What was chosen to go cold, without the KB's policy, which is read with every search and label of its version.

    Args:
        chosen: (path, document oid).
        selections: What was named.
        force: Let the policy go all the same where it is named, so that the defaults stand for it.

    Raises:
        UsageError: when nothing else was named, or it was named by its own path, and that is not forced.
    """
    policy = {oid for path, oid in chosen if path == POLICY_FILE}
    others = [each for each in chosen if each[1] not in policy]
    is_named = POLICY_FILE in selections or (bool(selections) and not others)
    if policy and is_named and not force:
        raise UsageError(f"'{POLICY_FILE}' is the policy of this knowledge base, which must be readable here",
                         "let it go all the same with --force: the defaults count then")  # fmt: skip
    return list(chosen) if is_named else others


def cold_in_history(repo: Repository, known: set[bytes]) -> list[tuple[str, bytes]]:
    """(path, document oid) of the cold documents that only other versions hold, each once."""
    wanted = set(read_tiers(repo.folder).cold - known)
    found = {oid: path for path, oid in _in_history(repo) if oid in wanted} if wanted else {}
    return sorted((path, oid) for oid, path in found.items())


def only_in_history(
    repo: Repository, selections: Sequence[str], larger_than: int | None = None
) -> list[tuple[str, bytes]]:
    """(path, document oid) of the documents that no branch holds any more, and that are not staged.

    Args:
        repo: Where.
        selections: Paths, folders or globs, as they were then; none means all.
        larger_than: Only files of more bytes.

    Raises:
        UsageError: when a selection matches none of them.
    """
    current = _current_documents(repo)
    past = sorted({(path, oid) for path, oid in _in_history(repo) if oid not in current})
    if selections:
        chosen = set(select_tracked(selections, dict.fromkeys(path for path, _ in past)))
        past = [(path, oid) for path, oid in past if path in chosen]
    if larger_than is not None:
        sizes = _sizes(repo, {oid for _, oid in past})
        past = [(path, oid) for path, oid in past if sizes[oid] > larger_than]
    return past


def _current_documents(repo: Repository) -> set[bytes]:
    """What HEAD, the branches here and those that remotes showed hold now, and what is staged. Tags hold the past."""
    found = set(repo.stage().entries(repo.store, DOCUMENTS).values())
    record = repo.interrupted()
    found.update(record.documents() if record is not None else ())
    for tip in ref_commits(repo, lambda name: not name.startswith(TAGS)):
        found.update(oid for _, oid in repo.snapshot(tip).paths())
    return found


def _in_history(repo: Repository) -> Iterator[tuple[str, bytes]]:
    """(path, document oid) of every document that any version back from a ref has brought, perhaps several times."""
    for oid in ancestors(repo, ref_commits(repo)):
        yield from _brought(repo, repo.commit(oid))


def _brought(repo: Repository, commit: Commit) -> Iterator[tuple[str, bytes]]:
    """(path, document oid) of what a commit has that its first parent has not."""
    changes = Snapshot(repo.store, commit.ledger_root).changes_since(repo.root_before(commit))
    return ((path, after) for path, _, after in changes if after is not None)


def _sizes(repo: Repository, oids: Iterable[bytes]) -> dict[bytes, int]:
    reader = SequentialReader(repo.store)
    return {oid: read_document(reader, oid).size for oid in in_stored_order(repo.store, oids)}


def last_changes(repo: Repository, paths: set[str]) -> dict[str, int]:
    """When the current branch last changed each of these paths: seconds since 1970 UTC."""
    found: dict[str, int] = {}
    head = repo.refs.head_oid()
    for oid in first_parents(repo, head) if head else ():
        if len(found) == len(paths):
            break
        commit = repo.commit(oid)
        for path, _ in _brought(repo, commit):
            if path in paths:
                found.setdefault(path, commit.committer.seconds)
    return found


def _fit(
    repo: Repository, chosen: list[tuple[str, bytes]], changed: dict[str, int], sizes: dict[bytes, int],
    tiers: Tiers, limit: int,
) -> list[tuple[str, bytes]]:  # fmt: skip
    """The first documents, least lately changed and larger first, that bring the packs down to a size.

    What a document takes in the packs is estimated by its share of the bytes that are stored.
    """
    stored = sum(size for oid, size in sizes.items() if oid not in tiers.cold)
    packed = packed_bytes(repo.store)
    excess = (packed - limit) * stored / packed if packed else 0
    order = sorted(chosen, key=lambda each: (changed.get(each[0], 0), -sizes[each[1]], each[0]))
    taken: list[tuple[str, bytes]] = []
    for path, oid in order:
        if excess <= 0:
            break
        if oid not in tiers.cold:
            taken.append((path, oid))
            excess -= sizes[oid]
    return sorted(taken)


def default_sources(
    repo: Repository,
    places: Sequence[Path] = (),
    *,
    fetch: Fetch | None = None,
    others: Sequence[ByteSource] = (),
    work_tree: bool = True,
) -> list[ByteSource]:
    """The sources to ask, in order: named places, plugged-in ones, the work tree, each document's own URI.

    Args:
        repo: Where.
        places: Folders: of files, or knowledge bases.
        fetch: Fetches http(s) addresses; without it they are not asked.
        others: What other rooms plug in, such as remotes and bundles.
        work_tree: Whether the work tree's own files count: to bring bytes back they do, but they are no copy to
            rely on, since the next edit changes them.
    """
    sources: list[ByteSource] = []
    for fs_path in places:
        sources += open_place(fs_path, repo.store)
    sources += others
    if work_tree and repo.fs_root is not None:
        sources.append(WorkTreeSource(repo.fs_root))
    own_files = repo.folder if work_tree or repo.fs_root is None else repo.fs_root
    sources.append(UriSource(fetch, own_files, OwnFiles(repo.folder)))
    return sources


def close_sources(sources: Iterable[ByteSource]) -> None:
    """Give back what sources hold open."""
    for source in sources:
        close = getattr(source, "close", None)
        if close is not None:
            close()


def report_tiers(repo: Repository, snapshot: Snapshot, selections: Sequence[str] = ()) -> TierReport:
    """Sizes by tier, and a row for each selected document.

    Raises:
        UsageError: when a selection matches no document.
    """
    tiers = read_tiers(repo.folder)
    listing = dict(snapshot.paths())
    sizes = _sizes(repo, set(listing.values()))
    sums = {name: TierSizes(0, 0) for name in ("hot", "warm", "cold")}
    for oid, size in sizes.items():
        old = sums[tiers.tier_of(oid)]
        sums[tiers.tier_of(oid)] = TierSizes(old.documents + 1, old.size + size)
    rows = []
    for path in _select(snapshot, selections, listing) if selections else ():
        oid = listing[path]
        manifest = snapshot.manifest(snapshot.document(oid))
        here = sum(1 for ref in manifest.passages if repo.store.holds(ref.oid))
        rows.append((path, tiers.tier_of(oid), sizes[oid], here, len(manifest.passages)))
    past = set() if selections else {oid for _, oid in only_in_history(repo, ())}
    return TierReport(
        sums["hot"], sums["warm"], sums["cold"], packed_bytes(repo.store), _folder_bytes(repo.folder),
        _folder_bytes(repo.folder / "cache"), _sum(repo, past), _sum(repo, past & tiers.cold), tuple(rows),
    )  # fmt: skip


def _sum(repo: Repository, oids: set[bytes]) -> TierSizes:
    return TierSizes(len(oids), sum(_sizes(repo, oids).values()))


def _folder_bytes(folder: Path) -> int:
    """Bytes of all the files in a folder; one that goes meanwhile counts for nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total
