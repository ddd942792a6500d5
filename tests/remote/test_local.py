"""clone, fetch and push between folders."""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterable
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest

from arbor.errors import ConflictError, IntegrityError, RemoteError, StorageError, UsageError
from arbor.objects.proofs import log_state
from arbor.remote.exchange.negotiating import ROLLED_BACK
from arbor.remote.exchange.transfer import TransferOptions
from arbor.remote.protocol.wire import Message, Packets, answer_packets, take_message
from arbor.remote.pushing import PushSpec, push
from arbor.remote.quarantine import receiving
from arbor.remote.transports.connecting import connect
from arbor.repo.commits import branching
from arbor.repo.repository import open_repository
from arbor.repo.tiers import read_tiers
from arbor.repo.trust import witness
from arbor.repo.trust.witness import Seen, read_witnessed
from arbor.repo.upkeep.gc import collect
from arbor.repo.work_tree.file_states import FileState
from arbor.repo.work_tree.fresh_files import FreshFiles
from arbor.repo.work_tree.status import get_status
from arbor.store.refs import HEADS
from tests.remote.people import assert_whole, change, clone_to, fetch_from, head, make_kb, notes, push_to


def test_a_clone_has_files_history_refs_and_upstream(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(20))
    change(source, {"folder0/note0.md": "# New\n\nother text\n"})
    branching.create_tag(source, "v1", message="first")
    result = clone_to(tmp_path / "a", tmp_path / "b")
    with_files = open_repository(tmp_path / "b")
    assert result.documents == 20
    assert (tmp_path / "b/folder0/note0.md").read_text() == "# New\n\nother text\n"
    assert with_files.refs.head_oid() == source.refs.head_oid()
    assert with_files.refs.read("refs/remotes/origin/main") == source.refs.head_oid()
    assert with_files.refs.read("refs/tags/v1") == source.refs.read("refs/tags/v1")
    assert with_files.settings.get("branch.main.upstream") == "origin/main"
    assert get_status(with_files).clean
    assert_whole(with_files)


def test_a_bare_clone_has_branches_and_no_files(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(5))
    branching.create_branch(source, "side")
    clone_to(tmp_path / "a", tmp_path / "b", bare=True)
    bare = open_repository(tmp_path / "b")
    assert list(bare.refs.iter_names()) == ["refs/heads/main", "refs/heads/side"]
    assert bare.fs_root is None
    assert_whole(bare)


def test_a_version_without_documents_is_sent_after_a_collection(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(60))
    change(source, dict.fromkeys(notes(60)))
    change(source, {"new.md": "# New\n"})
    collect(source, grace_s=0)
    make_kb(tmp_path / "b", bare=True)
    assert not any(result.reason for result in push_to(source, tmp_path / "b").refs)
    with contextlib.closing(open_repository(tmp_path / "b")) as there:
        assert there.refs.read("refs/heads/main") == source.refs.head_oid()
        assert_whole(there)


