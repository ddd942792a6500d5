"""States of files: one value each, equal for equal files, in the order of time."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbor.repo.stage import (
    UNKNOWN,
    moment_of,
    read_worktree_cache,
    restamp_worktree_cache,
    size_of,
    state_of,
)
from tests.repo.kit import new_kb, write


class Stat:
    """What `state_of` reads of a stat."""

    def __init__(self, *values: int) -> None:
        self.st_mtime_ns, self.st_ctime_ns, self.st_size, self.st_ino = values


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", [0, -1, 2**63, 2**64 + 50, -(2**70)])
def test_a_state_is_one_value_for_any_numbers(place: int, value: int) -> None:
    values = [3, 4, 5, 6]
    before = state_of(Stat(*values))  # type: ignore[arg-type]
    values[place] = value
    after = state_of(Stat(*values))  # type: ignore[arg-type]
    assert before != after != UNKNOWN
    assert after == state_of(Stat(*values))  # type: ignore[arg-type]
    assert size_of(before) == 5


def test_moments_are_in_order_as_states_are() -> None:
    assert moment_of(-5) < moment_of(7) < moment_of(2**40) == state_of(Stat(2**40, 0, 0, 0))[:8]  # type: ignore[arg-type]


def test_a_commit_gives_the_known_states_another_stamp(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a\n", "b/c.md": "c\n"})
    write(tmp_path, {"d.md": "d\n"})
    kb.add()
    before = read_worktree_cache(kb.folder)
    assert before is not None
    assert before.stamp == kb.repo.stage().stamp
    restamp_worktree_cache(kb.folder, b"another stamp", b"new")
    assert read_worktree_cache(kb.folder) == before
    kb.commit("d")
    after = read_worktree_cache(kb.folder)
    assert after is not None
    assert after.stamp == kb.repo.stage().stamp != before.stamp
    assert after.entries == before.entries
    (kb.folder / "cache" / "worktree").write_bytes(b"damaged")
    restamp_worktree_cache(kb.folder, after.stamp, b"new")
    assert read_worktree_cache(kb.folder) is None
    (kb.folder / "cache" / "worktree").unlink()
    restamp_worktree_cache(kb.folder, after.stamp, b"new")
    assert kb.status().clean
