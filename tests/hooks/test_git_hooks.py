"""The shims in real git repositories: bringing a KB along, blocking, being passed by, and living with other hooks."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import arbor
from arbor.kb import KnowledgeBase
from arbor.repo import git_hooks

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A folder with nothing but an `arbor` command that runs this checkout."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "arbor"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{REPOSITORY}" exec "{sys.executable}" -m arbor "$@"\n')
    command.chmod(0o755)
    return folder


class Project:
    """A git repository with a knowledge base in it."""

    def __init__(self, folder: Path, bin_folder: Path, below: str = "") -> None:
        self.folder = folder
        self.path = f"{bin_folder}:{os.environ['PATH']}"
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.kb = arbor.init(folder / below)
        git_hooks.install_hooks(self.kb.fs_root)  # type: ignore[arg-type]

    def git(self, *arguments: str, ok: bool = True, cwd: Path | None = None, path: str = "") -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=cwd or self.folder, env={**os.environ, "PATH": path or self.path},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode == 0) is ok, done.stderr
        return done.stdout + done.stderr

    def commit(self, name: str, text: str, message: str, *options: str, ok: bool = True) -> str:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)
        self.git("add", name)
        return self.git("commit", "-m", message, *options, ok=ok)

    def documents(self) -> list[str]:
        return [path for path, _ in arbor.open(self.kb.fs_root).ls()]  # type: ignore[arg-type]


@pytest.fixture
def project(tmp_path: Path, bin_folder: Path) -> Project:
    return Project(tmp_path / "project", bin_folder)


def subject(kb: KnowledgeBase) -> str:
    return next(iter(kb.log())).subject


def test_git_commits_bring_the_kb_along(project: Project) -> None:
    said = project.commit("notes/a.md", "# Tides\n\nThe moon pulls the sea.\n", "first")
    assert "ripple: notes/a.md reached no other document" in said
    assert project.documents() == ["notes/a.md"]
    assert subject(project.kb).endswith(" first")
    assert project.git("status", "--short") == ""
    assert project.kb.status().clean


def test_a_kb_in_a_subfolder_sees_only_its_own(tmp_path: Path, bin_folder: Path) -> None:
    project = Project(tmp_path / "project", bin_folder, below="my notes")
    project.commit("outside.md", "# No\n", "outside")
    project.commit("my notes/in.md", "# Yes\n", "inside")
    assert project.documents() == ["in.md"]


def test_the_policy_blocks_and_no_verify_passes(project: Project) -> None:
    project.commit("arbor.toml", '[hooks]\ndangling-link = "block"\n', "policy")
    said = project.commit("a.md", "See [the other](other.md).\n", "dangling", ok=False)
    assert "the link to 'other.md' leads nowhere" in said
    assert "git commit --no-verify" in said
    assert project.documents() == ["arbor.toml"]
    project.git("commit", "--no-verify", "-m", "all the same")
    assert project.documents() == ["a.md", "arbor.toml"]


def test_of_many_warnings_only_some_are_shown(project: Project) -> None:
    project.commit("arbor.toml", '[hooks]\ndangling-link = "warn"\n', "policy")
    said = project.commit("a.md", "".join(f"[{n}](none{n}.md)\n" for n in range(25)), "dangling")
    assert said.count("leads nowhere") == 10
    assert "and 15 warnings more; run: arbor ripple --staged --check" in said
    project.commit("arbor.toml", '[hooks]\ndangling-link = "block"\n', "stricter")
    said = project.commit("a.md", "".join(f"[{n}](none{n}.md)\n" for n in range(25)) + "\n", "no", ok=False)
    assert said.count("leads nowhere") == 25


def test_a_verified_note_must_not_become_novel(project: Project) -> None:
    project.commit("arbor.toml", '[hooks]\nverified-becomes-novel = "block"\n', "policy")
    note = "---\nstatus: verified\n---\n# Kiln\n\nGlaze melts at cone six in the kiln.\n"
    said = project.commit("kiln.md", note, "alone", ok=False)
    assert "it is marked as verified and would be NOVEL" in said


def test_without_arbor_on_the_path_git_goes_on(project: Project) -> None:
    (project.folder / "a.md").write_text("x\n")
    project.git("add", "a.md")
    said = project.git("commit", "-m", "alone", path="/usr/bin:/bin")
    assert "arbor is not on the PATH" in said
    assert project.documents() == []


def test_a_foreign_hook_is_kept_runs_first_and_comes_back(project: Project) -> None:
    hooks = project.folder / ".git/hooks"
    git_hooks.uninstall_hooks(project.folder)
    foreign = hooks / "pre-commit"
    foreign.write_text("#!/bin/sh\necho foreign ran >&2\n[ ! -e stop ]\n")
    foreign.chmod(0o755)
    for _ in range(2):
        states = git_hooks.install_hooks(project.folder)
    assert [(state.name, state.state) for state in states] == [
        (name, "installed") for name in git_hooks.NAMES
    ]
    assert "foreign ran" in project.commit("a.md", "# A\n", "both")
    assert project.documents() == ["a.md"]
    (project.folder / "stop").touch()
    project.commit("b.md", "# B\n", "stopped by the foreign hook", ok=False)
    git_hooks.uninstall_hooks(project.folder)
    assert foreign.read_text().startswith("#!/bin/sh\necho foreign")
    assert stat.S_IMODE(foreign.stat().st_mode) == 0o755
    assert sorted(path.name for path in hooks.iterdir() if not path.name.endswith(".sample")) == [
        "pre-commit"
    ]


def test_core_hooks_path_is_respected(project: Project) -> None:
    git_hooks.uninstall_hooks(project.folder)
    project.git("config", "core.hooksPath", "tools/hooks")
    git_hooks.install_hooks(project.folder)
    assert (project.folder / "tools/hooks/post-commit").exists()
    project.commit("a.md", "# A\n", "first")
    assert "a.md" in project.documents()


def test_merges_rebases_checkouts_and_worktrees(project: Project, tmp_path: Path) -> None:
    project.commit("a.md", "# A\n", "a")
    project.git("switch", "-q", "-c", "side")
    project.commit("side.md", "# Side\n", "side")
    project.git("switch", "-q", "main")
    assert project.documents() == ["a.md"]
    project.commit("main.md", "# Main\n", "main")
    project.git("merge", "-q", "--no-edit", "side")
    assert project.documents() == ["a.md", "main.md", "side.md"]
    project.git("switch", "-q", "-c", "topic", "side")
    project.commit("topic.md", "# Topic\n", "topic")
    project.git("rebase", "-q", "main")
    assert project.documents() == ["a.md", "main.md", "side.md", "topic.md"]
    project.git("worktree", "add", "-q", str(tmp_path / "other"), "main")
    (tmp_path / "other/elsewhere.md").write_text("# Elsewhere\n")
    project.git("add", "elsewhere.md", cwd=tmp_path / "other")
    project.git("commit", "-q", "-m", "in a worktree without a KB", cwd=tmp_path / "other")
    assert project.documents() == ["a.md", "main.md", "side.md", "topic.md"]


def test_the_folder_hooks_holds_the_shims_that_are_installed() -> None:
    for name in git_hooks.NAMES:
        shim = REPOSITORY / "hooks" / name
        assert shim.read_text() == git_hooks.shim_text(name)
        assert len(shim.read_text().splitlines()) <= 10
        assert os.access(shim, os.X_OK)


def test_a_folder_outside_of_git_is_refused(tmp_path: Path) -> None:
    kb = arbor.init(tmp_path / "kb")
    with pytest.raises(arbor.errors.UsageError, match="not inside a git repository"):
        git_hooks.install_hooks(kb.fs_root)  # type: ignore[arg-type]
