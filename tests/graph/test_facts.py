"""What is taken from one document: prose only, the same terms in every process, within limits."""

from __future__ import annotations

import pytest

from arbor.graph.facts import POOL_TERMS, SEQUENCE_MAX, gather_facts, measure_text, term_hash
from arbor.graph.markup import READ_MAX_CHARS, consensus_text
from tests.graph.labelled_set import fact


@pytest.mark.parametrize(
    ("text", "kept", "left_out"),
    [
        ("---\ntitle: Hidden\n---\nShown", "Shown", "Hidden"),
        ("+++\ntitle = 'Hidden'\n+++\nShown", "Shown", "Hidden"),
        ("Shown\n```python\nhidden()\n```\nalso", "also", "hidden"),
        ("Shown\n~~~\nhidden\n~~~\nalso", "also", "hidden"),
        ("Shown\n````\n```\nhidden\n```\n````\nalso", "also", "hidden"),
        ("Shown <!-- hidden --> also", "also", "hidden"),
        ("Shown %% hidden %% also", "also", "hidden"),
        ("[Shown](https://hidden.org/a_(b))", "Shown", "hidden"),
        ("[Shown][1]\n\n[1]: https://hidden.org", "Shown", "hidden"),
        ("[[hidden|Shown]] also", "Shown", "hidden"),
        ("Shown at https://hidden.org/path also", "also", "hidden"),
        ('<span class="hidden">Shown</span>', "Shown", "hidden"),
    ],
)
def test_markup_is_left_out_and_prose_stays(text: str, kept: str, left_out: str) -> None:
    found = consensus_text(text)
    assert kept in found
    assert left_out not in found


def test_an_unclosed_fence_runs_to_the_end_and_a_rule_is_no_front_matter() -> None:
    assert "hidden" not in consensus_text("Shown\n```\nhidden")
    assert "kept" in consensus_text("Title\n---\nkept\n---\nmore")
    assert "kept" in consensus_text("--- not a fence\nkept")


def test_plain_text_is_taken_as_it_is() -> None:
    assert "```" in consensus_text("```\ncode\n```", "text/plain")
    assert len(consensus_text("x" * (READ_MAX_CHARS + 5), "text/plain")) == READ_MAX_CHARS


def test_terms_counts_and_sequence_belong_together() -> None:
    terms, counts, sequence = measure_text("Coral bleaches. Bleached coral starves when corals starve.")
    assert [terms[index] for index in sequence].count("coral") == counts[terms.index("coral")] == 3
    assert len(terms) == len(counts) == len(set(terms))
    assert sum(counts) == len(sequence)


def test_a_long_text_keeps_what_it_repeats() -> None:
    words = [f"w{number}x" for number in range(700)]
    text = " ".join([*words, *words[600:620], *["result"] * 9, *words] + ["tail"] * SEQUENCE_MAX)
    terms, _, sequence = measure_text(text)
    assert len(terms) == POOL_TERMS
    assert len(sequence) == SEQUENCE_MAX
    assert set(words[600:620]) < set(terms)
    assert "result" not in terms  # a word of general prose comes after all others


def test_hashes_are_the_same_everywhere() -> None:
    # Frozen: labels of two machines agree only while these numbers stay.
    assert term_hash("coral") == 489294476561708825
    assert 0 <= term_hash("珊瑚") < 1 << 63


def test_several_processes_find_what_one_finds() -> None:
    texts = [
        f"note {number} about {'reef' if number % 2 else 'bread'} and yeast{number}" for number in range(650)
    ]
    gathered = gather_facts(list(enumerate(texts)), lambda row: fact(f"{row[0]}.md", row[1]))
    assert gathered == [fact(f"{number}.md", text) for number, text in enumerate(texts)]
