"""Cores in a merge: what two sides wrote in two ways is for a person to decide on, what was distilled is not."""

from __future__ import annotations

from collections.abc import Mapping

from arbor.objects.ledger_diff import Change
from arbor.objects.model import Derivation, Document
from arbor.records import dataclass
from arbor.repo.distillation.core_binding import Find, changed_sources, get_derivation
from arbor.repo.distillation.cores import MANUAL
from arbor.repo.file_bytes import read_document
from arbor.repo.snapshot import CORES
from arbor.store.odb import ObjectStore


@dataclass(frozen=True, slots=True)
class CoreChoice:
    """What a merge makes of a core that both sides changed.

    Attributes:
        oid: The core; None where it is gone. Where there is a `reason`, what is staged until somebody decides.
        reason: Why it is in conflict; "" where it is not.
        is_stale: Whether neither side's core was made from what its sources are after the merge.
    """

    oid: bytes | None
    reason: str = ""
    is_stale: bool = False


class CoreMerge:
    """The cores that both sides changed, chosen one after the other, those that others are made from first.

    A text is what counts: cores of one text are one core. Cores that the same distiller made anew on both sides with
    the same parameters are no two opinions either: the one made from what the sources are after the merge is taken;
    where neither was, one of them in an order that does not depend on who merges, and it is told as stale, since to
    distill again is all that a person could do about it.
    """

    def __init__(self, store: ObjectStore, pairs: Mapping[str, tuple[Change, Change]], find: Find) -> None:
        """Begin.

        Args:
            store: Where the cores are.
            pairs: Our change and theirs by ledger key, of cores that they left different.
            find: What the merge holds under any other ledger key.
        """
        self._store = store
        self._pairs = pairs
        self._merged = find
        self._chosen: dict[str, CoreChoice] = {}
        self._under_way: set[str] = set()

    def choose(self, key: str) -> CoreChoice:
        """What becomes of one of the cores; raises IntegrityError when one cannot be read."""
        if key not in self._chosen:
            self._under_way.add(key)
            self._chosen[key] = self._decide(*self._pairs[key])
        return self._chosen[key]

    def _decide(self, ours: Change, theirs: Change) -> CoreChoice:
        if ours.after is None or theirs.after is None:
            reason = "deleted here, changed there" if ours.after is None else "changed here, deleted there"
            return CoreChoice(ours.after or theirs.after, reason)
        (mine, how), (other, other_how) = self._read(ours.after), self._read(theirs.after)
        if not _say_the_same(mine, other) and not _made_alike(how, other_how):
            return CoreChoice(ours.after, "both changed it" if ours.before else "added on both sides")
        current = [
            oid
            for oid, made in ((ours.after, how), (theirs.after, other_how))
            if not changed_sources(self._store, made, self._find)
        ]
        return CoreChoice(max(current or [ours.after, theirs.after]), is_stale=not current)

    def _read(self, oid: bytes) -> tuple[Document, Derivation]:
        document = read_document(self._store, oid)
        return document, get_derivation(self._store, document)

    def _find(self, key: str) -> bytes | None:
        """What the merge holds under a key; of cores that name each other the later one counts as it was here."""
        if key in self._pairs and key not in self._under_way:
            return self.choose(key).oid
        return self._chosen[key].oid if key in self._chosen else self._merged(key)


def _say_the_same(one: Document, other: Document) -> bool:
    return (one.text_root, one.title) == (other.text_root, other.title)


def _made_alike(one: Derivation, other: Derivation) -> bool:
    """Whether both are the work of one distiller, which would give one text for one source."""
    return one.distiller != MANUAL and (one.distiller, one.version, one.parameters) == (
        other.distiller, other.version, other.parameters,
    )  # fmt: skip


def is_core(key: str) -> bool:
    """Whether a ledger key is that of a core."""
    return key.startswith(CORES)
