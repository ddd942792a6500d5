"""Signed commits: made and checked with the library and with ssh-keygen, which must agree."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from arbor.errors import IntegrityError, UsageError
from arbor.objects.model import Commit, Signature, encode_commit
from arbor.repo.config import Settings
from arbor.repo.trust import signing, ssh_keys
from arbor.repo.trust.signing import check_seal, require_signed, sign_bytes
from arbor.repo.trust.ssh_signatures import (
    NAMESPACE,
    SshSignature,
    format_signature,
    parse_signature,
    signed_blob,
    write_strings,
)

pytest.importorskip("cryptography")
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

DATA = b"what is signed"
WHEN = 1_700_000_000
KEYGEN = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


def make_key(folder: Path, name: str = "key", kind: str = "ed25519") -> Path:
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", str(folder / name)], check=True
    )
    return folder / name


def allowed(key: Path, options: str = "", who: str = "ada@example.org") -> bytes:
    kind, text, *_ = key.with_suffix(".pub").read_text().split()
    return f"# comment\n\n{who} {options + ' ' if options else ''}{kind} {text} comment\n".encode()


@KEYGEN
def test_library_and_program_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = make_key(tmp_path)
    by_library = sign_bytes(DATA, key)
    monkeypatch.setattr(ssh_keys, "AVAILABLE", False)
    by_program = sign_bytes(DATA, key)
    assert by_library == by_program
    assert check_seal(DATA, by_library, allowed(key), WHEN).state == "good"
    assert check_seal(DATA + b"!", by_library, allowed(key), WHEN).state == "bad"
    monkeypatch.setattr(ssh_keys, "AVAILABLE", True)
    report = check_seal(DATA, by_program, allowed(key), WHEN)
    assert (report.state, report.signer) == ("good", "ada@example.org")
    printed = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(key)], capture_output=True, text=True, check=True
    ).stdout
    assert report.key in printed
    assert check_seal(DATA + b"!", by_program, allowed(key), WHEN).state == "bad"


@KEYGEN
@pytest.mark.parametrize("kind", ["ecdsa", "rsa"])
def test_other_sorts_of_keys(tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path, kind=kind)
    seal = sign_bytes(DATA, key)
    assert check_seal(DATA, seal, allowed(key), WHEN).state == "good"
    assert check_seal(b"other", seal, allowed(key), WHEN).state == "bad"


@KEYGEN
def test_who_is_allowed_and_when(tmp_path: Path) -> None:
    key, other = make_key(tmp_path), make_key(tmp_path, "other")
    seal = sign_bytes(DATA, key)

    def state(file: bytes | None) -> str:
        return check_seal(DATA, seal, file, WHEN).state

    assert state(None) == "unknown"
    assert state(allowed(other)) == "unknown"
    assert state(allowed(other) + allowed(key)) == "good"
    odd = "name ssh-ed25519 AAAA\u00e9AAAA\nname ssh-ed25519 AAA\n".encode() + b"name ssh-ed25519 AA\xffAA\n"
    assert state(odd + allowed(key)) == "good"
    assert state(allowed(key, 'namespaces="git"')) == "unknown"
    assert state(allowed(key, 'namespaces="git,arbor"')) == "good"
    assert state(allowed(key, 'valid-after="20231114"')) == "good"
    assert state(allowed(key, 'valid-after="20231116Z"')) == "unknown"
    assert state(allowed(key, 'valid-before="20231116Z"')) == "good"
    assert state(allowed(key, 'namespaces="arbor",valid-before="20231113Z"')) == "unknown"
    assert state(allowed(key, "cert-authority")) == "unknown"
    assert state(allowed(key, 'valid-after="never"')) == "unknown"
    assert state(b'\xff\xfe garbage "\n') == "unknown"


@KEYGEN
def test_no_changed_byte_verifies(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    seal, file = sign_bytes(DATA, key), allowed(key)
    for place in range(0, len(seal), 3):
        for char in ("A", "=", "\n", "-"):
            changed = seal[:place] + char + seal[place + 1 :]
            if changed != seal and changed.replace("\n", "") != seal.replace("\n", ""):
                report = check_seal(DATA, changed, file, WHEN)
                assert report.state != "good" or parse_signature(changed) == parse_signature(seal), (
                    place,
                    char,
                )


def test_what_is_no_signature_is_bad() -> None:
    for seal in (
        "x",
        "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n",
        "\x00",
        "y" * 100_000,
    ):
        assert check_seal(DATA, seal, None, WHEN).state == "bad"
    assert check_seal(DATA, "", None, WHEN).state == "none"


def test_a_key_that_is_absent_or_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot sign"):
        sign_bytes(DATA, tmp_path / "nothing")
    (tmp_path / "nokey").write_text("hello")
    with pytest.raises(UsageError, match="cannot sign"):
        sign_bytes(DATA, tmp_path / "nokey")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_in_place_of_keys_and_allowed_signers_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="cannot sign: it is no file"):
        sign_bytes(b"data", tmp_path / "pipe")
    settings = Settings(tmp_path / "config.toml")
    settings.set("sign.allowed_signers", str(tmp_path / "pipe"))
    with pytest.raises(UsageError, match=r"cannot be read: .* is no file but a pipe"):
        signing.read_allowed_signers(settings)
    settings.set("sign.allowed_signers", os.devnull)
    assert signing.read_allowed_signers(settings) == b""


@KEYGEN
def test_commits_without_a_good_signature_are_refused(tmp_path: Path) -> None:
    key, other = make_key(tmp_path), make_key(tmp_path, "other")
    who = Signature("Ada", "ada@example.org", WHEN, 0)
    plain = Commit(b"\x01" * 32, (), who, who, "m", {}, 0, ())
    signed = replace(plain, seal=sign_bytes(encode_commit(plain), key))
    require_signed({b"\x02" * 32: signed}, allowed(key))
    for commit in (
        plain,
        replace(plain, seal=sign_bytes(encode_commit(plain), other)),
        replace(signed, message="n"),
    ):
        with pytest.raises(IntegrityError, match="is refused"):
            require_signed({b"\x02" * 32: commit}, allowed(key))
    with pytest.raises(IntegrityError, match="allowed-signers"):
        require_signed({b"\x02" * 32: signed}, None)


def device_seal(data: bytes) -> tuple[str, bytes, bytes]:
    """(seal, its key's sort, its key's blob) as a security key makes them. Source: OpenSSH's PROTOCOL.u2f."""
    key, sort = ed25519.Ed25519PrivateKey.generate(), b"sk-ssh-ed25519@openssh.com"
    public = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    blob = write_strings(sort, public, b"ssh:")
    touched = b"\x01" + (7).to_bytes(4, "big")
    signed = signed_blob(SshSignature(blob, NAMESPACE, "sha512", b""), data)
    made = key.sign(hashlib.sha256(b"ssh:").digest() + touched + hashlib.sha256(signed).digest())
    seal = format_signature(SshSignature(blob, NAMESPACE, "sha512", write_strings(sort, made) + touched))
    return seal, sort, blob


