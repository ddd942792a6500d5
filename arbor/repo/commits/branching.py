"""Branches and tags, and moving between them: switch, reset."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from itertools import count

from arbor.errors import ArborError, ConflictError, PartlyDone, UsageError
from arbor.objects.ids import Kind
from arbor.objects.model import Tag, decode_tag, encode_tag
from arbor.records import dataclass
from arbor.repo.commits.history import is_ancestor, peel, ref_commits
from arbor.repo.commits.revisions import find_ref, is_symmetric, nearest, resolve, resolve_start
from arbor.repo.commits.shorthands import branch_named, name_told
from arbor.repo.commits.upstreams import is_gone, move_upstream, read_upstream, told_upstream, write_upstream
from arbor.repo.repository import Repository
from arbor.repo.stage import Stage, clear_stage, put_stage
from arbor.repo.work_tree.file_states import restamp_worktree_cache
from arbor.repo.work_tree.moving import Move, move_to, undo_move
from arbor.store.journal import Journal
from arbor.store.refs import HEADS, REMOTES, TAGS, check_ref_name

_RENAMED_FROM, _RENAMED_TO = "branch: renamed from ", "branch: renamed to "


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch: short name, the commit it stands at, whether it is current, and the upstream it follows.

    `upstream_gone` says that nothing is known of the upstream: it is gone there, or was never pushed.
    """

    name: str
    commit: str
    current: bool
    upstream: str
    upstream_gone: bool = False


@dataclass(frozen=True, slots=True)
class TagInfo:
    """One tag: name, the commit it stands for, the message of an annotated one, and whether it carries a signature."""

    name: str
    commit: str
    message: str
    annotated: bool
    signed: bool = False


def list_branches(repo: Repository, *, remotes: bool = False) -> list[Branch]:
    """The local branches, or the remote-tracking ones."""
    prefix = REMOTES if remotes else HEADS
    current = repo.refs.head()
    found = []
    for name in repo.refs.iter_names(prefix):
        oid = repo.refs.read(name)
        short = name[len(prefix) :]
        upstream = "" if remotes else told_upstream(repo, short)
        found.append(
            Branch(short, oid.hex() if oid else "", name == current, upstream, is_gone(repo, upstream))
        )
    return found


def create_branch(repo: Repository, name: str, start: str = "HEAD", *, force: bool = False) -> bytes:
    """Make a branch at a revision; the commit. One that begins at a remote-tracking branch follows it.

    Raises:
        UsageError: when the name may not be used, or exists and `force` is not given.
    """
    name = branch_named(repo, name)
    ref = _branch_ref(name)
    target = resolve_start(repo, start)
    with repo.lock():
        old = repo.refs.read(ref)
        if old is not None and not force:
            raise UsageError(f"branch '{name}' exists already", f"go to it: arbor switch {name}")
        if old is not None and repo.refs.head() == ref:
            raise UsageError(f"branch '{name}' is the current one", "move it with arbor reset")
        repo.refs.move(ref, old, target, repo.who(), f"branch: from {name_told(repo, start)}")
        _follow_start(repo, name, start)
    return target


def _follow_start(repo: Repository, branch: str, start: str) -> None:
    """Let a new branch follow the remote-tracking one that it was made from, as git does by default."""
    ref = None if is_symmetric(start) else find_ref(repo, start)
    if ref is not None and ref.startswith(REMOTES):
        write_upstream(repo, branch, ref[len(REMOTES) :])


def _branch_ref(name: str) -> str:
    """The full name of a new branch; raises UsageError where it could not be told from HEAD."""
    if name in ("HEAD", "@"):
        raise UsageError(f"a branch cannot be called '{name}'")
    return check_ref_name(HEADS + name)


def is_kept(repo: Repository, oid: bytes, *, but: str = "") -> bool:
    """Whether HEAD or a ref other than one leads to a commit; what none leads to a gc may drop in time."""
    return any(is_ancestor(repo, oid, tip) for tip in ref_commits(repo, lambda name: name != but))


def delete_branch(repo: Repository, name: str, *, force: bool = False) -> bytes:
    """Remove a branch; the commit it stood at.

    Raises:
        UsageError: when it is the current one or there is none.
        ConflictError: when its commits are on no other branch and `force` is not given.
    """
    name = branch_named(repo, name)
    ref = check_ref_name(HEADS + name)
    with repo.lock():
        oid = repo.refs.read(ref)
        if oid is None:
            raise UsageError(f"there is no branch '{name}'", "run: arbor branch")
        if repo.refs.head() == ref:
            raise UsageError(f"branch '{name}' is the current one", "switch to another one first")
        kept = is_kept(repo, oid, but=ref)
        if not kept and not force:
            raise ConflictError(
                f"branch '{name}' has commits that are nowhere else",
                f"remove it with: arbor branch -D {name}",
            )
        read_upstream(repo, name)  # settings that cannot be read end this before anything is done
        if not kept:
            Journal(repo.folder).append("discard", {"branch": name, "commit": oid.hex()})
        repo.refs.move(ref, oid, None, repo.who(), "branch: deleted")
        write_upstream(repo, name, "")
    return oid


