"""The front desk: one KnowledgeBase joins the rooms, returns frozen values, and prints nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arbor.arguments import Paths, Progress, StrPath, checked, checked_desk, lasting_path, text_of, texts_of
from arbor.lazy import lazy_module
from arbor.objects.ids import parse_oid
from arbor.repo import config
from arbor.repo.commits import revisions
from arbor.repo.repository import Repository, discover_repository, init_repository, open_repository
from arbor.repo.snapshot import Snapshot
from arbor.repo.work_tree.selections import kb_path
from arbor.repo.work_tree.status import Status, get_status

if TYPE_CHECKING:
    from arbor.graph import checking, desk
    from arbor.graph.ripple import Ripple
    from arbor.graph.standing import Standing
    from arbor.index import checking as index_checking
    from arbor.index import following_tiers
    from arbor.index.cache_lock import Told
    from arbor.objects.model import Signature
    from arbor.remote import cloning
    from arbor.remote import desk as share_desk
    from arbor.remote.cloning import CloneOptions
    from arbor.remote.quarantine import receiving
    from arbor.remote.transports.connecting import ConnectOptions
    from arbor.repo import desk as trust_desk
    from arbor.repo import results
    from arbor.repo.commits import branch_desk, commit_log, committing, describing, diffing
    from arbor.repo.commits.diffing import Comparing
    from arbor.repo.merge.merging import MergeResult
    from arbor.repo.results import CommitInfo, DocumentInfo, TextDiff
    from arbor.repo.staging import adding
    from arbor.repo.staging.adding import AddResult
    from arbor.repo.trust import signing
    from arbor.repo.trust.verify import VerifyReport
    from arbor.repo.work_tree import renaming, restoring
    from arbor.repo.work_tree.restoring import RestoreResult
    from arbor.search import asking, following
    from arbor.search.following import CommitResult
    from arbor.search.results import SearchResult
else:
    adding = lazy_module("arbor.repo.staging.adding")
    branch_desk = lazy_module("arbor.repo.commits.branch_desk")
    trust_desk = lazy_module("arbor.repo.desk")
    cloning = lazy_module("arbor.remote.cloning")
    share_desk = lazy_module("arbor.remote.desk")
    index_checking = lazy_module("arbor.index.checking")
    following_tiers = lazy_module("arbor.index.following_tiers")
    commit_log = lazy_module("arbor.repo.commits.commit_log")
    committing = lazy_module("arbor.repo.commits.committing")
    describing = lazy_module("arbor.repo.commits.describing")
    diffing = lazy_module("arbor.repo.commits.diffing")
    checking = lazy_module("arbor.graph.checking")
    desk = lazy_module("arbor.graph.desk")
    renaming = lazy_module("arbor.repo.work_tree.renaming")
    restoring = lazy_module("arbor.repo.work_tree.restoring")
    results = lazy_module("arbor.repo.results")
    signing = lazy_module("arbor.repo.trust.signing")
    asking = lazy_module("arbor.search.asking")
    following = lazy_module("arbor.search.following")


@checked
def init(path: StrPath = ".", *, bare: bool = False, branch: str = "main") -> KnowledgeBase:
    """Make a knowledge base in a folder, which is created where needed, and open it.

    Raises:
        UsageError: when there is one already.
        StorageError: when the system refuses to write there.
    """
    fs_path = Path(path).resolve()
    init_repository(fs_path, bare=bare, branch=branch)
    return KnowledgeBase(open_repository(fs_path))


@checked
def open_kb(path: StrPath = ".", *, user_config: StrPath | None = None) -> KnowledgeBase:
    """Open the knowledge base of a folder or the nearest one above it.

    Args:
        path: Where to start looking.
        user_config: The user's own settings file, where it should count.

    Raises:
        NoKnowledgeBase: when there is none.
    """
    return KnowledgeBase(discover_repository(Path(path), lasting_path(user_config)))


@checked
def clone(
    url: StrPath, path: StrPath, *, filter_text: str = "", index: bool = True, options: CloneOptions | None = None,
    connecting: ConnectOptions | None = None, progress: receiving.TransferProgress | None = None,
    user_config: StrPath | None = None, require_signed: bool | None = None,
) -> KnowledgeBase:  # fmt: skip
    """Make a knowledge base in a new folder from another one, and open it.

    Args:
        url: A folder, a bundle file, or an address (`ssh://`, `host:path`, `https://`, an object store's).
        path: A folder that does not exist or is empty.
        filter_text: `cold` for no passages, `at:FOLDER` for those of a folder, "" for all.
        index: False leaves the index for the first search.
        options: Bare or not, which branch, and the like.
        connecting: Tokens, programs and limits.
        progress: Called with (objects so far, objects in all or 0, bytes so far).
        user_config: The user's own settings file, where it should count.
        require_signed: Refuse commits that are not signed, now and in later fetches; None leaves it to these settings.

    Raises:
        UsageError, RemoteError: when the folder is not empty or no such branch is there; when the other side fails.
        IntegrityError: when what comes is damaged, or unsigned where that is demanded; the folder is as before then.
    """
    chosen, own, target = options or cloning.CloneOptions(), lasting_path(user_config), Path(path).resolve()
    share_desk.clone_kb(os.fspath(url), target, chosen, filter_text=filter_text,
                        connecting=connecting or share_desk.DEFAULT_CONNECT, progress=progress,
                        settings=config.Settings(own) if own else None,
                        require_signed=require_signed)  # fmt: skip
    made = KnowledgeBase(open_repository(target, own))
    if index and chosen.checkout and not chosen.bare and made.repo.refs.head_oid() is not None:
        made.reindex()
    return made


def _follow_tiers(repo: Repository, documents: Collection[bytes]) -> AbstractContextManager[None]:
    """A function of its own, which loads what it needs late and refers to no repository: that would keep it open."""
    return following_tiers.following_tiers(repo, documents)


@checked_desk
class KnowledgeBase:
    """An open knowledge base. Methods mirror the commands; reading is safe from several threads.

    Paths are KB paths: relative to the work tree, with `/`. Where a method takes `cwd`, paths are relative to that
    folder instead, as a person types them. A path is a text or a path object, and `Paths` are one or several.
    """

    def __init__(self, repo: Repository) -> None:
        self.repo = repo
        self._asker: asking.Asker | None = None
        self._opening = threading.Lock()
        repo.tiers_follower = _follow_tiers

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Give file handles back; what is called afterwards opens them again."""
        if self._asker is not None:
            self._asker.close()
        self.repo.close()

    @property
    def branches(self) -> branch_desk.BranchDesk:
        """Branches, tags, switching, merging, reverting and resetting."""
        return branch_desk.BranchDesk(self.repo, self.commit, self.bring_up_to_date)

    @property
    def sharing(self) -> share_desk.ShareDesk:
        """Remotes, fetching, pulling, pushing and bundles."""
        return share_desk.ShareDesk(self.repo, self._merge)

    @property
    def trust(self) -> trust_desk.TrustDesk:
        """Proofs, cores, tiers, collection and the journal."""
        return trust_desk.TrustDesk(self.repo)

    def _merge(self, *what: Any, **how: Any) -> MergeResult:
        """Merge a revision, through a desk that is only opened for it."""
        return self.branches.merge(*what, **how)

    def _ask(self) -> asking.Asker:
        """The search desk, opened at the first use."""
        with self._opening:
            if self._asker is None:
                self._asker = asking.Asker(self.repo)
            return self._asker

    @property
    def folder(self) -> Path:
        """The `.arbor` folder."""
        return self.repo.folder

    @property
    def fs_root(self) -> Path | None:
        """The work tree; None for a bare knowledge base."""
        return self.repo.fs_root

    def resolve_paths(self, typed: Paths, cwd: StrPath | None = None) -> list[str]:
        """KB paths of paths or globs as typed in a folder (the work tree itself without `cwd`).

        In a bare knowledge base there is no folder to be in, and what is typed is a KB path.
        """
        fs_root = self.repo.fs_root
        if fs_root is None:
            return [kb_path(Path("/"), Path("/"), text) for text in texts_of(typed)]
        start = fs_root if cwd is None else Path(cwd).resolve()
        return [kb_path(fs_root, start, text) for text in texts_of(typed)]

    def add(
        self, paths: Paths = ("",), *, update: bool = False, force: bool = False, dry_run: bool = False,
        cwd: StrPath | None = None, progress: Progress | None = None,
    ) -> AddResult:  # fmt: skip
        """Stage files, folders or globs, all without paths; with `dry_run` only say what would happen.

        With `update` only what is tracked, removals included; with `force` also what is ignored or over the size limit.

        Raises:
            UsageError: when a path matches nothing. Locked: when another writer holds the lock.
        """
        return adding.add(self.repo, self.resolve_paths(paths, cwd), update=update, force=force, dry_run=dry_run,
                          progress=progress)  # fmt: skip

    def add_bytes(
        self, path: StrPath, data: bytes, *, source_uri: str = "", overwrite: bool = False
    ) -> AddResult:
        """Stage bytes under a path and write them to the work tree, with `overwrite` over what is there.

        Raises:
            UsageError: when the path may not be used, or holds something else already.
        """
        return adding.add_own_bytes(self.repo, text_of(path), data, source_uri, overwrite=overwrite)

    def rm(
        self, paths: Paths, *, cached: bool = False, force: bool = False, recursive: bool = False,
        dry_run: bool = False, ignore_unmatched: bool = False, cwd: StrPath | None = None,
    ) -> tuple[str, ...]:  # fmt: skip
        """Remove documents from the stage and, but for `cached`, from the work tree; their paths.

        Raises:
            UsageError: when a path matches nothing, unless that is ignored. ConflictError: when changes would be lost.
        """
        return restoring.remove(self.repo, self.resolve_paths(paths, cwd), cached=cached, force=force,
                                recursive=recursive, dry_run=dry_run, ignore_unmatched=ignore_unmatched)  # fmt: skip

    def mv(
        self, sources: Paths, target: StrPath, *, force: bool = False, dry_run: bool = False,
        cwd: StrPath | None = None,
    ) -> tuple[tuple[str, str], ...]:  # fmt: skip
        """Rename documents or folders; (old path, new path) pairs. A target that ends in / is a folder.

        Raises:
            UsageError: when a source is not tracked. ConflictError: when the target exists.
        """
        [place], typed = self.resolve_paths([target], cwd), text_of(target)
        return renaming.move(self.repo, self.resolve_paths(sources, cwd), place, force=force, dry_run=dry_run,
                             is_folder=typed.endswith(("/", os.sep)))  # fmt: skip

    def restore(
        self, paths: Paths, *, source: str | None = None, staged: bool = False, worktree: bool = True,
        cwd: StrPath | None = None,
    ) -> RestoreResult:  # fmt: skip
        """Bring documents back to the stage's or a revision's version, in the stage, the work tree, or both.

        Raises:
            UsageError: when a path matches nothing, or the revision is unknown. ColdDocument: when one is cold here.
        """
        commit = revisions.resolve_start(self.repo, source) if source is not None else None
        return restoring.restore(self.repo, self.resolve_paths(paths, cwd), source=commit, staged=staged,
                                 worktree=worktree)  # fmt: skip

    def status(self, *, each_untracked: bool = False) -> Status:
        """What differs between HEAD, stage and work tree; what is not tracked file by file, or folders as wholes."""
        return get_status(self.repo, each_untracked=each_untracked)

    def commit(
        self, message: str = "", *, allow_empty: bool = False, amend: bool = False, index: bool = True,
        author: Signature | str | None = None, sign: bool | None = None, paths: Paths = (),
        cwd: StrPath | None = None,
    ) -> CommitResult:  # fmt: skip
        """Record the stage as a commit, then bring the derived state up to date.

        Args:
            message: Why.
            allow_empty: Also when nothing is staged.
            amend: Replace the last commit.
            index: False leaves the index for the next search.
            author: Who wrote it, when that is somebody else; as text like `Ada <ada@example.org>`.
            sign: Whether to sign it; None leaves that to the setting `sign.commits`.
            paths: Only what is staged at these paths and below, or of globs; the rest goes on waiting.
            cwd: The folder that they are relative to; the work tree itself without.

        Raises:
            UsageError: when nothing is staged. ConflictError: when conflicts are unresolved.
        """
        selections = self.resolve_paths(paths, cwd) if paths else ()
        with committing.interrupts_told(self.repo):
            made = committing.commit(self.repo, message, allow_empty=allow_empty, amend=amend, author=author,
                                     sign=signing.signer(self.repo, sign), selections=selections)  # fmt: skip
            return following.after_commit(self.repo, made, index=index)

    def bring_up_to_date(self) -> Ripple | None:
        """Bring index and consensus to HEAD after it moved; what that changed, None where consensus waits."""
        return following.follow(self.repo, self.repo.head_snapshot().count_documents()).ripple

    def resolve(self, revision: str = "HEAD") -> bytes:
        """The commit oid of a revision; raises UsageError when there is none."""
        return revisions.resolve(self.repo, revision)

    def snapshot(self, revision: str | None = None) -> Snapshot:
        """The documents of a revision (HEAD without; the empty KB before the first commit)."""
        return self.repo.snapshot(self.repo.refs.head_oid() if revision is None else self.resolve(revision))

    def log(
        self, revision: Sequence[str] | None = None, paths: Paths = (), *, limit: int | None = None,
        follow: bool = False, everywhere: bool = False, first_parent: bool = False, cwd: StrPath | None = None,
    ) -> Iterator[CommitInfo]:  # fmt: skip
        """Commits, newest first; those that touched `paths` where any are given. `A..B` and `A...B` are ranges.

        `revision` is one or several: what any leads to, but for what one written as `^REV` does. With `first_parent`,
        of a merge only the branch that it was made on; with `follow`, the one document that is given also before its
        renames; with `everywhere`, also what any branch, tag or remote-tracking branch leads to.

        Raises:
            UsageError: when the revision is unknown or there is no commit yet, or for a limit below 0.
        """
        wanted = self.resolve_paths(paths, cwd) if paths else []
        yield from commit_log.iter_commits(self.repo, revision, wanted, limit=limit, follow=follow,
                                           everywhere=everywhere, first_parent=first_parent)  # fmt: skip

    def show(
        self, revision: str = "HEAD", *, with_text: bool = True, paths: Paths = (),
        comparing: Comparing | None = None,
    ) -> tuple[CommitInfo, tuple[TextDiff, ...]]:  # fmt: skip
        """A commit and what it changed against its first parent, of the KB paths or globs that are given."""
        oid = self.resolve(revision)
        commit = self.repo.commit(oid)
        names = describing.ref_names(self.repo).get(oid, ())
        how = diffing.comparing_of(comparing, with_text)
        before = self.repo.root_before(commit)
        changes = describing.diff_roots(self.repo, before, commit.ledger_root, texts_of(paths), how)
        return describing.describe_commit(oid, commit, names), changes

    def document(self, path: StrPath, revision: str | None = None) -> DocumentInfo:
        """A document with its passages, links and metadata; raises UsageError when there is none."""
        name = text_of(path)
        staged = describing.staged_document(self.repo, name) if revision is None else None
        return describing.describe_document(self.snapshot(revision), name, staged)

    def cat(self, path: StrPath, revision: str | None = None) -> Iterator[bytes]:
        """A document's bytes exactly as they came in, piece by piece; without a revision, as staged.

        Raises:
            UsageError: when there is no such document.
            ColdDocument: at the first piece, when it is cold here; `sharing.bring_back` asks the remotes.
        """
        snapshot = None if revision is None else self.snapshot(revision)
        return describing.file_pieces(self.repo, text_of(path), snapshot, revision or "HEAD")

    def ls(self, prefix: StrPath = "", revision: str | None = None) -> Iterator[tuple[str, str]]:
        """(path, document oid) of every document at or below a path."""
        top = text_of(prefix)
        for path, oid in self.snapshot(revision).paths(top):
            if not top or path == top or path.startswith(top.rstrip("/") + "/"):
                yield path, oid.hex()

    def diff(
        self, old: str | None = None, new: str | None = None, paths: Paths = (), *, staged: bool = False,
        with_text: bool = True, cwd: StrPath | None = None, comparing: Comparing | None = None,
    ) -> tuple[TextDiff, ...]:  # fmt: skip
        """What differs: stage (or `old`) to work tree, `staged` HEAD (or `old`) to stage, `old` to `new`.

        `comparing` says how; without `with_text` no lines are compared.

        Raises:
            UsageError: when a revision is unknown.
        """
        how = diffing.comparing_of(comparing, with_text)
        wanted = self.resolve_paths(paths, cwd) if paths else []
        if new is not None:
            before = self.repo.ledger_root(self.resolve("HEAD" if old is None else old))
            after = self.repo.ledger_root(self.resolve(new))
            return describing.diff_roots(self.repo, before, after, wanted, how)
        stage = self.repo.stage()
        if staged:
            before = self.repo.head_root() if old is None else self.repo.ledger_root(self.resolve(old))
            return describing.diff_stage(self.repo, stage, before, wanted, how)
        root = self.repo.ledger_root(self.resolve(old)) if old is not None else None
        return describing.diff_worktree(self.repo, stage, wanted, before=root, how=how)

    # --- asking

    def search(
        self, query: str, *, mode: str = "HYBRID", limit: int = 10, at: str | None = None, passages: int = 3,
        raw: bool = False, kind: str = "", rank: str | None = None, working_copy: bool | None = None,
        progress: Told | None = None,
    ) -> SearchResult:  # fmt: skip
        """Search HEAD or another revision.

        Args:
            query: Words, "phrases", -not, prefix*, and path:, title:, kind:, lang:, label:, since:, until: and rev:.
            mode: The least proof that a hit must have: STRICT, HYBRID or VISUAL.
            limit: Documents to show.
            at: A revision; HEAD without.
            passages: Passages to show of each document.
            raw: The query is an FTS5 expression; its hits have no highlights.
            kind: Only documents of this kind: `surface` or `core`; "" for all.
            rank: A ranking profile: `relevance`, `ripple`, or one of `arbor.toml`.
            working_copy: Also look at files that are not committed as they are: only in VISUAL mode, which does without
                being told to.
            progress: Told in a sentence when an index has to be made first.

        Raises:
            UsageError: when the query, the mode, the profile or the revision is not understood.
        """
        options = asking.parse_options(mode, limit, passages, raw, kind)
        return self._ask().search(query, options, at=at, rank=rank, working_copy=working_copy,
                                  progress=progress)  # fmt: skip

    def reindex(self, *, progress: Told | None = None) -> float:
        """Make the index of HEAD, and a damaged consensus, anew from the objects; the seconds it took."""
        return self._ask().reindex(progress)

    def consensus(
        self, path: StrPath, *, at: str | None = None, progress: Told | None = None
    ) -> desk.ConsensusReport:
        """Label, score and peers of a document.

        Args:
            path: The document.
            at: A revision; HEAD without.
            progress: Told in a sentence when the state has to be worked out first.

        Raises:
            UsageError: when there is no such document, or it has no text.
        """
        return desk.ConsensusDesk(self.repo).report(text_of(path), at, progress)

    def standings(
        self, *, label: str | None = None, at: str | None = None, progress: Told | None = None
    ) -> list[tuple[str, Standing]]:
        """(path, standing) of every document with text, or of those that carry a label, or CONTESTED beside it.

        Raises:
            UsageError: when there is no such label.
        """
        return desk.ConsensusDesk(self.repo).standings(at, progress, label=label)

    def consensus_history(
        self, path: StrPath, *, limit: int = 20, progress: Told | None = None
    ) -> list[desk.HistoryPoint]:
        """How the consensus on a document moved over this branch's last commits, 200 at most, newest first."""
        return desk.ConsensusDesk(self.repo).history(text_of(path), limit, progress)

    def ripple(self, span: str | None = None, *, progress: Told | None = None) -> Ripple:
        """What going from one revision to another (`A..B`; the last commit without) moved in the consensus.

        Raises:
            UsageError: when a revision is unknown.
        """
        return desk.ConsensusDesk(self.repo).replay(span, progress)

    def check_staged(self, *, progress: Told | None = None) -> checking.StagedCheck:
        """What everything that is staged, in git and in arbor, would move, held against the policy; stores nothing.

        Raises:
            UsageError: when the policy in `arbor.toml` cannot be understood.
        """
        return checking.check_staged(self.repo, progress)

    def verify(
        self, revision: str | None = None, *, root: str | None = None, deep: bool = False
    ) -> VerifyReport:
        """Read, hash and check everything a revision needs (every ref and the index without one).

        Args:
            revision: Only this one.
            root: Hexadecimal ledger root that the revision must have.
            deep: Also every document's file against the hash recorded for it, what was read in it and the cores made
                again, and the structure of the index.
        """
        expected = parse_oid(root) if root is not None else None
        return index_checking.verify_everything(self.repo, revision, expected_root=expected, deep=deep)

    def config_get(self, name: str) -> Any:
        """A setting's value, or None."""
        return self.repo.settings.get(name)

    def config_set(self, name: str, value: str | None, *, user_wide: bool = False) -> None:
        """Set a setting from text, or remove it with None; raises UsageError when it is unknown or of another type."""
        typed = None if value is None else config.parse_setting(name, value)
        self.repo.settings.set(name, typed, user_wide=user_wide)

    def config_items(self) -> dict[str, Any]:
        """Every setting in force by dotted name."""
        return self.repo.settings.items()
