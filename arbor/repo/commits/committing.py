"""The stage becomes a commit: ledger, commit object, one pack, then the ref."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from arbor.errors import ArborError, ConflictError, UsageError, WrongType, first_of
from arbor.objects import codec, ledger, merkle
from arbor.objects.ids import Kind
from arbor.objects.model import Commit, Signature, encode_commit
from arbor.records import dataclass
from arbor.repo.config import POLICY_FILE
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot, ledger_key
from arbor.repo.stage import Stage, clear_stage, write_stage
from arbor.repo.staging.ingest import CANONICALISATION
from arbor.repo.whole_packs import carry_on
from arbor.repo.work_tree.file_states import restamp_worktree_cache
from arbor.repo.work_tree.selections import matcher_of
from arbor.repo.work_tree.status import PathChange, displaced, staged_changes
from arbor.store.pack_writer import PackWriter
from arbor.text.extraction import CHUNKER_ID

MAX_MESSAGE_CHARS = 1_000_000
_AUTHOR = re.compile(r"\s*(?P<name>[^<>]*?)\s*<(?P<email>[^<>\s]*)>\s*")


@dataclass(frozen=True, slots=True)
class NewCommit:
    """A commit that was just made.

    Attributes:
        oid, ledger_root: The commit and the Merkle root of what it holds.
        parent: The commit before, None for the first.
        branch: Short name of the branch that moved; "" where HEAD is detached.
        documents: Documents in the commit.
        message: Its message.
        changes: What it recorded, against where HEAD stood before.
    """

    oid: bytes
    ledger_root: bytes
    parent: bytes | None
    branch: str
    documents: int
    message: str
    changes: tuple[PathChange, ...]


@contextlib.contextmanager
def interrupts_told(repo: Repository) -> Iterator[None]:
    """An interrupt within the block says so when HEAD has moved all the same."""
    before = repo.refs.head_oid()
    try:
        yield
    except KeyboardInterrupt as stop:
        now = repo.refs.head_oid()
        if now is not None and now != before:
            stop.add_note(f"commit {now.hex()[:12]} was made; the search index follows with the next search")
        raise


def commit(
    repo: Repository, message: str, *, allow_empty: bool = False, amend: bool = False,
    author: Signature | str | None = None, sign: Callable[[bytes], str] | None = None,
    instead: Stage | None = None, selections: Sequence[str] = (),
) -> NewCommit:  # fmt: skip
    """Record the stage.

    Args:
        repo: Where.
        message: Why; it must hold something.
        allow_empty: Also when nothing is staged.
        amend: Replace the last commit instead of following it.
        author: Who wrote it, when that is somebody else than the committer; as text like `Ada <ada@example.org>`.
        sign: Gives the armoured signature over the commit's bytes.
        instead: What to record on top of HEAD instead of the stage, which stays but for the keys that this changes.
        selections: Record only what is staged at these paths and below, or of globs; the rest goes on waiting.

    Raises:
        UsageError: when nothing is staged, the message is empty, or the author is not written as one.
        ConflictError: when conflicts are unresolved, or what is to be recorded was made for another HEAD.
        Locked: when another writer holds the lock.
    """
    written_by = None if author is None else _author(repo, author)
    with repo.changing_stage() as current:
        if selections:
            # Of what is staged on top of the HEAD of now: another process may have committed a moment ago.
            instead = part_of_stage(repo, selections)
        waiting = current if instead is not None else None
        stage = instead or current
        head = repo.refs.head_oid()
        if instead is not None and instead.base != repo.ledger_root(head):
            raise ConflictError("HEAD has moved since it was read", "run the command again")
        message = (message or stage.message).strip()
        if amend and head is None:
            raise UsageError("there is no commit to amend")
        if amend and stage.merge_parents:
            raise UsageError("a merge is in progress: the last commit cannot be amended", "run: arbor commit")
        if not message:
            raise UsageError("the commit message is empty", "give one with -m")
        if len(codec.check_unicode(message, "the commit message")) > MAX_MESSAGE_CHARS:
            raise UsageError(f"the commit message is longer than {MAX_MESSAGE_CHARS:,} characters")
        if stage.conflicts:
            named = first_of(stage.conflicts, 3)
            raise ConflictError(
                f"still in conflict: {named}", f"resolve them, then run: {stage.what_resolves}"
            )
        return _record(repo, stage, head, message, allow_empty, amend, written_by, sign, waiting)


def part_of_stage(repo: Repository, selections: Sequence[str]) -> Stage:
    """What is staged at some paths alone, on top of HEAD, for `instead`; nothing where none of it is.

    Raises:
        ConflictError: while a merge or a revert waits, which is recorded as a whole.
    """
    stage = repo.stage()
    if stage.in_progress:
        raise ConflictError(
            f"a {stage.in_progress} is recorded as a whole, and not some paths of it", "run: arbor commit"
        )
    head_root, wanted = repo.head_root(), matcher_of(selections)
    changes = (stage if stage.base == head_root else stage.onto(repo.store, head_root)).changes
    if "" in selections:
        return Stage(head_root, changes)
    paths = {key[len(DOCUMENTS) :]: oid for key, oid in changes.items() if key.startswith(DOCUMENTS)}
    chosen = {path for path in paths if wanted(path)}
    # A document in a folder whose name was a document's takes the place of that one.
    chosen |= displaced(paths.keys() - chosen, [path for path in chosen if paths[path] is not None])
    return Stage(head_root, {DOCUMENTS + path: paths[path] for path in chosen})


def parse_author(text: str) -> tuple[str, str]:
    """Name and address of `Ada Lovelace <ada@example.org>`.

    Raises:
        UsageError: when it is not written so.
    """
    found = _AUTHOR.fullmatch(text)
    if found is None or not found["name"]:
        raise UsageError(
            f"'{text}' does not name an author", "write it like: 'Ada Lovelace <ada@example.org>'"
        )
    return found["name"], found["email"]


def _author(repo: Repository, given: Signature | str) -> Signature:
    """Who is named; as text, with the time of now."""
    if isinstance(given, str):
        name, email = parse_author(given)
        return repo.who()._replace(name=name, email=email)
    if not isinstance(given, Signature) or tuple(map(type, given)) != (str, str, int, int):
        raise WrongType("the author must be a Signature or text like 'Ada Lovelace <ada@example.org>'")
    return given


def _refuse_emptied(repo: Repository, old: Commit, root: bytes) -> None:
    """Raises UsageError where nothing would be left of the commit that is amended."""
    if root == repo.root_before(old) != old.ledger_root:
        take_back = ", or take it back: arbor reset HEAD~1" if old.parents else ""
        raise UsageError("nothing would be left of the commit", f"keep it with --allow-empty{take_back}")


def _record(
    repo: Repository, stage: Stage, head: bytes | None, message: str, allow_empty: bool, amend: bool,
    author: Signature | None, sign: Callable[[bytes], str] | None, waiting: Stage | None,
) -> NewCommit:  # fmt: skip
    old = repo.commit(head) if head is not None else None
    who = repo.who()
    with repo.store.writer() as writer:
        root = write_ledger(repo, writer, stage.base, stage.changes)
        unchanged = root == (old.ledger_root if old else ledger.EMPTY_LEDGER)
        if unchanged and not (allow_empty or amend or stage.merge_parents):
            if waiting is not None:
                raise UsageError("what was named is as it was in the last commit", "run: arbor status")
            raise UsageError("nothing is staged", "run: arbor add PATH")
        parents = _parents(head, old, stage, amend)
        if amend and old and not allow_empty and len(parents) < 2:
            _refuse_emptied(repo, old, root)
        made = build_commit(repo, root, parents, author or (old.author if amend and old else who), who, message,
                            policy_in_force(Snapshot(repo.store, stage.base), stage))  # fmt: skip
        if sign is not None:
            made = replace(made, seal=sign(encode_commit(made)))
        oid = writer.add(Kind.COMMIT, encode_commit(made))
    changes = staged_changes(repo, stage)
    reason = f"commit{' (amend)' if amend else ' (merge)' if stage.merge_parents else '' if head else ' (initial)'}"
    repo.refs.move_head(head, oid, who, f"{reason}: {message.splitlines()[0]}")
    if waiting is None:
        _clear(repo, stage, root)
    else:
        _stage_again(repo, waiting, stage, root)
    if len(parents) < 2:
        with contextlib.suppress(ArborError, OSError):  # the commit is made, and a note only saves time
            carry_on(repo, parents[0] if parents else None, oid, writer.name, stage.changes.values())
    branch, count = repo.refs.current_branch(), Snapshot(repo.store, root).count_documents()
    return NewCommit(oid, root, parents[0] if parents else None, branch, count, message, changes)


def write_ledger(
    repo: Repository, writer: PackWriter, base: bytes, changes: Mapping[str, bytes | None]
) -> bytes:
    """The root after the changes, its new nodes given to the writer."""

    def sink(oid: bytes, data: bytes) -> None:
        writer.add(Kind.NODE, data, oid)

    return ledger.apply(repo.store, base, changes, sink)


def build_commit(
    repo: Repository, root: bytes, parents: tuple[bytes, ...], author: Signature, committer: Signature,
    message: str, policy: dict[str, str],
) -> Commit:  # fmt: skip
    """A commit whose log goes on from its first parent's."""
    size = 0
    peaks: tuple[bytes, ...] = ()
    if parents:
        first = repo.commit(parents[0])
        size = first.log_size + 1
        peaks = tuple(merkle.append_leaf(first.log_size, first.log_peaks, parents[0]))
    return Commit(root, parents, author, committer, message, policy, size, peaks)


