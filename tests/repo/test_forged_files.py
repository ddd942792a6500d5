"""Forged or replaced files of a KB folder: an answer with a reason, and nothing outside is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest

from arbor.errors import ArborError, IntegrityError, StorageError
from arbor.repo.commits.branching import create_branch
from arbor.repo.repository import open_repository
from arbor.repo.stage import read_stage
from arbor.repo.tiers import read_tiers
from arbor.repo.trust.witness import read_witnessed
from arbor.repo.upkeep.gc import CANDIDATES_FILE, _read_candidates
from arbor.repo.work_tree.file_states import read_worktree_cache
from arbor.repo.work_tree.move_record import read_move
from arbor.store.files import append_line, seal
from arbor.store.journal import Journal, _hash
from arbor.store.refs import Refs
from tests.remote.people import make_kb

OID = bytes(32)
STAGE: list[Any] = [1, OID, {"d/a": OID}, [], "", []]
MOVE: list[Any] = [2, "merge", "merge x", "refs/heads/main", b"", [["a.md", None, OID, b""]], "", OID, []]


def forged(good: list[Any]) -> list[bytes]:
    """Values that are sealed as they should be, and are not what should be sealed."""
    wrongs: list[Any] = [None, 7, -1, "x", b"x", [], [7], {}, {"a": 7}, [["../x", None, None, b""]]]
    values = [[*good[:at], wrong, *good[at + 1 :]] for at in range(len(good)) for wrong in wrongs]
    return [seal(msgpack.packb(value)) for value in (None, 7, "", [], {}, good[:-1], [*good, 1], *values)] + [
        seal(b""),
        seal(b"\xc1"),
        seal(msgpack.packb(good) + b"x"),
        seal(b"\x91" * 5000),
    ]


def begin_journal(folder: Path) -> None:
    (folder / "journal").unlink(missing_ok=True)
    Journal(folder).append("x", {})


READERS: dict[str, tuple[list[Any], Callable[[Path], Any]]] = {
    "stage": (STAGE, lambda folder: read_stage(folder, OID)),
    "moving": (MOVE, lambda folder: read_move(folder, Refs(folder))),
    "tiers": ([1, OID, b"", b"", 0], read_tiers),
    "cache/worktree": ([4, OID, ["a"], [msgpack.packb({})]], read_worktree_cache),
    "witnessed": ([1, {"x": {"main": [1, OID, OID]}}], lambda folder: read_witnessed(folder, "x")),
    "journal.head": ([1, 0, 0, OID], begin_journal),
}


@pytest.mark.parametrize("name", READERS)
def test_a_forged_record_is_a_damaged_one(tmp_path: Path, name: str) -> None:
    folder = make_kb(tmp_path / "kb", {"a.md": "# A\n"}).folder
    good, read = READERS[name]
    for data in forged(good):
        (folder / name).write_bytes(data)
        try:
            read(folder)
        except ArborError as error:
            assert error.exit_code == 12, error  # noqa: PT017 - whether it is raised is free
    (folder / name).write_bytes(seal(msgpack.packb(good)))
    read(folder)


def test_a_record_of_a_move_names_no_place_outside(tmp_path: Path) -> None:
    folder = make_kb(tmp_path / "kb", {"a.md": "# A\n"}).folder
    for path in ("../out.md", "/etc/passwd", ".arbor/HEAD", "a/../../b"):
        row = [*MOVE[:5], [[path, None, OID, b""]], *MOVE[6:]]
        (folder / "moving").write_bytes(seal(msgpack.packb(row)))
        with pytest.raises(IntegrityError, match="the record of a move is damaged"):
            read_move(folder, Refs(folder))


def test_records_of_the_journal_have_their_types(tmp_path: Path) -> None:
    good = {"seq": 1, "time": 5, "act": "x", "details": {}, "prev": OID.hex()}
    for key, wrong in (
        ("seq", "1"),
        ("seq", None),
        ("time", 1.5),
        ("act", 1),
        ("details", []),
        ("seq", True),
    ):
        body = json.dumps({**good, key: wrong}).encode()
        (tmp_path / "journal").write_bytes(body + b"\t" + _hash(body).hex().encode() + b"\n")
        assert Journal(tmp_path).check().faults


def test_forged_candidates_only_begin_the_grace_period_again(tmp_path: Path) -> None:
    repo = make_kb(tmp_path / "kb", {"a.md": "# A\n"})
    for row in ([1, 7], [1, [7]], [1, [["x", b""]]], [1, [[5, 5]]]):
        (repo.folder / CANDIDATES_FILE).write_bytes(seal(msgpack.packb(row)))
        assert _read_candidates(repo.folder) in ({}, {b"": 5.0})


@pytest.mark.parametrize("at", ["logs/refs/heads/evil", "logs/refs/heads", "logs/refs", "logs"])
def test_no_log_is_made_room_for_beyond_a_link(tmp_path: Path, at: str) -> None:
    """A branch is made with a log in place of whatever a crash left there; a link is no such thing."""
    repo = make_kb(tmp_path / "kb", {"a.md": "# A\n"})
    outside = tmp_path / "outside"
    for name in ("evil", "heads/evil", "refs/heads/evil"):
        (outside / name).mkdir(parents=True)
        (outside / name / "precious.txt").write_text("x")
    link = repo.folder / at
    if link.is_dir():
        link.rename(tmp_path / "was")
    link.symlink_to(outside)
    with pytest.raises(IntegrityError, match="is a link to another place"):
        create_branch(repo, "evil", "HEAD")
    assert len(list(outside.rglob("precious.txt"))) == 3
    assert open_repository(tmp_path / "kb").refs.read("refs/heads/evil") is None


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("no line end")
    (tmp_path / "journal").symlink_to(outside)
    (tmp_path / "log").symlink_to(outside)
    with pytest.raises(OSError, match="symbolic links"):
        Journal(tmp_path).append("x", {})
    with pytest.raises(OSError, match="symbolic links"):
        append_line(tmp_path / "log", b"line\n")
    assert outside.read_text() == "no line end"


@pytest.mark.parametrize(
    "name",
    ["config.toml", "stage", "moving", "journal", "journal.head", "witnessed", "logs/HEAD", "landing",
     "cache/worktree", "cache/index.sum", "../arbor.toml", "../.arborignore"],
)  # fmt: skip
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    repo = make_kb(tmp_path / "kb", {"a.md": "# A\n"})
    place = repo.folder / name
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    os.mkfifo(place)
    for words in (["status"], ["journal", "verify"], ["reflog"], ["add", "."]):
        done = subprocess.run(
            [sys.executable, "-m", "arbor", "-C", str(tmp_path / "kb"), *words],
            capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode in (0, 2, 3, 12), (words, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["cache/index.db", "cache/consensus.db"])
@pytest.mark.parametrize("words", [["search", "text"], ["consensus", "a.md"], ["reindex"]])
def test_a_cache_that_is_a_pipe_is_made_again(tmp_path: Path, name: str, words: list[str]) -> None:
    kb = tmp_path / "kb"
    repo = make_kb(kb, {"a.md": "# A\n\ntext\n"})
    run = [sys.executable, "-m", "arbor", "-C", str(kb)]
    for first in (["reindex"], ["consensus", "a.md"]):
        subprocess.run([*run, *first], capture_output=True, timeout=60, check=True)
    (repo.folder / name).unlink(missing_ok=True)
    os.mkfifo(repo.folder / name)
    done = subprocess.run([*run, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (repo.folder / name).is_file() or words != ["reindex"]


@pytest.mark.parametrize("name", ["packs", "refs"])
def test_what_another_knowledge_base_needs_is_not_shared_by_a_link(tmp_path: Path, name: str) -> None:
    mine, theirs = (make_kb(tmp_path / who) for who in ("mine", "theirs"))
    for kb in (mine, theirs):
        kb.close()
    shutil.rmtree(tmp_path / "theirs/.arbor" / name)
    (tmp_path / "theirs/.arbor" / name).symlink_to(tmp_path / "mine/.arbor" / name)
    with pytest.raises(StorageError, match=f"is a link to the {name} of another knowledge base"):
        open_repository(tmp_path / "theirs")
    elsewhere = tmp_path / "another disk"
    (tmp_path / "mine/.arbor" / name).rename(elsewhere)
    (tmp_path / "mine/.arbor" / name).symlink_to(elsewhere)
    open_repository(tmp_path / "mine")
