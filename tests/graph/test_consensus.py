"""The life of a knowledge base as consensus sees it: what comes, changes, moves and goes, and what is told about it."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from arbor.graph.consensus import Consensus
from arbor.graph.facts import DocumentFacts, origin_of_document
from arbor.graph.policy import ConsensusPolicy
from arbor.graph.ripple import NO_RIPPLE
from arbor.graph.standing import Label
from tests.graph.labelled_set import fact, half, neighbours, tellings, topics

HONEY = topics()[0].told
TCP = topics()[1].told


def words(*numbers: int) -> str:
    """A text of eight rare words for each number; texts that share a number share those words."""
    return " ".join(f"term{number}x{index}" for number in numbers for index in range(8))


def interleaved(*numbers: int) -> str:
    """The same words in another order, so that nobody's runs are anybody else's."""
    return " ".join(f"term{number}x{index}" for index in range(8) for number in numbers)


CHAIN = [fact("a.md", interleaved(1, 2)), fact("b.md", interleaved(2, 3, 4)), fact("c.md", interleaved(4, 5))]


def label(consensus: Consensus, key: str) -> str:
    standing = consensus.label(key)
    assert standing is not None
    return str(standing.label)


def test_corroboration_grows_telling_by_telling() -> None:
    consensus = Consensus.open()
    consensus.rebuild(neighbours(topics()))
    seen = []
    for number, text in enumerate(HONEY):
        ripple = consensus.apply([fact(f"honey/{number}.md", text)])
        seen.append(label(consensus, "honey/0.md"))
        assert ripple.origins == (f"honey/{number}.md",)
        assert len(ripple.reached) == number
    assert seen == ["NOVEL", "EXTENDED", "EXTENDED", "CORROBORATED"]
    moved = {change.key: (change.before, change.after) for change in ripple.changed}
    assert moved == {
        "honey/0.md": (Label.EXTENDED, Label.CORROBORATED),
        "honey/1.md": (Label.EXTENDED, Label.CORROBORATED),
        "honey/2.md": (Label.EXTENDED, Label.CORROBORATED),
        "honey/3.md": (None, Label.CORROBORATED),
    }
    consensus.apply([], ["honey/3.md"])
    assert label(consensus, "honey/0.md") == "EXTENDED"


def test_a_ripple_says_by_which_path_and_with_which_weight_it_arrived() -> None:
    consensus = Consensus.open()
    consensus.rebuild(CHAIN[1:])
    ripple = consensus.apply(CHAIN[:1])
    assert [(each.key, each.hop, each.weight_milli, each.path) for each in ripple.reached] == [
        ("b.md", 1, 300, ("a.md", "b.md")),
        ("c.md", 2, 90, ("a.md", "b.md", "c.md")),
    ]
    assert ripple.hops == 2
    before, after = consensus.label("c.md"), consensus.fork()
    after.apply([], ["a.md"])
    lower = after.label("c.md")
    assert before is not None
    assert lower is not None
    assert before.score_ppm > lower.score_ppm
    assert before.groups == lower.groups == 1


def test_the_nearest_are_named_first_whatever_their_names() -> None:
    names = {"a.md": "m.md", "b.md": "z.md", "c.md": "c.md"}
    chain = [replace(each, key=names.get(each.key, each.key)) for each in CHAIN]
    consensus = Consensus.open()
    consensus.rebuild(chain[1:])
    assert [(each.key, each.hop) for each in consensus.apply(chain[:1]).reached] == [("z.md", 1), ("c.md", 2)]


def test_influence_ends_where_the_policy_ends_it() -> None:
    consensus = Consensus.open(None, ConsensusPolicy(max_hops=1))
    consensus.rebuild(CHAIN[1:])
    assert [each.key for each in consensus.apply(CHAIN[:1]).reached] == ["b.md"]


def test_peers_come_by_group_with_what_they_share() -> None:
    consensus = Consensus.open()
    told = list(tellings(topics()[:2]))
    repost = fact("repost.md", "Fwd: " + HONEY[1])
    consensus.rebuild([*told, repost])
    groups = consensus.peers("told/honey-botulism/1.md")
    assert [group.independent for group in groups] == [True, True, True, False]
    assert groups[-1].members == ("repost.md",)
    assert groups[-1].similarity_ppm == 1_000_000
    assert "botulinum" in groups[0].shared_terms
    assert [group.similarity_ppm for group in groups[:3]] == sorted(
        (group.similarity_ppm for group in groups[:3]), reverse=True
    )
    assert consensus.peers("nowhere.md") == []
    assert consensus.label("nowhere.md") is None


def test_identical_content_at_several_paths_is_one_document() -> None:
    consensus = Consensus.open()
    consensus.rebuild([fact(f"copy{number}.md", HONEY[0]) for number in range(5)])
    assert label(consensus, "copy0.md") == "NOVEL"
    assert consensus.counts() == {Label.NOVEL: 1, Label.EXTENDED: 0, Label.CORROBORATED: 0}
    consensus.apply([fact("other.md", HONEY[1])])
    assert consensus.peers("other.md")[0].members == tuple(f"copy{number}.md" for number in range(5))


def test_what_stays_at_another_path_is_told_of_there() -> None:
    consensus = Consensus.open(policy=ConsensusPolicy(corroborated_from=2))
    consensus.rebuild([fact("a.md", HONEY[0]), fact("b.md", HONEY[0]), fact("c.md", HONEY[1])])
    ripple = consensus.apply([fact("a.md", HONEY[2])])
    assert {change.key: change.after for change in ripple.changed} == dict.fromkeys(
        ["a.md", "b.md", "c.md"], Label.CORROBORATED
    )
    ripple = consensus.apply([fact("a.md", HONEY[0])])
    assert {change.key: change.after for change in ripple.changed} == dict.fromkeys(
        ["a.md", "b.md", "c.md"], Label.EXTENDED
    )
    ripple = consensus.apply([fact("a.md", HONEY[2])], ["b.md"])
    assert {change.key for change in ripple.changed} == {"b.md"}


def test_one_declared_origin_is_one_source_until_it_is_another() -> None:
    consensus = Consensus.open()
    told = [fact(f"{number}.md", text, origins=["host:one.org"]) for number, text in enumerate(HONEY)]
    consensus.rebuild(told)
    assert {label(consensus, f"{number}.md") for number in range(4)} == {"NOVEL"}
    consensus.apply([fact("3.md", HONEY[3], origins=["host:two.org"])])
    assert label(consensus, "3.md") == "EXTENDED"
    assert label(consensus, "0.md") == "EXTENDED"


def test_a_core_does_not_corroborate_its_source() -> None:
    consensus = Consensus.open()
    source = fact("source.md", HONEY[0])
    consensus.rebuild([source, fact("core.md", HONEY[1], origins=[origin_of_document(source.oid)])])
    assert label(consensus, "source.md") == label(consensus, "core.md") == "NOVEL"
    assert [group.independent for group in consensus.peers("source.md")] == [False]


def test_a_rename_moves_nothing_but_the_key() -> None:
    consensus = Consensus.open()
    consensus.rebuild(tellings(topics()[:1]))
    before = consensus.label("told/honey-botulism/0.md")
    ripple = consensus.apply([fact("moved.md", HONEY[0])], ["told/honey-botulism/0.md"])
    assert consensus.label("moved.md") == before
    assert ripple.reached == ()
    assert {change.key for change in ripple.changed} == {"moved.md", "told/honey-botulism/0.md"}


def test_applying_what_is_there_moves_nothing() -> None:
    consensus = Consensus.open()
    told = list(tellings(topics()[:1]))
    consensus.rebuild(told)
    assert consensus.apply(told, ["nowhere.md"]) == NO_RIPPLE


def test_asserted_contradiction_is_shown_at_both_ends() -> None:
    consensus = Consensus.open()
    consensus.rebuild([fact("a.md", HONEY[0]), fact("b.md", HONEY[1], disputes=["a.md", "gone.md"])])
    assert [standing.contested for _, standing in consensus.items()] == [True, True]
    ripple = consensus.apply([fact("b.md", HONEY[1])])
    assert [(each.key, each.contested_before, each.contested_after) for each in ripple.changed] == [
        ("a.md", True, False),
        ("b.md", True, False),
    ]
    consensus.apply([fact("c.md", TCP[0], disputes=["later.md"])])
    assert not any(standing.contested for _, standing in consensus.items())
    consensus.apply([fact("later.md", TCP[1])])
    assert {key for key, standing in consensus.items() if standing.contested} == {"c.md", "later.md"}
    standing = consensus.label("later.md")
    assert standing is not None
    assert standing.contested


def test_a_word_that_grows_common_is_named_as_the_cause() -> None:
    consensus = Consensus.open()
    pair = [fact("a.md", "coral " * 4 + words(1, 2)), fact("b.md", "coral " * 4 + interleaved(1, 3))]
    fillers = [fact(f"f{number}.md", f"coral {words(100 + number)}") for number in range(5)]
    consensus.rebuild([*pair, *fillers])
    ripple = consensus.apply([fact("f9.md", f"coral {words(900)}")])
    assert ripple.terms == ("coral",)
    assert {(each.key, each.hop, each.terms) for each in ripple.reached} == {
        ("a.md", 1, ("coral",)),
        ("b.md", 1, ("coral",)),
    }


def test_empty_and_foreign_documents_have_a_label_too() -> None:
    consensus = Consensus.open()
    consensus.rebuild([fact("empty.md", ""), fact("signs.md", "!!! ???"), fact("the.md", "the of and")])
    assert {key: str(standing.label) for key, standing in consensus.items()} == {
        "empty.md": "NOVEL", "signs.md": "NOVEL", "the.md": "NOVEL",
    }  # fmt: skip


def test_the_state_is_kept_and_says_what_it_was_made_from(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "consensus.db"
    root = bytes(range(32))
    consensus = Consensus.open(path)
    assert consensus.ledger_root is None
    consensus.rebuild(tellings(half("tuned")), ledger_root=root)
    consensus.apply([fact("new.md", HONEY[0] + " More.")], ledger_root=root[::-1])
    wanted, items = consensus.fingerprint(), list(consensus.items())
    consensus.close()
    again = Consensus.open(path)
    assert (again.ledger_root, again.fingerprint(), list(again.items())) == (root[::-1], wanted, items)
    again.close()
    other_rules = Consensus.open(path, ConsensusPolicy(corroborated_from=2))
    assert other_rules.ledger_root is None
    assert list(other_rules.items()) == []
    other_rules.close()
    path.unlink()
    fresh = Consensus.open(path)
    fresh.rebuild([*tellings(half("tuned")), fact("new.md", HONEY[0] + " More.")])
    assert fresh.fingerprint() == wanted
    fresh.close()


def test_a_change_at_once_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "consensus.db"
    consensus = Consensus.open(path)
    consensus.rebuild(tellings(topics()[:6]))
    stepwise = consensus.fork()
    extra = list(neighbours(topics()[:6]))
    assert consensus.apply(extra, ["told/honey-botulism/0.md"], at_once=True) == stepwise.apply(
        extra, ["told/honey-botulism/0.md"], at_once=False
    )
    assert consensus.fingerprint() == stepwise.fingerprint()
    consensus.close()
    assert not [each.name for each in tmp_path.iterdir() if not each.name.startswith("consensus.")]


def test_a_fork_leaves_the_original_alone() -> None:
    consensus = Consensus.open()
    consensus.rebuild(tellings(topics()[:1]))
    before = consensus.fingerprint()
    consensus.fork().apply([fact("x.md", HONEY[0] + " x")])
    assert consensus.fingerprint() == before


def test_threads_may_ask_while_one_writes() -> None:
    consensus = Consensus.open()
    consensus.rebuild(tellings(topics()[:4]))
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(30):
                list(consensus.items())
                consensus.peers("told/honey-botulism/1.md")
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(20):
        consensus.apply([fact(f"n{number}.md", HONEY[0] + f" word{number}")])
    for thread in threads:
        thread.join()
    assert not failures


def test_facts_of_one_key_given_twice_count_last() -> None:
    first, second = fact("a.md", HONEY[0]), fact("a.md", TCP[0])
    consensus, wanted = Consensus.open(), Consensus.open()
    consensus.apply([first, second], ["a.md"])
    wanted.rebuild([second])
    assert consensus.fingerprint() == wanted.fingerprint()


@pytest.mark.parametrize("at_once", [True, False])
def test_an_update_that_fails_changes_nothing(at_once: bool, tmp_path: Path) -> None:
    consensus = Consensus.open(tmp_path / "consensus.db")
    consensus.rebuild(tellings(topics()[:2]), ledger_root=b"\1" * 32)
    before = consensus.fingerprint()
    # A count is missing, which is found in the middle of the work.
    broken = DocumentFacts("bad.md", b"\2" * 32, ("botulism", "honey"), (1,), b"\0\7")
    with pytest.raises(ValueError, match=r"zip|shapes"):
        consensus.apply([fact("good.md", HONEY[0] + " x"), broken], at_once=at_once)
    assert (consensus.fingerprint(), consensus.ledger_root) == (before, b"\1" * 32)
    consensus.close()
