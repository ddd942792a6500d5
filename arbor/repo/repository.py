"""The repository: one `.arbor` folder with its store, refs, lock and settings, and the work tree beside it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import ArborError, ColdDocument, IntegrityError, NoKnowledgeBase, StorageError, UsageError
from arbor.lazy import lazy_module
from arbor.objects import ledger
from arbor.objects.ids import Kind
from arbor.objects.model import Commit, Signature, decode_commit
from arbor.objects.paths import PRIVATE_FOLDER
from arbor.repo.config import LOCAL_FILE, POLICY_FILE, Policy, Settings, parse_policy, read_policy
from arbor.repo.places import FORMAT_FILE, has_own_kb, is_kb_folder
from arbor.repo.snapshot import Snapshot
from arbor.repo.stage import Stage, read_stage
from arbor.repo.work_tree.move_record import MOVE_FILE, MoveRecord, clear_move, read_move
from arbor.store.files import (
    check_is_there,
    make_folders,
    read_bounded,
    remove_temporaries,
    storing,
    write_atomically,
)
from arbor.store.linked_cache import refuse_foreign_cache
from arbor.store.lock import WAIT_S, writer_lock
from arbor.store.odb import MERGE_ABOVE, ObjectStore
from arbor.store.refs import HEADS, Refs, check_ref_name

if TYPE_CHECKING:
    from arbor.repo import whole_packs
    from arbor.store import repacking
else:
    repacking = lazy_module("arbor.store.repacking")
    whole_packs = lazy_module("arbor.repo.whole_packs")

FORMAT = "arbor 1\n"
DEFAULT_BRANCH = "main"
ADDED_FILE = "added-packs"
"""In the cache: what adds stored since the last commit, see `arbor.repo.whole_packs`."""
_GIT_IGNORE_FILE = ".gitignore"
_STALE_S = 3600.0
_MAX_FORMAT_BYTES = 1024

TiersFollower = Callable[["Repository", Collection[bytes]], contextlib.AbstractContextManager[None]]
"""What is entered before the tier of some documents changes and left after it: how the search index follows, say."""


class Repository:
    """An open repository. Reading is safe from several threads; writers take `lock()`."""

    def __init__(self, folder: Path, fs_root: Path | None, user_config: Path | None = None) -> None:
        self.folder = folder
        self.fs_root = fs_root
        self.store = ObjectStore(folder / "packs")
        self.refs = Refs(folder)
        self.settings = Settings(folder / LOCAL_FILE, user_config, in_kb=True)
        self.identity: tuple[str, str] | None = None
        self.tiers_follower: TiersFollower | None = None

    @contextlib.contextmanager
    def lock(self, wait_s: float = WAIT_S) -> Iterator[None]:
        """Hold the writer lock for the block; packs are merged after it where they have become many.

        Raises:
            Locked: when another writer keeps it longer than `wait_s` seconds.
            StorageError: when the system refuses something in the block: a full disk, no permission.
            NoKnowledgeBase: when the folder has gone since it was opened.
        """
        check_is_there(self.folder)
        with storing(self.folder), writer_lock(self.folder / "lock", wait_s):
            remove_temporaries(self.store.folder)
            remove_temporaries(self.folder, _STALE_S)
            remove_temporaries(self.folder / "cache", _STALE_S)
            self.store.refresh()
            # Of a move that is done; what follows changes the state by which that is known.
            with contextlib.suppress(IntegrityError):
                if (self.folder / MOVE_FILE).exists() and self.interrupted() is None:
                    clear_move(self.folder)
            yield
            # What an add stored is told from the rest until the commit, while packs are not too many.
            waits = (self.folder / "cache" / ADDED_FILE).exists()
            if len(self.store.packs()) > (2 * MERGE_ABOVE if waits else MERGE_ABOVE):
                # The work is done and durable; that packs stay many is no reason to call it failed.
                with contextlib.suppress(ArborError, OSError):
                    before = [pack.name for pack in self.store.packs()]
                    repacking.merge_packs(self.store)
                    whole_packs.follow_merge(self, before)

    def following_tiers(self, documents: Collection[bytes]) -> contextlib.AbstractContextManager[None]:
        """What derived state does around a block that lets these documents change their tier."""
        return self.tiers_follower(self, documents) if self.tiers_follower else contextlib.nullcontext()

    @contextlib.contextmanager
    def changing_stage(self) -> Iterator[Stage]:
        """Hold the writer lock for the block, which changes what is staged; the stage.

        Raises:
            ConflictError: when a move of the work tree was interrupted: the files are not those of the stage.
            Locked, StorageError: as `lock`.
        """
        with self.lock():
            record = self.interrupted()
            if record is not None:
                record.refuse()
            yield self.stage()

    def interrupted(self) -> MoveRecord | None:
        """What was moving the work tree when it was interrupted; None for nothing."""
        record, is_done = read_move(self.folder, self.refs)
        return None if is_done else record

    def who(self, now: float | None = None) -> Signature:
        """The signature of the person at work: explicit identity, then settings, then a neutral one."""
        seconds = int(time.time() if now is None else now)
        name, email = self.identity or (None, None)
        name = name or self.settings.get("user.name") or "unknown"
        email = email or self.settings.get("user.email") or "unknown@localhost"
        local = time.localtime(seconds)
        return Signature(str(name), str(email), seconds, (local.tm_gmtoff or 0) // 60)

    def commit(self, oid: bytes) -> Commit:
        """The commit of an oid; raises IntegrityError when it is absent or damaged."""
        return decode_commit(self.store.get_kind(oid, Kind.COMMIT), trusted=True)

    def ledger_root(self, commit_oid: bytes | None) -> bytes:
        """The ledger root of a commit; the empty ledger for None."""
        return ledger.EMPTY_LEDGER if commit_oid is None else self.commit(commit_oid).ledger_root

    def root_before(self, commit: Commit) -> bytes:
        """The ledger root of a commit's first parent; the empty ledger for a first commit."""
        return self.ledger_root(commit.parents[0] if commit.parents else None)

    def head_root(self) -> bytes:
        """The ledger root of HEAD."""
        return self.ledger_root(self.refs.head_oid())

    def snapshot(self, commit_oid: bytes | None) -> Snapshot:
        """The documents of a commit, as far as they are stored now."""
        self.store.follow()
        return Snapshot(self.store, self.ledger_root(commit_oid))

    def head_snapshot(self) -> Snapshot:
        """The documents of HEAD; none before the first commit."""
        return self.snapshot(self.refs.head_oid())

    def stage(self) -> Stage:
        """What is staged now, without what HEAD holds already."""
        self.store.follow()
        head = self.refs.head_oid()
        head_root = self.ledger_root(head)
        stage = read_stage(self.folder, head_root)
        if head is None or (stage.base == head_root and not stage.merge_parents):
            return stage
        stage = stage.after_commit(self.store, head_root, self.commit(head).parents)
        # HEAD is not where it was when this was staged: a crash came between the two.
        return stage if stage.base == head_root or stage.in_progress else stage.onto(self.store, head_root)

    def work_tree(self) -> Path:
        """The work tree's folder; raises UsageError for a bare repository."""
        if self.fs_root is None:
            raise UsageError("this knowledge base is bare: it has no work tree", "clone it to work in it")
        return self.fs_root

    def policy(self) -> Policy:
        """The policy of the work tree."""
        return read_policy(self.fs_root)

    def committed_policy(self, snapshot: Snapshot) -> Policy:
        """The policy that a version of the KB carries; the defaults where it has none, a broken or a cold one.

        As a cold document leaves the consensus until it is back, so does what it says of how that is made.
        """
        try:
            return parse_policy(self.committed_policy_file(snapshot))
        except UsageError:
            return Policy()

    def committed_policy_file(self, snapshot: Snapshot) -> bytes:
        """The `arbor.toml` that a version of the KB carries; b"" where it carries none, or it is cold here."""
        oid = snapshot.find(POLICY_FILE)
        try:
            return b"".join(snapshot.iter_file(oid)) if oid is not None else b""
        except ColdDocument:
            return b""

    def close(self) -> None:
        """Give file handles back."""
        self.store.close()


