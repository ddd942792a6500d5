"""Three-way merges of lines: against laws, and against `git merge-file` where git is there."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.repo.merge.merge_text import common_encoding, holds_markers, merge_text

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


def test_lines_that_both_sides_changed_alike_are_in_no_conflict() -> None:
    sides = b"1\n2\n3\n4\n", b"1\nTWO\nmine\nfour\n", b"1\nTWO\nyours\nalso\nfour\n"
    marked = b"<<<<<<< ours\nmine\n=======\nyours\nalso\n>>>>>>> theirs\n"
    assert merged(*sides) == (b"1\nTWO\n" + marked + b"four\n", 1)
    assert merged(b"", b"a\n", b"a\na\n") == (b"a\n<<<<<<< ours\n=======\na\n>>>>>>> theirs\n", 1)


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


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "gb18030", "cp932", "iso2022_jp"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_text_is_merged_in_its_own_encoding_and_with_its_own_line_ends(encoding: str, end: str) -> None:
    mark = "\ufeff" if encoding.startswith("utf") else ""
    text = mark + "".join(f"第{n}行文字の内容{end}" for n in range(12))
    ours, theirs = text.replace("第2行", "二"), text.replace("第9行", "九")
    sides = [side.encode(encoding) for side in (text, ours, theirs)]
    result = merge_text(*sides, "HEAD", "side", encoding=encoding)
    assert result is not None
    assert (result.data.decode(encoding), result.conflicts) == (ours.replace("第9行", "九"), 0)
    sides[2] = text.replace("第2行", "四").encode(encoding)
    result = merge_text(*sides, "HEAD", "枝", encoding=encoding)
    assert result is not None
    rest = "文字の内容" + end
    marked = f"<<<<<<< HEAD{end}二{rest}======={end}四{rest}>>>>>>> 枝{end}"
    assert result.data.decode(encoding) == text.replace(f"第2行{rest}", marked)
    assert holds_markers(result.data)


def test_a_marker_never_comes_before_a_byte_order_mark() -> None:
    for encoding in ("utf-8", "utf-16-le"):
        sides = [f"\ufeff{word}\r\n".encode(encoding) for word in ("one", "two", "three")]
        result = merge_text(*sides, "HEAD", "side", encoding=encoding)
        assert result is not None
        expected = "\ufeff<<<<<<< HEAD\r\ntwo\r\n=======\r\nthree\r\n>>>>>>> side\r\n"
        assert result.data.decode(encoding) == expected
        assert holds_markers(result.data)


def test_versions_in_two_encodings_are_not_mixed() -> None:
    word = "Prüfung für später, größer\n"
    assert common_encoding([word.encode(), b"ascii\n", b""]) == "utf-8"
    assert common_encoding([word.encode("cp1252")] * 2) == "cp1252"
    assert common_encoding([word.encode(), word.encode("cp1252")]) == ""
    assert common_encoding([word.encode("utf-16"), b"ascii\n"]) == ""
    assert common_encoding([b"", word.encode("utf-16")]) == "utf-16-le"
    assert common_encoding([b"\x00\x01\x02\xff" * 9, b"text\n"]) == ""


def test_seven_bits_are_not_always_ascii() -> None:
    word = "所有権の移転\n"
    assert common_encoding([word.encode("iso2022_jp"), b"ascii\n", b""]) == "iso2022_jp"
    assert common_encoding([word.encode("iso2022_jp"), word.encode()]) == ""
    last_goes_on = (word * 3).encode("iso2022_jp")
    assert common_encoding([last_goes_on]) == "iso2022_jp"
    head, _, tail = last_goes_on.rpartition(b"\x1b(B\n\x1b$B")
    assert common_encoding([head + b"\n" + tail]) == ""  # no line by itself


def repetitive(lines: int, words: int, seed: int) -> list[bytes]:
    source = random.Random(seed)
    return [b"\n" if n % 2 else b"word %d\n" % source.randrange(words) for n in range(lines)]


@pytest.mark.parametrize("words", [1, 10, 1_000_000])
def test_a_repetitive_text_is_merged_in_time(words: int) -> None:
    base = repetitive(16_000, words, 1)
    ours, theirs, joined = list(base), list(base), list(base)
    for place in (15_000, 7_000, 100):
        ours[place] = joined[place] = b"ours\n"
        theirs[place + 300] = joined[place + 300] = b"theirs\n"
        for side in (ours, joined):
            side.insert(place + 500, b"\n")
    start = time.process_time()
    result = merged(b"".join(base), b"".join(ours), b"".join(theirs))
    assert time.process_time() - start < 4
    assert result[1] == 0
    if words > 1:  # else the insertions may as well be elsewhere, and are so in git
        assert result[0] == b"".join(joined)


@pytest.mark.parametrize("seed", range(3))
def test_texts_with_nothing_in_common_but_their_repetitions_are_compared_in_time(seed: int) -> None:
    sides = [b"".join(repetitive(10_000, 3, seed * 3 + number)) for number in range(3)]
    start = time.process_time()
    merged(*sides)
    assert time.process_time() - start < 10


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", range(40))
def test_random_merges_are_those_of_git(tmp_path: Path, seed: int) -> None:
    """Lines are all different, so that there is one way to match them; half of the texts are too long for `difflib`."""
    source = random.Random(seed)
    base = [b"line %d\n" % n for n in range(source.choice([20, 600]))]

    def edited(side: bytes) -> bytes:
        lines = list(base)
        for number in range(source.randint(1, 6)):
            place = source.randrange(len(lines))
            step = source.choice(["insert", "replace", "delete"])
            lines[place : place + (step != "insert")] = (
                [] if step == "delete" else [b"%s %d\n" % (side, number)]
            )
        return b"".join(lines)

    sides = {"ours": edited(b"ours"), "base": b"".join(base), "theirs": edited(b"theirs")}
    for name, data in sides.items():
        (tmp_path / name).write_bytes(data)
    done = subprocess.run(
        ["git", "merge-file", "-p", *(str(tmp_path / name) for name in sides)],
        capture_output=True,
        check=False,
    )
    found = merged(sides["base"], sides["ours"], sides["theirs"])
    assert bool(found[1]) == bool(done.returncode)
    if not found[1]:
        assert found[0] == done.stdout


@settings(max_examples=50)
@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_can_be_merged(base: bytes, ours: bytes, theirs: bytes) -> None:
    merged(base, ours, theirs)
