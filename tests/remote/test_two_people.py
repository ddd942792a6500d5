"""Two people and one KB between them: both add, edit the same note, conflict, merge, and end with the same root."""

from __future__ import annotations

import tarfile
from contextlib import ExitStack
from pathlib import Path

import pytest

import arbor
from arbor.kb import KnowledgeBase
from arbor.remote.transports.connecting import ConnectOptions
from tests.remote.people import make_kb, notes
from tests.remote.test_http import serving

REAL_NOTES = 150
WRITER = ConnectOptions(token="writer")


def write(kb: KnowledgeBase, path: str, text: str, message: str) -> None:
    assert kb.fs_root is not None
    fs_path = kb.fs_root / path
    fs_path.parent.mkdir(parents=True, exist_ok=True)
    fs_path.write_text(text)
    kb.add([path])
    kb.commit(message)


def same(ada: KnowledgeBase, bob: KnowledgeBase) -> None:
    """Root, labels, answers and ranking are equal, and both verify."""
    assert ada.repo.head_root() == bob.repo.head_root()
    for kb in (ada, bob):
        report = kb.verify()
        assert report.ok, report.damaged
    for words in ("word14", "Ada", "passage of Bob", "nothing like this"):
        left, right = ada.search(words), bob.search(words)
        assert [(hit.path, hit.score) for hit in left.hits] == [
            (hit.path, hit.score) for hit in right.hits
        ], words
    labels = [list(kb.standings()) for kb in (ada, bob)]
    assert labels[0] == labels[1]


@pytest.mark.parametrize("way", ["path", "http", "bundle"])
def test_two_people_share_a_kb(tmp_path: Path, way: str) -> None:
    with ExitStack() as stack:
        origin = stack.enter_context(arbor.init(tmp_path / "origin", bare=True))
        del origin
        url = str(tmp_path / "origin")
        if way == "http":
            url = stack.enter_context(serving(tmp_path / "origin", push_tokens=("writer",)))
        ada = stack.enter_context(arbor.init(tmp_path / "ada"))
        for path, text in notes(5).items():
            write(ada, path, text, f"add {path}")
        write(ada, "shared.md", "# Shared\n\nfirst line\n\nlast line\n", "a shared note")
        ada.sharing.add_remote("origin", url)
        ada.sharing.push("origin", set_upstream=True, connecting=WRITER)
        if way == "bundle":
            ada.sharing.create_bundle(tmp_path / "kb.bundle")
            bob = stack.enter_context(arbor.clone(tmp_path / "kb.bundle", tmp_path / "bob"))
        else:
            bob = stack.enter_context(arbor.clone(url, tmp_path / "bob", connecting=WRITER))
        same(ada, bob)

        write(ada, "ada.md", "# Ada\n\nwhat Ada alone knows\n", "ada")
        write(ada, "shared.md", "# Shared\n\nfirst line by Ada\n\nlast line\n", "ada edits")
        write(bob, "bob.md", "# Bob\n\na passage of Bob\n", "bob")
        write(bob, "shared.md", "# Shared\n\nfirst line by Bob\n\nlast line\n", "bob edits")
        if way == "bundle":
            ada.sharing.create_bundle(tmp_path / "more.bundle", exclude=["HEAD~2"])
            pulled = bob.sharing.pull(str(tmp_path / "more.bundle"))
        else:
            ada.sharing.push(connecting=WRITER)
            refused = bob.sharing.push(connecting=WRITER)
            assert [ref.status for ref in refused.refs] == ["rejected"]
            pulled = bob.sharing.pull(connecting=WRITER)
        assert pulled.merged.kind == "conflict"
        assert pulled.merged.conflicts == ("shared.md",)
        assert bob.fs_root is not None
        assert "<<<<<<<" in (bob.fs_root / "shared.md").read_text()
        write(bob, "shared.md", "# Shared\n\nfirst line by both\n\nlast line\n", "merge")

        if way == "bundle":
            bob.sharing.create_bundle(tmp_path / "back.bundle")
            back = ada.sharing.pull(str(tmp_path / "back.bundle"))
        else:
            assert bob.sharing.push(connecting=WRITER).refs[0].status == "forward"
            back = ada.sharing.pull(connecting=WRITER)
        assert back.merged.kind == "fast-forward"
        same(ada, bob)


@pytest.mark.slow
def test_real_notes_come_through_every_way_alike(tmp_path: Path, shared_data: Path) -> None:
    """Notes of a public vault, with emoji, ampersands and commas in their names."""
    with ExitStack() as stack:
        ada = stack.enter_context(arbor.init(tmp_path / "ada"))
        with tarfile.open(shared_data / "kb/obsidian-hub.tar.gz") as archive:
            taken = 0
            for member in archive:
                file = archive.extractfile(member) if member.name.endswith(".md") else None
                if file is not None and taken < REAL_NOTES:
                    target = tmp_path / "ada" / member.name.lstrip("./")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(file.read())
                    taken += 1
        ada.add()
        ada.commit("real notes")
        ada.sharing.create_bundle(tmp_path / "kb.bundle")
        url = stack.enter_context(serving(tmp_path / "ada"))
        for number, place in enumerate((tmp_path / "ada", tmp_path / "kb.bundle", url)):
            same(ada, stack.enter_context(arbor.clone(place, tmp_path / f"clone{number}")))


def test_relative_paths_mean_the_same_after_the_program_has_gone_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("x", "y"):
        make_kb(tmp_path / name / "kb", {"a.md": f"# Tides {name}\n\nThe moon.\n"})
    (tmp_path / "mine.toml").write_text('[user]\nname = "Ada"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with arbor.clone("x/kb", "copy", user_config="mine.toml") as copy, arbor.init("other") as other:
        monkeypatch.chdir(tmp_path / "x")
        assert copy.sharing.fetch("origin").url == str(tmp_path / "x/kb")
        assert copy.config_get("user.name") == "Ada"
        assert len(copy.search("tides").hits) == 1
        # What was last seen of one folder is not held against another.
        assert other.sharing.fetch("./kb").changes[0].status == "new"
        monkeypatch.chdir(tmp_path / "y")
        assert other.sharing.fetch("./kb").changes[0].status == "new"


def test_tracking_counts_commits_apart(tmp_path: Path) -> None:
    with arbor.init(tmp_path / "a") as ada:
        write(ada, "a.md", "a\n", "a")
        with arbor.clone(tmp_path / "a", tmp_path / "b") as bob:
            assert bob.sharing.tracking("main") == (0, 0)
            write(bob, "b.md", "b\n", "b")
            write(ada, "c.md", "c\n", "c")
            write(ada, "d.md", "d\n", "d")
            bob.sharing.fetch()
            assert bob.sharing.tracking("main") == (1, 2)


def test_only_signed_commits_where_that_is_demanded(tmp_path: Path) -> None:
    with arbor.init(tmp_path / "a") as ada:
        write(ada, "a.md", "a\n", "a")
        with arbor.clone(tmp_path / "a", tmp_path / "b") as bob:
            write(ada, "b.md", "b\n", "unsigned")
            bob.config_set("pull.require_signed", "true")
            with pytest.raises(arbor.errors.IntegrityError, match="not signed"):
                bob.sharing.fetch()
            assert bob.sharing.tracking("main") == (0, 0)
            assert not list((tmp_path / "b/.arbor").glob("incoming-*"))
