"""The desk for sharing one repository: its remotes, fetching, pulling, pushing, and bundles."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from arbor.arguments import StrPath, checked_desk
from arbor.errors import RemoteError, UsageError
from arbor.lazy import lazy_module
from arbor.records import dataclass
from arbor.remote import remotes
from arbor.remote.protocol.messages import COLD, FULL, RemoteRef, parse_filter
from arbor.remote.remotes import Remote
from arbor.remote.transports.connecting import ConnectOptions, connect, recorded_url
from arbor.repo.commits.history import count_apart, peel
from arbor.repo.commits.revisions import resolve
from arbor.repo.repository import Repository
from arbor.store.files import storing
from arbor.store.refs import HEADS, REMOTES, TAGS, short_name

if TYPE_CHECKING:
    from arbor.remote import cloning, fetching, on_demand, pushing, refspecs
    from arbor.remote.cloning import CloneOptions, CloneResult
    from arbor.remote.exchange import demanding, enumerating, transfer
    from arbor.remote.fetching import FetchOptions, FetchResult
    from arbor.remote.pushing import PushResult, PushSpec
    from arbor.remote.quarantine.receiving import TransferProgress
    from arbor.remote.refspecs import PushRequest
    from arbor.remote.transports import bundle, bundle_check
    from arbor.remote.transports.bundle import BundleInfo
    from arbor.remote.transports.bundle_check import BundleReport
    from arbor.repo.config import Settings
    from arbor.repo.forgetting import cold_needs
    from arbor.repo.forgetting.rehydrating import RehydrateReport
    from arbor.repo.merge.merging import MergeResult
else:
    bundle = lazy_module("arbor.remote.transports.bundle")
    bundle_check = lazy_module("arbor.remote.transports.bundle_check")
    cloning = lazy_module("arbor.remote.cloning")
    demanding = lazy_module("arbor.remote.exchange.demanding")
    enumerating = lazy_module("arbor.remote.exchange.enumerating")
    fetching = lazy_module("arbor.remote.fetching")
    on_demand = lazy_module("arbor.remote.on_demand")
    pushing = lazy_module("arbor.remote.pushing")
    refspecs = lazy_module("arbor.remote.refspecs")
    transfer = lazy_module("arbor.remote.exchange.transfer")
    cold_needs = lazy_module("arbor.repo.forgetting.cold_needs")

DEFAULT_CONNECT = ConnectOptions()


@dataclass(frozen=True, slots=True)
class Brought:
    """What a fetch brought for a merge: the commit as hexadecimal digits, and the message of a merge commit."""

    fetched: FetchResult
    commit: str
    message: str


@dataclass(frozen=True, slots=True)
class PullResult:
    """What a pull did: the fetch, and the merge of what it brought."""

    fetched: FetchResult
    merged: MergeResult


@checked_desk
class ShareDesk:
    """Sharing. Methods mirror the commands."""

    def __init__(self, repo: Repository, merge: Callable[..., MergeResult]) -> None:
        """Open the desk.

        Args:
            repo: The repository.
            merge: Merges a revision into the current branch and commits a clean merge.
        """
        self._repo = repo
        self._merge = merge

    # --- remotes

    def remotes(self) -> list[Remote]:
        """The named remotes that can be used; `remote` says of another one what is wrong with its settings."""
        return remotes.list_remotes(self._repo)

    def remote(self, name: str) -> Remote:
        """The remote of a name; raises UsageError when there is none."""
        return remotes.get_remote(self._repo, name)

    def add_remote(self, name: str, url: str, *, cwd: StrPath | None = None) -> None:
        """Record a remote; raises UsageError when the name is taken or the address is none."""
        remotes.add_remote(self._repo, name, recorded_url(url, None if cwd is None else Path(cwd)))

    def remove_remote(self, name: str) -> None:
        """Forget a remote and its tracking refs; raises UsageError when there is none."""
        remotes.remove_remote(self._repo, name)

    def rename_remote(self, old: str, new: str) -> None:
        """Give a remote another name; raises UsageError when that cannot be."""
        remotes.rename_remote(self._repo, old, new)

    def set_remote_url(self, name: str, url: str, *, cwd: StrPath | None = None) -> None:
        """Give a remote another URL; raises UsageError when there is no such remote."""
        remotes.set_remote_url(self._repo, name, recorded_url(url, None if cwd is None else Path(cwd)))

    def prune_remote(
        self, name: str, *, dry_run: bool = False, connecting: ConnectOptions = DEFAULT_CONNECT
    ) -> list[fetching.RefChange]:
        """Forget the branches of a remote that are gone there; the tracking refs that went, or would go.

        Raises:
            UsageError: when there is no such remote.
            RemoteError: when the other side fails.
        """
        remote = self.remote(name)
        with closing(connect(remote.url, connecting)) as transport:
            return fetching.prune(self._repo, transport, remote.name, dry_run=dry_run)

    # --- from there to here

    def fetch(
        self, remote: str | None = None, options: FetchOptions | None = None, *,
        connecting: ConnectOptions = DEFAULT_CONNECT, progress: TransferProgress | None = None,
        require_signed: bool | None = None,
    ) -> FetchResult:  # fmt: skip
        """Bring what a remote (by name or address) has; work tree and branches stay as they are.

        Args:
            remote: Its name or address; None for the one that the branch follows.
            options: What to fetch.
            connecting: How to reach it.
            progress: Told of objects and bytes.
            require_signed: Refuse commits without a good signature; None leaves it to `pull.require_signed`.

        Raises:
            IntegrityError: when what comes is damaged, malformed, incomplete, or unsigned where that is demanded.
            RemoteError: when the other side fails.
        """
        known, url = self._place(remote)
        demand = demanding.signed_demand(self._repo.settings, require_signed)
        accept = demand and demanding.of_arrivals(demand)
        how = transfer.TransferOptions(known.filter if known else FULL, progress=progress, accept=accept)
        chosen = options or fetching.FetchOptions()
        with closing(connect(url, connecting)) as transport:
            return fetching.fetch(self._repo, transport, known.name if known else "", chosen, how)

    def pull(
        self, remote: str | None = None, branch: str | None = None, *, only_fast_forward: bool = False,
        fast_forward: bool = True, unrelated: bool = False, options: FetchOptions | None = None,
        connecting: ConnectOptions = DEFAULT_CONNECT, progress: TransferProgress | None = None,
        require_signed: bool | None = None,
    ) -> PullResult:  # fmt: skip
        """Fetch, then merge the branch that the current one follows (or `branch`).

        Raises:
            UsageError: when there is nothing to merge.
            IntegrityError: when the branch would gain a commit that is not signed, and that is demanded.
            ConflictError: when local changes are in the way, or a demanded fast-forward is impossible.
            RemoteError: when the other side fails, or has rolled the branch back.
        """
        brought = self.bring(remote, branch, options=options, connecting=connecting, progress=progress,
                             require_signed=require_signed)  # fmt: skip
        needs = cold_needs.needs_of_merge(self._repo, brought.commit)
        if needs:
            self.bring_back([(need.path, need.document) for need in needs], connecting=connecting)
        merged = self._merge(brought.commit, fast_forward=fast_forward, only_fast_forward=only_fast_forward,
                             unrelated=unrelated, message=brought.message)  # fmt: skip
        return PullResult(brought.fetched, merged)

    def bring(
        self, remote: str | None = None, branch: str | None = None, *, options: FetchOptions | None = None,
        connecting: ConnectOptions = DEFAULT_CONNECT, progress: TransferProgress | None = None,
        require_signed: bool | None = None,
    ) -> Brought:  # fmt: skip
        """The first half of a pull: fetch, and find the commit that is to be merged.

        Raises:
            IntegrityError: when the branch would gain a commit that is not signed, and that is demanded.
            UsageError: when there is nothing to merge.
            RemoteError: when the other side fails, or has rolled the branch back.
        """
        mine = self._repo.refs.current_branch()
        if remote is None:
            chosen = remotes.upstream_of(self._repo, mine)
            followed = chosen[1] if chosen is not None else ""
        else:
            followed = remotes.followed_there(self._repo, remote).removeprefix(HEADS)
        fetched = self.fetch(remote, options, connecting=connecting, progress=progress,
                             require_signed=require_signed)  # fmt: skip
        wanted = (followed if branch is None else branch) or mine or fetched.head
        changes = {each.there: each for each in fetched.changes}
        change = changes.get(HEADS + wanted)
        if change is None and branch is not None:
            change = changes.get(TAGS + branch) or changes.get(branch)
        if change is None or change.status == "pruned":
            raise UsageError(
                f"there is no branch '{wanted}' on the other side", "name one: arbor pull REMOTE BRANCH"
            )
        called = f"{'branch' if change.there.startswith(HEADS) else 'tag'} '{short_name(change.there)}'"
        if change.status == "rejected":
            raise RemoteError(f"{called}: {change.reason}", change.hint)
        commit = peel(self._repo, bytes.fromhex(change.new))
        demand = demanding.signed_demand(self._repo.settings, require_signed)
        if demand is not None:
            # Whatever was stored before counts too: it is this branch that gains it now.
            demand(demanding.gained_commits(self._repo, commit))
        return Brought(fetched, commit.hex(), f"Merge {called} of {fetched.url}")

    def bring_back(
        self, documents: Sequence[tuple[str, bytes]], *, connecting: ConnectOptions = DEFAULT_CONNECT,
        warn: Callable[[str], None] = lambda text: None,
    ) -> RehydrateReport:  # fmt: skip
        """Fetch the passages of cold documents of any version, (path, oid) as `ColdDocument.documents` gives them.

        Args:
            documents: Which; those that are not cold are passed over.
            connecting: How to reach the remotes.
            warn: Told in a sentence of each remote that cannot be asked.

        Raises:
            Locked: when another writer holds the lock.
        """
        return on_demand.bring_documents(self._repo, documents, connecting, warn)

    # --- from here to there

    def push(
        self, remote: str | None = None, request: PushRequest | None = None, *, set_upstream: bool = False,
        dry_run: bool = False, connecting: ConnectOptions = DEFAULT_CONNECT, progress: TransferProgress | None = None,
    ) -> PushResult:  # fmt: skip
        """Send branches and tags to a remote (by name or address); see `PushRequest`.

        Raises:
            UsageError: when a name means nothing here.
            RemoteError: when the other side fails or refuses.
        """
        known, url = self._place(remote)
        name = known.name if known else ""
        specs = refspecs.plan_push(self._repo, name, request or refspecs.PushRequest())
        with closing(connect(url, connecting)) as transport:
            result = pushing.push(self._repo, transport, name, specs, dry_run=dry_run, progress=progress)
        if set_upstream and name and not dry_run:
            self._follow(name, result, specs)
        return result

    def _follow(self, remote: str, result: PushResult, specs: Sequence[PushSpec]) -> None:
        """The branches that were pushed, whatever they are called there and whichever is current, follow."""
        here = {spec.there: spec.here for spec in specs}
        for ref in result.refs:
            branch = here.get(ref.there, "")
            moved = ref.status not in ("rejected", "removed") and ref.there.startswith(HEADS)
            if moved and branch.startswith(HEADS):
                remotes.set_upstream(self._repo, branch[len(HEADS) :], remote, ref.there[len(HEADS) :])

    def follow(self, branch: str, upstream: str) -> None:
        """Let a branch follow a remote's, such as `origin/main`, or with "" nothing.

        Raises:
            UsageError: when there is no such branch here, or nothing is known of it there.
        """
        remotes.follow(self._repo, branch, upstream)

    # --- bundles

    def create_bundle(
        self, fs_path: StrPath, names: Sequence[str] = (), *, exclude: Sequence[str] = (), cold: bool = False
    ) -> BundleInfo:
        """Write branches and tags (all without `names`) to a file.

        Raises:
            UsageError: when that would be nothing.
            StorageError: when the system refuses to write there.
        """
        rows, left_out = self._bundled(names, exclude)
        with storing(Path(fs_path)):
            return bundle.create_bundle(
                self._repo, Path(fs_path), rows, exclude=left_out, filter_text=COLD if cold else FULL
            )

    def stream_bundle(
        self, file: BinaryIO, names: Sequence[str] = (), *, exclude: Sequence[str] = (), cold: bool = False
    ) -> BundleInfo:
        """The same to an open stream, which may be a pipe."""
        rows, left_out = self._bundled(names, exclude)
        return bundle.stream_bundle(
            self._repo, file, rows, exclude=left_out, filter_text=COLD if cold else FULL
        )

    def _bundled(self, names: Sequence[str], exclude: Sequence[str]) -> tuple[list[RemoteRef], list[bytes]]:
        """(refs to be in a bundle, commits that its receiver has)."""
        refs = [self._full_name(name) for name in names] or [
            name for prefix in (HEADS, TAGS) for name in self._repo.refs.iter_names(prefix)
        ]
        return enumerating.shown_refs(self._repo, refs), [resolve(self._repo, text) for text in exclude]

    def verify_bundle(self, fs_path: StrPath) -> BundleReport:
        """Check a bundle in full, against what is here.

        Raises:
            IntegrityError, RemoteError: when it does not hold.
            StorageError: when the file cannot be read.
        """
        with storing(Path(fs_path)):
            return bundle_check.verify_bundle(Path(fs_path), self._repo)

    def tracking(self, branch: str) -> tuple[int, int] | None:
        """(commits ahead, commits behind) of a branch against what it follows; None where it follows nothing."""
        followed = remotes.upstream_of(self._repo, branch)
        here = self._repo.refs.read(HEADS + branch)
        there = self._repo.refs.read(f"{REMOTES}{followed[0].name}/{followed[1]}") if followed else None
        return None if here is None or there is None else count_apart(self._repo, here, there)

    # --- what the others share

    def _full_name(self, name: str) -> str:
        if name in ("HEAD", "@"):
            branch = self._repo.refs.current_branch()
            if not branch:
                raise UsageError(
                    "HEAD is detached: a bundle holds branches and tags", "make a branch there first"
                )
            name = HEADS + branch
        for prefix in ("", HEADS, TAGS):
            full = prefix + name
            with contextlib.suppress(UsageError):  # no name of a ref, but an oid, or a range that is none
                if full.startswith((HEADS, TAGS)) and self._repo.refs.read(full) is not None:
                    return full
        raise UsageError(f"there is no branch or tag '{name}'", "run: arbor branch, or arbor tag")

    def _place(self, remote: str | None) -> tuple[Remote | None, str]:
        """(the named remote, where it is), or (None, the address)."""
        found = remotes.find_remote(self._repo, remote) if remote is not None else None
        if remote is not None and found is None:
            if any(char in remote for char in "/:.\\"):
                return None, remote
            return remotes.get_remote(self._repo, remote), ""
        chosen = found or remotes.choose_remote(self._repo, self._repo.refs.current_branch())
        return chosen, chosen.url


def clone_kb(
    url: str, target: Path, options: CloneOptions, *, filter_text: str = FULL,
    connecting: ConnectOptions = DEFAULT_CONNECT, progress: TransferProgress | None = None,
    settings: Settings | None = None, require_signed: bool | None = None,
) -> CloneResult:  # fmt: skip
    """Make a KB from another one; see `arbor.remote.cloning.clone`.

    Args:
        url: Where from.
        target: The new folder.
        options: How.
        filter_text: Which passages.
        connecting: How to reach the other side.
        progress: Told of objects and bytes.
        settings: The user's own, since the new KB has none yet: `pull.require_signed` and the allowed signers.
        require_signed: Refuse a history with a commit that is not signed, now and in later fetches; None leaves it to
            the settings.
    """
    demand = demanding.signed_demand(settings, require_signed)
    chosen = parse_filter(filter_text)
    # The clone is elsewhere, and later fetches may start anywhere: a relative address would be another one there.
    options = replace(options, url=options.url or recorded_url(url, connecting.cwd),
                      require_signed=options.require_signed or bool(require_signed))  # fmt: skip
    with closing(connect(url, connecting)) as transport:
        accept = demand and demanding.of_arrivals(demand)
        how = transfer.TransferOptions(chosen, progress=progress, accept=accept)
        return cloning.clone(transport, target, options, how)
