"""Three-way merges of lines: against laws, and against `git merge-file` where git is there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.repo.merge_text import merge_text

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"long line\n", b"\n"]), max_size=12)


def merged(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, int]:
    result = merge_text(base, ours, theirs, "ours", "theirs")
    assert result is not None
    return result.data, result.conflicts


@given(LINES, LINES)
def test_one_changed_side_wins(base: list[bytes], changed: list[bytes]) -> None:
    old, new = b"".join(base), b"".join(changed)
    assert merged(old, new, old) == (new, 0)
    assert merged(old, old, new) == (new, 0)
    assert merged(old, new, new) == (new, 0)


@given(LINES, LINES, LINES)
def test_both_sides_meet_the_same_conflicts(
    base: list[bytes], ours: list[bytes], theirs: list[bytes]
) -> None:
    sides = [b"".join(side) for side in (base, ours, theirs)]
    one, other = merged(*sides), merged(sides[0], sides[2], sides[1])
    assert one[1] == other[1]
    if not one[1]:
        assert one == other


def test_changes_apart_are_joined() -> None:
    base = b"".join(b"line %d\n" % n for n in range(20))
    ours = base.replace(b"line 3\n", b"line three\n")
    theirs = base.replace(b"line 15\n", b"")
    assert merged(base, ours, theirs) == (ours.replace(b"line 15\n", b""), 0)


def test_a_conflict_shows_both_sides() -> None:
    assert merged(b"x\n", b"mine\n", b"yours") == (b"<<<<<<< ours\nmine\n=======\nyours\n>>>>>>> theirs\n", 1)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\nX\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\n5\n6\nY\n8\n"),
        ("1\n2\n3\n", "0\n1\n2\n3\n", "1\n2\n3\n4\n"),
        ("1\n2\n3\n", "1\n3\n", "1\n2\n3\n4\n5\n"),
        ("", "a\n", "a\n"),
    ],
)
def test_clean_merges_are_those_of_git(tmp_path: Path, base: str, ours: str, theirs: str) -> None:
    names = []
    for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
        (tmp_path / name).write_text(text)
        names.append(str(tmp_path / name))
    done = subprocess.run(["git", "merge-file", "-p", *names], capture_output=True, check=False)
    assert done.returncode == 0
    assert merged(base.encode(), ours.encode(), theirs.encode()) == (done.stdout, 0)


@settings(max_examples=50)
@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_can_be_merged(base: bytes, ours: bytes, theirs: bytes) -> None:
    merged(base, ours, theirs)
