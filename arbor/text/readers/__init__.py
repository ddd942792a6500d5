"""One module per kind of file, and the table that names them all.

To add a kind of file, add a line to `FORMATS` and, unless a module here already reads it, a module with
a function `read(data, policy) -> Reading`. A module may also have a `STREAMER`, which reads piece by piece what is too
large to be held; `find_headings`, where the text itself shows the headings, so that a hit is told the section that it
stands in; and `EARLIER`, the functions of earlier versions, where the text that it extracts has changed.
Modules are imported when the first such file comes along, so that a library needed for one kind costs nothing
elsewhere.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Protocol, cast

from arbor.text.chunker import Mark
from arbor.text.extraction import ChunkPolicy
from arbor.text.readers.reading_result import Reading, Streamer


class Format(NamedTuple):
    """One kind of file.

    Attributes:
        media_type: As recorded with the document.
        reader: Module of this package that reads it.
        is_text: Whether the file is text in some encoding. The reader is then given the text as UTF-8 and its
            passages join to that text; otherwise it is given the file and its passages are extracted text.
        suffixes: File name endings in lower case, with the dot.
    """

    media_type: str
    reader: str
    is_text: bool
    suffixes: tuple[str, ...]


MARKDOWN = Format(
    "text/markdown", "markdown", True, (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd")
)
PLAIN = Format(
    "text/plain",
    "plain",
    True,
    (".txt", ".text", ".log", ".org", ".adoc", ".asciidoc", ".tex", ".srt", ".vtt"),
)
HTML = Format("text/html", "html", False, (".html", ".htm", ".xhtml"))
PDF = Format("application/pdf", "pdf", False, (".pdf",))
EMAIL = Format("message/rfc822", "email", False, (".eml",))
DOCX = Format(
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx", False, (".docx",)
)
BINARY = Format("application/octet-stream", "", False, ())

FORMATS = (
    MARKDOWN,
    PLAIN,
    Format("text/x-rst", "rst", True, (".rst", ".rest")),
    HTML,
    PDF,
    EMAIL,
    DOCX,
    Format("application/json", "plain", True, (".json", ".jsonl", ".ndjson", ".ipynb", ".geojson")),
    Format("application/yaml", "plain", True, (".yaml", ".yml")),
    Format("application/toml", "plain", True, (".toml",)),
    Format("application/xml", "plain", True, (".xml", ".svg", ".xsd", ".rss", ".atom", ".opml")),
    Format("text/csv", "plain", True, (".csv",)),
    Format("text/tab-separated-values", "plain", True, (".tsv",)),
    Format("text/x-config", "plain", True, (".ini", ".cfg", ".conf", ".properties", ".env")),
    Format("text/css", "source", True, (".css", ".scss", ".less")),
    Format("text/x-python", "source", True, (".py", ".pyi")),
    Format("text/javascript", "source", True, (".js", ".mjs", ".cjs", ".jsx")),
    Format("text/x-typescript", "source", True, (".ts", ".tsx", ".mts", ".cts")),
    Format("text/x-vue", "source", True, (".vue", ".svelte")),
    Format("text/x-c", "source", True, (".c", ".h")),
    Format("text/x-c++", "source", True, (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx")),
    Format("text/x-csharp", "source", True, (".cs",)),
    Format("text/x-fsharp", "source", True, (".fs", ".fsx")),
    Format("text/x-java", "source", True, (".java",)),
    Format("text/x-kotlin", "source", True, (".kt", ".kts")),
    Format("text/x-scala", "source", True, (".scala",)),
    Format("text/x-swift", "source", True, (".swift",)),
    Format("text/x-objective-c", "source", True, (".m", ".mm")),
    Format("text/x-go", "source", True, (".go",)),
    Format("text/x-rust", "source", True, (".rs",)),
    Format("text/x-zig", "source", True, (".zig",)),
    Format("text/x-ruby", "source", True, (".rb",)),
    Format("text/x-php", "source", True, (".php",)),
    Format("text/x-perl", "source", True, (".pl", ".pm")),
    Format("text/x-lua", "source", True, (".lua",)),
    Format("text/x-r", "source", True, (".r",)),
    Format("text/x-julia", "source", True, (".jl",)),
    Format("text/x-haskell", "source", True, (".hs",)),
    Format("text/x-ocaml", "source", True, (".ml", ".mli")),
    Format("text/x-elixir", "source", True, (".ex", ".exs")),
    Format("text/x-erlang", "source", True, (".erl",)),
    Format("text/x-clojure", "source", True, (".clj", ".cljs")),
    Format("text/x-lisp", "source", True, (".lisp", ".el", ".scm")),
    Format("text/x-dart", "source", True, (".dart",)),
    Format("text/x-sql", "source", True, (".sql",)),
    Format("text/x-shellscript", "source", True, (".sh", ".bash", ".zsh", ".fish")),
    Format("text/x-powershell", "source", True, (".ps1",)),
    Format("text/x-nix", "source", True, (".nix",)),
    Format("text/x-terraform", "source", True, (".tf",)),
    Format("text/x-protobuf", "source", True, (".proto",)),
)

_READERS = frozenset(each.reader for each in FORMATS)
FORMATS_BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}


@cache
def get_reader(name: str, extractor: str = "") -> Callable[[bytes, ChunkPolicy], Reading]:
    """The `read` function of a reader module, imported now if it was not before.

    A module whose text changes from one version to the next keeps the earlier functions in `EARLIER`, so that the
    passages of cold documents can be made again. With an `extractor`, as a document records it, this is the function
    of that version where the module still has it.
    """
    module = importlib.import_module(f"arbor.text.readers.{name}")
    earlier = getattr(module, "EARLIER", {}).get(extractor)
    return cast("Callable[[bytes, ChunkPolicy], Reading]", earlier or module.read)


@cache
def get_decoder(name: str) -> Callable[[bytes], str] | None:
    """What a reader module of extracted text takes the bytes of a file for; None where they are no text as a whole."""
    module = importlib.import_module(f"arbor.text.readers.{name}")
    return cast("Callable[[bytes], str] | None", getattr(module, "decode", None))


@cache
def get_streamer(name: str) -> Streamer | None:
    """The way a reader module reads piece by piece; None when it cannot."""
    return cast(
        "Streamer | None", getattr(importlib.import_module(f"arbor.text.readers.{name}"), "STREAMER", None)
    )


class HeadingFinder(Protocol):
    """Finds the headings in a buffer, as the chunker defines it."""

    def __call__(self, buffer: bytes, *, is_head: bool) -> list[Mark]:
        """The headings, at their places; `is_head` says whether the buffer is the beginning of a document."""


@cache
def get_heading_finder(name: str) -> HeadingFinder | None:
    """What finds headings in the text that a reader module reads; None where the text alone does not show them.

    The name may come from somebody else's document, so that only modules of `FORMATS` are imported.
    """
    if name not in _READERS:
        return None
    return cast(
        "HeadingFinder | None",
        getattr(importlib.import_module(f"arbor.text.readers.{name}"), "find_headings", None),
    )
