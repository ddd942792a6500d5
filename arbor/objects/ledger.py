"""The ledger: one ordered map in a Merkle search tree, whose shape depends on its content and not on its history.

A node ends after an entry whose key's hash has enough low zero bits (three more for each level), so an edit
rewrites only the nodes on its path, and equal content gives equal roots. Keys are strings ordered by UTF-8 bytes
(Python's order of strings is the same); values are bytes, 32 of them where the value is an oid.
Source: Auvolat and Taiani, Merkle Search Trees (SRDS 2019); prolly trees as in Noms and Dolt.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from blake3 import blake3

from arbor.errors import IntegrityError
from arbor.objects import codec
from arbor.objects.ids import OID_BYTES, Kind, object_id
from arbor.objects.paths import MAX_PATH_BYTES, path_fault
from arbor.records import dataclass

BITS_PER_LEVEL = 3
MAX_LEVEL = 15
MAX_KEY_CHARS = MAX_PATH_BYTES + 64
MAX_VALUE_BYTES = 4096
PATH_PREFIXES = ("d/", "c/")
"""The namespaces of documents and cores, whose keys go on with a path and whose values are oids."""
_BOUNDARY = blake3(derive_key_context="arbor 1 ledger boundary")


class Child(NamedTuple):
    """What an interior node says of a child: its last key, its oid and how many entries are below it."""

    last_key: str
    oid: bytes
    count: int  # type: ignore[assignment]  # of no use as a tuple's method


@dataclass(frozen=True, slots=True)
class Node:
    """A ledger node. Level 0 holds entries (key, value); higher levels hold children."""

    level: int
    entries: tuple[tuple[str, bytes], ...]
    children: tuple[Child, ...]

    @property
    def count(self) -> int:
        """Entries at or below this node."""
        return len(self.entries) if self.level == 0 else sum(child.count for child in self.children)

    @property
    def last_key(self) -> str:
        """The greatest key at or below this node; "" for the empty ledger."""
        if self.level:
            return self.children[-1].last_key
        return self.entries[-1][0] if self.entries else ""

    def child_of(self, key: str) -> int | None:
        """The position of the child that a key is below, or would be; None at level 0 and beyond the last key."""
        return next((i for i, child in enumerate(self.children) if child.last_key >= key), None)

    def value_of(self, key: str) -> bytes | None:
        """The value of a key in this very node, or None."""
        return next((value for entry_key, value in self.entries if entry_key == key), None)


class NodeSource(Protocol):
    """Where nodes are read from."""

    def get_node(self, oid: bytes) -> Node:
        """The node of this oid; raises IntegrityError when it is damaged or absent."""


NodeSink = Callable[[bytes, bytes], None]
"""Called with (oid, encoding) for each node that a new tree needs."""


def boundary_level(key: str) -> int:
    """How many levels end after this key: 0 for seven keys of eight."""
    hasher = _BOUNDARY.copy()
    hasher.update(key.encode())
    bits = int.from_bytes(hasher.digest(8), "little")
    if not bits:
        return MAX_LEVEL
    return min(((bits & -bits).bit_length() - 1) // BITS_PER_LEVEL, MAX_LEVEL)


def encode_node(node: Node) -> bytes:
    """The canonical bytes: [level, [key, value, ...]] or [level, [last key, oid, count, ...]]."""
    rows: Iterable[tuple[object, ...]] = node.entries if node.level == 0 else node.children
    return codec.encode([node.level, [field for row in rows for field in row]])


EMPTY_NODE = Node(0, (), ())
EMPTY_LEDGER = object_id(Kind.NODE, encode_node(EMPTY_NODE))


def decode_node(data: bytes, *, trusted: bool = False) -> Node:
    """The node of canonical bytes, with its own rules checked.

    Raises:
        IntegrityError: when keys are not strictly ascending, a boundary is inside, or a field has the wrong type.
    """
    value = codec.decode(data, trusted=trusted)
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[1], list):
        raise IntegrityError("a ledger node is not a pair of level and rows")
    level, flat = value
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= MAX_LEVEL:
        raise IntegrityError("a ledger node has an impossible level")
    width = 3 if level else 2
    if len(flat) % width or (level and not flat):
        raise IntegrityError("a ledger node has a broken row")
    if level:
        node = Node(level, (), tuple(map(Child, flat[0::3], flat[1::3], flat[2::3])))
    else:
        node = Node(0, tuple(zip(flat[0::2], flat[1::2], strict=True)), ())
    if not trusted:
        _check_node(node)
    return node


def _check_node(node: Node) -> None:
    """The rules that a node keeps by itself; how nodes fit together is `check_child`."""
    previous = ""
    for key, value in node.entries:
        if not isinstance(key, str) or not isinstance(value, bytes) or len(value) > MAX_VALUE_BYTES:
            raise IntegrityError("a ledger entry has the wrong type")
        if len(key) > MAX_KEY_CHARS or key <= previous:
            raise IntegrityError("ledger keys are not in strictly ascending order")
        _check_entry(key, value)
        previous = key
    for child in node.children:
        if (
            not isinstance(child.last_key, str)
            or not isinstance(child.oid, bytes)
            or len(child.oid) != OID_BYTES
        ):
            raise IntegrityError("a ledger child has the wrong type")
        if not isinstance(child.count, int) or isinstance(child.count, bool) or child.count < 1:
            raise IntegrityError("a ledger child has an impossible count")
        if len(child.last_key) > MAX_KEY_CHARS or child.last_key <= previous:
            raise IntegrityError("ledger keys are not in strictly ascending order")
        previous = child.last_key
    keys = [child.last_key for child in node.children] if node.level else [key for key, _ in node.entries]
    if any(boundary_level(key) != node.level for key in keys[:-1]):
        raise IntegrityError("a ledger node goes on after a boundary key, or ends below it without one")


def _check_entry(key: str, value: bytes) -> None:
    """The rules of the namespaces: paths that can be checked out, and their values are oids."""
    if key.startswith(PATH_PREFIXES):
        fault = path_fault(key[2:])
        if fault or len(value) != OID_BYTES:
            raise IntegrityError(f"the ledger has an impossible document path: {fault or repr(key)}")
    elif not key.isascii() and not unicodedata.is_normalized("NFC", key):
        raise IntegrityError("a ledger key is not in Unicode form C")


def check_root(level: int, children: int, last_key: str) -> None:
    """Whether a node can be the root of a ledger: the tree is as high as its keys ask for and no higher.

    With this, `check_child` and the rules of each node, equal content has one tree.

    Args:
        level: The node's level.
        children: How many children it has, 0 at level 0.
        last_key: The greatest key in it.

    Raises:
        IntegrityError: when it cannot.
    """
    asked = boundary_level(last_key) if last_key else 0
    if asked > level + 1 or (level and children == 1 and asked != level + 1):
        raise IntegrityError("a ledger's root is not at the level that its keys give it")


def check_child(child: Child, node: Node, level: int, after: str) -> None:
    """Whether a child node is what its parent says, with all keys beyond `after`.

    Raises:
        IntegrityError: when level, last key, count or key range do not fit.
    """
    first = node.children[0].last_key if node.level else (node.entries[0][0] if node.entries else "")
    if node.level != level or node.last_key != child.last_key or node.count != child.count or first <= after:
        raise IntegrityError("a ledger node does not fit its parent")


class _Builder:
    """Writes a tree from entries and whole unchanged subtrees that arrive in key order."""

    def __init__(self, sink: NodeSink) -> None:
        self._sink = sink
        self._pending: list[list[tuple[str, bytes] | Child]] = [[]]
        self._closed = [0]

    def aligned(self, level: int) -> bool:
        """Whether a whole subtree of this level can be taken as it is."""
        return not any(self._pending[: level + 1])

    @property
    def empty(self) -> bool:
        """Whether nothing has arrived yet."""
        return not any(self._pending)

    def add_entry(self, key: str, value: bytes) -> None:
        self._pending[0].append((key, value))
        if boundary_level(key):
            self._close(0, boundary_level(key))

    def add_child(self, level: int, child: Child) -> None:
        """Take a whole subtree whose own nodes end in a boundary (or that is the last)."""
        self._take(level, child)
        if boundary_level(child.last_key) > level:
            self._close(level, boundary_level(child.last_key))

    def _take(self, level: int, child: Child) -> None:
        while len(self._pending) <= level:
            self._pending.append([])
            self._closed.append(0)
        self._pending[level].append(child)

    def _close(self, level: int, until: int) -> None:
        """Write the pending node of `level`, and of each level below `until` as it ends too."""
        while True:
            child = self._write(level)
            level += 1
            self._take(level, child)
            if level >= until:
                return

    def _write(self, level: int) -> Child:
        rows = self._pending[level]
        node = Node(level, (), tuple(rows)) if level else Node(0, tuple(rows), ())  # type: ignore[arg-type]
        data = encode_node(node)
        oid = object_id(Kind.NODE, data)
        self._sink(oid, data)
        self._pending[level] = []
        self._closed[level] += 1
        return Child(node.last_key, oid, node.count)

    def finish(self) -> bytes:
        """The root's oid, after writing what is pending."""
        level = 0
        while True:
            rows, above = self._pending[level], any(self._pending[level + 1 :])
            if not rows and above:
                level += 1
                continue
            if level and len(rows) == 1 and not above and not self._closed[level]:
                only = rows[0]
                assert isinstance(only, Child)
                return only.oid
            if not rows and level:
                raise AssertionError("a closed node is pending one level up")
            child = self._write(level)
            level += 1
            self._take(level, child)