def rename_branch(repo: Repository, old: str, new: str, *, force: bool = False) -> None:
    """Give a branch another name; HEAD follows it, and its reflog goes along. Its own name changes nothing.

    One that was cut off half-way is finished by the same call.

    Raises:
        UsageError: when there is no such branch, or the new name is taken and `force` is not given, or is that of the
            current branch.
        ConflictError: when another branch is in the way of the new name.
    """
    old = branch_named(repo, old)
    old_ref, new_ref = check_ref_name(HEADS + old), _branch_ref(new)
    for other in repo.refs.in_the_way(new_ref):  # found out before anything goes half-way
        if other != old_ref:
            raise ConflictError(f"branch '{new}' cannot be made: '{other.removeprefix(HEADS)}' is in the way")
    if old != new and (f"{old}/".startswith(f"{new}/") or f"{new}/".startswith(f"{old}/")):
        _rename_nested(repo, old, new, force=force)
    else:
        _rename(repo, old, new, _RENAMED_FROM + old, force=force)


def _rename(repo: Repository, old: str, new: str, reason: str, *, force: bool = False) -> None:
    """See `rename_branch`; `reason` is what the log of the new name says."""
    old_ref, new_ref = HEADS + old, HEADS + new
    with repo.lock():
        oid, taken = repo.refs.read(old_ref), repo.refs.read(new_ref)
        current = repo.refs.head() == old_ref
        if oid is None and not current:
            raise UsageError(f"there is no branch '{old}'", "run: arbor branch")
        if old_ref == new_ref:
            return
        is_begun = _is_begun(repo, old, new, reason)
        if taken is not None and not force and not is_begun:
            raise UsageError(f"branch '{new}' exists already")
        if repo.refs.head() == new_ref and not is_begun:
            raise UsageError(f"branch '{new}' is the current one", "switch to another one first")
        if oid is not None and not is_begun:
            repo.refs.carry_log(old_ref, new_ref)  # what it remembers keeps commits, and is a way back
            repo.refs.move(new_ref, taken, oid, repo.who(), reason)
        if current:
            repo.refs.set_head(new_ref, repo.who(), reason)
        if not is_begun or read_upstream(repo, old):
            move_upstream(repo, old, new)
        if oid is not None:  # at the very end: without the old name, nobody could give this command again
            repo.refs.move(old_ref, oid, None, repo.who(), _RENAMED_TO + new)


def _is_begun(repo: Repository, old: str, new: str, reason: str) -> bool:
    """Whether two branches at one commit are what a crash left of a renaming: the log is with the new name only."""
    oid = repo.refs.read(HEADS + old)
    if oid is None or oid != repo.refs.read(HEADS + new):
        return False
    others = {entry.reason for entry in repo.refs.reflog(HEADS + old)} - {_RENAMED_TO + new}
    return _last_moves(repo, new, 1) == [reason] and not others


def _last_moves(repo: Repository, name: str, most: int) -> list[str]:
    """Why a branch was moved, the last time first."""
    return [entry.reason for entry in repo.refs.reflog(HEADS + name)[:most]]


def _rename_nested(repo: Repository, old: str, new: str, *, force: bool) -> None:
    """Rename where one name is a folder of the other, by way of a third name.

    A crash can leave the branch under that; its log says so, for the same call to go on from there.
    """
    reason = f"{_RENAMED_FROM}{old}, to become {new}"  # no name has a comma and a space in it
    stem = f"{old.replace('/', '-')}-"
    there = [name.removeprefix(HEADS) for name in repo.refs.iter_names(HEADS + stem)]
    is_there = repo.refs.read(HEADS + old) is not None
    left = (
        name
        for name in there
        if (_is_begun(repo, old, name, reason) if is_there else _is_third(repo, name, new, reason))
    )
    third = next(left, "")
    if is_there or not third:
        free = (f"{stem}{number}" for number in count(1))
        third = third or next(
            name for name in free if name not in there and not repo.refs.in_the_way(HEADS + name)
        )
        _rename(repo, old, third, reason)
    try:
        rename_branch(repo, third, new, force=force)
    except ArborError as error:
        try:
            rename_branch(repo, third, old)
        except ArborError:  # such as on a full disk
            said = f"{error.message}; branch '{old}' is called '{third}' for now"
            raise PartlyDone(said, f"run: arbor branch -m {third} {new}") from error
        raise


