"""Copies that lie with others: a document goes cold because a remote or a bundle gives it, and comes back from it."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import arbor
from arbor.errors import RemoteError
from arbor.remote import on_demand, own_store
from arbor.remote.exchange import chunks
from arbor.remote.exchange.service import Service
from arbor.remote.on_demand import FarPlaces
from arbor.remote.protocol.wire import Message, Packets, answer_packets, request_packets
from arbor.remote.transports.connecting import ConnectOptions
from arbor.repo import repository
from arbor.repo.forgetting import evicting, held_copies
from arbor.repo.forgetting.copies import ByteSource, StoreSource
from arbor.repo.forgetting.evicting import EvictReport
from arbor.repo.repository import Repository
from arbor.repo.upkeep import gc
from arbor.store import leaving
from tests.cli.harness import IDENTITY, Cli
from tests.remote.test_http import serving
from tests.trust.conftest import long_note

NOTES = {f"n{number}.md": long_note(3, f"n{number}") for number in range(4)}


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Cli, Cli]:
    """A bare knowledge base and a clone of it, whose `origin` it is."""
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    first = Cli(tmp_path / "maker")
    first.folder.mkdir()
    first("init")
    for name, text in NOTES.items():
        (first.folder / name).write_text(text)
    first("add", ".")
    first("commit", "-m", "notes")
    Cli(tmp_path)("clone", "--bare", str(first.folder), "hub.arbor")
    Cli(tmp_path)("clone", str(tmp_path / "hub.arbor"), "second")
    return Cli(tmp_path / "hub.arbor"), Cli(tmp_path / "second")


def is_cold(cli: Cli, path: str) -> bool:
    return bool(cli("tier", path, "--json").json["documents"][0]["tier"] == "cold")


def drop_files(cli: Cli) -> None:
    """The work tree's own files would be copies too."""
    for name in NOTES:
        os.unlink(cli.folder / name)


@pytest.mark.parametrize("named", ["origin", "{hub}", "{bundle}"])
def test_a_document_goes_to_another_kb_and_comes_back(
    pair: tuple[Cli, Cli], tmp_path: Path, named: str
) -> None:
    hub, second = pair
    hub("bundle", "create", str(tmp_path / "kb.bundle"))
    place = named.format(hub=hub.folder, bundle=tmp_path / "kb.bundle")
    second("remote", "remove", "origin") if named != "origin" else None
    drop_files(second)
    before = second("verify", "--json").json
    said = second("evict", "n0.md", "n1.md", "--from", place)
    assert "2 documents" in said.out
    assert is_cold(second, "n0.md")
    assert second("verify", "--json").json["ledger_root"] == before["ledger_root"]
    second("rehydrate-cold", "--all", "--from", place)
    assert not is_cold(second, "n0.md")
    assert second("cat", "n0.md").out == NOTES["n0.md"]
    assert second("verify", "--json").json["ok"]


def test_a_remote_is_asked_without_being_named(pair: tuple[Cli, Cli]) -> None:
    _, second = pair
    drop_files(second)
    second("evict", "n2.md")
    assert is_cold(second, "n2.md")
    second("rehydrate", "n2.md")
    assert second("cat", "n2.md").out == NOTES["n2.md"]


def test_a_remote_that_has_forgotten_too_is_no_copy(pair: tuple[Cli, Cli], tmp_path: Path) -> None:
    hub, second = pair
    drop_files(second)
    archive = tmp_path / "archive"
    archive.mkdir()
    for name, text in NOTES.items():
        (archive / name).write_text(text)
    hub("evict", "n0.md", "--from", str(archive))
    refused = second("evict", "n0.md", code=1)
    assert "no other copy was found" in refused.err
    assert not is_cold(second, "n0.md")
    assert second("cat", "n0.md").out == NOTES["n0.md"]


def test_two_copies_are_two_places(pair: tuple[Cli, Cli], tmp_path: Path) -> None:
    hub, second = pair
    drop_files(second)
    assert second("evict", "n0.md", "--copies", "2", code=1).code == 1
    hub("bundle", "create", str(tmp_path / "kb.bundle"))
    second("evict", "n0.md", "--copies", "2", "--from", str(tmp_path / "kb.bundle"))
    assert is_cold(second, "n0.md")


def test_a_place_that_is_named_twice_is_one_place(pair: tuple[Cli, Cli]) -> None:
    _, second = pair
    drop_files(second)
    second("evict", "n0.md", "--from", "origin", "--from", "origin")
    assert is_cold(second, "n0.md")


