"""The bytes of an SSH signature: armour, fields, and what exactly is signed. Source: OpenSSH's PROTOCOL.sshsig."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

from arbor.errors import IntegrityError
from arbor.records import dataclass

NAMESPACE = "arbor"
MAGIC = b"SSHSIG"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_ARMOUR = re.compile(rf"\A{_BEGIN}\n([A-Za-z0-9+/=\n]+)\n{_END}\n?\Z")
_MAX_SEAL_CHARS = 16 * 1024
_LINE = 70
_HASHES = {"sha256": hashlib.sha256, "sha512": hashlib.sha512}


@dataclass(frozen=True, slots=True)
class SshSignature:
    """The fields of a signature: the key's blob, the namespace, the hash's name, and the signature's own blob."""

    public_key: bytes
    namespace: str
    hash_name: str
    signature: bytes


def read_strings(data: bytes) -> list[bytes]:
    """The strings that stand one after the other, each after its length.

    Raises:
        IntegrityError: when the data ends inside one.
    """
    found, place = [], 0
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        place += 4
        if place + size > len(data):
            raise IntegrityError("the signature is cut short")
        found.append(data[place : place + size])
        place += size
    return found


def write_strings(*parts: bytes) -> bytes:
    """The parts one after the other, each after its length."""
    return b"".join([len(part).to_bytes(4, "big") + part for part in parts])


def parse_signature(armoured: str) -> SshSignature:
    """The signature in an armoured text.

    Raises:
        IntegrityError: when it is malformed, or of another namespace or hash than may be used.
    """
    match = _ARMOUR.match(armoured) if len(armoured) <= _MAX_SEAL_CHARS else None
    if match is None:
        raise IntegrityError("the signature is not an armoured SSH signature")
    try:
        data = base64.b64decode(match.group(1).replace("\n", ""), validate=True)
    except binascii.Error as error:
        raise IntegrityError("the signature is not an armoured SSH signature") from error
    if data[:6] != MAGIC or data[6:10] != b"\0\0\0\1":
        raise IntegrityError("the signature is of an unknown version")
    fields = read_strings(data[10:])
    if len(fields) != 5:
        raise IntegrityError("the signature has another number of fields than it must")
    key, namespace, reserved, hash_name, signature = fields
    if namespace != NAMESPACE.encode() or reserved:
        raise IntegrityError("the signature was made for another purpose")
    if hash_name.decode("ascii", "replace") not in _HASHES:
        raise IntegrityError("the signature uses an unknown hash")
    return SshSignature(key, NAMESPACE, hash_name.decode("ascii"), signature)


def signed_blob(signature: SshSignature, data: bytes) -> bytes:
    """What the key signs for a message."""
    digest = _HASHES[signature.hash_name](data).digest()
    return MAGIC + write_strings(signature.namespace.encode(), b"", signature.hash_name.encode(), digest)


def format_signature(signature: SshSignature) -> str:
    """The armoured text of a signature."""
    data = (
        MAGIC
        + b"\0\0\0\1"
        + write_strings(
            signature.public_key,
            signature.namespace.encode(),
            b"",
            signature.hash_name.encode(),
            signature.signature,
        )
    )
    text = base64.b64encode(data).decode("ascii")
    lines = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
    return "\n".join([_BEGIN, *lines, _END, ""])
