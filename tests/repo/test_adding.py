"""Adding: what is found, what is read, and what is left alone."""

from __future__ import annotations

import os
import re
import socket
import unicodedata
from pathlib import Path

import pytest

import arbor
from arbor import processes
from arbor.errors import IntegrityError, PartlyDone, StorageError, UsageError
from arbor.repo.staging import adding, storing_files
from arbor.repo.work_tree import worktree
from arbor.repo.work_tree.file_states import UNKNOWN, size_of
from arbor.repo.work_tree.status import displaced
from arbor.text.extraction import ChunkPolicy, Extraction
from tests.repo.kit import files_in, new_kb, read_all, record, short, write

E_ACUTE, E_APART = "caf\u00e9.md", "cafe\u0301.md"


def test_files_become_documents_byte_for_byte(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "empty.md": b"",
        "binary.bin": bytes(range(256)) * 40,
        "crlf.txt": b"a\r\nb\r\n",
        "bom.md": b"\xef\xbb\xbf# T\n",
        "huge-line.txt": b"x" * 300_000,
        "no-end.md": b"# T\n\nno end",
        "utf16.txt": "日本\n語\n".encode("utf-16"),
        "zeros.md": b"a\0b\n",
        "deep/er/and/deeper/note.md": "# Deep\n",
        "gb.txt": "中文内容在这里,足够长的一段文字。\n".encode("gb18030") * 20,
        "page.html": "<html><title>T</title><body><p>Hello</p></body></html>",
        "bad.md": b"---\n: [\n---\ntext\n",
        "latin.txt": b"caf\xe9 " * 50,
        "front.md": '---\ntitle: "\\ud800"\nx: [1.5, .nan, 99999999999999999999999]\n---\nbody\n',
    }
    kb = new_kb(tmp_path)
    write(tmp_path, files)
    result = kb.add()
    assert result.skipped == ()
    assert sorted(result.added) == sorted(files)
    kb.commit("all", index=False)
    assert read_all(kb) == files_in(tmp_path)
    assert kb.verify().ok


def test_adding_again_finds_nothing_to_do(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a\n", "b/c.md": "c\n"})
    result = kb.add()
    assert (result.added, result.modified, result.removed, result.unchanged) == ((), (), (), 2)


def test_a_touched_file_is_no_change(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a\n"})
    os.utime(tmp_path / "a.md", (1, 1))
    assert kb.add(dry_run=True).unchanged == 1
    result = kb.add()
    assert (result.modified, result.unchanged) == ((), 1)
    assert kb.status().clean


def test_a_touched_file_is_read_as_text_again_only_by_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path, {"a.md": "a\n"})
    read: list[str] = []
    real = storing_files.extract

    def note(data: bytes, name: str, policy: ChunkPolicy, *, charset: str) -> Extraction:
        read.append(name)
        return real(data, name, policy, charset=charset)

    monkeypatch.setattr(storing_files, "extract", note)
    os.utime(tmp_path / "a.md", (1, 1))
    assert kb.add().unchanged == 1
    assert read == []
    os.utime(tmp_path / "a.md", (2, 2))
    assert kb.add(force=True).unchanged == 1
    assert read == ["a.md"]
    write(tmp_path, {"a.md": "b\n"})
    assert kb.add().modified == ("a.md",)
    assert read == ["a.md", "a.md"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", ["a.md", "b.txt", "x/a.md", "x/y/b.md", "z [1].md"]),
        (".", ["a.md", "b.txt", "x/a.md", "x/y/b.md", "z [1].md"]),
        ("a.md", ["a.md"]),
        ("x", ["x/a.md", "x/y/b.md"]),
        ("x/", ["x/a.md", "x/y/b.md"]),
        ("*.md", ["a.md", "x/a.md", "x/y/b.md", "z [1].md"]),
        ("x/*.md", ["x/a.md", "x/y/b.md"]),
        ("*/y", ["x/y/b.md"]),
        ("?.md", ["a.md"]),
        ("[ab].*", ["a.md", "b.txt"]),
        ("z [1].md", ["z [1].md"]),
        ("./x/../a.md", ["a.md"]),
        ("x/y/b.md", ["x/y/b.md"]),
    ],
)
def test_files_folders_and_globs(tmp_path: Path, typed: str, expected: list[str]) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, dict.fromkeys(["a.md", "b.txt", "x/a.md", "x/y/b.md", "z [1].md"], "text\n"))
    assert sorted(kb.add([typed], cwd=tmp_path, dry_run=True).added) == expected
    assert sorted(kb.add([typed], cwd=tmp_path).added) == expected


