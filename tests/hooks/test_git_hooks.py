"""The shims in real git repositories: bringing a KB along, blocking, being passed by, and living with other hooks."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import arbor
from arbor.kb import KnowledgeBase
from arbor.repo.git import git_hooks

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


def test_what_a_commit_changes_is_told_once(project: Project) -> None:
    line = "ripple: a.md reached no other document; no label changed; new: 1 NOVEL"
    said = project.commit("a.md", "# Tides\n\nThe moon pulls the sea.\n", "first").splitlines()
    assert said.count(line) == 1
    assert said.index(line) < next(number for number, told in enumerate(said) if told.startswith("arbor: ["))
    (project.folder / "a.md").unlink()
    assert project.git("commit", "-am", "away").count("ripple:") == 1
    # Nobody told it before a commit that passes by the check, nor where it turns out otherwise.
    assert project.commit("a.md", "# Tides\n\nThe moon pulls.\n", "again", "--no-verify").count(line) == 1
    project.git("rm", "-q", "a.md")
    project.git("commit", "-m", "no", "--no-verify", "--allow-empty", "-q")
    git_hooks.note_told(project.kb.folder, "ripple: something else")
    assert project.commit("a.md", "# Tides\n", "and again", "--no-verify").count(line) == 1
    git_hooks.note_told(project.kb.folder, line)
    assert git_hooks.take_told(project.kb.folder) == line
    assert git_hooks.take_told(project.kb.folder) == ""


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


def block_dangling(project: Project) -> None:
    project.commit("arbor.toml", '[hooks]\ndangling-link = "block"\n', "policy")


def test_what_is_staged_in_arbor_lets_nothing_of_git_past(project: Project) -> None:
    block_dangling(project)
    (project.folder / "other.md").write_text("# Other\n")
    project.kb.add(["other.md"])
    said = project.commit("a.md", "See [none](none.md).\n", "dangling", ok=False)
    assert "a.md: line 1: the link to 'none.md' leads nowhere" in said


def test_what_is_staged_in_arbor_is_looked_at_too(project: Project) -> None:
    block_dangling(project)
    (project.folder / "other.md").write_text("See [none](none.md) and [a](a.md).\n")
    project.kb.add(["other.md"])
    said = project.commit("a.md", "# A\n", "fine in itself", ok=False)
    assert "other.md: line 1: the link to 'none.md' leads nowhere" in said
    assert "'a.md'" not in said


def test_what_is_staged_in_arbor_stays_staged_but_for_what_git_commits(project: Project) -> None:
    project.commit("a.md", "# A\n", "a")
    project.commit("gone.md", "# Gone\n", "gone")
    (project.folder / "other.md").write_text("# Other\n")
    (project.folder / "a.md").write_text("# A, as arbor has it\n")
    project.kb.add(["other.md", "a.md"])
    project.kb.rm(["gone.md"])
    project.commit("a.md", "# A, as git has it\n", "again")
    status = arbor.open(project.folder).status()
    assert [(change.path, change.status) for change in status.staged] == [
        ("gone.md", "D"),
        ("other.md", "A"),
    ]
    assert project.documents() == ["a.md", "gone.md"]
    assert status.untracked == ()


def test_a_target_that_is_removed_or_renamed_is_missed(project: Project) -> None:
    block_dangling(project)
    project.commit("notes/target.md", "# Target\n", "target")
    project.commit("l.md", "See [it](notes/target.md), [again](notes/target), [all](notes/).\n", "link")
    project.commit("w.md", "By name: [[target]].\n", "wikilink")
    project.commit("f.md", "---\nsee-also: notes/target.md\n---\n# F\n", "front matter")
    project.git("rm", "-q", "notes/target.md")
    said = project.git("commit", "-m", "removed", ok=False)
    for line in (
        "l.md: line 1: the link to 'notes/target.md' would lead nowhere: its target is removed",
        "l.md: line 1: the link to 'notes/target' would",
        "l.md: line 1: the link to 'notes/' would",
        "w.md: line 1: the link to 'target' would",
        "f.md: line 2: the link to 'notes/target.md' would",
    ):
        assert line in said
    project.git("reset", "-q", "--hard")
    project.git("mv", "notes/target.md", "notes/elsewhere.md")
    said = project.git("commit", "-m", "renamed", ok=False)
    assert "l.md: line 1: the link to 'notes/target.md' would lead nowhere" in said
    assert "'notes/'" not in said
    project.git("reset", "-q", "--hard")
    project.git("mv", "notes/target.md", "target.md")
    project.commit("l.md", "See [it](target.md).\n", "both", ok=False)
    project.commit("f.md", "# F\n", "with its links, and the wikilink finds it by name")


def test_what_was_dangling_before_is_nobodys_fault_now(project: Project) -> None:
    project.commit("l.md", "See [none](none.md) and [gone](gone.md).\n", "old")
    project.commit("gone.md", "# Gone\n", "gone")
    project.commit("unrelated.md", "# Unrelated\n", "unrelated")
    block_dangling(project)
    project.git("rm", "-q", "unrelated.md")
    assert "leads nowhere" not in project.git("commit", "-m", "unrelated goes")
    project.git("rm", "-q", "gone.md")
    said = project.git("commit", "-m", "gone goes", ok=False)
    assert "'gone.md'" in said
    assert "'none.md'" not in said


def test_links_to_folders_lead_somewhere(project: Project) -> None:
    block_dangling(project)
    (project.folder / "pictures").mkdir()
    (project.folder / "new").mkdir()
    (project.folder / "new/n.md").write_text("# N\n")
    project.git("add", "new")
    text = "[here](.) [here too](./) [new](new/) [new](new) [pictures](pictures/)\n"
    project.commit("a.md", text, "folders")
    project.commit("new/b.md", "[up](..) [up](../) [self](.)\n", "from below")
    project.commit("c.md", "[none](nofolder/)\n", "no folder", ok=False)


def test_a_check_stores_nothing(project: Project) -> None:
    project.commit("a.md", "# A\n", "a")
    packs = project.folder / ".arbor/packs"
    before = sorted((path.name, path.stat().st_mtime_ns) for path in packs.iterdir())
    for number in range(10):
        (project.folder / f"n{number}.md").write_text(f"# Note {number}\n\nThe moon pulls the sea.\n")
        project.git("add", f"n{number}.md")
        assert len(arbor.open(project.folder).check_staged().ripple.origins) == number + 1
    assert sorted((path.name, path.stat().st_mtime_ns) for path in packs.iterdir()) == before


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
    for line in (
        "status: verified",
        "status: Verified",
        "verified: true",
        "verified: yes",
        "Verified: 'true'",
    ):
        note = f"---\n{line}\n---\n# Kiln\n\nGlaze melts at cone six in the kiln.\n"
        said = project.commit("kiln.md", note, "alone", ok=False)
        assert "it is marked as verified and would be NOVEL" in said
    for line in ("status: draft", "verified: false"):
        note = f"---\n{line}\n---\n# Kiln\n\nGlaze melts at cone six in the kiln.\n"
        project.commit("kiln.md", note, "alone")


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


def test_git_leaves_the_folder_alone_without_our_shims_too(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    kb = arbor.init(tmp_path)
    (tmp_path / "a.md").write_text("# A\n")
    kb.add()
    kb.commit("first")
    arbor.clone(tmp_path, tmp_path / "copy")
    listing = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=tmp_path, capture_output=True, text=True,
                             check=True)  # fmt: skip
    assert listing.stdout == "?? a.md\n?? copy/a.md\n"
    assert not (arbor.init(tmp_path / "hub", bare=True).folder / ".gitignore").exists()


def test_what_git_was_told_to_ignore_stays_as_it_is(project: Project) -> None:
    path = project.folder / ".git/info/exclude"
    path.write_bytes(b"*.bak\r\n\xff\r\nlast")
    for _ in range(2):
        git_hooks.install_hooks(project.folder)
    assert path.read_bytes() == b"*.bak\r\n\xff\r\nlast\n.arbor/\n"


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
    said = project.git("commit", "-q", "-m", "in a worktree without a KB", cwd=tmp_path / "other")
    assert said.count("nothing was checked") == 1
    assert project.documents() == ["a.md", "main.md", "side.md", "topic.md"]


@pytest.mark.parametrize(("below", "place"), [("", "linked"), ("my notes", "../linked")])
def test_a_linked_work_tree_says_once_that_nothing_is_checked(
    tmp_path: Path, bin_folder: Path, below: str, place: str
) -> None:
    project = Project(tmp_path / "project", bin_folder, below=below)
    (project.folder / ".gitignore").write_text("linked/\n")
    project.commit(f"{below or '.'}/arbor.toml", '[hooks]\ndangling-link = "block"\n', "policy")
    project.git("switch", "-q", "--orphan", "bare")
    project.commit("x.txt", "x\n", "a branch without notes")
    project.git("switch", "-q", "main")
    before = project.documents()
    for branch in ("bare", "side"):
        linked = project.folder / place / branch
        project.git("worktree", "add", "-q", *([] if branch == "bare" else ["-b"]), *(
            [str(linked), "bare"] if branch == "bare" else [branch, str(linked)]))  # fmt: skip
        (linked / "a.md").write_text("See [none](none.md).\n")
        project.git("add", "a.md", cwd=linked)
        said = project.git("commit", "-m", "passes", cwd=linked)
        assert said.count("has no knowledge base: nothing was checked") == 1
        assert str(project.folder) in said
        assert "brought along" not in said
        assert project.documents() == before


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


def test_the_framework_shows_what_the_check_says_also_where_it_passes() -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())}
    assert hooks["arbor-ripple"]["verbose"] is True  # else warnings and labels would be hidden
    assert hooks["arbor-ripple"]["entry"] == "arbor hook run pre-commit"
    assert hooks["arbor-follow"]["stages"] == ["post-commit", "post-merge", "post-checkout", "post-rewrite"]
