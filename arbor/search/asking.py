"""Searching a repository: the index kept open and current, the revision asked for, and a second try when it moved."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from arbor.errors import Locked, StorageError, UsageError
from arbor.index import access
from arbor.index.cache_lock import Told
from arbor.index.disk_errors import ConsensusDamaged
from arbor.index.reader import IndexDamaged, IndexMoved, IndexReader
from arbor.index.schema import stamp_for
from arbor.objects import ledger
from arbor.repo.core_binding import unproven_source
from arbor.repo.history import iter_log
from arbor.repo.repository import Repository
from arbor.repo.revisions import resolve
from arbor.repo.snapshot import Snapshot
from arbor.search.profiles import choose_profile
from arbor.search.query import Query
from arbor.search.ranking import LabelDesk, ProfileRanker, label_hooks
from arbor.search.results import AuditMode, SearchResult
from arbor.search.searching import Searcher, SearchOptions, parse
from arbor.search.working_copy import read_changed_files
from arbor.text.extraction import Extraction

_TRIES = 3


def parse_mode(text: str) -> AuditMode:
    """An audit mode by name, in any case; raises UsageError for another word."""
    try:
        return AuditMode[text.upper()]
    except KeyError:
        raise UsageError(
            f"'{text}' is not an audit mode", "the modes are STRICT, HYBRID and VISUAL"
        ) from None


class Asker:
    """One repository's search desk. Safe from several threads; readers are kept open between searches."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._searcher = Searcher()
        self._reader: IndexReader | None = None
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
            IntegrityError: when stored objects are damaged.
        """
        parsed = parse(query, options)
        if at is not None and parsed.rev and at != parsed.rev:
            raise UsageError("the query names one revision and --at another", "name one of them")
        revision = at or parsed.rev or None
        head = self._repo.refs.head_oid()
        oid = head if revision is None else resolve(self._repo, revision)
        snapshot = self._repo.snapshot(oid)
        profile = choose_profile(self._repo.policy().section("ranking"), rank)
        changed = self._changed_since(oid) if parsed.since is not None else None
        needs_labels = profile.consensus > 0 or bool(parsed.labels)
        beside = options.mode is AuditMode.VISUAL if working_copy is None else working_copy
        files = self._changed_files(snapshot) if beside and oid == head else None

        def ask() -> SearchResult:
            with self._labels.at(snapshot, required=needs_labels, progress=progress) as consensus:
                hooks = replace(options.hooks, paths_changed_since=changed, **label_hooks(consensus))
                chosen = replace(options, hooks=hooks, check_core=options.check_core or unproven_source)
                if not profile.is_plain:
                    ranker = ProfileRanker(profile, snapshot, consensus, parsed.text)
                    chosen = replace(chosen, ranker=ranker)
                return self._ask(snapshot, parsed, chosen, files, progress, current=oid == head)

        try:
            result = ask()
        except ConsensusDamaged:
            self._labels.distrust()
            result = ask()
        return replace(result, rev=oid or b"")

    def _changed_files(self, snapshot: Snapshot) -> dict[str, Extraction | None] | None:
        """What differs in the work tree from a version: new and edited files as read now, None for those gone."""
        if self._repo.fs_root is None:
            return None
        return read_changed_files(self._repo, snapshot)

    def _ask(
        self, snapshot: Snapshot, query: Query, options: SearchOptions,
        files: Mapping[str, Extraction | None] | None, progress: Told | None, *, current: bool,
    ) -> SearchResult:  # fmt: skip
        damaged = False
        for attempt in range(_TRIES):
            reader = self._open(snapshot, progress, current=current, private=damaged)
            try:
                return self._searcher.search(snapshot, reader, query, options, files)
            except IndexMoved:
                if attempt == _TRIES - 1:
                    raise
                self._forget()
            except IndexDamaged:
                if attempt == _TRIES - 1:
                    raise
                self._forget()
                damaged = not self._discard(snapshot)
            finally:
                if reader is not self._reader:
                    reader.close()
        raise AssertionError("unreachable")

    def _discard(self, snapshot: Snapshot) -> bool:
        """Remove a damaged index; whether that could be done."""
        try:
            access.discard(self._cache, snapshot)
        except (Locked, StorageError):
            return False
        return True

    def _open(
        self, snapshot: Snapshot, progress: Told | None, *, current: bool, private: bool
    ) -> IndexReader:
        """An index of the version; that of the current one is kept open from one search to the next.

        Args:
            snapshot: The version.
            progress: Told in a sentence when it will take a while.
            current: It is HEAD's version.
            private: What is on disk is damaged and cannot be replaced.
        """
        if private:
            return access.build_private(snapshot, progress)
        if not current:
            return access.open_at(self._cache, snapshot, progress=progress)
        reader = self._reader
        if reader is not None and reader.stamp == stamp_for(snapshot) and reader.is_current_file():
            return reader
        self._forget()
        self._reader = access.bring_up_to_date(self._cache, snapshot, progress=progress)
        return self._reader

    def _changed_since(self, oid: bytes | None) -> Callable[[int], set[str]]:
        """Dates documents that name none: by the commits that changed their path."""

        def changed(moment: int) -> set[str]:
            if oid is None:
                return set()
            roots = [
                entry.commit
                for entry in iter_log(self._repo, [oid])
                if entry.commit.committer.seconds >= moment
            ]
            paths: set[str] = set()
            for commit in roots:
                before = self._repo.ledger_root(commit.parents[0]) if commit.parents else ledger.EMPTY_LEDGER
                paths.update(
                    change.key
                    for change in Snapshot(self._repo.store, commit.ledger_root).changes_since(before)
                )
            return paths

        return changed

    def reindex(self) -> float:
        """Make the index of HEAD from nothing, and the consensus too where it is damaged; seconds it took."""
        started = time.perf_counter()
        self._forget()
        self._labels.mend()
        access.rebuild(self._cache, self._repo.snapshot(self._repo.refs.head_oid()))
        return time.perf_counter() - started

    def _forget(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def close(self) -> None:
        """Close the index and the consensus."""
        self._forget()
        self._labels.close()
