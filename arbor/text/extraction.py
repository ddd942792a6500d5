"""The values that reading a file gives: passages, links, and the extraction that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from arbor.objects.links import Link, Rows, expand_links
from arbor.records import dataclass

FrontValue: TypeAlias = "bool | int | str | list[FrontValue] | dict[str, FrontValue] | None"
"""One front matter value. Numbers that are not whole, and dates, are kept as the text the author typed."""

CHUNKER_ID = "structural/1"
"""Name and version of the rules that cut a text into passages; recorded with every document."""


@dataclass(frozen=True, slots=True)
class ChunkPolicy:
    """How large passages are, in bytes of the text as UTF-8; in no encoding do they take more than the cap.

    Attributes:
        target_bytes: Passages are filled up to this size where the structure of the text allows it.
        cap_bytes: No passage is larger. A single paragraph or fenced block up to this size stays whole.
        min_bytes: A heading does not start a new passage while the current one is smaller than this.
    """

    target_bytes: int = 2000
    cap_bytes: int = 4096
    min_bytes: int = 1000

    def __post_init__(self) -> None:
        if not 16 <= self.min_bytes <= self.target_bytes <= self.cap_bytes <= 1 << 20:
            raise ValueError("a chunk policy needs 16 <= min_bytes <= target_bytes <= cap_bytes <= 1 MiB")


def shrink_policy(policy: ChunkPolicy, factor: int) -> ChunkPolicy:
    """Sizes for a text that takes up to `factor` times as many bytes in its file as in UTF-8."""
    sizes = (policy.target_bytes, policy.cap_bytes, policy.min_bytes)
    return policy if factor == 1 else ChunkPolicy(*(max(size // factor, 16) for size in sizes))


DEFAULT_POLICY = ChunkPolicy()


class Passage(NamedTuple):
    """One passage of a document.

    Attributes:
        data: A raw slice of the file in the file's own encoding; for formats whose text is extracted, a UTF-8
            slice of that text.
        newlines: Number of line feeds in the text of `data`, so that absolute line numbers add up.
        headings: The heading path in force where the passage's own text begins, outermost first; before the first
            heading of a document, the path of the first heading in the passage.
    """

    data: bytes
    newlines: int
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Extraction:
    """All that one file gives.

    Attributes:
        media_type: For example `text/markdown`; `application/octet-stream` where no text can be read.
        title: From the content alone (front matter, first heading, `<title>`); empty when there is none.
        encoding: Codec name of the passages (`utf-8`, `gb18030`, …); empty for files without text.
        extractor: Name and version of the reader, for example `markdown/3`.
        chunker: Name and version of the rules that cut the passages.
        passages: In text order. Where `original` is empty, their data joined is the file, byte for byte.
        original: The file in pieces where the passages do not partition it (HTML, PDF, binary files);
            else ().
        front_matter: The document's own fields; empty when there are none.
        link_rows: The links, in text order within each kind, as `arbor.objects.links` stores them.
        warnings: What could not be read as it should, one sentence each.
    """

    media_type: str
    title: str
    encoding: str
    extractor: str
    chunker: str
    passages: Sequence[Passage]
    original: Sequence[bytes]
    front_matter: dict[str, FrontValue]
    link_rows: Rows
    warnings: Sequence[str]

    @property
    def links(self) -> tuple[Link, ...]:
        """The links in full."""
        return expand_links(self.link_rows, b"".join([passage.data for passage in self.passages]))
