"""What ties a core to its sources: whether the tie holds, is proven in a version, and to what is there now."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from arbor.errors import IntegrityError
from arbor.objects import merkle
from arbor.objects.ids import Kind, object_id
from arbor.objects.model import (
    CoreSource,
    Derivation,
    Document,
    decode_derivation,
    encode_document,
)
from arbor.records import dataclass
from arbor.repo.file_bytes import read_document
from arbor.repo.snapshot import CORES, Snapshot, shown_path
from arbor.store.odb import ObjectStore

Find = Callable[[str], bytes | None]
"""What a version or stage holds under a ledger key: the oid, None for nothing."""


@dataclass(frozen=True, slots=True)
class CoreOrigin:
    """A passage that a core was made from.

    Attributes:
        path: Its document's path then, or `core:NAME`.
        document: The document's oid.
        index, leaf: The passage's number in it, from 0, and its oid.
        changed: Whether another document is at this path in the version searched, or none: the core is stale.
    """

    path: str
    document: bytes
    index: int
    leaf: bytes
    changed: bool


def get_derivation(store: ObjectStore, document: Document) -> Derivation:
    """How a core was made.

    Raises:
        IntegrityError: when the document is no core, or its derivation is absent or damaged.
    """
    if document.kind != "core":
        raise IntegrityError("the document is not a core")
    return decode_derivation(store.get_kind(document.derivation, Kind.DERIVATION))


def changed_sources(store: ObjectStore, derivation: Derivation, find: Find) -> tuple[str, ...]:
    """The sources because of which a core is stale: ledger keys, in the order of the sources.

    Those where another document is now than the core was made from, or none; and cores that are stale themselves.

    Raises:
        IntegrityError: when a core among the sources cannot be read.
    """
    changed: dict[str, None] = {}
    for key, oid in dict.fromkeys((source.key, source.document) for source in derivation.sources):
        if find(key) != oid or (key.startswith(CORES) and changed_below(store, oid, find) is not None):
            changed[key] = None
    return tuple(changed)


def origins_of(store: ObjectStore, derivation: Derivation, find: Find) -> tuple[CoreOrigin, ...]:
    """What a core was made from, for reading; raises IntegrityError when a core among the sources cannot be read."""
    changed = changed_sources(store, derivation, find)
    return tuple(
        CoreOrigin(shown_path(source.key), source.document, source.index, source.leaf, source.key in changed)
        for source in derivation.sources
    )


def changed_below(store: ObjectStore, core: bytes, find: Find) -> CoreSource | None:
    """The first source of a core, or of a core below it, where another document is now; None where all is as it was."""
    return next((found for found in _sources_below(store, [core]) if find(found.key) != found.document), None)


def _sources_below(store: ObjectStore, cores: list[bytes]) -> Iterator[CoreSource]:
    """The sources of cores, of the cores among these, and so on; each core is opened once."""
    opened = set()
    while cores:
        oid = cores.pop()
        if oid in opened:
            continue
        opened.add(oid)
        document = read_document(store, oid)
        for source in get_derivation(store, document).sources:
            yield source
            if source.key.startswith(CORES):
                cores.append(source.document)


def broken_source(store: ObjectStore, derivation: Derivation) -> str:
    """Why a core's binding does not hold: "" when every source's leaf is proven into its document."""
    for source in derivation.sources:
        fault = _broken(store, source)
        if fault:
            return fault
    return "" if derivation.sources else "it names no source"


def _broken(store: ObjectStore, source: CoreSource) -> str:
    shown = shown_path(source.key)
    try:
        document = read_document(store, source.document)
    except IntegrityError as error:
        return f"the document of source '{shown}' cannot be read: {error.message}"
    if source.count != document.passage_count:
        return f"source '{shown}' does not have as many passages as its document"
    reached = merkle.root_from_path(source.leaf, source.index, document.passage_count, source.proof)
    if reached != document.text_root:
        return f"the leaf of source '{shown}' is not proven into its document"
    return ""


def unproven_source(snapshot: Snapshot, oid: bytes, document: Document) -> str:
    """Why the sources of a core are not proven in a version, for the audit of search hits.

    They are proven when each source passage, down to those of the cores it was made from, was read now and hashed to
    its leaf, the leaf is proven into its document, and the document is in the version under the recorded name.

    Returns:
        One reason, "" when all of them are.
    """
    store = snapshot.store
    try:
        if object_id(Kind.DOCUMENT, encode_document(document)) != oid:
            return "the core is not what its oid says"
        if not get_derivation(store, document).sources:
            return "the core names no source"
        for source in _sources_below(store, [oid]):
            fault = _broken(store, source) or _not_at_hand(snapshot, source)
            if fault:
                return fault
    except IntegrityError as error:
        return f"the sources of this core cannot be read: {error.message}"
    return ""


def _not_at_hand(snapshot: Snapshot, source: CoreSource) -> str:
    shown = shown_path(source.key)
    if snapshot.find_key(source.key) != source.document:
        return f"a source of this core has changed or is gone: '{shown}'"
    try:
        snapshot.chunk(source.leaf)
    except IntegrityError:
        state = "damaged" if snapshot.store.has(source.leaf) else "not stored here (cold)"
        return f"a source passage of this core is {state}: '{shown}'"
    return ""
