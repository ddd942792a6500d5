"""clone: a new KB from another one. `format` comes last, so a clone that was cut short does not look like one."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from arbor.errors import RemoteError, UsageError
from arbor.objects.paths import PRIVATE_FOLDER
from arbor.records import dataclass
from arbor.remote.exchange.negotiating import advertised
from arbor.remote.exchange.transfer import Arrival, TransferOptions, download
from arbor.remote.fetching import FetchOptions, choose_refs, require_prerequisites
from arbor.remote.first_checkout import check_out_all
from arbor.remote.protocol.messages import AT, FULL, Advertisement, RemoteRef
from arbor.remote.protocol.wire import Interrupted, Transport
from arbor.remote.quarantine.receiving import INCOMING_PREFIX
from arbor.remote.remotes import DEFAULT_REMOTE, check_remote_name
from arbor.repo.places import FORMAT_FILE
from arbor.repo.repository import DEFAULT_BRANCH, FORMAT, Repository, lay_out
from arbor.repo.trust.witness import remember
from arbor.repo.work_tree.twins import arrival_warnings
from arbor.search.policy_check import policy_faults
from arbor.store.files import TEMPORARY_PREFIX, make_folders, storing, write_atomically
from arbor.store.refs import HEADS, TAGS, Refs

_MARKER = "cloning"


@dataclass(frozen=True, slots=True)
class CloneOptions:
    """How to clone.

    Attributes:
        bare: Without a work tree.
        branch: Short name of the branch, or of the tag, to stand at; "" for the one that HEAD follows there.
        remote: What the other KB is called here.
        url: Where later fetches go; "" for where it comes from.
        checkout: Whether files are written.
        tags: Whether tags come too.
        require_signed: Whether the new KB demands signatures of what it fetches later, too.
        identity: Name and e-mail address of who clones, for the reflog; None where nobody says.
    """

    bare: bool = False
    branch: str = ""
    remote: str = DEFAULT_REMOTE
    url: str = ""
    checkout: bool = True
    tags: bool = True
    require_signed: bool = False
    identity: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class CloneResult:
    """What a clone brought.

    Attributes:
        folder: The new KB: its work tree, or itself where it is bare.
        url: Where from.
        branch: Short name of the branch that HEAD follows; "" where it stands at a tag.
        commit: Where it stands, hexadecimal; "" for an empty KB.
        branches, tags: How many there are.
        documents: Files written.
        objects, received_bytes: What was received.
        cold: Documents that came without their passages.
        warnings: What the person should know.
    """

    folder: Path
    url: str
    branch: str
    commit: str
    branches: int
    tags: int
    documents: int
    objects: int
    received_bytes: int
    cold: int
    warnings: tuple[str, ...] = ()


def clone(
    transport: Transport, target: Path, options: CloneOptions, transfer: TransferOptions
) -> CloneResult:
    """Make a KB from what another one has.

    Args:
        transport: Where from.
        target: A folder that does not exist, is empty, or holds what an interrupted clone of the same left.
        options: How.
        transfer: How to receive.

    Raises:
        UsageError: when the folder is not empty, or the branch is not there.
        IntegrityError: when what comes is damaged, malformed or incomplete; the folder is as before then.
        RemoteError: when the other side fails.
        StorageError: when the system refuses to write.
    """
    check_remote_name(options.remote)
    with storing(target), _new_folder(target, transport, options, transfer.filter) as folder:
        repo = Repository(folder, None if options.bare else target)
        repo.identity = options.identity
        with contextlib.closing(repo):
            shown = advertised(transport)
            require_prerequisites(shown, ())
            head, tip = _choose_head(shown, options)
            chosen = choose_refs(shown, options.remote, FetchOptions(tags=options.tags))
            targets, tips = sorted({ref.oid for ref, _ in chosen}), [ref.peeled for ref, _ in chosen]
            with download(repo, transport, targets, (), targets, transfer) as arrival:
                _check_tags(arrival, [ref for ref, _ in chosen])
                arrival.publish()
                _require_folder(repo, transfer.filter, tips)
                written = check_out_all(repo, tip) if tip and options.checkout and not options.bare else 0
                _record(repo, transport, options, transfer.filter, chosen, head, tip)
                if transport.is_peer:
                    heads = {ref.name: ref.oid for ref, _ in chosen if ref.name.startswith(HEADS)}
                    remember(repo, transport.url, heads)
                warnings = arrival_warnings(repo, tips, arrival.checked.paths, repo.refs.iter_names())
                if tip is None:
                    warnings.append("the other side has no commit yet")
                else:
                    warnings += policy_faults(repo.committed_policy_file(repo.snapshot(tip)))
    branches = sum(1 for ref in shown.refs if ref.name.startswith(HEADS))
    return CloneResult(target, transport.url, head, tip.hex() if tip else "", branches, len(shown.refs) - branches,
                       written, arrival.objects, arrival.received_bytes, len(arrival.checked.cold),
                       tuple(warnings))  # fmt: skip


@contextlib.contextmanager
def _new_folder(
    target: Path, transport: Transport, options: CloneOptions, filter_text: str
) -> Iterator[Path]:
    """The `.arbor` folder of the new KB, complete when the block ends; gone when the block fails.

    When the transfer is interrupted, it stays without its `format`, for the same clone to go on with, also after tries
    that were refused before anything came.
    """
    folder = target if options.bare else target / PRIVATE_FOLDER
    marker = f"{transport.url}\n{filter_text}\n"
    existed = target.exists()
    if existed and (not target.is_dir() or any(target.iterdir())) and not _may_go_on(target, folder, marker):
        raise UsageError(f"{target} exists already and is not empty", "clone into a new folder")
    make_folders(folder)
    write_atomically(folder / _MARKER, marker.encode())
    try:
        lay_out(folder, bare=options.bare)
        Refs(folder).set_head(HEADS + DEFAULT_BRANCH)
        yield folder
        write_atomically(folder / FORMAT_FILE, FORMAT.encode())
        (folder / _MARKER).unlink()
    except BaseException as stop:
        # What an earlier try brought stays as well where this one came to nothing: whoever finds fault with it has
        # removed it already.
        is_cut = isinstance(stop, (Interrupted, KeyboardInterrupt))
        if not any(
            chain(folder.glob(f"{INCOMING_PREFIX}*/frames"), folder.glob("packs/*.pack") if is_cut else ())
        ):
            _clear(target, existed=existed)
        else:
            kept = f"what has come so far is in '{target}': the same command goes on from there"
            if isinstance(stop, KeyboardInterrupt):
                stop.add_note(kept)
            elif isinstance(stop, Interrupted):
                stop.hint = stop.hint or kept
        raise


def _may_go_on(target: Path, folder: Path, marker: str) -> bool:
    """Whether a folder holds only what a clone of the same left, even one killed before all of its marker was there."""
    try:
        if (folder / FORMAT_FILE).exists():
            return False
        if not (folder / _MARKER).exists():
            begun = [path.name for path in folder.iterdir() if not path.name.startswith(TEMPORARY_PREFIX)]
            return not begun and (target == folder or [*target.iterdir()] == [folder])
        return marker.startswith((folder / _MARKER).read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def _clear(target: Path, *, existed: bool) -> None:
    if not existed:
        shutil.rmtree(target, ignore_errors=True)
        return
    for path in target.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _choose_head(shown: Advertisement, options: CloneOptions) -> tuple[str, bytes | None]:
    """(short name of the branch to stand at, its commit); "" and the commit of a tag, which no branch follows."""
    if not options.branch:
        head = _default_head(shown)
        tip = shown.find(HEADS + head)
        return head, tip.oid if tip else None
    branch = shown.find(HEADS + options.branch)
    tag = shown.find(TAGS + options.branch) if options.tags else None
    if branch is None and tag is None:
        raise UsageError(f"there is no branch or tag '{options.branch}' on the other side")
    return (options.branch, branch.oid) if branch else ("", tag.peeled if tag else None)


def _default_head(shown: Advertisement) -> str:
    if shown.head and (shown.find(shown.head) or not shown.refs):
        return shown.head.removeprefix(HEADS)
    first = next((ref.name for ref in shown.refs if ref.name.startswith(HEADS)), HEADS + DEFAULT_BRANCH)
    return first.removeprefix(HEADS)


def _check_tags(arrival: Arrival, refs: list[RemoteRef]) -> None:
    for ref in refs:
        if arrival.checked.peeled[ref.oid] != ref.peeled:
            raise RemoteError(f"the other side says another commit of '{ref.name}' than its tag does")


def _require_folder(repo: Repository, filter_text: str, commits: Sequence[bytes]) -> None:
    """Raises UsageError when the folder whose passages were asked for is in none of the versions that came."""
    folder = filter_text.removeprefix(AT)
    if not filter_text.startswith(AT) or not commits:
        return
    for commit in dict.fromkeys(commits):
        paths = (path for path, _ in repo.snapshot(commit).paths(folder))
        if any(path == folder or path.startswith(f"{folder}/") for path in paths):
            return
    raise UsageError(
        f"there is nothing at '{folder}' on the other side", "all without passages: arbor clone --cold"
    )


def _record(
    repo: Repository, transport: Transport, options: CloneOptions, filter_text: str,
    chosen: list[tuple[RemoteRef, str]], head: str, tip: bytes | None,
) -> None:  # fmt: skip
    """Refs, HEAD and settings. Nothing that the other side said becomes a setting but its branch's name."""
    who, reason = repo.who(), f"clone: from {transport.url}"
    for ref, here in chosen:
        name = ref.name if options.bare else here
        repo.refs.move(name, repo.refs.read(name), ref.oid, who, reason)
    if tip is not None and head and not options.bare:
        repo.refs.move(HEADS + head, repo.refs.read(HEADS + head), tip, who, reason)
    repo.refs.set_head(HEADS + head if head or tip is None else tip)
    settings: dict[str, str | bool] = {"pull.require_signed": True} if options.require_signed else {}
    settings[f"remote.{options.remote}.url"] = options.url or transport.url
    if filter_text != FULL:
        settings[f"remote.{options.remote}.filter"] = filter_text
    if head and not options.bare:
        settings[f"branch.{head}.upstream"] = f"{options.remote}/{head}"
    repo.settings.set_all(settings)
