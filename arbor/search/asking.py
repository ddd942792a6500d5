"""Searching a repository: the index kept open and current, the revision asked for, and a second try when it moved."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from arbor.errors import IntegrityError, Locked, StorageError, UsageError
from arbor.index import access
from arbor.index.cache_lock import Told
from arbor.index.disk_errors import ConsensusDamaged
from arbor.index.reader import IndexDamaged, IndexMoved, IndexReader
from arbor.index.schema import stamp_for
from arbor.objects.model import Commit
from arbor.repo.commits import history
from arbor.repo.commits.revisions import resolve
from arbor.repo.config import Policy
from arbor.repo.distillation.core_binding import unproven_source
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.search.changed_files import read_changed_files
from arbor.search.labels import LabelDesk, label_hooks
from arbor.search.lending import ReaderDesk
from arbor.search.options import SearchOptions
from arbor.search.profiles import choose_profile, parse_profiles
from arbor.search.query import Query
from arbor.search.ranking import ProfileRanker
from arbor.search.results import AuditMode, Hit, SearchResult
from arbor.search.searching import Searcher, parse
from arbor.text.extraction import Extraction

_TRIES = 3


def parse_options(mode: str, limit: int, passages: int, raw: bool, kind: str) -> SearchOptions:
    """How to search, the mode by name in any case; raises UsageError for another word or a number out of range."""
    try:
        found = AuditMode[mode.upper()]
    except KeyError:
        raise UsageError(
            f"'{mode}' is not an audit mode", "the modes are STRICT, HYBRID and VISUAL"
        ) from None
    return SearchOptions(found, limit, passages, raw, kind)


class _Wishes(NamedTuple):
    """What a caller of `Asker.search` wants."""

    query: Query
    options: SearchOptions
    revision: str | None
    rank: str | None
    working_copy: bool | None

    @property
    def looks_beside(self) -> bool:
        """Whether files that are not committed as they are belong to the answer."""
        is_visual = self.options.mode is AuditMode.VISUAL
        return is_visual if self.working_copy is None else is_visual and self.working_copy


def _could_be_labelled(hit: Hit) -> bool:
    """Whether consensus speaks of a hit at all: not of cores, nor of files that are not committed as they are."""
    return hit.kind != "core" and bool(hit.document)


class Asker:
    """One repository's search desk. Safe from several threads; readers are kept open between searches."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._searcher = Searcher()
        self._readers = ReaderDesk()
        self._labels = LabelDesk(repo)

    @property
    def _cache(self) -> Path:
        return self._repo.folder / "cache"

    def search(
        self, query: str, options: SearchOptions, *, at: str | None = None, rank: str | None = None,
        working_copy: bool | None = None, progress: Told | None = None,
    ) -> SearchResult:  # fmt: skip
        """Search HEAD, or the revision that `at` or the query's `rev:` names.

        Args:
            query: As typed.
            options: Mode, limits.
            at: A revision.
            rank: A ranking profile; the policy's default without.
            working_copy: Also look at files that are not committed as they are, where HEAD is searched; only VISUAL
                shows them, and None means as the mode does.
            progress: Told in a sentence when an index has to be made first.

        Raises:
            UsageError: when the query, the revision or the profile is not understood.
            IntegrityError: when stored objects are damaged. VISUAL, which claims nothing, then answers from the index
                as it is, and calls the answer stale.
        """
        parsed = parse(query, options)
        if at is not None and parsed.rev and at != parsed.rev:
            raise UsageError("the query names one revision and --at another", "name one of them")
        revision = parsed.rev or None if at is None else at
        wishes = _Wishes(parsed, options, revision, rank, working_copy)
        try:
            return self._search_version(wishes, progress)
        except IntegrityError as error:
            if options.mode is not AuditMode.VISUAL or revision is not None:
                raise
            result = self._search_as_is(wishes, error)
            if result is None:
                raise
            return result

    def _search_version(self, wishes: _Wishes, progress: Told | None) -> SearchResult:
        """Search the version that is wished for, through its own index."""
        options, parsed = wishes.options, wishes.query
        head = self._repo.refs.head_oid()
        oid = head if wishes.revision is None else resolve(self._repo, wishes.revision)
        snapshot = self._repo.snapshot(oid)
        policy, broken = self._policy(snapshot)
        notes = [f"{broken.message}; it is left aside"] if broken else []
        try:
            profile = choose_profile(policy.section("ranking"), wishes.rank)
        except UsageError as error:
            raise (broken or error) from error  # the profile may be named in what cannot be read
        changed = self._changed_since(oid) if (parsed.since, parsed.until) != (None, None) else None
        needs_labels = profile.consensus > 0 or bool(parsed.labels)
        files = self._changed_files(snapshot, policy, wishes, notes) if oid == head else None

        def ask() -> SearchResult:
            with self._labels.at(snapshot, required=needs_labels, progress=progress) as (consensus, lack):
                hooks = replace(options.hooks, paths_changed_since=changed, **label_hooks(consensus))
                chosen = replace(options, hooks=hooks, check_core=options.check_core or unproven_source)
                if not profile.is_plain:
                    ranker = ProfileRanker(profile, snapshot, consensus, parsed.text)
                    chosen = replace(chosen, ranker=ranker)
                result = self._ask(snapshot, parsed, chosen, files, progress, current=oid == head)
                lacking = [lack] if lack and any(map(_could_be_labelled, result.hits)) else []
                return replace(result, rev=oid or b"", notes=(*result.notes, *notes, *lacking))

        try:
            return ask()
        except ConsensusDamaged:
            self._labels.distrust()
            return ask()

    def _search_as_is(self, wishes: _Wishes, error: IntegrityError) -> SearchResult | None:
        """What the index holds, of whatever version, where the store is too damaged to say; None without an index."""
        reader = access.open_as_is(self._cache)
        if reader is None or reader.stamp is None:
            return None
        with reader:
            snapshot = Snapshot(self._repo.store, bytes.fromhex(reader.stamp.ledger_root))
            try:
                result = self._searcher.search(snapshot, reader, wishes.query, wishes.options)
            except IntegrityError:
                return None
        note = f"{error.message}: this is what the index holds"
        return replace(result, stale=True, notes=(*result.notes, note))

    def _policy(self, snapshot: Snapshot) -> tuple[Policy, UsageError | None]:
        """The policy of the work tree; where somebody broke the file, the committed one or the defaults, and why."""
        try:
            policy = self._repo.policy()
            parse_profiles(policy.section("ranking"))
        except UsageError as error:
            policy = self._repo.committed_policy(snapshot)
            try:
                parse_profiles(policy.section("ranking"))
            except UsageError:
                policy = Policy()
            return policy, error
        return policy, None

    def _changed_files(
        self, snapshot: Snapshot, policy: Policy, wishes: _Wishes, notes: list[str]
    ) -> dict[str, Extraction | None] | None:
        """What differs in the work tree from a version: new and edited files as read now, None for those gone."""
        if self._repo.fs_root is None or not wishes.looks_beside:
            return None
        try:
            changed = read_changed_files(self._repo, snapshot, policy)
        except IntegrityError as error:
            if wishes.working_copy:
                raise
            notes.append(f"without the working copy: {error.message}")
            return None
        if changed.unread:
            why = "being too many, too large or unreadable"
            notes.append(f"changed files that were not searched, {why}: {changed.unread:,}")
        return changed.files

    def _ask(
        self, snapshot: Snapshot, query: Query, options: SearchOptions,
        files: Mapping[str, Extraction | None] | None, progress: Told | None, *, current: bool,
    ) -> SearchResult:  # fmt: skip
        damaged = moving = False
        for attempt in range(_TRIES):
            with self._lent(snapshot, progress, current=current, private=damaged, alone=moving) as reader:
                try:
                    return self._searcher.search(snapshot, reader, query, options, files)
                except (IndexMoved, IndexDamaged) as error:
                    if attempt == _TRIES - 1:
                        raise
                    self._readers.forget(reader)
                    if isinstance(error, IndexDamaged):
                        damaged = not self._discard(snapshot)
                    else:
                        moving = attempt == _TRIES - 2
        raise AssertionError("unreachable")

    def _discard(self, snapshot: Snapshot) -> bool:
        """Remove a damaged index; whether that could be done."""
        try:
            access.discard(self._cache, snapshot)
        except (Locked, StorageError):
            return False
        return True

    @contextlib.contextmanager
    def _lent(
        self, snapshot: Snapshot, progress: Told | None, *, current: bool, private: bool, alone: bool
    ) -> Iterator[IndexReader]:
        """An index of the version; that of the current one is kept open from one search to the next.

        Args:
            snapshot: The version.
            progress: Told in a sentence when it will take a while.
            current: It is HEAD's version.
            private: What is on disk is damaged and cannot be replaced.
            alone: Others keep moving what is on disk on to newer versions.
        """
        if private or alone or not current:
            with (
                access.build_private(snapshot, progress)
                if private
                else access.open_private(self._cache, snapshot, progress)
                if alone
                else access.open_at(self._cache, snapshot, progress=progress)
            ) as reader:
                yield reader
            return
        reader = self._borrow(snapshot) or self._open(snapshot, progress)
        try:
            yield reader
        finally:
            self._readers.give_back(reader)

    def _borrow(self, snapshot: Snapshot) -> IndexReader | None:
        """The index that is kept, if it is of this version."""
        reader = self._readers.borrow()
        if reader is None or (reader.stamp == stamp_for(snapshot) and reader.is_current_file()):
            return reader
        self._readers.forget(reader)
        self._readers.give_back(reader)
        return None

    def _open(self, snapshot: Snapshot, progress: Told | None) -> IndexReader:
        """The index of the current version, opened now and kept."""
        reader = access.bring_up_to_date(self._cache, snapshot, progress=progress)
        self._readers.keep(reader)
        return reader

    def _changed_since(self, oid: bytes | None) -> Callable[[int], set[str]]:
        """Dates documents that name none: by the commits that changed their path."""

        @functools.cache  # a query may have both `since:` and `until:`, and the log is walked once
        def log() -> list[Commit]:
            return [entry.commit for entry in history.iter_log(self._repo, [oid])] if oid is not None else []

        @functools.cache
        def changed_by(number: int) -> set[str]:
            commit = log()[number]
            after = Snapshot(self._repo.store, commit.ledger_root)
            return {each.key for each in after.changes_since(self._repo.root_before(commit))}

        def changed(moment: int) -> set[str]:
            late = (number for number, commit in enumerate(log()) if commit.committer.seconds >= moment)
            return set().union(*map(changed_by, late))

        return changed

    def reindex(self, progress: Told | None = None) -> float:
        """Make the index of HEAD from nothing, and the consensus too where it is damaged; seconds it took."""
        started = time.perf_counter()
        self._readers.forget()
        self._labels.mend()
        access.rebuild(self._cache, self._repo.head_snapshot(), progress)
        return time.perf_counter() - started

    def close(self) -> None:
        """Close the index and the consensus."""
        self._readers.forget()
        self._labels.close()
