"""Which branches or tags a list shows, by their names and the commits that they hold, in which order and form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Protocol, TypeVar

import click

from arbor.cli.command import option_group
from arbor.cli.showing.ref_format import ref_format_option
from arbor.errors import UsageError
from arbor.kb import KnowledgeBase
from arbor.repo.commits.history import is_ancestor


class _Named(Protocol):
    """What stands at a commit under a name."""

    @property
    def name(self) -> str: ...
    @property
    def commit(self) -> str: ...


N = TypeVar("N", bound=_Named)
_SORT_KEYS = {"refname": "name", "name": "name", "committerdate": "date", "creatordate": "date", "date": "date",
              "version:refname": "version", "v:refname": "version", "version": "version"}  # fmt: skip
_DIGITS = re.compile(r"(\d+)")
_FILTERS = ("contains", "merged", "no_merged", "points_at")


list_options = option_group(
    *(
        click.option(name, is_flag=False, flag_value="HEAD", metavar="[REV]", help=what)
        for name, what in (
            ("--contains", "Only those that hold a commit."),
            ("--merged", "Only those with no commit that a revision has not."),
            ("--no-merged", "Only those with commits that a revision has not."),
            ("--points-at", "Only those that stand at a commit."),
        )
    ),
    click.option("--sort", metavar="KEY", default="name",
                 help="In the order of name, date or version; with - before it the other way round."),
    ref_format_option,
)  # fmt: skip
"""Which of them are listed, how sorted and how written; each filter with HEAD by itself."""


def asks_for_list(given: Mapping[str, Any]) -> bool:
    """Whether one of the `list_options` was given."""
    return any(value != ("name" if name == "sort" else None) for name, value in given.items())


class Listing(NamedTuple):
    """What a list of branches or tags shows.

    Attributes:
        patterns: Which names, a star spanning slashes; () for all.
        holds: Whether one at a commit (hexadecimal digits) is shown.
        sort: Their order, as `--sort` has it.
        form: How each is written, as `--format` has it; None for the usual way.
    """

    patterns: Sequence[str]
    holds: Callable[[str], bool]
    sort: str
    form: str | None

    def chosen(self, kb: KnowledgeBase, found: Iterable[N], beginning: str = "") -> list[N]:
        """Those that are shown, of all by name; patterns fit also what stands behind a common beginning of names."""
        rows = [
            each
            for each in found
            if self.holds(each.commit)
            and (
                not self.patterns
                or self._is_meant(each.name)
                or self._is_meant(each.name.removeprefix(beginning))
            )
        ]
        return rows if self.sort == "name" else _in_order(kb, rows, self.sort)

    def _is_meant(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)


def listing(kb: KnowledgeBase, given: Mapping[str, Any], patterns: Sequence[str]) -> Listing:
    """What is listed, from the `list_options` and patterns as typed; raises UsageError when a revision is none."""
    return Listing(patterns, _chooser(kb, given), given["sort"], given["form"])


def _chooser(kb: KnowledgeBase, given: Mapping[str, Any]) -> Callable[[str], bool]:
    wanted = {name: kb.resolve(given[name]) for name in _FILTERS if given[name] is not None}

    def chooses(commit: str) -> bool:
        if not commit:
            return not wanted
        oid = bytes.fromhex(commit)
        return all(_holds(kb, name, oid, other) for name, other in wanted.items())

    return chooses


def _holds(kb: KnowledgeBase, name: str, oid: bytes, other: bytes) -> bool:
    if name == "points_at":
        return oid == other
    if name == "contains":
        return is_ancestor(kb.repo, other, oid)
    return is_ancestor(kb.repo, oid, other) == (name == "merged")


def _in_order(kb: KnowledgeBase, found: Iterable[N], key: str) -> list[N]:
    """What a list shows, in the order of `--sort`; git's own words for the keys are known too.

    Raises:
        UsageError: when there is no such key.
    """
    kind = _SORT_KEYS.get(key.removeprefix("-"))
    if kind is None:
        raise UsageError(f"nothing is sorted by '{key}'", "say name, date or version, as in: --sort -date")

    def place(each: N) -> Any:
        if kind == "date":
            return kb.repo.commit(bytes.fromhex(each.commit)).committer.seconds if each.commit else 0
        if kind == "version":
            return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(each.name)]
        return each.name

    return sorted(found, key=place, reverse=key.startswith("-"))
