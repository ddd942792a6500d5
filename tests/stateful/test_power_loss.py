"""Whenever the power goes: what somebody was told is done is there, and what was being done is done or is not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import arbor
from arbor.kb import KnowledgeBase, open_kb
from arbor.remote.cloning import CloneOptions
from arbor.repo.git.git_hooks import install_hooks, uninstall_hooks
from arbor.repo.places import is_kb_folder
from arbor.repo.staging.adding import Item, add_items
from arbor.repo.tiers import read_tiers
from arbor.repo.work_tree import checkout, restoring
from arbor.repo.work_tree.moving import undo_move
from arbor.store import files, syncing
from arbor.store.files import TEMPORARY_PREFIX
from tests.repo.kit import files_in, new_kb, record, write
from tests.stateful.losing_power import Disk, Tree, plant

LONG = "word " * 300
KB_NAMES = ("bare", "clone", "kb")

Step = Callable[[Path], object]
Facts = dict[tuple[str, str], Any]
"""What a person would miss, by the name of the KB and of the fact; of what is no KB, its bytes."""


def opened(folder: Path) -> KnowledgeBase:
    kb = open_kb(folder, user_config=folder.parent / "settings" / "config.toml")
    kb.repo.identity = ("Ada Lovelace", "ada@example.org")
    return kb


def within(work: Callable[[KnowledgeBase], object], name: str = "kb") -> Step:
    """A step in a KB that is opened for it."""

    def step(top: Path) -> None:
        kb = opened(top / name)
        try:
            work(kb)
        finally:
            kb.close()

    return step


def facts(kb: KnowledgeBase) -> dict[str, Any]:
    """What a person would miss of a KB, when what was interrupted is undone."""
    repo, folder = kb.repo, kb.folder if kb.fs_root is None else kb.fs_root
    with repo.lock():
        undo_move(repo)
    stage, tiers, config = repo.stage(), read_tiers(repo.folder), repo.folder / "config.toml"
    shown = {path: data for path, data in files_in(folder).items() if TEMPORARY_PREFIX not in path}
    found: dict[str, Any] = {"HEAD": repo.refs.head(), "files": shown if repo.fs_root else {}}
    for name in repo.refs.iter_names():
        found |= {name: repo.refs.read(name), f"moves of {name}": len(repo.refs.reflog(name))}
    found |= {"stage": (dict(stage.changes), stage.conflicts, stage.merge_parents)}
    found |= {"warm": tiers.warm, "cold": tiers.cold, "settings": config.exists() and config.read_bytes()}
    found["packs"] = sorted(pack.name for pack in repo.store.packs())
    return found | {"records": sum(1 for _ in kb.trust.records()), "moves": len(repo.refs.reflog("HEAD"))}


def look(top: Path, then: Callable[[KnowledgeBase], object] = lambda kb: None) -> Facts:
    """The facts of every KB in a folder, and what is beside them."""
    found: Facts = {}
    for place in sorted(top.iterdir()):
        if is_whole(place):
            with opened(place) as kb:
                found |= {(place.name, name): value for name, value in facts(kb).items()}
                then(kb)
        elif place.name not in KB_NAMES and not place.name.startswith(TEMPORARY_PREFIX):
            beside = files_in(place) if place.is_dir() else {"": place.read_bytes()}
            found[place.name, ""] = {
                path: data for path, data in beside.items() if ".lock" not in path
            } or None
    return found


def is_whole(place: Path) -> bool:
    return is_kb_folder(place) or is_kb_folder(place / ".arbor")


def go_on(kb: KnowledgeBase) -> None:
    """Everything verifies, and one goes on to work."""
    report = kb.verify()
    assert report.ok, report
    assert not kb.trust.check_journal().faults
    if kb.fs_root is not None and not kb.repo.stage().conflicts:
        kb.add_bytes("next.md", b"# Next\n")
        kb.commit("next", index=False)
        assert not kb.status().staged


def fits(name: str, old: Any, new: Any, found: Any) -> bool:
    """Whether a fact is as it was before a step or after it."""
    if name in ("records", "moves") and found is not None:  # what is noted before an act may be ahead of it
        return bool((old or 0) <= found <= new)
    if name.startswith("moves of") and old != new:  # a log goes along before its name does
        return True
    if name == "packs" and old != new:
        return True
    if name == "files" and found is not None:
        moved = {*(old or {}).values()} & {*new.values()}
        return moved <= {*found.values()} and all(
            fits_file((old or {}).get(path), new.get(path), found.get(path))
            for path in {*(old or ()), *new, *found}
        )
    return found in (old, new)


def fits_file(old: bytes | None, new: bytes | None, found: bytes | None) -> bool:
    """A file as it was or will be; one that is new may be torn until somebody is told of it."""
    is_half = old is None and new is not None and found is not None and syncing.is_torn(found, new)
    return found in (old, new) or is_half


def check(top: Path, before: Facts, after: Facts) -> None:
    """A state holds what was there before a step or after it, is sound, and one goes on to work there."""
    found, (name,) = look(top, go_on), [path.name for path in top.iterdir()]
    for key in {key for key in (*before, *after) if key[0] == name} | found.keys():
        if (
            name not in KB_NAMES and key not in before
        ):  # it was being made: what counts is that it is there afterwards
            continue
        if key in found or key in before or is_whole(top / name):
            assert fits(key[1], before.get(key), after.get(key), found.get(key)), key


def work_on(top: Path, prepare: Step, *steps: Step) -> tuple[Disk, list[Facts]]:
    """A disk on which steps were done, and the facts before the first of them and after each."""
    top.mkdir()
    prepare(top)
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(top, patch)
        seen = [disk.aside(lambda: look(top))]
        for step in steps:
            disk.step(lambda step=step: step(top))  # type: ignore[misc]
            seen.append(disk.aside(lambda: look(top)))
    assert len(disk.states) > len(steps)
    return disk, seen


def play(tmp_path: Path, prepare: Step, *steps: Step) -> None:
    """Lose power at every moment of the steps, in each of the worst ways, and look at what is left."""
    disk, seen = work_on(tmp_path / "disk", prepare, *steps)
    state = tmp_path / "state"
    for (tree, name), done in disk.states.items():
        plant(tree, state)
        told = disk.told.get((tree, name))
        before, after = (done, min(done + 1, len(steps))) if told is None else (told, told)
        with noted(disk, (tree, name)):
            check(state, seen[before], seen[after])
        shutil.rmtree(state)
    for gone, done in disk.absent.items():
        assert not any(key[0] == gone for key in seen[done]), f"{gone} is not there"


@contextmanager
def noted(disk: Disk, state: tuple[Tree, str]) -> Iterator[None]:
    """Where a state fails, it is told how it came about."""
    try:
        yield
    except AssertionError as error:
        error.add_note(f"after {disk.because[state]}")
        raise


# --- what is done


def notes(top: Path) -> None:
    write(top / "kb", {"a.md": "# A\n", "d/b.md": "# B\n"})


def two_commits(top: Path) -> None:
    with new_kb(top / "kb", {"a.md": "# A\n", "d/b.md": f"# B\n\n{LONG}\n"}) as kb:
        record(kb, {"a.md": "# A\n\nsecond\n", "n.md": "# N\n"}, "second")


def two_branches(top: Path) -> None:
    two_commits(top)
    with opened(top / "kb") as kb:
        kb.branches.switch("side", create=True)
        record(kb, {"a.md": "# A\n\nside\n", "d/b.md": f"# B side\n\n{LONG}\n", "s/e.md": "# S\n"}, "side")
        kb.branches.switch("main")
        record(kb, {"d/b.md": "# B main\n"}, "third")


def two_kbs(top: Path) -> None:
    two_commits(top)
    arbor.init(top / "bare", bare=True).close()
    with opened(top / "kb") as kb:
        kb.sharing.add_remote("origin", str(top / "bare"))
        kb.sharing.push("origin", set_upstream=True)


def cold(top: Path) -> None:
    two_kbs(top)
    within(lambda kb: kb.trust.evict(["d/b.md"], places=[top / "bare"]))(top)


def make(top: Path) -> None:
    arbor.init(top / "kb").close()


def commit(**how: Any) -> Step:
    return within(lambda kb: kb.commit(LONG, index=False, **how))


def evict(top: Path) -> None:
    write(top / "archive", {"b.md": (top / "kb/d/b.md").read_bytes()})  # not durable yet
    within(lambda kb: kb.trust.evict(["d/b.md"], places=[top / "archive"]))(top)


def conflict(kb: KnowledgeBase) -> None:
    assert kb.branches.merge("side").conflicts


def moved_and_cold(top: Path) -> None:
    two_commits(top)
    with opened(top / "kb") as kb:
        kb.branches.switch("side", create=True)
        kb.mv(["d"], "e")
        kb.commit("moved", index=False)
        kb.branches.switch("main")
    evict(top)


def rehydrate(top: Path) -> None:
    within(lambda kb: kb.trust.rehydrate(places=[top / "archive"]))(top)


def edited(top: Path) -> None:
    two_commits(top)
    write(top / "kb", {"a.md": "# A\n\nnot added\n", "d/b.md": f"# B edited\n\n{LONG}\n"})


def resolve(kb: KnowledgeBase) -> None:
    assert kb.fs_root is not None
    files.write_atomically(kb.fs_root / "d/b.md", b"# B resolved\n")
    kb.add(["d/b.md"])


def diverged(top: Path) -> None:
    two_kbs(top)
    arbor.clone(top / "bare", top / "clone", index=False).close()
    with opened(top / "clone") as kb:
        record(kb, {"a.md": "# A\n\nthird\n", "x/y.md": LONG}, "third")
        kb.sharing.push("origin")
    shutil.rmtree(top / "clone")
    with opened(top / "kb") as kb:
        record(kb, {"own.md": "# own\n"}, "own")


def drifted(top: Path) -> None:
    two_commits(top)
    write(top / "from", {"s.md": "# S\n\none\n"})
    with opened(top / "kb") as kb:
        kb.add_bytes("s.md", b"# S\n\none\n", source_uri=(top / "from/s.md").as_uri())
        kb.commit("from elsewhere", index=False)
        kb.trust.evict(["s.md"], force=True)
    (top / "kb/s.md").unlink()
    write(top / "from", {"s.md": "# S\n\ntwo\n"})


def bring_in(kb: KnowledgeBase) -> None:
    add_items(kb.repo, [Item(f"in/{name}.md", name.encode(), f"x:{name}") for name in "ab"])


def in_git(top: Path) -> None:
    write(top / "kb", {".git/HEAD": "ref: refs/heads/main\n", ".git/hooks/pre-commit": "#!/bin/sh\n"})
    write(top / "kb", {".git/objects/info/x": "", ".git/refs/heads/x": ""})
    two_commits(top)


bundle = within(lambda kb: kb.sharing.create_bundle(kb.folder.parents[1] / "all.bundle"))

WORK: dict[str, tuple[Step, ...]] = {
    "a new knowledge base": (notes, make, within(lambda kb: kb.add()), commit()),
    "changes": (
        two_commits,
        within(lambda kb: kb.add_bytes("put/here.md", LONG.encode())),
        commit(),
        within(lambda kb: kb.restore(["a.md"], source="HEAD~1")),
        within(lambda kb: kb.mv(["d"], "moved")),
        within(lambda kb: kb.branches.reset()),
        within(lambda kb: kb.restore([""])),
        commit(allow_empty=True),
    ),
    "branches": (
        two_branches,
        within(lambda kb: kb.branches.switch("side")),
        commit(allow_empty=True),
        within(lambda kb: kb.branches.create("deep/er")),
        within(lambda kb: kb.branches.delete("main", force=True)),
        within(lambda kb: kb.branches.rename("side", "other/name")),
        within(lambda kb: kb.branches.tag("v1", message=LONG)),
    ),
    "a merge": (two_branches, within(conflict), within(lambda kb: kb.branches.abort_merge())),
    "collecting": (
        two_commits,
        commit(amend=True),
        within(lambda kb: kb.branches.reset("HEAD~1", "hard")),
        within(lambda kb: kb.trust.gc()),
        within(lambda kb: kb.trust.gc(grace_s=0)),
    ),
    "letting go": (
        two_commits,
        evict,
        lambda top: within(lambda kb: kb.trust.rehydrate(places=[top / "archive"]))(top),
    ),
    "cold documents": (
        moved_and_cold,
        within(lambda kb: kb.branches.switch("side")),
        lambda top: files.remove_durably(top / "kb/e/b.md"),
        rehydrate,
    ),
    "moving what is not added": (
        edited,
        within(lambda kb: kb.mv(["a.md", "n.md"], "d")),
        within(lambda kb: kb.mv(["d/b.md"], "x/y/b.md")),
        within(lambda kb: kb.mv(["d"], "x/z")),
    ),
    "removing": (edited, within(lambda kb: kb.rm(["d", "a.md"], recursive=True, force=True))),
    "a revert": (
        two_commits,
        within(lambda kb: kb.branches.revert("HEAD", commit=False)),
        within(lambda kb: kb.branches.abort_revert()),
    ),
    "a merge that is finished": (two_branches, within(conflict), within(resolve), commit()),
    "cores": (
        two_commits,
        within(lambda kb: kb.trust.distill(["d/b.md"], "lead")),
        within(lambda kb: kb.trust.add_core("c/one", "A says so.", [("a.md", None, None)])),
        commit(),
        within(lambda kb: kb.trust.remove_core("c/one")),
        within(lambda kb: kb.trust.restore_core("c/one")),
    ),
    "names": (
        two_branches,
        within(lambda kb: kb.branches.tag("v1", message="one")),
        within(lambda kb: kb.branches.tag("v1", "HEAD~1", message="again", force=True)),
        within(lambda kb: kb.branches.untag("v1")),
        within(lambda kb: kb.branches.switch("HEAD~1", detach=True)),
        within(lambda kb: kb.branches.switch("new", create=True)),
    ),
    "a remote": (
        two_kbs,
        within(lambda kb: kb.sharing.fetch("origin")),
        within(lambda kb: kb.sharing.rename_remote("origin", "other")),
        within(lambda kb: kb.sharing.remove_remote("other")),
    ),
    "pulling": (
        diverged,
        within(lambda kb: kb.sharing.fetch()),
        within(lambda kb: kb.branches.merge("origin/main", commit=False)),
        commit(),
    ),
    "a source that has changed": (drifted, within(lambda kb: kb.trust.rehydrate(update=True))),
    "letting go by force": (
        two_commits,
        within(lambda kb: kb.trust.evict(["d/b.md"], force=True)),
        within(lambda kb: kb.trust.evict(["a.md"], tier="warm")),
        within(lambda kb: kb.trust.rehydrate(["a.md"])),
    ),
    "bringing in": (two_commits, within(bring_in)),
    "hooks of git": (
        in_git,
        lambda top: install_hooks(top / "kb"),
        lambda top: uninstall_hooks(top / "kb"),
    ),
    "settings": (
        two_commits,
        within(lambda kb: kb.config_set("user.name", "Bob")),
        within(lambda kb: kb.config_set("user.email", "bob@example.org", user_wide=True)),
    ),
    "pushing": (
        two_kbs,
        within(lambda kb: kb.add_bytes("p/q.md", f"# Q\n\n{LONG}\n".encode())),
        commit(),
        within(lambda kb: kb.sharing.push("origin")),
    ),
    "cloning": (two_kbs, lambda top: arbor.clone(top / "bare", top / "clone", index=False).close()),
    "cloning without files": (
        two_kbs,
        lambda top: arbor.clone(
            top / "kb", top / "clone", options=CloneOptions(bare=True), index=False
        ).close(),
    ),
    "a bundle over another": (two_commits, bundle, commit(allow_empty=True), bundle),
}


@pytest.mark.parametrize("work", WORK)
def test_power_is_lost_at_every_moment(tmp_path: Path, work: str) -> None:
    play(tmp_path, *WORK[work])


@pytest.mark.parametrize(
    "steps",
    [
        (two_branches, within(lambda kb: kb.branches.switch("side"))),
        WORK["moving what is not added"],
        WORK["cloning"],
    ],
    ids=["switching", "moving", "cloning"],
)
def test_many_files_are_synced_at_once_and_torn_ones_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: tuple[Step, ...]
) -> None:
    sync_at_once(monkeypatch)
    play(tmp_path, *steps)


def sync_at_once(patch: pytest.MonkeyPatch) -> None:
    """However few files there are, they are synced by one call."""
    for module in (syncing, checkout, restoring):
        patch.setattr(module, "FEW_FILES", 0)
