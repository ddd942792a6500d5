"""A knowledge base inside a git repository: what git has staged, and following git's commits."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgpack

from arbor.errors import IntegrityError, RemoteError, UsageError
from arbor.objects.paths import path_fault
from arbor.records import dataclass
from arbor.repo.commits.committing import NewCommit, commit
from arbor.repo.importing.git_sources import iter_blobs
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS
from arbor.repo.stage import Stage
from arbor.repo.staging.ingest import store_extraction
from arbor.repo.work_tree.worktree import scan
from arbor.store.files import MAX_STATE_BYTES, read_bounded, seal, unpack_sealed, write_atomically
from arbor.text.reading import extract

_CACHE_VERSION = 1
_SYMLINK = "120000"
_SUBMODULE = "160000"


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One file that git's next commit changes: its KB path and new bytes (None: removed)."""

    path: str
    data: bytes | None


def git_top(fs_root: Path) -> Path:
    """The top of git's work tree: the nearest folder with a `.git`; the work tree itself where there is none.

    Git is run there because in a hook it hands down paths that are relative to it.
    """
    return next((folder for folder in (fs_root, *fs_root.parents) if (folder / ".git").exists()), fs_root)


def main_work_tree(fs_path: Path) -> Path | None:
    """The main work tree of the repository, where a folder is in a linked one (`git worktree add`); None elsewhere."""
    try:
        said = (git_top(fs_path) / ".git").read_text("utf-8", errors="surrogateescape")
    except OSError:  # a folder, as in a main work tree, or nothing
        return None
    private = Path(said.removeprefix("gitdir:").strip())
    return private.parents[2] if private.parent.name == "worktrees" else None


def git(fs_root: Path, *arguments: str) -> bytes:
    """Run git at the top of its work tree; its standard output.

    Raises:
        UsageError: when git is not there, or this is no git repository.
        RemoteError: when git fails for another reason.
    """
    try:
        done = subprocess.run(["git", *arguments], cwd=git_top(fs_root), capture_output=True, check=False)
    except FileNotFoundError as error:
        raise UsageError("git is not on the PATH") from error
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        if "not a git repository" in message:
            raise UsageError(f"{fs_root} is not inside a git repository", "run: git init")
        raise RemoteError(f"git {arguments[0]} failed: {message}")
    return done.stdout


def hooks_folder(fs_root: Path) -> Path:
    """Where git looks for hooks here: `core.hooksPath` and worktrees respected."""
    text = git(fs_root, "rev-parse", "--git-path", "hooks").decode().strip()
    return (git_top(fs_root) / text).resolve()


def exclude_file(fs_root: Path) -> Path:
    """The local ignore file of git."""
    return (
        git_top(fs_root) / git(fs_root, "rev-parse", "--git-path", "info/exclude").decode().strip()
    ).resolve()


def staged_files(repo: Repository) -> list[StagedFile]:
    """What git's next commit changes below the work tree, with the staged bytes."""
    fs_root = repo.work_tree()
    listing = git(fs_root, "diff", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev",
                  f"--relative={_prefix(fs_root)}")  # fmt: skip
    fields = listing.decode("utf-8", "surrogateescape").split("\0")
    gone, changed = [], []
    for head, path in zip(fields[0::2], fields[1::2], strict=False):
        _, mode, _, blob, status = head.removeprefix(":").split(" ")
        if path_fault(path) or mode in (_SYMLINK, _SUBMODULE):
            continue
        if status.startswith("D"):
            gone.append(StagedFile(path, None))
        else:
            changed.append((path, blob))
    blobs = _iter_blobs(fs_root, [blob for _, blob in changed])
    return gone + [StagedFile(path, data) for (path, _), data in zip(changed, blobs, strict=True)]


def _prefix(fs_root: Path) -> str:
    """The work tree's path below git's top, with a trailing slash; "" at the top."""
    inside = fs_root.relative_to(git_top(fs_root)).as_posix()
    return "" if inside == "." else f"{inside}/"


def _iter_blobs(fs_root: Path, blobs: Sequence[str]) -> Iterator[bytes]:
    return iter_blobs(["git", "-C", str(git_top(fs_root))], blobs) if blobs else iter(())


def follow_git(repo: Repository) -> NewCommit | None:
    """Bring the KB to what git's HEAD holds below the work tree; None where it holds that already.

    What is staged in arbor stays staged, but for the paths that git's commit changes.

    Raises:
        UsageError: when this is no git repository or git has no commit.
        ConflictError: when a move of the work tree was interrupted, or somebody commits at the same moment.
    """
    fs_root = repo.work_tree()
    files = _head_files(fs_root)
    known = _read_cache(repo.folder)
    stage = repo.stage()
    if stage.merge_parents:
        return None
    fresh = [(path, blob) for path, blob in files.items() if known.get(path, ("", b""))[0] != blob]
    documents = {
        path: known[path][1] for path, blob in files.items() if known.get(path, ("", b""))[0] == blob
    }
    policy = repo.policy()
    with repo.changing_stage():
        head_root = repo.head_root()
        with repo.store.writer() as writer:
            for (path, _), data in zip(fresh, _iter_blobs(fs_root, [blob for _, blob in fresh]), strict=True):
                documents[path] = store_extraction(writer, extract(data, path, policy.chunking), data)
        current = dict(repo.head_snapshot().paths())
        changes: dict[str, bytes | None] = {DOCUMENTS + path: oid for path, oid in documents.items()
                                            if current.get(path) != oid}  # fmt: skip
        changes.update((DOCUMENTS + path, None) for path in current if path not in documents)
        if not changes:
            _write_cache(repo.folder, files, documents)
            return None
    subject = git(fs_root, "log", "-1", "--format=%h %s").decode("utf-8", "replace").strip()
    made = commit(repo, f"git {subject}", instead=Stage(head_root, changes))
    _write_cache(repo.folder, files, documents)
    return made


def _head_files(fs_root: Path) -> dict[str, str]:
    """KB path to git blob of every document in git's HEAD below the work tree."""
    try:
        prefix = _prefix(fs_root)
        listing = git(fs_root, "ls-tree", "-r", "-z", "--full-tree", "HEAD", *([prefix] if prefix else []))
    except RemoteError as error:
        raise UsageError("git has no commit yet") from error
    on_disk = scan(fs_root).files
    files = {}
    for entry in listing.decode("utf-8", "surrogateescape").split("\0"):
        head, _, full_path = entry.partition("\t")
        path = full_path.removeprefix(prefix)
        if not path or path_fault(path) or head.split(" ")[0] in (_SYMLINK, _SUBMODULE):
            continue
        if path in on_disk or not (fs_root / path).exists():
            files[path] = head.split(" ")[2]
    return files


def _read_cache(folder: Path) -> dict[str, tuple[str, bytes]]:
    try:
        version, rows = unpack_sealed(
            read_bounded(folder / "cache" / "git", MAX_STATE_BYTES), "the git cache"
        )
        return {path: (blob, oid) for path, blob, oid in rows} if version == _CACHE_VERSION else {}
    except (OSError, IntegrityError, ValueError, TypeError):
        return {}


def _write_cache(folder: Path, files: dict[str, str], documents: dict[str, bytes]) -> None:
    rows = [(path, blob, documents[path]) for path, blob in files.items() if path in documents]
    (folder / "cache").mkdir(exist_ok=True)
    write_atomically(folder / "cache" / "git", seal(msgpack.packb([_CACHE_VERSION, rows])), durable=False)
