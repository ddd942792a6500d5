"""A KB in one file: made, verified, cloned and pulled from; a changed byte anywhere is found."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from arbor.errors import ArborError, IntegrityError, RemoteError, UsageError
from arbor.remote.exchange import planning
from arbor.remote.exchange.enumerating import shown_refs
from arbor.remote.exchange.transfer import TransferOptions
from arbor.remote.on_demand import bring_documents
from arbor.remote.pushing import PushSpec, push
from arbor.remote.transports.bundle import Bundle, create_bundle
from arbor.remote.transports.bundle_check import verify_bundle
from arbor.remote.transports.connecting import ConnectOptions, connect
from arbor.repo.commits import branching
from arbor.repo.repository import Repository, open_repository
from arbor.repo.tiers import read_tiers
from tests.cli.harness import Cli
from tests.remote.people import assert_whole, change, clone_to, fetch_from, make_kb, notes


def bundle(
    repo: Repository, fs_path: Path, exclude: list[bytes] | None = None, filter_text: str = ""
) -> Path:
    refs = shown_refs(repo, [name for name in repo.refs.iter_names() if not name.startswith("refs/remotes/")])
    create_bundle(repo, fs_path, refs, exclude=exclude or [], filter_text=filter_text)
    return fs_path


def test_a_bundle_is_verified_and_cloned(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(10))
    branching.create_tag(source, "v1", message="one")
    file = bundle(source, tmp_path / "kb.bundle")
    report = verify_bundle(file)
    assert report.commits == 1
    assert [ref.name for ref in report.info.shown.refs] == ["refs/heads/main", "refs/tags/v1"]
    clone_to(file, tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    assert repo.refs.head_oid() == source.refs.head_oid()
    assert_whole(repo)


def test_a_bundle_of_what_is_new_needs_what_is_old(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(10))
    clone_to(tmp_path / "a", tmp_path / "b")
    old = source.refs.head_oid()
    change(source, {"new.md": "# New\n"})
    file = bundle(source, tmp_path / "kb.bundle", [old])  # type: ignore[list-item]
    with pytest.raises(RemoteError, match="needs commit"):
        clone_to(file, tmp_path / "c")
    assert not (tmp_path / "c").exists()
    with pytest.raises(RemoteError, match="needs commit"):
        verify_bundle(file)
    repo = open_repository(tmp_path / "b")
    assert verify_bundle(file, repo).commits == 1
    assert fetch_from(repo, file).changes[0].status == "forward"
    assert repo.refs.read("refs/remotes/origin/main") == source.refs.head_oid()
    assert_whole(repo)


def test_a_whole_bundle_pulled_twice_stores_nothing_twice(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(30))
    clone_to(tmp_path / "a", tmp_path / "b")
    change(source, {"new.md": "# New\n"})
    file = bundle(source, tmp_path / "kb.bundle")
    repo = open_repository(tmp_path / "b")
    before = sum(pack.index.count for pack in repo.store.packs())
    fetch_from(repo, file)
    assert sum(pack.index.count for pack in repo.store.packs()) - before < 12
    assert_whole(repo)


def test_only_what_refs_reach_goes_into_a_bundle(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(10))
    first = source.refs.head_oid()
    change(source, {"secret.md": "# the secret word is plumfruit\n"})
    branching.reset(source, first.hex(), "hard")  # type: ignore[union-attr]
    file = bundle(source, tmp_path / "kb.bundle")
    clone_to(file, tmp_path / "b")
    texts = b"".join(
        data
        for pack in open_repository(tmp_path / "b").store.packs()
        for _, frame in pack.iter_frames()
        for _, _, data in frame.objects()
    )  # type: ignore[union-attr]
    assert b"plumfruit" not in texts
    assert b"Note 3" in texts


def test_what_is_noted_of_whole_packs_changes_no_bundle(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(10))
    note = source.folder / "cache/whole-packs"
    first = bundle(source, tmp_path / "1").read_bytes()
    assert note.exists()
    assert bundle(source, tmp_path / "2").read_bytes() == first
    kept = note.read_bytes()
    note.write_bytes(kept[:-1] + b"?")
    assert bundle(source, tmp_path / "3").read_bytes() == first
    assert note.read_bytes() == kept
    change(source, {"secret.md": "# the secret word is plumfruit\n"})
    branching.reset(source, "HEAD~1", "hard")
    assert bundle(source, tmp_path / "4").stat().st_size < len(first) + 200
    verify_bundle(tmp_path / "4")


def test_a_cold_bundle_is_cloned_cold_only(tmp_path: Path) -> None:
    from arbor.remote.exchange.transfer import TransferOptions

    source = make_kb(tmp_path / "a", notes(5))
    file = bundle(source, tmp_path / "kb.bundle", filter_text="cold")
    verify_bundle(file)
    with pytest.raises(RemoteError, match="no passages"):
        clone_to(file, tmp_path / "b")
    assert clone_to(file, tmp_path / "b", TransferOptions(filter="cold")).cold == 5


def test_an_empty_bundle_is_not_made(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(2))
    with pytest.raises(UsageError, match="empty"):
        bundle(source, tmp_path / "x", [source.refs.head_oid()])  # type: ignore[list-item]
    assert not list(tmp_path.glob("*x*"))


def test_a_bundle_cannot_be_pushed_to(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(2))
    file = bundle(source, tmp_path / "x")
    oid = change(source, {"n.md": "n\n"})
    with closing(connect(str(file))) as transport, pytest.raises(RemoteError, match="cannot be pushed"):
        push(source, transport, "", [PushSpec("refs/heads/main", oid)])


def test_every_changed_byte_and_every_cut_is_found(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", {"a.md": "# A\n\ntext\n"})
    whole = bundle(source, tmp_path / "x").read_bytes()
    victim = tmp_path / "y"
    for place in range(0, len(whole), 11):
        victim.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        with pytest.raises(ArborError) as caught:
            verify_bundle(victim)
        assert caught.value.exit_code in (12, 14), place
    for size in (*range(0, len(whole), 29), len(whole) - 1):
        victim.write_bytes(whole[:size])
        with pytest.raises(IntegrityError):
            verify_bundle(victim)
    victim.write_bytes(whole + b"x")
    with pytest.raises(IntegrityError):
        verify_bundle(victim)


def test_the_header_of_a_bundle_is_read_without_its_frames(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(3))
    file = bundle(source, tmp_path / "x")
    opened = Bundle(file)
    assert opened.info.shown.head == "refs/heads/main"
    opened.close()


def test_after_a_change_only_the_new_is_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make_kb(tmp_path / "a", notes(10))
    bundle(source, tmp_path / "1")
    first, note = source.refs.head_oid(), (source.folder / "cache/whole-packs").read_bytes()
    change(source, {"n.md": "# New\n", next(iter(notes(1))): None})
    (source.folder / "cache/whole-packs").write_bytes(note)  # the commit had carried it on
    asked = []
    select = planning.select_missing

    def watched(repo: Repository, wants: object, haves: Iterable[bytes], *rest: object) -> object:
        asked.append(list(haves))
        return select(repo, wants, asked[-1], *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(planning, "select_missing", watched)
    noted = bundle(source, tmp_path / "2").read_bytes()
    again = bundle(source, tmp_path / "3").read_bytes()
    (source.folder / "cache/whole-packs").unlink()
    assert bundle(source, tmp_path / "4").read_bytes() == noted == again
    assert asked == [[first], [source.refs.head_oid()], []]
    verify_bundle(tmp_path / "2")


def test_what_was_noted_and_is_reached_no_more_is_not_sent(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(10))
    first = source.refs.head_oid()
    change(source, {"secret.md": "# the secret word is plumfruit\n"})
    bundle(source, tmp_path / "1")
    branching.reset(source, first.hex(), "hard")  # type: ignore[union-attr]
    change(source, {"other.md": "# Other\n"})
    file = bundle(source, tmp_path / "2")
    clone_to(file, tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    texts = [data for pack in repo.store.packs() for _, frame in pack.iter_frames() if frame
             for _, _, data in frame.objects()]  # fmt: skip
    assert not any(b"plumfruit" in text for text in texts)
    assert any(b"# Other" in text for text in texts)


@pytest.mark.parametrize("filter_text", ["cold", "at:folder1"])
def test_a_bundle_of_everything_is_cloned_in_part(tmp_path: Path, filter_text: str) -> None:
    source = make_kb(tmp_path / "source", notes(6))
    bundle(source, tmp_path / "all.bundle")
    clone_to(tmp_path / "source", tmp_path / "direct", TransferOptions(filter_text))
    made = clone_to(tmp_path / "all.bundle", tmp_path / "part", TransferOptions(filter_text))
    part, direct = open_repository(tmp_path / "part"), open_repository(tmp_path / "direct")
    assert made.cold == len(read_tiers(direct.folder).cold) > 0
    assert read_tiers(part.folder) == read_tiers(direct.folder)
    keys = [{row[0] for pack in repo.store.packs() for row in pack.index.rows()} for repo in (part, direct)]
    assert keys[0] == keys[1]
    assert_whole(part)


def test_the_passages_of_a_cold_clone_come_from_its_bundle(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "source", notes(2))
    bundle(source, tmp_path / "all.bundle")
    clone_to(tmp_path / "all.bundle", tmp_path / "part", TransferOptions("cold"))
    part = open_repository(tmp_path / "part")
    documents = list(part.snapshot(part.refs.head_oid()).paths())
    report = bring_documents(part, documents, ConnectOptions(), lambda text: None)
    assert len(report.whole) == 2
    assert not read_tiers(part.folder).cold


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_what_is_neither_folder_nor_file_is_said_to_be_so(kb: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("no bundle\n")
    for place in (str(tmp_path / "pipe"), os.devnull):
        assert "a pipe, a socket or a device" in kb("clone", place, "made", code=14).err
        assert "a pipe, a socket or a device" in kb("fetch", place, code=14).err
        assert "a pipe, a socket or a device" in kb("bundle", "verify", place, code=12).err
    assert f"{tmp_path / 'text'} is not a bundle" in kb("clone", str(tmp_path / "text"), "made", code=12).err
