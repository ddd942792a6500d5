"""The object model: documents, their manifests, commits, tags and derivations, with one encoding each.

Every object is an array with a fixed field order that begins with its schema version. `docs/format/objects.md`
gives the bytes. `encode_x` and `decode_x` come in pairs; a foreign object is decoded with `trusted=False`, which
also proves that its encoding is the canonical one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, NamedTuple, TypeVar

from arbor.errors import IntegrityError
from arbor.lazy import lazy_pattern
from arbor.objects import codec
from arbor.objects.ids import OID_BYTES
from arbor.objects.links import Rows, check_rows
from arbor.records import dataclass

SCHEMA = 1
MANIFEST_SCHEMA = 2
MAX_HEADINGS = 128
"""How long a heading path may be: each passage is written as its difference to the one before, so that without a bound
a small manifest could come to any number of them. No reader makes more than 64 levels."""
KINDS = ("surface", "core")
ENCODINGS = frozenset(
    """
    utf-8 utf-16-le utf-16-be utf-32-le utf-32-be gb18030 big5hkscs cp932 euc_jp cp949 iso2022_jp koi8_r
    latin_1 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp874
    """.split()  # noqa: SIM905
)
"""All that is ever recorded. Nothing else is looked up, since a name may come from somebody else's object."""

_NAME = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
_MEDIA_TYPE = lazy_pattern(f"{_NAME}/{_NAME}")
T = TypeVar("T")


