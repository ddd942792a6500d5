"""What a distiller is. Others plug in by an entry point in the group `arbor.distillers`.

The contract:

- `distill` is a pure function of the source, the parameters and the statistics. It reads no file, no clock, no random
  number and no environment, and it computes with integers and text, so that every machine makes the same core.
- A change of what it makes for any source is a new `version`. Cores keep the version that made them.
- `used` names the passages that the text was taken from; the core is bound to these by inclusion proofs.
- A distiller that is not deterministic (a model, a person) says so; its cores are checked but never made
again.

An entry point names an object with these attributes, or a function without arguments that gives one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from arbor.records import dataclass

Parameter = int | str | bool
Parameters = Mapping[str, Parameter]
GROUP = "arbor.distillers"
MAX_TEXT_BYTES = 1024 * 1024
"""The longest text of a core."""


@dataclass(frozen=True, slots=True)
class Source:
    """A document as a distiller sees it.

    Attributes:
        path: Where it lies, for titles only.
        title: As people read it.
        media_type: For example `text/markdown`.
        texts: The decoded passages in order; joined they are the document's text.
        headings: The heading path of each passage.
    """

    path: str
    title: str
    media_type: str
    texts: tuple[str, ...]
    headings: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Distillate:
    """What a distiller made.

    Attributes:
        text: The core's text: Unicode, not blank, of `MAX_TEXT_BYTES` at most.
        used: Positions of the passages that it was taken from, ascending, at least one.
    """

    text: str
    used: tuple[int, ...]


class Statistics(Protocol):
    """How common terms are in a whole knowledge base."""

    @property
    def documents(self) -> int:
        """Documents that were counted."""

    def document_frequency(self, term: str) -> int:
        """In how many of them a term occurs."""


class Distiller(Protocol):
    """Makes a core from a document; see the module for the rules."""

    @property
    def name(self) -> str:
        """Lower case with hyphens, as typed after `--with`."""

    @property
    def version(self) -> int:
        """Counts up with every change of what is made."""

    @property
    def deterministic(self) -> bool:
        """Whether the same source always gives the same core."""

    @property
    def defaults(self) -> Parameters:
        """Every parameter with its default value, which also gives its type."""

    def uses_statistics(self, parameters: Parameters) -> bool:
        """Whether statistics of the whole knowledge base are needed under these parameters."""

    def distill(
        self, source: Source, parameters: Parameters, statistics: Statistics | None
    ) -> Distillate | None:
        """The core of a source; None where there is nothing to make one of."""
