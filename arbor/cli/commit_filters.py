"""Which branches or tags a list shows, by the commits that they hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeVar

import click

from arbor.errors import UsageError
from arbor.kb import KnowledgeBase
from arbor.repo.commits.history import is_ancestor


class _Named(Protocol):
    """What stands at a commit under a name."""

    @property
    def name(self) -> str: ...
    @property
    def commit(self) -> str: ...


F = TypeVar("F", bound=Callable[..., Any])
N = TypeVar("N", bound=_Named)
_SORT_KEYS = {"refname": "name", "name": "name", "committerdate": "date", "creatordate": "date", "date": "date",
              "version:refname": "version", "v:refname": "version", "version": "version"}  # fmt: skip
_DIGITS = re.compile(r"(\d+)")
FILTERS = ("contains", "merged", "no_merged", "points_at")


def commit_filters(function: F) -> F:
    """`--contains`, `--merged`, `--no-merged` and `--points-at`: each takes a revision, and means HEAD without one."""
    for name, what in (
        ("--points-at", "Only those that stand at a commit."),
        ("--no-merged", "Only those with commits that a revision has not."),
        ("--merged", "Only those with no commit that a revision has not."),
        ("--contains", "Only those that hold a commit."),
    ):
        function = click.option(name, is_flag=False, flag_value="HEAD", metavar="[REV]", help=what)(function)
    return function


def is_one_of(name: str, patterns: Sequence[str]) -> bool:
    """Whether a branch or tag fits one of the patterns that were typed, or none was typed; a star spans slashes."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def chooser(kb: KnowledgeBase, given: dict[str, Any]) -> Callable[[str], bool]:
    """Whether a branch or tag at a commit (hexadecimal digits) is one of those that were asked for.

    Raises:
        UsageError: when a revision is none.
    """
    wanted = {name: kb.resolve(given[name]) for name in FILTERS if given[name] is not None}

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


def sort_option(function: F) -> F:
    """`--sort`."""
    return click.option("--sort", metavar="KEY", default="name",
                        help="In the order of name, date or version; with - before it the other way round.",
    )(function)  # fmt: skip


def in_order(kb: KnowledgeBase, found: Iterable[N], key: str) -> list[N]:
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
