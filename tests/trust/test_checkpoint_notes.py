"""Checkpoints handed on: signed as C2SP notes, and held against a history."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from arbor import KnowledgeBase
from arbor.errors import IntegrityError, UsageError
from arbor.repo.trust import ssh_keys
from arbor.repo.trust.checkpoint_notes import require_ok
from arbor.repo.trust.checkpoints import parse_note
from tests.cli.harness import Cli
from tests.trust.conftest import MakeKb, fill

cryptography = pytest.importorskip("cryptography")
from cryptography.hazmat.primitives import serialization as forms  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec, ed25519  # noqa: E402

Key = ed25519.Ed25519PrivateKey


def key_file(folder: Path, key: Key | ec.EllipticCurvePrivateKey, name: str = "key") -> Path:
    data = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.OpenSSH, forms.NoEncryption())
    (folder / name).write_bytes(data)
    return folder / name


def signers_file(folder: Path, *keys: Key, options: str = "") -> Path:
    lines = []
    for number, key in enumerate(keys):
        public = key.public_key().public_bytes(forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH)
        lines.append(f"person{number}@example.org {options}{public.decode()}\n")
    (folder / "signers").write_text("# who may sign\n" + "".join(lines))
    return folder / "signers"


@pytest.fixture
def kb(make_kb: MakeKb) -> KnowledgeBase:
    """Three commits."""
    made = make_kb({"a.md": "# A\n"})
    for number in range(2):
        fill(made, {f"{number}.md": f"# {number}\n"})
    made.config_set("user.email", "ada@example.org")
    return made


def test_a_history_goes_on_from_its_checkpoints(kb: KnowledgeBase) -> None:
    older, now = kb.trust.checkpoint_note("HEAD~1"), kb.trust.checkpoint_note()
    report = kb.trust.check_checkpoint(now)
    assert (report.state, report.size, report.ok, report.seal.state) == ("current", 3, True, "none")
    assert kb.trust.check_checkpoint(older).state == "extended"
    short = kb.trust.check_checkpoint(now, "HEAD~1")
    assert (short.state, short.ok) == ("short", False)
    with pytest.raises(IntegrityError, match="2 commits, and the checkpoint 3"):
        require_ok(short)
    kb.branches.reset("HEAD~1", "hard")
    fill(kb, {"other.md": "# Other\n"})
    diverged = kb.trust.check_checkpoint(now)
    assert (diverged.state, diverged.ok) == ("diverged", False)
    with pytest.raises(IntegrityError, match="another one"):
        require_ok(diverged)
    assert kb.trust.check_checkpoint(older).ok


def origin(cli: Cli, *words: str) -> str:
    return cli("log", "--checkpoint", *words).out.splitlines()[0]


def test_the_origin_names_the_branch_that_was_asked_for(kb: KnowledgeBase) -> None:
    assert kb.fs_root is not None
    cli = Cli(kb.fs_root)
    main, first = kb.resolve("main").hex(), kb.resolve("HEAD~2").hex()
    cli("tag", "v1", "HEAD~1")
    cli("switch", "-c", "zed")
    cli("branch", "also")
    assert origin(cli, "main") == origin(cli, "also..main") == f"arbor/{first}/main"
    assert origin(cli) == origin(cli, "HEAD") == origin(cli, "zed") == f"arbor/{first}/zed"
    assert origin(cli, "v1") == origin(cli, "main~1") == origin(cli, main) == f"arbor/{first}/zed"
    fill(kb, {"zed.md": "# Zed\n"})
    zed = kb.resolve("zed").hex()
    cli("switch", "main")
    assert origin(cli, "v1") == f"arbor/{first}/main"
    assert origin(cli, zed) == f"arbor/{first}/zed"
    cli("switch", "--detach", "zed~1")
    assert origin(cli) == f"arbor/{first}/also", "the first by name of those whose log it is"
    assert (
        cli("log", "--checkpoint", "main", "--json")
        .json["commits"][0]["checkpoint"]["origin"]
        .endswith("/main")
    )
    assert "leave out the paths" in cli("log", "--checkpoint", "--", "a.md", code=2).err


def test_a_commit_of_no_branchs_log_is_named_by_itself(kb: KnowledgeBase) -> None:
    """Also one that was merged: it is in main's history, and not in its log."""
    assert kb.fs_root is not None
    cli = Cli(kb.fs_root)
    first = kb.resolve("HEAD~2").hex()
    cli("switch", "-c", "side", "HEAD~1")
    fill(kb, {"side.md": "# Side\n"})
    side = kb.resolve("side").hex()
    cli("switch", "main")
    cli("merge", "side")
    assert origin(cli, "main^2") == f"arbor/{first}/side"
    cli("branch", "-D", "side")
    assert origin(cli, "main^2") == origin(cli, side) == f"arbor/{first}/commit/{side[:12]}"
    cli("switch", "--detach", side)
    assert origin(cli) == f"arbor/{first}/commit/{side[:12]}"
    note = kb.trust.checkpoint_note(side)
    assert kb.trust.check_checkpoint(note, side).origin_state == "same"
    assert kb.trust.check_checkpoint(note, "main").state == "diverged"


