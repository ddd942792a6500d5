"""Files read, turned into objects and stored: many small ones over several processes, large ones piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arbor.errors import ArborError
from arbor.lazy import lazy_module
from arbor.objects.ids import file_hash
from arbor.processes import bounded_batches, will_fork
from arbor.records import dataclass
from arbor.repo.config import Policy
from arbor.repo.snapshot import Snapshot
from arbor.repo.staging.ingest import READ_AT_ONCE_BYTES, store_extraction
from arbor.repo.work_tree.file_states import FileState
from arbor.repo.work_tree.worktree import read_file
from arbor.store.files import in_words
from arbor.store.frames import FrameCollector
from arbor.store.odb import ObjectStore
from arbor.store.pack_writer import PackWriter
from arbor.store.preparing import write_prepared
from arbor.text.charsets import split_recorded
from arbor.text.reading import extract

if TYPE_CHECKING:
    from arbor.repo.staging import streaming
else:  # what few files need
    streaming = lazy_module("arbor.repo.staging.streaming")

_BATCH_FILES = 250
_BATCH_BYTES = 8 * 1024 * 1024


class Job(NamedTuple):
    """One file to read: KB path, place on disk, bytes, and the oid of the document that it was, b"" for a new one."""

    path: str
    fs_path: str
    size: int
    before: bytes


class Rules(NamedTuple):
    """What holds for all files of an add.

    Attributes:
        policy: How they are read.
        max_bytes: None for no limit.
        snapshot: Where the documents are that they were.
        stale: Which of those are stored again although the file is as it was, for what they consist of is not here.
        is_forced: Whether every file is read again, also one that is as it was.
    """

    policy: Policy
    max_bytes: int | None
    snapshot: Snapshot
    stale: frozenset[bytes]
    is_forced: bool


@dataclass(slots=True)
class FileResult:
    """What reading one file gave: the document's oid and state, or the reason why there is none.

    With a reason, `is_partly_stored` says whether objects of it may have been stored all the same.
    """

    path: str
    oid: bytes = b""
    state: FileState | None = None
    warnings: Sequence[str] = ()
    problem: str = ""
    is_partly_stored: bool = False


def store_files(
    store: ObjectStore, jobs: list[Job], rules: Rules, progress: Callable[[int, int], None] | None
) -> tuple[list[FileResult], str | None]:
    """Read and store the files; many small ones over several processes, large ones piece by piece.

    Returns:
        What became of each, and the name of the pack that was written.
    """
    small = [job for job in jobs if job.size <= READ_AT_ONCE_BYTES]
    large = [job for job in jobs if job.size > READ_AT_ONCE_BYTES]
    results: list[FileResult] = []
    batches = list(bounded_batches(small, lambda job: job.size, _BATCH_BYTES, _BATCH_FILES))

    def store_batch(sink: FrameCollector | PackWriter, batch: list[Job]) -> list[FileResult]:
        return [_store_file(sink, job, rules) for job in batch]

    with store.writer() as writer:
        parts = (
            write_prepared(writer, store.holds, store_batch, batches)
            if will_fork(batches)
            else (store_batch(writer, batch) for batch in batches)
        )
        for part in parts:
            results += part
            if progress:
                progress(len(results), len(jobs))
        for job in large:
            results.append(_store_large(writer, job, rules))
            if progress:
                progress(len(results), len(jobs))
    return results, writer.name


def _store_file(sink: FrameCollector | PackWriter, job: Job, rules: Rules) -> FileResult:
    limit = rules.max_bytes
    if limit is not None and job.size > limit:
        return FileResult(job.path, problem=too_large(job.size, limit))
    try:
        data, state = read_file(job.fs_path, limit)
    except (OSError, ArborError) as error:
        return FileResult(job.path, problem=_problem(error))
    hash_of_file, source_uri, charset = file_hash(data), "", ""
    if job.before:
        before = rules.snapshot.document(job.before)
        is_same = before.file_hash == hash_of_file  # touched and no more, as after a copy of the folder
        if is_same and not rules.is_forced and job.before not in rules.stale:
            return FileResult(job.path, job.before, state)
        source_uri = before.source_uri
        charset = split_recorded(before.extractor)[1] if is_same else ""
    extraction = extract(data, job.path, rules.policy.chunking, charset=charset)
    try:
        oid = store_extraction(sink, extraction, data, source_uri, hash_of_file=hash_of_file)
    except ArborError as error:
        return FileResult(job.path, problem=error.message, is_partly_stored=True)
    return FileResult(job.path, oid, state, tuple(extraction.warnings))


def _problem(error: OSError | ArborError) -> str:
    return error.message if isinstance(error, ArborError) else in_words(error)[0]


def _store_large(writer: PackWriter, job: Job, rules: Rules) -> FileResult:
    limit = rules.max_bytes
    if limit is not None and job.size > limit:
        return FileResult(job.path, problem=too_large(job.size, limit))
    source_uri = rules.snapshot.document(job.before).source_uri if job.before else ""
    try:
        oid, state, warnings = streaming.store_large_file(
            writer, Path(job.fs_path), job.path, rules.policy.chunking, source_uri
        )
    except (OSError, ArborError) as error:
        return FileResult(job.path, problem=_problem(error), is_partly_stored=True)
    return FileResult(job.path, oid, state, warnings)


def too_large(size: int, limit: int) -> str:
    """Why a file of this size is not added."""
    return f"it has {size:,} bytes, over the limit of {limit:,} (add it with -f, or raise max_file_size in arbor.toml)"