def _is_third(repo: Repository, name: str, new: str, reason: str) -> bool:
    """Whether a crash left a branch under this name: its log says why, or has gone to the new name already."""
    own, moved = _last_moves(repo, name, 1), _last_moves(repo, new, 2)
    return own == [reason] or moved == [_RENAMED_FROM + name, reason] or (not own and moved[:1] == [reason])


def list_tags(repo: Repository) -> list[TagInfo]:
    """The tags, in order of their names."""
    found = []
    for name in repo.refs.iter_names(TAGS):
        oid = repo.refs.read(name)
        if oid is None:
            continue
        kind, data = repo.store.get(oid)
        tag = decode_tag(data, trusted=True) if kind == Kind.TAG else None
        message, signed = (tag.message, bool(tag.seal)) if tag else ("", False)
        found.append(TagInfo(name[len(TAGS) :], peel(repo, oid).hex(), message, tag is not None, signed))
    return found


def create_tag(
    repo: Repository, name: str, revision: str = "HEAD", *, message: str = "", force: bool = False,
    sign: Callable[[bytes], str] | None = None,
) -> bytes:  # fmt: skip
    """Make a tag, with a message an annotated one; the oid it holds.

    Args:
        repo: Where.
        name: Its short name.
        revision: What it stands for.
        message: Why; "" for a tag without an object of its own.
        force: Replace a tag that exists.
        sign: Gives the armoured signature over an annotated tag's bytes.

    Raises:
        UsageError: when the name may not be used, or exists and `force` is not given.
    """
    ref = check_ref_name(TAGS + name)
    target = resolve(repo, revision)
    with repo.lock():
        old = repo.refs.read(ref)
        if old is not None and not force:
            raise UsageError(f"tag '{name}' exists already", "replace it with -f")
        oid = target
        if message:
            tag = Tag(target, name, repo.who(), message)
            if sign is not None:
                tag = replace(tag, seal=sign(encode_tag(tag)))
            with repo.store.writer() as writer:
                oid = writer.add(Kind.TAG, encode_tag(tag))
        repo.refs.move(ref, old, oid, repo.who(), f"tag: at {revision}")
    return oid


def delete_tag(repo: Repository, name: str) -> bytes:
    """Remove a tag; the oid it held. Raises UsageError when there is none."""
    ref = check_ref_name(TAGS + name)
    with repo.lock():
        oid = repo.refs.read(ref)
        if oid is None:
            raise UsageError(f"there is no tag '{name}'", "run: arbor tag")
        Journal(repo.folder).append("discard", {"tag": name, "object": oid.hex()})
        repo.refs.move(ref, oid, None, repo.who(), "tag: deleted")
    return oid


def switch(
    repo: Repository, target: str, *, create: bool = False, start: str = "HEAD", detach: bool = False,
    force: bool = False, recreate: bool = False,
) -> bytes | None:  # fmt: skip
    """Go to a branch (or with `detach` a commit): work tree, stage and HEAD; the commit.

    Staged and local changes to files that do not differ between the two are kept.

    Raises:
        UsageError: when there is no such branch.
        ConflictError: when local changes would be overwritten and `force` is not given.
    """
    target = branch_named(repo, target)
    with repo.lock():
        undo_move(repo)
        stage = repo.stage()
        if not force:
            stage.refuse_unfinished()
        if create and start == "HEAD" and repo.refs.head_oid() is None:
            _follow_unborn(repo, target)
            return None
        upstream, oid = "", None if detach or create else repo.refs.read(_checked_branch(repo, target))
        if create:
            oid = _new_branch_at(repo, target, start, recreate=recreate)
        elif detach:
            oid = resolve_start(repo, target)
        elif oid is None:
            upstream, oid = _find_remote_branch(repo, target)
        ref, is_new = HEADS + target, create or bool(upstream)
        there = repo.refs.read(ref) if is_new else None
        came_from = repo.refs.current_branch() or (repo.refs.head_oid() or b"").hex()
        if force:
            Journal(repo.folder).append("discard", {"switch": oid.hex() if oid else "", "from": came_from})

        def move_ref() -> None:
            if is_new:
                reason = f"branch: from {REMOTES + upstream if upstream else name_told(repo, start)}"
                repo.refs.move(ref, there, oid, repo.who(), reason)
            if upstream:
                write_upstream(repo, target, upstream)
            elif create:
                _follow_start(repo, target, start)
            repo.refs.set_head(oid if detach else ref, repo.who(), f"switch: from {came_from} to {target}")

        # Were it cut off, a branch that was there before must not go with the move.
        options = ("-C " if recreate else "-c ") * create + "--detach " * detach
        command = f"switch {options}{target}{f' {start}' if create and start != 'HEAD' else ''}"
        move = Move("switch", command, oid if detach else ref, oid, Stage(repo.ledger_root(oid)),
                    new_ref=ref if is_new and there is None else "")  # fmt: skip
        move_to(repo, stage, move, move_ref, force=force)
    return oid


