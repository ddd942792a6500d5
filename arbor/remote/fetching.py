"""fetch: what a remote has comes here, and remote-tracking refs and tags follow it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from arbor.errors import RemoteError, UsageError
from arbor.records import dataclass
from arbor.remote.exchange.negotiating import ROLLED_BACK, advertised, find_haves
from arbor.remote.exchange.transfer import Arrival, TransferOptions, download
from arbor.remote.protocol.messages import Advertisement, RemoteRef
from arbor.remote.protocol.wire import Transport
from arbor.remote.quarantine.connectivity import Checked, complete_commits, descends
from arbor.remote.remotes import followed_there
from arbor.repo.repository import Repository
from arbor.repo.trust.witness import Seen, read_witnessed, remember
from arbor.repo.work_tree.twins import arrival_warnings
from arbor.store.refs import HEADS, REMOTES, TAGS, short_name

TAG_MOVED = "the tag is another one here"
IN_THE_WAY = "is in the way here"


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """What to fetch.

    Attributes:
        branches: Names of branches, or of tags where no branch is called so, short or in full; () for all branches.
        tags: Whether tags come too.
        prune: Remove remote-tracking refs of branches that are gone there; what they showed last still binds them.
        force: Accept branches that were rolled back and tags that moved.
        dry_run: Receive and check, and keep nothing: no ref moves, and the next fetch begins anew.
    """

    branches: tuple[str, ...] = ()
    tags: bool = True
    prune: bool = False
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class RefChange:
    """What became of one ref.

    Attributes:
        there, here: Its full names on the other side and here ("" where it was only looked at).
        old, new: Oids as hexadecimal digits, "" for none.
        status: `new`, `forward`, `forced`, `pruned`, `same` or `rejected`.
        reason: Why it was rejected.
    """

    there: str
    here: str
    old: str
    new: str
    status: str
    reason: str = ""

    @property
    def hint(self) -> str:
        """What can be typed where it was rejected; "" where nothing helps."""
        if self.reason in (ROLLED_BACK, TAG_MOVED):
            return "accept it with: arbor fetch --force"
        if not self.reason.endswith(IN_THE_WAY):
            return ""
        if self.here.startswith(TAGS):
            return "remove that tag with: arbor tag -d"
        return "forget branches that are gone there with: arbor fetch --prune"


@dataclass(frozen=True, slots=True)
class FetchResult:
    """What a fetch brought.

    Attributes:
        url: Where from.
        head: The branch that HEAD follows there, short; "" where there is none.
        changes: The refs that were asked for.
        objects, received_bytes: What was received; 0 where nothing was new.
        commits: New commits.
        cold: Documents that came without their passages.
        warnings: What the person should know.
        fetch_head: Full name there of the branch or tag that `FETCH_HEAD` stands for now; "" where it is as it was.
    """

    url: str
    head: str
    changes: tuple[RefChange, ...]
    objects: int = 0
    received_bytes: int = 0
    commits: int = 0
    cold: int = 0
    warnings: tuple[str, ...] = ()
    fetch_head: str = ""

    @property
    def rejected(self) -> tuple[RefChange, ...]:
        """The refs that were not moved."""
        return tuple(change for change in self.changes if change.status == "rejected")


def fetch(
    repo: Repository, transport: Transport, remote: str, options: FetchOptions, transfer: TransferOptions
) -> FetchResult:
    """Bring refs and what they need from another KB.

    Args:
        repo: Where to.
        transport: Where from.
        remote: Name of the remote whose tracking refs follow; "" moves no branch refs.
        options: What.
        transfer: How.

    Raises:
        UsageError: when what was asked for is not there.
        IntegrityError: when what comes is damaged, malformed or incomplete.
        RemoteError: when the other side fails.
    """
    shown = advertised(transport)
    chosen = choose_refs(shown, remote, options)
    before = {here: repo.refs.read(here) for _, here in chosen if here}
    known = {oid for oid in before.values() if oid is not None}
    shows = {oid for ref, _ in chosen for oid in (ref.oid, ref.peeled)}
    complete = _complete(repo, (shows - known) | set(shown.prerequisites))
    wants = sorted({ref.oid for ref, _ in chosen if not _is_here(repo, ref, known, complete)})
    seen_before = read_witnessed(repo.folder, transport.url) if transport.is_peer else {}
    is_same = all(
        here and before[here] == ref.oid and _is_as_seen(transport, seen_before, ref) for ref, here in chosen
    )
    if not wants and is_same and not options.prune:
        same = [RefChange(ref.name, here, ref.oid.hex(), ref.oid.hex(), "same") for ref, here in chosen]
        fetched = "" if options.dry_run else _set_fetched(repo, shown, remote, options, same)
        return FetchResult(transport.url, shown.head.removeprefix(HEADS), tuple(same), fetch_head=fetched)
    require_prerequisites(shown, complete if wants else None)
    haves = find_haves(repo, transport, shown, complete, remote) if wants else ()
    targets = {ref.oid for ref, _ in chosen}
    with download(repo, transport, wants, haves, targets, transfer) as arrival:
        changes = [
            _judge(repo, arrival.checked, ref, here, seen_before.get(ref.name), force=options.force)
            for ref, here in chosen
        ]
        if options.dry_run:
            pruned = _gone(repo, remote, shown) if options.prune and remote else []
            going = {each.here for each in pruned}
            changes = [_unless_blocked(repo, change, going) for change in changes]
            return _result(transport, shown, changes + pruned, arrival)
        fresh = {oid.hex() for oid in wants}
        if any(change.status != "rejected" and change.new in fresh for change in changes):
            arrival.publish()
        # First, since what is gone there can be in the way of what has come: `topic` of `topic/one`.
        # What the branches showed stays remembered: to delete one and make it again is a way to take it back.
        pruned = _prune(repo, remote, shown) if options.prune and remote else []
        changes = [_unless_blocked(repo, change) for change in changes]
        if transport.is_peer:
            # Before the refs: what the person accepted must not look like a step back if this is cut short.
            _remember(repo, transport.url, changes)
        _move_refs(repo, changes, transport.url)
        fetched = _set_fetched(repo, shown, remote, options, changes)
        changes += pruned
        warnings = _warnings(repo, changes, arrival.checked)
    return _result(transport, shown, changes, arrival, warnings, fetched)


def _result(
    transport: Transport, shown: Advertisement, changes: Sequence[RefChange], arrival: Arrival,
    warnings: Sequence[str] = (), fetched: str = "",
) -> FetchResult:  # fmt: skip
    commits, cold = len(arrival.checked.commits), len(arrival.checked.cold)
    return FetchResult(transport.url, shown.head.removeprefix(HEADS), tuple(changes), arrival.objects,
                       arrival.received_bytes, commits, cold, tuple(warnings), fetched)  # fmt: skip


def require_prerequisites(shown: Advertisement, complete: Collection[bytes] | None) -> None:
    """Whether all that the other side leaves out is here.

    Args:
        shown: What it shows.
        complete: The commits that are here in full; None where nothing needs to come.

    Raises:
        RemoteError: when something is absent.
    """
    absent = set(shown.prerequisites).difference(complete) if complete is not None else set()
    if absent:
        raise RemoteError(f"the bundle needs commit {min(absent).hex()[:12]}, which is not here",
                          "fetch what comes before it first")  # fmt: skip


def _warnings(repo: Repository, changes: Sequence[RefChange], checked: Checked) -> list[str]:
    """What the person should know of what was accepted."""
    accepted = [change for change in changes if change.status not in ("rejected", "pruned")]
    tips = [checked.peeled[bytes.fromhex(change.new)] for change in accepted]
    new = [change.here for change in accepted if change.here and change.status == "new"]
    return arrival_warnings(repo, tips, checked.paths, new)


def choose_refs(shown: Advertisement, remote: str, options: FetchOptions) -> list[tuple[RemoteRef, str]]:
    """(ref there, full name here) of what is to be fetched.

    Raises:
        UsageError: when what was asked for is not there.
    """
    asked = [find_there(shown, name) for name in options.branches]
    chosen = []
    for ref in shown.refs:
        if ref.name.startswith(HEADS) and (not asked or ref.name in asked):
            chosen.append((ref, f"{REMOTES}{remote}/{short_name(ref.name)}" if remote else ""))
        elif ref.name.startswith(TAGS) and (options.tags or ref.name in asked):
            chosen.append((ref, ref.name if options.tags else ""))
    return chosen


def find_there(shown: Advertisement, name: str) -> str:
    """Full name on the other side of the branch, or else the tag, that a name means.

    Raises:
        UsageError: when there is none; the hint says what to type where the name is a refspec of git's.
    """
    for full in (HEADS + name, TAGS + name, name):
        if shown.find(full) is not None:
            return full
    there, colon, here = name.removeprefix("+").partition(":")
    if colon and there:
        typed = f", then: arbor branch {here.removeprefix(HEADS)} FETCH_HEAD" if here else ""
        raise UsageError(f"'{name}' names two refs, and a fetch takes names of the other side",
                         f"fetch {there}{typed}")  # fmt: skip
    if name != there:
        raise UsageError(f"'{name}' has a + in front, which only a push takes", "say --force")
    raise UsageError(f"there is no branch or tag '{name}' on the other side")


def _complete(repo: Repository, unknown: set[bytes]) -> set[bytes]:
    """The commits that are here in full; walked for only where a ref shows something new."""
    if not unknown or not any(repo.refs.iter_names()):
        return set()
    return complete_commits(repo)


def _is_here(repo: Repository, ref: RemoteRef, known: set[bytes], complete: set[bytes]) -> bool:
    if ref.oid in known:
        return True
    return ref.peeled in (complete | known) and repo.store.holds(ref.oid)


def _is_as_seen(transport: Transport, seen: Mapping[str, Seen], ref: RemoteRef) -> bool:
    """Whether a branch stands where its address showed it last, so that nothing has to be looked at."""
    if not transport.is_peer or not ref.name.startswith(HEADS):
        return True
    return ref.name in seen and seen[ref.name].commit == ref.peeled


def _remember(repo: Repository, url: str, changes: Sequence[RefChange]) -> None:
    accepted = [each for each in changes if each.there.startswith(HEADS) and each.status != "rejected"]
    remember(repo, url, {change.there: bytes.fromhex(change.new) for change in accepted})


def _judge(
    repo: Repository, checked: Checked, ref: RemoteRef, here: str, seen: Seen | None, *, force: bool
) -> RefChange:
    """What is to become of a ref here.

    Args:
        repo: Where.
        checked: What came.
        ref: As the other side shows it.
        here: Its name here; "" where none moves.
        seen: What the same address showed of it last.
        force: Whether the person accepts what goes back.
    """
    old = repo.refs.read(here) if here else None
    status, reason = _verdict(repo, checked, ref, old, seen)
    if force and reason in (ROLLED_BACK, TAG_MOVED):
        status, reason = "forced", ""
    return RefChange(ref.name, here, old.hex() if old else "", ref.oid.hex(), status, reason)


def _verdict(
    repo: Repository, checked: Checked, ref: RemoteRef, old: bytes | None, seen: Seen | None
) -> tuple[str, str]:
    """The status of a ref's change, and why it is rejected."""
    if checked.peeled[ref.oid] != ref.peeled:
        return "rejected", "the other side says another commit than its tag does"
    if seen is not None and not descends(repo, checked, ref.peeled, seen.commit):
        return "rejected", ROLLED_BACK
    if old is None:
        return "new", ""
    if old == ref.oid:
        return "same", ""
    if ref.name.startswith(TAGS):
        return "rejected", TAG_MOVED
    if descends(repo, checked, ref.oid, old):
        return "forward", ""
    return "rejected", ROLLED_BACK


