"""Distillers that quote: the first sentence, the lead, the outline."""

from __future__ import annotations

import re
from types import MappingProxyType

from arbor.repo.distillation.distillers.contract import Distillate, Parameters, Source, Statistics
from arbor.repo.distillation.distillers.prose import cut, first_sentence, plain_text, prose_of

_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_MAX_USED = 64


class _Excerpt:
    """What distillers that quote have in common: the document alone decides what they give."""

    deterministic = True

    def uses_statistics(self, parameters: Parameters) -> bool:
        """Never."""
        del parameters
        return False


class FirstSentence(_Excerpt):
    """The first sentence of the prose."""

    name = "first-sentence"
    version = 3
    defaults: Parameters = MappingProxyType({"max_chars": 300})

    def distill(
        self, source: Source, parameters: Parameters, statistics: Statistics | None
    ) -> Distillate | None:
        """The sentence; from the first passage that has prose."""
        del statistics
        for index, prose in enumerate(prose_of(source)):
            if prose:
                return Distillate(
                    cut(first_sentence(prose[0]), int(parameters["max_chars"])) + "\n", (index,)
                )
        return None


class Lead(_Excerpt):
    """The first paragraphs of the prose."""

    name = "lead"
    version = 3
    defaults: Parameters = MappingProxyType({"paragraphs": 2, "max_chars": 1200})

    def distill(
        self, source: Source, parameters: Parameters, statistics: Statistics | None
    ) -> Distillate | None:
        """The paragraphs, with an empty line between them."""
        del statistics
        wanted = int(parameters["paragraphs"])
        taken: list[str] = []
        used: list[int] = []
        for index, prose in enumerate(prose_of(source)):
            found = prose[: wanted - len(taken)]
            if found:
                taken += found
                used.append(index)
            if len(taken) >= wanted:
                break
        if not taken:
            return None
        return Distillate(cut("\n\n".join(taken), int(parameters["max_chars"])) + "\n", tuple(used))


class Outline(_Excerpt):
    """The headings, as a list whose depth is theirs."""

    name = "outline"
    version = 1
    defaults: Parameters = MappingProxyType({"max_depth": 4, "max_lines": 200})

    def distill(
        self, source: Source, parameters: Parameters, statistics: Statistics | None
    ) -> Distillate | None:
        """The list; None for a document with fewer than two headings."""
        del statistics
        found = _headings(source)
        if len(found) < 2:
            return None
        top = min(level for level, _, _ in found)
        kept = [row for row in found if row[0] - top < int(parameters["max_depth"])][
            : int(parameters["max_lines"])
        ]
        text = "".join(f"{'  ' * (level - top)}- {title}\n" for level, title, _ in kept)
        used = tuple(sorted({index for _, _, index in kept}))
        return Distillate(text, used[:_MAX_USED])


def _headings(source: Source) -> list[tuple[int, str, int]]:
    """(level, title, passage) of each heading: from Markdown text, else from the heading paths."""
    found: list[tuple[int, str, int]] = []
    if source.media_type == "text/markdown":
        fenced = False
        for index, text in enumerate(source.texts):
            for line in text.splitlines():
                if _FENCE.match(line):
                    fenced = not fenced
                heading = None if fenced else _HEADING.match(line)
                if heading and plain_text(heading[2]):
                    found.append((len(heading[1]), plain_text(heading[2]), index))
        return found
    before: tuple[str, ...] = ()
    for index, path in enumerate(source.headings):
        shared = 0
        while shared < min(len(before), len(path)) and before[shared] == path[shared]:
            shared += 1
        found += [(depth + 1, path[depth], index) for depth in range(shared, len(path))]
        before = path
    return found
