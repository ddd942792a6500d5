"""What a push is to move: refs named as people name them become full names and oids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arbor.errors import UsageError
from arbor.remote.pushing import PushSpec
from arbor.remote.remotes import upstream_of
from arbor.repo.branching import current_branch
from arbor.repo.repository import Repository
from arbor.repo.revisions import find_ref, resolve
from arbor.store.refs import HEADS, REMOTES, TAGS, check_ref_name


@dataclass(frozen=True, slots=True)
class PushRequest:
    """What a push was asked for.

    Attributes:
        refs: `BRANCH`, `TAG`, `HERE:THERE`, `:THERE` (remove), each with a `+` in front to force; () for the current
            branch.
        all: Every branch.
        tags: Every tag, beside what else is pushed.
        delete: `refs` are names to be removed.
        force: Also what is no fast-forward.
        lease: Force only where the other side is still where it was last seen: "" for all refs by their tracking
            refs, or `BRANCH:OID`; None for no lease.
    """

    refs: Sequence[str] = ()
    all: bool = False
    tags: bool = False
    delete: bool = False
    force: bool = False
    lease: str | None = None


def plan_push(repo: Repository, remote: str, request: PushRequest) -> list[PushSpec]:
    """The refs that a request means, with what they are to hold.

    Raises:
        UsageError: when a name means nothing here.
    """
    pairs: dict[str, tuple[bytes, bool]] = {}
    for text in request.refs:
        there, new = _removal(repo, text) if request.delete else _parse(repo, text.removeprefix("+"))
        pairs[there] = (new, request.force or text.startswith("+"))
    for prefix, wanted in ((HEADS, request.all), (TAGS, request.tags)):
        for name in repo.refs.iter_names(prefix) if wanted else ():
            pairs.setdefault(name, (repo.refs.read(name) or b"", request.force))
    if not pairs and not (request.all or request.tags):
        there, new = _current(repo)
        pairs[there] = (new, request.force)
    return [_spec(repo, remote, there, new, forced, request.lease) for there, (new, forced) in pairs.items()]


def _current(repo: Repository) -> tuple[str, bytes]:
    branch = current_branch(repo)
    if not branch:
        raise UsageError("HEAD is detached: there is no current branch to push", "name a branch")
    oid = repo.refs.read(HEADS + branch)
    if oid is None:
        raise UsageError("there is no commit to push yet", "run: arbor commit -m MESSAGE")
    followed = upstream_of(repo, branch)
    return HEADS + (followed[1] if followed else branch), oid


def _removal(repo: Repository, text: str) -> tuple[str, bytes]:
    """A branch, or a tag where the name is one here and no branch."""
    name = text.removeprefix("+")
    if not name.startswith("refs/"):
        is_tag = repo.refs.read(HEADS + name) is None and repo.refs.read(TAGS + name) is not None
        name = (TAGS if is_tag else HEADS) + name
    return name, b""


def _parse(repo: Repository, text: str) -> tuple[str, bytes]:
    """(full name there, what it is to hold)."""
    here, colon, there = text.partition(":")
    if colon and not here:
        return _removal(repo, there)
    ref = find_ref(repo, here)
    if ref is not None and ref.startswith((HEADS, TAGS)):
        oid = repo.refs.read(ref)
        assert oid is not None
        name = there or ref
        if there and not there.startswith("refs/"):
            name = ref[: len(HEADS) if ref.startswith(HEADS) else len(TAGS)] + there
        return check_ref_name(name), oid
    if not there:
        raise UsageError(f"there is no branch or tag '{here}'", f"write it as {here}:BRANCH")
    return check_ref_name(there if there.startswith("refs/") else HEADS + there), resolve(repo, here)


def _spec(repo: Repository, remote: str, there: str, new: bytes, force: bool, lease: str | None) -> PushSpec:
    if lease is None or not there.startswith(HEADS):
        return PushSpec(there, new, force)
    branch = there[len(HEADS) :]
    named, colon, oid = lease.partition(":")
    if lease and named not in (branch, there):
        return PushSpec(there, new, force)
    if colon:
        expected = resolve(repo, oid) if oid else b""
    else:
        expected = repo.refs.read(f"{REMOTES}{remote}/{branch}") or b""
    return PushSpec(there, new, True, expected)
