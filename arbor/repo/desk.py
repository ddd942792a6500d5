"""The desk for trust: proofs, tiers, cores, collection and the journal of one repository."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.arguments import Paths, Progress, StrPath, checked_desk, text_of, texts_of
from arbor.errors import UsageError
from arbor.lazy import lazy_module
from arbor.repo.commits import revisions
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORE_MARK, CORES, Snapshot, ledger_key
from arbor.repo.upkeep import gc
from arbor.repo.upkeep.gc import GcReport
from arbor.store.journal import Journal, JournalReport, Record

if TYPE_CHECKING:
    from arbor.objects.proofs import ConsistencyProof, Proof
    from arbor.repo.distillation import core_check, cores, distilling
    from arbor.repo.distillation.core_binding import Find
    from arbor.repo.distillation.core_check import CoreState
    from arbor.repo.distillation.cores import CoreInfo
    from arbor.repo.distillation.distillers import registry
    from arbor.repo.distillation.distilling import Distilled
    from arbor.repo.forgetting import evicting, rehydrating, tiering
    from arbor.repo.forgetting.copies import ByteSource, Fetch
    from arbor.repo.forgetting.evicting import EvictReport
    from arbor.repo.forgetting.rehydrating import RehydrateReport
    from arbor.repo.forgetting.tiering import Criteria, TierReport
    from arbor.repo.importing import updating
    from arbor.repo.trust import checkpoint_notes, checkpoints, proving
    from arbor.repo.trust.checkpoint_notes import CheckpointReport
else:
    core_check = lazy_module("arbor.repo.distillation.core_check")
    cores = lazy_module("arbor.repo.distillation.cores")
    distilling = lazy_module("arbor.repo.distillation.distilling")
    registry = lazy_module("arbor.repo.distillation.distillers.registry")
    evicting = lazy_module("arbor.repo.forgetting.evicting")
    rehydrating = lazy_module("arbor.repo.forgetting.rehydrating")
    tiering = lazy_module("arbor.repo.forgetting.tiering")
    updating = lazy_module("arbor.repo.importing.updating")
    checkpoint_notes = lazy_module("arbor.repo.trust.checkpoint_notes")
    checkpoints = lazy_module("arbor.repo.trust.checkpoints")
    proving = lazy_module("arbor.repo.trust.proving")


@checked_desk
class TrustDesk:
    """What one repository can prove, forget and remember. Paths are KB paths."""

    def __init__(self, repo: Repository) -> None:
        self.repo = repo
        self.journal = Journal(repo.folder)

    def _commit(self, revision: str | None) -> bytes:
        return revisions.resolve(self.repo, "HEAD" if revision is None else revision)

    # --- proofs

    def prove(self, place: StrPath, revision: str | None = None, *, room: str = "document") -> Proof:
        """A proof for `PATH`, `PATH:LINE` or `PATH#PASSAGE` (a position or digits of a leaf) at a revision.

        A `core:NAME`, as searches name a core, means that core unless a document is called so.

        Raises:
            UsageError: when there is no such document, core, line or passage.
            ColdDocument: when the passage is cold here; `sharing.bring_back` asks the remotes.
            IntegrityError: when an object on the way is damaged.
        """
        commit_oid = self._commit(revision)
        snapshot = self.repo.snapshot(commit_oid)
        found = proving.find_place(snapshot, text_of(place), room)
        index = proving.find_passage(snapshot, found)
        return proving.prove(self.repo, commit_oid, found.path, index, room=found.room)

    def prove_passage(self, path: StrPath, index: int, commit_oid: bytes, *, room: str = "document") -> Proof:
        """A proof for the passage at a position, as `path`, `chunk.index` and `rev` of a search name it.

        A `core:NAME` means that core, where there is one; a document that is called so is `./core:NAME` to searches.

        Raises:
            UsageError: when there is no such document, core or passage.
            ColdDocument: when the passage is cold here; `sharing.bring_back` asks the remotes.
            IntegrityError: when an object on the way is damaged.
        """
        name = text_of(path)
        key = ledger_key(name)
        if room == "document" and self.repo.snapshot(commit_oid).find_key(key) is not None:
            room, name = ("core" if key.startswith(CORES) else room), key.partition("/")[2]
        return proving.prove(self.repo, commit_oid, name, index, room=room)

    def prove_absent(self, path: StrPath, revision: str | None = None) -> Proof:
        """A proof that there is nothing at a path, or no core of the name in `core:NAME`.

        Raises:
            AnswerNo: when there is.
            UsageError: when nothing can ever be called so.
        """
        commit_oid = self._commit(revision)
        room, name = "document", text_of(path)
        if name.startswith(CORE_MARK) and self.repo.snapshot(commit_oid).find(name) is None:
            room, name = "core", name.removeprefix(CORE_MARK)
        return proving.prove_absent(self.repo, commit_oid, name, room=room)

    def prove_consistency(self, old: str, new: str) -> ConsistencyProof:
        """A proof that one revision's history goes on from another's; raises AnswerNo when it does not."""
        return proving.prove_consistency(self.repo, self._commit(old), self._commit(new))

    def checkpoint(self, revision: str | None = None, *, origin: str = "") -> checkpoints.Checkpoint:
        """Size and root of the log that ends in a revision; raises UsageError where `origin` is no line of text."""
        commit_oid = self._commit(revision)
        if not origin:
            log_name = checkpoints.find_log_name(self.repo, revision or "HEAD", commit_oid)
            origin = checkpoints.default_origin(self.repo, commit_oid, log_name)
        return checkpoints.get_checkpoint(self.repo, commit_oid, origin)

    def checkpoint_note(
        self, revision: str | None = None, *, origin: str = "", sign: bool | None = None
    ) -> str:
        """A checkpoint as a note to hand out.

        Args:
            revision: Where the log ends; HEAD without.
            origin: Names the log; by default after its first commit and the branch that the revision means.
            sign: Whether to sign it; None does where the setting `sign.key` names a key.

        Raises:
            UsageError: when the key cannot sign, or `origin` is no line of text.
        """
        return checkpoint_notes.write_note(self.repo, self.checkpoint(revision, origin=origin), sign=sign)

    def check_checkpoint(self, note: str, revision: str | None = None) -> CheckpointReport:
        """Whether a revision's history goes on from a checkpoint, and who signed it.

        Raises:
            IntegrityError: when the note is no checkpoint.
        """
        tip = self._commit(revision)
        log_name = checkpoints.find_log_name(self.repo, revision or "HEAD", tip)
        return checkpoint_notes.check_note(self.repo, note, tip, log_name)

    # --- tiers

    def tiers(self, paths: Paths = (), revision: str | None = None) -> TierReport:
        """Sizes by tier, and a row for each document that the paths select."""
        return tiering.report_tiers(self.repo, self._snapshot(revision), texts_of(paths))

    def choose(self, paths: Paths, criteria: Criteria, *, tier: str | None = None) -> list[tuple[str, bytes]]:
        """(path, document oid) of what paths and criteria select in HEAD, of one tier where that is given.

        Raises:
            UsageError: when a selection matches nothing, the tier is none, or an age or size is below 0.
        """
        return tiering.choose(self.repo, self._snapshot(None), texts_of(paths), criteria, tier=tier)

    def evict(
        self, paths: Paths = (), criteria: Criteria | None = None, *, tier: str = "cold", history: bool = False,
        places: Sequence[StrPath] = (), others: Sequence[ByteSource] = (), fetch: Fetch | None = None, copies: int = 1,
        force: bool = False, dry_run: bool = False, progress: Progress | None = None,
    ) -> EvictReport:  # fmt: skip
        """Move documents of HEAD, or those that only older versions hold, to the warm or cold tier.

        Args:
            paths: Paths, folders or globs; with criteria none means all.
            criteria: Which of them.
            tier: `warm` or `cold`.
            history: The documents that no branch holds any more and that are not staged; all of them without paths. Of
                the criteria only the size goes with it.
            places: Folders, of files or knowledge bases, that are asked for copies first.
            others: Further sources: remotes and bundles.
            fetch: Fetches the documents' http(s) sources.
            copies: How many different copies there must be.
            force: Also what has fewer.
            dry_run: Only say what would happen.
            progress: Called with (documents checked, documents in all).

        Raises:
            UsageError: when nothing is selected, a selection matches nothing or the policy, which is not forced, a
                document is a core, or a place is no folder.
        """
        if not paths and criteria is None and not history:
            raise UsageError(
                "nothing says which documents to evict", "give paths, or --older-than, --larger-than ..."
            )
        found = criteria or tiering.Criteria()
        if history and (tier != "cold" or found != tiering.Criteria(larger_than=found.larger_than)):
            raise UsageError(
                "with the history go paths and a size only, and the cold tier",
                "older versions are in no index, have no labels, and the documents of HEAD go first to fit a size",
            )
        documents = (
            tiering.only_in_history(self.repo, texts_of(paths), found.larger_than)
            if history
            else tiering.with_twins(self._snapshot(None), self.choose(paths, found))
        )
        if tier == "cold":  # those of older versions too: what is told of these would be told by other rules
            documents = tiering.without_policy(documents, texts_of(paths), force=force)
        with self._sources(places, others, fetch, work_tree=False) as sources:
            return evicting.evict(self.repo, documents, tier=tier, sources=sources, copies=copies, force=force,
                                  dry_run=dry_run, progress=progress)  # fmt: skip

    def rehydrate(
        self, paths: Paths = (), *, places: Sequence[StrPath] = (), others: Sequence[ByteSource] = (),
        fetch: Fetch | None = None, update: bool = False, revision: str | None = None,
        progress: Progress | None = None,
    ) -> RehydrateReport:  # fmt: skip
        """Bring cold (and warm) documents back.

        Args:
            paths: Paths, folders or globs; none means all, those of older versions too.
            places: As in `evict`.
            others: As in `evict`.
            fetch: As in `evict`.
            update: Stage what a source that has changed holds now as a new version. A file that was edited since, and
                what is staged, stays as it is; `updates` of the report says so.
            revision: The version whose documents are meant; HEAD without.
            progress: Called with (documents done, documents in all).

        Raises:
            UsageError: when a selection matches no document, or a place is no folder.
        """
        documents = tiering.choose(self.repo, self._snapshot(revision), texts_of(paths), tiering.Criteria())
        if not paths and revision is None:
            documents += tiering.cold_in_history(self.repo, {oid for _, oid in documents})
        with self._sources(places, others, fetch) as sources:
            stage = partial(updating.update, self.repo, sources=sources) if update else None
            return rehydrating.rehydrate(self.repo, documents, sources, update=stage, progress=progress)

    @contextlib.contextmanager
    def _sources(
        self,
        places: Sequence[StrPath],
        others: Sequence[ByteSource],
        fetch: Fetch | None,
        *,
        work_tree: bool = True,
    ) -> Iterator[list[ByteSource]]:
        folders = [Path(place) for place in places]
        for folder in folders:
            if not _is_folder(folder):
                raise UsageError(f"'{folder}' is no folder that could be asked")
        sources = tiering.default_sources(self.repo, folders, fetch=fetch, others=others, work_tree=work_tree)
        try:
            yield sources
        finally:
            tiering.close_sources(sources)

    def _snapshot(self, revision: str | None) -> Snapshot:
        head = self.repo.refs.head_oid()
        return self.repo.snapshot(head if revision is None else self._commit(revision))

    # --- cores

    def distill(
        self, paths: Paths, distiller: str, parameters: dict[str, str] | None = None, *,
        progress: Progress | None = None,
    ) -> list[Distilled]:  # fmt: skip
        """Make and stage a core of each document with a distiller; parameters are given as text.

        Raises:
            UsageError: when there is no such distiller or parameter, or a selection matches nothing.
        """
        found = registry.get_distiller(distiller)
        values = registry.read_parameters(found, parameters or {})
        return distilling.distill(self.repo, texts_of(paths), found, values, progress=progress)

    def add_core(
        self, name: str, text: str, sources: Sequence[tuple[StrPath, int | None, int | None]], *,
        title: str = "", by: str = "",
    ) -> CoreInfo:  # fmt: skip
        """Stage a core that a person or an agent wrote.

        Args:
            name: What to call it; one that is called so is replaced.
            text: What it says.
            sources: (path or `core:NAME`, first line, last line) of what it comes from; None and None for all of it.
            title: Its title; from the text without one.
            by: Who wrote it: a person or an agent.

        Raises:
            UsageError: when there is no text, no source, or a source or line is not there.
        """
        passages = [(text_of(path), first, last) for path, first, last in sources]
        oid = cores.add_core(self.repo, name, text, passages, title=title, by=by)
        return cores.read_core(self.repo.store, name, oid, self._cores_of(None)[1])

    def remove_core(self, name: str) -> None:
        """Stage the removal of a core; raises UsageError when there is none of this name."""
        cores.remove_core(self.repo, name)

    def restore_core(self, name: str, revision: str = "HEAD") -> CoreInfo:
        """Stage a core as it is in a revision, which also resolves a conflict; raises UsageError where it is not."""
        snapshot = self._snapshot(revision)
        name = cores.core_name(name, lambda each: snapshot.find_key(CORES + each) is not None)
        oid = cores.restore_core(self.repo, name, snapshot)
        return cores.read_core(self.repo.store, name, oid, self._cores_of(None)[1])

    def cores(self, revision: str | None = None) -> list[CoreInfo]:
        """The cores of a revision (as staged without one), by name."""
        found, find = self._cores_of(revision)
        return [cores.read_core(self.repo.store, name, oid, find) for name, oid in found.items()]

    def core(self, name: str, revision: str | None = None) -> CoreInfo:
        """One core, by its name or as `core:NAME`; raises UsageError when there is none of this name."""
        found, find = self._cores_of(revision)
        name = cores.core_name(name, found.__contains__)
        if name not in found:
            raise UsageError(f"there is no core '{name}'", "run: arbor core list")
        return cores.read_core(self.repo.store, name, found[name], find)

    def _cores_of(self, revision: str | None) -> tuple[dict[str, bytes], Find]:
        """The cores of a revision (as staged without one), and how to look up their sources there."""
        if revision is None:
            return cores.list_cores(self.repo), partial(self.repo.stage().find, self.repo.store)
        snapshot = self._snapshot(revision)
        return cores.list_cores(self.repo, snapshot), snapshot.find_key

    def check_cores(
        self, names: Sequence[str] = (), revision: str | None = None, *, rerun: bool = True
    ) -> list[CoreState]:
        """The state of the named cores of a revision (HEAD without one), or of all of them.

        Raises:
            UsageError: when there is no core of a name.
        """
        commit = self.repo.refs.head_oid() if revision is None else self._commit(revision)
        snapshot = self.repo.snapshot(commit)
        found = dict(snapshot.cores())
        names = [cores.core_name(name, found.__contains__) for name in names]
        unknown = [name for name in names if name not in found]
        if unknown:
            raise UsageError(
                f"there is no core '{unknown[0]}'", "run: arbor core list; a staged one is committed first"
            )
        checker = core_check.CoreChecker(self.repo, snapshot, commit, rerun=rerun)
        asked = list(names or found)
        place = {oid: at for at, oid in enumerate(checker.in_order(found[name] for name in asked))}
        ordered = sorted(asked, key=lambda name: place[found[name]])
        states = {name: checker.check(name, found[name]) for name in ordered}
        return [states[name] for name in asked]

    # --- housekeeping

    def gc(self, *, grace_s: float = gc.GRACE_S, dry_run: bool = False) -> GcReport:
        """Drop what nothing has reached for the grace period, and merge packs.

        Raises:
            UsageError: for a time below 0.
            IntegrityError: when something reachable is absent or damaged: then nothing is dropped.
            Locked: when another writer holds the lock.
        """
        return gc.collect(self.repo, grace_s=grace_s, dry_run=dry_run)

    def records(self, *, limit: int | None = None) -> list[Record]:
        """The journal's records, newest first; raises UsageError for a limit below 0."""
        if limit is not None and limit < 0:
            raise UsageError("the number of records to show is 0 or more")
        found = list(self.journal.records())[::-1]
        return found if limit is None else found[:limit]

    def check_journal(self) -> JournalReport:
        """Every range of the journal that is not as it was written."""
        return self.journal.check()


def _is_folder(fs_path: Path) -> bool:
    """Whether a folder is there; a name that is too long is an error of its own, which some of pathlib hides."""
    try:
        return stat.S_ISDIR(os.stat(fs_path).st_mode)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise
        return False