def test_a_place_that_has_a_document_in_part_is_named(pair: tuple[Cli, Cli], tmp_path: Path) -> None:
    hub, second = pair
    drop_files(second)
    archive, part = tmp_path / "archive", tmp_path / "part"
    for folder, text in ((archive, NOTES["n0.md"]), (part, NOTES["n0.md"][:2500])):
        folder.mkdir()
        (folder / "n0.md").write_text(text)
    hub("evict", "n0.md", "--from", str(archive))
    hub("rehydrate", "n0.md", "--from", str(part), "--offline", code=3)
    refused = second("evict", "n0.md", code=1)
    assert "hub.arbor' has only some of its passages" in refused.err


@pytest.fixture
def served(pair: tuple[Cli, Cli]) -> Iterator[tuple[Cli, str]]:
    """The bare knowledge base, and an address at which it is served."""
    hub, _ = pair
    with serving(hub.folder) as url:
        yield hub, url


@pytest.mark.parametrize("way", ["http", "file", "link"])
def test_this_knowledge_base_by_another_way_is_no_copy(
    served: tuple[Cli, str], tmp_path: Path, way: str
) -> None:
    """Neither over its own server, nor by an address or another name of its folder."""
    hub, url = served
    hub("remote", "remove", "origin")
    (tmp_path / "link").symlink_to(hub.folder)
    place = {"http": url, "file": hub.folder.as_uri(), "link": str(tmp_path / "link")}[way]
    packs = sorted(path.name for path in (hub.folder / "packs").iterdir())
    refused = hub("evict", "n0.md", "--from", place, code=1)
    assert "no other copy was found" in refused.err
    if way != "link":
        assert "is this knowledge base itself" in refused.err
    assert not is_cold(hub, "n0.md")
    assert sorted(path.name for path in (hub.folder / "packs").iterdir()) == packs, (
        "nothing is left of the question"
    )
    assert hub("cat", "n0.md").out == NOTES["n0.md"]


def test_a_server_is_a_copy_for_others(served: tuple[Cli, str], pair: tuple[Cli, Cli]) -> None:
    _, second = pair
    second("remote", "set-url", "origin", served[1])
    drop_files(second)
    second("evict", "n0.md", "n1.md")
    assert is_cold(second, "n0.md")
    assert second("cat", "n0.md").out == NOTES["n0.md"]


def test_a_cold_document_is_read_from_its_remote_when_it_is_asked_for(
    pair: tuple[Cli, Cli], tmp_path: Path
) -> None:
    hub, _ = pair
    Cli(tmp_path)("clone", "--cold", str(hub.folder), "third")
    third = Cli(tmp_path / "third")
    assert third.run("cat", "n0.md", "--offline").err.startswith("error: the document is cold")
    done = third("cat", "n0.md")
    assert done.out == NOTES["n0.md"]
    assert "brought back from" in done.err
    again = third("cat", "n0.md")
    assert (again.out, again.err) == (NOTES["n0.md"], "")
    third("remote", "remove", "origin")
    assert third.run("cat", "n1.md").err.startswith("error: the document is cold")