@KEYGEN
def test_the_signature_of_a_security_key_is_checked_by_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    seal, sort, blob = device_seal(DATA)
    file = b"ada " + sort + b" " + base64.b64encode(blob) + b"\n"
    assert check_seal(DATA, seal, file, WHEN).state == "good"
    assert check_seal(b"other", seal, file, WHEN).state == "bad"
    monkeypatch.setattr(signing, "KEYGEN", "no-such-program")
    report = check_seal(DATA, seal, file, WHEN)
    assert (report.state, report.reason) == ("unknown", "ssh-keygen is not here to check it")


@KEYGEN
def test_a_certificate_signs_nothing_and_no_signature_of_one_is_called_wrong(tmp_path: Path) -> None:
    key, authority = make_key(tmp_path), make_key(tmp_path, "authority")
    subprocess.run(
        ["ssh-keygen", "-q", "-s", str(authority), "-I", "ada", "-n", "ada", str(key.with_suffix(".pub"))],
        check=True,
    )
    certificate = tmp_path / "key-cert.pub"
    shutil.copy(key, tmp_path / "key-cert")  # where the program looks for its private half without an agent
    with pytest.raises(UsageError, match="is a certificate"):
        sign_bytes(DATA, certificate)
    done = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(certificate)],
        input=DATA, capture_output=True, check=True,
    )  # fmt: skip
    report = check_seal(DATA, done.stdout.decode(), allowed(key), WHEN)
    assert report.state == "unknown"
    assert "certificate" in report.reason


@KEYGEN
@pytest.mark.parametrize("comment", ["Ada's laptop", 'ada"s laptop', "ada # 1", "\\"])
def test_the_comment_of_a_key_may_be_anything(tmp_path: Path, comment: str) -> None:
    key = make_key(tmp_path)
    kind, text, *_ = key.with_suffix(".pub").read_text().split()
    file = f'"ada example",a#1@x namespaces="arbor" {kind} {text} {comment}\n'.encode()
    report = check_seal(DATA, sign_bytes(DATA, key), file, WHEN)
    assert (report.state, report.signer) == ("good", "ada example,a#1@x")
    assert check_seal(DATA, sign_bytes(DATA, key), b"# " + file, WHEN).state == "unknown"


@KEYGEN
def test_a_key_that_only_an_agent_could_use_says_how_it_gets_there(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    key.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="cannot sign") as caught:
        sign_bytes(DATA, key.with_suffix(".pub"))
    assert caught.value.hint == f"let your agent hold it: ssh-add {key}"