def _unless_blocked(repo: Repository, change: RefChange, going: Collection[str] = ()) -> RefChange:
    """The change, rejected where its name here is a folder of another ref's, or the other way round; not of `going`."""
    if change.status != "new" or not change.here:
        return change
    others = [name for name in repo.refs.in_the_way(change.here) if name not in going]
    if not others:
        return change
    return replace(change, status="rejected", reason=f"'{short_name(others[0])}' {IN_THE_WAY}")


def _move_refs(repo: Repository, changes: Sequence[RefChange], url: str) -> None:
    for change in changes:
        if change.here and change.status in ("new", "forward", "forced"):
            old = bytes.fromhex(change.old) or None
            reason = f"fetch from {url}: {change.status}"
            repo.refs.move(change.here, old, bytes.fromhex(change.new), repo.who(), reason)


def _set_fetched(
    repo: Repository, shown: Advertisement, remote: str, options: FetchOptions, changes: Sequence[RefChange]
) -> str:
    """Let `FETCH_HEAD` stand for what was fetched for; its full name there, "" where it stays as it was.

    It is the first name that was asked for, else the one that the current branch follows, else the one that HEAD
    follows there, else the first branch or tag. What came from an address without a name has no other name here.
    Where the one that is meant was rejected no other takes its place, for it would be merged instead.
    """
    came = {each.there: bytes.fromhex(each.new) for each in changes if each.status != "rejected"}
    followed = followed_there(repo, remote) if remote else ""
    wanted = [find_there(shown, name) for name in options.branches] or [followed, shown.head, *came]
    name = next((name for name in wanted if shown.find(name) is not None), "")
    if name not in came:
        return ""
    repo.refs.set_fetched(came[name])
    return name