def _parents(head: bytes | None, old: Commit | None, stage: Stage, amend: bool) -> tuple[bytes, ...]:
    if amend and old is not None:
        return old.parents
    return ((head,) if head is not None else ()) + stage.merge_parents


def policy_in_force(snapshot: Snapshot, stage: Stage) -> dict[str, str]:
    """What a commit records of the rules it was made under."""
    oid = stage.find(snapshot.store, DOCUMENTS + POLICY_FILE)
    policy_hash = snapshot.document(oid).file_hash.hex() if oid else ""
    return {"canonicalisation": CANONICALISATION, "chunker": CHUNKER_ID, "policy": policy_hash}


def _clear(repo: Repository, stage: Stage, root: bytes) -> None:
    """The stage is empty now; the work tree cache is stamped anew, since it lists the same files.

    The commit is made: a stage that the system does not let go is known by that, see `Stage.after_commit`.
    """
    with contextlib.suppress(OSError):
        clear_stage(repo.folder)
    with contextlib.suppress(OSError):
        restamp_worktree_cache(repo.folder, stage.stamp, Stage(root).stamp)


def _stage_again(repo: Repository, waiting: Stage, recorded: Stage, root: bytes) -> None:
    """What was staged goes on waiting for its commit, without the keys that another commit has changed."""
    kept = {key: value for key, value in waiting.changes.items() if key not in recorded.changes}
    conflicts = tuple(name for name in waiting.conflicts if ledger_key(name) not in recorded.changes)
    left = replace(waiting, base=root, changes={}, conflicts=conflicts).with_changes(repo.store, kept)
    if left.changes or left.merge_parents or left.conflicts:
        write_stage(repo.folder, left)
    else:
        clear_stage(repo.folder)
    if all(waiting.find(repo.store, key) == value for key, value in recorded.changes.items()):
        with contextlib.suppress(OSError):  # the files that are tracked are the same as before
            restamp_worktree_cache(repo.folder, waiting.stamp, left.stamp)
