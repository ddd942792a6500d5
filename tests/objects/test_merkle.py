"""Merkle trees against RFC 9162 written down a second time, as the recursive definitions stand in the text."""

from __future__ import annotations

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from arbor.objects import merkle

LIMIT = 40


def leaf(number: int) -> bytes:
    return blake3(str(number).encode()).digest()


LEAVES = [leaf(number) for number in range(LIMIT)]


def rfc_node(left: bytes, right: bytes) -> bytes:
    return blake3(left + right, derive_key_context="arbor 1 merkle node").digest()


def largest_power_below(size: int) -> int:
    power = 1
    while power * 2 < size:
        power *= 2
    return power


def rfc_root(leaves: list[bytes]) -> bytes:
    """RFC 9162 section 2.1.1, MTH(D_n) over leaves that are hashes already."""
    if not leaves:
        return blake3(b"", derive_key_context="arbor 1 merkle node").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = largest_power_below(len(leaves))
    return rfc_node(rfc_root(leaves[:k]), rfc_root(leaves[k:]))


def rfc_path(index: int, leaves: list[bytes]) -> list[bytes]:
    """RFC 9162 section 2.1.3.1, PATH(m, D_n)."""
    if len(leaves) == 1:
        return []
    k = largest_power_below(len(leaves))
    if index < k:
        return [*rfc_path(index, leaves[:k]), rfc_root(leaves[k:])]
    return [*rfc_path(index - k, leaves[k:]), rfc_root(leaves[:k])]


def rfc_proof(old: int, leaves: list[bytes]) -> list[bytes]:
    """RFC 9162 section 2.1.4.1, PROOF(m, D_n)."""
    return rfc_subproof(old, leaves, True)


def rfc_subproof(old: int, leaves: list[bytes], known: bool) -> list[bytes]:
    if old == len(leaves):
        return [] if known else [rfc_root(leaves)]
    k = largest_power_below(len(leaves))
    if old <= k:
        return [*rfc_subproof(old, leaves[:k], known), rfc_root(leaves[k:])]
    return [*rfc_subproof(old - k, leaves[k:], False), rfc_root(leaves[:k])]


@pytest.mark.parametrize("size", range(LIMIT + 1))
def test_roots_are_those_of_the_definition(size: int) -> None:
    assert merkle.tree_root(LEAVES[:size]) == rfc_root(LEAVES[:size])


def test_known_answers() -> None:
    """Written down once; another implementation can check itself against them."""
    assert merkle.EMPTY_ROOT.hex() == KNOWN[0]
    assert merkle.tree_root(LEAVES[:1]) == LEAVES[0]
    assert [merkle.tree_root(LEAVES[:size]).hex() for size in (2, 3, 7)] == KNOWN[1:]


KNOWN = [
    "76018836c74cd3a219154e44cad13b1281c57e2112fb19e3eb0dde33f24e44e4",
    "7df0969cf90af33fda14a2d378e00a9ec30b7b791ac4331183e3b2b3524a122e",
    "3f1c7512f9ae79232202a4a1dcd4efe58725ecc1af5dcf4a059b4c253fb81cff",
    "4b1fe0c5a8034c4c55d64449604496484ebc4b48f93fa01bbc472fb47c599081",
]


@pytest.mark.parametrize("size", range(1, LIMIT + 1))
def test_every_leaf_of_every_size_has_the_path_of_the_definition_and_it_verifies(size: int) -> None:
    leaves = LEAVES[:size]
    root = rfc_root(leaves)
    for index in range(size):
        path = merkle.inclusion_path(leaves, index)
        assert path == rfc_path(index, leaves)
        assert merkle.root_from_path(leaves[index], index, size, path) == root


def test_an_index_that_is_no_leaf_has_no_path() -> None:
    for index in (-1, 5, 6):
        with pytest.raises(IndexError):
            merkle.inclusion_path(LEAVES[:5], index)


def test_a_leaf_verifies_at_its_own_place_only() -> None:
    """With the size taken from the document and not from the proof, no other index leads to the root."""
    for size in range(1, LIMIT + 1):
        root = merkle.tree_root(LEAVES[:size])
        for index in range(size):
            path = merkle.inclusion_path(LEAVES[:size], index)
            leads = [
                i for i in range(-1, size + 2) if merkle.root_from_path(LEAVES[index], i, size, path) == root
            ]
            assert leads == [index]


def test_the_size_is_not_bound_by_a_proof_and_must_come_from_elsewhere() -> None:
    """What the documentation warns of: wrong sizes that verify exist, so a proof's own word on it is worth nothing."""
    size, index = 7, 2
    path = merkle.inclusion_path(LEAVES[:size], index)
    root = merkle.tree_root(LEAVES[:size])
    wrong = [
        n for n in range(1, 64) if n != size and merkle.root_from_path(LEAVES[index], index, n, path) == root
    ]
    assert wrong


