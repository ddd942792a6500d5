"""What the commands for sharing have in common: reaching other knowledge bases, a bar, and how refs are shown."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from arbor.cli.progress import StatusLine
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import count, short, size
from arbor.errors import RemoteError, UsageError
from arbor.lazy import lazy_module
from arbor.store.refs import TAGS, short_name

if TYPE_CHECKING:
    from urllib import request

    from arbor.remote.fetching import FetchResult, RefChange
    from arbor.remote.pushing import PushedRef, PushResult
    from arbor.remote.transports import addresses, connecting
    from arbor.remote.transports.connecting import ConnectOptions
else:
    request = lazy_module("urllib.request")
    addresses = lazy_module("arbor.remote.transports.addresses")
    connecting = lazy_module("arbor.remote.transports.connecting")

TOKEN_VARIABLE = "ARBOR_TOKEN"
SSH_VARIABLES = ("ARBOR_SSH", "GIT_SSH_COMMAND", "GIT_SSH")


def connect_options(session: Session) -> ConnectOptions:
    """How to reach others: `ARBOR_TOKEN` and proxies for http, the ssh program, the folder for relative paths."""
    return connecting.ConnectOptions(
        cwd=session.cwd, token=os.environ.get(TOKEN_VARIABLE, ""), ssh_command=_ssh_command(),
        remote_command=_words("ARBOR_REMOTE_COMMAND", "arbor"), proxies=proxies_at_hand(),
    )  # fmt: skip


def proxies_at_hand() -> dict[str, str]:
    """The proxies that the environment names, as `HTTPS_PROXY` and the like."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return {}  # without loading what reads them
    return request.getproxies_environment()


def _ssh_command() -> tuple[str, ...]:
    """The ssh program with its options: who has told git how to reach a host need not tell arbor again."""
    chosen = next((name for name in SSH_VARIABLES if os.environ.get(name)), SSH_VARIABLES[0])
    if chosen == "GIT_SSH":  # the path of a program, which may hold spaces, and nothing else
        return (os.environ[chosen],)
    return _words(chosen, "ssh")


def _words(variable: str, default: str) -> tuple[str, ...]:
    """The words of a command in the environment."""
    try:
        return tuple(shlex.split(os.environ.get(variable, ""))) or (default,)
    except ValueError as error:
        raise UsageError(
            f"{variable} cannot be split into words: {error}", "quote it as for a shell"
        ) from error


def warn_of_secret(session: Session, url: str) -> None:
    """Say that a password in an address is not kept."""
    if addresses.parse_address(url).secret:
        session.out.warning("the name and password in the address are not recorded")
        session.out.hint(f"give a token when it is needed: {TOKEN_VARIABLE}=... arbor fetch")


@contextlib.contextmanager
def transfer_bar(session: Session, verb: str) -> Iterator[Callable[[int, int, int], None]]:
    """Objects and bytes on one line beside the answer; what a transfer calls within the block."""
    with StatusLine(session.out.progress_stream) as line:

        def show(objects: int, total: int, moved_bytes: int) -> None:
            if line.is_due():
                of = f"/{total:,}" if total else ""
                line.draw(f"{verb}  {objects:,}{of} objects  {size(moved_bytes)}")

        yield show


def full_tags(words: Sequence[str]) -> tuple[str, ...]:
    """Names of refs as typed, where `tag NAME` is git's way to name a tag and no branch; a last `tag` is a name."""
    rest, names = iter(words), []
    for word in rest:
        tag = next(rest, "") if word == "tag" else ""
        names.append(TAGS + tag.removeprefix(TAGS) if tag else word)
    return tuple(names)


def short_ref(name: str) -> str:
    """A ref as people say it, for one line."""
    return clean_line(short_name(name))


_MARKS = {"new": "*", "forward": " ", "forced": "+", "pruned": "-", "removed": "-", "rejected": "!"}


def show_fetch(session: Session, result: FetchResult) -> None:
    """What a fetch changed, with its warnings."""
    out = session.out
    if result.objects:
        out.line(
            f"from {clean_line(result.url)}: {count(result.commits, 'commit')}, {count(result.objects, 'object')}, "
            f"{size(result.received_bytes)}"
        )
    for change in result.changes:
        if change.status != "same":
            out.line(_change_line(change, fetched=change.there == result.fetch_head))
    if result.cold:
        out.warning(f"{count(result.cold, 'document')} came without passages (cold)")
        out.hint("bring them here with: arbor rehydrate --all")
    for text in result.warnings:
        out.warning(text)
    for change in result.rejected:
        out.error(f"{short_ref(change.there)}: {change.reason}", change.hint, RemoteError.exit_code)


def _change_line(change: RefChange, *, fetched: bool) -> str:
    name = short_ref(change.here) if change.here else "FETCH_HEAD" if fetched else ""
    return _moved_line(change, f" -> {name}" if name and change.here != change.there else "")


def _moved_line(ref: RefChange | PushedRef, here: str = "") -> str:
    """From where to where a ref of the other side moved, and what it is called here."""
    moved = f"{short(ref.old) or 'new'}..{short(ref.new) or 'gone'}"
    note = f"  ({ref.reason})" if ref.reason else "  (forced)" if ref.status == "forced" else ""
    return f" {_MARKS.get(ref.status, ' ')} {moved:<28} {short_ref(ref.there)}{here}{note}"


def show_push(session: Session, result: PushResult) -> None:
    """What a push changed."""
    out = session.out
    if not result.refs:
        out.line("there is nothing to push")
    if result.objects:
        out.line(f"to {clean_line(result.url)}: {count(result.objects, 'object')}, {size(result.sent_bytes)}")
    for ref in result.refs:
        out.line(f"   {short_ref(ref.there)} is up to date" if ref.status == "same" else _moved_line(ref))


def fetch_fields(result: FetchResult, *, dry_run: bool = False) -> dict[str, Any]:
    """A fetch for `--json`."""
    rows = [{"there": c.there, "here": c.here or None, **_moved_fields(c)} for c in result.changes]
    return {"dry_run": dry_run, "url": result.url, "refs": rows,
            "objects": result.objects, "bytes": result.received_bytes,
            "commits": result.commits, "cold": result.cold, "warnings": list(result.warnings),
            "fetch_head": result.fetch_head or None}  # fmt: skip


def push_fields(result: PushResult) -> dict[str, Any]:
    """A push for `--json`."""
    rows = [_moved_fields(ref) for ref in result.refs]
    return {"url": result.url, "refs": rows, "objects": result.objects, "bytes": result.sent_bytes}


def _moved_fields(ref: RefChange | PushedRef) -> dict[str, Any]:
    return {"there": ref.there, "old": ref.old or None, "new": ref.new or None, "status": ref.status,
            "reason": ref.reason or None}  # fmt: skip
