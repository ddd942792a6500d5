"""The part of a ledger that another one does not share, found by skipping equal subtrees and checked on the way."""

from __future__ import annotations

from dataclasses import field

from arbor.errors import IntegrityError
from arbor.objects.ledger import EMPTY_LEDGER, NodeSource
from arbor.objects.ledger_diff import Change, Cursor, Subtree, walk_differences
from arbor.records import dataclass


@dataclass(slots=True)
class Fresh:
    """What is new in a ledger: its own nodes, but for the empty one, and the keys whose values differ."""

    nodes: list[bytes] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


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
    right = Cursor(source, after, strict=True)
    if before == EMPTY_LEDGER:
        return _everything(right)
    left = Cursor(source, before, strict=True)
    changes = list(walk_differences(left, right, lambda one, other: _are_equal(source, one, other)))
    known = {*left.opened, EMPTY_LEDGER}  # which everybody knows, and nobody need store
    return Fresh([oid for oid in right.opened if oid not in known], changes)


def _are_equal(source: NodeSource, left: Subtree, right: Subtree) -> bool:
    """Whether two subtrees are one; a new parent may then say nothing else of it than the old one did."""
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


def _everything(side: Cursor) -> Fresh:
    changes: list[Change] = []
    while not side.done:
        if side.level >= 0:
            side.open()
            continue
        changes.append(Change(side.entry[0], None, side.entry[1]))
        side.skip()
    return Fresh(side.opened, changes)
