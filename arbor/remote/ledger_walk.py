"""The part of a ledger that another one does not share, found by skipping equal subtrees and checked on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from arbor.errors import IntegrityError
from arbor.objects.ledger import EMPTY_LEDGER, Child, Node, NodeSource, check_child
from arbor.objects.ledger_diff import Change


@dataclass(slots=True)
class Fresh:
    """What is new in a ledger: its own nodes, and the keys whose values differ."""

    nodes: list[bytes] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


class _Subtree(NamedTuple):
    level: int
    child: Child
    after: str


class _Side:
    """One ledger in key order; each node that is opened must be what its parent says."""

    def __init__(self, source: NodeSource, base: bytes) -> None:
        self._source = source
        self._stack: list[_Subtree | tuple[str, bytes]] = []
        self.opened = [base]
        self._push(source.get_node(base), "")

    def _push(self, node: Node, after: str) -> None:
        if not node.level:
            self._stack.extend(reversed(node.entries))
            return
        rows = []
        for child in node.children:
            rows.append(_Subtree(node.level - 1, child, after))
            after = child.last_key
        self._stack.extend(reversed(rows))

    @property
    def done(self) -> bool:
        return not self._stack

    @property
    def top(self) -> _Subtree | tuple[str, bytes]:
        return self._stack[-1]

    @property
    def entry(self) -> tuple[str, bytes]:
        """The entry at hand, where `level` is -1."""
        return self._stack[-1]  # type: ignore[return-value]

    @property
    def level(self) -> int:
        """Of the subtree at hand; -1 where an entry is, -2 at the end."""
        if not self._stack:
            return -2
        top = self._stack[-1]
        return top.level if isinstance(top, _Subtree) else -1

    def skip(self) -> None:
        self._stack.pop()

    def open(self) -> None:
        """Replace the subtree at hand by what is in it."""
        level, child, after = self._stack.pop()  # type: ignore[misc]
        assert isinstance(child, Child)
        node = self._source.get_node(child.oid)
        check_child(child, node, level, after)
        self.opened.append(child.oid)
        self._push(node, after)


def fresh_part(source: NodeSource, before: bytes, after: bytes) -> Fresh:
    """What `after` holds that `before` does not.

    Args:
        source: Gives the nodes of both; those of `before` have been checked earlier.
        before: A ledger root; `EMPTY_LEDGER` for none.
        after: A ledger root.

    Raises:
        IntegrityError: when a node of `after` is absent or does not fit its parent.
    """
    if before == after:
        return Fresh()
    right = _Side(source, after)
    if before == EMPTY_LEDGER:
        return _everything(right)
    left = _Side(source, before)
    changes: list[Change] = []
    while not (left.done and right.done):
        left_level, right_level = left.level, right.level
        if left_level >= 0 and left_level == right_level and _same(source, left.top, right.top):
            left.skip()
            right.skip()
        elif left_level >= 0 or right_level >= 0:
            if left_level >= right_level:
                left.open()
            if right_level >= left_level:
                right.open()
        else:
            _compare_entries(left, right, changes)
    known = set(left.opened)
    return Fresh([oid for oid in right.opened if oid not in known], changes)


def _same(source: NodeSource, left: object, right: object) -> bool:
    """Whether two subtrees are one; a new parent may then say nothing else of it than the old one did."""
    assert isinstance(left, _Subtree)
    assert isinstance(right, _Subtree)
    if left.child.oid != right.child.oid:
        return False
    if left.child != right.child or (
        right.after > left.after and _first_key(source, right.child.oid) <= right.after
    ):
        raise IntegrityError("a ledger node does not fit its parent")
    return True


def _first_key(source: NodeSource, oid: bytes) -> str:
    node = source.get_node(oid)
    while node.level:
        node = source.get_node(node.children[0].oid)
    return node.entries[0][0] if node.entries else ""


def _everything(side: _Side) -> Fresh:
    changes: list[Change] = []
    while not side.done:
        if side.level >= 0:
            side.open()
            continue
        changes.append(Change(side.entry[0], None, side.entry[1]))
        side.skip()
    return Fresh(side.opened, changes)


def _compare_entries(left: _Side, right: _Side, changes: list[Change]) -> None:
    """Both sides stand at an entry or at the end: note and pass the smaller key."""
    if right.done or (not left.done and left.entry[0] < right.entry[0]):
        changes.append(Change(left.entry[0], left.entry[1], None))
        left.skip()
    elif left.done or right.entry[0] < left.entry[0]:
        changes.append(Change(right.entry[0], None, right.entry[1]))
        right.skip()
    else:
        if left.entry[1] != right.entry[1]:
            changes.append(Change(right.entry[0], left.entry[1], right.entry[1]))
        left.skip()
        right.skip()
