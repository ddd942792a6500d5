"""Importing what others have written: a git repository at a commit, an Open Knowledge Format folder, a MediaWiki dump.

Each document keeps where it came from as its source URI, exactly enough to find it again: the commit's full hash, the
revision of a page. Everything is streamed; nothing that is imported runs.
"""

from __future__ import annotations

import bz2
import gzip
import os
import re
import unicodedata
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import IO, BinaryIO
from urllib.parse import quote

from arbor.errors import ConflictError, UsageError
from arbor.objects.paths import path_fault
from arbor.processes import bounded_batches
from arbor.records import dataclass
from arbor.repo.importing.git_sources import GIT_SCHEME, git_command, iter_blobs, parse_git_address, run_git
from arbor.repo.importing.known_sources import remember, remember_file
from arbor.repo.importing.origins import came_from
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS
from arbor.repo.staging.adding import AddResult, Item, add_items
from arbor.repo.work_tree.restoring import remove
from arbor.repo.work_tree.worktree import read_file
from arbor.store.files import in_words
from arbor.store.journal import Journal

_MAX_BLOB_BYTES = 64 * 1024 * 1024
_HELD_ITEMS, _HELD_BYTES = 2000, 64 * 1024 * 1024
_MAX_PAGE_BYTES = 16 * 1024 * 1024
_SQL = re.compile(rb"^(-- (MySQL|MariaDB) dump|CREATE TABLE|INSERT INTO)\b", re.MULTILINE | re.IGNORECASE)
_UNSAFE = re.compile('[\x00-\x1f\x7f-\x9f\u2028\u2029\\\\/:*?"<>|]+')
_STEM_BYTES = 240
"""A longer name of an article is cut: with what comes behind it, it would be longer than a name may be."""
_OKF_SUFFIXES = (".md", ".markdown")

OnProgress = Callable[[int, int], object]
"""Called with (done, in all): files, or bytes of a dump, of which nobody knows how many articles it holds."""


