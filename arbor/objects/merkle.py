"""Merkle trees as in RFC 9162: roots, inclusion proofs, consistency proofs, and the append-only compact form.

Leaves come in as hashes (a chunk's oid is its leaf hash). Interior nodes hash under a context of their own; an odd
node is promoted, never duplicated (CVE-2012-2459). Sizes are given by the caller from committed data: an inclusion
proof does not bind the size of its tree.
Source: RFC 9162 sections 2.1.1 to 2.1.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from blake3 import blake3

HASH_BYTES = 32
_NODE = blake3(derive_key_context="arbor 1 merkle node")

EMPTY_ROOT = _NODE.digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an interior node over its two children."""
    hasher = _NODE.copy()
    hasher.update(left + right)
    return hasher.digest()


def tree_root(leaves: Sequence[bytes]) -> bytes:
    """The RFC 9162 root over leaf hashes; `EMPTY_ROOT` for none.

    Folding neighbours level by level, with an odd last node promoted, gives the same tree as the recursive
    definition (left subtree the largest power of two).
    """
    if not leaves:
        return EMPTY_ROOT
    level = leaves
    while len(level) > 1:
        level = _folded(level)
    return level[0]


def _folded(level: Sequence[bytes]) -> list[bytes]:
    folded = list(map(node_hash, level[::2], level[1::2]))
    if len(level) % 2:
        folded.append(level[-1])
    return folded


def inclusion_path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The audit path of leaf `index`, from the leaf's sibling up to the root's child (RFC 9162 2.1.3.1).

    Raises:
        IndexError: when `index` is not a leaf.
    """
    if not 0 <= index < len(leaves):
        raise IndexError(index)
    path: list[bytes] = []
    level = leaves
    while len(level) > 1:
        sibling = index ^ 1
        if sibling < len(level):
            path.append(level[sibling])
        level, index = _folded(level), index // 2
    return path


def root_from_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that an audit path leads to, or None when the path's length does not fit `index` and `size`.

    Args:
        leaf: The leaf hash.
        index: The leaf's position, 0-based.
        size: The number of leaves, taken from committed data and never from the proof.
        path: Sibling hashes from the leaf upwards.
    """
    if not 0 <= index < size or not _are_hashes([leaf, *path]):
        return None
    remaining = list(reversed(path))
    value, position, last = leaf, index, size - 1
    while last > 0:
        if position % 2 or position < last:
            if not remaining:
                return None
            sibling = remaining.pop()
            value = node_hash(sibling, value) if position % 2 else node_hash(value, sibling)
        position, last = position // 2, last // 2
    return None if remaining else value


def consistency_path(leaves: Sequence[bytes], old_size: int) -> list[bytes]:
    """The proof that the first `old_size` leaves are a prefix of `leaves` (RFC 9162 2.1.4.1).

    Raises:
        IndexError: unless 0 < old_size <= len(leaves).
    """
    if not 0 < old_size <= len(leaves):
        raise IndexError(old_size)
    return _subproof(leaves, old_size, True)


def _subproof(leaves: Sequence[bytes], old_size: int, whole: bool) -> list[bytes]:
    if old_size == len(leaves):
        return [] if whole else [tree_root(leaves)]
    split = _left_size(len(leaves))
    if old_size <= split:
        return [*_subproof(leaves[:split], old_size, whole), tree_root(leaves[split:])]
    return [*_subproof(leaves[split:], old_size - split, False), tree_root(leaves[:split])]


def _left_size(size: int) -> int:
    """The largest power of two below `size` (size >= 2)."""
    return 1 << ((size - 1).bit_length() - 1)


def verify_consistency(
    old_size: int, new_size: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]
) -> bool:
    """Whether a consistency path ties the old root to the new one (RFC 9162 2.1.4.2)."""
    if not 0 < old_size <= new_size or not _are_hashes(path):
        return False
    if old_size == new_size:
        return not path and old_root == new_root
    proof = list(path) if old_size & (old_size - 1) else [old_root, *path]
    if not proof:
        return False
    old_index, last = old_size - 1, new_size - 1
    while old_index % 2:
        old_index, last = old_index // 2, last // 2
    old_value = new_value = proof[0]
    for sibling in proof[1:]:
        if last == 0:
            return False
        if old_index % 2 or old_index == last:
            old_value, new_value = node_hash(sibling, old_value), node_hash(sibling, new_value)
            while old_index and not old_index % 2:
                old_index, last = old_index // 2, last // 2
        else:
            new_value = node_hash(new_value, sibling)
        old_index, last = old_index // 2, last // 2
    return last == 0 and old_value == old_root and new_value == new_root


def _are_hashes(values: Sequence[bytes]) -> bool:
    """Whether each is as long as a hash: two of other lengths could be joined to the bytes of two that are."""
    return all(len(value) == HASH_BYTES for value in values)


def append_leaf(size: int, peaks: Sequence[bytes], leaf: bytes) -> list[bytes]:
    """The peaks of an append-only tree after one more leaf.

    Peaks are the roots of the perfect subtrees of a tree of `size` leaves, largest first: one for each 1-bit of
    `size`, so a log of a million commits is carried in twenty hashes.
    """
    grown, value = list(peaks), leaf
    while size % 2:
        value = node_hash(grown.pop(), value)
        size //= 2
    grown.append(value)
    return grown


def root_of_peaks(peaks: Sequence[bytes]) -> bytes:
    """The RFC 9162 root of the tree that the peaks stand for."""
    if not peaks:
        return EMPTY_ROOT
    value = peaks[-1]
    for peak in reversed(peaks[:-1]):
        value = node_hash(peak, value)
    return value