def init_repository(fs_path: Path, *, bare: bool = False, branch: str = DEFAULT_BRANCH) -> Path:
    """Make a repository; its `.arbor` folder (the path itself for a bare one).

    The `format` file comes last: a folder without it is not a repository, so an interrupted init is none.

    Raises:
        UsageError: when there is one already, or the branch name may not be used.
        StorageError: when the system refuses to write there.
    """
    folder = fs_path if bare else fs_path / PRIVATE_FOLDER
    if (folder / FORMAT_FILE).exists():
        raise UsageError(f"there is a knowledge base in {fs_path} already", "it is ready; run: arbor status")
    if bare and folder.is_dir() and any(folder.iterdir()) and not (folder / "packs").is_dir():
        raise UsageError(f"{fs_path} is not empty", "give a new folder for a bare knowledge base")
    check_ref_name(HEADS + branch)
    with storing(folder):
        make_folders(fs_path)
        lay_out(folder, bare=bare)
        if not (folder / "HEAD").exists():
            Refs(folder).set_head(HEADS + branch)
        write_atomically(folder / FORMAT_FILE, FORMAT.encode())
    return folder


def lay_out(folder: Path, *, bare: bool) -> None:
    """Make the folders of a KB folder. A git repository around a work tree is told that they are none of its files.

    Else `git add -A` would record the store, and `git stash -u` and `git clean` would take it away.
    """
    for name in ("refs/heads", "refs/tags", "packs", "hooks", "cache"):
        make_folders(folder / name)
    if not bare and not (folder / _GIT_IGNORE_FILE).exists():
        write_atomically(folder / _GIT_IGNORE_FILE, b"*\n")