def test_paths_are_those_of_the_folder_one_is_in(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {"a.md": "a", "x/a.md": "a"})
    assert kb.add(["a.md"], cwd=tmp_path / "x").added == ("x/a.md",)
    assert kb.add(["../a.md"], cwd=tmp_path / "x").added == ("a.md",)
    with pytest.raises(UsageError, match="outside"):
        kb.add(["../../b.md"], cwd=tmp_path / "x")


def test_a_path_may_be_typed_through_a_link_above_the_work_tree(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    kb = new_kb(tmp_path / "real")
    os.symlink(tmp_path / "real", tmp_path / "link")
    write(tmp_path / "real", {"a.md": "a", "x/b.md": "b"})
    assert kb.add([str(tmp_path / "link/a.md")]).added == ("a.md",)
    assert kb.add([str(tmp_path / "link")]).added == ("x/b.md",)


def test_what_matches_nothing_is_an_error(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    for typed in ("absent.md", "absent/", "*.txt", "x/absent.md"):
        with pytest.raises(UsageError, match="matches no file"):
            kb.add([typed])


def test_removed_files_leave_the_stage(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a", "x/b.md": "b", "x/c.md": "c"})
    (tmp_path / "x/b.md").unlink()
    assert kb.add(["x/b.md"]).removed == ("x/b.md",)
    (tmp_path / "x/c.md").unlink()
    (tmp_path / "x").rmdir()
    (tmp_path / "a.md").unlink()
    assert kb.add(["x"]).removed == ("x/c.md",)
    assert short(kb.status().unstaged) == ["D a.md"]


def test_update_takes_only_what_is_tracked(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a", "b.md": "b"})
    write(tmp_path, {"a.md": "changed", "new.md": "n"})
    (tmp_path / "b.md").unlink()
    result = kb.add(update=True)
    assert (result.added, result.modified, result.removed) == ((), ("a.md",), ("b.md",))
    assert kb.status().untracked == ("new.md",)


def test_a_dry_run_says_what_would_happen_and_does_nothing(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a", "b.md": "b", "c.md": "c"})
    write(tmp_path, {"a.md": "other", "new.md": "n"})
    (tmp_path / "b.md").unlink()
    before = {path: path.read_bytes() for path in kb.folder.rglob("*") if path.is_file()}
    result = kb.add(dry_run=True)
    assert (result.added, result.modified, result.removed, result.unchanged) == (
        ("new.md",),
        ("a.md",),
        ("b.md",),
        1,
    )
    assert {path: path.read_bytes() for path in kb.folder.rglob("*") if path.is_file()} == before


def test_ignored_files_are_added_only_by_force_and_stay_once_tracked(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {".gitignore": "*.log\nout/\n", "a.log": "l", "out/b.md": "b", "c.md": "c"})
    assert sorted(kb.add().added) == [".gitignore", "c.md"]
    with pytest.raises(UsageError, match="is ignored"):
        kb.add(["a.log"])
    assert kb.add(["a.log"], force=True).added == ("a.log",)
    assert kb.add(["out"], force=True).added == ("out/b.md",)
    write(tmp_path, {"a.log": "more", "out/b.md": "more"})
    assert sorted(kb.add().modified) == ["a.log", "out/b.md"]
    assert kb.status().untracked == ()


def test_beside_a_tracked_document_an_ignored_folder_stays_ignored(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"out/b.md": "b", "out/in/c.md": "c"})
    write(
        tmp_path, {".gitignore": "out/\n", "out/.gitignore": "!*.md\n", "out/x.md": "x", "out/in/y.md": "y"}
    )
    write(tmp_path, {"out/deep/z.md": "z", "out/b.md": "more"})
    assert kb.status().untracked == (".gitignore",)
    for selection in ("out", "out/in", "*.md", ""):
        assert set(kb.add([selection]).added) <= {".gitignore"}
    assert [path for path, _ in kb.ls()] == ["out/b.md", "out/in/c.md"]
    assert [change.path for change in kb.status().staged] == [".gitignore", "out/b.md"]
    assert kb.add(["out"], force=True).added == ("out/.gitignore", "out/deep/z.md", "out/in/y.md", "out/x.md")


def test_what_is_ignored_among_what_is_named_is_skipped(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {".gitignore": "*.log\nout/\n", "a.log": "l", "out/b.md": "b", "c.md": "c"})
    result = kb.add(["a.log", "c.md", "out"])
    assert (result.added, [path for path, _ in result.skipped]) == (("c.md",), ["a.log", "out"])
    assert all("-f" in reason for _, reason in result.skipped)
    assert kb.add(["a.log", "c.md", "out"], update=True).skipped == ()
    for typed in ("out", "out/b.md", "a.log"):
        with pytest.raises(UsageError, match=f"'{typed}' is ignored"):
            kb.add([typed])


def test_a_name_that_is_nowhere_is_an_error_of_update_too(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    write(tmp_path, {"new.md": "n"})
    assert kb.add(["new.md"], update=True).added == ()
    for typed in ("nwe.md", "*.txt", "absent/"):
        with pytest.raises(UsageError, match="matches no file"):
            kb.add([typed], update=True)


def test_git_and_arbor_folders_are_never_looked_into(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {".git/config": "x", "sub/.git": "gitdir: elsewhere\n", "sub/a.md": "a", ".svn/x": "x"})
    result = kb.add(force=True)
    assert (result.added, result.skipped) == (("sub/a.md",), ())
    for typed in (".arbor/HEAD", ".git/config"):
        result = kb.add([typed], force=True)
        assert (result.added, [name for name, _ in result.skipped]) == ((), [typed])


def test_links_sockets_and_pipes_are_left_out_with_a_reason(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"secret.md": "s"})
    kb = new_kb(tmp_path / "kb")
    root = tmp_path / "kb"
    write(root, {"a.md": "a"})
    os.symlink(root / "a.md", root / "inner-link.md")
    os.symlink(outside / "secret.md", root / "outer-link.md")
    os.symlink(outside, root / "folder-link")
    os.symlink("nowhere", root / "dangling.md")
    os.symlink("loop", root / "loop")
    os.mkfifo(root / "pipe")
    here = socket.socket(socket.AF_UNIX)
    here.bind(os.path.relpath(root / "sock"))
    try:
        result = kb.add()
    finally:
        here.close()
    assert result.added == ("a.md",)
    assert dict(result.skipped) == {
        **dict.fromkeys(
            ["inner-link.md", "outer-link.md", "folder-link", "dangling.md", "loop"], "it is a symbolic link"
        ),
        **dict.fromkeys(["pipe", "sock"], "it is not a file"),
    }
    assert kb.add(["pipe"]).skipped == (("pipe", "it is not a file"),)
    assert sorted(kb.status().skipped) == sorted(result.skipped)


@pytest.mark.parametrize(
    "typed", ["folder-link/secret.md", "folder-link/", "folder-link/sub", "folder-link/*.md"]
)
def test_nothing_is_reached_through_a_link(tmp_path: Path, typed: str) -> None:
    write(tmp_path / "outside", {"secret.md": "s", "sub/other.md": "o"})
    kb = new_kb(tmp_path / "kb", {"a.md": "a"})
    os.symlink(tmp_path / "outside", tmp_path / "kb/folder-link")
    try:
        result = kb.add([typed], force=True)
    except UsageError:
        return
    assert result.added == ()


def test_a_knowledge_base_inside_is_left_to_itself(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    new_kb(tmp_path / "inner", {"b.md": "b"})
    write(tmp_path, {"inner/sub/c.md": "c"})
    assert kb.add().skipped == (("inner/", "it is a knowledge base of its own"),)
    assert kb.add(["inner/b.md"]).added == ()
    assert kb.add(["inner/sub"]).added == ()
    assert kb.add(["inner/sub/c.md"]).added == ()
    assert sorted(path for path, _ in kb.ls()) == ["a.md"]


def test_two_forms_of_one_name_are_told_apart(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {E_ACUTE: "whole", E_APART: "apart"})
    if len(list(tmp_path.glob("caf*"))) < 2:
        pytest.skip("this file system takes both forms for one name")
    result = kb.add()
    assert result.added == (E_ACUTE,)
    assert result.skipped == ((E_APART, "another file has the same name in Unicode form C"),)
    assert b"".join(kb.cat(E_ACUTE)) == b"whole"


def test_a_name_in_form_d_is_tracked_under_form_c_and_its_file_is_found(tmp_path: Path) -> None:
    folder = unicodedata.normalize("NFD", "é")
    kb = new_kb(tmp_path)
    write(tmp_path, {E_APART: "one\n", f"{folder}/note.md": "two\n"})
    if (tmp_path / E_ACUTE).exists():
        pytest.skip("this file system takes both forms for one name")
    assert sorted(kb.add([E_APART, folder]).added) == sorted([E_ACUTE, "\u00e9/note.md"])
    kb.commit("forms", index=False)
    assert kb.status().clean
    write(tmp_path, {E_APART: "changed\n", f"{folder}/note.md": "changed\n"})
    assert short(kb.status().unstaged) == [f"M {E_ACUTE}", "M \u00e9/note.md"]
    kb.restore([E_ACUTE, "\u00e9/note.md"])
    assert files_in(tmp_path) == {E_APART: b"one\n", f"{folder}/note.md": b"two\n"}
    kb.mv([E_ACUTE], "plain.md")
    kb.rm(["\u00e9/note.md"])
    assert files_in(tmp_path) == {"plain.md": b"one\n"}
    assert kb.status().untracked == ()


def test_names_that_one_platform_takes_for_one_are_warned_of(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"README.md": "a"})
    write(tmp_path, {"readme.md": "b", "Sub/a.md": "c", "sub/A.md": "d"})
    if len(list(tmp_path.iterdir())) < 5:
        pytest.skip("this file system takes both cases for one name")
    warned = dict(kb.add().warnings)
    assert "'README.md'" in warned["readme.md"]
    assert len(warned) == 2


@pytest.mark.parametrize(
    "name", ["new\nline.md", "tab\t.md", "back\\slash.md", "con.md", "trailing.", "trailing ", "ARBOR~1"]
)
def test_names_that_cannot_be_used_are_left_out_with_a_reason(tmp_path: Path, name: str) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {name: "x", "good.md": "x"})
    result = kb.add()
    assert result.added == ("good.md",)
    assert [entry[0] for entry in result.skipped] == [name]
    assert kb.add([name]).skipped == result.skipped


@pytest.mark.parametrize(
    "name",
    [
        "-leading.md",
        "--help",
        "a b.md",
        "emoji 🎉 & co, ltd.md",
        "x" * 255,
        "中" * 85,
        "'\"$(x)`;.md",
        "#x",
        "%41.md",
        "~a",
        ".arbor~.md",
    ],
)
def test_names_that_are_only_odd_are_added(tmp_path: Path, name: str) -> None:
    kb = new_kb(tmp_path, {name: "x"})
    assert [path for path, _ in kb.ls()] == [name]
    assert kb.verify().ok


def test_a_name_that_is_no_text_is_left_out(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system takes only text for names")
    [(name, why)] = kb.add().skipped
    assert (name, why) == ("bad\udcff.md", "its name is not valid Unicode")


def test_very_deep_folders(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 400)
    kb = new_kb(tmp_path, {f"{deep}/note.md": "x", "a.md": "a"})
    assert [path for path, _ in kb.ls()] == ["a.md", f"{deep}/note.md"]
    assert kb.status().clean


def refuse(monkeypatch: pytest.MonkeyPatch, what: str, name: str) -> None:
    """Let one folder or file be unreadable, for a user who may read everything."""
    real = getattr(os, what)

    def fake(path: object, *args: object, **kwargs: object) -> object:
        if str(path).rstrip("/").endswith(name):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, what, fake)


def test_an_unreadable_folder_is_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path, {"a.md": "a", "shut/b.md": "b", "shut/deep/c.md": "c", "shutter.md": "s"})
    refuse(monkeypatch, "open", "/shut")  # by handle, where the system can
    refuse(monkeypatch, "scandir", "/shut")
    (tmp_path / "shutter.md").unlink()
    assert short(kb.status().unstaged) == ["D shutter.md"]
    assert kb.status().skipped == (("shut", "permission denied"),)
    assert kb.diff()[0].path == "shutter.md"
    result = kb.add()
    assert result.removed == ("shutter.md",)
    assert result.skipped == (("shut", "permission denied"),)
    kb.add(["shut/b.md"])
    monkeypatch.undo()
    assert short(kb.status().staged) == ["D shutter.md"]


def test_an_unreadable_file_is_left_out_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {"a.md": "a", "shut.md": "b"})
    refuse(monkeypatch, "open", "/shut.md")
    result = kb.add()
    assert (result.added, result.skipped) == (("a.md",), (("shut.md", "permission denied"),))


def test_a_file_that_goes_while_it_is_added_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {"a.md": "a", "b.md": "b"})
    real = storing_files.read_file

    def vanish(fs_path: str, limit: int | None) -> object:
        if fs_path.endswith("b.md"):
            os.unlink(fs_path)
        return real(fs_path, limit)

    monkeypatch.setattr(storing_files, "read_file", vanish)
    result = kb.add()
    assert result.added == ("a.md",)
    assert [name for name, _ in result.skipped] == ["b.md"]


