"""Signatures on commits and tags, in the format of `ssh-keygen -Y sign`, checked against an allowed-signers file.

A signature signs the object's encoding with an empty seal, in the namespace `arbor`. Where the `cryptography` library
is installed, signatures of keys in files are made and checked without another program; elsewhere, and those of security
keys, by `ssh-keygen`.
Source: OpenSSH's PROTOCOL.sshsig and ssh-keygen(1), section ALLOWED SIGNERS.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import IntegrityError, UsageError
from arbor.lazy import lazy_module
from arbor.objects.ids import Kind
from arbor.objects.model import Commit, Tag, decode_commit, decode_tag, encode_commit, encode_tag
from arbor.records import dataclass
from arbor.repo.config import Settings
from arbor.repo.repository import Repository
from arbor.repo.trust.ssh_signatures import NAMESPACE, SshSignature, parse_signature, signed_blob
from arbor.store.files import in_words, open_regular

if TYPE_CHECKING:
    import subprocess
    import tempfile

    from arbor.repo.trust import ssh_keys
else:  # a commit that nobody signs needs none of them
    subprocess = lazy_module("subprocess")
    tempfile = lazy_module("tempfile")
    ssh_keys = lazy_module("arbor.repo.trust.ssh_keys")

KEYGEN = "ssh-keygen"
_KEYGEN_S = 60.0
_MAX_ALLOWED_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SealReport:
    """What is known of a signature.

    Attributes:
        state: `none` (unsigned), `good` (right, by an allowed signer), `unknown` (right, but the key is not in the
            allowed-signers file, or not at that time), `bad` (wrong or malformed).
        signer: The principals of the key in the allowed-signers file; "" where it is not there.
        key: Fingerprint of the key as `ssh-keygen -l` prints it; "" where there is none.
        reason: Why it is not good; "" where it is.
    """

    state: str
    signer: str = ""
    key: str = ""
    reason: str = ""


def sign_bytes(data: bytes, key_path: Path) -> str:
    """An armoured signature over bytes.

    Args:
        data: What is signed.
        key_path: A private key file, or a public one whose private half an ssh agent holds.

    Raises:
        UsageError: when the key cannot be used.
    """
    made = ssh_keys.sign_with_key(key_path, data) if ssh_keys.AVAILABLE else None
    if made is not None:
        return made
    words = [KEYGEN, "-Y", "sign", "-n", NAMESPACE, "-f", str(key_path)]
    done = _run(words, data)
    if done is None or done.returncode:
        reason = "ssh-keygen is not installed" if done is None else _last_line(done.stderr)
        hint = "name a key with: arbor config sign.key PATH"
        if "passphrase" in reason or "No private key" in reason:
            hint = f"let your agent hold it: ssh-add {shlex.quote(str(key_path).removesuffix('.pub'))}"
        raise UsageError(f"'{key_path}' cannot sign: {reason}", hint)
    seal = done.stdout.decode("ascii", "replace")
    if ssh_keys.is_certificate(ssh_keys.sort_of(parse_signature(seal).public_key)):
        raise UsageError(f"'{key_path}' is a certificate, and signatures are by keys alone",
                         "name the key itself with: arbor config sign.key PATH")  # fmt: skip
    return seal


def check_seal(data: bytes, seal: str, allowed: bytes | None, seconds: int) -> SealReport:
    """Whether a signature over bytes is right, and whose it is.

    Args:
        data: What was signed.
        seal: The armoured signature; "" where there is none.
        allowed: Content of an allowed-signers file; None without one.
        seconds: When it was signed, for keys that are allowed for a time only.
    """
    if not seal:
        return SealReport("none", reason="it is not signed")
    try:
        signature = parse_signature(seal)
    except IntegrityError as error:
        return SealReport("bad", reason=error.message)
    key = fingerprint(signature.public_key)
    sort = ssh_keys.sort_of(signature.public_key)
    if ssh_keys.is_certificate(sort):
        return SealReport("unknown", "", key, "it was made with a certificate, which says nothing here")
    right = _is_right(signature, seal, data)
    if right is None:
        missing = (
            "ssh-keygen is not"
            if ssh_keys.AVAILABLE
            else "neither the cryptography library nor ssh-keygen is"
        )
        return SealReport("unknown", "", key, f"{missing} here to check it")
    if not right:
        return SealReport("bad", "", key, "the signature does not fit what it signs")
    if allowed is None:
        return SealReport("unknown", "", key, "no allowed-signers file is set (sign.allowed_signers)")
    signer, reason = ssh_keys.find_signer(allowed, signature.public_key, NAMESPACE, seconds)
    return SealReport("good" if signer else "unknown", signer, key, reason)


def fingerprint(public_key: bytes) -> str:
    """The fingerprint of a public key's blob, as `ssh-keygen -l` prints it."""
    return "SHA256:" + ssh_keys.base64_text(hashlib.sha256(public_key).digest()).rstrip("=")


