"""What a push is to move: refs named as people name them become full names and oids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arbor.errors import UsageError
from arbor.records import dataclass
from arbor.remote.pushing import PushSpec
from arbor.remote.remotes import upstream_of
from arbor.repo.commits.revisions import find_ref, resolve
from arbor.repo.repository import Repository
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
    specs: dict[str, PushSpec] = {}
    for text in request.refs:
        spec = _removal(repo, text) if request.delete else _parse(repo, text.removeprefix("+"))
        specs[spec.there] = replace(spec, force=request.force or text.startswith("+"))
    for prefix, wanted in ((HEADS, request.all), (TAGS, request.tags)):
        for name in repo.refs.iter_names(prefix) if wanted else ():
            specs.setdefault(name, PushSpec(name, repo.refs.read(name) or b"", request.force, here=name))
    if not specs and not (request.all or request.tags):
        spec = _current(repo)
        specs[spec.there] = replace(spec, force=request.force)
    return [_leased(repo, remote, spec, request.lease) for spec in specs.values()]


def _current(repo: Repository) -> PushSpec:
    branch = repo.refs.current_branch()
    if not branch:
        raise UsageError("HEAD is detached: there is no current branch to push", "name a branch")
    oid = repo.refs.read(HEADS + branch)
    if oid is None:
        raise UsageError("there is no commit to push yet", "run: arbor commit -m MESSAGE")
    followed = upstream_of(repo, branch)
    return PushSpec(HEADS + (followed[1] if followed else branch), oid, here=HEADS + branch)


def _removal(repo: Repository, text: str) -> PushSpec:
    """A branch, or a tag where the name is one here and no branch."""
    name = text.removeprefix("+")
    if not name.startswith("refs/"):
        is_tag = repo.refs.read(HEADS + name) is None and repo.refs.read(TAGS + name) is not None
        name = (TAGS if is_tag else HEADS) + name
    return PushSpec(name, b"")


def _parse(repo: Repository, text: str) -> PushSpec:
    """What is to be pushed where."""
    here, colon, there = text.partition(":")
    if not here and not there:
        raise UsageError("an empty name is no branch or tag", "name one, or none for the current branch")
    if there.startswith("refs/") and not there.startswith((HEADS, TAGS)):
        raise UsageError(f"'{there}' is neither a branch nor a tag", f"those begin with {HEADS} or {TAGS}")
    if colon and not here:
        return _removal(repo, there)
    ref = find_ref(repo, here)
    if ref is not None and ref.startswith((HEADS, TAGS)):
        oid = repo.refs.read(ref)
        assert oid is not None
        name = there or ref
        if there and not there.startswith("refs/"):
            name = ref[: len(HEADS) if ref.startswith(HEADS) else len(TAGS)] + there
        return PushSpec(check_ref_name(name), oid, here=ref)
    if here in ("HEAD", "@"):
        return _head(repo, there)
    if not there and here == repo.refs.current_branch():
        raise UsageError("there is no commit to push yet", "run: arbor commit -m MESSAGE")
    if not there:
        raise UsageError(f"there is no branch or tag '{here}'", _what_else(repo, here))
    return PushSpec(
        check_ref_name(there if there.startswith("refs/") else HEADS + there), resolve(repo, here)
    )


def _what_else(repo: Repository, here: str) -> str:
    """What to type where a word is no branch or tag: a name there for a commit, or the nearest name."""
    try:
        resolve(repo, here)
    except UsageError as error:
        return error.hint
    return f"write it as {here}:BRANCH"


def _head(repo: Repository, there: str) -> PushSpec:
    """HEAD as in git: the current branch, to its own name or to another one; detached, only with another name."""
    branch = repo.refs.current_branch()
    if not there and not branch:
        raise UsageError("HEAD is detached: its commit has no name there", "write it as HEAD:BRANCH")
    name = there if there.startswith("refs/") else HEADS + (there or branch)
    return PushSpec(check_ref_name(name), resolve(repo, "HEAD"), here=HEADS + branch if branch else "")


def _leased(repo: Repository, remote: str, spec: PushSpec, lease: str | None) -> PushSpec:
    if lease is None or not spec.there.startswith(HEADS):
        return spec
    branch = spec.there[len(HEADS) :]
    named, colon, oid = lease.partition(":")
    if lease and named not in (branch, spec.there):
        return spec
    if colon:
        return replace(spec, force=True, lease=resolve(repo, oid) if oid else b"")
    if not remote:
        raise UsageError(
            "a lease needs to know where the branch was last seen, and an address without a name has shown nothing",
            f"say where it must be: --force-with-lease={branch}:OID; or name it: arbor remote add NAME URL",
        )
    return replace(spec, force=True, lease=repo.refs.read(f"{REMOTES}{remote}/{branch}") or b"")
