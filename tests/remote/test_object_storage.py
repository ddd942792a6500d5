"""A KB in an object store: cloned, fetched, pushed to, and refs that move by conditional writes."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from arbor.errors import ArborError, ConflictError, RemoteError
from arbor.remote.exchange import accepting
from arbor.remote.exchange.chunks import fetch_chunks
from arbor.remote.exchange.transfer import TransferOptions
from arbor.remote.pushing import PushSpec, push
from arbor.remote.quarantine import receiving
from arbor.remote.transports.object_storage import BucketRefs, StoreTransport
from arbor.remote.transports.store_failures import store_failure
from arbor.repo.repository import Repository, open_repository
from arbor.store.pack_writer import PackWriter
from tests.remote.people import assert_whole, change, clone_to, fetch_from, make_kb, notes, push_to
from tests.remote.test_http import serving


def names(bucket: MemoryStore) -> list[str]:
    return sorted(meta["path"] for batch in obstore.list(bucket) for meta in batch)


def test_push_clone_and_fetch_through_a_bucket(tmp_path: Path) -> None:
    bucket = MemoryStore()
    first = make_kb(tmp_path / "a", notes(20))
    assert push_to(first, StoreTransport(bucket, "memory://x")).refs[0].status == "new"
    assert [name.split("/")[0] for name in names(bucket)] == ["format", "packs", "packs", "refs"]
    clone_to(StoreTransport(bucket, "memory://x"), tmp_path / "b")
    second = open_repository(tmp_path / "b")
    assert second.refs.head_oid() == first.refs.head_oid()
    change(second, {"x.md": "# X\n"})
    result = push_to(second, StoreTransport(bucket, "memory://x"))
    assert result.refs[0].status == "forward"
    assert result.objects <= 8
    brought = fetch_from(first, StoreTransport(bucket, "memory://x"))
    assert brought.objects <= 8
    assert first.refs.read("refs/remotes/origin/main") == second.refs.head_oid()
    assert_whole(first)
    assert_whole(second)


def test_a_cold_clone_of_a_bucket_fetches_passages_when_asked(tmp_path: Path) -> None:
    bucket = MemoryStore()
    first = make_kb(tmp_path / "a", notes(10))
    push_to(first, StoreTransport(bucket, "memory://x"))
    assert (
        clone_to(StoreTransport(bucket, "memory://x"), tmp_path / "b", TransferOptions(filter="cold")).cold
        == 10
    )
    snapshot = first.snapshot(first.refs.head_oid())
    wanted = [
        ref.oid for _, oid in snapshot.paths() for ref in snapshot.manifest(snapshot.document(oid)).passages
    ]
    transport = StoreTransport(bucket, "memory://x")
    assert dict(fetch_chunks(transport, wanted)) == {oid: first.store.get(oid)[1] for oid in wanted}
    transport.close()


def test_two_writers_of_one_ref(tmp_path: Path) -> None:
    bucket = MemoryStore()
    repo = make_kb(tmp_path / "a", notes(2))
    one, two = BucketRefs(bucket, tmp_path), BucketRefs(bucket, tmp_path)
    who = repo.who()
    oids = [bytes([number]) * 32 for number in range(4)]
    one.move("refs/heads/main", None, oids[0], who, "")
    with pytest.raises(ConflictError):
        two.move("refs/heads/main", None, oids[1], who, "")
    stale = two._get("refs/heads/main")
    one.move("refs/heads/main", oids[0], oids[1], who, "")
    two._get = lambda name: stale  # type: ignore[method-assign,assignment]
    with pytest.raises(ConflictError):
        two.move("refs/heads/main", oids[0], oids[2], who, "")
    assert one.read("refs/heads/main") == oids[1]
    one.move("refs/heads/main", oids[1], None, who, "")
    assert one.read("refs/heads/main") is None
    one.move("refs/heads/main", None, oids[3], who, "")
    assert one.read("refs/heads/main") == oids[3]


def test_of_two_pushes_at_once_the_later_is_told_to_fetch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both find the branch as it was, and only one can replace it: as two people with moto and Azurite did."""
    bucket = MemoryStore()
    first = make_kb(tmp_path / "a", notes(3))
    push_to(first, StoreTransport(bucket, "memory://x"))
    clone_to(StoreTransport(bucket, "memory://x"), tmp_path / "b")
    second = open_repository(tmp_path / "b")
    change(first, {"a.md": "a\n"})
    change(second, {"b.md": "b\n"})
    move = BucketRefs.move

    def move_after_the_other(*words: Any) -> None:
        monkeypatch.setattr(BucketRefs, "move", move)
        assert push_to(second, StoreTransport(bucket, "memory://x")).refs[0].status == "forward"
        move(*words)

    monkeypatch.setattr(BucketRefs, "move", move_after_the_other)
    refused = push_to(first, StoreTransport(bucket, "memory://x")).refs[0]
    assert (refused.status, refused.reason) == ("rejected", accepting.MOVED)
    fetch_from(first, StoreTransport(bucket, "memory://x"))
    assert first.refs.read("refs/remotes/origin/main") == second.refs.head_oid()


