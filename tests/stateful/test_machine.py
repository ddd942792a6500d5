"""A knowledge base driven at random beside a model of three dictionaries: work tree, stage and commits."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import arbor
from arbor.errors import UsageError
from arbor.objects import ledger
from tests.repo.kit import files_in, read_all

NAMES = st.sampled_from(
    ["a.md", "b.md", "x/a.md", "x/b.md", "x/y/c.md", "z/d.md", "caf\u00e9/é.md", "中文.md"]
)
FOLDERS = st.sampled_from(["x", "x/y", "z", "new", "caf\u00e9"])
TEXTS = st.sampled_from(
    [b"one\n", b"two\n", b"# Three\n\nwith [[a link]]\n", b"", bytes(range(256)), "四\n".encode()]
)

Content = dict[str, bytes]


class Machine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        self.kb = arbor.init(self.folder)
        self.kb.repo.identity = ("Ada", "ada@example.org")
        self.work: Content = {}
        self.stage: Content = {}
        self.commits: list[Content] = []
        self.roots: dict[bytes, Content] = {ledger.EMPTY_LEDGER: {}}

    def teardown(self) -> None:
        if hasattr(self, "kb"):
            self.kb.close()
            shutil.rmtree(self.folder)

    @property
    def head(self) -> Content:
        return self.commits[-1] if self.commits else {}

    # --- the work tree, by hand

    @rule(name=NAMES, text=TEXTS)
    def write_file(self, name: str, text: bytes) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(text)
        self.work[name] = text

    @precondition(lambda self: self.work)
    @rule(data=st.data())
    def delete_file(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.work)))
        (self.folder / name).unlink()
        del self.work[name]

    # --- commands

    @rule()
    def add_all(self) -> None:
        result = self.kb.add()
        assert set(result.added) == self.work.keys() - self.stage.keys()
        assert set(result.removed) == self.stage.keys() - self.work.keys()
        assert set(result.modified) == {
            n for n in self.work.keys() & self.stage.keys() if self.work[n] != self.stage[n]
        }
        self.stage = dict(self.work)

    @rule(name=NAMES)
    def add_one(self, name: str) -> None:
        if name in self.work:
            self.kb.add([name])
            self.stage[name] = self.work[name]
        elif name in self.stage:
            assert self.kb.add([name]).removed == (name,)
            del self.stage[name]

    @rule(name=NAMES, text=TEXTS)
    def add_bytes(self, name: str, text: bytes) -> None:
        self.kb.add_bytes(name, text, overwrite=True)
        self.work[name] = self.stage[name] = text

    @precondition(lambda self: self.stage)
    @rule(data=st.data(), cached=st.booleans())
    def remove(self, data: st.DataObject, cached: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.stage)))
        assert self.kb.rm([name], force=True, cached=cached) == (name,)
        del self.stage[name]
        if not cached:
            self.work.pop(name, None)

    @precondition(lambda self: self.stage)
    @rule(data=st.data(), place=NAMES)
    def move(self, data: st.DataObject, place: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.stage)))
        if name not in self.work or place in self.work or place in self.stage:
            return
        self.kb.mv([name], place)
        self.stage[place] = self.stage.pop(name)
        self.work[place] = self.work.pop(name)

    @rule(source=FOLDERS, goal=st.sampled_from(["moved", "x", "w/v"]))
    def move_folder(self, source: str, goal: str) -> None:
        below = sorted(name for name in self.stage if name.startswith(f"{source}/"))
        inside = (self.folder / goal).is_dir()
        place = f"{goal}/{source.rpartition('/')[2]}" if inside else goal
        pairs = [(name, place + name[len(source) :]) for name in below]
        if not pairs or source == place or place.startswith(f"{source}/"):
            return
        if any(old not in self.work or new in self.work or new in self.stage for old, new in pairs):
            return
        assert self.kb.mv([source], goal) == tuple(pairs)
        for old, new in pairs:
            self.stage[new], self.work[new] = self.stage.pop(old), self.work.pop(old)

    @precondition(lambda self: self.stage)
    @rule(data=st.data())
    def restore_file(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.stage)))
        self.kb.restore([name])
        self.work[name] = self.stage[name]

    @precondition(lambda self: self.commits)
    @rule(data=st.data(), worktree=st.booleans())
    def restore_stage(self, data: st.DataObject, worktree: bool) -> None:
        number = data.draw(st.integers(0, len(self.commits) - 1))
        wanted = self.commits[number]
        if not wanted and not self.stage:
            return
        self.kb.restore([""], source=f"HEAD~{len(self.commits) - 1 - number}", staged=True, worktree=worktree)
        if worktree:
            self.work = {name: text for name, text in self.work.items() if name not in self.stage} | wanted
        self.stage = dict(wanted)

    @rule(amend=st.booleans(), empty=st.booleans())
    def commit(self, amend: bool, empty: bool) -> None:
        amend = amend and bool(self.commits)
        before = self.head if not amend else self.commits[-2] if len(self.commits) > 1 else {}
        holds_nothing = self.stage == before and not (amend and self.head == before)
        if holds_nothing and not empty:
            with pytest.raises(UsageError):
                self.kb.commit("nothing", amend=amend, index=False)
            return
        made = self.kb.commit(f"number {len(self.commits)}", amend=amend, allow_empty=empty, index=False)
        assert made.documents == len(self.stage)
        if amend:
            self.commits.pop()
        self.commits.append(dict(self.stage))
        root = bytes.fromhex(made.ledger_root)
        assert self.roots.setdefault(root, dict(self.stage)) == self.stage
        assert [known for known, content in self.roots.items() if content == self.stage] == [root]

    # --- what must not matter

    @rule()
    def reopen(self) -> None:
        self.kb.close()
        self.kb = arbor.open(self.folder)

    @rule()
    def drop_cache(self) -> None:
        shutil.rmtree(self.kb.folder / "cache", ignore_errors=True)

    @rule()
    def drop_pack_indexes(self) -> None:
        self.kb.close()
        for path in (self.kb.folder / "packs").glob("*.idx"):
            path.unlink()
        self.kb = arbor.open(self.folder)

    @rule()
    def verify(self) -> None:
        report = self.kb.verify()
        assert report.ok, report.damaged
        assert report.checked["commits"] >= len(self.commits)

    # --- what must hold

    @invariant()
    def the_files_are_as_the_model_has_them(self) -> None:
        if hasattr(self, "kb"):
            assert files_in(self.folder) == self.work

    @invariant()
    def status_says_what_differs(self) -> None:
        if not hasattr(self, "kb"):
            return
        status = self.kb.status()
        unstaged = {change.path: change.status for change in status.unstaged}
        assert unstaged == {
            name: "M" if name in self.work else "D"
            for name, text in self.stage.items()
            if self.work.get(name) != text
        }
        staged = {change.path for change in status.staged} | {c.old_path for c in status.staged if c.old_path}
        names = self.stage.keys() | self.head.keys()
        assert staged == {name for name in names if self.stage.get(name) != self.head.get(name)}
        covered = {
            name
            for name in self.work
            if any(name == u or (u.endswith("/") and name.startswith(u)) for u in status.untracked)
        }
        assert covered == self.work.keys() - self.stage.keys()

    @invariant()
    def history_is_as_it_was(self) -> None:
        if not hasattr(self, "kb") or not self.commits:
            return
        assert len(list(self.kb.log())) == len(self.commits)
        assert read_all(self.kb) == self.head
        if len(self.commits) > 1:
            assert read_all(self.kb, "HEAD~1") == self.commits[-2]
        for name, text in self.stage.items():
            assert b"".join(self.kb.cat(name)) == text


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=25, stateful_step_count=25)
