"""What scripts written for git pass to commit, diff and config, and what its hooks are told."""

from __future__ import annotations

import pytest

from tests.cli.harness import Cli


def test_diff_quiet_answers_by_its_exit_code(kb: Cli) -> None:
    assert kb("diff", "--quiet").out == ""
    kb.write("notes/proofs.md", "changed\n")
    assert kb("diff", "--quiet", code=1).out == ""
    assert kb("diff", "--quiet", "--", "nowhere").out == ""
    changes = kb("diff", "--quiet", "--json", code=1).json["changes"]
    assert [change["path"] for change in changes] == ["notes/proofs.md"]


def test_commit_n_runs_no_hook(kb: Cli) -> None:
    hook = kb.folder / ".arbor/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    kb.write("notes/proofs.md", "changed\n")
    kb("commit", "-a", "-m", "held", code=13)
    kb("commit", "-a", "-n", "-m", "not held")


@pytest.mark.parametrize("words", [("--list",), ("-l",), ("list",), ()])
def test_config_lists(kb: Cli, words: tuple[str, ...]) -> None:
    kb("config", "user.name", "Grace")
    assert "user.name = Grace\n" in kb("config", *words).out


def test_config_gets_by_option(kb: Cli) -> None:
    kb("config", "user.name", "Grace")
    assert kb("config", "--get", "user.name").out == "Grace\n"
    kb("config", "--get", code=2)
    kb("config", "--list", "user.name", code=2)
    kb("config", "--unset", "user.name")
    kb("config", "--get", "user.name", code=1)


def test_post_checkout_is_told_both_commits(kb: Cli) -> None:
    hook = kb.folder / ".arbor/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\necho "[$*]"\n')
    hook.chmod(0o755)
    old = kb("log", "-1", "--json").json["commits"][0]["commit"]
    assert f"[{old} {old} 1]" in kb("switch", "-c", "side").err
    kb.write("notes/proofs.md", "changed\n")
    kb("commit", "-a", "-m", "side")
    new = kb("log", "-1", "--json").json["commits"][0]["commit"]
    assert f"[{new} {old} 1]" in kb("switch", "main").err
