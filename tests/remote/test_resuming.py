"""Transfers that are cut: nothing half is visible, a second try finishes, and what arrived is not sent again."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from arbor.errors import ArborError, RemoteError, UsageError
from arbor.remote import cloning, fetching
from arbor.remote.exchange.transfer import TransferOptions
from arbor.remote.protocol.limits import DEFAULT_LIMITS
from arbor.remote.protocol.pacing import PacedReader
from arbor.remote.protocol.wire import Interrupted, Message, Packet, PacketKind, Packets
from arbor.remote.quarantine.receiving import INCOMING_PREFIX
from arbor.remote.transports.local import LocalTransport
from arbor.repo.repository import open_repository
from arbor.repo.upkeep.gc import collect
from arbor.repo.work_tree.status import get_status
from arbor.store.lock import writer_lock
from tests.remote.people import assert_whole, change, clone_to, fetch_from, make_kb, notes, push_to


class Cut(LocalTransport):
    """A way to a KB that breaks after some frames, in either direction."""

    def __init__(self, fs_path: Path, frames: int | None) -> None:
        super().__init__(fs_path)
        self._service._whole_packs = False
        self._left = frames
        self.frame_bytes = 0

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        return self._cut(super().call(command, arguments, self._counted(frames)))

    def _counted(self, frames: Iterable[bytes]) -> Iterable[bytes]:
        for frame in frames:
            self._pass(frame)
            yield frame

    def _cut(self, packets: Packets) -> Packets:
        for packet in packets:
            if packet.kind == PacketKind.FRAME:
                self._pass(packet.payload)
            yield Packet(*packet)

    def _pass(self, frame: bytes) -> None:
        if self._left is not None:
            if not self._left:
                raise Interrupted("the line is dead")
            self._left -= 1
        self.frame_bytes += len(frame)


def bulky(count: int, start: int = 0) -> dict[str, str]:
    """Notes that do not compress well, so that they make several frames."""
    source = random.Random(start)
    return {
        f"note{number}.md": f"# {number}\n\n" + "\n\n".join(source.randbytes(700).hex() for _ in range(20))
        for number in range(start, start + count)
    }


def incoming(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(f"{INCOMING_PREFIX}*")]


@pytest.mark.parametrize("bare", [False, True])
def test_a_clone_that_was_cut_goes_on(tmp_path: Path, bare: bool) -> None:
    source = make_kb(tmp_path / "a", bulky(60))
    whole = Cut(tmp_path / "a", None)
    clone_to(whole, tmp_path / "whole", bare=True)
    first = Cut(tmp_path / "a", 3)
    with pytest.raises(Interrupted):
        clone_to(first, tmp_path / "b", bare=bare)
    assert not (tmp_path / "b/.arbor/format").exists()
    assert not (tmp_path / "b/format").exists()
    second = Cut(tmp_path / "a", None)
    clone_to(second, tmp_path / "b", bare=bare)
    repo = open_repository(tmp_path / "b")
    assert repo.refs.head_oid() == source.refs.head_oid()
    assert second.frame_bytes + first.frame_bytes < 1.03 * whole.frame_bytes
    assert first.frame_bytes > 0.3 * whole.frame_bytes
    assert_whole(repo)


class Refusing(LocalTransport):
    """A way that a server, a proxy or a portal in between has shut before anything comes."""

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        raise RemoteError("a token is needed")
        yield


def test_a_try_that_is_refused_at_once_takes_nothing_from_the_next(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", bulky(60))
    first = Cut(tmp_path / "a", 3)
    with pytest.raises(Interrupted):
        clone_to(first, tmp_path / "b")
    with pytest.raises(RemoteError, match="a token"):
        clone_to(Refusing(tmp_path / "a"), tmp_path / "b")
    with pytest.raises(UsageError, match="no branch"):
        cloning.clone(
            Cut(tmp_path / "a", 0), tmp_path / "b", cloning.CloneOptions(branch="x"), TransferOptions()
        )
    whole, second = Cut(tmp_path / "a", None), Cut(tmp_path / "a", None)
    clone_to(second, tmp_path / "b")
    clone_to(whole, tmp_path / "whole", bare=True)
    assert second.frame_bytes + first.frame_bytes < 1.03 * whole.frame_bytes
    assert open_repository(tmp_path / "b").refs.head_oid() == source.refs.head_oid()
    with pytest.raises(RemoteError, match="a token"):
        clone_to(Refusing(tmp_path / "a"), tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_line_that_is_silent_for_too_long_takes_nothing_from_the_next(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", bulky(60))

    class Silent(Cut):
        def _pass(self, frame: bytes) -> None:
            try:
                super()._pass(frame)
            except Interrupted:
                clock = iter((0.0, 1e6))
                read = PacedReader(lambda: b"x", DEFAULT_LIMITS, lambda: next(clock)).read
                read(2)

    with pytest.raises(RemoteError, match="took longer"):
        clone_to(Silent(tmp_path / "a", 3), tmp_path / "b")
    assert incoming(tmp_path / "b/.arbor")


def test_a_clone_that_got_nothing_leaves_nothing(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", bulky(5))
    with pytest.raises(Interrupted):
        clone_to(Cut(tmp_path / "a", 0), tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_fetch_that_was_cut_goes_on(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", bulky(3))
    clone_to(tmp_path / "a", tmp_path / "b")
    change(source, bulky(60, 10))
    repo = open_repository(tmp_path / "b")
    before = sorted(path.name for path in (tmp_path / "b/.arbor").rglob("*"))
    first = Cut(tmp_path / "a", 3)
    with pytest.raises(Interrupted):
        fetch_from(repo, first)
    assert len(incoming(repo.folder)) == 1
    assert [
        name
        for name in sorted(path.name for path in (tmp_path / "b/.arbor").rglob("*"))
        if name not in before
    ] == ["frames", incoming(repo.folder)[0]]
    # What the other side has moved on in the meantime is fetched along.
    change(source, {"late.md": "late\n"})
    second = Cut(tmp_path / "a", None)
    fetch_from(repo, second)
    assert repo.refs.read("refs/remotes/origin/main") == source.refs.head_oid()
    assert second.frame_bytes < 2.2 * first.frame_bytes
    assert_whole(repo)


def test_a_push_that_was_cut_goes_on(tmp_path: Path) -> None:
    make_kb(tmp_path / "bare", bare=True)
    repo = make_kb(tmp_path / "a", bulky(60))
    first = Cut(tmp_path / "bare", 3)
    with pytest.raises(RemoteError, match="the line is dead"):
        push_to(repo, first)
    bare = open_repository(tmp_path / "bare")
    assert bare.refs.head_oid() is None
    assert not bare.store.packs()
    assert len(incoming(bare.folder)) == 1
    second = Cut(tmp_path / "bare", None)
    assert push_to(repo, second).refs[0].status == "new"
    assert second.frame_bytes < 1.5 * first.frame_bytes
    assert_whole(open_repository(tmp_path / "bare"))


def test_a_torn_frame_is_cut_off_and_a_damaged_one_is_fetched_again(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", bulky(60))
    for damage in (
        lambda data: data[:-100],
        lambda data: data[:5000] + b"?" + data[5001:],
        lambda data: b"",
        lambda data: b"x" * 50,
    ):
        with pytest.raises(Interrupted):
            clone_to(Cut(tmp_path / "a", 3), tmp_path / "b", bare=True)
        [file] = (tmp_path / "b").glob("incoming-*/frames")
        file.write_bytes(damage(file.read_bytes()))
        clone_to(Cut(tmp_path / "a", None), tmp_path / "b", bare=True)
        assert_whole(open_repository(tmp_path / "b"))
        shutil.rmtree(tmp_path / "b")


def test_collecting_removes_what_nobody_went_on_with(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", bulky(3))
    clone_to(tmp_path / "a", tmp_path / "b")
    change(source, bulky(60, 10))
    repo = open_repository(tmp_path / "b")
    with pytest.raises(Interrupted):
        fetch_from(repo, Cut(tmp_path / "a", 3))
    collect(repo)
    assert len(incoming(repo.folder)) == 1
    [place] = repo.folder.glob("incoming-*")
    os.utime(place, (1, 1))
    collect(repo)
    assert place.exists(), "what is in it is new"
    later = time.time() + 20 * 24 * 3600
    with writer_lock(place / "lock", wait_s=0):
        collect(repo, now=later)
    assert place.exists(), "somebody was filling it"
    collect(repo, now=later)
    assert not place.exists()
    assert_whole(repo)


def test_another_clone_does_not_go_on_with_it(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", bulky(30))
    make_kb(tmp_path / "other", bulky(3))
    with pytest.raises(Interrupted):
        clone_to(Cut(tmp_path / "a", 2), tmp_path / "b")
    with pytest.raises(UsageError, match="not empty"):
        clone_to(tmp_path / "other", tmp_path / "b")


@pytest.mark.parametrize("written", [None, 0, 5])
def test_a_clone_killed_before_its_marker_was_whole_goes_on(tmp_path: Path, written: int | None) -> None:
    make_kb(tmp_path / "a", bulky(1)).close()
    place = tmp_path / "b" / ".arbor"
    place.mkdir(parents=True)
    if written is not None:
        (place / "cloning").write_text(str(tmp_path / "a")[:written])
    clone_to(tmp_path / "a", tmp_path / "b")
    assert sorted(path.name for path in place.iterdir() if path.name == "cloning") == []
    repo = open_repository(tmp_path / "b")
    assert_whole(repo)
    repo.close()


def test_a_private_folder_of_something_else_is_not_cloned_into(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", bulky(1)).close()
    place = tmp_path / "b" / ".arbor"
    place.mkdir(parents=True)
    (place / "mine").write_text("kept")
    with pytest.raises(UsageError, match="not empty"):
        clone_to(tmp_path / "a", tmp_path / "b")
    assert (place / "mine").read_text() == "kept"


def killed_at(monkeypatch: pytest.MonkeyPatch, module: object, name: str, act: Callable[[], object]) -> None:
    """Do something in a process of its own that dies at once when it comes to a function."""
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(module, name, lambda *_, **__: os._exit(9))
        try:
            act()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("filter_text", ["", "cold"])
@pytest.mark.parametrize("name", ["check_out_all", "_record"])
def test_what_a_killed_clone_had_published_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, filter_text: str
) -> None:
    make_kb(tmp_path / "a", notes(8)).close()
    whole = clone_to(tmp_path / "a", tmp_path / "undisturbed", TransferOptions(filter_text))
    with monkeypatch.context() as patched:
        killed_at(patched, cloning, name,
                  lambda: clone_to(tmp_path / "a", tmp_path / "b", TransferOptions(filter_text)))  # fmt: skip
    again = clone_to(tmp_path / "a", tmp_path / "b", TransferOptions(filter_text))
    assert (again.received_bytes, again.objects) == (0, 0)
    assert (again.documents, again.cold) == (whole.documents, whole.cold)
    repo = open_repository(tmp_path / "b")
    assert_whole(repo)
    assert not (repo.folder / "landing").exists()
    assert get_status(repo).clean


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_a_killed_fetch_had_published_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_kb(tmp_path / "a", notes(4))
    clone_to(tmp_path / "a", tmp_path / "b")
    change(source, notes(6, 4))
    repo = open_repository(tmp_path / "b")
    with monkeypatch.context() as patched:
        killed_at(patched, fetching, "_move_refs", lambda: fetch_from(repo, tmp_path / "a"))
    result = fetch_from(repo, tmp_path / "a")
    assert result.received_bytes == 0
    assert [each.status for each in result.changes] == ["forward"]
    assert_whole(repo)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_damage_in_what_had_been_published_is_mended_by_another_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_kb(tmp_path / "a", notes(8)).close()
    with monkeypatch.context() as patched:
        killed_at(patched, cloning, "_record", lambda: clone_to(tmp_path / "a", tmp_path / "b"))
    for pack in (tmp_path / "b/.arbor/packs").glob("*.pack"):
        pack.chmod(0o600)
        with open(pack, "r+b") as file:
            file.seek(200)
            file.write(bytes(200))
    with pytest.raises(ArborError):
        clone_to(tmp_path / "a", tmp_path / "b")
    assert clone_to(tmp_path / "a", tmp_path / "b").documents == 8
    assert_whole(open_repository(tmp_path / "b"))
