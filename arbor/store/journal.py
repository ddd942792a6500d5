"""The journal: what was done here to what is stored or trusted, as a chain of hashed records that only grows.

Each record is one line: JSON, a tab, and the record's hash. The JSON names the hash of the record before, so that an
edited, cut or reordered line is found and the range named. A second file, sealed, holds how many records there are and
the last one's hash, so that a cut at the end is found too. A line is written and made durable before that file is
replaced: after a crash the journal may be one record ahead of it, or end in parts of a line, and both are told from
damage.

What this proves is that the journal was not changed by accident or by something that does not know its rules.
Who can write to the folder can make a whole new journal; against that, note the head hash somewhere else.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgpack
from blake3 import blake3

from arbor.errors import IntegrityError, UsageError
from arbor.records import dataclass
from arbor.store.files import (
    MAX_STATE_BYTES,
    check_is_there,
    open_own,
    open_regular,
    read_bounded,
    seal,
    unpack_sealed,
    whole_lines,
    write_atomically,
)

JOURNAL_FILE = "journal"
HEAD_FILE = "journal.head"
FIRST = bytes(32)
MAX_RECORD_BYTES = 1024 * 1024
_VERSION = 1
_RECORD = blake3(derive_key_context="arbor 1 journal record")

Details = Mapping[str, Any]
"""What a record says beside its act: JSON values; oids as hexadecimal digits."""

NAMED_IN_JOURNAL = 20
"""How many paths or leaves a record names, of perhaps many more."""


@dataclass(frozen=True, slots=True)
class Record:
    """One act.

    Attributes:
        sequence: 1 for the first record, then one more each time.
        seconds: When, in seconds since 1970 UTC.
        act: `fetch`, `evict`, `rehydrate`, `drift`, `gc` …
        details: What it was about.
        previous, hash: Hashes of the record before (zeros for the first) and of this one, 32 bytes.
    """

    sequence: int
    seconds: int
    act: str
    details: dict[str, Any]
    previous: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """Where the journal ends: how many records, how many bytes, and the last record's hash."""

    count: int
    size_bytes: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Fault:
    """A range of records that is not as it was written.

    Attributes:
        first, last: Sequence numbers, both included.
        line: Line of the file where it begins, 1-based.
        problem: What is wrong with it.
    """

    first: int
    last: int
    line: int
    problem: str


@dataclass(frozen=True, slots=True)
class JournalReport:
    """What a check of the journal found.

    Attributes:
        records: Sound records in the file.
        head: Hash of the last sound record; zeros where there is none.
        faults: Ranges that are damaged, cut, moved or put in.
        unfinished: Whether it ends in part of a line that a crash left; harmless, and gone with the next
            record.
    """

    records: int
    head: bytes
    faults: tuple[Fault, ...]
    unfinished: bool