class ChunkRef(NamedTuple):
    """One passage in a manifest: its oid (the Merkle leaf), bytes, newlines inside it, and heading path."""

    oid: bytes
    size: int
    newlines: int
    headings: Sequence[str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a document consists of: passages in order, pieces of the original file, and the links in the text.

    Attributes:
        passages: The passages; their oids are the leaves of `Document.text_root`.
        original: (oid, bytes) of the pieces of the original file where the passages are not the file itself.
        links: The links found in the text, in order, as `arbor.objects.links` stores them.
    """

    passages: tuple[ChunkRef, ...]
    original: tuple[tuple[bytes, int], ...]
    links: Rows = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One version of a document. It does not know its path, so equal files are one document.

    Attributes:
        kind: `surface` (came in) or `core` (distilled).
        media_type: As found from content and name.
        title: From the content only; "" where the content names none.
        source_uri: Where it came from, "" for a file of the work tree.
        encoding: The text encoding of the file, "" where it has none.
        size: Bytes of the original file.
        file_hash: Plain BLAKE3-256 of the file's bytes.
        extractor, chunker, canonicalisation: Names with versions, enough to make the same passages again.
        passage_count, text_root: Leaves and RFC 9162 root over the passages.
        original_count, original_root: The same over the pieces of the original; 0 and b"" where not needed.
        manifest: Oid of the manifest.
        front_matter: The document's own metadata, without floats.
        derivation: Oid of the derivation of a core, b"" for a surface.
    """

    kind: str
    media_type: str
    title: str
    source_uri: str
    encoding: str
    size: int
    file_hash: bytes
    extractor: str
    chunker: str
    canonicalisation: str
    passage_count: int
    text_root: bytes
    original_count: int
    original_root: bytes
    manifest: bytes
    front_matter: dict[str, Any] = field(default_factory=dict)
    derivation: bytes = b""


class Signature(NamedTuple):
    """Who did something and when: seconds since 1970 UTC and the local offset in minutes."""

    name: str
    email: str
    seconds: int
    offset_minutes: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A version of the knowledge base.

    Attributes:
        ledger_root: Root of the ledger: the Merkle root of everything this commit holds.
        parents: Oids, the first one being the branch that was committed to.
        author, committer: Who wrote and who recorded it.
        message: The message, as given.
        policy: Versions and policy in force (chunker, canonicalisation, policy hash ...), all strings.
        log_size, log_peaks: The RFC 6962 log of the first-parent ancestors (this commit not included), as its size
            and the roots of its perfect subtrees.
        seal: An armoured signature over the encoding without it; "" where unsigned.
    """

    ledger_root: bytes
    parents: tuple[bytes, ...]
    author: Signature
    committer: Signature
    message: str
    policy: dict[str, str]
    log_size: int
    log_peaks: tuple[bytes, ...]
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Tag:
    """A named pointer to a commit, with a message and perhaps a seal."""

    target: bytes
    name: str
    tagger: Signature
    message: str
    seal: str = ""


class CoreSource(NamedTuple):
    """One source passage of a core, with the inclusion proof that binds it to its document; `key` is the ledger's."""

    key: str
    document: bytes
    index: int  # type: ignore[assignment]  # of no use as a tuple's method
    count: int  # type: ignore[assignment]
    leaf: bytes
    proof: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a core came to be.

    Attributes:
        distiller, version: The distiller's name and version; "manual" for text written by a person or an agent.
        parameters: Its parameters, without floats.
        ledger_root: A ledger of the documents whose statistics it used, and of nothing else; b"" where it used none.
        sources: The passages it was made from, in order.
    """

    distiller: str
    version: int
    parameters: dict[str, Any]
    ledger_root: bytes
    sources: tuple[CoreSource, ...]


def shared_length(before: Sequence[str], after: Sequence[str]) -> int:
    """How many leading items two sequences share."""
    shared = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        shared += 1
    return shared


def encode_manifest(manifest: Manifest) -> bytes:
    """The canonical bytes of a manifest, a column after the other.

    A passage's heading path is written as the number of leading headings it shares with the passage before, and
    the rest.
    """
    leaves, sizes, newlines, shared, rests = [], [], [], [], []
    before: Sequence[str] = ()
    for oid, size, lines, headings in manifest.passages:
        leaves.append(oid)
        sizes.append(size)
        newlines.append(lines)
        same = shared_length(before, headings)
        shared.append(same)
        rests.append(headings[same:])
        before = headings
    pieces = b"".join([oid for oid, _ in manifest.original])
    return codec.encode([
        MANIFEST_SCHEMA, b"".join(leaves), sizes, newlines, shared, rests, pieces,
        [size for _, size in manifest.original], manifest.links,
    ])  # fmt: skip


def decode_manifest(data: bytes, *, trusted: bool = False) -> Manifest:
    """The manifest of canonical bytes; raises IntegrityError for anything else."""
    row = _fields(data, 9, "manifest", trusted, MANIFEST_SCHEMA)

    def make() -> Manifest:
        check_rows(row[8])
        original = tuple(zip(split_oids(row[6]), _counts(row[7]), strict=True))
        return Manifest(_passages(*row[1:6]), original, row[8])

    return _built("manifest", make)


def split_oids(joined: bytes) -> list[bytes]:
    """The oids of a byte string that holds one after the other.

    Raises:
        ValueError: when it is something else.
    """
    if type(joined) is not bytes or len(joined) % OID_BYTES:
        raise ValueError("oids")
    return [joined[start : start + OID_BYTES] for start in range(0, len(joined), OID_BYTES)]


def encode_document(document: Document) -> bytes:
    """The canonical bytes of a document whose front matter is canonical already."""
    d = document
    return codec.encode([
        SCHEMA, d.kind, d.media_type, d.title, d.source_uri, d.encoding, d.size, d.file_hash, d.extractor, d.chunker,
        d.canonicalisation, d.passage_count, d.text_root, d.original_count, d.original_root, d.manifest,
        d.front_matter, d.derivation,
    ])  # fmt: skip


def decode_document(data: bytes, *, trusted: bool = False) -> Document:
    """The document of canonical bytes; raises IntegrityError for anything else."""
    row = _fields(data, 18, "document", trusted)
    if trusted:
        return Document(*row[1:])
    return _built("document", lambda: _document(row))


def is_readable_as(media_type: str, encoding: str) -> bool:
    """Whether these name a media type (RFC 6838, section 4.2) and an encoding, or none where there is no text."""
    return _MEDIA_TYPE.fullmatch(media_type) is not None and (not encoding or encoding in ENCODINGS)


def _document(row: list[Any]) -> Document:
    kind, media_type, title, source_uri, encoding = _strings(row[1:6])
    if not is_readable_as(media_type, encoding):
        raise IntegrityError(
            "a document is of a media type or an encoding that is none, or that this version does not know"
        )
    if kind not in KINDS or not isinstance(row[16], dict):
        raise ValueError(kind)
    extractor, chunker, canonicalisation = _strings(row[8:11])
    if bool(row[17]) != (kind == "core") or bool(row[13]) != bool(row[14]):
        raise ValueError("derivation or original")
    return Document(
        kind, media_type, title, source_uri, encoding, _count(row[6]), as_oid(row[7]), extractor, chunker,
        canonicalisation, _count(row[11]), as_oid(row[12]), _count(row[13]), as_oid(row[14], optional=True),
        as_oid(row[15]), row[16], as_oid(row[17], optional=True),
    )  # fmt: skip


def encode_commit(commit: Commit) -> bytes:
    """The canonical bytes of a commit; with `seal=""` they are what a signature signs."""
    c = commit
    return codec.encode([
        SCHEMA, c.ledger_root, c.parents, c.author, c.committer, c.message, dict(sorted(c.policy.items())),
        c.log_size, c.log_peaks, c.seal,
    ])  # fmt: skip


def decode_commit(data: bytes, *, trusted: bool = False) -> Commit:
    """The commit of canonical bytes; raises IntegrityError for anything else."""
    row = _fields(data, 10, "commit", trusted)

    def make() -> Commit:
        policy = row[6]
        _strings(list(policy.values()))
        peaks = tuple(map(as_oid, _rows(row[8])))
        parents = tuple(map(as_oid, _rows(row[2])))
        if len(peaks) != _count(row[7]).bit_count() or bool(parents) != bool(peaks):
            raise ValueError("log")
        message, seal = _strings([row[5], row[9]])
        return Commit(
            as_oid(row[1]),
            parents,
            _signature(row[3]),
            _signature(row[4]),
            message,
            policy,
            row[7],
            peaks,
            seal,
        )

    return _built("commit", make)


def encode_tag(tag: Tag) -> bytes:
    """The canonical bytes of a tag; with `seal=""` they are what a signature signs."""
    return codec.encode([SCHEMA, tag.target, tag.name, tag.tagger, tag.message, tag.seal])


def decode_tag(data: bytes, *, trusted: bool = False) -> Tag:
    """The tag of canonical bytes; raises IntegrityError for anything else."""
    row = _fields(data, 6, "tag", trusted)

    def make() -> Tag:
        name, message, seal = _strings([row[2], row[4], row[5]])
        return Tag(as_oid(row[1]), name, _signature(row[3]), message, seal)

    return _built("tag", make)


def encode_derivation(derivation: Derivation) -> bytes:
    """The canonical bytes of a derivation whose parameters are canonical already."""
    d = derivation
    return codec.encode([SCHEMA, d.distiller, d.version, d.parameters, d.ledger_root, d.sources])


def decode_derivation(data: bytes, *, trusted: bool = False) -> Derivation:
    """The derivation of canonical bytes; raises IntegrityError for anything else."""
    row = _fields(data, 6, "derivation", trusted)

    def make() -> Derivation:
        if not isinstance(row[3], dict):
            raise ValueError("parameters")
        sources = tuple(
            CoreSource(_strings([s[0]])[0], as_oid(s[1]), _count(s[2]), _count(s[3]), as_oid(s[4]),
                       tuple(map(as_oid, _rows(s[5]))))
            for s in _rows(row[5])
            if _width(s, 6)
        )  # fmt: skip
        return Derivation(
            _strings([row[1]])[0], _count(row[2]), row[3], as_oid(row[4], optional=True), sources
        )

    return _built("derivation", make)


def derivation_documents(data: bytes) -> list[tuple[str, bytes]]:
    """(ledger key, document oid) of each source passage of an encoded derivation that was checked before."""
    sources: Any = codec.decode(data, trusted=True)[5]
    return [(source[0], source[1]) for source in sources]


def _fields(data: bytes, width: int, what: str, trusted: bool, schema: int = SCHEMA) -> list[Any]:
    row = codec.decode(data, trusted=trusted)
    if not isinstance(row, list) or not row or type(row[0]) is not int or row[0] != schema:
        raise IntegrityError(f"a {what} is of a schema this version does not know",
                             "another version of arbor wrote it; add the documents again with this one")  # fmt: skip
    if len(row) != width:
        raise IntegrityError(f"a {what} has {len(row)} fields instead of {width}")
    return row


def _built(what: str, make: Callable[[], T]) -> T:
    try:
        return make()
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise IntegrityError(f"a {what} has a field of the wrong type") from error


def _passages(leaves: bytes, sizes: Any, newlines: Any, shared: Any, rests: Any) -> tuple[ChunkRef, ...]:
    passages = []
    before: tuple[str, ...] = ()
    columns = split_oids(leaves), _counts(sizes), _counts(newlines), _counts(shared), _rows(rests)
    for oid, size, lines, same, rest in zip(*columns, strict=True):
        headings = before[:same] + _strings(rest)
        if same != shared_length(before, headings) or len(headings) > MAX_HEADINGS:
            raise ValueError("headings")
        passages.append(ChunkRef(oid, size, lines, headings))
        before = headings
    return tuple(passages)


def _rows(value: Any) -> list[Any]:
    """A list and nothing else: an empty string or map would be read as no rows at all."""
    if type(value) is list:
        return value
    raise ValueError("rows")


def as_oid(value: Any, *, optional: bool = False) -> bytes:
    """The value, when it is an oid, or with `optional` none at all; raises ValueError for anything else."""
    if type(value) is bytes and (len(value) == OID_BYTES or (optional and not value)):
        return value
    raise ValueError("oid")


def _count(value: Any) -> int:
    if type(value) is int and value >= 0:
        return value
    raise ValueError("count")


def _counts(values: Any) -> list[int]:
    return [_count(value) for value in _rows(values)]


def _strings(values: Sequence[Any]) -> tuple[str, ...]:
    if isinstance(values, (list, tuple)) and all(isinstance(value, str) for value in values):
        return tuple(values)
    raise ValueError("string")


def _width(row: Any, width: int) -> bool:
    if not isinstance(row, list) or len(row) != width:
        raise ValueError("width")
    return True


def _signature(row: Any) -> Signature:
    _width(row, 4)
    name, email = _strings(row[:2])
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in row[2:]):
        raise ValueError("time")
    return Signature(name, email, row[2], row[3])
