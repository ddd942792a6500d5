"""What a store says of the objects that it is letting go of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arbor.errors import IntegrityError
from arbor.store.leaving import LEAVING_FILE, leaving, read_leaving

OIDS = [bytes([number]) * 32 for number in (3, 5)]


def test_it_is_said_during_the_block_alone(tmp_path: Path) -> None:
    assert read_leaving(tmp_path) == frozenset()
    with leaving(tmp_path, OIDS):
        assert read_leaving(tmp_path) == frozenset(OIDS)
    assert read_leaving(tmp_path) == frozenset()
    assert not (tmp_path / LEAVING_FILE).exists()


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / LEAVING_FILE).symlink_to(tmp_path / "mine")
    with leaving(tmp_path / "kb", OIDS):
        assert read_leaving(tmp_path / "kb") == frozenset(OIDS)
    assert (tmp_path / "mine").read_text() == "precious"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LEAVING_FILE)
    with pytest.raises(IntegrityError, match="no file"):
        read_leaving(tmp_path)
    (tmp_path / LEAVING_FILE).unlink()
    (tmp_path / LEAVING_FILE).write_bytes(b"".join(OIDS))
    os.mkfifo(tmp_path / f"{LEAVING_FILE}.lock")
    assert read_leaving(tmp_path) == frozenset()
