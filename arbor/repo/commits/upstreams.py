"""What a branch follows: a local setting, `branch.NAME.upstream = "REMOTE/BRANCH"`, that no clone brings along."""

from __future__ import annotations

from arbor.errors import UsageError
from arbor.repo.commits.history import count_apart
from arbor.repo.repository import Repository
from arbor.store.refs import REMOTES


def read_upstream(repo: Repository, branch: str) -> str:
    """What a branch follows, such as `origin/main`; "" where it follows nothing."""
    return str(repo.settings.get(upstream_key(branch)) or "") if branch else ""


def told_upstream(repo: Repository, branch: str) -> str:
    """What a branch follows, for a listing: "" also where the settings make no sense, which `Settings.faults` tells."""
    try:
        return read_upstream(repo, branch)
    except UsageError:
        return ""


def find_last_seen(repo: Repository, upstream: str) -> bytes | None:
    """The commit at which something that a branch follows was last seen, or None."""
    try:
        return repo.refs.read(REMOTES + upstream) if upstream else None
    except UsageError:
        return None  # written by hand, and no name that a ref can have


def is_gone(repo: Repository, upstream: str) -> bool:
    """Whether nothing is known of what a branch follows: it is gone there, or was never pushed."""
    return bool(upstream) and find_last_seen(repo, upstream) is None


def count_ahead_behind(repo: Repository, commit: bytes | None, upstream: str) -> tuple[int, int]:
    """(commits ahead, commits behind) of a branch at a commit against what it follows, as that was last seen.

    Both are 0 where one of the two has no commit.
    """
    theirs = find_last_seen(repo, upstream)
    return count_apart(repo, commit, theirs) if commit and theirs else (0, 0)


def write_upstream(repo: Repository, branch: str, upstream: str) -> None:
    """Let a branch follow a remote's branch, or with "" nothing."""
    if upstream or read_upstream(repo, branch):
        repo.settings.set(upstream_key(branch), upstream or None)


def list_upstreams(repo: Repository) -> dict[str, str]:
    """What each branch follows, also one that has no commit yet."""
    return {branch: str(row["upstream"]) for branch, row in repo.settings.rows("branch")[0].items()
            if isinstance(row.get("upstream"), str)}  # fmt: skip


def move_upstream(repo: Repository, old: str, new: str) -> None:
    """Let a branch that got another name follow what it followed."""
    upstream = read_upstream(repo, old)
    write_upstream(repo, new, upstream)
    write_upstream(repo, old, "")


def upstream_key(branch: str) -> str:
    """The setting that holds what a branch follows."""
    return f"branch.{branch}.upstream"
