from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from arbor.text.folded_text import fold_in_place, without_accents
from arbor.text.folding import fold, join_lines, spell_names

PIECES = st.sampled_from([
    *"aE -.\n>", "\r\n", "C++", "f#", ".NET", "é", "e\u0301", "co\u00adop", "ﬃ", "ß", "İ", "Й", "и\u0306", "知识", "ｶﾞ",
    "カ\u3099", "\u1112\u1161\u11ab", "한", "😀", "❤️", "हिन्दी", "™", "½", "\u00ad", "\u0301",
    "\u200b", "2024-05-31T", "09:30", "ʼ", "٣", "أ", "फ़", "∑", "葛\U000e0100",
])  # fmt: skip


@given(st.lists(PIECES, max_size=20).map("".join))
@example("知识\n\xad知识")
@example("2024-05-31T\xad09:30, ２０２４-05-31T09:30")
def test_the_text_is_that_of_the_index_and_every_character_has_a_place(text: str) -> None:
    folded = fold_in_place(text)
    assert folded.text == spell_names(fold(join_lines(text))).lower()
    assert len(folded.starts) == len(folded.ends) == len(without_accents(folded.text)) == len(folded.text)
    assert all(0 <= start < end <= len(text) for start, end in zip(folded.starts, folded.ends, strict=True))
    assert all(
        before <= after for places in (folded.starts, folded.ends) for before, after in pairwise(places)
    )


def test_where_characters_stand() -> None:
    text = "ﬁn\u00ade C++"
    folded = fold_in_place(text)
    assert folded.text == "fine cplusplus "
    assert [text[start:end] for start, end in zip(folded.starts[:5], folded.ends[:5], strict=True)] == [
        "ﬁ", "ﬁ", "n\u00ad", "e", " ",
    ]  # fmt: skip
    assert (folded.starts[6], folded.ends[13]) == (6, 8)
