"""Cores in merges and reverts: no text is lost without a word, and nobody is asked about what a distiller makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arbor.errors import ConflictError, UsageError
from arbor.kb import KnowledgeBase
from arbor.repo.desk import TrustDesk
from arbor.repo.merge.merging import MergeResult
from tests.repo.kit import new_kb, record

Act = Callable[[KnowledgeBase], object]
NOTE = "".join(f"Sentence {number} of the note is here.\n\n" for number in range(8))


def say(text: str, name: str = "digest", by: str = "") -> Act:
    return lambda kb: TrustDesk(kb.repo).add_core(name, f"{text}\n", [("a.md", None, None)], by=by)


def remove(kb: KnowledgeBase) -> None:
    TrustDesk(kb.repo).remove_core("digest")


def both(*acts: Act) -> Act:
    def act(kb: KnowledgeBase) -> None:
        for each in acts:
            each(kb)

    return act


def edit(old: str, new: str) -> Act:
    def act(kb: KnowledgeBase) -> None:
        assert kb.fs_root is not None
        path = kb.fs_root / "a.md"
        path.write_text(path.read_text().replace(old, new))
        kb.add(["a.md"])

    return act


def distill(**parameters: str) -> Act:
    return lambda kb: TrustDesk(kb.repo).distill(["a.md"], "first-sentence", parameters)


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    made = new_kb(tmp_path, {"a.md": NOTE})
    say("as it was")(made)
    made.commit("a core", index=False)
    return made


def two_sides(kb: KnowledgeBase, here: Act, there: Act) -> MergeResult:
    kb.branches.switch("side", create=True)
    there(kb)
    kb.commit("there", index=False)
    kb.branches.switch("main")
    here(kb)
    kb.commit("here", index=False)
    return kb.branches.merge("side")


def text_of(kb: KnowledgeBase, name: str = "digest") -> str:
    return TrustDesk(kb.repo).core(name).text.strip()


@pytest.mark.parametrize("taken", ["HEAD", "side", "written again", "removed"])
def test_two_edits_of_one_core_are_a_conflict(kb: KnowledgeBase, taken: str) -> None:
    result = two_sides(kb, say("ours"), say("theirs"))
    assert (result.kind, result.conflicts, result.reasons) == (
        "conflict", ("core:digest",), ("both changed it",),
    )  # fmt: skip
    assert text_of(kb) == "ours"
    assert [(c.status, c.path) for c in kb.status().unstaged] == [("U", "core:digest")]
    with pytest.raises(ConflictError, match="core:digest") as refused:
        kb.commit("too early")
    assert "arbor core restore" in refused.value.hint
    if taken == "written again":
        say("both")(kb)
    elif taken == "removed":
        remove(kb)
    else:
        TrustDesk(kb.repo).restore_core("digest", taken)
    assert kb.repo.stage().conflicts == ()
    kb.commit()
    assert len(kb.repo.commit(kb.resolve()).parents) == 2
    expected = {"HEAD": "ours", "side": "theirs", "written again": "both", "removed": ""}[taken]
    assert (text_of(kb) if expected else "") == expected
    assert bool(TrustDesk(kb.repo).cores()) == bool(expected)
    assert kb.status().clean


def test_a_merge_with_a_core_in_conflict_can_be_left(kb: KnowledgeBase) -> None:
    assert kb.fs_root is not None
    (kb.fs_root / "core:digest").write_text("a file of that name\n")
    two_sides(
        kb, both(say("ours"), edit("Sentence 1", "Ours 1")), both(say("theirs"), edit("Sentence 6", "T 6"))
    )
    kb.branches.abort_merge()
    assert text_of(kb) == "ours"
    assert (kb.fs_root / "core:digest").read_text() == "a file of that name\n"
    state = kb.status()
    assert (state.staged, state.unstaged, state.untracked) == ((), (), ("core:digest",))


@pytest.mark.parametrize("mirrored", [False, True])
def test_deleted_on_one_side_and_edited_on_the_other_is_a_conflict(kb: KnowledgeBase, mirrored: bool) -> None:
    result = two_sides(kb, remove, say("new")) if not mirrored else two_sides(kb, say("new"), remove)
    assert result.conflicts == ("core:digest",)
    assert result.reasons == (
        "changed here, deleted there" if mirrored else "deleted here, changed there",
    )  # fmt: skip
    assert text_of(kb) == "new"
    remove(kb)
    kb.commit()
    assert TrustDesk(kb.repo).cores() == []


def test_added_on_both_sides_is_a_conflict(kb: KnowledgeBase) -> None:
    result = two_sides(kb, say("ours", "other"), say("theirs", "other"))
    assert (result.conflicts, result.reasons) == (("core:other",), ("added on both sides",))


def test_one_text_from_both_sides_is_no_conflict(kb: KnowledgeBase) -> None:
    assert two_sides(kb, say("same", by="Ada"), say("same", by="Grace")).kind == "merged"
    assert text_of(kb) == "same"


def test_edits_of_two_cores_are_joined(kb: KnowledgeBase) -> None:
    assert two_sides(kb, say("ours"), say("theirs", "other")).changed == ("core:other",)
    assert (text_of(kb), text_of(kb, "other")) == ("ours", "theirs")


def test_a_revert_of_an_edit_that_was_edited_since_is_a_conflict(kb: KnowledgeBase) -> None:
    say("wrong")(kb)
    wrong = kb.commit("wrong", index=False).commit
    say("better")(kb)
    kb.commit("better", index=False)
    result = kb.branches.revert(wrong)
    assert (result.kind, result.conflicts) == ("conflict", ("core:digest",))
    TrustDesk(kb.repo).restore_core("digest", f"{wrong}~1")
    kb.commit()
    assert text_of(kb) == "as it was"
    assert kb.branches.revert("HEAD").changed == ("core:digest",)
    assert text_of(kb) == "better"
    with pytest.raises(UsageError, match="no core 'digest'"):
        TrustDesk(kb.repo).restore_core("digest", "HEAD~5")


@pytest.mark.parametrize("mirrored", [False, True])
def test_of_two_distilled_cores_the_one_that_fits_the_merged_sources_is_taken(
    kb: KnowledgeBase, mirrored: bool
) -> None:
    record(kb, {"b.md": "b\n"})
    distill()(kb)
    kb.commit("distilled", index=False)
    old = both(edit("Sentence 0", "Zero"), distill())
    new = both(edit("Sentence 0", "Zero"), distill(), edit("Zero", "Nought"), distill())
    # Both sides' documents are the same but for what the newer side changed after, so its document is the merged one.
    kb.branches.switch("common", create=True)
    old(kb)
    kb.commit("both have this", index=False)
    kb.branches.switch("main")
    kb.branches.merge("common")
    result = two_sides(kb, *((both(new), say("x")) if mirrored else (say("x"), both(new))))
    assert (result.kind, result.stale) == ("merged", ())
    assert text_of(kb, "first-sentence/a.md").startswith("Nought")
    assert TrustDesk(kb.repo).check_cores(["first-sentence/a.md"])[0].state == "current"


@pytest.mark.parametrize("seed", ["x", "y"])
def test_distilled_anew_on_both_sides_from_what_neither_has_now_is_stale_and_said(
    kb: KnowledgeBase, seed: str
) -> None:
    distill()(kb)
    kb.commit("distilled", index=False)
    here = both(edit("Sentence 0", f"Zero {seed}"), distill())
    there = both(
        edit("Sentence 7", "Seven"), edit("Sentence 0", f"Zero {seed}"), distill(), edit("Seven", "7")
    )
    result = two_sides(kb, both(here, edit("Sentence 3", "Three")), there)
    assert (result.kind, result.conflicts) == ("merged", ())
    assert result.stale == ("core:first-sentence/a.md",)
    assert TrustDesk(kb.repo).check_cores(["first-sentence/a.md"])[0].state == "stale"
    one = kb.repo.head_root()
    kb.branches.switch("side")
    kb.branches.merge("main~1")
    assert kb.repo.head_root() == one
    distill()(kb)
    kb.commit("again", index=False)
    assert TrustDesk(kb.repo).check_cores(["first-sentence/a.md"])[0].state == "current"


def test_distilled_in_two_ways_is_a_conflict(kb: KnowledgeBase) -> None:
    both_ways = two_sides(
        kb,
        lambda kb: TrustDesk(kb.repo).distill(["a.md"], "keywords", {"count": "1"}),
        lambda kb: TrustDesk(kb.repo).distill(["a.md"], "keywords", {"count": "2"}),
    )
    assert both_ways.conflicts == ("core:keywords/a.md",)
    TrustDesk(kb.repo).distill(["a.md"], "keywords", {"count": "1"})
    assert kb.repo.stage().conflicts == ()