def prune(repo: Repository, transport: Transport, remote: str, *, dry_run: bool = False) -> list[RefChange]:
    """Forget the branches of a remote that are gone there, and bring nothing.

    Args:
        repo: Where.
        transport: The way there.
        remote: The name of the remote.
        dry_run: Only say which.

    Raises:
        RemoteError: when the other side fails.
    """
    shown = advertised(transport)
    if dry_run:
        return _gone(repo, remote, shown)
    with repo.lock():
        return _prune(repo, remote, shown)


def _prune(repo: Repository, remote: str, shown: Advertisement) -> list[RefChange]:
    gone = _gone(repo, remote, shown)
    for change in gone:
        repo.refs.move(change.here, bytes.fromhex(change.old), None, repo.who(), "fetch: pruned")
    return gone


def _gone(repo: Repository, remote: str, shown: Advertisement) -> list[RefChange]:
    """The remote-tracking refs of branches that are no longer there."""
    prefix = f"{REMOTES}{remote}/"
    there = {ref.name[len(HEADS) :] for ref in shown.refs if ref.name.startswith(HEADS)}
    gone = []
    for name in list(repo.refs.iter_names(prefix)):
        old = repo.refs.read(name)
        if name[len(prefix) :] not in there and old is not None:
            gone.append(RefChange(HEADS + name[len(prefix) :], name, old.hex(), "", "pruned"))
    return gone
