"""Signed commits where they are demanded: of all that a branch would gain, however it came here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.harness import Cli, allow_new_key

pytestmark = pytest.mark.usefixtures("steady")


@pytest.fixture
def ada(cli: Cli, tmp_path: Path) -> Cli:
    """A KB with one signed commit, pushed to a bare one, and a user-wide file that demands signatures."""
    allow_new_key(tmp_path, "ada@example.org")
    (tmp_path / "strict.toml").write_text(
        f'[pull]\nrequire_signed = true\n[sign]\nallowed_signers = "{tmp_path / "allowed"}"\n'
    )
    (tmp_path / "lax.toml").write_text(f'[sign]\nallowed_signers = "{tmp_path / "allowed"}"\n')
    cli("init")
    cli("config", "sign.key", str(tmp_path / "key"))
    cli("config", "sign.commits", "true")
    cli.write("a.md", "# A\n")
    cli.commit("first")
    cli("init", "--bare", "../bare")
    cli("remote", "add", "origin", "../bare")
    cli("push", "-u", "origin", "main")
    return cli


def unsigned(ada: Cli) -> str:
    """A commit that is not signed, pushed; its digits as errors name them."""
    oid: str = ada("commit", "--allow-empty", "--no-sign", "-m", "unsigned", "--json").json["commit"]
    ada("push")
    return oid[:12]


def test_what_was_fetched_before_is_looked_at(ada: Cli, tmp_path: Path) -> None:
    strict = {"ARBOR_CONFIG": str(tmp_path / "strict.toml")}
    ada("clone", "../bare", "../bob")
    bob = Cli(ada.folder.parent / "bob")
    culprit = unsigned(ada)
    bob("fetch")
    tip = bob("log", "-1", "--oneline").out
    refused = bob("pull", code=12, env=strict)
    assert culprit in refused.err
    assert "it is not signed" in refused.err
    assert bob("log", "-1", "--oneline").out == tip
    bob("pull", "--no-require-signed", env=strict)


def test_it_can_be_asked_for_once(ada: Cli, tmp_path: Path) -> None:
    lax = {"ARBOR_CONFIG": str(tmp_path / "lax.toml")}
    ada("clone", "../bare", "../bob", env=lax)
    bob = Cli(ada.folder.parent / "bob")
    culprit = unsigned(ada)
    assert culprit in bob("fetch", "--require-signed", code=12, env=lax).err
    assert culprit in bob("pull", "--require-signed", code=12, env=lax).err
    bob("pull", env=lax)


def test_a_clone_is_held_to_the_user_wide_setting(ada: Cli, tmp_path: Path) -> None:
    strict = {"ARBOR_CONFIG": str(tmp_path / "strict.toml")}
    ada("clone", "../bare", "../good", env=strict)
    culprit = unsigned(ada)
    assert culprit in ada("clone", "../bare", "../bad", code=12, env=strict).err
    assert not (ada.folder.parent / "bad").exists()
    assert culprit in ada("clone", "--require-signed", "../bare", "../bad", code=12).err
    assert "pull.require_signed" not in Cli(ada.folder.parent / "good")("config").out
    ada("clone", "--no-require-signed", "../bare", "../bad", env=strict)


def test_a_clone_that_was_asked_to_demand_signatures_goes_on_demanding_them(ada: Cli, tmp_path: Path) -> None:
    lax = {"ARBOR_CONFIG": str(tmp_path / "lax.toml")}
    ada("clone", "--require-signed", "../bare", "../bob", env=lax)
    bob = Cli(ada.folder.parent / "bob")
    assert "pull.require_signed" in bob("config", env=lax).out
    culprit = unsigned(ada)
    for command in ("fetch", "pull"):
        assert culprit in bob(command, code=12, env=lax).err
    bob("pull", "--no-require-signed", env=lax)
