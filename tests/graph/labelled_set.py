"""Texts with known corroboration: topics told independently, neighbours of the topic, and edited reposts.

`data/corroboration_{en,zh}.txt` hold eighteen topics in texts of three to six sentences, `corroboration_short_*.txt`
thirteen in two to four sentences, and `corroboration_foreign_*.txt` six short ones by somebody who did not know how
copies are told. `# name` starts a topic, `= told` a telling of it by another hand, and `= neighbour` a text that lies
near it but says something else. Reposts are made here, by light edits.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path

from arbor.graph.facts import DocumentFacts, document_facts
from arbor.text.segmentation import segment_han

DATA = Path(__file__).with_name("data")
_SENTENCE = re.compile(r"(?<=[.!?。!?;])\s*")


@dataclass(slots=True)
class Topic:
    """One topic of the set."""

    name: str
    language: str
    told: list[str] = field(default_factory=list)
    neighbours: list[str] = field(default_factory=list)


@cache
def topics(kind: str = "") -> tuple[Topic, ...]:
    """All topics of a kind, `short_`, `foreign_` or the usual ones, in the order of the files."""
    found: list[Topic] = []
    for language in ("en", "zh"):
        text = (DATA / f"corroboration_{kind}{language}.txt").read_text(encoding="utf-8")
        for block in re.split(r"^(?=[#=] )", text, flags=re.MULTILINE):
            head, _, body = block.strip().partition("\n")
            if head.startswith("# "):
                found.append(Topic(head[2:], language))
            elif head == "= told":
                found[-1].told.append(body)
            elif head == "= neighbour":
                found[-1].neighbours.append(body)
    return tuple(found)


def half(which: str) -> tuple[Topic, ...]:
    """`tuned`: the topics that thresholds were chosen on; `confirming`: the others; `all`."""
    everything = topics()
    return {"tuned": everything[::2], "confirming": everything[1::2], "all": everything}[which]


def fact(key: str, text: str, origins: Sequence[str] = (), disputes: Sequence[str] = ()) -> DocumentFacts:
    """The facts of a text at a key; equal texts with equal origins are one document."""
    oid = blake2b(repr((text, sorted(origins))).encode(), digest_size=32).digest()
    return document_facts(key, oid, text, origins=origins, disputes=disputes)


def tellings(chosen: Sequence[Topic]) -> Iterator[DocumentFacts]:
    """Every telling, at `told/TOPIC/NUMBER.md`."""
    for topic in chosen:
        for number, text in enumerate(topic.told):
            yield fact(f"told/{topic.name}/{number}.md", text)


def neighbours(chosen: Sequence[Topic]) -> Iterator[DocumentFacts]:
    """Every neighbour, at `near/TOPIC/NUMBER.md`."""
    for topic in chosen:
        for number, text in enumerate(topic.neighbours):
            yield fact(f"near/{topic.name}/{number}.md", text)


def reposted(chosen: Sequence[Topic], seed: int, strength: float) -> Iterator[DocumentFacts]:
    """One telling of each topic at `repost/TOPIC/original.md`, with three edited reposts beside it."""
    source = random.Random(seed)
    for topic in chosen:
        text = source.choice(topic.told)
        yield fact(f"repost/{topic.name}/original.md", text)
        others = [
            told
            for other in topics()
            if other is not topic and other.language == topic.language
            for told in other.told
        ]
        for number in range(3):
            edited = edit_lightly(text, topic.language, others, source, strength)
            yield fact(f"repost/{topic.name}/{number}.md", edited)


def edit_lightly(
    text: str, language: str, others: Sequence[str], source: random.Random, strength: float
) -> str:
    """A text as somebody reposts it: a new title, sentences moved, one put in, words replaced, swapped or left out.

    Args:
        text: The original.
        language: `en` or `zh`.
        others: Texts to take foreign words and sentences from.
        source: Decides everything.
        strength: Share of the words that are touched.
    """
    sentences = [part for part in _SENTENCE.split(text) if part]
    if source.random() < 0.5:
        source.shuffle(sentences)
    if source.random() < 0.6:
        sentences.insert(
            source.randrange(len(sentences) + 1),
            source.choice(_SENTENCE.split(source.choice(others))) or "Indeed.",
        )
    joint = "" if language == "zh" else " "
    edited = [
        joint.join(_edit_words(split_words(each, language), language, others, source, strength))
        for each in sentences
    ]
    if source.random() < 0.3 and language == "en":
        edited = [each.upper() for each in edited]
    return f"# {source.choice(('Read this', 'Fwd', '转发', 'Worth knowing'))}\n\n" + joint.join(edited)


_SWAPPED = {
    "the": "this",
    "and": "plus",
    "water": "liquid",
    "note": "memo",
    "的": "之",
    "和": "与",
    "把": "将",
}
_GREETINGS = {
    "en": ("Reposted from my friend's blog, enjoy!", "Thanks for reading, follow me."),
    "zh": ("转自朋友的博客，推荐大家阅读。", "感谢阅读，欢迎关注我的频道。"),
}


def repost_with_greeting(text: str, language: str, source: random.Random, strength: float) -> str:
    """A text as a blog reposts it: words swapped or lost, sentences moved or dropped, a greeting put around."""
    sentences = [part for part in _SENTENCE.split(text) if part]
    if (fate := source.random()) < 0.33:
        source.shuffle(sentences)
    elif fate < 0.66 and len(sentences) > 2:
        sentences.pop(source.randrange(len(sentences)))
    joint = "" if language == "zh" else " "
    edited = [
        joint.join(
            _SWAPPED.get(word, word) for word in split_words(each, language) if source.random() >= strength
        )
        for each in sentences
    ]
    before, after = _GREETINGS[language]
    edited = [before] * (source.random() < 0.5) + edited + [after] * (source.random() < 0.5)
    return joint.join(edited)


def greeted(chosen: Sequence[Topic], seed: int, strength: float) -> Iterator[DocumentFacts]:
    """As `reposted`, by `repost_with_greeting`."""
    source = random.Random(seed)
    for topic in chosen:
        text = source.choice(topic.told)
        yield fact(f"repost/{topic.name}/original.md", text)
        for number in range(3):
            edited = repost_with_greeting(text, topic.language, source, strength)
            yield fact(f"repost/{topic.name}/{number}.md", edited)


def split_words(sentence: str, language: str) -> list[str]:
    """The words of a sentence, such that joining them gives it back."""
    if language == "en":
        return sentence.split(" ")
    parts = re.split(r"([\u4e00-\u9fff]+)", sentence)
    return [
        word
        for part in parts
        for word in (segment_han(part) if re.match(r"[\u4e00-\u9fff]", part) else [part])
    ]


def _edit_words(
    words: list[str], language: str, others: Sequence[str], source: random.Random, strength: float
) -> list[str]:
    words = list(words)
    for index in range(len(words)):
        if source.random() >= strength:
            continue
        kind = source.random()
        if kind < 0.5:
            words[index] = source.choice(split_words(source.choice(others), language))
        elif kind < 0.75 and index + 1 < len(words):
            words[index], words[index + 1] = words[index + 1], words[index]
        else:
            words[index] = ""
    return words
