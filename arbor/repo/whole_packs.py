"""Notes in the cache: these packs, all there were, hold what these commits reach and nothing else.

With it a whole knowledge base is sent without a walk, which takes most of the time of a clone or a bundle. A pack never
changes under its name, and what commits reach never changes either, so a note stays true for as long as its packs are
all there. A walk that finds every pack wanted writes one. A commit carries it on where it can tell without a walk: when
the packs that came since are its own and those of adds that stored nothing but what it holds. Merging packs renames.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from arbor.errors import IntegrityError, UsageError
from arbor.objects import codec
from arbor.objects.model import split_oids
from arbor.repo.repository import ADDED_FILE, Repository
from arbor.repo.tiers import read_tiers
from arbor.store.files import read_bounded, seal, unseal, write_atomically

NOTE_FILE = "whole-packs"
_NOTES_KEPT = 8
_MAX_NOTE_BYTES = 1 << 30


class Note(NamedTuple):
    """The packs of these names hold what the tips (commits and tag objects) reach, and nothing else."""

    tips: tuple[bytes, ...]
    packs: frozenset[str]


def read_notes(repo: Repository) -> list[Note]:
    """What is noted, newest first, of packs that are all there."""
    here = {pack.name for pack in repo.store.packs()}
    return [note for note in _read_all_notes(repo) if note.packs <= here]


def write_note(repo: Repository, tips: Iterable[bytes], packs: Iterable[str]) -> None:
    """Note that these packs hold what the tips reach, and nothing else; a read-only KB does without.

    Some older notes are kept: what was noted last may be left behind by an amend or a reset.

    Args:
        repo: Where.
        tips: Commits and tag objects.
        packs: The names of the very packs that were looked at; others may have come since.
    """
    new = Note(tuple(sorted(set(tips))), frozenset(packs))
    kept = [new, *(note for note in read_notes(repo) if note.tips != new.tips)]
    _write_notes(repo, kept if len(kept) <= _NOTES_KEPT else [*kept[: _NOTES_KEPT - 1], kept[-1]])


def note_added(repo: Repository, pack: str | None, documents: Collection[bytes] | None) -> None:
    """Remember what an add stored, for the commit. Call it under the writer lock.

    Args:
        repo: Where.
        pack: The pack that was written; None for none.
        documents: All that it was written for; None where parts of something else may be in it.
    """
    if pack is None:
        return
    known = _read_added(repo)
    if documents is not None and known is not None:
        _write(repo, ADDED_FILE, dict(sorted({**known, pack: b"".join(documents)}.items())))
    else:  # the next commit cannot tell
        _write(repo, ADDED_FILE, {})


def carry_on(
    repo: Repository, parent: bytes | None, commit: bytes, pack: str | None, values: Iterable[bytes | None]
) -> None:
    """Carry the newest note on to a new commit if that can be told. Call it under the writer lock.

    Args:
        repo: Where.
        parent: The commit's only parent; None for a first commit.
        commit: The new commit.
        pack: The pack that was written for it.
        values: What its ledger has that its parent's has not.
    """
    note = next(iter(read_notes(repo)), Note((), frozenset()))
    added = _read_added(repo) or {}
    with contextlib.suppress(OSError):
        (repo.folder / "cache" / ADDED_FILE).unlink(missing_ok=True)
    packs = {each.name for each in repo.store.packs()}
    fresh = packs - note.packs - {pack}
    stored = {oid for name in fresh for oid in split_oids(added.get(name, b""))}
    if fresh <= added.keys() and stored <= set(values) and not read_tiers(repo.folder).cold:
        write_note(repo, {*note.tips, commit} - {parent}, packs)


def follow_merge(repo: Repository, before: Collection[str]) -> None:
    """Name the pack that took the place of others in the notes that named all of those. Call it under the writer lock.

    Args:
        repo: Where.
        before: The names of all packs before they were merged.
    """
    now = {pack.name for pack in repo.store.packs()}
    gone, made = set(before) - now, now - set(before)
    notes = [
        Note(note.tips, (note.packs - gone) | made) for note in _read_all_notes(repo) if gone <= note.packs
    ]
    _write_notes(repo, [note for note in notes if note.packs <= now])


def _read_all_notes(repo: Repository) -> list[Note]:
    try:
        return [Note(tuple(tips), frozenset(names)) for tips, names in codec.decode(_read(repo, NOTE_FILE))]
    except (OSError, IntegrityError, ValueError, TypeError):
        return []


def _write_notes(repo: Repository, notes: Iterable[Note]) -> None:
    _write(repo, NOTE_FILE, [[note.tips, sorted(note.packs)] for note in notes])


def _read_added(repo: Repository) -> dict[str, Any] | None:
    """Pack name to the documents that it was written for; None where what is remembered is damaged."""
    try:
        found = codec.decode(_read(repo, ADDED_FILE))
    except FileNotFoundError:
        return {}
    except (OSError, IntegrityError):
        return None
    return found if isinstance(found, dict) else None


def _read(repo: Repository, name: str) -> bytes:
    return unseal(read_bounded(repo.folder / "cache" / name, _MAX_NOTE_BYTES), "a note on packs")


def _write(repo: Repository, name: str, value: codec.Value) -> None:
    with contextlib.suppress(OSError, UsageError):  # read-only, or more than a note can hold
        (repo.folder / "cache").mkdir(exist_ok=True)
        write_atomically(repo.folder / "cache" / name, seal(codec.encode(value)), durable=False)
