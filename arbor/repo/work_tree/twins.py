"""Names that are one where a file system knows no case, or writes accents in another form: nothing to overwrite by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from arbor.errors import first_of
from arbor.objects.paths import collision_key
from arbor.repo.commits.history import merge_bases
from arbor.repo.folders import folders_above, folders_of
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.store.refs import HEADS, REMOTES, TAGS

_NAMED = 5
Twins = list[tuple[str, str]]


def find_twins(new: Collection[str], others: Iterable[str] = ()) -> Twins:
    """Pairs of paths that such a file system takes for one, of which one at least is new.

    A document may be the twin of another one, or of a folder, which then ends in `/`.
    """
    paths = {*new, *others} if new else set()
    keys = set(map(collision_key, paths))
    all_folders = {folder.rstrip("/") for folder in folders_of(paths)}
    if len(keys) == len(paths) and keys.isdisjoint(map(collision_key, all_folders)):
        return []  # nearly always, and at once
    documents: dict[str, set[str]] = {}
    folders: dict[str, set[str]] = {}
    for path in paths:
        documents.setdefault(collision_key(path), set()).add(path)
    for folder in all_folders:
        folders.setdefault(collision_key(folder), set()).add(folder)
    pairs: set[tuple[str, str]] = set()
    for path in new:
        key = collision_key(path)
        pairs.update((min(path, other), max(path, other)) for other in documents[key] if other != path)
        pairs.update((path, f"{folder}/") for folder in folders.get(key, ()) if folder != path)
        for folder in folders_above(path):
            beside = documents.get(collision_key(folder), ())
            pairs.update((document, f"{folder}/") for document in beside if document != folder)
    return sorted(pairs)


def arriving_twins(repo: Repository, tips: Sequence[bytes], fresh: Collection[str]) -> Twins:
    """Twins that fetched commits have, or would make with what HEAD has.

    Args:
        repo: Where they came.
        tips: The commits that refs stand at.
        fresh: The paths that came with them, also of documents that a later commit removed or moved.
    """
    head = repo.refs.head_oid()
    here = repo.snapshot(head)
    pairs = find_twins(fresh, (path for path, _ in here.paths()))
    trees = [repo.snapshot(tip) for tip in dict.fromkeys(tips)] if pairs else []
    apart = (
        [(tree, base) for tree, base in zip(trees, _bases(repo, head, tips), strict=True)] if pairs else []
    )
    return [pair for pair in pairs if any(_meet(here, tree, base, pair) for tree, base in apart)]


def _bases(repo: Repository, head: bytes | None, tips: Sequence[bytes]) -> Iterator[Snapshot]:
    for tip in dict.fromkeys(tips):
        bases = merge_bases(repo, [head], [tip]) if head is not None else []
        yield repo.snapshot(bases[0] if bases else None)


def _meet(here: Snapshot, there: Snapshot, base: Snapshot, pair: tuple[str, str]) -> bool:
    """Whether both names are in what came, or one is here and the other there, and neither side gave its own up."""
    left, right = pair
    if _has(there, left) and _has(there, right):
        return True
    return any(
        _has(here, mine)
        and _has(there, other)
        and not (_has(base, mine) and not _has(there, mine))
        and not (_has(base, other) and not _has(here, other))
        for mine, other in ((left, right), (right, left))
    )


def _has(tree: Snapshot, name: str) -> bool:
    if name.endswith("/"):
        return next(tree.paths(name), None) is not None
    return tree.find(name) is not None


def branch_twins(repo: Repository, arrived: Iterable[str]) -> Twins:
    """Branches and tags, as people call them, of which one has just come; local branches count for those of remotes."""
    names = list(repo.refs.iter_names())
    pairs: set[tuple[str, str]] = set()
    for ref in arrived:
        rivals = [
            name for name in names if name.startswith((_room(ref), HEADS) if _is_branch(ref) else _room(ref))
        ]
        mine = ref[len(_room(ref)) :]
        theirs = (rival[len(_room(rival)) :] for rival in rivals)
        pairs.update((min(mine, name), max(mine, name)) for name in theirs
                     if name != mine and collision_key(name) == collision_key(mine))  # fmt: skip
    return sorted(pairs)


def _is_branch(ref: str) -> bool:
    return ref.startswith((HEADS, REMOTES))


def _room(ref: str) -> str:
    """Where a ref's own name begins: `refs/heads/`, `refs/tags/`, or a remote's own."""
    if ref.startswith(REMOTES):
        return ref[: ref.index("/", len(REMOTES)) + 1]
    return HEADS if ref.startswith(HEADS) else TAGS


def arrival_warnings(
    repo: Repository, tips: Sequence[bytes], paths: Collection[str], refs: Iterable[str]
) -> list[str]:
    """Warnings of documents and branches that came and that a file system without case would take for one.

    Args:
        repo: Where they came.
        tips: The commits that came.
        paths: The paths that came with them.
        refs: The full names of the refs that came.
    """
    documents, branches = arriving_twins(repo, tips, paths), branch_twins(repo, refs)
    return twin_warnings(documents) + twin_warnings(branches, "branches or tags")


def twin_warnings(twins: Twins, what: str = "names") -> list[str]:
    """One warning for all of them; none where there are none."""
    if not twins:
        return []
    named = first_of([f"'{left}' and '{right}'" for left, right in twins], _NAMED)
    return [f"{what} that are one on a file system without case or with Unicode form D: {named}"]
