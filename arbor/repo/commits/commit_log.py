"""The log: which commits a person asks for, newest first, as values for reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from arbor.repo.commits import describing, history, renames, revisions
from arbor.repo.repository import Repository
from arbor.repo.results import CommitInfo


def iter_commits(
    repo: Repository, revision: str | None, paths: Sequence[str] = (), *, limit: int | None = None,
    follow: bool = False, everywhere: bool = False,
) -> Iterator[CommitInfo]:  # fmt: skip
    """Commits, newest first.

    Args:
        repo: Where.
        revision: A revision, or a range `A..B` or `A...B`; None for HEAD.
        paths: Only commits that touched one of these; () or the top for all.
        limit: How many at most.
        follow: Follow the one document that is given through its renames.
        everywhere: Also what any branch, tag or remote-tracking branch leads to.

    Raises:
        UsageError: when the revision is unknown or there is no commit yet, or for a limit below 0.
    """
    names = describing.ref_names(repo)
    tips, exclude = _ends(repo, revision, names, everywhere=everywhere)
    if follow:
        entries = renames.iter_followed(repo, tips, paths, exclude=exclude)
    else:
        entries = history.iter_log(repo, tips, exclude=exclude, paths=() if "" in paths else paths)
    for entry in history.at_most(entries, limit):
        refs = names.get(entry.oid, ())
        yield describing.describe_commit(entry.oid, entry.commit, refs, entry.followed)


def _ends(
    repo: Repository, revision: str | None, names: Mapping[bytes, Sequence[str]], *, everywhere: bool
) -> tuple[list[bytes], list[bytes]]:
    """(commits to begin at, commits to leave out with all that they go back to)."""
    others = list(names) if everywhere else []
    if revision is not None and ".." in revision:
        old, new = revisions.resolve_range(repo, revision)
        if revisions.is_symmetric(revision):
            return [old, new, *others], history.merge_bases(repo, [old], [new])
        return [new, *others], [old]
    if others and revision is None and repo.refs.head_oid() is None:
        return others, []  # the current branch has no commit yet, and others have
    return [revisions.resolve(repo, revision or "HEAD"), *others], []
