"""Invented documents that share words often, and a knowledge base of them that is changed at random."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from arbor.graph.facts import DocumentFacts
from tests.graph.labelled_set import fact

SYLLABLES = ("bar", "den", "fil", "gor", "lum", "nap", "ret", "sov")
WORDS = [f"{one}{other}{third}" for one in SYLLABLES for other in SYLLABLES for third in ("um", "ok")]
TOPICS = [WORDS[start : start + 14] for start in range(0, 112, 14)]
KEYS = [f"notes/{number}.md" for number in range(24)]

SMALL_BOUNDARIES = (3, 6, 12)
"""With these instead of 8, 64 and 512 a few dozen documents carry terms over every boundary, in both directions."""


def invent_text(source: random.Random) -> str:
    """A text out of one topic's words, some common ones and some of anybody's."""
    topic = source.choice(TOPICS)
    words = [source.choice(topic) for _ in range(source.randint(2, 26))]
    words += [source.choice(WORDS[:4]) for _ in range(source.randint(0, 3))]
    words += [source.choice(WORDS) for _ in range(source.randint(0, 9))]
    source.shuffle(words)
    return " ".join(words)


TEXTS = [invent_text(random.Random(number)) for number in range(70)]


@st.composite
def changes(draw: st.DrawFn) -> tuple[list[DocumentFacts], list[str]]:
    """One change of the set: documents put at keys, some of them edited copies, and keys taken out."""
    put = []
    for _ in range(draw(st.integers(0, 5))):
        text = draw(st.sampled_from(TEXTS))
        if draw(st.booleans()):
            words = text.split()
            words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(WORDS))
            text = " ".join(words)
        origins = draw(st.lists(st.sampled_from(("host:a.org", "author:ada")), max_size=1))
        disputes = draw(st.lists(st.sampled_from(KEYS), max_size=1))
        put.append(fact(draw(st.sampled_from(KEYS)), text, origins, disputes))
    return put, draw(st.lists(st.sampled_from(KEYS), max_size=3))
