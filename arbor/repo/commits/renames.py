"""The history of one document across its renames, as `git log --follow` tells it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from arbor.errors import UsageError
from arbor.repo.commits.diffing import pair_documents
from arbor.repo.commits.history import LogEntry, iter_log
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot


def iter_followed(
    repo: Repository, starts: Sequence[bytes], paths: Sequence[str], *, exclude: Sequence[bytes] = (),
    first_parent: bool = False,
) -> Iterator[LogEntry]:  # fmt: skip
    """Commits that changed a document or moved it, newest first, each with the paths that it had there.

    Where a commit has it and a parent has not, it is looked for among what the commit removed: what was renamed goes
    on under its older path. Of a merge that has it as one side had it, only that side is followed; with `first_parent`
    always the first.

    Raises:
        UsageError: when there is not one path, or it is a folder.
    """
    if len(paths) != 1:
        raise UsageError("one document at a time can be followed", "run: arbor log --follow -- PATH")
    [path] = paths
    for oid in starts:
        snapshot = repo.snapshot(oid)
        if not path or (snapshot.find(path) is None and next(snapshot.paths(f"{path}/"), None) is not None):
            raise UsageError(
                f"'{path or '.'}' is a folder, and only a document can be followed", "leave out --follow"
            )
    names = dict.fromkeys(starts, path)
    for entry in iter_log(repo, starts, exclude=exclude, first_parent=first_parent):
        name = names.pop(entry.oid, None)
        if name is None:  # on a side of a merge that gave nothing
            continue
        parents = entry.commit.parents[:1] if first_parent else entry.commit.parents
        befores = {parent: _name_before(repo, parent, entry, name) for parent in parents}
        now = repo.snapshot(entry.oid).find(name)
        same = [
            parent
            for parent, before in befores.items()
            if before == name and repo.snapshot(parent).find(name) == now
        ]
        for parent in same[:1] or befores:
            names.setdefault(parent, befores[parent])
        if not same and (befores or now is not None):
            yield replace(entry, followed=tuple(dict.fromkeys((name, *befores.values()))))


def _name_before(repo: Repository, parent: bytes, entry: LogEntry, name: str) -> str:
    """What a document was called in a parent of a commit that calls it `name`."""
    before = repo.snapshot(parent)
    if before.find(name) is not None:
        return name
    after = Snapshot(repo.store, entry.commit.ledger_root)
    if after.find(name) is None:
        return name
    rows = [
        change
        for change in after.changes_since(repo.ledger_root(parent))
        if change.before is None or change.after is None
    ]
    pairs = pair_documents(rows, after)
    return next((pair.old_path for pair in pairs if pair.status == "R" and pair.path == name), name)
