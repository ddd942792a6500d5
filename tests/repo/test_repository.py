"""Making, finding and opening a knowledge base."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from pathlib import Path

import pytest

import arbor
from arbor.errors import ArborError, IntegrityError, NoKnowledgeBase, UsageError
from arbor.repo.repository import init_repository, open_repository
from tests.repo.kit import new_kb, read_all, record, write


def test_a_new_one_is_empty_and_sound(tmp_path: Path) -> None:
    kb = arbor.init(tmp_path / "new/folder")
    assert kb.fs_root == (tmp_path / "new/folder").resolve()
    assert kb.status().clean
    assert (kb.status().branch, kb.status().head) == ("main", "")
    assert kb.verify().ok
    assert list(kb.ls()) == []


def test_the_first_branch_can_have_another_name(tmp_path: Path) -> None:
    kb = arbor.init(tmp_path, branch="trunk")
    record(kb, {"a.md": "a"})
    assert list(kb.repo.refs.iter_names()) == ["refs/heads/trunk"]
    for name in ("", "a b", "../x", "-x", "a..b"):
        with pytest.raises(UsageError):
            arbor.init(tmp_path / "other", branch=name)
        assert not (tmp_path / "other/.arbor/format").exists()


def test_there_is_only_one_in_a_folder(tmp_path: Path) -> None:
    arbor.init(tmp_path)
    with pytest.raises(UsageError, match="already"):
        arbor.init(tmp_path)
    write(tmp_path / "full", {"x": "x"})
    with pytest.raises(UsageError, match="not empty"):
        arbor.init(tmp_path / "full", bare=True)


def test_a_file_in_the_way_is_an_error_in_words(tmp_path: Path) -> None:
    write(tmp_path, {"file": "x", "sub/.arbor": "x"})
    for folder in (tmp_path / "file", tmp_path / "sub", tmp_path / "file/below"):
        with pytest.raises(ArborError):
            arbor.init(folder)


def test_it_is_found_from_below(tmp_path: Path) -> None:
    new_kb(tmp_path, {"x/y/a.md": "a"})
    for start in (tmp_path, tmp_path / "x", tmp_path / "x/y", tmp_path / ".arbor", tmp_path / ".arbor/packs"):
        assert arbor.open(start).fs_root == tmp_path.resolve()
    os.symlink(tmp_path / "x", tmp_path.parent / f"{tmp_path.name}-link")
    assert arbor.open(tmp_path.parent / f"{tmp_path.name}-link").fs_root == tmp_path.resolve()


def test_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(NoKnowledgeBase) as caught:
        arbor.open(tmp_path)
    assert caught.value.hint == "run: arbor init"
    with pytest.raises(NoKnowledgeBase):
        open_repository(tmp_path)


def test_an_interrupted_init_is_none_and_can_be_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("arbor.repo.repository.write_atomically", die)
    with pytest.raises(KeyboardInterrupt):
        arbor.init(tmp_path)
    monkeypatch.undo()
    with pytest.raises(NoKnowledgeBase):
        arbor.open(tmp_path)
    kb = arbor.init(tmp_path)
    record(kb, {"a.md": "a"})
    assert kb.verify().ok


def test_an_unfinished_one_does_not_hide_the_one_above(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    (tmp_path / "sub/.arbor/refs").mkdir(parents=True)
    assert arbor.open(tmp_path / "sub").fs_root == kb.fs_root


def test_another_format_is_refused_and_a_damaged_one_named(tmp_path: Path) -> None:
    kb = arbor.init(tmp_path)
    (kb.folder / "format").write_text("arbor 2\n")
    with pytest.raises(NoKnowledgeBase, match="'arbor 2'"):
        arbor.open(tmp_path)
    (kb.folder / "format").write_bytes(b"\xff\xfe")
    with pytest.raises(IntegrityError, match="damaged"):
        arbor.open(tmp_path)


def test_a_bare_one(tmp_path: Path) -> None:
    folder = init_repository(tmp_path / "hub", bare=True)
    assert folder == tmp_path / "hub"
    kb = arbor.open(tmp_path / "hub/packs")
    assert kb.fs_root is None
    assert kb.folder == (tmp_path / "hub").resolve()
    for work in (kb.add, lambda: kb.mv(["a"], "b"), kb.diff):
        with pytest.raises(UsageError, match="bare"):
            work()
    assert kb.status().clean
    assert kb.verify().ok


def test_a_bare_one_below_another_is_itself(tmp_path: Path) -> None:
    new_kb(tmp_path, {"a.md": "a"})
    arbor.init(tmp_path / "hub", bare=True)
    assert arbor.open(tmp_path / "hub").fs_root is None


def test_documents_in_the_form_of_a_bare_one_are_documents(tmp_path: Path) -> None:
    """A clone could bring such a folder with settings and hooks of its own."""
    kb = new_kb(
        tmp_path,
        {
            "trap/format": "arbor 1\n",
            "trap/packs/x": "x",
            "trap/HEAD": "x",
            "trap/config.toml": "x",
            "a.md": "a",
        },
    )
    for start in (tmp_path / "trap", tmp_path / "trap/packs"):
        assert arbor.open(start).fs_root == kb.fs_root


def test_a_copied_folder_is_the_same_knowledge_base(tmp_path: Path) -> None:
    kb = new_kb(tmp_path / "one", {"a.md": "a", "b/c.md": "c"})
    kb.close()
    os.rename(tmp_path / "one", tmp_path / "two")
    moved = arbor.open(tmp_path / "two")
    assert moved.status().clean
    assert sorted(read_all(moved)) == ["a.md", "b/c.md"]


def test_closing_and_using_again(tmp_path: Path) -> None:
    with new_kb(tmp_path, {"a.md": "a"}) as kb:
        kb.close()
        assert read_all(kb) == {"a.md": b"a"}
    assert read_all(kb) == {"a.md": b"a"}


def test_many_commits_keep_few_packs(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    for number in range(30):
        record(kb, {f"{number % 3}.md": f"{number}\n"}, str(number))
    assert len(list((kb.folder / "packs").glob("*.pack"))) <= 17
    assert len(list((kb.folder / "packs").glob("*.idx"))) <= 17
    assert kb.verify().ok
    assert len(list(kb.log())) == 31


def test_threads_read_while_one_writes(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a", "b.md": "b"})
    wrong: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                found = read_all(kb)
                assert found["b.md"] == b"b"
                assert len(list(kb.log())) >= 1
                kb.status()
            except (ArborError, AssertionError, OSError, KeyError, ValueError) as error:
                wrong.append(error)
                return

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(25):
        record(kb, {"a.md": f"{number}\n"}, str(number))
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong
    assert kb.verify().ok


def test_a_knowledge_base_that_has_gone_while_it_was_open_is_told_and_not_begun_anew(tmp_path: Path) -> None:
    kb = arbor.init(tmp_path / "kb")
    kb.add_bytes("a.md", b"# A\n")
    kb.commit("one")
    kb.search("a")
    (tmp_path / "kb").rename(tmp_path / "elsewhere")
    for use in (
        kb.status, kb.add, kb.verify, kb.reindex, lambda: kb.search("a"), lambda: kb.commit("x", allow_empty=True),
        lambda: kb.add_bytes("b.md", b"B"), lambda: kb.config_set("user.name", "Ada"), kb.trust.gc,
        lambda: kb.sharing.add_remote("o", "/srv/kb"), lambda: list(kb.log()), lambda: kb.consensus("a.md"),
        kb.trust.records, kb.trust.check_journal, lambda: kb.config_get("user.name"), kb.config_items,
        kb.sharing.remotes, kb.branches.tags, kb.branches.reflog, lambda: kb.branches.merge("main"),
    ):  # fmt: skip
        with pytest.raises(NoKnowledgeBase, match="any more"):
            use()
    assert not (tmp_path / "kb").exists()
    kb.close()


def test_a_knowledge_base_that_is_dropped_gives_its_files_back_at_once(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a\n"})
    repo = weakref.ref(kb.repo)
    gc.disable()
    try:
        del kb
        assert repo() is None, "it waits for the cycle collector, with its packs open"
    finally:
        gc.enable()


def test_which_values_can_be_members_of_sets(tmp_path: Path) -> None:
    """As the page of the library says."""
    kb = new_kb(tmp_path, {"a.md": "# A tree\n"})
    found = kb.search("tree")
    assert {found.hits[0], *kb.log(), *kb.branches.tags(), kb.status()}
    for value in (found, kb.document("a.md"), kb.verify()):
        assert value == value
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)