@given(st.integers(2, LIMIT), st.data())
def test_no_changed_byte_of_a_path_verifies(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    path = merkle.inclusion_path(LEAVES[:size], index)
    root = merkle.tree_root(LEAVES[:size])
    for step in range(len(path)):
        for place in range(32):
            changed = bytearray(path[step])
            changed[place] ^= data.draw(st.integers(1, 255)) if place == 0 else 1
            lie = [*path[:step], bytes(changed), *path[step + 1 :]]
            assert merkle.root_from_path(LEAVES[index], index, size, lie) != root
    assert merkle.root_from_path(leaf(-1), index, size, path) != root


@given(st.integers(1, LIMIT), st.data())
def test_a_path_of_another_length_leads_nowhere(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    path = merkle.inclusion_path(LEAVES[:size], index)
    assert merkle.root_from_path(LEAVES[index], index, size, [*path, LEAVES[0]]) is None
    if path:
        assert merkle.root_from_path(LEAVES[index], index, size, path[:-1]) is None
        assert merkle.root_from_path(LEAVES[index], index, size, path[1:]) is None


def test_bytes_cannot_be_moved_from_a_leaf_to_its_sibling() -> None:
    path = merkle.inclusion_path(LEAVES[:4], 1)
    root = merkle.tree_root(LEAVES[:4])
    joined = LEAVES[0] + LEAVES[1]
    for cut in (31, 33):
        assert merkle.root_from_path(joined[cut:], 1, 4, [joined[:cut], path[1]]) != root


def test_an_odd_leaf_is_not_duplicated() -> None:
    """CVE-2012-2459: [1, 2, 3] and [1, 2, 3, 3] must not share a root."""
    assert merkle.tree_root(LEAVES[:3]) != merkle.tree_root([*LEAVES[:3], LEAVES[2]])


def test_a_tree_is_not_the_tree_of_its_inner_nodes() -> None:
    """A leaf is hashed under another context than a node, so two levels cannot be taken for one."""
    inner = [merkle.node_hash(*LEAVES[:2]), merkle.node_hash(*LEAVES[2:4])]
    assert merkle.tree_root(inner) == merkle.tree_root(LEAVES[:4])
    assert blake3(LEAVES[0] + LEAVES[1], derive_key_context="arbor 1 object chunk").digest() not in inner


def test_every_pair_of_sizes_is_consistent_as_in_the_definition() -> None:
    for new in range(1, LIMIT + 1):
        leaves, new_root = LEAVES[:new], rfc_root(LEAVES[:new])
        for old in range(1, new + 1):
            path = merkle.consistency_path(leaves, old)
            assert path == rfc_proof(old, leaves)
            assert merkle.verify_consistency(old, new, rfc_root(leaves[:old]), new_root, path)


def test_consistency_with_another_history_does_not_verify() -> None:
    for new in range(2, 18):
        new_root = merkle.tree_root(LEAVES[:new])
        for old in range(1, new + 1):
            path = merkle.consistency_path(LEAVES[:new], old)
            other = [*LEAVES[: old - 1], leaf(-1)]
            assert not merkle.verify_consistency(old, new, merkle.tree_root(other), new_root, path)
            assert not merkle.verify_consistency(old, new, merkle.tree_root(LEAVES[:old]), leaf(-2), path)


@given(st.integers(2, LIMIT), st.data())
def test_no_changed_consistency_path_verifies(new: int, data: st.DataObject) -> None:
    old = data.draw(st.integers(1, new - 1))
    path = merkle.consistency_path(LEAVES[:new], old)
    old_root, new_root = merkle.tree_root(LEAVES[:old]), merkle.tree_root(LEAVES[:new])
    for step in range(len(path)):
        changed = bytearray(path[step])
        changed[data.draw(st.integers(0, 31))] ^= data.draw(st.integers(1, 255))
        assert not merkle.verify_consistency(
            old, new, old_root, new_root, [*path[:step], bytes(changed), *path[step + 1 :]]
        )
        assert not merkle.verify_consistency(old, new, old_root, new_root, [*path[:step], *path[step + 1 :]])
    assert not merkle.verify_consistency(old, new, old_root, new_root, [*path, leaf(-1)])


@pytest.mark.parametrize(("old", "new", "claimed"), [(2, 3, 5), (2, 4, 8), (3, 4, 5), (5, 8, 9)])
def test_a_consistency_path_that_ends_below_the_root_does_not_verify(
    old: int, new: int, claimed: int
) -> None:
    path = merkle.consistency_path(LEAVES[:new], old)
    old_root, new_root = merkle.tree_root(LEAVES[:old]), merkle.tree_root(LEAVES[:new])
    assert merkle.verify_consistency(old, new, old_root, new_root, path)
    assert not merkle.verify_consistency(old, claimed, old_root, new_root, path)


@pytest.mark.parametrize(("old", "new"), [(0, 0), (0, 3), (4, 3), (-1, 3)])
def test_sizes_that_make_no_sense_are_not_consistent(old: int, new: int) -> None:
    assert not merkle.verify_consistency(old, new, LEAVES[0], LEAVES[0], [])
    if not 0 < old <= 3:
        with pytest.raises(IndexError):
            merkle.consistency_path(LEAVES[:3], old)


def test_peaks_grow_to_the_root_of_the_same_tree() -> None:
    peaks: list[bytes] = []
    assert merkle.root_of_peaks(peaks) == merkle.EMPTY_ROOT
    for size in range(300):
        assert len(peaks) == size.bit_count()
        assert merkle.root_of_peaks(peaks) == merkle.tree_root([leaf(n) for n in range(size)])
        peaks = merkle.append_leaf(size, peaks, leaf(size))
