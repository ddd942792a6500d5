"""Cores are bound to their passages, the same everywhere, and never silently out of date."""

from __future__ import annotations

import dataclasses
import random
import re
import shutil
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest

import arbor
from arbor import KnowledgeBase
from arbor.errors import ColdDocument, IntegrityError, UsageError
from arbor.objects import merkle
from arbor.objects.ids import Kind
from arbor.objects.model import Document, decode_document, encode_derivation, encode_document
from arbor.repo.desk import TrustDesk
from arbor.repo.distillation import kb_statistics
from arbor.repo.distillation.core_binding import broken_source, get_derivation, unproven_source
from arbor.repo.distillation.core_check import CoreState
from arbor.repo.distillation.cores import list_cores
from arbor.repo.distillation.distillers import registry
from arbor.repo.distillation.distillers.contract import MAX_TEXT_BYTES, Distillate, Source
from arbor.repo.distillation.distillers.prose import cut, first_sentence, paragraphs
from arbor.repo.distillation.kb_statistics import DocumentFinder, documents_root
from arbor.repo.repository import Repository
from arbor.repo.stage import write_stage
from arbor.repo.trust.verify import verify
from arbor.search import audit
from arbor.search.results import AuditMode, Hit
from arbor.store.repacking import drop_objects
from tests.trust.conftest import MakeKb, fill, long_note

NOTES: dict[str, str | bytes] = {
    "merkle.md": "---\ntitle: Trees\n---\n\n# Merkle trees\n\nA Merkle tree hashes its leaves, e.g. chunks, into "
    "a root. Proofs are short.\n\n## Proofs\n\nAn inclusion proof lists hashes.\n\n```\ncode. not prose\n```\n",
    "树.md": "# 默克尔树\n\n默克尔树把数据块的哈希值合并成一个根。知识库的每个段落都可以被证明。\n",
    "long.md": long_note(5),
    "empty.md": "# Only a heading\n",
    "data.bin": b"\x00\x01\x02" * 50,
}


def distilled(kb: KnowledgeBase, distiller: str, **parameters: str) -> dict[str, str]:
    """Core names and oids of all documents, staged and committed."""
    found = TrustDesk(kb.repo).distill((), distiller, parameters)
    kb.commit(f"cores by {distiller}", index=False, allow_empty=True)
    return {each.name: each.core for each in found if each.core}


def text_of(kb: KnowledgeBase, name: str) -> str:
    return TrustDesk(kb.repo).core(name).text


def state_of(kb: KnowledgeBase, name: str) -> CoreState:
    return TrustDesk(kb.repo).check_cores([name])[0]


