"""An `arbor.toml` that this version does not understand in full is told of, whatever is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arbor.graph import policy as ripple
from arbor.graph.rules import RULES
from arbor.kb import open_kb
from arbor.repo.config import SECTIONS
from arbor.search.policy_check import policy_faults
from arbor.search.profiles import WEIGHTS
from tests.hostile_remote.liars import Liar, World, shown
from tests.remote.people import clone_to, make_kb

SOUND = """
[chunking]
target_bytes = 900
min_bytes = 300
[add]
max_file_size = "2G"
[ripple]
lambda = 0.25
max_hops = 2
[ranking]
default = "mine"
[ranking.mine]
relevance = 0.5
freshness = 0.5
[hooks]
dangling-link = "block"
"""


@pytest.mark.parametrize("text", ["", SOUND, "[ripple]\n[search]\n[vocabulary]\n"])
def test_a_sound_policy_has_no_fault(text: str) -> None:
    assert policy_faults(text.encode()) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[hooks]\npre_commit = "touch /tmp/x"\n', "unknown rule 'pre_commit'"),
        ("[hooks]\ndangling-link = [1]\n", "dangling-link"),
        ("[vocabulary]\nx = [[[[1]]]]\n", "[vocabulary] has an unknown key 'x'"),
        ('[search]\nencoder = "os.system"\n', "[search] has an unknown key 'encoder'"),
        ("[ripple]\nthreshold = 0\n", "[ripple] has an unknown key 'threshold'"),
        ('[ripple]\nlambda = "x"\n', "lambda"),
        ('[ripple]\nlambda = "0.3"\n', "lambda is a text, '0.3' (write it without quotes)"),
        ("[ripple]\nlambda = 7\n", "lambda from 1 to 999"),
        ('[ranking]\nprofile = "../../x"\n', "ranking.profile"),
        ('[ranking]\ndefault = "none"\n', "no ranking profile 'none'"),
        ("[ranking.a]\nrelevance = 0.2\n", "sum to 0.2"),
        ("[chunking]\ntarget_bytes = -5\n", "chunk policy needs"),
        ('[chunking]\ncap_bytes = "1"\n', "whole number"),
        ('[add]\nmax_file_size = "1e400"\n', "not a size"),
        ("[add]\nmax_file_size = nan\n", "not a size"),
        ('[remote.origin]\nurl = "x"\n', "unknown section 'remote'"),
        ("add = 3\n", "unknown section 'add'"),
        ("not toml [", "cannot be read"),
        ("a = " + "[" * 5000, "cannot be read"),
        ("#" + "x" * (1 << 20), "larger than"),
    ],
)
def test_a_fault_is_named(text: str, words: str) -> None:
    [fault] = policy_faults(text.encode())
    assert words in fault
    assert fault.startswith("arbor.toml")


def test_faults_are_few_and_printable() -> None:
    text = "\n".join(f'["s\\u001b{number}"]\nx = 1' for number in range(40))
    faults = policy_faults(text.encode())
    assert len(faults) == 9
    assert all(fault.isprintable() for fault in faults)
    assert "and 32 more" in faults[-1]
    assert len(policy_faults(b"[search]\n" + b"x" * 100_000 + b" = 1\n")[0]) <= 300


def test_a_clone_is_told_once(tmp_path: Path) -> None:
    world = World()
    entries = {"d/a.md": world.document(), "d/arbor.toml": world.document("not toml [\n")}
    tip, _ = world.commit(world.ledger(entries))
    result = clone_to(Liar(shown(tip), world.frames()), tmp_path / "b")
    assert [text for text in result.warnings if "arbor.toml cannot be read" in text]
    make_kb(tmp_path / "c", {"arbor.toml": SOUND})
    assert clone_to(tmp_path / "c", tmp_path / "d").warnings == ()


def test_the_commit_that_brings_it_says_so(tmp_path: Path) -> None:
    make_kb(tmp_path / "a").close()
    (tmp_path / "a/arbor.toml").write_text("[ripple]\nthreshold = 0\n")
    with open_kb(tmp_path / "a") as kb:
        kb.add()
        assert [text for text in kb.commit("policy").warnings if "threshold" in text]
        (tmp_path / "a/b.md").write_text("b\n")
        kb.add()
        assert kb.commit("other").warnings == ()


def test_every_section_and_key_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/guides/policy.md").read_text("utf-8")
    named = set(re.findall(r"`\[?([\w-]+)\]?`", page))
    keys = {"target_bytes", "cap_bytes", "min_bytes", "max_file_size", "default", "half_life_days"}
    assert {*SECTIONS, *ripple.KEYS, *RULES, *WEIGHTS, *keys} <= named