def build(entries: Iterable[tuple[str, bytes]], sink: NodeSink) -> bytes:
    """The root of the ledger that holds these entries, which come in ascending key order."""
    builder = _Builder(sink)
    for key, value in entries:
        builder.add_entry(key, value)
    return builder.finish()


def apply(source: NodeSource, base: bytes, changes: Mapping[str, bytes | None], sink: NodeSink) -> bytes:
    """The root after setting (bytes) or removing (None) keys; touches O(changes x log n) nodes.

    Equal to `build` over the resulting entries, whatever `base` was.
    """
    if not changes:
        return base
    pending = sorted(changes.items())
    builder = _Builder(sink)
    _merge(source, source.get_node(base), pending, builder)
    return builder.finish()


def _merge(
    source: NodeSource, node: Node, changes: list[tuple[str, bytes | None]], builder: _Builder
) -> None:
    """Send the node's content with the changes of its range to the builder. The last node takes all that follows."""
    if node.level == 0:
        merged: dict[str, bytes | None] = dict(node.entries)
        merged.update(changes)
        for key in sorted(merged) if changes else merged:
            value = merged[key]
            if value is not None:
                builder.add_entry(key, value)
        return
    start, last = 0, len(node.children) - 1
    for position, child in enumerate(node.children):
        end = len(changes) if position == last else _first_beyond(changes, start, child.last_key)
        slice_, start = changes[start:end], end
        # The last subtree may be higher than its keys ask for; alone, it would make the whole tree too high.
        alone = position == last and builder.empty
        if not slice_ and not alone and builder.aligned(node.level - 1):
            builder.add_child(node.level, child)
        else:
            _merge(source, source.get_node(child.oid), slice_, builder)


