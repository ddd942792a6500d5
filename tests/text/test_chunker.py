"""The passages of a text are the text, follow its structure, and keep to their sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.text.chunker import Block, Mark, Structure, chunk_text, compute_reach_bytes
from arbor.text.extraction import DEFAULT_POLICY, ChunkPolicy
from arbor.text.readers.markdown import find_structure
from tests.text.strategies import any_texts, markdown_texts, policies

SMALL = ChunkPolicy(target_bytes=100, cap_bytes=200, min_bytes=20)


def chunk_markdown(text: str, policy: ChunkPolicy = SMALL) -> list[str]:
    data = text.encode()
    passages = chunk_text(data, policy, find_structure(b"\n" + data, 1))
    assert b"".join(passage.data for passage in passages) == data
    return [passage.data.decode() for passage in passages]


def test_an_empty_text_has_no_passages() -> None:
    assert chunk_text(b"", DEFAULT_POLICY) == []


def test_a_short_text_is_one_passage() -> None:
    assert chunk_markdown("# A\n\nsome words\n") == ["# A\n\nsome words\n"]


@given(text=any_texts, policy=policies)
def test_passages_partition_the_text_and_keep_to_the_cap(text: str, policy: ChunkPolicy) -> None:
    data = text.encode("utf-8", "surrogatepass")
    passages = chunk_text(data, policy, find_structure(b"\n" + data, 1))
    assert b"".join(passage.data for passage in passages) == data
    assert sum(passage.newlines for passage in passages) == data.count(b"\n")
    for passage in passages:
        assert 0 < len(passage.data) <= policy.cap_bytes
        assert passage.newlines == passage.data.count(b"\n")


@given(data=st.binary(max_size=600), policy=policies)
def test_any_bytes_are_partitioned(data: bytes, policy: ChunkPolicy) -> None:
    passages = chunk_text(data, policy, find_structure(b"\n" + data, 1))
    assert b"".join(passage.data for passage in passages) == data
    assert all(len(passage.data) <= policy.cap_bytes for passage in passages)


@given(text=any_texts, policy=policies)
def test_no_character_is_cut(text: str, policy: ChunkPolicy) -> None:
    text = text.encode("utf-8", "replace").decode("utf-8")
    data = text.encode()
    pieces = [passage.data.decode() for passage in chunk_text(data, policy, find_structure(b"\n" + data, 1))]
    assert "".join(pieces) == text


@pytest.mark.parametrize("line", ["ab" + "知" * 666, "x" + "é" * 999 + "y", "🎉" * 500, "x" * 2000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_no_character_is_cut_where_a_line_ends_at_the_limit(line: str, end: str) -> None:
    data = (line + end).encode() * 3
    passages = chunk_text(data, DEFAULT_POLICY)
    assert b"".join(passage.data for passage in passages) == data
    pieces = [passage.data.decode() for passage in passages]
    assert not any(piece.startswith("\n") for piece in pieces)


@given(text=markdown_texts)
def test_only_the_last_passage_is_under_the_least_size(text: str) -> None:
    data = text.encode()
    passages = chunk_text(data, SMALL)  # without blocks, before which a passage may end early
    assert all(len(passage.data) >= SMALL.min_bytes - 4 for passage in passages[:-1])


def test_paragraphs_are_cut_between_not_within() -> None:
    paragraphs = [f"paragraph {number} " + "word " * 8 + "end\n\n" for number in range(9)]
    for passage in chunk_markdown("".join(paragraphs)):
        assert passage.startswith("paragraph")
        assert passage.endswith("end\n\n")


def test_windows_line_ends_separate_paragraphs_too() -> None:
    text = "".join(f"paragraph {number} " + "word " * 10 + "end\r\n\r\n" for number in range(6))
    assert all(passage.endswith("end\r\n\r\n") for passage in chunk_markdown(text))


def test_a_heading_begins_a_passage_unless_the_one_before_is_small() -> None:
    text = "# A\n\n## B\n\n" + "words " * 8 + "\n\n## C\n\nfew\n"
    assert chunk_markdown(text) == ["# A\n\n## B\n\n" + "words " * 8 + "\n\n", "## C\n\nfew\n"]


def test_a_paragraph_up_to_the_cap_stays_whole() -> None:
    text = "x" * 190 + "\n\nnext paragraph that is long enough\n"
    assert chunk_markdown(text)[0] == "x" * 190 + "\n\n"


@pytest.mark.parametrize(
    ("unit", "ending"),
    [
        ("a line of words\n", "\n"),
        ("a line of words\r", "\r"),
        ("A sentence with words. ", ". "),
        ("一个句子。", "。"),
        ("words ", " "),
    ],
)
def test_a_paragraph_over_the_cap_is_cut_at_the_best_place_there_is(unit: str, ending: str) -> None:
    passages = chunk_markdown(unit * (1200 // len(unit)))
    assert len(passages) > 2
    assert all(passage.endswith(ending) for passage in passages)


def test_without_any_place_to_cut_characters_stay_whole() -> None:
    assert all(set(passage) == {"长"} for passage in chunk_markdown("长" * 500))
    assert all(set(passage) == {"😀"} for passage in chunk_markdown("😀" * 300))


def test_a_line_end_of_two_bytes_is_not_cut() -> None:
    for length in range(90, 110):
        passages = chunk_markdown("y" * length + "\r\n" + "z" * 300)
        assert not any(passage.endswith("\r") for passage in passages)


def test_blank_lines_beyond_the_cap_begin_the_next_passage() -> None:
    text = b"x" * (SMALL.cap_bytes - 2) + b"\n" * 7 + b"y" * 500
    sizes = [len(passage.data) for passage in chunk_text(text, SMALL)]
    assert sizes[0] == SMALL.cap_bytes
    assert max(sizes) == SMALL.cap_bytes


def test_fenced_code_stays_whole() -> None:
    code = "```py\n" + "a = 1\n\n" * 20 + "```\n"
    passages = chunk_markdown(
        "Some words before the code.\n\n" + code + "\nAfter it come more words, and more.\n"
    )
    assert [passage for passage in passages if code in passage] != []


def test_fenced_code_over_the_cap_is_cut_at_line_ends() -> None:
    passages = chunk_markdown("```\n" + "value = compute(1)\n" * 40 + "```\n")
    assert len(passages) > 3
    assert all(passage.endswith("\n") for passage in passages)


def test_heading_paths() -> None:
    filler = "words " * 10 + "\n\n"
    text = f"# A\n\n{filler}## B\n\n{filler}### C\n\n{filler}## D\n\n{filler}# E\n\n{filler}"
    data = text.encode()
    passages = chunk_text(data, SMALL, find_structure(b"\n" + data, 1))
    assert [passage.headings for passage in passages] == [
        ("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",),
    ]  # fmt: skip


def test_a_long_section_keeps_its_heading_path() -> None:
    data = ("# A\n\n## B\n\n" + ("words " * 10 + "\n\n") * 9).encode()
    passages = chunk_text(data, SMALL, find_structure(b"\n" + data, 1))
    assert len(passages) > 3
    assert {passage.headings for passage in passages} == {("A", "B")}


def test_a_heading_inside_a_passage_counts_from_the_next_on() -> None:
    data = ("# A\n\nfew\n\n# B\n\n" + ("words " * 10 + "\n\n") * 4).encode()
    passages = chunk_text(data, SMALL, find_structure(b"\n" + data, 1))
    assert [passage.headings for passage in passages][:2] == [("A",), ("B",)]


def test_a_preamble_goes_by_the_first_heading() -> None:
    data = ("few\n\n## A\n\n### B\n\n" + ("words " * 10 + "\n\n") * 4).encode()
    passages = chunk_text(data, SMALL, find_structure(b"\n" + data, 1))
    assert [passage.headings for passage in passages][:2] == [("A",), ("A", "B")]


def test_structure_is_taken_from_the_caller() -> None:
    data = b"x" * 60 + b"\nchapter two\n" + b"y" * 60 + b"\n"
    mark = Mark(62, 73, 1, "two")
    passages = chunk_text(data, SMALL, Structure([mark], [Block(74, 134)]))
    assert [passage.headings for passage in passages] == [(), ("two",)]


def test_a_policy_must_make_sense() -> None:
    with pytest.raises(ValueError, match="chunk policy"):
        ChunkPolicy(target_bytes=10, cap_bytes=5, min_bytes=16)


def test_reach_grows_with_the_cap() -> None:
    assert compute_reach_bytes(SMALL) < compute_reach_bytes(DEFAULT_POLICY)
