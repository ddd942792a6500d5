"""The ledger: one content has one tree, whatever its history, and a tree that lies about itself is refused."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.errors import IntegrityError
from arbor.objects import ledger
from arbor.objects.ids import Kind, object_id
from arbor.objects.ledger import Child, Node
from arbor.objects.ledger_diff import Change, diff


class Nodes:
    """Nodes in memory, read as foreign ones: every rule is checked at every read."""

    def __init__(self) -> None:
        self.encodings: dict[bytes, bytes] = {ledger.EMPTY_LEDGER: ledger.encode_node(ledger.EMPTY_NODE)}
        self.reads = 0

    def sink(self, oid: bytes, data: bytes) -> None:
        assert object_id(Kind.NODE, data) == oid
        self.encodings[oid] = data

    def get_node(self, oid: bytes) -> Node:
        self.reads += 1
        return ledger.decode_node(self.encodings[oid])

    def build(self, content: dict[str, bytes]) -> bytes:
        return ledger.build(sorted(content.items()), self.sink)

    def apply(self, base: bytes, changes: dict[str, bytes | None]) -> bytes:
        return ledger.apply(self, base, changes, self.sink)


def keys_by_level(levels: int, each: int) -> list[list[str]]:
    """Keys whose hash closes so many levels, found by trying: small ledgers become deep ones."""
    found: list[list[str]] = [[] for _ in range(levels)]
    number = 0
    while any(len(keys) < each for keys in found):
        key = f"k{number:06d}"
        level = min(ledger.boundary_level(key), levels - 1)
        if len(found[level]) < each:
            found[level].append(key)
        number += 1
    return found


POOL = [key for keys in keys_by_level(4, 6) for key in keys] + ["a", "zz", "中文", "ключ", "é"]
KEYS = st.sampled_from(POOL) | st.text(min_size=1, max_size=3).filter(
    lambda key: key == unicodedata.normalize("NFC", key) and not key.startswith(("d/", "c/"))
)
VALUES = st.binary(max_size=3)
CONTENT = st.dictionaries(KEYS, VALUES, max_size=24)
CHANGES = st.dictionaries(KEYS, VALUES | st.none(), max_size=12)


def after(content: dict[str, bytes], changes: dict[str, bytes | None]) -> dict[str, bytes]:
    merged: dict[str, bytes | None] = {**content, **changes}
    return {key: value for key, value in merged.items() if value is not None}


def large_content(size: int) -> dict[str, bytes]:
    return {f"d/notes/{number % 97:02d}/{number:06d}.md": bytes(32) for number in range(size)}


def check_whole_tree(nodes: Nodes, root: bytes) -> None:
    """Every rule there is between the nodes of a tree."""

    def visit(child: Child, level: int, after: str) -> None:
        node = nodes.get_node(child.oid)
        ledger.check_child(child, node, level, after)
        for part in node.children:
            visit(part, level - 1, after)
            after = part.last_key

    top = nodes.get_node(root)
    ledger.check_root(top.level, len(top.children), top.last_key)
    after = ""
    for part in top.children:
        visit(part, top.level - 1, after)
        after = part.last_key


def test_a_node_does_not_reach_back_before_the_one_beside_it() -> None:
    node = Node(0, (("d/b.md", bytes(32)), ("d/c.md", bytes(32))), ())
    child = Child("d/c.md", object_id(Kind.NODE, ledger.encode_node(node)), 2)
    ledger.check_child(child, node, 0, "d/a.md")
    for before in ("d/b.md", "d/bb.md"):
        with pytest.raises(IntegrityError, match="does not fit its parent"):
            ledger.check_child(child, node, 0, before)


@given(CONTENT)
def test_a_ledger_holds_what_it_was_given(content: dict[str, bytes]) -> None:
    nodes = Nodes()
    root = nodes.build(content)
    check_whole_tree(nodes, root)
    assert dict(ledger.iter_entries(nodes, root)) == content
    assert list(ledger.iter_entries(nodes, root)) == sorted(content.items())
    for key in POOL:
        assert ledger.find(nodes, root, key) == content.get(key)


@given(CONTENT, st.lists(CHANGES, max_size=5))
@settings(max_examples=400)
def test_changes_in_any_batching_give_the_tree_of_a_build(
    content: dict[str, bytes], batches: list[dict[str, bytes | None]]
) -> None:
    nodes = Nodes()
    root = nodes.build(content)
    for changes in batches:
        root = nodes.apply(root, changes)
        content = after(content, changes)
        assert root == nodes.build(content)


@given(CONTENT, st.randoms(use_true_random=False))
def test_the_order_of_single_changes_does_not_matter(content: dict[str, bytes], random: object) -> None:
    nodes = Nodes()
    root, keys = ledger.EMPTY_LEDGER, list(content)
    random.shuffle(keys)  # type: ignore[attr-defined]
    for key in keys:
        root = nodes.apply(root, {key: content[key]})
    assert root == nodes.build(content)
    random.shuffle(keys)  # type: ignore[attr-defined]
    for key in keys:
        root = nodes.apply(root, {key: None})
    assert root == ledger.EMPTY_LEDGER


def test_what_is_left_after_a_removal_is_no_higher_than_its_keys_ask_for() -> None:
    """The right edge of a high tree is a chain; alone, it must shrink to the one node that it is."""
    low, _, high, _ = keys_by_level(4, 30)
    nodes = Nodes()
    last = max(low)
    first = min(high)
    assert first < last
    root = nodes.apply(nodes.build({first: b"1", last: b"2"}), {first: None})
    assert root == nodes.build({last: b"2"})


def test_removing_what_is_not_there_changes_nothing() -> None:
    nodes = Nodes()
    content = large_content(200)
    root = nodes.build(content)
    assert nodes.apply(root, {"d/absent": None, "a": None, "zzz": None}) == root
    assert nodes.apply(root, {}) == root
    assert nodes.apply(ledger.EMPTY_LEDGER, {"a": None}) == ledger.EMPTY_LEDGER


def test_one_change_touches_few_nodes() -> None:
    nodes = Nodes()
    root = nodes.build(large_content(20_000))
    before, nodes.reads = len(nodes.encodings), 0
    nodes.apply(root, {"d/notes/50/new.md": bytes(32)})
    assert len(nodes.encodings) - before <= 16
    assert nodes.reads <= 40


@given(CONTENT, st.text(max_size=3))
def test_a_prefix_selects_its_keys(content: dict[str, bytes], prefix: str) -> None:
    nodes = Nodes()
    root = nodes.build(content)
    expected = [(key, value) for key, value in sorted(content.items()) if key.startswith(prefix)]
    assert list(ledger.iter_entries(nodes, root, prefix)) == expected


@given(CONTENT, CONTENT)
@settings(max_examples=300)
def test_a_diff_is_that_of_the_contents(old: dict[str, bytes], new: dict[str, bytes]) -> None:
    nodes = Nodes()
    expected = [
        Change(key, old.get(key), new.get(key))
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]
    assert list(diff(nodes, nodes.build(old), nodes.build(new))) == expected


def test_a_diff_reads_little_of_large_ledgers() -> None:
    nodes = Nodes()
    root = nodes.build(large_content(20_000))
    other = nodes.apply(root, {f"d/notes/{n:02d}/new.md": bytes(32) for n in range(5)})
    nodes.reads = 0
    assert len(list(diff(nodes, root, other))) == 5
    assert nodes.reads <= 250


def encodings_for(nodes: Nodes, root: bytes, key: str) -> list[bytes]:
    return [ledger.encode_node(node) for node in ledger.proof_nodes(nodes, root, key)]


@given(CONTENT, KEYS)
def test_proofs_of_membership_and_of_absence_verify(content: dict[str, bytes], key: str) -> None:
    nodes = Nodes()
    root = nodes.build(content)
    for wanted in [key, *content]:
        assert ledger.verify_path(root, wanted, encodings_for(nodes, root, wanted)) == content.get(wanted)


@given(CONTENT, KEYS, st.data())
@settings(max_examples=300)
def test_no_changed_proof_verifies(content: dict[str, bytes], key: str, data: st.DataObject) -> None:
    nodes = Nodes()
    root = nodes.build(content)
    path = encodings_for(nodes, root, key)
    step = data.draw(st.integers(0, len(path) - 1))
    changed = bytearray(path[step])
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.integers(1, 255))
    for lie in (
        [*path[:step], bytes(changed), *path[step + 1 :]],
        [*path[:step], *path[step + 1 :]],
        [*path, path[-1]],
        [],
    ):
        with pytest.raises(IntegrityError):
            ledger.verify_path(root, key, lie)


@given(CONTENT.filter(lambda content: len(content) > 8), KEYS, KEYS)
def test_the_proof_of_one_key_says_nothing_wrong_of_another(
    content: dict[str, bytes], one: str, two: str
) -> None:
    """A path that does not lead to where the other key would be is refused; one that does, tells the truth."""
    nodes = Nodes()
    root = nodes.build(content)
    try:
        found = ledger.verify_path(root, two, encodings_for(nodes, root, one))
    except IntegrityError:
        return
    assert found == content.get(two)


def tree_of(*levels: Iterable[Node]) -> tuple[Nodes, bytes]:
    nodes = Nodes()
    oid = b""
    for level in levels:
        for node in level:
            data = ledger.encode_node(node)
            oid = object_id(Kind.NODE, data)
            nodes.encodings[oid] = data
    return nodes, oid


def oid_of(node: Node) -> bytes:
    return object_id(Kind.NODE, ledger.encode_node(node))


LOW, ONE, TWO, _ = keys_by_level(4, 6)
LEFT = Node(0, ((ONE[0], b"l"),), ())
RIGHT = Node(0, ((ONE[1], b"r"),), ())
HONEST = (Child(ONE[0], oid_of(LEFT), 1), Child(ONE[1], oid_of(RIGHT), 1))
LIES = {
    "a count too high": (HONEST[0]._replace(count=2), HONEST[1]),
    "a last key too high": (HONEST[0], HONEST[1]._replace(last_key=ONE[2])),
    "a last key too low": (HONEST[0]._replace(last_key=min(ONE[:1]) + "\x00"), HONEST[1]),
    "children swapped under their keys": (
        HONEST[0]._replace(oid=HONEST[1].oid),
        HONEST[1]._replace(oid=HONEST[0].oid),
    ),
    "the same child twice": (HONEST[0], HONEST[1]._replace(oid=HONEST[0].oid)),
    "a child of another level": (HONEST[0]._replace(oid=oid_of(Node(1, (), HONEST))), HONEST[1]),
}


def test_an_honest_tree_made_by_hand_passes() -> None:
    nodes, root = tree_of([LEFT, RIGHT], [Node(1, (), HONEST)])
    check_whole_tree(nodes, root)
    assert root == nodes.build({ONE[0]: b"l", ONE[1]: b"r"})


@pytest.mark.parametrize("name", LIES)
def test_a_parent_that_lies_about_its_children_is_refused(name: str) -> None:
    children = tuple(sorted(LIES[name]))
    nodes, root = tree_of([LEFT, RIGHT, Node(1, (), HONEST)], [Node(1, (), children)])
    with pytest.raises(IntegrityError):
        check_whole_tree(nodes, root)
    found = 0
    for key in (ONE[0], ONE[1]):
        try:
            ledger.verify_path(root, key, encodings_for(nodes, root, key))
        except IntegrityError:
            found += 1
    assert found


BROKEN_NODES = {
    "a boundary inside": Node(0, ((ONE[0], b""), (ONE[1], b"")), ()),
    "no boundary inside": Node(1, (), (Child(LOW[0], bytes(32), 1), Child(LOW[1], bytes(32), 1))),
    "keys out of order": Node(0, ((LOW[1], b""), (LOW[0], b"")), ()),
    "a key twice": Node(0, ((LOW[0], b"1"), (LOW[0], b"2")), ()),
    "an empty key": Node(0, (("", b""),), ()),
    "children out of order": Node(1, (), (Child(ONE[1], bytes(32), 1), Child(ONE[0], bytes(32), 1))),
    "a child without entries": Node(1, (), (Child(ONE[0], bytes(32), 0),)),
    "a child with fewer than none": Node(1, (), (Child(ONE[0], bytes(32), -1),)),
    "a child with a short oid": Node(1, (), (Child(ONE[0], bytes(31), 1),)),
    "a value too long": Node(0, (("k", bytes(ledger.MAX_VALUE_BYTES + 1)),), ()),
    "a key too long": Node(0, (("k" * (ledger.MAX_KEY_CHARS + 1), b""),), ()),
    "an inner node without children": Node(1, (), ()),
    "a level too high": Node(ledger.MAX_LEVEL + 1, (), (Child("k", bytes(32), 1),)),
    "a path that leaves the folder": Node(0, (("d/../x", bytes(32)),), ()),
    "a path into the private folder": Node(0, (("d/.Arbor/config", bytes(32)),), ()),
    "a core name with a control character": Node(0, (("c/a\nb", bytes(32)),), ()),
    "a document without an oid": Node(0, (("d/a", b"short"),), ()),
    "a core without an oid": Node(0, (("c/a", bytes(33)),), ()),
    "a key that is not in form C": Node(0, (("e/e\u0301", b""),), ()),
    "a path that is not in form C": Node(0, (("d/e\u0301", bytes(32)),), ()),
}


@pytest.mark.parametrize("name", BROKEN_NODES)
def test_a_node_that_breaks_a_rule_is_refused(name: str) -> None:
    with pytest.raises(IntegrityError):
        ledger.decode_node(ledger.encode_node(BROKEN_NODES[name]))


@pytest.mark.parametrize(
    "row",
    [
        [],
        [0],
        [0, [], 1],
        {"a": 1},
        None,
        [True, []],
        [0.0, []],
        ["0", []],
        [0, ["a"]],
        [0, {}],
        [0, "ab"],
        [1, ["a", bytes(32)]],
        [-1, []],
        [0, [1, b""]],
        [0, ["a", "b"]],
        [0, [b"a", b"b"]],
        [1, ["a", "x" * 32, 1]],
        [1, ["a", bytes(32), True]],
        [1, ["a", bytes(32), 1.0]],
    ],
)
def test_bytes_of_another_shape_are_no_node(row: object) -> None:
    with pytest.raises(IntegrityError):
        ledger.decode_node(msgpack.packb(row))


@given(st.binary(max_size=120))
def test_any_bytes_are_a_node_or_an_integrity_error(data: bytes) -> None:
    try:
        node = ledger.decode_node(data)
    except IntegrityError:
        return
    assert ledger.encode_node(node) == data


def test_a_tree_that_is_too_high_is_refused() -> None:
    leaf = Node(0, ((LOW[0], b""),), ())
    tower = Node(1, (), (Child(LOW[0], oid_of(leaf), 1),))
    with pytest.raises(IntegrityError):
        ledger.check_root(tower.level, 1, tower.last_key)
    ledger.check_root(leaf.level, 0, leaf.last_key)


def test_a_tree_that_is_too_low_is_refused() -> None:
    leaf = Node(0, ((TWO[0], b""),), ())
    with pytest.raises(IntegrityError):
        ledger.check_root(leaf.level, 0, leaf.last_key)
    ledger.check_root(1, 1, TWO[0])


def test_the_longest_path_fits_a_key() -> None:
    node = Node(0, (("d/" + "/".join(["x" * 200] * 20)[:4096], bytes(32)),), ())
    assert ledger.decode_node(ledger.encode_node(node)) == node


def test_keys_are_ordered_as_their_bytes_are() -> None:
    keys = ["a", "z", "é", "中", "\U0001f333", "\uffee"]
    assert sorted(keys) == sorted(keys, key=lambda key: key.encode())
