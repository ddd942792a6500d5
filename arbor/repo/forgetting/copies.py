"""Where a document's bytes may be had again: files, folders, other knowledge bases, what others plug in.

A source is asked now and what it gives is hashed now; that it once had the bytes counts for nothing. Two
sources that lead to the same bytes on the disk (a link, a second name, this store itself) are one copy, or
none.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from arbor.errors import ArborError, IntegrityError, UsageError
from arbor.objects.ids import Kind, object_id
from arbor.objects.model import Document
from arbor.objects.paths import PRIVATE_FOLDER
from arbor.records import dataclass
from arbor.repo.config import DEFAULT_MAX_FILE_BYTES
from arbor.repo.file_bytes import is_same_file
from arbor.repo.forgetting.wanted import Wanted
from arbor.repo.importing.git_sources import GIT_SCHEME, GitRefused, is_gone, read_git_source
from arbor.repo.importing.known_sources import path_of
from arbor.repo.places import is_kb_folder
from arbor.repo.upkeep.gc import read_waiting
from arbor.repo.work_tree.worktree import read_file
from arbor.store.files import in_words
from arbor.store.leaving import read_leaving
from arbor.store.odb import ObjectStore
from arbor.store.store_id import served_as
from arbor.text.extraction import ChunkPolicy
from arbor.text.reading import extract

Fetch = Callable[[str], bytes]
"""Gives the bytes behind an http(s) address, or raises an ArborError."""

MayOpen = Callable[[str], bool]
"""Whether the file behind a `file:` URI may be opened: the URI is what a document says, and it may be anybody's."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a source gave for a document.

    Attributes:
        where: The place, for people.
        identity: Equal for two names of the same bytes on one disk; b"" where the bytes are this store's own.
        owner: The knowledge base whose folder the bytes lie in, b"" for none: its store and its files are one copy.
        servers: What servers of that knowledge base are identified by, where it lies on this machine.
        problem: Why the place, which should have the document, gives nothing now; "" where it gives something.
        gone: Whether that is so because nothing is there any more; else the place could not be asked.
        is_guess: Whether it is a file elsewhere that only has the document's name: another one, unless passages agree.
        data: The bytes of a file that is, or became, the document; None where chunks are given.
        chunks: Chunk bytes by oid, perhaps not all of them.
    """

    where: str
    identity: bytes
    data: bytes | None = None
    chunks: Mapping[bytes, bytes] = field(default_factory=dict)
    owner: bytes = b""
    servers: frozenset[bytes] = frozenset()
    problem: str = ""
    gone: bool = False
    is_guess: bool = False


class ByteSource(Protocol):
    """Somewhere a document's bytes may come from. It need not be trusted: what it gives is hashed."""

    @property
    def name(self) -> str:
        """What people call it."""

    def find(self, wanted: Wanted) -> Found | None:
        """What it has for a document now, or why not; None where nobody expects it there. Never raises for that."""


def give_back(wanted: Wanted, found: Found, policy: ChunkPolicy) -> dict[bytes, bytes]:
    """The chunks of a document that a source gives, each accepted by its own hash.

    Args:
        wanted: The document.
        found: What a source gave.
        policy: Passage sizes for cutting a changed or extracted text again.
    """
    missing = set(wanted.chunk_oids())
    accepted: dict[bytes, bytes] = {}
    for data in _candidates(wanted, found, policy):
        oid = object_id(Kind.CHUNK, data)
        if oid in missing:
            accepted[oid] = bytes(data)
    return accepted


def _candidates(wanted: Wanted, found: Found, policy: ChunkPolicy) -> Iterable[bytes | memoryview]:
    if found.data is None:
        yield from found.chunks.values()
        return
    refs, pieces = wanted.manifest.passages, wanted.manifest.original
    view = memoryview(found.data)
    yield from _slices(view, [size for _, size in pieces] or [ref.size for ref in refs])
    same = is_same_file(wanted.document, found.data)
    if pieces or not same:
        extraction = extract(found.data, wanted.paths[0], policy, extractor=wanted.document.extractor)
        text = b"".join([passage.data for passage in extraction.passages])
        yield from (passage.data for passage in extraction.passages)
        yield from _slices(memoryview(text), [ref.size for ref in refs])


def _slices(view: memoryview, sizes: Sequence[int]) -> Iterable[memoryview]:
    start = 0
    for size in sizes:
        yield view[start : start + size]
        start += size


