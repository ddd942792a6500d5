"""A push as the receiving side sees it: checked against the rules of refs, received, checked again, and recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arbor.errors import ArborError, LostObject
from arbor.objects.model import Signature
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.messages import RefResult, RefUpdate
from arbor.remote.quarantine.connectivity import Checked, check_connected, descends, refuse_incomplete
from arbor.remote.quarantine.receiving import open_quarantine
from arbor.repo.repository import Repository
from arbor.repo.tiers import read_tiers
from arbor.store.journal import Journal
from arbor.store.refs import HEADS, TAGS

_MAX_REFS_NAMED = 50
CHECKED_OUT = "it is checked out there; push to a bare knowledge base, or to another branch"
CURRENT = "it is the branch that clones check out; it cannot be removed"
MOVED = "it has moved there since it was read; fetch first"
NOT_FORWARD = "it is not a fast-forward; fetch and merge first"
TAG_EXISTS = "the tag exists there already"


def refuse_updates(repo: Repository, updates: Sequence[RefUpdate]) -> dict[str, str]:
    """The updates that cannot be done whatever is sent: ref name to reason."""
    refused = {}
    for update in updates:
        if repo.fs_root is not None and repo.refs.head() == update.name:
            refused[update.name] = CHECKED_OUT
        elif not update.new and repo.refs.head() == update.name:
            refused[update.name] = CURRENT
        elif (repo.refs.read(update.name) or b"") != update.old:
            refused[update.name] = MOVED
        elif update.name.startswith(TAGS) and update.old and update.new and not update.force:
            refused[update.name] = TAG_EXISTS
    return refused


def accept_push(
    repo: Repository, updates: Sequence[RefUpdate], frames: Iterator[bytes], announced: int, key: str, limits: Limits,
    who: Signature,
) -> list[RefResult]:  # fmt: skip
    """Receive the frames of a push and move the refs that may be moved; what became of each.

    Raises:
        IntegrityError: when what arrived is damaged, malformed or incomplete; nothing of it stays.
    """
    with open_quarantine(repo.folder, key, limits) as quarantine:
        quarantine.recover()
        quarantine.receive(frames, announced)
        refused = refuse_updates(repo, updates)
        wanted = [update for update in updates if update.name not in refused]
        if not wanted:
            return [RefResult(update.name, refused[update.name]) for update in updates]
        arrived = quarantine.inspect()
        targets = [update.new for update in wanted if update.new]
        with repo.lock():
            refused |= refuse_updates(repo, wanted)
            tiers = read_tiers(repo.folder)
            try:
                checked = check_connected(repo, arrived, targets, lambda oid: False, tiers)
            except LostObject as error:
                raise refuse_incomplete(error, "the sender's") from error
            quarantine.check_files(arrived, checked, repo.store, tiers.cold)
            for update in wanted:
                reason = refused.get(update.name) or _fault(repo, update, checked)
                if reason:
                    refused[update.name] = reason
            wanted = [update for update in wanted if update.name not in refused]
            if wanted:
                quarantine.publish(repo.store, arrived)
                quarantine.discard()
                Journal(repo.folder).append("receive", {
                    "from": who.name, "objects": len(arrived.rows), "commits": len(checked.commits),
                    "refs": [update.name for update in wanted[:_MAX_REFS_NAMED]],
                })  # fmt: skip
                repo.store.refresh()
            for update in sorted(wanted, key=lambda update: bool(update.new)):
                # What goes makes room for what comes: `topic` for `topic/one`.
                reason = _move(repo, update, who)
                if reason:
                    refused[update.name] = reason
    return [RefResult(update.name, refused.get(update.name, "")) for update in updates]


def _fault(repo: Repository, update: RefUpdate, checked: Checked) -> str:
    """Why an update may not be done, now that its commits are known; "" when it may."""
    if not update.name.startswith(HEADS) or not update.new:
        return ""
    if checked.peeled[update.new] != update.new:
        return "a branch stands at a commit, not at a tag"
    if update.old and not update.force and not descends(repo, checked, update.new, update.old):
        return NOT_FORWARD
    return ""


def _move(repo: Repository, update: RefUpdate, who: Signature) -> str:
    """Move one ref under the lock; why it could not be done, or ""."""
    try:
        repo.refs.move(update.name, update.old or None, update.new or None, who, "push")
    except ArborError as error:
        # In an object store nobody else is locked out: another push can have come first until this very moment.
        return MOVED if (repo.refs.read(update.name) or b"") != update.old else error.message
    head = repo.refs.head()
    unborn = isinstance(head, str) and repo.refs.read(head) is None
    if repo.fs_root is None and update.new and unborn and update.name.startswith(HEADS):
        # The first branch that arrives in an empty bare KB is the one that clones will check out.
        repo.refs.set_head(update.name)
    return ""
