"""A KB in an object store: packs as objects, refs moved by conditional writes, and no server but the store.

The store's own side of the protocol runs here, over packs that are read by ranges. `docs/format/protocol.md` gives
the names of the objects.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import obstore
import obstore.exceptions
from obstore.store import ObjectStore as Bucket
from obstore.store import from_url

from arbor.errors import ConflictError, IntegrityError, NoKnowledgeBase, RemoteError
from arbor.objects.ids import OID_BYTES
from arbor.objects.model import Signature
from arbor.remote.exchange.service import Service
from arbor.remote.protocol.limits import DEFAULT_LIMITS, Limits
from arbor.remote.protocol.wire import Message, NoneYet, Packets, first_line, request_packets
from arbor.remote.transports.bucket_packs import BucketStore
from arbor.remote.transports.store_failures import store_failure
from arbor.repo.repository import DEFAULT_BRANCH, Repository
from arbor.store.refs import HEADS, Refs, check_ref_name

FORMAT_NAME, FORMAT = "format", b"arbor 1 store\n"
_GONE = b"\n"
_MAX_REF_BYTES = 256


def open_store(url: str, limits: Limits) -> StoreTransport:
    """The transport of an object store's URL; credentials are those of the provider's own environment.

    Raises:
        RemoteError: when the URL or the credentials cannot be used.
    """
    try:
        bucket = from_url(url)
    except (obstore.exceptions.BaseError, ValueError, OSError) as error:
        raise RemoteError(f"'{url}' cannot be opened: {first_line(error)}") from error
    return StoreTransport(bucket, url, limits)


class StoreTransport:
    """Talks to the KB in a bucket, below the bucket's own prefix."""

    is_peer = True

    def __init__(self, bucket: Bucket, url: str, limits: Limits = DEFAULT_LIMITS) -> None:
        self.url = url
        self._bucket = bucket
        self._scratch = tempfile.TemporaryDirectory(prefix="arbor-")
        folder = Path(self._scratch.name)
        (folder / "packs").mkdir()
        Refs(folder).set_head(HEADS + DEFAULT_BRANCH)
        self._repo = Repository(folder, None)
        self._repo.store = BucketStore(bucket, folder / "packs")
        self._repo.refs = BucketRefs(bucket, folder)
        self._service = Service(self._open, may_push=True, limits=limits)

    @contextlib.contextmanager
    def _open(self) -> Iterator[Repository]:
        self._repo.store.refresh()
        yield self._repo

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        """Answer from the bucket; see `arbor.remote.protocol.wire.Transport`."""
        try:
            self._require_format(make=command in ("prepare", "push"))
            yield from self._service.answer(request_packets(command, arguments, frames))
        except (obstore.exceptions.BaseError, OSError) as error:
            raise store_failure(self.url, error) from error

    def _require_format(self, *, make: bool) -> None:
        """The bucket holds a KB, or nothing yet and gets one; raises NoneYet where it is not to be made."""
        try:
            found = bytes(obstore.get(self._bucket, FORMAT_NAME).bytes())
        except FileNotFoundError as error:
            if any(obstore.list(self._bucket, chunk_size=1)):
                raise NoKnowledgeBase(f"{self.url} holds something else than a knowledge base") from error
            if not make:
                raise NoneYet(
                    f"there is no knowledge base in {self.url}", "check the address; the first push makes one"
                ) from error
            obstore.put(self._bucket, FORMAT_NAME, FORMAT, mode="create")
            return
        if found != FORMAT:
            raise NoKnowledgeBase(f"{self.url} is of a format this version cannot read")

    def close(self) -> None:
        """Remove what was kept on this disk."""
        self._repo.close()
        self._scratch.cleanup()


class BucketRefs(Refs):
    """Refs as small objects; a move succeeds only where the object is still the one that was read."""

    def __init__(self, bucket: Bucket, folder: Path) -> None:
        super().__init__(folder)
        self._bucket = bucket

    def _get(self, name: str) -> tuple[bytes, Any] | None:
        """(value, the mode of a write that replaces just this version)."""
        try:
            found = obstore.get(self._bucket, name)
        except FileNotFoundError:
            return None
        if found.meta["size"] > _MAX_REF_BYTES:
            raise IntegrityError(f"ref '{name}' is damaged")
        version = {key: found.meta[key] for key in ("e_tag", "version") if found.meta.get(key) is not None}
        return bytes(found.bytes()), version

    def read(self, name: str) -> bytes | None:
        """The oid a full ref name stands for, or None; see `Refs.read`."""
        check_ref_name(name)
        found = self._get(name)
        if found is None or found[0] == _GONE:
            return None
        try:
            oid = bytes.fromhex(found[0].decode("ascii").removesuffix("\n"))
        except (UnicodeDecodeError, ValueError):
            oid = b""
        if len(oid) != OID_BYTES:
            raise IntegrityError(f"ref '{name}' is damaged")
        return oid

    def iter_names(self, prefix: str = "refs/") -> Iterator[str]:
        """The full names that start with `prefix`, in order."""
        below = prefix.rpartition("/")[0]
        names = [meta["path"] for batch in obstore.list(self._bucket, below) for meta in batch]
        yield from sorted(name for name in names if name.startswith(prefix))

    def head(self) -> str | bytes:
        """The branch that the KB's HEAD follows."""
        found = self._get("HEAD")
        return (
            check_ref_name(found[0].decode("utf-8", "replace").strip()) if found else HEADS + DEFAULT_BRANCH
        )

    def set_head(self, target: str | bytes, who: Signature | None = None, reason: str = "") -> None:
        """Let HEAD follow a branch."""
        assert isinstance(target, str)
        obstore.put(self._bucket, "HEAD", f"{check_ref_name(target)}\n".encode())

    def move(self, name: str, old: bytes | None, new: bytes | None, who: Signature, reason: str) -> None:
        """Compare and swap; see `Refs.move`. A removed ref leaves an empty object, since removing has no condition."""
        check_ref_name(name)
        found = self._get(name)
        if self.read(name) != old:
            raise ConflictError(f"'{name}' has moved since it was read", "run the command again")
        if new is not None and old is None and (others := self.in_the_way(name)):
            # A bucket could hold both, and no file system could hold a clone of it.
            raise ConflictError(f"'{name}' cannot be made: '{others[0]}' is in the way")
        data = _GONE if new is None else f"{new.hex()}\n".encode()
        try:
            obstore.put(self._bucket, name, data, mode="create" if found is None else found[1])
        except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError) as error:
            raise ConflictError(f"'{name}' has moved since it was read", "run the command again") from error
        except (obstore.exceptions.NotSupportedError, NotImplementedError) as error:
            raise RemoteError("this object store has no conditional writes, which refs need") from error