def test_two_that_evict_at_once_do_not_both_let_go(
    pair: tuple[Cli, Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, second = pair
    drop_files(second)
    places = (hub.folder, second.folder / ".arbor")
    both_have_checked, take_hold = threading.Barrier(2, timeout=30), evicting.held_still

    def held_still(
        repo: Repository, sources: Sequence[ByteSource]
    ) -> contextlib.AbstractContextManager[None]:
        both_have_checked.wait()
        return take_hold(repo, sources)

    monkeypatch.setattr(evicting, "held_still", held_still)

    def evict(folder: Path, other: Path) -> EvictReport:
        with arbor.open(folder) as kb:
            return kb.trust.evict("*.md", places=[other])

    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(evict, places, reversed(places)))
    assert sorted(len(report.evicted) for report in reports) == [0, len(NOTES)]
    [refused] = [report.refused for report in reports if report.refused]
    assert len(refused) == len(NOTES)
    assert all("has let go of it" in item.problem for item in refused)
    assert hub("verify").code == second("verify").code == 0
    for report, cli in zip(reports, pair, strict=True):
        if report.evicted:
            cli("rehydrate", "--all", "--from", str(places[report is reports[0]]))
            assert not is_cold(cli, "n0.md")


def test_a_knowledge_base_where_nothing_may_be_written_is_a_copy_all_the_same(
    pair: tuple[Cli, Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, second = pair
    drop_files(second)

    def writer_lock(fs_path: Path) -> contextlib.AbstractContextManager[None]:
        raise PermissionError(13, "Permission denied", str(fs_path))

    monkeypatch.setattr(held_copies, "writer_lock", writer_lock)
    assert "4 documents" in second("evict", "*.md", "--from", str(hub.folder)).out


def test_locks_are_taken_in_one_order_by_whoever_takes_them(
    pair: tuple[Cli, Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    repos = [arbor.open(cli.folder).repo for cli in pair]
    orders: list[list[Path]] = []

    @contextlib.contextmanager
    def noted(fs_path: Path, wait_s: float = 0.0) -> Iterator[None]:
        orders[-1].append(fs_path.parent)
        yield

    for module in (held_copies, repository):
        monkeypatch.setattr(module, "writer_lock", noted)
    for mine, other in (repos, repos[::-1]):
        orders.append([])
        with held_copies.held_still(mine, [StoreSource(other.folder, mine.store)]):
            pass
    assert len(orders[0]) == 2
    assert orders[0] == orders[1]


def test_a_place_that_does_not_answer_may_be_this_one(pair: tuple[Cli, Cli]) -> None:
    """What it gave before it must give again: silence about the passage that was made up says nothing."""
    repo, known = arbor.open(pair[0].folder).repo, b"k" * 32
    assert own_store.may_be_own(repo, lambda oids: [], known)
    assert not own_store.may_be_own(repo, lambda oids: [(known, b"text")], known)
    assert own_store.may_be_own(repo, lambda oids: [(oid, b"text") for oid in oids], known)


@pytest.fixture
def apart(pair: tuple[Cli, Cli]) -> Iterator[tuple[tuple[Cli, str], tuple[Cli, str]]]:
    """Two knowledge bases that know each other over http only, each with the address of the other."""
    hub, second = pair
    hub("remote", "remove", "origin")
    second("remote", "remove", "origin")
    drop_files(second)
    with serving(hub.folder) as hub_url, serving(second.folder) as second_url:
        yield (hub, second_url), (second, hub_url)


def evict_over(folder: Path, url: str) -> EvictReport:
    with arbor.open(folder) as kb:
        far = FarPlaces(ConnectOptions(), pytest.fail, kb.repo)
        try:
            return kb.trust.evict("*.md", others=[far.source("there", url)])
        finally:
            far.close()


@pytest.mark.parametrize("moment", ["held_still", "_still_good"])
def test_two_that_evict_at_once_over_a_network_do_not_both_let_go(
    apart: tuple[tuple[Cli, str], tuple[Cli, str]], monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Whether both have only found their copies, or both have said already what goes."""
    both_are_here, go_on = threading.Barrier(2, timeout=30), getattr(evicting, moment)

    def wait_first(*arguments: Any) -> Any:
        both_are_here.wait()
        return go_on(*arguments)

    monkeypatch.setattr(evicting, moment, wait_first)
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda each: evict_over(each[0].folder, each[1]), apart))
    went = [{item.document for item in report.evicted} for report in reports]
    assert went[0].isdisjoint(went[1])
    refused = [item for report in reports for item in report.refused]
    assert len(went[0]) + len(went[1]) + len(refused) == 2 * len(NOTES)
    assert all("'there' has let go of it just now, or is about to" in item.problem for item in refused)
    for cli, url in apart:
        assert not (cli.folder / "leaving").exists()
        cli("rehydrate", "--all", "--from", url)
        assert cli("verify").code == 0


def test_what_is_going_ends_with_the_process_that_said_so(
    apart: tuple[tuple[Cli, str], tuple[Cli, str]],
) -> None:
    (hub, _), (second, url) = apart
    repo = arbor.open(hub.folder).repo
    stored = sorted(gc.stored_objects(repo.store))
    with leaving.leaving(repo.folder, stored):
        refused = second("evict", "n0.md", "--from", url, code=1)
    assert "is about to" in refused.err
    (hub.folder / "leaving").write_bytes(b"".join(stored))
    second("evict", "n0.md", "--from", url)
    assert is_cold(second, "n0.md")


@pytest.mark.parametrize("way", ["http", "folder"])
def test_what_waits_to_be_collected_is_no_copy(
    apart: tuple[tuple[Cli, str], tuple[Cli, str]], tmp_path: Path, way: str
) -> None:
    """It is there and can be read, and the next collection drops it."""
    (hub, _), (second, url) = apart
    maker = Cli(tmp_path / "maker")
    maker("rm", "n0.md")
    maker("commit", "--amend", "-m", "without it")
    maker("push", "--force", str(hub.folder), "main")
    (hub.folder / "logs" / "refs" / "heads" / "main").unlink(missing_ok=True)
    (hub.folder / "logs" / "HEAD").unlink(missing_ok=True)
    place = url if way == "http" else str(hub.folder)
    second("evict", "n1.md", "--from", place)
    hub("gc")
    refused = second("evict", "n0.md", "n2.md", "--from", place, code=3)
    assert "kept n0.md" in refused.err
    assert not is_cold(second, "n0.md")
    assert is_cold(second, "n2.md")


def test_one_server_under_two_addresses_is_one_copy(served: tuple[Cli, str], pair: tuple[Cli, Cli]) -> None:
    hub, url = served
    second = pair[1]
    drop_files(second)
    second("remote", "remove", "origin")
    other = url.replace("127.0.0.1", "localhost")
    for place in (other, str(hub.folder)):
        refused = second("evict", "n0.md", "--copies", "2", "--from", url, "--from", place, code=1)
        assert "only 1 of 2 copies were found" in refused.err
        second("evict", "n0.md", "--copies", "2", "--from", place, "--from", url, "-n", code=1)
    with serving(pair[0].folder.parent / "maker") as elsewhere:
        second("evict", "n0.md", "--copies", "2", "--from", url, "--from", elsewhere)


def test_copies_of_a_folder_are_two_on_this_machine_and_one_behind_servers(
    served: tuple[Cli, str], pair: tuple[Cli, Cli], tmp_path: Path
) -> None:
    """Behind servers until the copy gets a number of its own."""
    hub, url = served
    second = pair[1]
    drop_files(second)
    second("remote", "remove", "origin")
    second("evict", "n0.md", "-n", "--from", url)  # the server has its number now
    copied = tmp_path / "copied.arbor"
    shutil.copytree(hub.folder, copied)
    second("evict", "n0.md", "--copies", "2", "--from", str(hub.folder), "--from", str(copied))
    with serving(copied) as other:
        second("evict", "n1.md", "--copies", "2", "--from", url, "--from", other, code=1)
        (copied / "store-id").unlink()
        second("evict", "n1.md", "--copies", "2", "--from", url, "--from", other)


def test_a_dry_run_writes_nothing_and_waits_for_nobody(
    served: tuple[Cli, str], pair: tuple[Cli, Cli]
) -> None:
    hub, url = served
    second = pair[1]
    drop_files(second)
    second("remote", "remove", "origin")
    with arbor.open(second.folder).repo.lock():
        before = {path.name: path.stat().st_mtime_ns for path in (second.folder / ".arbor").rglob("*")}
        said = second("evict", "n0.md", "-n", "--from", url)
        after = {path.name: path.stat().st_mtime_ns for path in (second.folder / ".arbor").rglob("*")}
    assert "cold n0.md, copies: http" in said.out
    assert before == after
    hub("remote", "remove", "origin")
    itself = hub("evict", "n0.md", "-n", "--from", url, code=1)
    assert "is this knowledge base, which is no copy" in itself.err


class _OldServer:
    """One that knows neither the question what is kept, nor a name for its store."""

    is_peer = True
    url = "http://old"

    def __init__(self, folder: Path) -> None:
        self._service = Service(folder, may_push=False)

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        known = {name: value for name, value in arguments.items() if name != "kept"}
        return self._service.answer(request_packets(command, known))

    def close(self) -> None:
        """Nothing is open."""


def test_servers_that_do_not_say_which_store_they_are_are_one_copy(
    pair: tuple[Cli, Cli], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, second = pair
    drop_files(second)
    monkeypatch.setattr(on_demand, "connect", lambda url, options: _OldServer(hub.folder))
    places = ["--from", "http://one.example", "--from", "http://two.example"]
    second("remote", "remove", "origin")
    assert "only 1 of 2" in second("evict", "n0.md", "--copies", "2", *places, code=1).err
    assert "may be this one" in second("evict", "n0.md", "-n", *places, code=1).err
    for folder in (hub.folder, hub.folder.parent / "maker"):
        for both in ([*places[:2], "--from", str(folder)], ["--from", str(folder), *places[:2]]):
            assert "only 1 of 2" in second("evict", "n0.md", "--copies", "2", *both, code=1).err
    second("evict", "n0.md", *places)
    assert is_cold(second, "n0.md")


@pytest.mark.parametrize("said", [
    {"kept": 5}, {"kept": b"abc"}, {"kept": b"", "store": b"short"}, {"kept": b"", "store": "a text"}, {"kept": None},
])  # fmt: skip
def test_what_a_place_says_of_its_copies_is_checked(said: Message) -> None:
    class Liar(_OldServer):
        def __init__(self) -> None:
            pass

        def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
            return answer_packets({"objects": 0, **said})

    with pytest.raises(RemoteError):
        chunks.ask_kept(Liar(), [b"k" * 32])


def test_no_more_is_kept_than_was_asked_for() -> None:
    class Liar(_OldServer):
        def __init__(self) -> None:
            pass

        def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
            return answer_packets({"kept": b"k" * 32 + b"x" * 32, "objects": 0, "store": bytes(16)})

    assert chunks.ask_kept(Liar(), [b"k" * 32]) == ({b"k" * 32}, bytes(16))
