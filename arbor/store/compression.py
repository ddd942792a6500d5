"""zstd, with the declared size checked before anything is unpacked.

`compression.zstd` is in the standard library from Python 3.14; `backports.zstd` is the same module for older ones.
"""

from __future__ import annotations

import sys

from arbor.errors import IntegrityError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL = 5


def compress(data: bytes) -> bytes:
    """One zstd frame that declares its size and carries a checksum."""
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: LEVEL,
        zstd.CompressionParameter.checksum_flag: 1,
    }
    return zstd.compress(data, options=options)


def decompress(data: bytes, expected_bytes: int) -> bytes:
    """The content of one zstd frame that must be exactly `expected_bytes` long.

    Raises:
        IntegrityError: when the frame is damaged, declares another size or none, or something follows it.
    """
    try:
        declared = zstd.get_frame_info(data).decompressed_size
        if declared != expected_bytes or zstd.get_frame_size(data) != len(data):
            raise IntegrityError("a compressed frame does not declare the size it should have")
        raw = zstd.decompress(data)
    except (zstd.ZstdError, EOFError, MemoryError, ValueError) as error:
        raise IntegrityError("a compressed frame is damaged") from error
    if len(raw) != expected_bytes:
        raise IntegrityError("a compressed frame is not as long as it declares")
    return raw