def gives_everything(wanted: Wanted, found: Found, policy: ChunkPolicy) -> bool:
    """Whether what a source gave makes every chunk again, with this version of arbor."""
    if found.data is not None and not wanted.manifest.original:
        return is_same_file(wanted.document, found.data)
    return len(give_back(wanted, found, policy)) == len(wanted.chunk_oids())


def file_identity(fs_path: Path) -> bytes:
    """What two names of one file have in common, through links and bind mounts."""
    status = os.stat(fs_path)
    return f"file {status.st_dev} {status.st_ino}".encode()


class Owners:
    """The knowledge bases that files lie in, looked for once a folder: a source is asked for many files of each."""

    def __init__(self) -> None:
        self._by_folder: dict[Path, tuple[bytes, frozenset[bytes]]] = {}

    def owner_of(self, fs_path: Path) -> tuple[bytes, frozenset[bytes]]:
        """(owner, servers) of a file, as `Found` has them. Links in the path have been followed."""
        owner: tuple[bytes, frozenset[bytes]] = b"", frozenset()
        passed = []
        for folder in fs_path.parents:
            known = self._by_folder.get(folder)
            if known is not None:
                owner = known
                break
            passed.append(folder)
            if is_kb_folder(folder / PRIVATE_FOLDER):
                private = folder / PRIVATE_FOLDER
                owner = StoreSource.identity_of(private), served_as(private)
                break
        self._by_folder.update(dict.fromkeys(passed, owner))
        return owner


def read_copy(fs_path: Path, size: int) -> bytes:
    """The bytes of a file that may hold a document of this size, or what became of it.

    Raises:
        UsageError: when it is no regular file, which is told before it is opened: to open a device can do things; or
            when it is larger than any file that is added unasked, and than the document.
        OSError: as the system says.
    """
    if not stat.S_ISREG(os.lstat(fs_path).st_mode):
        raise UsageError(f"'{fs_path}' is not a regular file")
    return read_file(fs_path, max(DEFAULT_MAX_FILE_BYTES, size))[0]


class FolderSource:
    """A folder that holds the document under its path, or anywhere under another name."""

    def __init__(self, folder: Path, private: Path | None = None) -> None:
        self.name = str(folder)
        self._folder = folder
        self._private = private.resolve() if private is not None else None
        self._owners = Owners()
        self._by_size: dict[int, list[Path]] | None = None
        self._by_name: dict[str, list[tuple[int, Path]]] | None = None

    def find(self, wanted: Wanted) -> Found | None:
        """The file at the document's path, any file with its bytes, or a changed file at its path or of its name."""
        size = wanted.document.size
        tried = [self._read(self._folder / path, size) for path in wanted.paths]
        at_path = [found for found in tried if found is not None]
        for found in at_path:
            if found.data is not None and is_same_file(wanted.document, found.data):
                return found
        found_whole = self._find_by_content(wanted.document)
        return found_whole or (at_path[0] if at_path else self._find_by_name(wanted))

    def _read(self, fs_path: Path, size: int) -> Found | None:
        try:
            real = fs_path.resolve(strict=True)
            if self._private is not None and real.is_relative_to(self._private):
                return None
            owner, servers = self._owners.owner_of(real)
            return Found(
                str(fs_path), file_identity(real), read_copy(real, size), owner=owner, servers=servers
            )
        except (OSError, ArborError, RuntimeError):
            return None

    def _files(self) -> dict[int, list[Path]]:
        if self._by_size is None:
            self._by_size = _files_by_size(self._folder)
        return self._by_size

    def _find_by_name(self, wanted: Wanted) -> Found | None:
        """Of the files with the document's own name, the one whose size is nearest: it may have passages of it."""
        if self._by_name is None:
            self._by_name = {}
            for size, files in self._files().items():
                for fs_path in files:
                    self._by_name.setdefault(fs_path.name, []).append((size, fs_path))
        names = {path.rpartition("/")[2] for path in wanted.paths}
        named = [found for name in sorted(names) for found in self._by_name.get(name, ())]
        nearest = min(
            named, key=lambda found: (abs(found[0] - wanted.document.size), str(found[1])), default=None
        )
        found = self._read(nearest[1], wanted.document.size) if nearest is not None else None
        return replace(found, is_guess=True) if found is not None else None

    def _find_by_content(self, document: Document) -> Found | None:
        for fs_path in self._files().get(document.size, ()):
            found = self._read(fs_path, document.size)
            if found is not None and found.data is not None and is_same_file(document, found.data):
                return found
        return None


