"""States of files: one value each, equal for equal files, in the order of time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.repo.work_tree import file_states
from arbor.repo.work_tree.file_states import (
    UNKNOWN,
    EntryChanges,
    WorkTreeCache,
    change_worktree_cache,
    moment_of,
    read_some_states,
    read_worktree_cache,
    restamp_worktree_cache,
    size_of,
    state_of,
    write_worktree_cache,
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
    assert moment_of(2**40) < moment_of(2**70) == b"\xff" * 8  # a clock may show any year


@pytest.mark.parametrize("shown_ns", [-(2**63), 2**64])
def test_a_clock_that_shows_any_year_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown_ns: int
) -> None:
    kb = new_kb(tmp_path, {"a.md": "one\n"})
    monkeypatch.setattr(time, "time_ns", lambda: shown_ns)
    write(tmp_path, {"a.md": "two\n"})
    assert [change.path for change in kb.status().unstaged] == ["a.md"]
    kb.add()
    assert kb.status().unstaged == ()


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


PATHS = st.text("ab/é", min_size=1, max_size=3)
CHANGES = st.dictionaries(PATHS, st.none() | st.tuples(st.binary(max_size=2), st.binary(max_size=2)))


@given(states=st.lists(CHANGES, min_size=1, max_size=6), size=st.integers(1, 4), asked=st.lists(PATHS))
def test_what_changes_is_all_that_changes(
    tmp_path_factory: pytest.TempPathFactory, states: list[EntryChanges], size: int, asked: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("kb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_states, "_SEGMENT_PATHS", size)
        known = {path: entry for path, entry in states[0].items() if entry is not None}
        write_worktree_cache(folder, WorkTreeCache(b"0", known))
        for number, changes in enumerate(states[1:]):
            assert not change_worktree_cache(folder, b"another", b"x", changes)
            assert change_worktree_cache(folder, b"%d" % number, b"%d" % (number + 1), changes)
            for path, entry in changes.items():
                known.pop(path, None)
                if entry is not None:
                    known[path] = entry
        cache = read_worktree_cache(folder)
    assert cache == WorkTreeCache(b"%d" % (len(states) - 1), known)
    assert list(cache.entries) == sorted(known)
    assert read_some_states(folder, cache.stamp, asked) == {
        path: known[path] for path in asked if path in known
    }
    assert read_some_states(folder, b"another", asked) is None


def test_the_cache_follows_moves_of_the_work_tree(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a\n", "b/c.md": "c\n", "d.md": "d\n"})
    kb.branches.create("other")
    write(tmp_path, {"a.md": "a, changed\n", "e.md": "e\n"})
    kb.rm(["d.md"])
    kb.add()
    kb.commit("here")
    kb.branches.switch("other")
    write(tmp_path, {"b/c.md": "c, changed\n"})
    kb.add()
    kb.commit("there")
    for move in (lambda: kb.branches.merge("main"), lambda: kb.branches.reset("HEAD~1", "hard"),
                 lambda: kb.branches.switch("main"), lambda: kb.branches.revert("HEAD")):  # fmt: skip
        move()
        stage = kb.repo.stage()
        cache = read_worktree_cache(kb.folder)
        assert cache is not None
        assert cache.stamp == stage.stamp
        assert {path: oid for path, (oid, _) in cache.entries.items()} == {
            key[2:]: oid for key, oid in stage.entries(kb.repo.store, "d/").items()
        }
        assert kb.status().clean


def test_after_a_restart_files_written_just_before_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path, {"old.md": "o\n", "young.md": "y\n"})
    now = time.time_ns()
    old, young = (state_of(Stat(now - age * 10**9, now - age * 10**9, 2, 7)) for age in (3600, 5))  # type: ignore[arg-type]
    entries = {"old.md": (b"o" * 32, old), "young.md": (b"y" * 32, young)}
    write_worktree_cache(kb.folder, WorkTreeCache(b"stamp", entries))
    assert read_some_states(kb.folder, b"stamp", entries) == entries
    monkeypatch.setattr(file_states, "_this_boot", lambda: "another")
    trusted = {"old.md": (b"o" * 32, old), "young.md": (b"y" * 32, UNKNOWN)}
    assert read_some_states(kb.folder, b"stamp", entries) == trusted
    restamp_worktree_cache(kb.folder, b"stamp", b"new")
    cache = read_worktree_cache(kb.folder)
    assert cache is not None
    assert cache.entries == trusted, "a state that was doubted is trusted again"