class Journal:
    """The journal of one KB folder. Appending is done under the writer lock; reading needs none."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL_FILE
        self._head_path = folder / HEAD_FILE

    def append(self, act: str, details: Details, *, seconds: int | None = None) -> Record:
        """Add a record, durably.

        Args:
            act: What was done.
            details: About what; JSON values.
            seconds: When; now without.

        Raises:
            UsageError: when the details are too large for one record.
            IntegrityError: when the journal does not end as it should, so that going on would hide the fault.
        """
        head = self._recover()
        when = int(time.time()) if seconds is None else seconds
        row = {"seq": head.count + 1, "time": when, "act": act, "details": details, "prev": head.hash.hex()}
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        body = text.encode("utf-8", "backslashreplace")  # a place on disk may have a name that is not Unicode
        if len(body) > MAX_RECORD_BYTES:
            raise UsageError(f"a journal record of {len(body):,} bytes is too large")
        digest = _hash(body)
        line = body + b"\t" + digest.hex().encode() + b"\n"
        self._write(head.size_bytes, line)
        self._write_head(Head(head.count + 1, head.size_bytes + len(line), digest))
        return Record(head.count + 1, when, act, json.loads(body)["details"], head.hash, digest)

    def records(self) -> Iterator[Record]:
        """Every sound record in the order of the file; damaged ones are left out (see `check`)."""
        for line in self._lines()[0]:
            record = _parse(line)
            if record is not None:
                yield record

    def check(self) -> JournalReport:
        """Read everything, and name every range that is not as it was written."""
        lines, rest = self._lines()
        parsed = [_parse(line) for line in lines]
        faults = list(_chain_faults(parsed))
        sound = [record for record in parsed if record is not None]
        try:
            head = self._read_head()
        except IntegrityError as error:
            return JournalReport(
                len(sound), _last_hash(sound), (*faults, _at_head(sound, error.message)), bool(rest)
            )
        fault = _head_fault(head, parsed, faults)
        if fault is not None:
            faults.append(fault)
        return JournalReport(len(sound), _last_hash(sound), tuple(faults), bool(rest))

    def set_aside(self) -> str:
        """Move a damaged journal out of the way and begin a new one; the name that the old one has now.

        Nothing is lost: the first record of the new journal names the old file and its hash.
        """
        data = read_bounded(self._path, MAX_STATE_BYTES) if self._path.exists() else b""
        digest = blake3(data).hexdigest()
        name = f"{JOURNAL_FILE}.damaged-{digest[:12]}"
        if data:
            os.replace(self._path, self._path.with_name(name))
        self._head_path.unlink(missing_ok=True)
        self.append("restart", {"set_aside": name if data else "", "blake3": digest})
        return name if data else ""

    def _recover(self) -> Head:
        """Where the next record goes, after a crash between the line and the head was made good."""
        head = self._read_head()
        if head is None:
            head = Head(0, 0, FIRST)
        try:
            with open_regular(self._path) as file:
                end = file.seek(0, os.SEEK_END)
                if end < head.size_bytes:
                    raise IntegrityError("the journal was cut at its end", "run: arbor journal verify")
                file.seek(head.size_bytes)
                beyond = file.read(2 * MAX_RECORD_BYTES)
        except FileNotFoundError:
            if head.count:
                raise IntegrityError("the journal is missing", "run: arbor journal verify") from None
            return head
        line, mark, after = beyond[: whole_lines(beyond)].partition(b"\n")
        if not mark:
            return head
        record = _parse(line)
        if record is None or after or record.previous != head.hash or record.sequence != head.count + 1:
            raise IntegrityError("the journal goes on after its end", "run: arbor journal verify")
        found = Head(record.sequence, head.size_bytes + len(line) + 1, record.hash)
        self._write_head(found)
        return found

    def _write(self, offset: int, line: bytes) -> None:
        """Write a line where the sound part ends; what a crash left after it goes.

        The name of a new file is durable with that of the head.
        """
        handle = open_own(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "r+b") as file:
            file.truncate(offset)
            file.seek(offset)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _read_head(self) -> Head | None:
        """The head; None before the first record.

        Raises:
            IntegrityError: when it is damaged, or absent although there are records.
        """
        try:
            data = read_bounded(self._head_path, MAX_STATE_BYTES)
        except FileNotFoundError:
            if self._path.exists() and read_bounded(self._path, MAX_STATE_BYTES).count(b"\n") > 1:
                raise IntegrityError("the journal's head is missing", "run: arbor journal verify") from None
            return None
        try:
            version, count, size, digest = unpack_sealed(data, "the journal's head")
            head = Head(count, size, digest)
        except (ValueError, TypeError) as error:
            raise IntegrityError("the journal's head is damaged") from error
        if version != _VERSION:
            raise IntegrityError("the journal was written by another version of arbor")
        if [type(count), type(size), type(digest)] != [int, int, bytes] or min(count, size) < 0:
            raise IntegrityError("the journal's head is damaged")
        return head

    def _write_head(self, head: Head) -> None:
        row = [_VERSION, head.count, head.size_bytes, head.hash]
        write_atomically(self._head_path, seal(msgpack.packb(row)))

    def _lines(self) -> tuple[list[bytes], bytes]:
        """(whole lines, what a crash left after the last of them)."""
        try:
            data = read_bounded(self._path, MAX_STATE_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            check_is_there(self._path.parent)
            return [], b""
        end = whole_lines(data)
        return data[:end].split(b"\n")[:-1], data[end:]


def _hash(body: bytes) -> bytes:
    hasher = _RECORD.copy()
    hasher.update(body)
    return hasher.digest()


def _parse(line: bytes) -> Record | None:
    """The record of a line, None where its hash does not fit or it is not one."""
    body, _, digits = line.rpartition(b"\t")
    try:
        digest = bytes.fromhex(digits.decode("ascii"))
        if _hash(body) != digest or digest.hex().encode() != digits:
            return None
        row = json.loads(body)
        fields = row["seq"], row["time"], row["act"], row["details"]
        if tuple(map(type, fields)) != (int, int, str, dict):
            return None
        return Record(*fields, bytes.fromhex(row["prev"]), digest)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _last_hash(records: Sequence[Record]) -> bytes:
    return records[-1].hash if records else FIRST


def _chain_faults(parsed: Sequence[Record | None]) -> Iterator[Fault]:
    """Where the chain breaks: lines whose hash does not fit, records that are gone, moved or put in."""
    expected, previous, bad_from = 1, FIRST, 0
    for number, record in enumerate(parsed, 1):
        if record is None:
            bad_from = bad_from or number
            continue
        if bad_from:
            yield _edited(expected, max(record.sequence - 1, expected), bad_from, number - bad_from)
        elif record.sequence > expected:
            yield Fault(expected, record.sequence - 1, number, "records are missing")
        elif record.sequence < expected:
            yield Fault(record.sequence, expected - 1, number, "records are out of order or repeated")
        elif record.previous != previous:
            yield Fault(record.sequence, record.sequence, number, "it does not go on from the record before")
        expected, previous, bad_from = record.sequence + 1, record.hash, 0
    if bad_from:
        bad = len(parsed) - bad_from + 1
        yield _edited(expected, expected + bad - 1, bad_from, bad)


def _edited(first: int, last: int, line: int, bad: int) -> Fault:
    return Fault(first, last, line, f"{bad} line{'s' if bad > 1 else ''} edited or damaged")


def _at_head(sound: Sequence[Record], problem: str) -> Fault:
    last = sound[-1].sequence if sound else 0
    return Fault(last, last, len(sound), problem)


def _head_fault(head: Head | None, parsed: Sequence[Record | None], faults: Sequence[Fault]) -> Fault | None:
    """What the anchored end says; one whole record beyond it is what a crash may leave."""
    count, digest = (head.count, head.hash) if head is not None else (0, FIRST)
    if faults and faults[-1].last >= count:
        return None
    sound = [record for record in parsed if record is not None]
    last = sound[-1] if sound else None
    reached = last.sequence if last is not None else 0
    if reached < count:
        return Fault(reached + 1, count, len(parsed) + 1, "the end was cut off")
    anchored = next((record.hash for record in reversed(sound) if record.sequence == count), FIRST)
    if anchored != digest:
        return Fault(
            count, count, len(parsed), "the end was written anew: it is not the record that the head names"
        )
    if reached > count + 1:
        return Fault(count + 1, reached, len(parsed), "records were put in after the end")
    return None
