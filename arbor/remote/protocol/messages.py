"""What the messages of the protocol hold, with one way in and one way out for each."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from arbor.errors import RemoteError, UsageError, printable
from arbor.objects.ids import OID_BYTES
from arbor.objects.model import split_oids
from arbor.objects.paths import path_fault
from arbor.records import dataclass
from arbor.remote.protocol.limits import (
    HELD_BYTES,
    MAX_ERROR_CHARS,
    MAX_HAVES,
    MAX_REFS,
    MAX_UPDATES,
    MAX_WANTS,
)
from arbor.remote.protocol.wire import VERSION, Message
from arbor.store.refs import HEADS, TAGS, check_ref_name

AT = "at:"
COLD = "cold"
FULL = ""
_MAX_TEXT = 8192
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RemoteRef:
    """One ref of the other side: full name, what it holds, and the commit behind it (equal but for tag objects)."""

    name: str
    oid: bytes
    peeled: bytes


@dataclass(frozen=True, slots=True)
class Advertisement:
    """What the other side shows first.

    Attributes:
        head: The branch its HEAD follows, by full name; "" for none.
        refs: Its branches and tags, in order of their names.
        prerequisites: Commits that a receiver must have already: what a bundle was made without.
    """

    head: str
    refs: tuple[RemoteRef, ...]
    prerequisites: tuple[bytes, ...] = ()

    def find(self, name: str) -> RemoteRef | None:
        """The ref of a full name, or None."""
        return next((ref for ref in self.refs if ref.name == name), None)


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """What is wanted.

    Attributes:
        wants: Commits or tag objects.
        haves: Commits that are here with everything below them.
        filter: `""` for all, `cold` for no passages, `at:PREFIX` for the passages of a folder only.
        held: The first `HELD_BYTES` of each object that an earlier, interrupted transfer brought.
    """

    wants: tuple[bytes, ...]
    haves: tuple[bytes, ...] = ()
    filter: str = FULL
    held: bytes = b""


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """What comes: how many objects, and documents whose passages the other side does not have either."""

    objects: int
    cold: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """A ref to be moved from `old` to `new`; b"" for absent. `force` allows what is no fast-forward."""

    name: str
    old: bytes
    new: bytes
    force: bool = False


@dataclass(frozen=True, slots=True)
class RefResult:
    """What became of an update: the reason is "" where it was done."""

    name: str
    reason: str


def encode_advertisement(shown: Advertisement) -> Message:
    """The message of an advertisement."""
    rows = [[ref.name, ref.oid, ref.peeled] for ref in shown.refs]
    return {
        "head": shown.head,
        "prerequisites": b"".join(shown.prerequisites),
        "refs": rows,
        "version": VERSION,
    }


def decode_advertisement(message: Message) -> Advertisement:
    """The advertisement of a message; every name in it may be used here.

    Raises:
        RemoteError: when it is malformed, or names a ref outside of branches and tags.
    """

    def make() -> Advertisement:
        if message.get("version") != VERSION:
            raise RemoteError(f"the other side speaks version {message.get('version')!r} of the protocol")
        rows = _list(message["refs"], MAX_REFS)
        refs = tuple(RemoteRef(_ref_name(name), _oid(oid), _oid(peeled)) for name, oid, peeled in rows)
        names = [ref.name for ref in refs]
        folders = {name[:cut] for name in names for cut in range(len(name)) if name[cut] == "/"}
        if names != sorted(set(names)) or not folders.isdisjoint(names):
            raise RemoteError("the other side shows refs that are not in order or stand in each other's way")
        if any(ref.oid != ref.peeled for ref in refs if ref.name.startswith(HEADS)):
            raise RemoteError("the other side shows a branch that is not at a commit")
        head = _text(message["head"])
        return Advertisement(
            _ref_name(head) if head else "", refs, _oids(message["prerequisites"], MAX_HAVES)
        )

    return _built("refs", make)


def encode_fetch_request(request: FetchRequest) -> Message:
    """The arguments of a fetch."""
    return {"wants": b"".join(request.wants), "haves": b"".join(request.haves), "filter": request.filter,
            "held": request.held}  # fmt: skip


def decode_fetch_request(message: Message) -> FetchRequest:
    """The request of a fetch; raises RemoteError when it is malformed."""

    def make() -> FetchRequest:
        held = _bytes(message["held"])
        if len(held) % HELD_BYTES:
            raise ValueError("held")
        wants, haves = _oids(message["wants"], MAX_WANTS), _oids(message["haves"], MAX_HAVES)
        return FetchRequest(wants, haves, check_filter(message["filter"]), held)

    return _built("fetch", make)


def encode_fetch_answer(answer: FetchAnswer) -> Message:
    """The message before the frames of a fetch."""
    return {"objects": answer.objects, "cold": b"".join(answer.cold)}


def decode_fetch_answer(message: Message) -> FetchAnswer:
    """What a fetch brings; raises RemoteError when it is malformed."""
    return _built("fetch", lambda: FetchAnswer(_count(message["objects"]), _oids(message["cold"])))


def encode_updates(updates: Iterable[RefUpdate]) -> list[list[Any]]:
    """The rows of some updates."""
    return [[update.name, update.old, update.new, update.force] for update in updates]


def decode_updates(message: Message) -> tuple[RefUpdate, ...]:
    """The updates of a push.

    Raises:
        RemoteError: when they are malformed, name a ref twice, or one outside of branches and tags.
    """

    def make() -> tuple[RefUpdate, ...]:
        rows = _list(message["updates"], MAX_UPDATES)
        updates = tuple(
            RefUpdate(_ref_name(name), _oid(old, optional=True), _oid(new, optional=True), _flag(force))
            for name, old, new, force in rows
        )
        if len({update.name for update in updates}) != len(updates):
            raise ValueError("names")
        return updates

    return _built("push", make)


def encode_results(results: Iterable[RefResult]) -> Message:
    """The answer to a push."""
    return {"results": [[result.name, result.reason] for result in results]}


def decode_results(message: Message) -> tuple[RefResult, ...]:
    """What became of a push; raises RemoteError when it is malformed."""

    def make() -> tuple[RefResult, ...]:
        return tuple(
            RefResult(_text(name), _text(reason)) for name, reason in _list(message["results"], MAX_UPDATES)
        )

    return _built("push", make)


def decode_oids(message: Message, name: str, limit: int | None = None) -> tuple[bytes, ...]:
    """The oids that a field holds one after the other; raises RemoteError when it does not."""
    return _built(name, lambda: _oids(message[name], limit))


def decode_bytes(message: Message, name: str) -> bytes:
    """The bytes of a field; raises RemoteError when there are none."""
    return _built(name, lambda: _bytes(message[name]))


def decode_count(message: Message, name: str) -> int:
    """The number in a field; raises RemoteError when there is none."""
    return _built(name, lambda: _count(message[name]))


def check_filter(value: Any) -> str:
    """A filter that may be used.

    Raises:
        UsageError: when it is none.
    """
    text = _text(value)
    if text in (FULL, COLD) or (text.startswith(AT) and not path_fault(text[len(AT) :])):
        return text
    raise UsageError(f"{text[:100]!r} is not a filter", "the filters are: cold, at:FOLDER")


def parse_filter(text: str) -> str:
    """A filter as people type it: slashes at the ends and `./` mean nothing, and the whole KB needs no filter.

    Raises:
        UsageError: when it is none, or its folder would lie outside of the KB.
    """
    if not text.startswith(AT):
        return check_filter(text)
    parts = [part for part in text[len(AT) :].split("/") if part not in ("", ".")]
    if ".." in parts:
        raise UsageError(
            f"'{text[len(AT) :][:100]}' leads out of the knowledge base", "name a folder by its path in it"
        )
    return check_filter(AT + unicodedata.normalize("NFC", "/".join(parts))) if parts else FULL


def _built(what: str, make: Callable[[], T]) -> T:
    try:
        return make()
    except UsageError as error:
        # A name that may not be used is quoted in it, as the other side wrote it.
        plain = printable(error.message[:MAX_ERROR_CHARS], "?")
        raise RemoteError(f"the other side sent a broken '{what}' message: {plain}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise RemoteError(f"the other side sent a broken '{what}' message") from error


def _ref_name(value: Any) -> str:
    name = check_ref_name(_text(value))
    if not name.startswith((HEADS, TAGS)):
        raise UsageError(f"ref '{name}' is neither a branch nor a tag")
    return name


def _text(value: Any) -> str:
    if type(value) is str and len(value) <= _MAX_TEXT:
        return value
    raise ValueError("text")


def _bytes(value: Any) -> bytes:
    if type(value) is bytes:
        return value
    raise ValueError("bytes")


def _flag(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise ValueError("flag")


def _count(value: Any) -> int:
    if type(value) is int and value >= 0:
        return value
    raise ValueError("count")


def _list(value: Any, limit: int) -> list[Any]:
    if type(value) is list and len(value) <= limit:
        return value
    raise ValueError("list")


def _oid(value: Any, *, optional: bool = False) -> bytes:
    if type(value) is bytes and (len(value) == OID_BYTES or (optional and not value)):
        return value
    raise ValueError("oid")


def _oids(value: Any, limit: int | None = None) -> tuple[bytes, ...]:
    if limit is not None and len(_bytes(value)) > limit * OID_BYTES:
        raise ValueError("oids")
    return tuple(split_oids(value))
