"""Two versions of a ledger compared by skipping equal subtrees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from arbor.objects.ledger import Child, Node, NodeSource, check_child


class Change(NamedTuple):
    """One key that differs: `before` is None when it was added, `after` when it was removed."""

    key: str
    before: bytes | None
    after: bytes | None


class Subtree(NamedTuple):
    """A subtree that was not opened: its level, what its parent says of it, and the last key before it."""

    level: int
    child: Child
    after: str


class Cursor:
    """A ledger read in key order, one subtree or entry at a time, opened only where asked.

    Args:
        source: Gives the nodes.
        base: The root.
        strict: Whether each node that is opened must be what its parent says; open() raises IntegrityError else.

    Attributes:
        opened: The oids of the nodes that were opened.
    """

    def __init__(self, source: NodeSource, base: bytes, *, strict: bool = False) -> None:
        self._source = source
        self._strict = strict
        self._stack: list[Subtree | tuple[str, bytes]] = []
        self.opened = [base]
        self._push(source.get_node(base), "")

    def _push(self, node: Node, after: str) -> None:
        if not node.level:
            self._stack.extend(reversed(node.entries))
            return
        rows = []
        for child in node.children:
            rows.append(Subtree(node.level - 1, child, after))
            after = child.last_key
        self._stack.extend(reversed(rows))

    @property
    def done(self) -> bool:
        """Whether everything was passed."""
        return not self._stack

    @property
    def level(self) -> int:
        """Of the subtree at hand; -1 where an entry is, -2 at the end."""
        if not self._stack:
            return -2
        top = self._stack[-1]
        return top.level if isinstance(top, Subtree) else -1

    @property
    def subtree(self) -> Subtree:
        """The subtree at hand, where `level` is 0 or more."""
        return self._stack[-1]  # type: ignore[return-value]

    @property
    def entry(self) -> tuple[str, bytes]:
        """The entry at hand, where `level` is -1."""
        return self._stack[-1]  # type: ignore[return-value]

    def skip(self) -> None:
        """Pass what is at hand."""
        self._stack.pop()

    def open(self) -> None:
        """Replace the subtree at hand by what is in it."""
        after = self.subtree.after
        self._push(self.take(), after)

    def take(self) -> Node:
        """The top node of the subtree at hand, which is passed."""
        level, child, after = self.subtree
        node = self._source.get_node(child.oid)
        if self._strict:
            check_child(child, node, level, after)
        self._stack.pop()
        self.opened.append(child.oid)
        return node


def diff(source: NodeSource, before: bytes, after: bytes) -> Iterator[Change]:
    """The keys that differ between two roots, in key order; O(differences x log n) node reads."""
    if before != after:
        left, right = Cursor(source, before), Cursor(source, after)
        yield from walk_differences(left, right, lambda one, other: one.child.oid == other.child.oid)


def walk_differences(
    left: Cursor, right: Cursor, are_equal: Callable[[Subtree, Subtree], bool]
) -> Iterator[Change]:
    """The keys that differ between two ledgers, in key order.

    Args:
        left: The one before, at its beginning.
        right: The one after, at its beginning.
        are_equal: Whether two subtrees of one level are the same and can be passed over.
    """
    while not (left.done and right.done):
        left_level, right_level = left.level, right.level
        if left_level >= 0 and left_level == right_level and are_equal(left.subtree, right.subtree):
            left.skip()
            right.skip()
        elif left_level == right_level == 0 and left.subtree.child.last_key == right.subtree.child.last_key:
            yield from _compare_leaves(left.take(), right.take())
        elif left_level >= 0 or right_level >= 0:
            if left_level >= right_level:
                left.open()
            if right_level >= left_level:
                right.open()
        else:
            yield from _compare_entries(left, right)


def _compare_leaves(left: Node, right: Node) -> Iterator[Change]:
    """The keys that differ between two nodes of entries that end with the same key."""
    before, after = dict(left.entries), dict(right.entries)
    for key in sorted({key for key, _ in set(left.entries) ^ set(right.entries)}):
        yield Change(key, before.get(key), after.get(key))


def _compare_entries(left: Cursor, right: Cursor) -> Iterator[Change]:
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