def test_the_origin_is_held_against_the_history(kb: KnowledgeBase, make_kb: MakeKb, tmp_path: Path) -> None:
    assert kb.fs_root is not None
    cli = Cli(kb.fs_root)
    note = kb.trust.checkpoint_note()
    cli("branch", "zed")
    assert cli("verify", "--checkpoint", "-", stdin=note.encode()).err == ""
    other = cli("verify", "--checkpoint", "-", "zed", stdin=note.encode())
    assert other.out.startswith("verified")
    assert "of 'main', and the history here is that of 'zed'" in other.err
    first = kb.resolve("HEAD~2").hex()
    lie = note.replace(first, kb.resolve("HEAD").hex(), 1)
    assert "names another first commit" in cli("verify", "--checkpoint", "-", stdin=lie.encode(), code=12).err
    found = cli("verify", "--checkpoint", "-", "--json", stdin=lie.encode(), code=12).json
    assert (found["ok"], found["checkpoint"]["state"]) == (False, "current")
    assert found["checkpoint"]["origin_state"] == "history"
    away = make_kb({"x.md": "# X\n"}, name="away")
    assert (
        "another first commit"
        in cli("verify", "--checkpoint", "-", stdin=away.trust.checkpoint_note().encode(), code=12).err
    )
    chosen = kb.trust.checkpoint_note(origin="example.org/notes").encode()
    assert "was not compared" in cli("verify", "--checkpoint", "-", stdin=chosen).err


def test_a_signed_checkpoint_is_a_signed_note(kb: KnowledgeBase, tmp_path: Path) -> None:
    """Checked here by hand, as the specification says it."""
    key = Key.generate()
    kb.config_set("sign.key", str(key_file(tmp_path, key)))
    note = kb.trust.checkpoint_note()
    text, signature_line = note.rsplit("\n\n", 1)
    text += "\n"
    assert text == kb.trust.checkpoint_note(sign=False)
    dash, name, encoded = signature_line.rstrip("\n").split(" ")
    data = base64.b64decode(encoded)
    public = key.public_key().public_bytes(forms.Encoding.Raw, forms.PublicFormat.Raw)
    assert (dash, name) == ("\u2014", "ada@example.org")
    assert data[:4] == hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4]
    key.public_key().verify(data[4:], text.encode())
    assert kb.trust.check_checkpoint(note).seal.state == "unknown"
    kb.config_set("sign.allowed_signers", str(signers_file(tmp_path, Key.generate(), key)))
    seal = kb.trust.check_checkpoint(note).seal
    assert (seal.state, seal.signer) == ("good", "person1@example.org")


def test_a_wrong_signature_is_worse_than_none(kb: KnowledgeBase, tmp_path: Path) -> None:
    key, stranger = Key.generate(), Key.generate()
    kb.config_set("sign.key", str(key_file(tmp_path, key)))
    note, older = kb.trust.checkpoint_note(), kb.trust.checkpoint_note("HEAD~1")
    kb.config_set("sign.allowed_signers", str(signers_file(tmp_path, key)))
    forged = older.rsplit("\n\n", 1)[0] + "\n\n" + note.rsplit("\n\n", 1)[1]
    report = kb.trust.check_checkpoint(forged)
    assert (report.state, report.seal.state, report.ok) == ("extended", "bad", False)
    with pytest.raises(IntegrityError, match="not to be believed"):
        require_ok(report)
    kb.config_set("sign.allowed_signers", str(signers_file(tmp_path, stranger)))
    assert kb.trust.check_checkpoint(note).seal.state == "unknown"
    kb.config_set(
        "sign.allowed_signers", str(signers_file(tmp_path, key, options='valid-before="20200101Z" '))
    )
    seal = kb.trust.check_checkpoint(note).seal
    assert seal.state == "unknown"
    assert "valid-before" in seal.reason