def _first_beyond(changes: list[tuple[str, bytes | None]], start: int, last_key: str) -> int:
    while start < len(changes) and changes[start][0] <= last_key:
        start += 1
    return start


def find(source: NodeSource, base: bytes, key: str) -> bytes | None:
    """The value of a key, or None."""
    return proof_nodes(source, base, key)[-1].value_of(key)


def count_entries(source: NodeSource, oid: bytes, prefix: str) -> int:
    """Entries whose key starts with a prefix, counted without reading the leaves that hold only such ones."""
    if oid == EMPTY_LEDGER:
        return 0
    node = source.get_node(oid)
    if node.level == 0:
        return sum(1 for key, _ in node.entries if key.startswith(prefix))
    total, after = 0, ""
    for child in node.children:
        if after.startswith(prefix) and child.last_key.startswith(prefix):
            total += child.count
        elif child.last_key >= prefix and (after < prefix or after.startswith(prefix)):
            total += count_entries(source, child.oid, prefix)
        after = child.last_key
    return total


def iter_entries(source: NodeSource, base: bytes, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    """All (key, value) whose key starts with `prefix`, in key order."""
    stack = [base]
    while stack:
        node = source.get_node(stack.pop())
        if node.level == 0:
            for key, value in node.entries:
                if key.startswith(prefix):
                    yield key, value
                elif key > prefix:
                    return
            continue
        wanted = [child.oid for child in node.children if child.last_key >= prefix]
        stack.extend(reversed(wanted))


def proof_nodes(source: NodeSource, base: bytes, key: str) -> list[Node]:
    """The nodes from the root to where the key is, or would be: a proof of membership or of absence."""
    nodes = [source.get_node(base)]
    while (found := nodes[-1].child_of(key)) is not None:
        nodes.append(source.get_node(nodes[-1].children[found].oid))
    return nodes


def verify_path(ledger_root: bytes, key: str, encodings: Iterable[bytes]) -> bytes | None:
    """What a proof path says of a key: its value, or None for a proven absence.

    Raises:
        IntegrityError: when the path does not lead from the root, or is longer or shorter than it must be.
    """
    expected, after, parent, level = ledger_root, "", None, -1
    remaining = list(encodings)
    while remaining:
        data = remaining.pop(0)
        if object_id(Kind.NODE, data) != expected:
            raise IntegrityError("a ledger node of the proof does not have the hash its parent names")
        node = decode_node(data)
        if parent is not None:
            check_child(parent, node, level, after)
        if node.level == 0:
            if remaining:
                raise IntegrityError("the ledger path goes on after its last node")
            return node.value_of(key)
        found = node.child_of(key)
        if found is None:
            if remaining:
                raise IntegrityError("the ledger path goes on after its last node")
            return None
        after = node.children[found - 1].last_key if found else after
        parent, level = node.children[found], node.level - 1
        expected = parent.oid
    raise IntegrityError("the ledger path ends too early")