def open_repository(fs_path: Path, user_config: Path | None = None) -> Repository:
    """The repository in exactly this folder (work tree, `.arbor` itself, or bare).

    Raises:
        NoKnowledgeBase: when there is none, or of a format this version does not know.
        StorageError: when its cache is a link to something else, or its packs or refs one to another KB's.
    """
    for folder, fs_root in ((fs_path / PRIVATE_FOLDER, fs_path), (fs_path, None)):
        try:
            data = read_bounded(folder / FORMAT_FILE, _MAX_FORMAT_BYTES)
            found = data.decode("utf-8", "replace").replace("\r\n", "\n")
        except (FileNotFoundError, NotADirectoryError):
            continue
        if found != FORMAT:
            if not found.startswith("arbor "):
                raise IntegrityError(
                    f"{folder / FORMAT_FILE} is damaged", f"it should hold the line '{FORMAT.strip()}'"
                )
            raise NoKnowledgeBase(f"{folder} is of format {found.strip()!r}, which this version cannot read")
        if fs_root is None and fs_path.name == PRIVATE_FOLDER:
            fs_root = fs_path.parent
        _refuse_shared(folder)
        refuse_foreign_cache(folder / "cache")
        return Repository(folder, fs_root, user_config)
    raise NoKnowledgeBase(f"there is no knowledge base in {fs_path}", "run: arbor init")


def _refuse_shared(folder: Path) -> None:
    """Raises StorageError where packs or refs are another KB's: what nothing here reaches would be dropped there."""
    for name in ("packs", "refs"):
        if (folder / name).is_symlink() and is_kb_folder(Path(os.path.realpath(folder / name)).parent):
            raise StorageError(
                f"'{folder / name}' is a link to the {name} of another knowledge base",
                "clone that one: a collection here would remove what is needed there",
            )


def discover_repository(start: Path, user_config: Path | None = None) -> Repository:
    """The repository of this folder or the nearest one above it.

    Raises:
        NoKnowledgeBase: when there is none up to the root.
    """
    start = start.resolve()
    bare: Path | None = None
    for fs_path in (start, *start.parents):
        if has_own_kb(fs_path):
            repo = open_repository(fs_path, user_config)
            if bare is None or _holds_as_document(repo, bare / FORMAT_FILE):
                return repo
            repo.close()
            break
        if bare is None and is_kb_folder(fs_path):
            bare = fs_path
    if bare is not None:
        return open_repository(bare, user_config)
    raise NoKnowledgeBase(f"there is no knowledge base in {start} or above it", "run: arbor init")


def _holds_as_document(repo: Repository, fs_path: Path) -> bool:
    """Whether a file belongs to this KB: documents of a clone could have the form of a bare KB with settings."""
    if repo.fs_root is None:
        return False
    path = fs_path.relative_to(repo.fs_root).as_posix()
    return path.startswith(f"{PRIVATE_FOLDER}/") or repo.stage().find(repo.store, f"d/{path}") is not None