def test_no_name_of_a_ref_is_a_folder_of_another(tmp_path: Path) -> None:
    """A bucket has room for both, and whoever reads it has not."""
    bucket = MemoryStore()
    first = make_kb(tmp_path / "a", notes(3))
    at = first.refs.head_oid() or b""

    def pushed(*rows: tuple[str, bytes]) -> list[str]:
        specs = [PushSpec(f"refs/heads/{name}", oid) for name, oid in rows]
        with closing(StoreTransport(bucket, "memory://x")) as transport:
            return [ref.status for ref in push(first, transport, "origin", specs).refs]

    assert pushed(("main", at), ("side", at)) == ["new", "new"]
    assert pushed(("side/one", at)) == ["rejected"]
    assert pushed(("side/one", at), ("side", b"")) == ["new", "removed"]
    assert pushed(("side", at)) == ["rejected"]
    clone_to(StoreTransport(bucket, "memory://x"), tmp_path / "b")
    assert open_repository(tmp_path / "b").refs.read("refs/remotes/origin/side/one") == at


def test_a_bucket_with_other_things_or_nothing(tmp_path: Path) -> None:
    bucket = MemoryStore()
    nothing = "there is no knowledge base in memory://x"
    with pytest.raises(RemoteError, match=nothing):
        clone_to(StoreTransport(bucket, "memory://x"), tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(RemoteError, match=nothing):
        fetch_from(make_kb(tmp_path / "b", notes(1)), StoreTransport(bucket, "memory://x"))
    assert names(bucket) == []
    obstore.put(bucket, "photos/1.jpg", b"x")
    repo = make_kb(tmp_path / "a", notes(2))
    with pytest.raises(ArborError, match="something else"):
        push_to(repo, StoreTransport(bucket, "memory://x"))
    assert names(bucket) == ["photos/1.jpg"]


def test_an_empty_knowledge_base_in_a_bucket_is_cloned_with_a_warning(tmp_path: Path) -> None:
    bucket = MemoryStore()
    obstore.put(bucket, "format", b"arbor 1 store\n")
    made = clone_to(StoreTransport(bucket, "memory://x"), tmp_path / "b")
    assert (made.commit, made.warnings) == ("", ("the other side has no commit yet",))


@pytest.mark.parametrize("suffix", [".pack", ".idx"])
def test_a_changed_byte_in_a_bucket_is_found(tmp_path: Path, suffix: str) -> None:
    bucket = MemoryStore()
    push_to(make_kb(tmp_path / "a", notes(20)), StoreTransport(bucket, "memory://x"))
    [name] = [name for name in names(bucket) if name.endswith(suffix)]
    data = bytes(obstore.get(bucket, name).bytes())
    for place in range(50, len(data) - 40, len(data) // 12):
        obstore.put(bucket, name, data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(ArborError) as caught:
            clone_to(StoreTransport(bucket, "memory://x"), tmp_path / "b")
        assert caught.value.exit_code in (12, 14)
        assert not (tmp_path / "b").exists()


def test_a_store_that_fails_is_an_error_of_the_remote(tmp_path: Path) -> None:
    class Broken(MemoryStore):
        pass

    bucket = Broken()
    push_to(make_kb(tmp_path / "a", notes(2)), StoreTransport(bucket, "memory://x"))
    for name in names(bucket):
        if name.endswith(".idx"):
            obstore.delete(bucket, name)
    with pytest.raises((RemoteError, ArborError)):
        clone_to(StoreTransport(bucket, "memory://x"), tmp_path / "b")
    assert not (tmp_path / "b").exists()


def with_repeats(repo: Repository) -> int:
    """Put everything into one pack in which most objects lie twice, as several processes may fill one; how many."""
    places = [
        (pack, number) for pack in repo.store.packs() for number in range(len(pack.index.frame_offsets))
    ]
    frames = [(pack.packed_frame(number), pack.read_frame(number).oids()) for pack, number in places]
    old = list(repo.store.folder.glob("*"))
    writer = PackWriter(repo.store.folder)
    for frame, oids in frames + frames[:2]:
        writer.add_frame(frame, oids)
    writer.seal()
    for path in old:
        path.unlink()
    repo.store.refresh()
    return sum(len(oids) for _, oids in frames)


@pytest.mark.parametrize("few", [False, True])
def test_objects_that_lie_twice_in_a_pack_come_through(
    tmp_path: Path, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if few:
        monkeypatch.setattr(receiving, "_REPEATED_SHARE", 1)  # so that the packs are moved as they are
    bucket = MemoryStore()
    repo = make_kb(tmp_path / "a", notes(20))
    objects = with_repeats(repo)
    assert clone_to(tmp_path / "a", tmp_path / "local", bare=True).objects > objects
    push_to(repo, StoreTransport(bucket, "memory://x"))
    for number in range(2):
        result = clone_to(StoreTransport(bucket, "memory://x"), tmp_path / f"b{number}")
        assert result.objects == objects
    with serving(tmp_path / "a") as url:
        clone_to(url, tmp_path / "c")
    for folder in ("local", "b0", "c"):
        assert_whole(open_repository(tmp_path / folder))


XML = '<?xml version="1.0" encoding="utf-8"?>\n<Error>\n  <Code>{}</Code><Message>{}\nRequestId:1</Message></Error>'


@pytest.mark.parametrize(
    ("text", "shown", "hint"),
    [
        (
            "status code: 404 Not Found: " + XML.format("NoSuchBucket", "No bucket."),
            r"No bucket\. \(NoSuchBucket\)",
            "such a bucket",
        ),
        (
            "status code: 403 Forbidden: " + XML.format("InvalidAccessKeyId", "No key."),
            "No key",
            "AWS_ACCESS_KEY_ID",
        ),
        (
            "status code: 400 Bad: " + XML.format("Malformed", "the region 'a' is wrong"),
            "the region",
            "AWS_REGION",
        ),
        (
            'status code: 404 Not Found: {\n"error": {"code": 404, "message": "no bucket"',
            "no bucket",
            "such a bucket",
        ),
        ("PUT http://169.254.169.254/latest/api/token - status code: 403 x", "api/token", "AWS_ACCESS"),
        ("Error performing GET http://h/k - HTTP error: builder error", "builder", "AWS_ALLOW_HTTP=true"),
        ("something else\n\nDebug source:\nregion 404", "something else", ""),
    ],
)
def test_what_a_store_refuses_is_told_by_the_cause_it_names(text: str, shown: str, hint: str) -> None:
    """As S3 (moto), Azure (Azurite) and Google answer, with the library's words around it."""
    failure = store_failure("s3://kb/x", ValueError(f"Generic S3 error: Server returned non-2xx {text}"))
    assert re.search(f"^s3://kb/x cannot be reached: .*{shown}", failure.message)
    assert hint in failure.hint
    assert bool(hint) == bool(failure.hint)
    assert "\n" not in failure.message
