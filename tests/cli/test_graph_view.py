"""Lanes: every commit is on the lane that its children led to, and every lane ends in its commit."""

from __future__ import annotations

import random

import pytest

from arbor.cli.showing.graph_view import Lanes
from tests.cli.harness import Cli


def draw(history: list[tuple[str, list[str]]], *, ascii_only: bool = False) -> list[str]:
    lanes = Lanes(ascii_only=ascii_only)
    rows = []
    for oid, parents in history:
        first, _, joins = lanes.take(oid, parents)
        rows += [f"{first}{oid}", *(join.rstrip() for join in joins)]
    return rows


def test_a_line() -> None:
    assert draw([("c", ["b"]), ("b", ["a"]), ("a", [])]) == ["● c", "● b", "● a"]


def test_a_branch_and_its_merge() -> None:
    history = [("m", ["b", "i"]), ("b", ["a"]), ("i", ["a"]), ("a", [])]
    assert draw(history) == ["● m", "├─╮", "● │ b", "│ ● i", "├─╯", "● a"]
    assert draw(history, ascii_only=True) == ["* m", "|-\\", "* | b", "| * i", "|-/", "* a"]


def test_two_tips_and_a_crossing() -> None:
    history = [("x", ["a"]), ("y", ["b"]), ("m", ["b", "a"]), ("b", ["a"]), ("a", [])]
    assert draw(history) == ["● x", "│ ● y", "│ │ ● m", "├─┼─┤", "│ ├─╯", "│ ● b", "├─╯", "● a"]


def test_an_octopus_and_a_root_on_the_way() -> None:
    history = [("m", ["a", "b", "c"]), ("c", []), ("b", ["a"]), ("a", [])]
    assert draw(history) == ["● m", "├─╮", "├─┼─╮", "│ │ ● c", "│ ● b", "├─╯", "● a"]


@pytest.mark.parametrize("seed", range(30))
def test_every_lane_leads_to_its_commit(seed: int) -> None:
    rng = random.Random(seed)
    count = 40
    history = [
        (
            str(number),
            [
                str(parent)
                for parent in sorted(
                    rng.sample(range(number), min(number, rng.choice([1, 1, 1, 2, 3]))), reverse=True
                )
            ],
        )
        for number in range(count)
    ][::-1]
    lanes = Lanes(ascii_only=False)
    seen: set[str] = set()
    for oid, parents in history:
        expected = {parent for child, its in history if child in seen for parent in its} - seen
        assert {lane for lane in lanes._lanes if lane} == expected
        first, rest, joins = lanes.take(oid, parents)
        seen.add(oid)
        assert first.count("●") == 1
        assert len(first) == len(rest)
        assert all(len(join) % 2 == 0 for join in joins)
    assert lanes._lanes == []


def test_log_draws_what_it_lists(kb: Cli) -> None:
    kb("switch", "-c", "idea")
    kb.write("idea.md", "# Idea\n")
    kb.commit("an idea")
    kb("switch", "main")
    kb.write("main.md", "# Main\n")
    kb.commit("more")
    kb("merge", "idea")
    marks = [line.split(" (")[0].split(" ")[0] for line in kb("log", "--oneline", "--graph").out.splitlines()]
    assert marks == ["●", "├─╮", "●", "│", "├─╯", "●"]
    full = kb("log", "--graph").out
    assert full.startswith("● commit ")
    assert "│ ● commit " in full
    assert "│ │     more" not in full.splitlines()[-1]
    assert kb("log", "--graph", "--oneline", "HEAD~1..HEAD").out.count("●") == 2
    assert kb("log", "--graph", "--", "idea.md", code=2).err.startswith(
        "error: --graph draws whole histories"
    )