def test_the_built_in_distillers(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    distilled(kb, "first-sentence")
    assert (
        text_of(kb, "first-sentence/merkle.md")
        == "A Merkle tree hashes its leaves, e.g. chunks, into a root.\n"
    )
    assert text_of(kb, "first-sentence/树.md") == "默克尔树把数据块的哈希值合并成一个根。\n"
    distilled(kb, "lead", paragraphs="1")
    assert text_of(kb, "lead/merkle.md").endswith("Proofs are short.\n")
    distilled(kb, "outline")
    assert text_of(kb, "outline/merkle.md") == "- Merkle trees\n  - Proofs\n"
    distilled(kb, "keywords", count="5")
    words = text_of(kb, "keywords/merkle.md").strip().split(", ")
    assert len(words) == 5
    assert "merkle" in words
    assert "code" not in words
    assert "哈希" in text_of(kb, "keywords/树.md")
    names = list_cores(kb.repo)
    assert not [name for name in names if name.endswith(("data.bin", "empty.md"))]
    assert all(
        state.state == "current" and state.again == "same" for state in TrustDesk(kb.repo).check_cores()
    )
    assert kb.verify().ok


def test_what_cannot_be_distilled_is_named(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    found = {each.path: each for each in TrustDesk(kb.repo).distill((), "outline")}
    assert found["data.bin"].problem == "it has no text"
    assert found["树.md"].problem == "outline finds nothing in it"
    assert found["long.md"].state == "new"
    with pytest.raises(UsageError, match="no distiller 'none'"):
        TrustDesk(kb.repo).distill((), "none")
    with pytest.raises(UsageError, match="no parameter"):
        TrustDesk(kb.repo).distill((), "lead", {"size": "1"})
    with pytest.raises(UsageError, match="whole number"):
        TrustDesk(kb.repo).distill((), "lead", {"paragraphs": "many"})


@pytest.mark.parametrize(
    ("distiller", "parameters"), [("first-sentence", {}), ("keywords", {"statistics": "kb"})]
)
def test_any_order_of_adding_gives_the_same_cores(
    make_kb: MakeKb, distiller: str, parameters: dict[str, str]
) -> None:
    made = []
    for number in range(3):
        names = sorted(NOTES)
        random.Random(number).shuffle(names)
        kb = make_kb(name=f"kb{number}")
        for name in names:
            fill(kb, {name: NOTES[name]}, f"add {name}")
        made.append(distilled(kb, distiller, **parameters))
        assert distilled(kb, distiller, **parameters) == made[-1], "distilling again changes nothing"
    assert made[0] == made[1] == made[2]
    assert len(made[0]) >= 3


def test_statistics_of_the_kb_are_recorded_and_found_again(make_kb: MakeKb) -> None:
    kb = make_kb(
        {f"n{i}.md": f"# N{i}\n\nshared words and special{i} matter, shared again.\n" for i in range(8)}
    )
    root = kb.repo.head_root()
    distilled(kb, "keywords", statistics="kb", count="3")
    core = TrustDesk(kb.repo).core("keywords/n3.md")
    assert core.ledger_root == root.hex()
    assert core.text.startswith("special3")
    fill(kb, {"other.md": "# Other\n\nspecial3 special3 elsewhere.\n"}, "more")
    assert state_of(kb, "keywords/n3.md").again == "same"
    distilled(kb, "keywords", statistics="kb", count="3")
    assert TrustDesk(kb.repo).core("keywords/n3.md").ledger_root != root.hex()


@pytest.mark.parametrize("look", ["verify", "check"])
def test_the_terms_of_a_version_are_counted_once(
    make_kb: MakeKb, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    """However the cores that name it are mixed with others, and whatever their parameters."""
    kb = make_kb()
    for number in range(12):  # more versions than recipes are kept
        files: dict[str, str | bytes] = {f"{i}.md": f"# {i}\n\nriver stone w{i}v{number}\n" for i in range(8)}
        names = ["a.md", *files] if not number else ["a.md", f"{number % 8}.md"]
        fill(
            kb, {name: files.get(name, f"# A\n\nlantern v{number}\n") for name in names}, f"version {number}"
        )
        for count in ("3", "4"):
            TrustDesk(kb.repo).distill([f"{number % 8}.md"], "keywords", {"statistics": "kb", "count": count})
            kb.commit(f"cores {number} {count}", index=False, allow_empty=True)
    real, counted = kb_statistics.count_terms, []

    def count(repo: Repository, documents: Iterable[bytes]) -> kb_statistics.KbStatistics:
        counted.extend(documents := list(documents))
        return real(repo, documents)

    monkeypatch.setattr(kb_statistics, "count_terms", count)
    if look == "verify":
        assert kb.verify(deep=True).ok
    else:
        states = TrustDesk(kb.repo).check_cores()
        assert {state.again for state in states} == {"same"}
        assert [state.name for state in states] == sorted(state.name for state in states)
    assert len(counted) <= 12 * 9, "no document twice for one version"


def test_a_count_that_goes_on_is_the_count(make_kb: MakeKb) -> None:
    kb = fill(make_kb(), {f"{i}.md": f"# {i}\n\nriver w{i % 3} w{i}\n" for i in range(9)})
    oids = [oid for _, oid in kb.snapshot().paths()]
    counter = kb_statistics.TermCounter(kb.repo)
    for wanted in (oids[:8], oids[1:], oids[1:], oids[2:9], [], oids[:1], oids):
        assert counter.count(wanted) == kb_statistics.count_terms(kb.repo, wanted)
    TrustDesk(kb.repo).evict(["0.md"], tier="cold", force=True)
    assert counter.count(oids[1:]) == kb_statistics.count_terms(kb.repo, oids[1:]), "what went is cold"
    with pytest.raises(ColdDocument):
        counter.count(oids)


def test_statistics_are_named_after_the_documents_alone(make_kb: MakeKb) -> None:
    """Whatever was distilled before, in whatever order: the same documents, the same cores, made again everywhere."""
    names = ["merkle.md", "long.md", "树.md"]
    first = make_kb({name: NOTES[name] for name in names}, name="first")
    distilled(first, "outline")
    TrustDesk(first.repo).add_core("by/hand", "mine", [("merkle.md", None, None)])
    first.commit("a core that the other has not", index=False)
    made = distilled(first, "keywords", statistics="kb")
    second = make_kb({names[2]: NOTES[names[2]]}, name="second")
    distilled(second, "keywords", statistics="kb")
    fill(second, {names[0]: NOTES[names[0]]}, "more")
    (second.fs_root or Path()).joinpath(names[1]).write_bytes(str(NOTES[names[1]]).encode())
    second.add()
    assert distilled(second, "keywords", statistics="kb") == made, (
        "distilled before the last one was committed"
    )
    root = documents_root({f"d/{path}": second.snapshot().get(path) for path in names})
    for kb in (first, second):
        assert {core.ledger_root for core in TrustDesk(kb.repo).cores() if core.ledger_root} == {root.hex()}
        fill(kb, {"later.md": "# Later\n\nmerkle merkle merkle trees\n"}, "later")
        states = TrustDesk(kb.repo).check_cores()
        assert {(state.state, state.again) for state in states if state.name in made} == {("current", "same")}
    finder = DocumentFinder(first.repo, first.resolve("HEAD"))
    assert finder.find(bytes(32)) is None
    assert sorted(finder.find(root) or ()) == sorted(f"d/{name}" for name in names)
    assert finder.find(b"") is None


def test_statistics_of_documents_that_no_version_holds(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    (kb.fs_root or Path()).joinpath("passing.md").write_text("# Passing\n\nonly staged\n")
    kb.add()
    TrustDesk(kb.repo).distill(["merkle.md"], "keywords", {"statistics": "kb"})
    kb.rm(["passing.md"], cached=True)
    kb.commit("without it", index=False)
    assert "no version" in state_of(kb, "keywords/merkle.md").again


def test_a_changed_source_makes_a_core_stale(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    distilled(kb, "lead")
    assert state_of(kb, "lead/long.md").state == "current"
    fill(kb, {"long.md": long_note(5) + "\nmore at the end\n"}, "longer")
    since = kb.resolve("HEAD").hex()
    fill(kb, {"more.md": "x\n"}, "something else")
    state = state_of(kb, "lead/long.md")
    assert state.state == "stale"
    [change] = state.changes
    assert (change.path, change.what, change.same_passages, change.commit) == (
        "long.md",
        "changed",
        True,
        since,
    )
    assert state.again == "same"
    assert state_of(kb, "lead/merkle.md").state == "current"
    kb.mv(["merkle.md"], "moved.md")
    kb.rm(["树.md"])
    kb.commit("moved and removed", index=False)
    moved, gone = state_of(kb, "lead/merkle.md"), state_of(kb, "lead/树.md")
    assert (moved.changes[0].what, moved.changes[0].now) == ("moved", "moved.md")
    assert gone.changes[0].what == "gone"
    assert kb.verify().ok
    fill(kb, {"long.md": long_note(5)}, "as before")
    assert state_of(kb, "lead/long.md").state == "current"


def test_a_core_that_somebody_wrote(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    trust = TrustDesk(kb.repo)
    core = trust.add_core(
        "haiku/tree", "leaves fold into one\n", [("merkle.md", 8, 12), ("long.md", None, None)], by="Ada"
    )
    assert (core.distiller, core.parameters) == ("manual", {"by": "Ada"})
    assert [origin.path for origin in core.sources] == ["merkle.md"] + ["long.md"] * 5
    deeper = trust.add_core("haiku/deeper", "a core of a core\n", [("core:haiku/tree", None, None)])
    assert deeper.sources[0].path == "core:haiku/tree"
    kb.commit("haiku", index=False)
    assert [state.state for state in trust.check_cores()] == ["current", "current"]
    trust.add_core("haiku/tree", "another text\n", [("merkle.md", None, None)])
    kb.commit("rewritten", index=False)
    assert state_of(kb, "haiku/deeper").changes[0].path == "core:haiku/tree"
    trust.remove_core("haiku/deeper")
    kb.commit("removed", index=False)
    assert set(list_cores(kb.repo)) == {"haiku/tree"}
    for wrong in ([], [("nothing.md", None, None)], [("merkle.md", 900, 901)], [("core:none", None, None)]):
        with pytest.raises(UsageError):
            trust.add_core("x", "text", wrong)
    with pytest.raises(UsageError, match="needs a text"):
        trust.add_core("x", "  \n", [("merkle.md", None, None)])
    with pytest.raises(UsageError, match="cannot be the name"):
        trust.add_core("../x", "text", [("merkle.md", None, None)])


def test_what_a_search_calls_a_core_is_taken_for_it_everywhere(make_kb: MakeKb) -> None:
    kb = make_kb(
        {"a.md": "# Tides\n\nThe moon pulls.\n", "core:gist": "# Moon\n\nA document of this name.\n"}
    )
    kb.trust.add_core("gist", "The moon pulls the sea.", [("a.md", None, None)])
    kb.trust.add_core("other", "The moon again.", [("a.md", None, None)])
    kb.commit("cores")
    found = kb.search("moon", mode="STRICT")
    assert {hit.path for hit in found.hits} == {"a.md", "./core:gist", "core:gist", "core:other"}
    for hit in found.hits:
        assert hit.chunk is not None
        proof = kb.trust.prove_passage(hit.path, hit.chunk.index, found.rev)
        assert arbor.proofs.verify(proof, commit=found.rev).text == hit.text
    assert kb.trust.core("core:other") == kb.trust.core("other")
    assert [state.name for state in kb.trust.check_cores(["core:other", "gist"])] == ["other", "gist"]
    with pytest.raises(UsageError, match="'core:other' is a core and no document"):
        kb.document("core:other")
    kb.trust.remove_core("core:other")
    assert [core.name for core in kb.trust.cores()] == ["gist"]
    assert kb.trust.restore_core("core:other").name == "other"


def test_lines_are_those_of_the_passages_that_hold_them(make_kb: MakeKb) -> None:
    cut = "w " * 3000  # a line of two passages
    kb = make_kb({"open.md": "one\ntwo", "ended.md": "one\ntwo\n", "cut.md": f"one\n{cut}\nthree\n"})
    trust = TrustDesk(kb.repo)

    def passages(path: str, first: int, last: int) -> list[int]:
        return [source.index for source in trust.add_core("x", "text", [(path, first, last)]).sources]

    assert passages("open.md", 2, 2) == passages("ended.md", 2, 2) == [0]
    assert passages("cut.md", 2, 2) == [0, 1]
    for path in ("open.md", "ended.md"):
        with pytest.raises(UsageError, match="no such lines"):
            passages(path, 3, 3)


def tampered(kb: KnowledgeBase, name: str, **changes: object) -> None:
    """Commit a core whose derivation says something else."""
    document = kb.snapshot().document(dict(kb.snapshot().cores())[name])
    derivation = dataclasses.replace(get_derivation(kb.repo.store, document), **changes)  # type: ignore[arg-type]
    with kb.repo.store.writer() as writer:
        bound = writer.add(Kind.DERIVATION, encode_derivation(derivation))
        oid = writer.add(Kind.DOCUMENT, encode_document(dataclasses.replace(document, derivation=bound)))
    stage = kb.repo.stage()
    write_stage(kb.folder, stage.with_changes(kb.repo.store, {f"c/{name}": oid}))
    kb.commit("tampered", index=False)


def test_a_false_binding_is_broken(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    name = "lead/long.md"
    distilled(kb, "lead", paragraphs="3")
    good = get_derivation(kb.repo.store, kb.snapshot().document(dict(kb.snapshot().cores())[name])).sources
    one = good[0]
    lies = [
        (one._replace(leaf=good[-1].leaf),),
        (one._replace(index=one.index + 1),),
        (one._replace(count=one.count + 1),),
        (one._replace(proof=one.proof[:-1]),),
        (one._replace(document=bytes(32)),),
        (),
    ]
    for sources in lies:
        tampered(kb, name, sources=sources)
        assert state_of(kb, name).state == "broken", sources
    tampered(kb, name, sources=good)
    assert state_of(kb, name).state == "current"
    tampered(kb, name, parameters={"max_chars": 1200, "paragraphs": 1})
    assert state_of(kb, name).again == "differs"
    tampered(kb, name, version=7, parameters={"max_chars": 1200, "paragraphs": 3})
    state = state_of(kb, name)
    assert (state.state, state.again) == ("current", "made by version 7, this is version 3")


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"max_chars": 1200},
        {"max_chars": "many", "paragraphs": 3},
        {"max_chars": 1200, "paragraphs": True},
        {"max_chars": 1200, "paragraphs": 0},
        {"max_chars": 1200, "more": 1, "paragraphs": 3},
    ],
)
def test_impossible_parameters_are_said_and_nothing_else(
    make_kb: MakeKb, parameters: dict[str, object]
) -> None:
    """They are what somebody wrote into a derivation: the distiller is not run with them."""
    kb = make_kb(NOTES)
    distilled(kb, "lead", paragraphs="3")
    tampered(kb, "lead/long.md", parameters=parameters)
    state = state_of(kb, "lead/long.md")
    assert (state.state, state.again) == ("current", "its parameters are not such as lead takes")
    assert verify(kb.repo, kb.resolve("HEAD"), deep=True).ok


def test_a_core_of_passages_that_it_was_not_made_of_is_broken(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    distilled(kb, "lead", paragraphs="3")
    other = get_derivation(
        kb.repo.store, kb.snapshot().document(dict(kb.snapshot().cores())["lead/merkle.md"])
    )
    own = get_derivation(kb.repo.store, kb.snapshot().document(dict(kb.snapshot().cores())["lead/long.md"]))
    one, two, *_ = own.sources
    foreign = other.sources[0]._replace(key="d/merkle.md")
    tampered(kb, "lead/long.md", sources=(one, two, *own.sources[2:], foreign))
    assert state_of(kb, "lead/long.md").state == "broken"
    report = verify(kb.repo, kb.resolve("HEAD"), deep=True)
    assert [(found.where, found.affects[0][1]) for found in report.damaged] == [("core", "core:lead/long.md")]
    assert verify(kb.repo, kb.resolve("HEAD")).ok


def test_search_audits_cores_by_their_binding(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    distilled(kb, "lead")
    oid = dict(kb.snapshot().cores())["lead/long.md"]
    document = kb.snapshot().document(oid)
    assert unproven_source(kb.snapshot(), oid, document) == ""
    assert unproven_source(kb.snapshot(), bytes(32), document) == "the core is not what its oid says"
    tampered(kb, "lead/long.md", sources=())
    other = dict(kb.snapshot().cores())["lead/long.md"]
    assert unproven_source(kb.snapshot(), other, kb.snapshot().document(other)) == "the core names no source"


def core_hit(kb: KnowledgeBase, query: str) -> Hit:
    [hit] = kb.search(query, kind="core").hits
    return hit


def test_a_core_is_strict_only_while_its_sources_are_here_and_in_the_version(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    trust = TrustDesk(kb.repo)
    trust.add_core("haiku", "zebra over the wall\n", [("long.md", None, None)])
    trust.add_core("digest", "quagga digest\n", [("core:haiku", None, None)])
    kb.commit("cores")
    for query in ("zebra", "quagga"):
        hit = core_hit(kb, query)
        assert hit.audit is AuditMode.STRICT
        assert audit.SOURCES in hit.reasons
    trust.evict(["long.md"], force=True)
    for query in ("zebra", "quagga"):
        hit = core_hit(kb, query)
        assert hit.audit is AuditMode.HYBRID
        assert hit.reasons[-1] == "a source passage of this core is not stored here (cold): 'long.md'"
        assert kb.search(query, kind="core", mode="STRICT").withheld
    kb.add_bytes("long.md", b"# another\n\nother\n", overwrite=True)
    kb.commit("changed")
    for query in ("zebra", "quagga"):
        assert core_hit(kb, query).reasons[-1] == "a source of this core has changed or is gone: 'long.md'"


def test_a_core_over_a_stale_core_is_stale(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    trust = TrustDesk(kb.repo)
    trust.add_core("one", "unicorn\n", [("long.md", None, None)])
    trust.add_core("two", "gryphon\n", [("core:one", None, None)])
    trust.add_core("three", "dragon\n", [("core:two", None, None), ("core:one", None, None)])
    kb.commit("cores")
    assert {state.state for state in trust.check_cores()} == {"current"}
    assert not any(core.is_stale for core in trust.cores())
    kb.add_bytes("long.md", b"# other\n\nother text\n", overwrite=True)
    changed = kb.commit("changed").commit
    states = {state.name: state for state in trust.check_cores()}
    assert {state.state for state in states.values()} == {"stale"}
    assert [(c.path, c.what, c.commit) for c in states["two"].changes] == [("core:one", "stale", changed)]
    assert [(c.path, c.what) for c in states["three"].changes] == [
        ("core:two", "stale"),
        ("core:one", "stale"),
    ]
    assert all(core.is_stale for core in trust.cores())
    assert all(origin.changed for origin in core_hit(kb, "gryphon").sources)


def test_inclusion_proofs_are_those_of_the_documents(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    distilled(kb, "lead")
    derivation = get_derivation(
        kb.repo.store, kb.snapshot().document(dict(kb.snapshot().cores())["lead/long.md"])
    )
    document = decode_document(kb.repo.store.get_kind(derivation.sources[0].document, Kind.DOCUMENT))
    leaves = [ref.oid for ref in kb.snapshot().manifest(document).passages]
    for source in derivation.sources:
        assert list(source.proof) == merkle.inclusion_path(leaves, source.index)
    assert broken_source(kb.repo.store, derivation) == ""


def test_a_lost_derivation_is_damage(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    distilled(kb, "lead")
    document: Document = kb.snapshot().document(dict(kb.snapshot().cores())["lead/long.md"])
    with kb.repo.lock():
        drop_objects(kb.repo.store, {document.derivation})
    report = verify(kb.repo, kb.resolve("HEAD"))
    assert [finding.where for finding in report.damaged] == ["derivation"]
    assert state_of(kb, "lead/long.md").state == "broken"
    with pytest.raises(IntegrityError):
        TrustDesk(kb.repo).core("lead/long.md")


class Shout:
    """A distiller of somebody else."""

    name = "shout"
    version = 3
    deterministic = False
    defaults = {"mark": "!"}  # noqa: RUF012

    def uses_statistics(self, parameters: object) -> bool:
        return False

    def distill(self, source: Source, parameters: dict[str, str], statistics: object) -> Distillate:
        return Distillate(source.title.upper() + parameters["mark"] + "\n", (0,))


class Point:
    name = "shout"

    def load(self) -> object:
        return Shout


def test_distillers_plug_in(make_kb: MakeKb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: [Point()] if group == "arbor.distillers" else []
    )
    assert registry.list_distillers() == ["first-sentence", "keywords", "lead", "outline", "shout"]
    kb = make_kb({"a.md": "# Quiet\n\ntext\n"})
    distilled(kb, "shout", mark="?")
    assert text_of(kb, "shout/a.md") == "QUIET?\n"
    assert state_of(kb, "shout/a.md").again == "the distiller is not deterministic"
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])
    assert state_of(kb, "shout/a.md").again == "there is no distiller 'shout' here"


class Rough(Shout):
    """One that does not keep its contract."""

    deterministic = True
    used: tuple[int, ...] = (0,)
    fails = False

    def distill(self, source: Source, parameters: dict[str, str], statistics: object) -> Distillate:
        if self.fails and source.path == "a.md":
            raise ZeroDivisionError("no\nmore")
        return Distillate("x\n", self.used)


def test_a_distiller_that_fails_is_named_with_its_document(
    make_kb: MakeKb, monkeypatch: pytest.MonkeyPatch
) -> None:
    rough = Rough()
    point = Point()
    monkeypatch.setattr(point, "load", lambda: rough, raising=False)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point])
    kb = make_kb({"a.md": "# Quiet\n\ntext\n", "b.md": "# Other\n\ntext\n"})
    distilled(kb, "shout")
    rough.fails = True
    found = {each.path: each.problem for each in TrustDesk(kb.repo).distill((), "shout")}
    assert found == {"a.md": "shout fails on it: ZeroDivisionError: no more", "b.md": ""}
    assert state_of(kb, "shout/a.md").again == "shout fails on it: ZeroDivisionError: no more"
    rough.fails = False
    for used in ((), (7,), (-1,), (0, 0)):
        rough.used = used
        [made] = TrustDesk(kb.repo).distill(["a.md"], "shout")
        assert made.problem == "shout does not say which of its passages it used"
    monkeypatch.setattr(point, "load", lambda: 1 // 0)
    assert "shout' cannot be loaded: ZeroDivisionError" in state_of(kb, "shout/a.md").again
    with pytest.raises(UsageError, match="cannot be loaded"):
        TrustDesk(kb.repo).distill((), "shout")


def plug_in(monkeypatch: pytest.MonkeyPatch, **attributes: object) -> None:
    """Plug in `Shout` with some attributes as they are given."""
    point = Point()
    made = type("Other", (Shout,), attributes)
    monkeypatch.setattr(point, "load", lambda: made, raising=False)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point])


@pytest.mark.parametrize(
    ("attributes", "fault"),
    [
        ({"name": "keywords"}, "its name is 'keywords'"),
        ({"version": "1"}, "its version is '1'"),
        ({"version": True}, "its version is True"),
        ({"version": 0}, "its version is 0"),
        ({"deterministic": None}, "does not say whether it is deterministic"),
        ({"defaults": {"share": 0.5}}, "its default for 'share' is 0.5"),
        ({"defaults": None}, "cannot be loaded: TypeError"),
        ({"distill": None}, "distill cannot be called"),
        ({"uses_statistics": lambda self, parameters: 1 // 0}, "fails: ZeroDivisionError"),
    ],
)
def test_a_distiller_that_does_not_keep_its_contract_is_refused(
    attributes: dict[str, object], fault: str, make_kb: MakeKb, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make_kb({"a.md": "# Quiet\n\ntext\n"})
    plug_in(monkeypatch, **attributes)
    with pytest.raises(UsageError, match=re.escape(fault)):
        TrustDesk(kb.repo).distill((), "shout")
    plug_in(monkeypatch)
    distilled(kb, "shout")
    plug_in(monkeypatch, **{"deterministic": True, "version": 3, **attributes})
    assert state_of(kb, "shout/a.md").state == "current"


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        ("QUIET", "shout makes something else than a text"),
        (Distillate(5, (0,)), "shout makes something else than a text"),  # type: ignore[arg-type]
        (Distillate(" \n", (0,)), "shout makes a text that is empty"),
        (Distillate("x" * (MAX_TEXT_BYTES + 1), (0,)), "shout makes a text that is empty or larger"),
        (Distillate("\ud800\n", (0,)), "shout makes a text that is not Unicode"),
        (Distillate("x\n", (True,)), "shout does not say which of its passages it used"),
        (Distillate("x\n", (0.0,)), "shout does not say which of its passages it used"),  # type: ignore[arg-type]
        (Distillate("x\n", None), "shout does not say which of its passages it used"),  # type: ignore[arg-type]
    ],
)
def test_what_a_distiller_makes_is_checked(
    made: object, problem: str, make_kb: MakeKb, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make_kb({"a.md": "# Quiet\n\ntext\n"})
    plug_in(monkeypatch, distill=lambda *_: made)
    [found] = TrustDesk(kb.repo).distill((), "shout")
    assert (found.state, found.problem[: len(problem)]) == ("skipped", problem)


def test_a_list_of_passages_is_as_good_as_a_tuple(make_kb: MakeKb, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = make_kb({"a.md": "# Quiet\n\ntext\n"})
    plug_in(monkeypatch, deterministic=True, distill=lambda *_: Distillate("x\n", [0]))  # type: ignore[arg-type]
    distilled(kb, "shout")
    assert (state_of(kb, "shout/a.md").state, state_of(kb, "shout/a.md").again) == ("current", "same")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("See e.g. this. Then that.", "See e.g. this."),
        ("By J. R. Smith et al. 2020. More.", "By J. R. Smith et al. 2020."),
        ("Version 1.2 is out! Get it.", "Version 1.2 is out!"),
        ("他来了。他走了。", "他来了。"),
        ("「はい。」と言った。終わり。", "「はい。」と言った。"),
        ("no end", "no end"),
        ('He said "Stop." Then left.', 'He said "Stop."'),
        ("The U.S. Army came. It left.", "The U.S. Army came."),
        ("Das gilt z. B. am 3. Mai bzw. 4. Juni. Sonst nicht.", "Das gilt z. B. am 3. Mai bzw. 4. Juni."),
        ("See No. 5 and approx. 3.14 of it. Then go.", "See No. 5 and approx. 3.14 of it."),
        ("Vydáno 15. května 2020. Potom nic.", "Vydáno 15. května 2020."),
        ("On Dec. 24 we eat. Then we sleep.", "On Dec. 24 we eat."),
        ("Apples, pears, etc. They are sweet.", "Apples, pears, etc."),
        ("Это, т. е. дом, стоит. Другой нет.", "Это, т. е. дом, стоит."),
        ("هل جاء؟ نعم.", "هل جاء؟"),
        ("वह आया। वह गया।", "वह आया।"),
        ("We chose 7. It was enough.", "We chose 7."),
    ],
)
def test_first_sentences(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("「本当に？本当に！」と彼は言った。次。", "「本当に？本当に！」と彼は言った。"),
        ("「来週にする。」と決めた。次。", "「来週にする。」と決めた。"),
        ("『吾輩は猫である。』は小説だ。次。", "『吾輩は猫である。』は小説だ。"),
        ("これは何！？と聞いた。次。", "これは何！？と聞いた。"),
        ("「来週にする。」ところが、誰も来ない。", "「来週にする。」"),
        ("（例は後で。）本文。", "（例は後で。）"),
        ("閉じない「括弧。次の文。", "閉じない「括弧。"),
        ("図１に示す．次に述べる．", "図１に示す．"),
        ("１．序論として３．５を使う．次．", "１．序論として３．５を使う．"),
        ("“你好。我是张三。”他说。", "“你好。我是张三。”"),
        ('他说："好。"然后走了。后来', '他说："好。"然后走了。'),
        ("他说：“今天去。”小明同意了。", "他说：“今天去。”"),
        ("《你好。》是书。后来", "《你好。》"),
        ("한국어 문장이다. 다음 문장.", "한국어 문장이다."),
    ],
)
def test_a_sentence_goes_on_behind_the_speech_in_it(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_lines_of_chinese_and_japanese_are_joined_without_a_space() -> None:
    text = "会議で決まったとおり、リリースを一週間延\n期します。理由は、結合試験です、\n"
    text += "念のため使っている\nAPI の\n試験。\n\n"
    text += "这是我们昨天在会议上一起决定的今天天\r\n气很好。\n\n"
    text += "이것은 아주 긴 한국어 문장의 첫째 줄\n문장.\n\n甲\n乙\n\n・丙\n・丁\n"
    assert paragraphs(text, first=False) == [
        "会議で決まったとおり、リリースを一週間延期します。理由は、結合試験です、念のため使っている API の 試験。",
        "这是我们昨天在会议上一起决定的今天天气很好。", "이것은 아주 긴 한국어 문장의 첫째 줄 문장.", "甲 乙", "丙 丁",
    ]  # fmt: skip


def test_a_cut_takes_no_sign_from_its_character() -> None:
    assert cut("葛\U000e0100城市", 2) == "…"
    assert cut("か\u3099き", 2) == "…"
    assert cut("長い文章、短い文章", 6) == "長い文章…"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "page.html",
            "<title>1. Bees</title><p>Menu</p><h1>1. Bees</h1><p>a » b » 1. Bees</p><p>Bees fly all day long. So.</p>",
            "Bees fly all day long.\n",
        ),
        ("menu.html", "<p>Home</p><p>About</p>", "Home\n"),
        (
            "mail.eml",
            "From: a@b.c\nTo: d@e.f\nDate: 1 Jan 2024 10:00 +0000\nSubject: s\n\nIt rained there all day. More.\n",
            "It rained there all day.\n",
        ),
        (
            "bees.rst",
            ":Author: Ann\n\nBees\n----\n\n.. note:: x\n\nThe `hive <https://x.org>`_ is full. Not so the other.\n",
            "The hive is full.\n",
        ),
    ],
)
def test_the_first_sentence_is_no_heading_menu_or_head(
    make_kb: MakeKb, name: str, text: str, sentence: str
) -> None:
    kb = make_kb({name: text})
    distilled(kb, "first-sentence")
    assert text_of(kb, f"first-sentence/{name}") == sentence


def test_keywords_are_no_words_that_hold_sentences_together(make_kb: MakeKb) -> None:
    text = "El paquete de la distribución es parte de la distribución, y el paquete no está en la lista de la red."
    kb = make_kb({"a.md": text})
    distilled(kb, "keywords")
    words = text_of(kb, "keywords/a.md").strip().split(", ")
    assert words[:2] == ["distribución", "paquete"]
    assert not {"el", "la", "de", "es", "en", "no", "y"} & set(words)


def test_keywords_of_a_japanese_note_are_no_pieces_of_words(make_kb: MakeKb) -> None:
    text = "第三会議室です。会議の後、第三会議室で一週間延期の理由を説明する。\n\n会議は二階で。"
    kb = make_kb(
        {
            "a.md": text,
            "b.md": "版本控制系统很好。版本控制系统快。",
            "c.md": "Calc에서 문서에는 사용하는 사용한다. APIを使う",
        }
    )
    distilled(kb, "keywords")
    words = text_of(kb, "keywords/a.md").strip().split(", ")
    assert words == ["会議", "第三会議室", "一週間延期", "二階", "理由", "説明"]
    assert text_of(kb, "keywords/b.md") == "控制系统, 版本\n"
    assert text_of(kb, "keywords/c.md") == "사용, api, calc, 문서\n"


def test_prose_leaves_markup_out() -> None:
    text = "---\na: 1\n---\n# H\n\n![i](x.png)\n\n- **Bold** and [link](y) [[Page|alias]] `code`\n\n"
    text += "| a | b |\n\n~~~\nx\n~~~\n\n> quoted\n"
    assert paragraphs(text, first=True) == ["Bold and link alias code", "quoted"]
    assert cut("one two three", 9) == "one two…"
    assert cut("short", 9) == "short"


@pytest.mark.slow
def test_real_notes_in_both_languages(make_kb: MakeKb, shared_data: Path) -> None:
    kb = make_kb()
    assert kb.fs_root is not None
    for name in ("vue-zh", "rust-book"):
        shutil.copytree(shared_data / "kb" / name, kb.fs_root / name)
    kb.add()
    kb.commit("notes", index=False)
    for distiller in ("first-sentence", "keywords"):
        assert len(distilled(kb, distiller)) > 150
    assert {state.state for state in TrustDesk(kb.repo).check_cores()} == {"current"}
    assert arbor.open(kb.fs_root).verify().ok


def test_what_a_core_was_made_from_stays_though_no_version_holds_it(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb(NOTES)
    trust = TrustDesk(kb.repo)
    kb.add_bytes("draft.md", b"# Draft\n\nfirst draft text\n")
    trust.add_core("of-draft", "core of a draft\n", [("draft.md", None, None)])
    trust.add_core("above", "core of a core\n", [("core:of-draft", None, None)])
    kb.add_bytes("draft.md", b"# Draft\n\nsecond draft text\n", overwrite=True)
    kb.commit("the first draft was never committed")
    source = get_derivation(
        kb.repo.store, kb.snapshot().document(dict(kb.snapshot().cores())["of-draft"])
    ).sources[0]
    trust.gc(grace_s=0)
    assert {state.name: state.state for state in trust.check_cores()} == {
        "of-draft": "stale",
        "above": "stale",
    }
    assert kb.verify().ok

    copy = arbor.clone(kb.folder.parent, tmp_path / "copy")
    assert {state.state for state in TrustDesk(copy.repo).check_cores()} == {"stale"}
    assert copy.repo.store.get_kind(source.leaf, Kind.CHUNK)
    trust.add_core("again", "another of the draft's cores\n", [("core:of-draft", None, None)])
    kb.commit("more")
    copy.sharing.pull()
    TrustDesk(copy.repo).gc(grace_s=0)
    assert {state.state for state in TrustDesk(copy.repo).check_cores()} == {"stale"}
    assert copy.verify().ok


def test_a_lost_source_of_a_core_is_damage(make_kb: MakeKb) -> None:
    kb = make_kb(NOTES)
    trust = TrustDesk(kb.repo)
    kb.add_bytes("draft.md", b"# Draft\n\nfirst draft text\n")
    trust.add_core("of-draft", "core of a draft\n", [("draft.md", None, None)])
    lost = kb.repo.stage().changes["d/draft.md"]
    assert lost is not None
    kb.add_bytes("draft.md", b"# Draft\n\nsecond draft text\n", overwrite=True)
    kb.commit("the first draft was never committed")
    with kb.repo.lock():
        drop_objects(kb.repo.store, {lost})
    [finding] = kb.verify().damaged
    assert (finding.object, finding.where) == (lost.hex(), "source of a core")
    assert [path for _, path in finding.affects] == ["core:of-draft"]