@pytest.mark.parametrize("times", [1, 10])
def test_a_file_that_changes_while_it_is_read_is_read_again_or_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {"a.md": "first\n"})
    real, count = worktree._read_all, 0

    def change(handle: int, size: int) -> bytes:
        nonlocal count
        data = real(handle, size)
        if count < times:
            count += 1
            write(tmp_path, {"a.md": f"version {count} of it\n"})
        return data

    monkeypatch.setattr(worktree, "_read_all", change)
    result = kb.add()
    if times == 1:
        assert b"".join(kb.cat("a.md")) == b"version 1 of it\n"
    else:
        assert "keeps changing" in result.skipped[0][1]


def test_a_change_within_the_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    """Same size and same times: only the bytes differ, as when two writes fall into one tick."""
    kb = new_kb(tmp_path)
    write(tmp_path, {"a.md": "one\n"})
    status = os.stat(tmp_path / "a.md")
    kb.add()
    (tmp_path / "a.md").write_bytes(b"two\n")
    os.utime(tmp_path / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert short(kb.status().unstaged) == ["M a.md"]
    assert kb.add().modified == ("a.md",)


def test_a_state_is_kept_only_when_it_was_old_at_the_first_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An add that takes long must not take a file for settled because the add ended long after the write."""
    kb = new_kb(tmp_path)
    write(tmp_path, {"old.md": "o", "young.md": "y"})
    moment = os.stat(tmp_path / "young.md").st_ctime_ns
    monkeypatch.setattr("time.time_ns", lambda: moment + 1_000_000)
    kb.add()
    entries = adding.tracked_files(kb.repo, kb.repo.stage())
    assert {path: state for path, (_, state) in entries.items()} == {"old.md": UNKNOWN, "young.md": UNKNOWN}
    monkeypatch.setattr("time.time_ns", lambda: moment + 10**9)
    assert kb.status().unstaged == ()
    entries = adding.tracked_files(kb.repo, kb.repo.stage())
    assert {path: size_of(state) for path, (_, state) in entries.items()} == {"old.md": 1, "young.md": 1}


def test_large_files_are_refused_unless_forced(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {"arbor.toml": "[add]\nmax_file_size = 1000\n", "big.md": "# Big\n\n" + "word " * 400})
    [(name, why)] = kb.add().skipped
    assert name == "big.md"
    assert "2,007 bytes" in why
    assert "limit of 1,000" in why
    assert kb.add(["big.md"], dry_run=True).skipped == ((name, why),)
    assert kb.add(["big.md"], force=True).added == ("big.md",)


def test_a_very_large_file_is_streamed_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = new_kb(tmp_path)
    text = "".join(f"## Part {n}\n\nWords of part {n}, 中文也有。\n\n" for n in range(2000)).encode()
    write(tmp_path, {"text.md": text, "data.bin": os.urandom(100_000)})
    monkeypatch.setattr(storing_files, "READ_AT_ONCE_BYTES", 1000)
    result = kb.add()
    assert sorted(result.added) == ["data.bin", "text.md"]
    kb.commit("large", index=False)
    assert read_all(kb) == files_in(tmp_path)
    assert kb.verify().ok
    assert kb.status().clean


def test_a_very_large_file_in_another_encoding_is_found_or_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path)
    lines = "所有权系统让借用检查器发现错误。\n\n" * 200
    contents: dict[str, str | bytes] = {
        "wide.md": ("# 借用检查\n\n" + lines).encode("utf-16"),
        "shifts.txt": ("これは日本語のテストです。\n" * 200).encode("iso2022_jp"),
        "late.txt": b"plain words\n" * 30_000 + "le café est fermé\n".encode("latin-1") * 300,
    }
    write(tmp_path, contents)
    monkeypatch.setattr(storing_files, "READ_AT_ONCE_BYTES", 1000)
    said = kb.add().warnings
    warnings = {path: " ".join(text for name, text in said if name == path) for path in contents}
    assert warnings["wide.md"] == "the file is too large for its links to be looked for"
    assert "no search will find it: it is in iso2022_jp" in warnings["shifts.txt"]
    assert re.search(r"[0-9]+ of its [0-9]+ passages are not utf-8", warnings["late.txt"])
    kb.commit("large")
    assert [hit.path for hit in kb.search("借用检查").hits] == ["wide.md"]
    assert read_all(kb) == files_in(tmp_path)
    assert kb.verify().ok


def test_names_that_windows_cannot_hold_are_warned_about_once(tmp_path: Path) -> None:
    names = ["a<b>.md", "col:on.md", "pipe|x.md", 'q"q.md', "star*.md", "what?.md", "zz|.md"]
    kb = new_kb(tmp_path)
    write(tmp_path, {name: name for name in [*names, "fine.md"]})
    [(path, said)] = kb.add().warnings
    assert path == "a<b>.md"
    assert said == (
        "it cannot be checked out on Windows (Windows allows no < in a name); nor can col:on.md, "
        'pipe|x.md, q"q.md, star*.md, what?.md and 1 more'
    )
    kb.commit("names", index=False)
    write(tmp_path, {"what?.md": "edited", "new?.md": "new"})
    assert [path for path, _ in kb.add().warnings] == ["new?.md"]


def test_windows_is_not_asked_to_write_a_name_that_it_takes_for_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path, {"HEAD:foo": "words", "a.md": "a"})
    (tmp_path / "HEAD:foo").unlink()
    monkeypatch.setattr("arbor.repo.work_tree.worktree._ON_WINDOWS", True)
    with pytest.raises(PartlyDone, match="'HEAD:foo' cannot be written: Windows allows no : in a name"):
        kb.restore(["HEAD:foo"])
    assert sorted(files_in(tmp_path)) == ["a.md"]


def test_a_file_takes_the_place_of_a_folder_and_back(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a": "file", "b/x.md": "x", "b/y/z.md": "z", "keep.md": "k"})
    (tmp_path / "a").unlink()
    write(tmp_path, {"a/inner.md": "inner"})
    for path in ("b/x.md", "b/y/z.md"):
        (tmp_path / path).unlink()
    (tmp_path / "b/y").rmdir()
    (tmp_path / "b").rmdir()
    write(tmp_path, {"b": "now a file"})
    assert kb.add(["a/inner.md"]).removed == ("a",)
    assert kb.add(["b"]).removed == ("b/x.md", "b/y/z.md")
    kb.commit("swapped", index=False)
    assert read_all(kb) == {"a/inner.md": b"inner", "b": b"now a file", "keep.md": b"k"}
    assert kb.status().clean


def test_what_cannot_stay_beside_what() -> None:
    tracked = {"a", "b/c", "b/d/e", "b", "x.md"}
    assert displaced(tracked, ["a/b/c"]) == {"a"}
    assert displaced(tracked, ["b/c/d"]) == {"b", "b/c"}
    assert displaced({"b/c", "b/d/e", "bc"}, ["b"]) == {"b/c", "b/d/e"}
    assert displaced(tracked, ["x.md", "y", "a"]) == set()


def test_bytes_from_elsewhere_get_a_file_and_keep_their_source(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"old.md": "old"})
    assert kb.add_bytes("in/note.md", b"# Note\n", source_uri="https://example.org/n").added == (
        "in/note.md",
    )
    assert (tmp_path / "in/note.md").read_bytes() == b"# Note\n"
    assert kb.add_bytes("in/note.md", b"# Note\n", source_uri="https://example.org/n").unchanged == 1
    with pytest.raises(UsageError, match="holds something else"):
        kb.add_bytes("old.md", b"new")
    assert kb.add_bytes("old.md", b"new", overwrite=True).modified == ("old.md",)
    kb.commit("in", index=False)
    write(tmp_path, {"in/note.md": "# Note, edited\n"})
    assert kb.add().modified == ("in/note.md",)
    kb.commit("edited", index=False)
    assert kb.document("in/note.md").source_uri == "https://example.org/n"
    assert kb.status().clean


def test_bytes_from_elsewhere_do_not_go_where_they_may_not(tmp_path: Path) -> None:
    kb = new_kb(tmp_path / "kb", {"file": "f"})
    (tmp_path / "outside").mkdir()
    os.symlink(tmp_path / "outside", tmp_path / "kb/link")
    os.mkfifo(tmp_path / "kb/pipe")
    for path in ("../x", "/x", ".arbor/config.toml", "link/x.md", "a\nb", "link", "pipe"):
        with pytest.raises(UsageError):
            kb.add_bytes(path, b"x")
    with pytest.raises(arbor.errors.ArborError):
        kb.add_bytes("file/below.md", b"x")
    assert list((tmp_path / "outside").iterdir()) == []
    assert kb.status().staged == ()


def test_bytes_take_the_place_of_a_document_that_is_gone_from_disk(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a": "file"})
    (tmp_path / "a").unlink()
    assert kb.add_bytes("a/b.md", b"x").removed == ("a",)
    assert short(kb.status().staged) == ["D a", "A a/b.md"]


def test_what_a_killed_writer_left_in_the_work_tree_is_no_document(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    worktree.temporary_path(tmp_path).write_text("half")
    assert kb.status().clean
    assert kb.add().added == ()


def test_a_document_that_cannot_be_stored_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path)
    write(tmp_path, {"a.md": "a", "bad.md": "b", "c.md": "c"})
    real = storing_files.store_extraction

    def fail(sink: object, extraction: object, data: bytes, *rest: str, **options: bytes) -> bytes:
        if data == b"b":
            raise IntegrityError("it cannot be stored")
        return real(sink, extraction, data, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(storing_files, "store_extraction", fail)
    result = kb.add()
    assert (result.added, result.skipped) == (("a.md", "c.md"), (("bad.md", "it cannot be stored"),))


def test_many_files_are_prepared_by_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing_files, "_BATCH_FILES", 10)
    files: dict[str, str | bytes] = {
        f"{n % 7}/{n}.md": f"# Note {n}\n\nshared text\n" + "x" * (n % 50) for n in range(120)
    }
    kb = new_kb(tmp_path, files)
    assert len(list(kb.ls())) == 120
    assert read_all(kb) == files_in(tmp_path)
    assert kb.verify().ok
    alone = new_kb(tmp_path / "other")
    monkeypatch.setattr(processes, "can_fork", lambda: False)
    record(alone, files)
    assert alone.snapshot("HEAD").ledger_root == kb.snapshot("HEAD").ledger_root


def test_a_bare_knowledge_base_has_no_files_to_add(tmp_path: Path) -> None:
    kb = arbor.init(tmp_path, bare=True)
    with pytest.raises(UsageError, match="bare"):
        kb.add()


def test_where_nothing_can_be_written_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    write(tmp_path, {"b.md": "b"})

    def refuse_all(*args: object, **kwargs: object) -> None:
        raise OSError(30, "Read-only file system", "x")

    monkeypatch.setattr("arbor.store.lock.os.open", refuse_all)
    with pytest.raises(StorageError, match="read-only"):
        kb.add()
    monkeypatch.undo()
    assert kb.status().untracked == ("b.md",)
