"""Two versions of a ledger compared by skipping equal subtrees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from arbor.objects.ledger import Child, Node, NodeSource


class Change(NamedTuple):
    """One key that differs: `before` is None when it was added, `after` when it was removed."""

    key: str
    before: bytes | None
    after: bytes | None


class _Cursor:
    """A ledger read in key order, one subtree or entry at a time, opened only where asked."""

    def __init__(self, source: NodeSource, base: bytes) -> None:
        self._source = source
        self._stack: list[tuple[int, Child] | tuple[str, bytes]] = []
        self._push(source.get_node(base))

    def _push(self, node: Node) -> None:
        if node.level:
            self._stack.extend((node.level - 1, child) for child in reversed(node.children))
        else:
            self._stack.extend(reversed(node.entries))

    @property
    def done(self) -> bool:
        return not self._stack

    @property
    def subtree(self) -> tuple[int, bytes]:
        """(level, oid) of the subtree at hand; level -1 where an entry is."""
        first, second = self._stack[-1]
        return (first, second.oid) if isinstance(second, Child) else (-1, b"")  # type: ignore[return-value]

    @property
    def entry(self) -> tuple[str, bytes]:
        return self._stack[-1]  # type: ignore[return-value]

    def skip(self) -> None:
        self._stack.pop()

    def open(self) -> None:
        """Replace the subtree at hand by what is in it."""
        _, child = self._stack.pop()
        assert isinstance(child, Child)
        self._push(self._source.get_node(child.oid))


def diff(source: NodeSource, before: bytes, after: bytes) -> Iterator[Change]:
    """The keys that differ between two roots, in key order; O(differences x log n) node reads."""
    if before == after:
        return
    left, right = _Cursor(source, before), _Cursor(source, after)
    while not (left.done and right.done):
        left_level, left_oid = left.subtree if not left.done else (-2, b"")
        right_level, right_oid = right.subtree if not right.done else (-2, b"")
        if left_level >= 0 and left_level == right_level and left_oid == right_oid:
            left.skip()
            right.skip()
        elif left_level >= 0 or right_level >= 0:
            if left_level >= right_level:
                left.open()
            if right_level >= left_level:
                right.open()
        else:
            yield from _compare_entries(left, right)


def _compare_entries(left: _Cursor, right: _Cursor) -> Iterator[Change]:
    """Both cursors stand at an entry or at the end: report and pass the smaller key."""
    if right.done or (not left.done and left.entry[0] < right.entry[0]):
        yield Change(left.entry[0], left.entry[1], None)
        left.skip()
    elif left.done or right.entry[0] < left.entry[0]:
        yield Change(right.entry[0], None, right.entry[1])
        right.skip()
    else:
        if left.entry[1] != right.entry[1]:
            yield Change(left.entry[0], left.entry[1], right.entry[1])
        left.skip()
        right.skip()