def _is_right(signature: SshSignature, seal: str, data: bytes) -> bool | None:
    """Whether the key made this signature; None where nothing here can tell."""
    if ssh_keys.AVAILABLE and not ssh_keys.is_of_device(ssh_keys.sort_of(signature.public_key)):
        return ssh_keys.verify_with_key(signature, signed_blob(signature, data))
    with tempfile.TemporaryDirectory(prefix="arbor-") as folder:
        fs_path = Path(folder, "seal")
        fs_path.write_text(seal, "ascii")
        done = _run([KEYGEN, "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(fs_path)], data)
    return None if done is None else done.returncode == 0


def _run(words: list[str], data: bytes) -> subprocess.CompletedProcess[bytes] | None:
    try:
        return subprocess.run(words, input=data, capture_output=True, timeout=_KEYGEN_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None


def _last_line(text: bytes) -> str:
    lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "ssh-keygen failed"


# --- commits and tags


def check_commit(commit: Commit, allowed: bytes | None) -> SealReport:
    """What is known of a commit's signature."""
    return check_seal(encode_commit(replace(commit, seal="")), commit.seal, allowed, commit.committer.seconds)


def check_tag(tag: Tag, allowed: bytes | None) -> SealReport:
    """What is known of a tag's signature."""
    return check_seal(encode_tag(replace(tag, seal="")), tag.seal, allowed, tag.tagger.seconds)


def check_object(repo: Repository, oid: bytes, allowed: bytes | None) -> SealReport:
    """What is known of the signature of a commit or tag object; raises UsageError for another object."""
    kind, data = repo.store.get(oid)
    if kind == Kind.COMMIT:
        return check_commit(decode_commit(data, trusted=True), allowed)
    if kind == Kind.TAG:
        return check_tag(decode_tag(data, trusted=True), allowed)
    raise UsageError(f"object {oid.hex()[:12]} is a {Kind(kind).label}, which is never signed")


def allowed_signers(repo: Repository) -> bytes | None:
    """The content of the allowed-signers file that a KB's settings name; see `read_allowed_signers`."""
    return read_allowed_signers(repo.settings)


def read_allowed_signers(settings: Settings) -> bytes | None:
    """The content of the allowed-signers file that settings name; None where none is named.

    Raises:
        UsageError: when it cannot be read.
    """
    fs_path = settings.get_path("sign.allowed_signers")
    if fs_path is None:
        return None
    try:
        if fs_path == Path(os.devnull):  # nobody is allowed
            return b""
        with open_regular(fs_path) as file:
            data = file.read(_MAX_ALLOWED_BYTES + 1)
    except (OSError, IntegrityError) as error:
        why = in_words(error)[0] if isinstance(error, OSError) else error.message
        raise UsageError(f"the allowed-signers file '{fs_path}' cannot be read: {why}") from error
    if len(data) > _MAX_ALLOWED_BYTES:
        raise UsageError(f"the allowed-signers file '{fs_path}' is larger than {_MAX_ALLOWED_BYTES} bytes")
    return data


def signing_key(repo: Repository) -> Path:
    """The key that settings name; raises UsageError where they name none."""
    fs_path = repo.settings.get_path("sign.key")
    if fs_path is None:
        raise UsageError("there is no key to sign with", "run: arbor config sign.key ~/.ssh/id_ed25519")
    return fs_path


def signer(repo: Repository, wanted: bool | None = None) -> Callable[[bytes], str] | None:
    """What signs a new commit or tag, or None where it stays unsigned.

    Args:
        repo: Whose settings count.
        wanted: Whether to sign; None leaves it to the setting `sign.commits`.

    Raises:
        UsageError: when there is no key to sign with.
    """
    if wanted is False or (wanted is None and not repo.settings.get("sign.commits")):
        return None
    key = signing_key(repo)
    return lambda data: sign_bytes(data, key)


def require_signed(commits: Mapping[bytes, Commit], allowed: bytes | None) -> None:
    """Refuse commits without a good signature.

    Raises:
        IntegrityError: naming the first commit whose signature is not good.
    """
    for oid, commit in commits.items():
        report = check_commit(commit, allowed)
        if report.state != "good":
            raise IntegrityError(
                f"commit {oid.hex()[:12]} is refused: {report.reason}",
                "only signed commits are accepted (pull.require_signed, --require-signed)",
            )
