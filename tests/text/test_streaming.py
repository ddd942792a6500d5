"""A text cut while it is read has the same passages as one cut in one go."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arbor.text.encodings import decode_passage
from arbor.text.extraction import ChunkPolicy, Passage
from arbor.text.readers import get_streamer
from arbor.text.reading import extract, open_stream
from arbor.text.streaming import iter_passages
from tests.text.strategies import PIECES, any_texts, policies

SMALL = ChunkPolicy(target_bytes=40, cap_bytes=60, min_bytes=16)


def stream(data: bytes, reader: str, policy: ChunkPolicy, read_bytes: int) -> list[Passage]:
    streamer = get_streamer(reader)
    assert streamer is not None
    front_bytes = streamer.measure_front(data)
    return list(iter_passages(io.BytesIO(data), policy, streamer.find_structure, front_bytes, read_bytes))


@pytest.mark.parametrize(("reader", "name"), [("markdown", "a.md"), ("plain", "a.txt"), ("source", "a.py")])
@given(text=any_texts, policy=policies, read_bytes=st.integers(1, 400), repeats=st.integers(1, 12))
def test_the_same_passages_as_in_one_go(
    reader: str, name: str, text: str, policy: ChunkPolicy, read_bytes: int, repeats: int
) -> None:
    data = (text.replace("\0", "") * repeats).encode("utf-8", "replace")
    assert stream(data, reader, policy, read_bytes) == list(extract(data, name, policy).passages)


@given(pieces=st.lists(st.sampled_from(PIECES), min_size=200, max_size=800), read_bytes=st.integers(50, 3000))
@example(pieces=["```\n", *["x = 1\n"] * 900, "```\n", "# A\n\nwords"], read_bytes=100)
@example(pieces=["<!--\n", *["# no\n"] * 900, "-->\n", "# A\n\nwords"], read_bytes=100)
@example(pieces=["<pre>\n", *["# no\n"] * 900, "</pre>\n", "# A\n\nwords"], read_bytes=100)
@example(pieces=["<?\n", *["# no\n"] * 900, "?>\n", "# A\n\nwords"], read_bytes=100)
@example(pieces=["---\n", "a: 1\n" * 900, "---\n", "# A\n\nwords"], read_bytes=100)
@example(pieces=["\ufeff# A\n", "words\n" * 900], read_bytes=100)
def test_long_texts_with_all_there_is(pieces: list[str], read_bytes: int) -> None:
    data = "".join(pieces).replace("\0", "").encode()
    assert stream(data, "markdown", SMALL, read_bytes) == list(extract(data, "a.md", SMALL).passages)


def test_a_stream_tells_what_the_head_says() -> None:
    data = b"---\ntitle: Big\n---\n# One\n\n" + b"some words\n\n" * 40_000
    opened = open_stream(io.BytesIO(data), "big.md")
    assert opened.is_text
    assert (opened.extraction.title, opened.extraction.front_matter) == ("Big", {"title": "Big"})
    assert opened.extraction.encoding == "utf-8"
    assert list(opened.passages) == list(extract(data, "big.md").passages)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "a.png"),
        (b"<!doctype html><p>words</p>", "a.html"),
        ("これは日本語のテストです。\n".encode("iso2022_jp") * 50, "a.txt"),
        ("今天天气很好。\n".encode("gb18030") * 50 + b"\xff\n", "a.txt"),
        (b"\0\1\2\3" * 100, "a.txt"),
    ],
)
def test_what_cannot_be_cut_while_it_is_read_is_left_to_be_kept_in_pieces(data: bytes, name: str) -> None:
    opened = open_stream(io.BytesIO(data), name)
    assert not opened.is_text
    assert list(opened.passages) == []
    assert bool(opened.extraction.warnings) != name.endswith("png")


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-be", "utf-32", "gb18030", "cp932", "euc_jp", "cp1252"]
)
def test_text_in_another_encoding_is_cut_in_its_own_bytes(encoding: str) -> None:
    words = {
        "cp932": "検索エンジンの仕組み",
        "euc_jp": "検索エンジンの仕組み",
        "cp1252": "où est le café fermé",
    }
    line = words.get(encoding, "今天天气很好，我们一起去公园散步吧。é") + "\n\n"
    text = "---\ntitle: Big\n---\n# One\n\n" + line * 20_000
    data = text.encode(encoding)
    opened = open_stream(io.BytesIO(data), "big.md")
    assert opened.is_text
    assert opened.extraction.title == "Big"
    passages = list(opened.passages)
    assert b"".join(passage.data for passage in passages) == data
    shown = [decode_passage(passage.data, opened.extraction.encoding) for passage in passages]
    assert "".join(shown) == text
    assert max(len(passage.data) for passage in passages) <= ChunkPolicy().cap_bytes
    assert sum(passage.newlines for passage in passages) == text.count("\n")
    assert passages[-1].headings == ("One",)


def test_memory_does_not_grow_with_the_file() -> None:
    class Endless(io.RawIOBase):
        """Yields lines until so many bytes were read."""

        def __init__(self, size: int) -> None:
            self.left = size

        def read(self, size: int = -1) -> bytes:
            piece = (b"some words in a line\n\n" * (size // 22 + 1))[: min(size, self.left)]
            self.left -= len(piece)
            return piece

    streamer = get_streamer("plain")
    assert streamer is not None
    tracemalloc.start()
    try:
        peaks = []
        for size in (4 << 20, 24 << 20):
            tracemalloc.reset_peak()
            total = 0
            for passage in iter_passages(Endless(size), ChunkPolicy(), streamer.find_structure):  # type: ignore[arg-type]
                total += len(passage.data)
            assert total == size
            peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5
