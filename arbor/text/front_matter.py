"""Front matter: the fields between `---` lines (YAML) or `+++` lines (TOML) at the head of a note.

YAML is read by the core rules of version 1.2, and more strictly where they would lose what was typed:
only `true`, `false`, `null`, `~` and plain decimal integers are more than text. So `country: NO`, `time:
12:30`, `version: 1.10`, `zip: 01234` and dates stay what the author wrote.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from datetime import date, datetime, time
from typing import TYPE_CHECKING, NamedTuple

from arbor.lazy import lazy_module
from arbor.text.extraction import FrontValue
from arbor.text.toml import parse_toml

if TYPE_CHECKING:
    import yaml
else:  # most notes have no front matter
    yaml = lazy_module("yaml")

FRONT_MATTER_OPENERS = (b"---", b"+++", b"\xef\xbb\xbf---", b"\xef\xbb\xbf+++")
"""A text that begins with none of these has no front matter."""

FRONT_MATTER_MAX_BYTES = 64 * 1024
"""A larger block at the head of a text is taken as text."""

DEPTH_MAX = 8
_WEIGHT_MAX = 256 * 1024
_NODE_WEIGHT = 16

_YAML_BLOCK = re.compile(
    rb"(?:\xef\xbb\xbf)?---[ \t]*+\r?\n((?:.*?\n)??)(?:---|\.\.\.)[ \t]*+(?:\r?\n|\Z)", re.DOTALL
)
_TOML_BLOCK = re.compile(
    rb"(?:\xef\xbb\xbf)?\+\+\+[ \t]*+\r?\n((?:.*?\n)??)\+\+\+[ \t]*+(?:\r?\n|\Z)", re.DOTALL
)
_INTEGER = re.compile(r"[-+]?+(?:0|[1-9][0-9]{0,18}+)")
_CONSTANTS: dict[str, FrontValue] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_TEXT_TAG = "tag:yaml.org,2002:str"


class FrontMatter(NamedTuple):
    """What the head of a text gave.

    Attributes:
        size_bytes: Length of the block with its two fence lines; 0 when the text has no front matter.
        fields: Empty when there are none or they could not be read.
        warnings: Why something could not be read.
    """

    size_bytes: int
    fields: dict[str, FrontValue]
    warnings: tuple[str, ...]


NO_FRONT_MATTER = FrontMatter(0, {}, ())


class _IsListError(Exception):
    """The block is YAML, and a list."""


class _TooLarge(ValueError):
    """The values, with every alias written out, are more than a note's fields can sensibly be."""


def read_front_matter(text: bytes) -> FrontMatter:
    """Read the front matter at the head of a text.

    Args:
        text: UTF-8, with or without a byte order mark.

    Returns:
        The fields, or the reason why they cannot be read; never raises on any input.
    """
    is_toml = text.startswith((b"+++", b"\xef\xbb\xbf+++"))
    block = (_TOML_BLOCK if is_toml else _YAML_BLOCK).match(text[:FRONT_MATTER_MAX_BYTES])
    if block is None:
        return NO_FRONT_MATTER
    source = block[1].decode("utf-8", "replace")
    try:
        fields = _parse_toml(source) if is_toml else _parse_yaml(source)
    except _IsListError:
        return FrontMatter(0, {}, ("front matter is a list and not fields with values: it is read as text",))
    except yaml.YAMLError as error:
        return FrontMatter(block.end(), {}, (f"front matter is not valid YAML: {_describe(error)}",))
    except tomllib.TOMLDecodeError as error:
        return FrontMatter(block.end(), {}, (f"front matter is not valid TOML: {error}",))
    except (RecursionError, ValueError) as error:
        return FrontMatter(block.end(), {}, (f"front matter cannot be read: {error}",))
    if fields is None:
        return NO_FRONT_MATTER
    return FrontMatter(block.end(), fields, ())


def find_title(fields: dict[str, FrontValue]) -> str:
    """The title that the fields give; empty when they give none."""
    title = fields.get("title")
    if isinstance(title, bool) or not isinstance(title, str | int):
        return ""
    return " ".join(str(title).split())


def _describe(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{error.problem}, line {error.problem_mark.line + 2}"  # the fence is line 1
    return " ".join(str(error).split())[:200]


def _parse_yaml(source: str) -> dict[str, FrontValue] | None:
    """The fields; None when the block is no mapping, as where `---` was meant as a rule across the page."""
    node = yaml.compose(source, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    if node is None:
        return {}
    if isinstance(node, yaml.SequenceNode):
        raise _IsListError
    if not isinstance(node, yaml.MappingNode):
        return None
    return _Reader().read_mapping(node, 1)


class _Reader:
    """Turns YAML nodes into values and keeps count, since a few aliases can stand for billions of nodes."""

    def __init__(self) -> None:
        self.weight = 0

    def read_mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, FrontValue]:
        fields: dict[str, FrontValue] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise ValueError(f"a key on line {key_node.start_mark.line + 2} is not text")
            self._count(key_node.value)
            fields[unicodedata.normalize("NFC", clean_text(key_node.value))] = self.read(
                value_node, depth + 1
            )
        return fields

    def read(self, node: yaml.Node, depth: int) -> FrontValue:
        if isinstance(node, yaml.ScalarNode):
            self._count(node.value)
            return _read_scalar(node)
        self._count("")
        if depth > DEPTH_MAX:
            raise _TooLarge(f"it is nested deeper than {DEPTH_MAX} levels")
        if isinstance(node, yaml.MappingNode):
            return self.read_mapping(node, depth)
        return [self.read(item, depth + 1) for item in node.value]

    def _count(self, text: str) -> None:
        self.weight += _NODE_WEIGHT + len(text)
        if self.weight > _WEIGHT_MAX:
            raise _TooLarge("it is too large once its aliases are written out")


def _read_scalar(node: yaml.ScalarNode) -> FrontValue:
    text: str = node.value
    if not node.style and node.tag != _TEXT_TAG:  # plain, that is, without quotes
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INTEGER.fullmatch(text):
            return _bound_integer(int(text))
    return clean_text(text)


def _bound_integer(number: int) -> int | str:
    return number if -(1 << 63) <= number < 1 << 63 else str(number)


def clean_text(text: str) -> str:
    """Text that can be encoded as UTF-8: lone surrogates become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _parse_toml(source: str) -> dict[str, FrontValue]:
    fields = parse_toml(source.replace("\r\n", "\n"), parse_float=str)
    return {unicodedata.normalize("NFC", key): _read_toml(value, 2) for key, value in fields.items()}


def _read_toml(value: object, depth: int) -> FrontValue:
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return _bound_integer(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if depth > DEPTH_MAX:
        raise _TooLarge(f"it is nested deeper than {DEPTH_MAX} levels")
    if isinstance(value, dict):
        return {unicodedata.normalize("NFC", key): _read_toml(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_read_toml(item, depth + 1) for item in value]
    return str(value)