def _follow_unborn(repo: Repository, name: str) -> None:
    """Let HEAD follow a branch that begins with the first commit."""
    repo.refs.set_head(_branch_ref(name), repo.who(), f"switch: from {repo.refs.current_branch()} to {name}")


def _new_branch_at(repo: Repository, name: str, start: str, *, recreate: bool) -> bytes:
    """The commit for a new branch; raises UsageError when the name may not be used or, unless `recreate`, is taken."""
    if repo.refs.read(_branch_ref(name)) is not None and not recreate:
        raise UsageError(f"branch '{name}' exists already", f"go to it: arbor switch {name}")
    return resolve_start(repo, start)


def _checked_branch(repo: Repository, name: str) -> str:
    """The full name; raises UsageError for one that no branch may have, with what to type where it is a revision."""
    try:
        return check_ref_name(HEADS + name)
    except UsageError as error:
        refusal = error
    with contextlib.suppress(UsageError):
        resolve(repo, name)
        refusal = UsageError(f"'{name}' is a commit and no branch", f"run: arbor switch --detach {name}")
    raise refusal


def remote_branches(repo: Repository, name: str) -> list[str]:
    """Full names of the remote-tracking branches that are called so at their remotes."""
    return [ref for ref in repo.refs.iter_names(REMOTES) if ref.split("/", 3)[3:] == [name]]


def _find_remote_branch(repo: Repository, name: str) -> tuple[str, bytes]:
    """(short name, commit) of the one remote-tracking branch that a new local one of this name can follow.

    Raises:
        UsageError: when there is none, or more than one.
    """
    matches = remote_branches(repo, name)
    if len(matches) != 1:
        raise UsageError(f"there is no branch '{name}'", _no_branch_hint(repo, name, matches))
    oid = repo.refs.read(matches[0])
    assert oid is not None
    return matches[0].removeprefix(REMOTES), oid


def _no_branch_hint(repo: Repository, name: str, remote_ones: list[str]) -> str:
    """What to type where no branch, or not one alone, is called so."""
    if remote_ones:
        of_one = remote_ones[0].removeprefix(REMOTES)
        return f"{len(remote_ones)} remotes have one; choose: arbor switch -c {name} {of_one}"
    found = find_ref(repo, name)
    if found:
        return f"it is a {'tag' if found.startswith(TAGS) else 'commit'}: arbor switch --detach {name}"
    names = [ref.removeprefix(HEADS) for ref in repo.refs.iter_names(HEADS)]
    meant = "".join(f"did you mean '{near}'? " for near in nearest(name, names))
    return f"{meant}make it with: arbor switch -c {name}"


def reset(repo: Repository, revision: str = "HEAD", mode: str = "mixed") -> bytes:
    """Move the current branch to a revision; the commit.

    Args:
        repo: Where.
        revision: Where to.
        mode: `soft` keeps stage and files, `mixed` keeps files, `hard` keeps nothing that is not committed.

    Raises:
        UsageError: when the revision or mode is unknown.
        ConflictError: for `soft` while a merge or revert waits to be finished, of which it would keep only half.
    """
    if mode not in ("soft", "mixed", "hard"):
        raise UsageError(f"'{mode}' is not a way to reset", "the ways are soft, mixed and hard")
    target = resolve(repo, revision)
    with repo.lock():
        if mode == "hard":
            undo_move(repo)
        elif (record := repo.interrupted()) is not None:
            record.refuse()
        stage, head = repo.stage(), repo.refs.head_oid()
        if mode == "soft":
            stage.refuse_unfinished()

        def move_ref() -> None:
            repo.refs.move_head(head, target, repo.who(), f"reset: to {revision}")

        if mode == "hard":
            details = {"reset": target.hex(), "from": head.hex() if head is not None else ""}
            Journal(repo.folder).append("discard", details)
            follows = repo.refs.head()
            move = Move("reset", f"reset --hard {revision}", follows if isinstance(follows, str) else target, target,
                        Stage(repo.ledger_root(target)))  # fmt: skip
            move_to(repo, stage, move, move_ref, force=True)
            return target
        if mode == "mixed":
            move_ref()
            clear_stage(repo.folder)
        else:
            # As changes to the new HEAD, so that whoever asks whether something is staged is told what is. It comes
            # first: cut off in between, the stage still holds the same, and nothing else knows that it was to be kept.
            staged = stage.onto(repo.store, repo.ledger_root(target))
            put_stage(repo.folder, staged)
            move_ref()
            with contextlib.suppress(OSError):  # else the files are looked at again
                restamp_worktree_cache(repo.folder, stage.stamp, staged.stamp)
    return target
