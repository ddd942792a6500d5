"""zstd frames: the declared size is checked before anything is unpacked."""

from __future__ import annotations

import contextlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.errors import IntegrityError
from arbor.store import compression

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@given(st.binary(max_size=2000))
def test_what_goes_in_comes_out(data: bytes) -> None:
    assert compression.decompress(compression.compress(data), len(data)) == data


@given(st.binary(min_size=1, max_size=200), st.data())
def test_a_changed_frame_gives_the_same_or_an_integrity_error(content: bytes, data: st.DataObject) -> None:
    packed = bytearray(compression.compress(content))
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(IntegrityError):
        assert compression.decompress(bytes(packed), len(content)) == content


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_an_integrity_error(data: bytes) -> None:
    with contextlib.suppress(IntegrityError):
        compression.decompress(data, 10)


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = compression.compress(bytes(300 * 1024 * 1024))
    assert len(bomb) < 64 * 1024
    monkeypatch.setattr(compression.zstd, "decompress", lambda *args: pytest.fail("it was unpacked"))
    for expected in (1024, 0, 2**20):
        with pytest.raises(IntegrityError):
            compression.decompress(bomb, expected)


def test_a_frame_without_a_size_is_refused() -> None:
    options = {zstd.CompressionParameter.content_size_flag: 0}
    packed = zstd.compress(b"abc" * 10, options=options)
    with pytest.raises(IntegrityError):
        compression.decompress(packed, 30)


@pytest.mark.parametrize("extra", [b"x", b"\0", compression.compress(b"more")])
def test_nothing_may_follow_the_frame(extra: bytes) -> None:
    with pytest.raises(IntegrityError):
        compression.decompress(compression.compress(b"abc") + extra, 3)


@pytest.mark.parametrize("size", [0, 2, 4, 2**40])
def test_the_size_must_be_the_one_that_is_expected(size: int) -> None:
    with pytest.raises(IntegrityError):
        compression.decompress(compression.compress(b"abc"), size)


def test_a_frame_that_declares_less_than_it_holds_is_refused() -> None:
    packed = bytearray(compression.compress(bytes(200)))
    assert (
        packed[5] == 200
    )  # a small frame has its size in one byte after the magic number and the descriptor
    packed[5] = 100
    with pytest.raises(IntegrityError):
        compression.decompress(bytes(packed), 100)
