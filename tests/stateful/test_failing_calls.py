"""Each call of the system fails once, or Ctrl-C comes there: nothing is lost, nothing left open, the next try works."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import arbor
from arbor.errors import ArborError
from arbor.remote.refspecs import PushRequest
from arbor.store.files import TEMPORARY_PREFIX
from tests.stateful.test_cut_off import fetched, merging
from tests.stateful.test_power_loss import (
    Step,
    bundle,
    commit,
    diverged,
    drifted,
    edited,
    facts,
    go_on,
    is_whole,
    opened,
    record,
    two_branches,
    two_commits,
    two_kbs,
    within,
)

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Failing:
    """Lets the n-th call that changes what is on the disk fail, if there are so many, or Ctrl-C come in its place."""

    def __init__(self, patch: pytest.MonkeyPatch, top: Path, at: int, error: int | None) -> None:
        self.calls, self.name, self._at, self._top, self._error = 0, "", at, str(top), error
        for name in ("fsync", "replace", "unlink", "mkdir", "rmdir", "truncate", "open"):
            patch.setattr(os, name, self._failing(getattr(os, name)))
        if os.name == "posix":
            import fcntl

            patch.setattr(fcntl, "flock", self._failing(fcntl.flock))

    def _failing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **how: Any) -> Any:
            if real.__name__ == "open" and not (
                args[1] & WRITING and os.fspath(args[0]).startswith(self._top)
            ):
                return real(*args, **how)
            self.calls += 1
            if self.calls == self._at:
                self.name = real.__name__
                if self._error is None:
                    raise KeyboardInterrupt
                raise OSError(
                    self._error, os.strerror(self._error), args[0] if isinstance(args[0], str) else None
                )
            return real(*args, **how)

        return call


def clone(top: Path) -> None:
    arbor.clone(top / "bare", top / "clone", index=False).close()


def push(top: Path) -> None:
    within(lambda kb: kb.sharing.push(str(top / "bare"), PushRequest(("main",))))(top)


def ahead(top: Path) -> None:
    two_kbs(top)
    within(lambda kb: kb.add_bytes("p/q.md", b"# Q\n"))(top)
    commit()(top)


def left_behind(top: Path) -> None:
    two_commits(top)
    commit(amend=True)(top)


WORK: dict[str, tuple[Step, Step]] = {
    "switch": (two_branches, within(lambda kb: kb.branches.switch("side"))),
    "push": (ahead, push),
    "clone": (two_kbs, clone),
    "gc": (left_behind, within(lambda kb: kb.trust.gc(grace_s=0))),
    "settings": (two_commits, within(lambda kb: kb.config_set("user.name", "Bob"))),
    "mv": (edited, within(lambda kb: kb.mv(["a.md"], "d"))),
    "rm": (edited, within(lambda kb: kb.rm(["d", "a.md"], recursive=True, force=True))),
    "merge --abort": (merging, within(lambda kb: kb.branches.abort_merge())),
    "fetch": (diverged, within(lambda kb: kb.sharing.fetch("origin"))),
    "rehydrate --update": (drifted, within(lambda kb: kb.trust.rehydrate(update=True))),
    "evict": (two_commits, within(lambda kb: kb.trust.evict(["d/b.md"], force=True))),
    "distill": (two_commits, within(lambda kb: kb.trust.distill(["d/b.md"], "lead"))),
    "branch -m": (two_branches, within(lambda kb: kb.branches.rename("side", "side/x"))),
    "remote rename": (fetched, within(lambda kb: kb.sharing.rename_remote("origin", "other"))),
    "bundle": (two_commits, bundle),
}
TROUBLES = {"disk": errno.EIO, "rights": errno.EACCES, "Ctrl-C": None}
DONE = (
    "is not tracked",
    "matches no document",
    "no merge in progress",
    "there is no branch",
    "there is no remote",
)
"""What is said of a command that was done but for its last call."""


def looked_at(top: Path) -> dict[str, Any]:
    """Names, files and settings of every KB; what is kept of moves and packs may differ between tries."""
    found = {}
    for place in filter(is_whole, sorted(top.iterdir())):
        with opened(place) as kb:
            report = kb.verify()
            assert report.ok, report
            known = facts(kb)
        names = [name for name in known if not name.startswith(("moves", "records", "packs"))]
        found[place.name] = {name: known[name] for name in names}
    return found


def left_open() -> list[str]:
    """The files that this process has open, and the processes that it has begun."""
    if sys.version_info >= (3, 12):
        gc.collect()  # the frame of a block that `contextlib` ended keeps its error, and so what was open, until then
    own = Path("/proc/self")
    if not (own / "fd").is_dir():
        return []
    children = (own / f"task/{os.getpid()}/children").read_text("ascii").split()
    handles = (own / "fd" / name for name in os.listdir(own / "fd"))
    return sorted(str(os.readlink(handle)) for handle in handles if os.path.lexists(handle)) + children


def unfinished(top: Path) -> list[Path]:
    """What writers leave but remove when they fail; those of packs go with the next writer, whoever that is."""
    found = (path for path in top.rglob(f"{TEMPORARY_PREFIX}*") if path.parent.name != "packs")
    return sorted(path for path in found)


def fails_at(step: Step, top: Path, at: int, error: int | None) -> tuple[str, str | None]:
    """(name of the call that failed, "" for none; what the step said, None where it said nothing)."""
    with pytest.MonkeyPatch.context() as patch:
        failing = Failing(patch, top, at, error)
        try:
            step(top)
        except ArborError as said:
            return failing.name, said.message
        except KeyboardInterrupt:
            return failing.name, "interrupted"
        return failing.name, None


def again(step: Step, top: Path) -> None:
    try:
        step(top)
    except ArborError as error:
        if not any(said in error.message for said in DONE):
            raise


@pytest.mark.parametrize(
    ("work", "trouble"),
    # To the code one error of the system is nearly as good as another.
    [
        (work, trouble)
        for work in WORK
        for trouble in TROUBLES
        if trouble != "rights" or work in ("mv", "clone")
    ],
)
def test_each_call_fails_once(tmp_path: Path, work: str, trouble: str) -> None:
    (prepare, step), whole, top = WORK[work], tmp_path / "whole", tmp_path / "top"
    top.mkdir()
    prepare(top)
    shutil.copytree(top, whole)
    step(top)
    wanted, error = looked_at(top), TROUBLES[trouble]
    says = "interrupted" if error is None else os.strerror(error).lower()
    each = (3 if work == "clone" else 1) * (1 if trouble == "disk" else 3)  # a clone has many
    for at in count(1, each):
        shutil.rmtree(top)
        shutil.copytree(whole, top)
        before = left_open()
        name, said = fails_at(step, top, at, error)
        assert left_open() == before, name
        found = looked_at(top)
        if said is None:
            assert found == wanted, name
        else:
            assert says in said, name
            assert not unfinished(top), name
            if not ("clone" in found and work == "clone"):
                again(step, top)
            assert looked_at(top) == wanted, name
        if not name:
            assert at > 3
            with opened(top / "kb") as kb:
                go_on(kb)
            return


def merging_sides(top: Path) -> None:
    """Two branches that merge without a conflict."""
    two_commits(top)
    with opened(top / "kb") as kb:
        kb.branches.switch("side", create=True)
        record(kb, {"s/new.md": "# New\n"}, "side")
        kb.branches.switch("main")
        record(kb, {"m/new.md": "# Of main\n"}, "third")


@pytest.mark.slow
def test_what_a_merge_that_fails_leaves_behind_is_told_with_how_it_ends(tmp_path: Path) -> None:
    step, whole, top = within(lambda kb: kb.branches.merge("side")), tmp_path / "whole", tmp_path / "top"
    whole.mkdir()
    merging_sides(whole)
    told = set()
    for at in count(1):
        shutil.rmtree(top, ignore_errors=True)
        shutil.copytree(whole, top)
        with pytest.MonkeyPatch.context() as patch:
            failing, hint, said = Failing(patch, top, at, errno.ENOSPC), None, ""
            try:
                step(top)
            except ArborError as error:
                hint, said = error.hint, error.message
        if not failing.name:
            break
        assert "('" not in said  # words, and not what Python shows of them
        with opened(top / "kb") as kb:
            left = kb.status().interrupted or kb.repo.stage().in_progress
            if hint is not None:
                assert bool(left) == ("arbor merge --abort" in hint), (at, failing.name, hint)
            if left and hint is not None:
                told.add("staged" if kb.repo.stage().in_progress else "moved")
                assert "the merge is staged" in hint or "some files may be moved" in hint
                kb.branches.abort_merge()
                assert kb.status().clean
    assert told == {"staged"}