def test_an_empty_kb_is_cloned_with_its_branch_name(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", bare=True)
    result = clone_to(tmp_path / "a", tmp_path / "b")
    assert result.commit == ""
    assert result.warnings == ("the other side has no commit yet",)
    repo = open_repository(tmp_path / "b")
    change(repo, notes(2))
    assert push_to(repo, tmp_path / "a").refs[0].status == "new"
    assert open_repository(tmp_path / "a").refs.head_oid() == repo.refs.head_oid()


def test_a_folder_with_something_in_it_is_not_cloned_into(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(1))
    (tmp_path / "b").mkdir()
    (tmp_path / "b/mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        clone_to(tmp_path / "a", tmp_path / "b")
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["mine.txt"]


def test_fetch_brings_only_what_is_missing(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(60))
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    assert fetch_from(repo, tmp_path / "a").objects == 0
    change(source, {"folder1/note1.md": "# One\n\nnew text of one passage\n"})
    result = fetch_from(repo, tmp_path / "a")
    assert [c.status for c in result.changes] == ["forward"]
    # The commit, the document, its manifest and passage, and the ledger nodes from its leaf to the root.
    assert 5 <= result.objects <= 8
    assert repo.refs.read("refs/remotes/origin/main") == source.refs.head_oid()
    assert_whole(repo)


def test_a_rename_and_an_edit_send_no_passage_twice(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(30))
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    text = (tmp_path / "a/folder2/note2.md").read_text()
    change(
        source,
        {
            "folder2/note2.md": None,
            "moved/there.md": text,
            "folder3/note3.md": notes(4)["folder3/note3.md"] + "more\n",
        },
    )
    before = set(_oids(repo))
    fetch_from(repo, tmp_path / "a")
    fresh_packs = [pack for pack in repo.store.packs() if pack.index.count < 30]
    again = before.intersection(*[pack.index.keys() for pack in fresh_packs]) if fresh_packs else set()
    assert len(fresh_packs) == 1
    assert not again


def _oids(repo: object) -> list[bytes]:
    return list(chain.from_iterable(pack.index.keys() for pack in repo.store.packs()))  # type: ignore[attr-defined]


def test_push_moves_the_branch_and_the_tracking_ref(tmp_path: Path) -> None:
    make_kb(tmp_path / "bare", bare=True)
    repo = make_kb(tmp_path / "a", notes(10))
    assert push_to(repo, tmp_path / "bare").refs[0].status == "new"
    change(repo, {"x.md": "# X\n"})
    result = push_to(repo, tmp_path / "bare")
    assert result.refs[0].status == "forward"
    assert 5 <= result.objects <= 8
    assert push_to(repo, tmp_path / "bare").refs[0].status == "same"
    bare = open_repository(tmp_path / "bare")
    assert bare.refs.head_oid() == repo.refs.head_oid() == repo.refs.read("refs/remotes/origin/main")
    assert_whole(bare)


def test_a_push_that_was_cut_off_after_the_branch_had_moved_there_is_followed_by_the_next(
    tmp_path: Path,
) -> None:
    make_kb(tmp_path / "bare", bare=True)
    source, tracking = make_kb(tmp_path / "a", notes(3)), "refs/remotes/origin/main"
    for changed in (None, {"x.md": "x\n"}):
        if changed:
            change(source, changed)
        old = source.refs.read(tracking)
        push_to(source, tmp_path / "bare")
        source.refs.move(tracking, source.refs.read(tracking), old, source.who(), "as if nobody had followed")
        assert [ref.status for ref in push_to(source, tmp_path / "bare", dry_run=True).refs] == ["same"]
        assert source.refs.read(tracking) == old
        assert [ref.status for ref in push_to(source, tmp_path / "bare").refs] == ["same"]
        assert source.refs.read(tracking) == source.refs.head_oid()


def test_push_refuses_what_is_no_fast_forward_unless_forced(tmp_path: Path) -> None:
    make_kb(tmp_path / "bare", bare=True)
    first = make_kb(tmp_path / "a", notes(3))
    push_to(first, tmp_path / "bare")
    clone_to(tmp_path / "bare", tmp_path / "b")
    second = open_repository(tmp_path / "b")
    change(first, {"a.md": "a\n"})
    change(second, {"b.md": "b\n"})
    seen = second.refs.read("refs/remotes/origin/main")
    push_to(first, tmp_path / "bare")
    assert "fetch" in push_to(second, tmp_path / "bare").rejected[0].reason
    assert (
        push_to(second, tmp_path / "bare", force=True, lease=seen)
        .rejected[0]
        .reason.startswith("it is not where")
    )
    assert open_repository(tmp_path / "bare").refs.head_oid() == first.refs.head_oid()
    lease = first.refs.head_oid()
    assert push_to(second, tmp_path / "bare", force=True, lease=lease).refs[0].status == "forced"
    assert open_repository(tmp_path / "bare").refs.head_oid() == second.refs.head_oid()


def test_a_branch_that_is_checked_out_is_not_pushed_to(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(3))
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    change(repo, {"b.md": "b\n"})
    assert "checked out" in push_to(repo, tmp_path / "a").rejected[0].reason
    branching.create_branch(repo, "side")
    assert push_to(repo, tmp_path / "a", "side").refs[0].status == "new"


def test_a_branch_that_was_rolled_back_is_refused_unless_told(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(3))
    first = source.refs.head_oid()
    change(source, {"a.md": "a\n"})
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    seen = repo.refs.read("refs/remotes/origin/main")
    branching.reset(source, first.hex(), "hard")  # type: ignore[union-attr]
    result = fetch_from(repo, tmp_path / "a")
    assert [c.reason for c in result.rejected] == [ROLLED_BACK]
    assert repo.refs.read("refs/remotes/origin/main") == seen
    change(source, {"other.md": "other history\n"})
    result = fetch_from(repo, tmp_path / "a")
    assert [c.reason for c in result.rejected] == [ROLLED_BACK]
    assert not repo.store.has(source.refs.head_oid())  # type: ignore[arg-type]
    assert fetch_from(repo, tmp_path / "a", force=True).changes[0].status == "forced"
    assert repo.refs.read("refs/remotes/origin/main") == source.refs.head_oid()
    assert_whole(repo)


def test_an_address_without_a_name_is_held_to_what_it_showed(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(3))
    first = source.refs.head_oid()
    shown = change(source, {"a.md": "a\n"})
    repo = make_kb(tmp_path / "b")
    fetch_from(repo, tmp_path / "a", "")
    seen = read_witnessed(repo.folder, str(tmp_path / "a"))["refs/heads/main"]
    assert seen == Seen(*log_state(shown, source.commit(shown)), shown)
    branching.reset(source, first.hex(), "hard")  # type: ignore[union-attr]
    for _ in range(2):
        assert [c.reason for c in fetch_from(repo, tmp_path / "a", "").rejected] == [ROLLED_BACK]
    assert not fetch_from(repo, tmp_path / "a", "", force=True).rejected
    assert not fetch_from(repo, tmp_path / "a", "").rejected
    (repo.folder / "witnessed").write_bytes(b"?" * 40)
    with pytest.raises(IntegrityError, match="damaged"):
        fetch_from(repo, tmp_path / "a", "")


def test_no_name_of_an_address_and_no_push_forgets_what_it_showed(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(3))
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    first = source.refs.head_oid()
    change(source, {"a.md": "a\n"})
    fetch_from(repo, tmp_path / "a", "")  # under no name: the tracking ref stays where it was
    branching.reset(source, first.hex(), "hard")  # type: ignore[union-attr]
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for name in ("a", "b/../a", "link"):
        assert [c.reason for c in fetch_from(repo, tmp_path / name, "").rejected] == [ROLLED_BACK], name
    assert [c.reason for c in fetch_from(repo, tmp_path / "a").rejected] == [ROLLED_BACK]
    branching.create_branch(source, "elsewhere")
    branching.switch(source, "elsewhere")
    change(repo, {"b.md": "b\n"})
    assert push_to(repo, tmp_path / "a").rejected[0].reason == ROLLED_BACK
    assert push_to(repo, tmp_path / "a", force=True).refs[0].status in ("forward", "forced")


def cut_short(*_: object) -> None:
    raise KeyboardInterrupt


def test_what_was_accepted_before_a_kill_is_accepted_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_kb(tmp_path / "a", notes(3))
    first = source.refs.head_oid()
    change(source, {"a.md": "a\n"})
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    branching.reset(source, first.hex(), "hard")  # type: ignore[union-attr]
    with monkeypatch.context() as patched:
        patched.setattr("arbor.remote.fetching._move_refs", cut_short)
        with pytest.raises(KeyboardInterrupt):
            fetch_from(repo, tmp_path / "a", force=True)
    assert not fetch_from(repo, tmp_path / "a", force=True).rejected
    change(source, {"c.md": "c\n"})
    assert [c.status for c in fetch_from(repo, tmp_path / "a").changes] == ["forward"]


def test_a_clone_that_was_cut_short_in_its_checkout_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_kb(tmp_path / "a", notes(6))
    write, written = FreshFiles.write, []

    def cut(self: FreshFiles, path: str, pieces: Iterable[bytes]) -> FileState:
        if len(written) == 3:
            raise KeyboardInterrupt
        written.append(path)
        return write(self, path, pieces)

    with monkeypatch.context() as patched:
        patched.setattr(FreshFiles, "write", cut)
        with pytest.raises(KeyboardInterrupt):
            clone_to(tmp_path / "a", tmp_path / "b")
    if (tmp_path / "b").exists():
        (tmp_path / "b" / written[0]).write_text("half of it")
    assert clone_to(tmp_path / "a", tmp_path / "b").documents == 6
    assert get_status(open_repository(tmp_path / "b")).clean


def test_what_was_pushed_with_force_is_what_is_remembered(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(3), bare=False)
    clone_to(tmp_path / "a", tmp_path / "hub", bare=True)
    clone_to(tmp_path / "hub", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    change(repo, {"b.md": "b\n"})
    push_to(repo, tmp_path / "hub")
    branching.reset(repo, "HEAD~1", "hard")
    change(repo, {"c.md": "c\n"})
    assert push_to(repo, tmp_path / "hub", force=True).refs[0].status == "forced"
    assert not fetch_from(repo, tmp_path / "hub").rejected
    assert not fetch_from(repo, tmp_path / "hub", "").rejected


def test_a_branch_cannot_be_rolled_back_by_way_of_pruning(tmp_path: Path) -> None:
    """Deleted there, pruned here, made again two commits back: neither name nor address takes it for a new one."""
    source = make_kb(tmp_path / "a", notes(3), bare=False)
    for name in ("b.md", "c.md"):
        change(source, {name: f"{name}\n"})
    branching.create_branch(source, "side")
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    branching.delete_branch(source, "side", force=True)
    assert "pruned" in [c.status for c in fetch_from(repo, tmp_path / "a", prune=True).changes]
    assert set(read_witnessed(repo.folder, str(tmp_path / "a"))) == {"refs/heads/main", "refs/heads/side"}
    branching.create_branch(source, "side", "main~2")
    for remote in ("origin", ""):
        for prune in (False, True):
            [rejected] = fetch_from(repo, tmp_path / "a", remote, prune=prune).rejected
            assert (rejected.there, rejected.reason) == ("refs/heads/side", ROLLED_BACK)
    assert repo.refs.read("refs/remotes/origin/side") is None
    assert not fetch_from(repo, tmp_path / "a", force=True).rejected
    assert repo.refs.read("refs/remotes/origin/side") == source.refs.read("refs/heads/side")
    assert not fetch_from(repo, tmp_path / "a").rejected


def test_a_pruned_branch_may_go_on(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(3), bare=False)
    branching.create_branch(source, "side")
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    branching.delete_branch(source, "side")
    fetch_from(repo, tmp_path / "a", prune=True)
    change(source, {"b.md": "b\n"})
    branching.create_branch(source, "side")
    assert {c.there: c.status for c in fetch_from(repo, tmp_path / "a").changes}["refs/heads/side"] == "new"


def test_a_branch_that_this_side_removed_there_may_begin_anew(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(3), bare=False)
    change(source, {"b.md": "b\n"})
    clone_to(tmp_path / "a", tmp_path / "hub", bare=True)
    clone_to(tmp_path / "hub", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    branching.create_branch(repo, "side")
    push_to(repo, tmp_path / "hub", "side")
    branching.delete_branch(repo, "side")
    push_to(repo, tmp_path / "hub", "side")
    assert set(read_witnessed(repo.folder, str(tmp_path / "hub"))) == {"refs/heads/main"}
    branching.create_branch(open_repository(tmp_path / "hub"), "side", "main~1")
    assert not fetch_from(repo, tmp_path / "hub").rejected


def test_prune_removes_tracking_refs_of_branches_that_are_gone(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(3))
    branching.create_branch(source, "side")
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    branching.delete_branch(source, "side")
    assert len(fetch_from(repo, tmp_path / "a").changes) == 1
    assert repo.refs.read("refs/remotes/origin/side") is not None
    assert [c.status for c in fetch_from(repo, tmp_path / "a", prune=True).changes] == ["same", "pruned"]
    assert repo.refs.read("refs/remotes/origin/side") is None


def test_a_branch_gives_way_to_one_below_its_name(tmp_path: Path) -> None:
    """`side` goes, and `side/one` comes: pruned first, and else said, with all else fetched; the same for a push."""
    source = make_kb(tmp_path / "a", notes(3))
    branching.create_branch(source, "side")
    make_kb(tmp_path / "hub", bare=True)
    branches = [PushSpec(HEADS + name, source.refs.head_oid() or b"") for name in ("main", "side")]
    push(source, connect(str(tmp_path / "hub")), "origin", branches)
    for name in ("b", "c"):
        clone_to(tmp_path / "hub", tmp_path / name)
    repo, other = open_repository(tmp_path / "b"), open_repository(tmp_path / "c")
    new = change(source, {"x.md": "# X\n"})
    moved = [PushSpec(HEADS + "side/one", new), PushSpec(HEADS + "side", b""), PushSpec(HEADS + "main", new)]
    done = push(source, connect(str(tmp_path / "hub")), "origin", moved)
    assert {ref.there: ref.status for ref in done.refs} == {
        HEADS + "side/one": "new", HEADS + "side": "removed", HEADS + "main": "forward"
    }  # fmt: skip
    assert source.refs.read("refs/remotes/origin/side/one") == new
    [rejected] = fetch_from(repo, tmp_path / "hub").rejected
    assert (rejected.there, rejected.reason) == (HEADS + "side/one", "'origin/side' is in the way here")
    assert "--prune" in rejected.hint
    assert repo.refs.read("refs/remotes/origin/main") == new
    assert not fetch_from(repo, tmp_path / "hub", prune=True).rejected
    assert list(repo.refs.iter_names("refs/remotes/origin/side")) == ["refs/remotes/origin/side/one"]
    # What stands here from before cannot be there beside what was just pushed.
    fetch_from(other, tmp_path / "hub", branches=("main",))
    push(other, connect(str(tmp_path / "hub")), "origin", [PushSpec(HEADS + "side/two", new)])
    assert list(other.refs.iter_names("refs/remotes/origin/side")) == ["refs/remotes/origin/side/two"]
    assert_whole(repo)


def test_a_tag_that_is_in_the_way_is_named(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(3))
    branching.create_tag(source, "v1/one")
    clone_to(tmp_path / "a", tmp_path / "b", tags=False)
    repo = open_repository(tmp_path / "b")
    branching.create_tag(repo, "v1")
    [rejected] = fetch_from(repo, tmp_path / "a").rejected
    assert (rejected.reason, "tag -d" in rejected.hint) == ("'v1' is in the way here", True)


def test_a_cold_clone_has_no_passages_and_says_so(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(12))
    result = clone_to(tmp_path / "a", tmp_path / "b", TransferOptions(filter="cold"))
    repo = open_repository(tmp_path / "b")
    assert result.cold == 12
    assert result.documents == 0
    assert len(read_tiers(repo.folder).cold) == 12
    assert repo.head_root() == source.head_root()
    assert repo.settings.get("remote.origin.filter") == "cold"
    document = repo.snapshot(repo.refs.head_oid()).document(next(iter(read_tiers(repo.folder).cold)))
    assert document.passage_count >= 1


def test_a_clone_of_a_folder_has_its_passages_only(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(20))
    result = clone_to(tmp_path / "a", tmp_path / "b", TransferOptions(filter="at:folder1"))
    assert result.documents == 4
    assert result.cold == 16
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [".arbor", "folder1"]


def test_what_a_ref_needs_and_is_missing_is_noticed(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(5))
    change(source, notes(5, 5))
    smallest = min(source.store.packs(), key=lambda pack: pack.index.count)
    (source.store.folder / f"{smallest.name}.pack").unlink()
    (source.store.folder / f"{smallest.name}.idx").unlink()
    with pytest.raises((IntegrityError, RemoteError), match="missing"):
        clone_to(tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_two_pushes_at_once_do_not_lose_one(tmp_path: Path) -> None:
    make_kb(tmp_path / "bare", bare=True)
    first = make_kb(tmp_path / "a", notes(3))
    push_to(first, tmp_path / "bare")
    clone_to(tmp_path / "bare", tmp_path / "b")
    second = open_repository(tmp_path / "b")
    change(first, {"a.md": "a\n"})
    change(second, {"b.md": "b\n"})
    from arbor.remote.transports.local import LocalTransport

    class Late(LocalTransport):
        def call(self, command, arguments, frames=()):  # type: ignore[no-untyped-def]
            if command == "push":
                push_to(first, tmp_path / "bare")
            return super().call(command, arguments, frames)

    result = push_to(second, Late(tmp_path / "bare"))
    assert result.rejected[0].reason == "it has moved there since it was read; fetch first"
    assert open_repository(tmp_path / "bare").refs.head_oid() == first.refs.head_oid()
    assert second.refs.read("refs/remotes/origin/main") != second.refs.head_oid()


def test_the_same_history_under_another_remote_is_found_by_asking(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(40))
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    for number in range(5):
        change(repo, {f"mine{number}.md": f"mine {number}\n"})
    for number in range(3):
        change(source, {f"theirs{number}.md": f"theirs {number}\n"})
    result = fetch_from(repo, tmp_path / "a", "other")
    assert result.changes[0].status == "new"
    assert result.commits == 3
    assert result.objects <= 24
    assert_whole(repo)


def test_unrelated_kbs_can_be_fetched_side_by_side(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(5))
    repo = make_kb(tmp_path / "b", notes(5, 100))
    assert fetch_from(repo, tmp_path / "a", "other").changes[0].status == "new"
    assert_whole(repo)
    assert head(repo).parents == ()
    with pytest.raises(ConflictError):
        repo.refs.move(HEADS + "main", None, repo.refs.head_oid(), repo.who(), "test")


def test_a_remote_restored_from_an_older_copy_is_pushed_to(tmp_path: Path) -> None:
    here = make_kb(tmp_path / "here", notes(2))
    bare = make_kb(tmp_path / "bare", bare=True)
    push_to(here, tmp_path / "bare")
    bare.close()
    shutil.copytree(tmp_path / "bare", tmp_path / "backup")
    change(here, notes(2, 2))
    push_to(here, tmp_path / "bare")
    fetch_from(here, tmp_path / "bare")
    shutil.rmtree(tmp_path / "bare")
    (tmp_path / "backup").rename(tmp_path / "bare")
    change(here, notes(2, 4))
    branching.create_branch(here, "topic")
    result = push_to(here, tmp_path / "bare", "topic")
    assert [ref.status for ref in result.refs] == ["new"]
    result = push_to(here, tmp_path / "bare", force=True)
    assert [ref.reason for ref in result.refs] == [""]
    assert_whole(open_repository(tmp_path / "bare"))


def test_a_full_disk_in_the_middle_of_a_transfer_is_called_so_and_names_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: object, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    source = make_kb(tmp_path / "a", notes(3))
    clone_to(tmp_path / "a", tmp_path / "b")
    held = open_repository(tmp_path / "b")
    change(source, {"new.md": "new\n"})
    with monkeypatch.context() as disk:
        disk.setattr(receiving, "write_all", full)
        for act, place in (
            (lambda: fetch_from(held, tmp_path / "a"), "b/.arbor"),
            (lambda: clone_to(tmp_path / "a", tmp_path / "c"), "c/.arbor"),
        ):
            with pytest.raises(StorageError, match=f"{place}' cannot be used: the disk is full"):
                act()
    assert not (tmp_path / "c").exists()
    fetch_from(held, tmp_path / "a")


def test_of_very_many_addresses_the_longest_unused_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witness, "_MAX_ADDRESSES", 2)
    repo = make_kb(tmp_path, notes(1))
    with repo.lock():
        for url in ("http://a", "http://b", "http://c"):
            witness.remember(repo, url, {"refs/heads/main": repo.refs.head_oid()})
    assert [bool(read_witnessed(repo.folder, f"http://{name}")) for name in "abc"] == [False, True, True]


def test_a_branch_there_never_stands_at_a_tag(tmp_path: Path) -> None:
    source, there = make_kb(tmp_path / "a", notes(1)), make_kb(tmp_path / "b", bare=True)
    branching.create_tag(source, "v1", message="one")
    tag = source.refs.read("refs/tags/v1")
    assert tag is not None
    transport = connect(str(tmp_path / "b"))
    [pushed] = push(source, transport, "", [PushSpec(f"{HEADS}main", tag)]).refs
    transport.close()
    assert (pushed.status, pushed.reason) == ("rejected", "a branch stands at a commit, not at a tag")
    assert there.refs.read(f"{HEADS}main") is None


def test_a_branch_that_is_checked_out_while_its_push_comes_in_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = make_kb(tmp_path / "a", {"a.md": "# A\n"})
    head = target.refs.head_oid()
    target.refs.move("refs/heads/side", None, head, target.who(), "branch")
    clone_to(tmp_path / "a", tmp_path / "b")
    repo = open_repository(tmp_path / "b")
    tip = change(repo, {"b.md": "# B\n"})
    inspect = receiving.Quarantine.inspect

    def switch_meanwhile(quarantine: receiving.Quarantine) -> object:
        target.refs.set_head("refs/heads/side")
        return inspect(quarantine)

    monkeypatch.setattr(receiving.Quarantine, "inspect", switch_meanwhile)
    transport = connect(str(tmp_path / "a"))
    result = push(repo, transport, "", [PushSpec("refs/heads/side", tip)])
    transport.close()
    assert "checked out" in result.rejected[0].reason
    assert target.refs.read("refs/heads/side") == head
    target.store.refresh()
    assert not target.store.holds(tip)


def test_of_a_side_that_says_it_holds_more_than_it_was_asked_about_nothing_is_believed(
    tmp_path: Path,
) -> None:
    make_kb(tmp_path / "a", bare=True)
    repo = make_kb(tmp_path / "b", {"a.md": "# A\n"})
    tip = repo.refs.head_oid()
    assert tip is not None
    transport = connect(str(tmp_path / "a"))
    real = transport.call

    def boasts(command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        packets = real(command, arguments, frames)
        if command != "prepare":
            yield from packets
            return
        message = take_message(packets)
        yield from answer_packets({**message, "held": message["held"] + arguments["oids"] * 3})

    with closing(transport), pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "call", boasts)
        result = push(repo, transport, "", [PushSpec("refs/heads/main", tip)])
    assert (result.rejected, result.objects > 0) == ((), True)
    assert_whole(open_repository(tmp_path / "a"))
