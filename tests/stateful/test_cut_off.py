"""What the power cut off is done by the same command, given again, and ends as it would have ended."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from arbor.errors import ArborError
from tests.repo.kit import write
from tests.stateful.losing_power import plant
from tests.stateful.test_power_loss import (
    LONG,
    Facts,
    Step,
    conflict,
    edited,
    look,
    moved_and_cold,
    noted,
    sync_at_once,
    two_branches,
    two_commits,
    two_kbs,
    within,
    work_on,
)


def merging(top: Path) -> None:
    two_branches(top)
    within(conflict)(top)


def reverting(top: Path) -> None:
    two_commits(top)
    within(lambda kb: kb.branches.revert("HEAD", commit=False))(top)


def fetched(top: Path) -> None:
    two_kbs(top)
    within(lambda kb: kb.sharing.fetch("origin"))(top)


def over_edits(top: Path) -> None:
    two_branches(top)
    write(top / "kb", {"a.md": "edited", "d/b.md": LONG})


WORK: dict[str, tuple[Step, Step]] = {
    "merge --abort": (merging, within(lambda kb: kb.branches.abort_merge())),
    "revert --abort": (reverting, within(lambda kb: kb.branches.abort_revert())),
    "restore": (edited, within(lambda kb: kb.restore([""]))),
    "rm": (edited, within(lambda kb: kb.rm(["d", "a.md"], recursive=True, force=True))),
    "switch of what is cold": (moved_and_cold, within(lambda kb: kb.branches.switch("side"))),
    "switch --force": (over_edits, within(lambda kb: kb.branches.switch("side", force=True))),
    "branch -m": (two_branches, within(lambda kb: kb.branches.rename("side", "side/x"))),
    "branch -M": (two_branches, within(lambda kb: kb.branches.rename("main", "side", force=True))),
    "remote rename": (fetched, within(lambda kb: kb.sharing.rename_remote("origin", "other"))),
    "remote rm": (fetched, within(lambda kb: kb.sharing.remove_remote("origin"))),
}


def lasting(found: Facts) -> Facts:
    """What is the same however often a command was tried."""
    names = ("moves", "records", "packs")
    return {key: value for key, value in found.items() if key[0] == "kb" and not key[1].startswith(names)}


@pytest.mark.parametrize("work", WORK)
def test_the_same_command_finishes_what_the_power_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    sync_at_once(monkeypatch)
    top, (prepare, step) = tmp_path / "disk", WORK[work]
    disk, seen = work_on(top, prepare, step)
    for (tree, name), done in disk.states.items():
        if name != "kb" or done:
            continue
        shutil.rmtree(top)
        plant(tree, top)
        said = ""
        try:
            step(top)
        except ArborError as error:  # what was done is refused
            said = error.message
        with noted(disk, (tree, name)):
            assert lasting(look(top)) == lasting(seen[1]), said
