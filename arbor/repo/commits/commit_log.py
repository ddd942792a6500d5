"""The log: which commits a person asks for, newest first, as values for reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from arbor.repo.commits import describing, history, renames, revisions
from arbor.repo.repository import Repository
from arbor.repo.results import CommitInfo


def iter_commits(
    repo: Repository, asked: Sequence[str] | None, paths: Sequence[str] = (), *, limit: int | None = None,
    follow: bool = False, everywhere: bool = False, first_parent: bool = False,
) -> Iterator[CommitInfo]:  # fmt: skip
    """Commits, newest first.

    Args:
        repo: Where.
        asked: Revisions, and ranges `A..B` or `A...B`; `^REV` is left out with all that it leads to. None for HEAD.
        paths: Only commits that touched one of these; () or the top for all.
        limit: How many at most.
        follow: Follow the one document that is given through its renames.
        everywhere: Also what any branch, tag or remote-tracking branch leads to.
        first_parent: Of a merge, go on to its first parent only.

    Raises:
        UsageError: when the revision is unknown or there is no commit yet, or for a limit below 0.
    """
    names = describing.ref_names(repo)
    tips, exclude = _ends(repo, asked, names, everywhere=everywhere)
    if follow:
        entries = renames.iter_followed(repo, tips, paths, exclude=exclude, first_parent=first_parent)
    else:
        entries = history.iter_log(repo, tips, exclude=exclude, paths=() if "" in paths else paths,
                                   first_parent=first_parent)  # fmt: skip
    for entry in history.at_most(entries, limit):
        refs = names.get(entry.oid, ())
        yield describing.describe_commit(entry.oid, entry.commit, refs, entry.followed)


def _ends(
    repo: Repository, asked: Sequence[str] | None, names: Mapping[bytes, Sequence[str]], *, everywhere: bool
) -> tuple[list[bytes], list[bytes]]:
    """(commits to begin at, commits to leave out with all that they go back to)."""
    others = list(names) if everywhere else []
    starts: list[bytes] = []
    exclude: list[bytes] = []
    for text in asked or ():
        if text.startswith("^"):
            exclude.append(revisions.resolve(repo, text[1:]))
        elif ".." in text:
            old, new = revisions.resolve_range(repo, text)
            is_symmetric = revisions.is_symmetric(text)
            starts += [old, new] if is_symmetric else [new]
            exclude += history.merge_bases(repo, [old], [new]) if is_symmetric else [old]
        else:
            starts.append(revisions.resolve(repo, text))
    if others and not asked and repo.refs.head_oid() is None:
        return others, []  # the current branch has no commit yet, and others have
    if asked is None or (asked and not starts):
        starts = [revisions.resolve(repo, "HEAD")]
    return [*starts, *others], exclude
