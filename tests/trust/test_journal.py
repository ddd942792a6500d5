"""The journal grows by whole records, and every change to what it held is found and named."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from arbor.errors import IntegrityError, UsageError
from arbor.store import journal as journal_module
from arbor.store.journal import FIRST, HEAD_FILE, JOURNAL_FILE, Journal
from tests.trust.conftest import MakeKb


def filled(folder: Path, count: int) -> Journal:
    journal = Journal(folder)
    for number in range(count):
        journal.append(
            "evict", {"document": f"{number:064x}", "путь": f"заметка {number}"}, seconds=1000 + number
        )
    return journal


def test_records_come_back_as_written(tmp_path: Path) -> None:
    journal = filled(tmp_path, 5)
    records = list(journal.records())
    assert [record.sequence for record in records] == [1, 2, 3, 4, 5]
    assert records[0].previous == FIRST
    assert [record.previous for record in records[1:]] == [record.hash for record in records[:-1]]
    assert records[3].details == {"document": f"{3:064x}", "путь": "заметка 3"}
    report = journal.check()
    assert (report.records, report.head, report.faults, report.unfinished) == (5, records[-1].hash, (), False)


def test_a_place_whose_name_is_not_unicode_is_recorded(tmp_path: Path) -> None:
    journal = filled(tmp_path, 1)
    details = {"sources": ["/mnt/caf\udce9"]}
    assert journal.append("rehydrate", details).details == details
    assert [record.details for record in journal.records()][1:] == [details]
    assert not journal.check().faults
    (tmp_path / JOURNAL_FILE).read_bytes().decode("utf-8")


def test_an_empty_journal_is_sound(tmp_path: Path) -> None:
    assert Journal(tmp_path).check().faults == ()
    assert list(Journal(tmp_path).records()) == []


def test_no_byte_can_be_changed_unseen(tmp_path: Path) -> None:
    journal = filled(tmp_path, 6)
    for name in (JOURNAL_FILE, HEAD_FILE):
        data = bytearray((tmp_path / name).read_bytes())
        for position in range(0, len(data), 3):
            data[position] ^= 1 << (position % 8)
            (tmp_path / name).write_bytes(data)
            assert journal.check().faults, (name, position)
            data[position] ^= 1 << (position % 8)
        (tmp_path / name).write_bytes(data)
    assert not journal.check().faults


def lines_of(folder: Path) -> list[bytes]:
    return (folder / JOURNAL_FILE).read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("change", "first", "last", "problem"),
    [
        (lambda lines: lines[:3] + lines[5:], 4, 5, "missing"),
        (lambda lines: lines[1:], 1, 1, "missing"),
        (lambda lines: lines[:-2], 7, 8, "cut off"),
        (lambda lines: [], 1, 8, "cut off"),
        (lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]], 4, 4, "missing"),
        (lambda lines: lines[:4] + lines[2:], 3, 4, "out of order"),
        (lambda lines: [*lines[:2], lines[2].replace(b"evict", b"fetch"), *lines[3:]], 3, 3, "edited"),
        (lambda lines: [*lines[:2], b"x\n", b"y\n", *lines[4:]], 3, 4, "edited"),
        (lambda lines: [*lines[:-1], b"nonsense\n"], 8, 8, "edited"),
    ],
)  # fmt: skip
def test_the_range_is_named(tmp_path: Path, change: object, first: int, last: int, problem: str) -> None:
    journal = filled(tmp_path, 8)
    (tmp_path / JOURNAL_FILE).write_bytes(b"".join(change(lines_of(tmp_path))))  # type: ignore[operator]
    fault = journal.check().faults[0]
    assert (fault.first, fault.last) == (first, last)
    assert problem in fault.problem


def test_a_record_written_anew_in_the_middle_is_found(tmp_path: Path) -> None:
    """Its own hash is right, and the record after it still names the one that was there."""
    journal = filled(tmp_path, 6)
    lines = lines_of(tmp_path)
    body = lines[2].rpartition(b"\t")[0].replace(b"evict", b"fetch")
    lines[2] = body + b"\t" + journal_module._hash(body).hex().encode() + b"\n"
    (tmp_path / JOURNAL_FILE).write_bytes(b"".join(lines))
    [fault] = journal.check().faults
    assert (fault.first, fault.last) == (4, 4)
    assert "does not go on" in fault.problem


def test_an_end_written_anew_is_found(tmp_path: Path) -> None:
    """Somebody who knows the form writes other last records; the head still names the old ones."""
    journal = filled(tmp_path, 6)
    head = (tmp_path / HEAD_FILE).read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    forged = Journal(other)
    for record in list(journal.records())[:4]:
        forged.append(record.act, record.details, seconds=record.seconds)
    for _ in range(2):
        forged.append("fetch", {})
    (tmp_path / JOURNAL_FILE).write_bytes((other / JOURNAL_FILE).read_bytes())
    assert "written anew" in journal.check().faults[0].problem
    (tmp_path / JOURNAL_FILE).write_bytes(b"")
    (tmp_path / HEAD_FILE).write_bytes(head)
    with pytest.raises(IntegrityError, match="cut at its end"):
        journal.append("gc", {})


def test_a_crash_between_line_and_head_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = filled(tmp_path, 3)
    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "write_atomically", lambda *_: (_ for _ in ()).throw(OSError("power")))
        with pytest.raises(OSError, match="power"):
            journal.append("gc", {"dropped": 1})
    report = journal.check()
    assert (report.records, report.faults) == (4, ())
    assert journal.append("gc", {"dropped": 2}).sequence == 5
    assert journal.check().faults == ()


def test_a_record_beyond_the_end_that_skips_a_number_is_not_taken_up(tmp_path: Path) -> None:
    journal = filled(tmp_path, 2)
    last = list(journal.records())[-1]
    row = {"act": "gc", "details": {}, "prev": last.hash.hex(), "seq": last.sequence + 2, "time": 1}
    body = json.dumps(row, separators=(",", ":")).encode()
    with (tmp_path / JOURNAL_FILE).open("ab") as file:
        file.write(body + b"\t" + journal_module._hash(body).hex().encode() + b"\n")
    assert len(list(journal.records())) == 3
    with pytest.raises(IntegrityError, match="goes on after its end"):
        journal.append("gc", {})


def test_a_torn_last_line_is_harmless_and_goes(tmp_path: Path) -> None:
    journal = filled(tmp_path, 3)
    whole = (tmp_path / JOURNAL_FILE).read_bytes()
    for cut in random.Random(4).sample(range(1, len(lines_of(tmp_path)[-1]) - 1), 12):
        (tmp_path / JOURNAL_FILE).write_bytes(whole + lines_of(tmp_path)[-1][:cut])
        report = journal.check()
        assert report.unfinished
        assert report.faults == ()
    assert journal.append("gc", {}).sequence == 4
    assert not journal.check().unfinished


def test_a_first_record_without_its_head_counts(tmp_path: Path) -> None:
    journal = filled(tmp_path, 1)
    os.unlink(tmp_path / HEAD_FILE)
    assert journal.check().faults == ()
    assert journal.append("gc", {}).sequence == 2
    os.unlink(tmp_path / HEAD_FILE)
    assert "head is missing" in journal.check().faults[0].problem
    with pytest.raises(IntegrityError, match="head is missing"):
        journal.append("gc", {})


def test_a_damaged_journal_can_be_set_aside(tmp_path: Path) -> None:
    journal = filled(tmp_path, 4)
    (tmp_path / JOURNAL_FILE).write_bytes(b"".join(lines_of(tmp_path)[:2]))
    with pytest.raises(IntegrityError):
        journal.append("gc", {})
    name = journal.set_aside()
    assert (tmp_path / name).is_file()
    [record] = journal.records()
    assert record.details["set_aside"] == name
    assert journal.check().faults == ()


def test_a_record_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too large"):
        Journal(tmp_path).append("evict", {"names": ["x" * 100] * 20_000})


def test_what_is_thrown_away_by_force_is_on_record(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": "# A\n\ntext\n", "b.md": "# B\n\ntext\n"})
    assert kb.fs_root is not None
    kb.branches.tag("v1")
    kb.branches.switch("side", create=True)
    (kb.fs_root / "a.md").write_text("# A\n\nside\n")
    kb.add()
    side = kb.commit("side").commit
    kb.branches.switch("main")
    kb.branches.delete("side", force=True)
    kb.branches.untag("v1")
    (kb.fs_root / "b.md").write_text("not committed\n")
    kb.rm(["b.md"], force=True)
    kb.rm(["a.md"], force=True)
    kb.branches.reset("HEAD", "hard")
    found = [record.details for record in Journal(kb.folder).records() if record.act == "discard"]
    assert found[0] == {"branch": "side", "commit": side}
    assert found[1]["tag"] == "v1"
    assert (found[2]["paths"], found[2]["documents"]) == (["b.md"], 1)
    assert found[3]["reset"] == kb.resolve("HEAD").hex()
    assert len(found) == 4, "a.md had nothing to lose"
    assert Journal(kb.folder).check().faults == ()
