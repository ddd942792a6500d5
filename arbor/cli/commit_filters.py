"""Which branches or tags a list shows, by the commits that they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import click

from arbor.kb import KnowledgeBase
from arbor.repo.commits.history import is_ancestor

F = TypeVar("F", bound=Callable[..., Any])
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
