"""What other sides showed last: a checkpoint for each branch of each address, so that none of them can take it back.

Tracking refs say the same of a remote that has a name. This record also holds for addresses without one, and for two
names of one address, and it outlives a tracking ref that was pruned. A branch that this side removed over there, by a
push, may begin anew; one that the other side removed may not, unless the person says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgpack

from arbor.errors import IntegrityError
from arbor.objects.ids import OID_BYTES
from arbor.objects.proofs import log_state
from arbor.repo.repository import Repository
from arbor.store.files import MAX_STATE_BYTES, read_bounded, seal, unpack_sealed, write_atomically

WITNESS_FILE = "witnessed"
_VERSION = 1
_MAX_ADDRESSES = 1000


class Seen(NamedTuple):
    """The state of a branch's log when it was seen: commits in it, their root, and the newest one."""

    size: int
    log_root: bytes
    commit: bytes


def read_witnessed(folder: Path, url: str) -> dict[str, Seen]:
    """What an address showed last, by full ref name; empty where nothing is recorded.

    Raises:
        IntegrityError: when the record is damaged.
    """
    return _read(folder).get(_address(url), {})


def remember(repo: Repository, url: str, branches: Mapping[str, bytes | None]) -> None:
    """Record what an address shows now, beside what it showed of other branches. Call it under the writer lock.

    Of very many addresses the longest unused ones are forgotten.

    Args:
        repo: Where.
        url: The address.
        branches: Full ref name to the commit it stands at; None where this side removed the branch there.
    """
    record, url = _read(repo.folder), _address(url)
    known = record.pop(url, {})
    now = {name: seen for name, seen in known.items() if name not in branches}
    now.update((name, _seen(repo, oid)) for name, oid in branches.items() if oid is not None)
    if now == known:
        return
    record[url] = now
    kept = dict(list(record.items())[-_MAX_ADDRESSES:])
    write_atomically(repo.folder / WITNESS_FILE, seal(msgpack.packb([_VERSION, kept])))


def _address(url: str) -> str:
    """One name for a folder that has several."""
    return os.path.realpath(url) if os.path.isabs(url) else url


def _seen(repo: Repository, oid: bytes) -> Seen:
    return Seen(*log_state(oid, repo.commit(oid)), oid)


def _read(folder: Path) -> dict[str, dict[str, Seen]]:
    try:
        data = read_bounded(folder / WITNESS_FILE, MAX_STATE_BYTES)
    except FileNotFoundError:
        return {}
    try:
        version, record = unpack_sealed(data, "the record of what remotes showed")
        if version != _VERSION:
            raise IntegrityError("the record of what remotes showed was written by another version of arbor")
        found = {url: {name: Seen(*row) for name, row in rows.items()} for url, rows in record.items()}
        if any(type(seen.commit) is not bytes or len(seen.commit) != OID_BYTES
               for rows in found.values() for seen in rows.values()):  # fmt: skip
            raise ValueError("commit")
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
        raise IntegrityError(
            "the record of what remotes showed is damaged", f"it can be removed: {folder / WITNESS_FILE}"
        ) from error
    return found
