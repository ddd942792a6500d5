"""Names that stand for a branch: `@{-1}` is the one that was current before, `@{u}` what the current one follows."""

from __future__ import annotations

import re

from arbor.errors import UsageError
from arbor.lazy import lazy_pattern
from arbor.repo.commits.upstreams import read_upstream
from arbor.repo.repository import Repository
from arbor.store.refs import HEADS, REMOTES

_SHORTHAND = lazy_pattern(r"(.*)@\{(?:-([0-9]{1,9})|(u|upstream|push))\}", re.IGNORECASE | re.DOTALL)
_SWITCHED = lazy_pattern(r"switch: from (\S+) to (\S+)")
_ORIGIN = "origin"

BEFORE = "@{-1}"
"""What `-` means to the commands that take it: the branch, or the commit, that was current before."""


def stands_for(repo: Repository, name: str) -> str:
    """The full name of the ref, or the commit, that a shorthand stands for; any other name as it is.

    `@{-N}` is the branch or commit before the last N switches; `BRANCH@{u}`, or `@{upstream}`, what a branch follows
    as it was last seen; `@{push}` where it would be pushed to.

    Raises:
        UsageError: when it stands for nothing here.
    """
    found = _SHORTHAND.fullmatch(name)
    if not found:
        return name
    before, number, kind = found.groups()
    if number:
        if before or not int(number):
            raise UsageError(f"'{name}' is not a revision", "write the branch before as @{-1}")
        place, is_detached = previous_place(repo, int(number))
        return place if is_detached else HEADS + place
    branch = _branch_before(repo, before)
    upstream = read_upstream(repo, branch) or (_pushed_to(repo, branch) if kind.lower() == "push" else "")
    if upstream:
        return REMOTES + upstream
    if repo.refs.read(HEADS + branch) is None and repo.refs.current_branch() != branch:
        raise UsageError(f"there is no branch '{branch}'", "run: arbor branch")
    raise UsageError(f"branch '{branch}' follows nothing", "let it follow: arbor branch -u REMOTE/BRANCH")


def _branch_before(repo: Repository, text: str) -> str:
    """The short name of the branch that is named before `@{u}`: the current one where none is."""
    if text not in ("", "@", "HEAD"):
        return branch_named(repo, text).removeprefix(HEADS)
    current = repo.refs.current_branch()
    if not current:
        raise UsageError("HEAD is detached and follows nothing", "name a branch, as in main@{u}")
    return current


def _pushed_to(repo: Repository, branch: str) -> str:
    """Where a branch that follows nothing goes: to its own name at `origin`, or at the only remote."""
    sound, wrong = repo.settings.rows("remote")
    remotes = [*sound, *wrong]
    if _ORIGIN not in remotes and len(remotes) != 1:
        return ""
    return f"{_ORIGIN if _ORIGIN in remotes else remotes[0]}/{branch}"


def branch_named(repo: Repository, name: str) -> str:
    """The short name of the branch that a shorthand stands for; what stands for no branch of this KB as it is."""
    full = stands_for(repo, name)
    return full.removeprefix(HEADS) if full != name and full.startswith(HEADS) else name


def name_told(repo: Repository, name: str) -> str:
    """What to call a revision in a message: a shorthand says nothing to whoever reads it later."""
    return stands_for(repo, name).removeprefix(HEADS).removeprefix(REMOTES) if "@{" in name else name


def previous_place(repo: Repository, number: int = 1) -> tuple[str, bool]:
    """The branch or commit that one was on before the last switches, and whether HEAD was detached there.

    Raises:
        UsageError: where that is not known.
    """
    left = number
    for entry in repo.refs.reflog("HEAD"):
        found = _SWITCHED.fullmatch(entry.reason)
        if not found or found[1] == found[2]:
            continue
        left -= 1
        if not left:
            return found[1], found[1] == entry.old.hex()
    if number == 1:
        raise UsageError("there is no branch that you came from", "run: arbor branch")
    raise UsageError(f"there were only {number - left} switches", "run: arbor reflog")