def _files_by_size(folder: Path) -> dict[int, list[Path]]:
    by_size: dict[int, list[Path]] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in (".arbor", ".git"))
        for name in sorted(names):
            fs_path = Path(place) / name
            try:
                by_size.setdefault(fs_path.stat().st_size, []).append(fs_path)
            except OSError:
                continue
    return by_size


class WorkTreeSource:
    """The work tree's own files, at the document's paths only."""

    name = "the work tree"

    def __init__(self, fs_root: Path) -> None:
        self._fs_root = fs_root

    def find(self, wanted: Wanted) -> Found | None:
        """The file at one of the document's paths; a changed one where there is no other."""
        changed: Found | None = None
        for path in wanted.paths:
            fs_path = self._fs_root / path
            try:
                data = read_copy(fs_path, wanted.document.size)
                found = Found(str(fs_path), file_identity(fs_path), data)
            except (OSError, ArborError):
                continue
            if is_same_file(wanted.document, data):
                return found
            changed = changed or found
        return changed


class UriSource:
    """The source URI that a document was added with: a file or git commit that may be read, or http(s)."""

    name = "its source"

    def __init__(
        self, fetch: Fetch | None = None, private: Path | None = None, may_open: MayOpen = lambda uri: False
    ) -> None:
        self._fetch = fetch
        self._may_open = may_open
        self._owners = Owners()
        self._private = private.resolve() if private is not None else None

    def find(self, wanted: Wanted) -> Found | None:
        """What is behind the URI now, or why nothing is; None where there is none to ask."""
        uri, gone = wanted.document.source_uri, False
        try:
            return self._look(uri, urlsplit(uri).scheme, wanted.document.size)
        except (FileNotFoundError, NotADirectoryError):
            problem, gone = f"'{uri}' is not there any more", True
        except OSError as error:
            problem = f"'{uri}' cannot be read: {in_words(error)[0]}"
        except ArborError as error:
            problem = f"{error.message} ({error.hint})" if error.hint else error.message
            gone = isinstance(error, GitRefused) and is_gone(uri)
        except ValueError as error:
            problem = f"'{uri}' is not an address: {error}"
        return Found(uri, b"", problem=problem, gone=gone)

    def _look(self, uri: str, scheme: str, size: int) -> Found | None:
        if scheme in ("file", GIT_SCHEME) and not self._may_open(uri):
            return Found(uri, b"", problem=f"'{uri}' was not added from here, so it is not opened")
        if scheme == "file":
            return self._file(uri, size)
        if scheme == GIT_SCHEME:
            return Found(uri, b"git " + uri.partition("@")[0].encode(), read_git_source(uri))
        if scheme in ("http", "https") and self._fetch is not None:
            return Found(uri, b"uri " + uri.encode(), self._fetch(uri))
        return None

    def _file(self, uri: str, size: int) -> Found | None:
        fs_path = path_of(uri)
        if fs_path is None:
            return None
        real = Path(os.path.realpath(fs_path, strict=True))
        if real.is_dir():
            raise FileNotFoundError(f"'{fs_path}' is a folder now")
        if self._private is not None and real.is_relative_to(self._private):
            return Found(
                uri, b"", problem=f"'{uri}' is in this knowledge base's own folder, which is no copy"
            )
        owner, servers = self._owners.owner_of(real)
        return Found(uri, file_identity(real), read_copy(real, size), owner=owner, servers=servers)


class StoreSource:
    """The object store of another knowledge base on this machine."""

    def __init__(self, arbor_folder: Path, own: ObjectStore) -> None:
        self.folder = arbor_folder
        self.name = str(arbor_folder)
        self._store = ObjectStore(arbor_folder / "packs")
        is_own = _shares_files(arbor_folder / "packs", own.folder)
        self.identity = b"" if is_own else self.identity_of(arbor_folder)

    @staticmethod
    def identity_of(arbor_folder: Path) -> bytes:
        """What two names of one knowledge base have in common."""
        return b"store " + file_identity(arbor_folder / "packs")

    def find(self, wanted: Wanted) -> Found | None:
        """The chunks it has, read and hashed now."""
        chunks = {}
        for oid in wanted.chunk_oids():
            try:
                chunks[oid] = self._store.get_kind(oid, Kind.CHUNK)
            except IntegrityError:
                continue
        if not chunks:
            return None
        return Found(self.name, self.identity, None, chunks, servers=served_as(self.folder))

    def lacking(self, oids: Iterable[bytes]) -> set[bytes]:
        """Those of the chunks that are not stored there now, or are going, or wait to be collected."""
        oids, going = set(oids), read_leaving(self.folder) | read_waiting(self.folder)
        self._store.refresh()
        return set(self._store.absent(oids)) | (oids & going)

    def close(self) -> None:
        """Give file handles back."""
        self._store.close()


