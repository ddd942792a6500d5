"""What the front desk hands out: frozen values with oids as hexadecimal digits."""

from __future__ import annotations

from arbor.records import dataclass
from arbor.repo.commits.messages import subject_of


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """One commit, for reading.

    Attributes:
        commit, ledger_root: Hexadecimal oids of the commit and of the ledger it holds.
        parents: Oids of its parents.
        author, author_email, committer, committer_email: Who wrote and who recorded it.
        author_time, commit_time: Seconds since 1970 UTC.
        author_offset, commit_offset: The local offsets from UTC in minutes.
        message: The whole message.
        refs: Short names of branches and tags that stand here.
        signed: Whether it carries a signature.
        followed: The path here, and before that commit where it was another, of a document that a log follows
            through renames.
    """

    commit: str
    ledger_root: str
    parents: tuple[str, ...]
    author: str
    author_email: str
    author_time: int
    author_offset: int
    committer: str
    committer_email: str
    commit_time: int
    commit_offset: int
    message: str
    refs: tuple[str, ...]
    signed: bool
    followed: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The first paragraph of the message, on one line."""
        return subject_of(self.message)


@dataclass(frozen=True, slots=True)
class TextDiff:
    """One document that differs, with the lines of a unified diff.

    Attributes:
        status: `A`, `M`, `D` or `R`.
        path, old_path: Where it is, and where it was before a rename; the same where it is none.
        similarity: Percent of common bytes for a rename.
        lines: A unified diff without line ends; empty when it was not asked for.
        added, removed: Lines added and removed.
        cold: (path, oid) of the versions whose text was asked for and is cold here.
    """

    status: str
    path: str
    old_path: str
    similarity: int
    lines: tuple[str, ...]
    added: int
    removed: int
    cold: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PassageInfo:
    """One passage of a document: its place, leaf hash and heading path, and whether its bytes are here."""

    index: int
    oid: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    heading: tuple[str, ...]
    here: bool


@dataclass(frozen=True, slots=True)
class LinkInfo:
    """One link found in a document's text; `line` is 1-based."""

    kind: str
    relation: str
    target: str
    anchor: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """One version of a document, for reading.

    Attributes:
        path, document: Where it is and its hexadecimal oid.
        kind: `surface` or `core`.
        media_type, title, source_uri, encoding: As stored; `title` falls back to the file's name.
        size: Bytes of the file.
        file_hash: Plain BLAKE3 of the file, as `b3sum` prints it.
        text_root: Merkle root over the passages.
        extractor, chunker: What made the passages.
        front_matter: The document's own metadata.
        tier: `hot`, `warm` or `cold`, in this knowledge base.
        passages, links: What it consists of; the links of a document that is not all here are not known.
    """

    path: str
    document: str
    kind: str
    media_type: str
    title: str
    source_uri: str
    encoding: str
    size: int
    file_hash: str
    text_root: str
    extractor: str
    chunker: str
    front_matter: dict[str, object]
    tier: str
    passages: tuple[PassageInfo, ...]
    links: tuple[LinkInfo, ...]
