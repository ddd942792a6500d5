"""Refs: a move happens as a whole or not at all, names are safe, and the reflog tells what was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arbor.errors import ConflictError, IntegrityError, UsageError
from arbor.objects.model import Signature
from arbor.store import refs as refs_module
from arbor.store.refs import Refs, check_ref_name

WHO = Signature("Ada Lovelace", "ada@example.org", 1_700_000_000, 60)
A, B, C = (bytes([n]) * 32 for n in (1, 2, 3))
MAIN = "refs/heads/main"


@pytest.fixture
def refs(tmp_path: Path) -> Refs:
    (tmp_path / "refs/heads").mkdir(parents=True)
    refs = Refs(tmp_path)
    refs.set_head(MAIN)
    return refs


def test_a_branch_is_made_moved_and_removed(refs: Refs) -> None:
    assert refs.read(MAIN) is None
    refs.move(MAIN, None, A, WHO, "commit (initial): one")
    refs.move(MAIN, A, B, WHO, "commit: two")
    assert refs.read(MAIN) == B
    assert refs.head() == MAIN
    assert refs.head_oid() == B
    assert list(refs.iter_names()) == [MAIN]
    assert [(entry.old, entry.new, entry.reason) for entry in refs.reflog(MAIN)] == [
        (A, B, "commit: two"),
        (b"", A, "commit (initial): one"),
    ]
    assert refs.reflog("HEAD") == refs.reflog(MAIN)
    assert refs.reflog(MAIN)[0].who == WHO
    refs.move(MAIN, B, None, WHO, "branch: deleted")
    assert refs.read(MAIN) is None
    assert refs.reflog(MAIN) == []


@pytest.mark.parametrize("old", [None, B, C])
def test_a_ref_that_is_elsewhere_is_not_moved(refs: Refs, old: bytes | None) -> None:
    refs.move(MAIN, None, A, WHO, "one")
    with pytest.raises(ConflictError, match="has moved"):
        refs.move(MAIN, old, C, WHO, "two")
    with pytest.raises(ConflictError, match="has moved"):
        refs.move(MAIN, old, None, WHO, "two")
    assert refs.read(MAIN) == A
    assert len(refs.reflog(MAIN)) == 1


def test_what_is_not_there_is_not_removed(refs: Refs) -> None:
    with pytest.raises(ConflictError):
        refs.move("refs/heads/x", A, None, WHO, "gone")


def test_head_follows_a_branch_or_stands_at_a_commit(refs: Refs) -> None:
    refs.move(MAIN, None, A, WHO, "one")
    refs.set_head(B, WHO, "switch: to b")
    assert refs.head() == B
    refs.move_head(B, C, WHO, "commit: x")
    assert refs.head_oid() == C
    assert refs.read(MAIN) == A
    with pytest.raises(ConflictError):
        refs.move_head(B, A, WHO, "commit: y")
    refs.set_head(MAIN, WHO, "switch: to main")
    refs.move_head(A, B, WHO, "commit: z")
    assert refs.read(MAIN) == B
    assert [entry.new for entry in refs.reflog("HEAD")] == [B, A, C, B, A]


def test_a_name_and_a_folder_of_that_name_cannot_both_be(refs: Refs) -> None:
    refs.move("refs/heads/a", None, A, WHO, "one")
    with pytest.raises(ConflictError, match="in the way"):
        refs.move("refs/heads/a/b", None, A, WHO, "two")
    with pytest.raises(ConflictError, match="in the way"):
        refs.move("refs/heads/a/b/c", None, A, WHO, "two")
    refs.move("refs/heads/x/y", None, A, WHO, "one")
    with pytest.raises(ConflictError, match="below it"):
        refs.move("refs/heads/x", None, A, WHO, "two")
    assert refs.read("refs/heads/a/b") is None
    assert refs.read("refs/heads/x") is None


def test_a_name_that_is_gone_makes_room_for_what_it_was_in_the_way_of(refs: Refs) -> None:
    for short, long in (("refs/heads/a", "refs/heads/a/b/c"), ("refs/tags/v", "refs/tags/v/1")):
        for name in (short, long, short, long):
            refs.move(name, None, A, WHO, "made")
            assert refs.read(name) == A
            assert len(refs.reflog(name)) == 1
            refs.move(name, A, None, WHO, "gone")
    assert list(refs.iter_names()) == []


def test_logs_that_a_crash_left_are_not_in_the_way(refs: Refs, tmp_path: Path) -> None:
    (tmp_path / "logs/refs/heads/a").mkdir(parents=True)
    (tmp_path / "logs/refs/heads/a/b").write_text("old\n")
    (tmp_path / "logs/refs/heads/c").write_text("old\n")
    refs.move("refs/heads/a", None, A, WHO, "one")
    refs.move("refs/heads/c/d/e", None, A, WHO, "one")
    assert len(refs.reflog("refs/heads/a")) == 1
    assert len(refs.reflog("refs/heads/c/d/e")) == 1


def test_a_branch_may_be_called_as_unfinished_files_once_were(refs: Refs) -> None:
    for name in ("refs/heads/tmp-experiment", "refs/heads/tmp-1-abcdef", "refs/heads/arbor-tmp-x"):
        refs.move(name, None, A, WHO, "one")
    assert len(list(refs.iter_names())) == 3


def test_names_come_in_order_whether_there_are_folders_in_them_or_not(refs: Refs) -> None:
    names = [
        "refs/heads/a-b",
        "refs/heads/a/b",
        "refs/heads/main",
        "refs/heads/z/a",
        "refs/tags/b/1",
        "refs/tags/v",
    ]
    for name in reversed(names):
        refs.move(name, None, A, WHO, "made")
    assert list(refs.iter_names()) == names
    assert list(refs.iter_names("refs/heads/")) == names[:4]


def test_unfinished_files_are_no_refs(refs: Refs, tmp_path: Path) -> None:
    (tmp_path / "refs/heads/.arbor-tmp-12-abc").write_text("half")
    assert list(refs.iter_names()) == []


GOOD = [
    "refs/heads/a",
    "refs/heads/feature/x-1",
    "refs/tags/v1.2.3",
    "refs/heads/中文",
    "refs/heads/a@b",
    "refs/heads/@",
    "refs/remotes/origin/HEAD",
    "refs/heads/a{b",
    "refs/heads/a.b.c",
    "refs/heads/a-",
    "refs/heads/constant",
]
BAD = [
    "",
    "a",
    "refs",
    "refs/",
    "refs/heads",
    "refs/heads/",
    "/refs/heads/a",
    "refs/heads//a",
    "refs/heads/a/",
    "heads/a",
    "HEAD",
    "refs/heads/.a",
    "refs/heads/a..b",
    "refs/heads/a.lock",
    "refs/heads/a.lock/b",
    "refs/heads/a.",
    "refs/heads/a./b",
    "refs/heads/a b",
    "refs/heads/a~1",
    "refs/heads/a^",
    "refs/heads/a:b",
    "refs/heads/a?",
    "refs/heads/a*",
    "refs/heads/a[b",
    "refs/heads/a\\b",
    "refs/heads/a@{1}",
    "refs/heads/a\nb",
    "refs/heads/a\x7f",
    "refs/heads/a\0",
    "refs/heads/-a",
    "refs/heads/a/-b",
    "refs/heads/con",
    "refs/heads/aux.x",
    "refs/heads/a/NUL",
    "refs/../../x",
    "refs/heads/../../config.toml",
    "refs/heads/\udc80",
    "refs/heads/" + "a" * 200,
    "refs/heads/" + "中" * 70,
    "../refs/heads/a",
    "refs/./a",
]


@pytest.mark.parametrize("name", GOOD)
def test_names_that_may_be_used(name: str) -> None:
    assert check_ref_name(name) == name


@pytest.mark.parametrize("name", BAD)
def test_names_that_may_not_be_used(refs: Refs, name: str) -> None:
    with pytest.raises(UsageError):
        check_ref_name(name)
    with pytest.raises(UsageError):
        refs.read(name)
    with pytest.raises(UsageError):
        refs.move(name, None, A, WHO, "x")
    with pytest.raises(UsageError):
        refs.set_head(name)


@given(st.data())
def test_a_flipped_byte_in_a_ref_or_head_is_found(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("refs")
    (folder / "refs/heads").mkdir(parents=True)
    refs = Refs(folder)
    refs.set_head(MAIN)
    refs.move(MAIN, None, A, WHO, "one")
    file = folder / data.draw(st.sampled_from(["HEAD", MAIN]))
    whole = bytearray(file.read_bytes())
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    file.write_bytes(bytes(whole))
    with pytest.raises(IntegrityError):
        refs.head_oid()


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n", b"a" * 64 + b"\n", b"\xff\xfe", b"a" * 64])
def test_a_ref_of_another_form_is_found(refs: Refs, tmp_path: Path, content: bytes) -> None:
    (tmp_path / MAIN).write_bytes(content)
    with pytest.raises(IntegrityError):
        refs.read(MAIN)
    (tmp_path / "HEAD").write_bytes(content)
    with pytest.raises(IntegrityError):
        refs.head()


@pytest.mark.parametrize("value", ["zz" * 32, "ab" * 31, "", "AB" * 32, " " * 64, "ab " * 21 + "a"])
def test_a_value_that_is_no_oid_is_found_in_spite_of_its_checksum(
    refs: Refs, tmp_path: Path, value: str
) -> None:
    (tmp_path / MAIN).write_bytes(refs_module._checked(value))
    with pytest.raises(IntegrityError):
        refs.read(MAIN)
    (tmp_path / "HEAD").write_bytes(refs_module._checked(value))
    with pytest.raises(IntegrityError):
        refs.head()


@pytest.mark.parametrize(
    "target", ["../../etc/passwd", "refs/heads/../../config.toml", "HEAD", "", "refs/heads/a b"]
)
def test_a_head_that_leads_elsewhere_is_damaged(refs: Refs, tmp_path: Path, target: str) -> None:
    (tmp_path / "HEAD").write_bytes(refs_module._checked(f"ref: {target}"))
    with pytest.raises(IntegrityError):
        refs.head()


def test_no_head_is_damage(refs: Refs, tmp_path: Path) -> None:
    (tmp_path / "HEAD").unlink()
    with pytest.raises(IntegrityError, match="missing"):
        refs.head()


NAMES = st.text(max_size=20)


def in_one_line(text: str) -> str:
    """As a line keeps it: no NUL, which stands for what a crash took, and white space is one space."""
    return " ".join(text.replace("\0", " ").split())


@given(NAMES, NAMES, NAMES, st.integers(-(2**40), 2**40), st.integers(-900, 900))
@example("A\0da", "\0", "commit:\0\0x", 0, 0)
def test_any_name_and_reason_fit_a_line(
    tmp_path_factory: pytest.TempPathFactory, name: str, email: str, reason: str, seconds: int, offset: int
) -> None:
    folder = tmp_path_factory.mktemp("refs")
    refs = Refs(folder)
    (folder / "refs/heads").mkdir(parents=True)
    refs.set_head(MAIN)
    refs.move(MAIN, None, A, Signature(name, email, seconds, offset), reason)
    refs.move(MAIN, A, B, Signature(name, email, seconds, offset), reason)
    entries = refs.reflog(MAIN)
    assert [(entry.old, entry.new) for entry in entries] == [(A, B), (b"", A)]
    assert entries[0].who == Signature(in_one_line(name), in_one_line(email), seconds, offset)
    assert entries[0].reason == in_one_line(reason)
    assert refs.damaged_log_lines() == []


def test_a_very_long_reason_is_cut(refs: Refs) -> None:
    refs.move(MAIN, None, A, WHO, "x" * 100_000)
    assert 500 < len(refs.reflog(MAIN)[0].reason) < 5000


def test_a_damaged_line_of_the_reflog_is_named_and_the_others_stay(refs: Refs, tmp_path: Path) -> None:
    for old, new in ((None, A), (A, B), (B, C)):
        refs.move(MAIN, old, new, WHO, "commit: x")
    path = tmp_path / "logs" / MAIN
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for place in range(len(lines[0]), len(lines[0]) + len(lines[1])):
        broken = bytearray(whole)
        broken[place] ^= 1
        path.write_bytes(broken)
        assert refs.damaged_log_lines(), place
        assert refs.reflog(MAIN)[0].new == C or place == len(lines[0]) + len(lines[1]) - 1
    path.write_bytes(whole)
    assert refs.damaged_log_lines() == []


@pytest.mark.parametrize(
    "line", ["zz\tyy\ta\tb\t1\t2\tr", "\t" * 6, f"{'00' * 32}\t{'00' * 32}\ta\tb\tx\t0\tr"]
)
def test_a_line_that_means_nothing_is_damage_in_spite_of_its_checksum(
    refs: Refs, tmp_path: Path, line: str
) -> None:
    path = tmp_path / "logs" / MAIN
    path.parent.mkdir(parents=True)
    path.write_text(f"{line}\t{refs_module.blake3(line.encode()).hexdigest(8)}\n")
    assert refs.reflog(MAIN) == []
    assert refs.damaged_log_lines() == [f"logs/{MAIN}:1"]


def test_a_line_that_a_crash_cut_short_is_no_damage(refs: Refs, tmp_path: Path) -> None:
    refs.move(MAIN, None, A, WHO, "one")
    path = tmp_path / "logs" / MAIN
    whole = path.read_bytes()
    for cut in (1, 30, len(whole) - 1):
        path.write_bytes(whole + whole[:cut])
        assert refs.damaged_log_lines() == []
        assert len(refs.reflog(MAIN)) == 1
    refs.move(MAIN, A, B, WHO, "two")
    assert [entry.new for entry in refs.reflog(MAIN)] == [B, A]
    assert refs.damaged_log_lines() == []


def test_the_ref_moves_after_its_log_is_durable(
    refs: Refs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure at any step leaves the ref where it was."""
    refs.move(MAIN, None, A, WHO, "one")
    real_fsync, real_replace = os.fsync, os.replace
    for failing in range(20):
        steps = 0

        def count(real: object, *args: object, limit: int = failing) -> object:
            nonlocal steps
            steps += 1
            if steps > limit:
                raise OSError(28, "No space left on device")
            return real(*args)  # type: ignore[operator]

        monkeypatch.setattr(os, "fsync", lambda handle: count(real_fsync, handle))
        monkeypatch.setattr(os, "replace", lambda a, b: count(real_replace, a, b))
        try:
            refs.move(MAIN, A, B, WHO, "two")
        except OSError:
            monkeypatch.undo()
            assert refs.read(MAIN) in (A, B)
            assert refs.damaged_log_lines() == []
            if refs.read(MAIN) == B:
                refs.move(MAIN, B, A, WHO, "back")
            continue
        monkeypatch.undo()
        break
    assert refs.read(MAIN) == B
    assert failing > 2


def test_a_log_is_not_carried_to_where_another_ref_is_in_the_way(refs: Refs) -> None:
    for name in ("refs/heads/a", "refs/heads/b", "refs/heads/c/d"):
        refs.move(name, None, A, WHO, "made")
    for new in ("refs/heads/b/x", "refs/heads/c", "refs/heads/a/x"):
        refs.carry_log("refs/heads/a", new)
    for name in ("refs/heads/a", "refs/heads/b", "refs/heads/c/d"):
        assert len(refs.reflog(name)) == 1
