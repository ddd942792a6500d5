"""SSH keys: signing and checking with the `cryptography` library where it is installed, and who may sign.

An allowed-signers file has lines of `PRINCIPALS [OPTIONS] KEYTYPE BASE64 [COMMENT]`; the options read here are
`namespaces`, `valid-after` and `valid-before`. Lines with any other option allow nobody.
"""

from __future__ import annotations

import base64
import importlib.util
import re
from collections.abc import Iterator
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path

from arbor.errors import IntegrityError, UsageError
from arbor.repo.trust.ssh_signatures import (
    NAMESPACE,
    SshSignature,
    format_signature,
    read_strings,
    signed_blob,
    write_strings,
)
from arbor.store.files import in_words, open_regular

AVAILABLE = importlib.util.find_spec("cryptography") is not None
"""Whether keys can be used without another program."""
_ED25519 = "ssh-ed25519"
_HASH = "sha512"
_WORDS = re.compile(r'(?:[^\s"]|"(?:\\.|[^"\\])*")+')
"""Of a line: spaces may stand in double quotes. A comment is anything, such as half a pair of quotes."""
_TIME = re.compile(r"^(\d{8})(\d{4}(?:\d{2})?)?(Z?)$")

if AVAILABLE:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature


def base64_text(data: bytes) -> str:
    """Base64 as text."""
    return base64.b64encode(data).decode("ascii")


def _read_key(key_path: Path, hint: str) -> bytes:
    try:
        with open_regular(key_path) as file:  # a pipe is not to be waited for
            return file.readall()
    except OSError as error:
        raise UsageError(f"'{key_path}' cannot sign: {in_words(error)[0]}", hint) from error
    except IntegrityError as error:
        raise UsageError(f"'{key_path}' cannot sign: it is no file", hint) from error


def sign_with_key(key_path: Path, data: bytes) -> str | None:
    """An armoured signature by an unencrypted Ed25519 key file; None where the key is of another sort.

    Raises:
        UsageError: when the file cannot be read.
    """
    content = _read_key(key_path, "name a key with: arbor config sign.key PATH")
    try:
        key = serialization.load_ssh_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        return None
    public = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    blob = write_strings(_ED25519.encode(), public)
    unsigned = SshSignature(blob, NAMESPACE, _HASH, b"")
    made = write_strings(_ED25519.encode(), key.sign(signed_blob(unsigned, data)))
    return format_signature(SshSignature(blob, NAMESPACE, _HASH, made))


def sign_raw(key_path: Path, data: bytes) -> tuple[bytes, bytes]:
    """(public key, signature) of bytes under an unencrypted Ed25519 key file, each as bare bytes.

    Raises:
        UsageError: when there is no such key there, or no library to use it.
    """
    hint = "name an Ed25519 key without a passphrase with: arbor config sign.key PATH"
    if not AVAILABLE:
        raise UsageError("a checkpoint is signed by the cryptography library, which is not installed",
                         "install arbor-kb[sign]")  # fmt: skip
    try:
        key = serialization.load_ssh_private_key(_read_key(key_path, hint), None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(f"'{key_path}' cannot sign a checkpoint: it cannot be read", hint) from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError(f"'{key_path}' cannot sign a checkpoint: it is no Ed25519 key", hint)
    public = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return public, key.sign(data)


def is_raw_signature(public_key: bytes, signature: bytes, data: bytes) -> bool | None:
    """Whether a bare Ed25519 signature is right; None where nothing here can tell."""
    if not AVAILABLE:
        return None
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public_key).verify(signature, data)
    except (ValueError, InvalidSignature):
        return False
    return True