def test_where_signers_are_named_one_of_them_must_have_signed(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert kb.fs_root is not None
    cli = Cli(kb.fs_root)
    key, stranger = Key.generate(), Key.generate()
    plain = kb.trust.checkpoint_note()
    kb.config_set("sign.key", str(key_file(tmp_path, key)))
    good = kb.trust.checkpoint_note()
    kb.config_set("sign.key", str(key_file(tmp_path, stranger, "other")))
    strange = kb.trust.checkpoint_note()
    renamed = good.replace("ada@example.org", "eve@example.org")
    both = good + strange.rsplit("\n\n", 1)[1]
    for note in (plain, good, strange, renamed):
        assert kb.trust.check_checkpoint(note).ok, "without the setting a signature is only looked at"
    kb.config_set("sign.allowed_signers", str(signers_file(tmp_path, key)))
    for note in (good, both):
        assert "good signature by person0" in cli("verify", "--checkpoint", "-", stdin=note.encode()).out
    for note, why in (
        (plain, "it is not signed"),
        (strange, "no key that signed it"),
        (renamed, "no key that"),
    ):
        failed = cli("verify", "--checkpoint", "-", stdin=note.encode(), code=12)
        assert failed.out == ""
        assert why in failed.err
        assert "one of the allowed signers must sign it" in failed.err
        assert cli("verify", "--checkpoint", "-", "--json", stdin=note.encode(), code=12).json["ok"] is False
    (tmp_path / "signers").write_text("# nobody\n")
    cli("verify", "--checkpoint", "-", stdin=good.encode(), code=12)


def test_a_key_that_cannot_sign_is_said(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for fs_path in (tmp_path / "nowhere", key_file(tmp_path, ec.generate_private_key(ec.SECP256R1()))):
        kb.config_set("sign.key", str(fs_path))
        with pytest.raises(UsageError, match="cannot sign"):
            kb.trust.checkpoint_note()
    monkeypatch.setattr(ssh_keys, "AVAILABLE", False)
    with pytest.raises(UsageError, match="not installed"):
        kb.trust.checkpoint_note()
    kb.config_set("sign.key", None)
    with pytest.raises(UsageError, match="no key to sign"):
        kb.trust.checkpoint_note(sign=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda note: note.replace("\n3\n", "\n0\n"),
        lambda note: note.replace("\n3\n", "\n-3\n"),
        lambda note: note.replace("\n3\n", "\n03\n"),
        lambda note: note.replace("commit ", "commit  "),
        lambda note: "",
        lambda note: "\n" + note,
        lambda note: note + "x",
        lambda note: note + "more\n",
        lambda note: note * 2,
    ],
)
def test_what_is_no_checkpoint_is_refused(kb: KnowledgeBase, change: object) -> None:
    with pytest.raises(IntegrityError):
        kb.trust.check_checkpoint(change(kb.trust.checkpoint_note()))  # type: ignore[operator]


def test_the_commands(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert kb.fs_root is not None
    cli = Cli(kb.fs_root)
    key = Key.generate()
    kb.config_set("sign.key", str(key_file(tmp_path, key)))
    kb.config_set("sign.allowed_signers", str(signers_file(tmp_path, key)))
    note = tmp_path / "note"
    note.write_text(cli("log", "--checkpoint").out, "utf-8")
    assert parse_note(note.read_text("utf-8"))[0].size == 3
    fill(kb, {"more.md": "# More\n"})
    said = cli("verify", "--checkpoint", str(note)).out
    assert said.startswith("verified the history has all 3 commits of the checkpoint, and 1 commit since\n")
    assert "good signature by person0@example.org" in said
    found = cli("verify", "--checkpoint", str(note), "--json").json
    assert (found["ok"], found["checkpoint"]["state"], found["checkpoint"]["log_size"]) == (
        True,
        "extended",
        4,
    )
    assert found["checkpoint"]["seal"]["state"] == "good"
    kb.branches.reset("HEAD~2", "hard")
    assert "the history has 2 commits" in cli("verify", "--checkpoint", str(note), code=12).err
    assert cli("verify", "--checkpoint", str(note), "--json", code=12).json["checkpoint"]["state"] == "short"
    assert "cannot be read" in cli("verify", "--checkpoint", str(tmp_path / "absent"), code=2).err


def test_a_signed_checkpoint_bears_the_name_of_who_signs(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert kb.fs_root is not None
    kb.config_set("sign.key", str(key_file(tmp_path, Key.generate())))
    env = {"ARBOR_AUTHOR_NAME": "Ada", "ARBOR_AUTHOR_EMAIL": "ada@kb.example"}
    assert "\n\u2014 ada@kb.example " in Cli(kb.fs_root)("log", "--checkpoint", env=env).out