Identify = Callable[[bytes], tuple[bytes, str]]
"""Says of a place that gave a chunk what it is identified by, or b"" and why it is no copy to rely on."""


class ChunkSource:
    """A source that gives chunks by their oids over one connection: a remote, or a bundle.

    It is asked for the chunks of many documents at once, and only by the process that opened it.
    """

    forks = False

    def __init__(
        self, name: str, identity: bytes, fetch: Callable[[Sequence[bytes]], Iterable[tuple[bytes, bytes]]],
        identify: Identify | None = None,
        kept: Callable[[Sequence[bytes]], Iterable[bytes]] | None = None,
    ) -> None:  # fmt: skip
        """Open it.

        Args:
            name: What people call it.
            identity: As `Found.identity`, where `identify` does not say it.
            fetch: Gives those of the chunks that the place has.
            identify: Asked once, when the place has given something; None where nobody relies on it.
            kept: Says which of the chunks the place is not letting go of; None where it never does, as a file.
        """
        self.name = name
        self._identify = identify
        self._kept = kept
        self._identity = identity
        self._problem = ""
        self._fetch = fetch
        self._at_hand: dict[bytes, bytes] = {}
        self._asked: set[bytes] = set()

    def prepare(self, wanted: Sequence[Wanted]) -> None:
        """Fetch the chunks of documents that will be asked for, in place of those of the last call."""
        oids = list(dict.fromkeys(oid for each in wanted for oid in each.chunk_oids()))
        self._asked, self._at_hand = set(oids), {}
        self._at_hand = dict(self._fetch(oids))

    def find(self, wanted: Wanted) -> Found | None:
        """The chunks it has of a document."""
        oids = wanted.chunk_oids()
        if not self._asked.issuperset(oids):
            self.prepare([wanted])
        chunks = {oid: self._at_hand[oid] for oid in oids if oid in self._at_hand}
        if chunks and self._identify is not None:
            self._identity, self._problem = self._identify(next(iter(chunks)))
            self._identify = None
        return Found(self.name, self._identity, None, chunks, problem=self._problem) if chunks else None

    def lacking(self, oids: Iterable[bytes]) -> set[bytes]:
        """Those of the chunks that the place does not keep, as far as it says."""
        asked = list(dict.fromkeys(oids))
        return set(asked).difference(self._kept(asked)) if self._kept is not None and asked else set()


def prepare_sources(sources: Iterable[ByteSource], wanted: Sequence[Wanted]) -> None:
    """Tell those that want to know which documents come next."""
    for source in sources:
        prepare = getattr(source, "prepare", None)
        if prepare is not None:
            prepare(wanted)


def may_fork(sources: Iterable[ByteSource]) -> bool:
    """Whether all of them can be asked from several processes."""
    return all(getattr(source, "forks", True) for source in sources)


def _shares_files(left: Path, right: Path) -> bool:
    """Whether two pack folders are one, or have a pack in common on the disk (by hard link, say)."""
    try:
        if os.path.samefile(left, right):
            return True
    except OSError:
        return False
    return not _inodes(left).isdisjoint(_inodes(right))


def _inodes(folder: Path) -> set[tuple[int, int]]:
    return {(status.st_dev, status.st_ino) for path in folder.glob("*.pack") for status in [path.stat()]}


def open_place(fs_path: Path, own: ObjectStore) -> list[ByteSource]:
    """The sources that a folder is: a knowledge base with its store, and the files in it."""
    sources: list[ByteSource] = []
    for folder in (fs_path / PRIVATE_FOLDER, fs_path):
        if is_kb_folder(folder):
            sources.append(StoreSource(folder, own))
            break
    return [*sources, FolderSource(fs_path, own.folder.parent)]