def _untold(done: int, total: int) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import staged.

    Attributes:
        source: Where it came from: the commit's full hash is in it, or the dump's name.
        result: What was staged, and what was not taken.
    """

    source: str
    result: AddResult


def _import(
    repo: Repository,
    source: str,
    items: Iterator[Item],
    skipped: list[tuple[str, str]],
    overwrite: bool,
    same_source: str = "",
) -> ImportReport:
    """Stage items in groups and put the import into the journal."""
    total = AddResult()
    for group in bounded_batches(items, lambda item: len(item.data), _HELD_BYTES, _HELD_ITEMS):
        total = join_results([total, add_items(repo, group, overwrite=overwrite, same_source=same_source)])
    total = join_results([total, AddResult(skipped=tuple(skipped))])
    documents = len(total.added) + len(total.modified) + total.unchanged
    with repo.lock():
        details = {"source": source, "documents": documents, "skipped": len(total.skipped)}
        Journal(repo.folder).append("import", details)
    return ImportReport(source, total)


def join_results(results: Iterable[AddResult]) -> AddResult:
    """Several adds as one."""
    found = list(results)
    return AddResult(
        tuple(path for each in found for path in each.added),
        tuple(path for each in found for path in each.modified),
        tuple(path for each in found for path in each.removed),
        sum(each.unchanged for each in found),
        tuple(entry for each in found for entry in each.skipped),
        tuple(entry for each in found for entry in each.warnings),
    )


# --- git


def import_git(
    repo: Repository,
    address: str,
    *,
    prefix: str = "",
    overwrite: bool = False,
    progress: OnProgress = _untold,
) -> ImportReport:
    """Stage the files of a git repository, or of a folder in it, at a commit, read with the `git` program.

    What an earlier import from there staged, and nobody has changed since, follows: it is replaced, or removed.

    Args:
        repo: Where to.
        address: `git+file:///path@REVISION`; HEAD without a revision.
        prefix: Folder to put them in; the repository's name without one.
        overwrite: Replace files of the work tree that hold something else.
        progress: Called with (files read, files in all).

    Raises:
        UsageError: when the address is not one.
        RemoteError: when git is not installed, or there is no such repository or revision.
    """
    fs_path, revision = parse_git_address(address)
    commit = (
        run_git(fs_path, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        .decode()
        .strip()
    )
    origin = f"{GIT_SCHEME}://{quote(str(fs_path))}@{commit}"
    folder = prefix or fs_path.name.removesuffix(".git") or "git"
    skipped: list[tuple[str, str]] = []
    kept: set[str] = set()
    items = _noted(_git_items(fs_path, commit, origin, folder, skipped, progress), kept)
    same_source = origin.rpartition("@")[0] + "@"
    report = _import(repo, origin, items, skipped, overwrite, same_source)
    remember(repo, [(same_source, "", "", b"")])
    return replace(
        report, result=join_results([report.result, _remove_gone(repo, folder, same_source, kept)])
    )


def _noted(items: Iterator[Item], paths: set[str]) -> Iterator[Item]:
    """The items, whose paths are noted as they pass."""
    for item in items:
        paths.add(item.path)
        yield item


def _remove_gone(repo: Repository, folder: str, same_source: str, kept: set[str]) -> AddResult:
    """Stage the removal of what an earlier import from the same source staged and this one does not have."""
    stage = repo.stage()
    gone = [
        key[len(DOCUMENTS) :]
        for key, oid in stage.entries(repo.store, f"{DOCUMENTS}{folder}/").items()
        if key[len(DOCUMENTS) :] not in kept and came_from(repo, oid, same_source)
    ]
    removed: list[str] = []
    skipped: list[tuple[str, str]] = []
    for path in gone:
        try:
            removed += remove(repo, [path])
        except ConflictError as error:
            skipped.append((path, f"it is gone at the source, but here {error.message}"))
    return AddResult(removed=tuple(removed), skipped=tuple(skipped))


def _git_items(
    fs_path: Path,
    commit: str,
    origin: str,
    folder: str,
    skipped: list[tuple[str, str]],
    progress: OnProgress,
) -> Iterator[Item]:
    """The files of a commit, through one `git cat-file --batch`."""
    wanted = []
    for row in run_git(fs_path, "ls-tree", "-r", "-z", "--long", commit).split(b"\0"):
        head, _, raw = row.partition(b"\t")
        if not head:
            continue
        mode, kind, oid, size = head.decode().split()
        name = unicodedata.normalize("NFC", raw.decode("utf-8", "surrogateescape"))
        path = f"{folder}/{name}"
        fault = (
            "it is a submodule"
            if kind != "blob"
            else "it is a symbolic link"
            if mode == "120000"
            else path_fault(path)
        )
        if not fault and int(size) > _MAX_BLOB_BYTES:
            fault = "it is too large"
        if fault:
            skipped.append((raw.decode("utf-8", "replace"), fault))
        else:
            wanted.append((path, oid, f"{origin}#{quote(raw)}"))  # as git has it: it knows no other spelling
    blobs = iter_blobs(git_command(fs_path), [oid for _, oid, _ in wanted])
    for done, ((path, _, uri), data) in enumerate(zip(wanted, blobs, strict=True)):
        progress(done, len(wanted))
        yield Item(path, data, uri)


# --- Open Knowledge Format


def import_okf(
    repo: Repository,
    folder: Path,
    *,
    prefix: str = "",
    overwrite: bool = False,
    progress: OnProgress = _untold,
) -> ImportReport:
    """Stage an Open Knowledge Format bundle: a folder of Markdown files with YAML front matter.

    Concepts are the Markdown files; `index.md` and `log.md` come along as what they are. Other files are left out.
    `progress` is called with (files read, files in all).

    Raises:
        UsageError: when the folder holds no Markdown file.
    """
    if not folder.is_dir():
        raise UsageError(f"'{folder}' is not a folder")
    names = _markdown_names(folder)
    if not names:
        raise UsageError(f"'{folder}' holds no Markdown file, so it is no Open Knowledge Format folder")
    skipped: list[tuple[str, str]] = []
    items = _okf_items(folder, names, prefix or folder.resolve().name, skipped, progress)
    remember_file(repo, folder.resolve().as_uri())
    return _import(repo, folder.resolve().as_uri(), items, skipped, overwrite)


def _markdown_names(folder: Path) -> list[str]:
    names = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        names += [(Path(place) / name).relative_to(folder).as_posix() for name in sorted(files)
                  if name.lower().endswith(_OKF_SUFFIXES)]  # fmt: skip
    return names


def _okf_items(
    folder: Path, names: list[str], prefix: str, skipped: list[tuple[str, str]], progress: OnProgress
) -> Iterator[Item]:
    for done, name in enumerate(names):
        progress(done, len(names))
        try:
            data, _ = read_file(folder / name)
        except (OSError, UsageError) as error:
            skipped.append((name, str(error)))
            continue
        yield Item(f"{prefix}/{unicodedata.normalize('NFC', name)}", data, (folder / name).resolve().as_uri())


# --- MediaWiki


def import_mediawiki(
    repo: Repository, dump: Path, *, prefix: str = "", overwrite: bool = False, progress: OnProgress = _untold
) -> ImportReport:
    """Stage the articles of a MediaWiki XML dump (`pages-articles.xml`, also .bz2 or .gz), each as its wikitext.

    Args:
        repo: Where to.
        dump: The file; it is read in one pass and never held in memory.
        prefix: Folder to put them in; the wiki's database name without one.
        overwrite: Replace files of the work tree that hold something else.
        progress: Called with (bytes of the file read, bytes in all).

    Raises:
        UsageError: when the file is not such a dump.
    """
    skipped: list[tuple[str, str]] = []
    items = _wiki_items(dump, prefix, skipped, progress)
    return _import(repo, dump.resolve().as_uri(), items, skipped, overwrite)


def _open_dump(dump: Path) -> BinaryIO:
    try:
        return open(dump, "rb")
    except OSError as error:
        raise UsageError(f"'{dump}' cannot be read: {in_words(error)[0]}") from error


def _unpacked(file: BinaryIO, suffix: str) -> IO[bytes]:
    """What a dump of this suffix holds; it is unpacked as it is read."""
    if suffix == ".bz2":
        return bz2.open(file, "rb")
    if suffix == ".gz":
        return gzip.open(file, "rb")  # type: ignore[return-value]
    return file


def _wiki_items(
    dump: Path, prefix: str, skipped: list[tuple[str, str]], progress: OnProgress
) -> Iterator[Item]:
    base, folder = "", prefix
    with _open_dump(dump) as packed, _unpacked(packed, dump.suffix.lower()) as file:
        size_bytes = os.fstat(packed.fileno()).st_size
        try:
            _refuse_doctype(file, dump)
            top: ET.Element | None = None
            for event, element in ET.iterparse(file, events=("start", "end")):
                top = element if top is None else top
                tag = element.tag.rpartition("}")[2]
                if event == "start":
                    continue
                if tag == "siteinfo":
                    base = (_text(element, "base") or "").rpartition("/")[0]
                    folder = folder or _file_name(_text(element, "dbname") or "wiki")
                    element.clear()
                elif tag == "page":
                    progress(packed.tell(), size_bytes)
                    item = _page(element, base, folder or "wiki", skipped)
                    top.clear()
                    if item is not None:
                        yield item
        except (ET.ParseError, OSError, EOFError, zlib.error) as error:
            raise UsageError(f"'{dump}' is not a MediaWiki dump, or it is cut short: {error}") from error


def _refuse_doctype(file: IO[bytes], dump: Path) -> None:
    """A dump declares no document type, and none is wanted: entities can make a small file huge."""
    head = file.read(4096)
    if b"<mediawiki" not in head and _SQL.search(head):
        raise UsageError(
            f"'{dump}' is an SQL dump, in which no article is whole",
            "take the XML dump: pages-articles.xml.bz2",
        )
    if b"<mediawiki" not in head or b"<!DOCTYPE" in head or b"<!ENTITY" in head:
        raise UsageError(f"'{dump}' is not a MediaWiki dump")
    file.seek(0)


def _page(page: ET.Element, base: str, folder: str, skipped: list[tuple[str, str]]) -> Item | None:
    """The newest text of an article; None for redirects and pages that are no articles."""
    title = _text(page, "title") or ""
    if (_text(page, "ns") or "0") != "0" or _child(page, "redirect") is not None:
        return None
    revision = [element for element in page if element.tag.rpartition("}")[2] == "revision"][-1:]
    text = _text(revision[0], "text") if revision else None
    if not title or not text:
        return None
    data = f"= {title} =\n\n{text}\n".encode()
    path = f"{folder}/{_file_name(title)}.wiki"
    fault = path_fault(path) or ("it is too large" if len(data) > _MAX_PAGE_BYTES else "")
    if fault:
        skipped.append((title, fault))
        return None
    place = f"{base}/{quote(title.replace(' ', '_'))}" if base else f"wiki:{quote(title)}"
    number = _text(revision[0], "id") or ""
    return Item(path, data, f"{place}?oldid={number}" if number.isdigit() and base else place)


def _file_name(title: str) -> str:
    """A file name for a title, the title itself where it can be one.

    Where it cannot, a hash of the title is in it: 'A/B' and 'A:B' are two articles, and so are 'St.' and 'St'.
    """
    plain = unicodedata.normalize("NFC", _UNSAFE.sub("_", title)).strip(" .")
    if len(plain.encode()) > _STEM_BYTES:
        plain = plain.encode()[: _STEM_BYTES // 2].decode("utf-8", "ignore").rstrip(" .")
    plain = plain if not path_fault(plain) else f"_{plain}"
    return plain if plain == title else f"{plain}-{blake2b(title.encode(), digest_size=4).hexdigest()}"


def _child(element: ET.Element, name: str) -> ET.Element | None:
    return next((child for child in element if child.tag.rpartition("}")[2] == name), None)


def _text(element: ET.Element, name: str) -> str | None:
    found = _child(element, name)
    return None if found is None else found.text