def ed25519_signers(allowed: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(blob, bare public key) of each Ed25519 key in an allowed-signers file."""
    for line in allowed.decode("utf-8", "replace").splitlines():
        row = _parse_line(line)
        if row is None:
            continue
        try:
            name, public, *_ = read_strings(row[2])
        except (IntegrityError, ValueError):
            continue
        if name == _ED25519.encode():
            yield row[2], public


def sort_of(public_key: bytes) -> str:
    """The sort of a key as its blob names it, such as `ssh-ed25519`; "" where it names none."""
    length = int.from_bytes(public_key[:4], "big")
    name = public_key[4 : 4 + length]
    return name.decode("ascii") if len(name) == length and name.isascii() else ""


def is_of_device(sort: str) -> bool:
    """Whether a key lies in a security key, whose signatures the library does not check."""
    return sort.startswith("sk-")


def is_certificate(sort: str) -> bool:
    """Whether a key comes with what an authority says of it."""
    return sort.endswith("-cert-v01@openssh.com")


def verify_with_key(signature: SshSignature, blob: bytes) -> bool:
    """Whether the key in a signature made it over these bytes; False for keys of an unknown or weak sort."""
    try:
        name, *_ = read_strings(signature.public_key)
        algorithm, raw = read_strings(signature.signature)
        text = name + b" " + base64.b64encode(signature.public_key)
        key = serialization.load_ssh_public_key(text)
        return _verify(key, name.decode("ascii"), algorithm.decode("ascii"), raw, blob)
    except (ValueError, TypeError, IntegrityError, UnsupportedAlgorithm, InvalidSignature):
        return False


def _verify(key: object, name: str, algorithm: str, raw: bytes, blob: bytes) -> bool:
    """Check one sort of key; what is wrong is raised as InvalidSignature or ValueError."""
    if isinstance(key, ed25519.Ed25519PublicKey) and name == algorithm == _ED25519:
        key.verify(raw, blob)
        return True
    if isinstance(key, ec.EllipticCurvePublicKey) and name == algorithm:
        by_size = {256: hashes.SHA256(), 384: hashes.SHA384(), 521: hashes.SHA512()}
        first, second = (int.from_bytes(part, "big") for part in read_strings(raw))
        key.verify(encode_dss_signature(first, second), blob, ec.ECDSA(by_size[key.curve.key_size]))
        return True
    if isinstance(key, rsa.RSAPublicKey) and name == "ssh-rsa" and key.key_size >= 2048:
        chosen = {"rsa-sha2-256": hashes.SHA256(), "rsa-sha2-512": hashes.SHA512()}.get(algorithm)
        if chosen is not None:
            key.verify(raw, blob, padding.PKCS1v15(), chosen)
            return True
    return False


def find_signer(allowed: bytes, public_key: bytes, namespace: str, seconds: int) -> tuple[str, str]:
    """(principals, reason) of a key in an allowed-signers file; ("", why not) where it may not sign this."""
    reason = "the key is not in the allowed-signers file"
    for line in allowed.decode("utf-8", "replace").splitlines():
        row = _parse_line(line)
        if row is None or row[2] != public_key:
            continue
        principals, options, _ = row
        why = _why_not(options, namespace, seconds)
        if not why:
            return principals, ""
        reason = why
    return "", reason


def _parse_line(line: str) -> tuple[str, dict[str, str], bytes] | None:
    """(principals, options, key blob) of one line; None for comments and lines that cannot be read."""
    words = [] if line.lstrip().startswith("#") else _WORDS.findall(line)
    if len(words) < 3:
        return None
    principals, rest = words[0].replace('"', ""), words[1:]
    options: dict[str, str] = {}
    if not _is_key_type(rest[0]):
        for option in re.findall(r'[^,="]+(?:="[^"]*")?', rest[0]):
            name, _, value = option.partition("=")
            options[name.lower()] = value.strip('"')
        rest = rest[1:]
    if len(rest) < 2 or not _is_key_type(rest[0]):
        return None
    try:
        return principals, options, base64.b64decode(rest[1], validate=True)
    except ValueError:  # binascii.Error is one, and what is said of a text that is not ASCII another
        return None


def _is_key_type(word: str) -> bool:
    return word.startswith(("ssh-", "ecdsa-", "sk-", "rsa-"))


def _why_not(options: dict[str, str], namespace: str, seconds: int) -> str:
    for name, value in options.items():
        if name == "namespaces":
            if not any(fnmatchcase(namespace, pattern) for pattern in value.split(",")):
                return "the key is not allowed for this purpose (namespaces)"
        elif name in ("valid-after", "valid-before"):
            moment = _moment(value)
            if moment is None or (seconds < moment if name == "valid-after" else seconds >= moment):
                return f"the key was not allowed at that time ({name})"
        else:
            return f"the allowed-signers file has the option '{name[:40]}', which is not known"
    return ""


def _moment(text: str) -> int | None:
    """Seconds since 1970 of `YYYYMMDD[HHMM[SS]][Z]`; local time without the Z, as ssh-keygen has it."""
    match = _TIME.match(text)
    if match is None:
        return None
    day, clock, zone = match.groups()
    try:
        moment = datetime.strptime(f"{day}{(clock or '').ljust(6, '0')}+0000", "%Y%m%d%H%M%S%z")
    except ValueError:
        return None
    return int((moment if zone else moment.replace(tzinfo=None).astimezone()).timestamp())
