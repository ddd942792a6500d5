"""The library says what it was given wrongly, before it does anything."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arbor
from arbor.arguments import _CHECKS, OPTIONS, checked
from arbor.errors import StorageError, UsageError, WrongType
from arbor.kb import KnowledgeBase
from arbor.objects.model import Signature
from arbor.remote.cloning import CloneOptions
from arbor.remote.desk import ShareDesk
from arbor.remote.fetching import FetchOptions
from arbor.remote.protocol.limits import Limits
from arbor.remote.refspecs import PushRequest
from arbor.remote.transports.connecting import ConnectOptions
from arbor.repo.commits.branch_desk import BranchDesk
from arbor.repo.commits.diffing import Comparing
from arbor.repo.desk import TrustDesk
from arbor.repo.forgetting.tiering import Criteria


class ByteNamed:
    """What the system also takes for a path: an entry of a folder that was listed by bytes."""

    def __fspath__(self) -> bytes:
        return b"a"


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    made = arbor.init(tmp_path / "kb")
    for name in ("a", "m", "d", "a.md", "notes/b.md"):
        (tmp_path / "kb" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "kb" / name).write_text(f"# {name}\n\ntides\n")
    made.add("a.md")
    made.commit("first")
    return made


@pytest.mark.parametrize(
    "call",
    [
        lambda kb: kb.add([b"a.md"]),
        lambda kb: kb.add(3),
        lambda kb: kb.add(None),
        lambda kb: kb.add("a", update=1),
        lambda kb: kb.add_bytes("x.md", "text"),
        lambda kb: kb.add_bytes(b"x.md", b"text"),
        lambda kb: kb.rm(7),
        lambda kb: kb.mv([None], "b"),
        lambda kb: kb.commit(b"message"),
        lambda kb: kb.commit("m", author=7),
        lambda kb: kb.commit("m", author=("Ada", "a@b")),
        lambda kb: kb.commit("m", author=Signature("Ada", "a@b", 1.5, 0)),  # type: ignore[arg-type]
        lambda kb: kb.commit("m", author=Signature(None, "a@b", 1, 0)),  # type: ignore[arg-type]
        lambda kb: kb.commit("m", allow_empty="no"),
        lambda kb: kb.search(None),
        lambda kb: kb.search("tides", limit="3"),
        lambda kb: kb.search("tides", limit=float("nan")),
        lambda kb: kb.search("tides", limit=True),
        lambda kb: kb.search("tides", passages=2.0),
        lambda kb: kb.search("tides", mode=b"STRICT"),
        lambda kb: kb.resolve(1),
        lambda kb: kb.cat(["a.md"]),
        lambda kb: kb.diff(paths=[1]),
        lambda kb: kb.config_set("user.name", 3),
        lambda kb: kb.branches.create(5),
        lambda kb: kb.branches.tag("v1", message=b"x"),
        lambda kb: kb.sharing.add_remote("origin", None),
        lambda kb: kb.trust.prove(b"a.md"),
        lambda kb: kb.trust.gc(grace_s=float("nan")),
        lambda kb: kb.trust.gc(grace_s="1"),
        lambda kb: kb.trust.distill(["a.md"], "keywords", {"count": 3}),
        lambda kb: kb.trust.distill(["a.md"], "keywords", ["count"]),
        lambda kb: kb.add("a.md", cwd="x\0y"),
        lambda kb: kb.add("a.md", progress=3),
        lambda kb: kb.search("tides", progress="loud"),
        lambda kb: kb.trust.choose("a.md", "hot"),
        lambda kb: kb.trust.evict("a.md", 3),
        lambda kb: kb.trust.evict("a.md", places=[3]),
        lambda kb: kb.trust.rehydrate("a.md", others=7),
        lambda kb: kb.trust.add_core("c", "text", "a.md"),
        lambda kb: kb.trust.add_core("c", "text", ["a.md"]),
        lambda kb: kb.trust.add_core("c", "text", [("a.md", "1", None)]),
        lambda kb: kb.trust.evict("a.md", places=ByteNamed()),
        lambda kb: kb.trust.rehydrate("a.md", others=[7]),
        lambda kb: kb.trust.choose([], Criteria(older_than_s="90d")),  # type: ignore[arg-type]
        lambda kb: kb.trust.choose([], Criteria(among=3)),  # type: ignore[arg-type]
        lambda kb: kb.sharing.fetch(".", FetchOptions(branches=None)),  # type: ignore[arg-type]
        lambda kb: kb.sharing.push(".", PushRequest(force="no")),  # type: ignore[arg-type]
        lambda kb: kb.sharing.fetch(".", connecting=ConnectOptions(token=b"secret")),  # type: ignore[arg-type]
        lambda kb: kb.sharing.fetch(".", connecting=ConnectOptions(limits=Limits(idle_s="5"))),  # type: ignore[arg-type]
        lambda kb: kb.diff(comparing=Comparing(context="3")),  # type: ignore[arg-type]
        lambda kb: arbor.clone(kb.folder.parent, "x", options=CloneOptions(bare=1)),  # type: ignore[arg-type]
        lambda kb: kb.sharing.fetch("origin", options={"prune": True}),
        lambda kb: kb.sharing.bring_back([("a.md", "oid")]),
        lambda kb: kb.sharing.stream_bundle("a.bundle"),
        lambda kb: kb.sharing.stream_bundle(io.StringIO()),
        lambda kb: arbor.init(3),
        lambda kb: arbor.open(None),
        lambda kb: arbor.clone(kb, "x"),
    ],
)
def test_a_wrong_type_is_named_and_nothing_happens(kb: KnowledgeBase, call: Callable[[Any], Any]) -> None:
    (kb.folder.parent / "a.md").write_text("# a.md\n\nchanged\n")
    before = kb.repo.refs.head_oid(), kb.repo.stage().changes, kb.status()
    with pytest.raises(TypeError) as found:
        call(kb)
    assert isinstance(found.value, UsageError)
    assert "must be" in found.value.message
    assert (kb.repo.refs.head_oid(), kb.repo.stage().changes, kb.status()) == before
    assert kb.verify().ok


@pytest.mark.parametrize(
    "call",
    [
        lambda kb: kb.trust.choose([], Criteria(older_than_s=-1)),
        lambda kb: kb.trust.choose([], Criteria(), tier="tepid"),
        lambda kb: kb.trust.gc(grace_s=-1),
        lambda kb: kb.trust.records(limit=-1),
        lambda kb: kb.consensus_history("a.md", limit=-1),
        lambda kb: kb.trust.checkpoint(origin="two\nlines"),
        lambda kb: kb.trust.checkpoint_note(origin=" spaced"),
        lambda kb: kb.trust.evict("a.md", places="nowhere"),
        lambda kb: kb.trust.rehydrate("a.md", places="a.md"),
    ],
)
def test_a_value_that_means_nothing_is_refused_and_not_passed_over(
    kb: KnowledgeBase, call: Callable[[Any], Any]
) -> None:
    with pytest.raises(UsageError) as found:
        call(kb)
    assert not isinstance(found.value, TypeError)


def test_one_text_stands_for_a_list_of_one_in_options_too(kb: KnowledgeBase) -> None:
    assert kb.trust.choose([], Criteria(among="notes/b.md and a.md")) == []  # type: ignore[arg-type]
    with arbor.init(kb.folder.parent / "other", bare=True) as other:
        done = kb.sharing.push(str(other.folder), PushRequest("main"))
        assert [ref.there for ref in done.refs] == ["refs/heads/main"]
        assert kb.sharing.fetch(str(other.folder), FetchOptions("main")).changes  # type: ignore[arg-type]


def test_one_text_is_one_path(kb: KnowledgeBase) -> None:
    assert kb.add("notes").added == ("notes/b.md",)
    assert kb.add(Path("notes/b.md")).added == ()
    kb.commit("second", author="Ada Lovelace <ada@example.org>")
    assert kb.rm("a.md") == ("a.md",)
    assert b"".join(kb.cat(Path("notes/b.md"))) == b"# notes/b.md\n\ntides\n"
    assert kb.show()[0].author == "Ada Lovelace"
    assert (kb.folder.parent / "a").exists()


def test_paths_are_texts_or_path_objects_for_a_type_checker_too(kb: KnowledgeBase) -> None:
    assert len(list(kb.log(paths=Path("a.md")))) == len(list(kb.log(paths=[Path("a.md")]))) == 1
    assert kb.diff(paths=Path("a.md")) == ()
    assert kb.resolve_paths(Path("a.md")) == kb.resolve_paths(["a.md"]) == ["a.md"]
    path = Path("notes") / "b.md"
    kb.add(Path())
    kb.commit("second")
    assert kb.document(path).path == kb.consensus(path).path == "notes/b.md"
    assert b"".join(kb.cat(path)) == b"# notes/b.md\n\ntides\n"
    assert [name for name, _ in kb.ls(Path("notes"))] == [each.path for each in kb.show(paths=path)[1]]
    assert list(kb.ls(Path())) == list(kb.ls(".")) == list(kb.ls())
    assert len(kb.show(paths=Path())[1]) == len(kb.show()[1]) > 1
    assert kb.consensus_history(path)[0].standing is not None
    assert kb.trust.prove(path).key == kb.trust.prove_passage(path, 0, kb.resolve()).key == "d/notes/b.md"
    assert kb.trust.prove_absent(Path("nothing.md")).key == "d/nothing.md"
    assert [row[0] for row in kb.trust.tiers(path).rows] == ["notes/b.md"]
    assert kb.trust.distill(path, "lead")
    assert kb.trust.add_core("gist", "tides", [(path, None, None)]).name == "gist"
    assert kb.trust.evict(path, tier="warm").evicted
    assert kb.trust.rehydrate(path).warmed == 1
    assert kb.add_bytes(Path("new.md"), b"new\n").added == ("new.md",)
    assert kb.mv(path, Path("b.md")) == (("notes/b.md", "b.md"),)


def test_every_kb_path_may_be_a_path_object() -> None:
    names = {"path", "paths", "prefix", "place", "source", "sources", "target"}
    texts = {(KnowledgeBase.restore, "source"), (BranchDesk.switch, "target")}  # revisions and branches
    cores = {(TrustDesk.add_core, "sources")}
    for desk in (KnowledgeBase, BranchDesk, ShareDesk, TrustDesk):
        for name, method in vars(desk).items():
            for argument, written in getattr(method, "__annotations__", {}).items():
                if name.startswith("_") or argument not in names or (method, argument) in texts | cores:
                    continue
                assert written in ("StrPath", "Paths"), (name, argument, written)


def test_an_author_that_is_none_is_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(UsageError, match="does not name an author"):
        kb.commit("m", author="Ada", allow_empty=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda kb: list(kb.log(limit=-1)),
        lambda kb: kb.consensus_history("\ud800"),
        lambda kb: kb.branches.reflog("../../HEAD"),
        lambda kb: kb.branches.reflog("refs/heads/\0"),
        lambda kb: kb.branches.reflog("refs/heads/" + "x" * 300),
        lambda kb: kb.trust.prove("a.md", room="cellar"),
    ],
)
def test_a_value_that_can_mean_nothing_is_a_mistake_in_the_call(
    kb: KnowledgeBase, call: Callable[[Any], Any]
) -> None:
    with pytest.raises(UsageError):
        call(kb)


def test_bundles_that_cannot_be_read_or_written_are_storage_errors(kb: KnowledgeBase, tmp_path: Path) -> None:
    for fs_path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(StorageError, match="cannot be used"):
            kb.sharing.verify_bundle(fs_path)
    with pytest.raises(StorageError, match="cannot be used"):
        kb.sharing.create_bundle(tmp_path / "nowhere" / "a.bundle")


def test_none_is_taken_only_where_it_is_written() -> None:
    @checked
    def call(one: str, other: int | None = None) -> tuple[str, int | None]:
        return one, other

    assert call("a", None) == ("a", None)
    with pytest.raises(WrongType, match="'one' of call must be text, not NoneType"):
        call(None)  # type: ignore[arg-type]


def test_every_argument_of_a_desk_is_checked() -> None:
    for desk in (KnowledgeBase, BranchDesk, ShareDesk, TrustDesk):
        for name, method in vars(desk).items():
            if name.startswith("_") or not callable(method):
                continue
            assert hasattr(method, "__wrapped__"), name
            for written in (
                text for argument, text in method.__annotations__.items() if argument != "return"
            ):
                assert written.removesuffix(" | None") in _CHECKS or written == "Signature | str | None", (
                    name,
                    written,
                )


def test_every_field_of_an_option_is_checked() -> None:
    options = (CloneOptions, Comparing, ConnectOptions, Criteria, FetchOptions, Limits, PushRequest)
    assert tuple(kind.__name__ for kind in options) == OPTIONS
    for kind in options:
        for field in dataclasses.fields(kind):
            assert str(field.type).removesuffix(" | None") in _CHECKS, (kind, field)


@pytest.mark.parametrize("length", [300, 5000])
def test_a_name_that_the_system_takes_for_too_long_is_a_mistake_in_the_call(
    kb: KnowledgeBase, tmp_path: Path, length: int
) -> None:
    name = "x" * length
    calls: list[Callable[[], object]] = [
        lambda: arbor.open(name), lambda: arbor.init(tmp_path / name), lambda: arbor.clone(name, tmp_path / "c"),
        lambda: arbor.clone(kb.folder.parent, tmp_path / name), lambda: kb.sharing.fetch(f"/{name}"),
        lambda: kb.sharing.push(f"/{name}"), lambda: kb.trust.rehydrate(places=[name]),
        lambda: kb.trust.evict("a.md", places=name),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(UsageError, match="too long for the system"):
            call()


def test_a_type_checker_takes_text_for_every_path_on_disk() -> None:
    for desk in (KnowledgeBase, BranchDesk, ShareDesk, TrustDesk, arbor):
        for name, method in [*vars(desk).items(), ("open", arbor.open), ("clone", arbor.clone)]:
            written = {} if name.startswith("_") else getattr(method, "__annotations__", {})
            paths = {argument: text for argument, text in written.items() if argument != "return"}
            assert not [each for each in paths.items() if re.search(r"\bPath\b", str(each[1]))], (desk, name)
