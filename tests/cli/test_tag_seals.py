"""The signatures of annotated tags, as commands show and check them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arbor.objects.ids import Kind
from arbor.objects.model import decode_tag, encode_tag
from arbor.repo.repository import open_repository
from tests.cli.harness import Cli, allow_new_key

pytestmark = pytest.mark.usefixtures("steady")
SIGNER = "ada@example.org"


@pytest.fixture
def signed(cli: Cli, tmp_path: Path) -> Cli:
    """A KB whose one commit and tag `v1` are signed, beside an annotated tag `plain` and a light one."""
    allow_new_key(tmp_path, SIGNER)
    cli("init")
    cli("config", "sign.key", str(tmp_path / "key"))
    cli("config", "sign.allowed_signers", str(tmp_path / "allowed"))
    cli("config", "sign.commits", "true")
    cli.write("a.md", "# A\n")
    cli.commit("first")
    cli("tag", "v1", "-s", "-m", "the first release\n\nwith a body")
    cli("tag", "plain", "-m", "not signed")
    cli("tag", "light")
    return cli


def replant(cli: Cli, name: str, **changes: str) -> None:
    """Put a changed copy of the tag object `v1` under a name, as a hostile remote could."""
    repo = open_repository(cli.folder)
    oid = repo.refs.read("refs/tags/v1")
    assert oid is not None
    tag = replace(decode_tag(repo.store.get(oid)[1]), **changes)  # type: ignore[arg-type]
    with repo.lock():
        with repo.store.writer() as writer:
            made = writer.add(Kind.TAG, encode_tag(tag))
        ref = f"refs/tags/{name}"
        repo.refs.move(ref, repo.refs.read(ref), made, repo.who(), "test")
    repo.close()


def test_show_tells_of_the_tag(signed: Cli) -> None:
    out = signed("show", "v1").out
    for line in ("tag v1", f"Tagger: Ada Lovelace <{SIGNER}>", f"Seal:   good signature by {SIGNER}",
                 "    the first release", "    with a body"):  # fmt: skip
        assert line in out
    assert "Seal:   not signed" in signed("show", "plain").out
    assert "tag" not in signed("show", "light", "--json").json["commit"]
    assert signed("show", "light", "--json").json["tag"] is None
    seal = signed("show", "v1", "--json").json["tag"]["seal"]
    assert (seal["state"], seal["signer"]) == ("good", SIGNER)
    assert f"good signature by {SIGNER}" in signed("show", "--show-signature").out


def test_tag_verify_ends_as_the_signature_is(signed: Cli) -> None:
    assert f"good signature by {SIGNER}" in signed("tag", "-v", "v1").out
    assert signed("tag", "-v", "v1", "--json").json["tags"][0]["seal"]["state"] == "good"
    assert "not signed" in signed("tag", "-v", "plain", code=1).out
    assert "no signature" in signed("tag", "-v", "light", code=1).err
    assert "there is no tag" in signed("tag", "-v", "absent", code=2).err
    rows = {row["name"]: row["signed"] for row in signed("tag", "--json").json["tags"]}
    assert rows == {"light": False, "plain": False, "v1": True}


@pytest.mark.parametrize("changes", [{"message": "another message"}, {}])
def test_a_tag_that_was_changed_or_is_called_otherwise_is_bad(signed: Cli, changes: dict[str, str]) -> None:
    replant(signed, "v2", **changes)
    assert "BAD signature" in signed("show", "v2").out
    signed("tag", "-v", "v2", code=12)
    assert "tag v2: BAD signature" in signed("verify", "--signatures", "v2", code=12).out
    assert "tag v2: BAD signature" in signed("log", "--show-signature").out


def test_verify_checks_the_tag_beside_its_commits(signed: Cli) -> None:
    assert f"tag v1: good signature by {SIGNER}" in signed("verify", "--signatures", "v1").out
    rows = signed("verify", "--signatures", "v1", "--json").json["signatures"]
    assert [(row["tag"], row["state"]) for row in rows] == [("v1", "good"), (None, "good")]
    assert signed("verify", "--signatures", "light").code == 0
    assert "tag plain: not signed" in signed("verify", "--signatures", "plain", code=1).out


def test_log_tells_of_commits_and_tags(signed: Cli) -> None:
    assert f"tag v1: good signature by {SIGNER}" in signed("log", "--show-signature").out
    [found] = signed("log", "--show-signature", "--json").json["commits"]
    assert (found["signature"]["state"], found["signature"]["signer"]) == ("good", SIGNER)
    assert {tag["name"]: tag["seal"]["state"] for tag in found["tags"]} == {"plain": "none", "v1": "good"}
