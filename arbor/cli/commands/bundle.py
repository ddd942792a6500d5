"""`arbor bundle`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.safe_text import quote_path
from arbor.cli.session import Session
from arbor.cli.sharing import short_ref
from arbor.cli.views import count, short, size
from arbor.errors import NoKnowledgeBase, UsageError
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from arbor.remote.transports import bundle, bundle_check
    from arbor.remote.transports.bundle import BundleInfo
else:
    bundle = lazy_module("arbor.remote.transports.bundle")
    bundle_check = lazy_module("arbor.remote.transports.bundle_check")

FIELDS = {
    "file": "the bundle",
    "refs": "`name` and `commit` of each branch and tag in it",
    "prerequisites": "commits that a receiver must have already",
    "filter": "which passages it holds; null for all",
    "cold": "documents without their passages",
    "objects": "objects in it",
    "bytes": "size of the file; null where a pipe or a device was written into",
}


@arbor_command("bundle", fields=FIELDS)
@click.argument("action", type=click.Choice(["create", "verify", "list"]), metavar="create | verify | list")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.argument("names", nargs=-1, metavar="[BRANCH | TAG | REV..BRANCH]...")
@click.option(
    "--all", "everything", is_flag=True, help="With create: all branches and tags, as without names."
)
@click.option("--cold", is_flag=True, help="Without passages.")
@json_option
def command(
    session: Session,
    action: str,
    file: str,
    names: tuple[str, ...],
    everything: bool,
    cold: bool,
    as_json: bool,
) -> None:
    """Put a knowledge base into one file that can be mailed, cloned and pulled from.

      arbor bundle create FILE            all that branches and tags reach
      arbor bundle create FILE v1..main   what main has beyond v1
      arbor bundle create -               to standard output, for a pipe
      arbor bundle verify FILE            unpack and check all, keep nothing
      arbor bundle list FILE              the branches and tags in it

    A bundle is cloned and pulled from like any other address.
    """
    if action != "create" and (names or cold or everything):
        raise UsageError(f"arbor bundle {action} takes a file only")
    if everything and names:
        raise UsageError("--all is every branch and tag, and takes no names", "leave out --all, or the names")
    if file == "-":
        _stream(session, action, names, cold, as_json)
        return
    fs_path = session.from_here(file)
    if action == "create":
        info = _create(session, fs_path, names, cold)
    elif action == "verify":
        info = _verify(session, fs_path)
    else:
        info = _read(fs_path)
    # What went into a pipe is not there any more.
    length = fs_path.stat().st_size if fs_path.is_file() else None
    if as_json:
        session.out.json("bundle", {"file": str(fs_path), **_fields(info), "bytes": length})
        return
    words = {"create": "wrote", "verify": "whole:", "list": ""}[action]
    if words:
        about = count(info.objects, "object") + ("" if length is None else f", {size(length)}")
        session.out.line(f"{words} {quote_path(file)}, {about}")
    for ref in info.shown.refs if action != "create" else ():
        session.out.line(f"{short(ref.peeled.hex())} {short_ref(ref.name)}")
    _tell_needs(session, info, cold)


def _stream(session: Session, action: str, names: tuple[str, ...], cold: bool, as_json: bool) -> None:
    """Write the bundle to standard output, and everything that there is to say beside it."""
    if action != "create":
        raise UsageError("a bundle is read from a file, not from a stream", "one called - is written as ./-")
    if as_json:
        raise UsageError("standard output holds the bundle or the JSON answer, and not both", "name a file")
    if session.out.interactive:
        raise UsageError(
            "a bundle is nothing for a terminal", "name a file, or send the bundle into one with >"
        )
    wanted, left_out = _split_ranges(names)
    sharing = session.open().sharing
    info = sharing.stream_bundle(session.out.binary, wanted, exclude=left_out, cold=cold)
    session.out.note(f"wrote {count(info.objects, 'object')} to standard output")
    _tell_needs(session, info, cold)


def _tell_needs(session: Session, info: BundleInfo, cold: bool) -> None:
    """What the receiver has to know of a bundle; that it is cold only where nobody asked for that."""
    if info.cold and not cold:
        session.out.warning(f"{count(len(info.cold), 'document')} without passages (cold)")
        session.out.hint("it can be cloned with: arbor clone --cold")
    for oid in info.shown.prerequisites:
        session.out.note(f"needs {short(oid.hex())}")


def _create(session: Session, fs_path: Path, names: tuple[str, ...], cold: bool) -> BundleInfo:
    wanted, left_out = _split_ranges(names)
    return session.open().sharing.create_bundle(fs_path, wanted, exclude=left_out, cold=cold)


def _split_ranges(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """(what is to be in the bundle, what its receiver has) of names and `REV..BRANCH`."""
    wanted, left_out = [], []
    for name in names:
        old, dots, new = name.partition("..")
        wanted.append(new if dots else name)
        left_out += [old] if dots else []
    return wanted, left_out


def _verify(session: Session, fs_path: Path) -> BundleInfo:
    """Against the knowledge base here, where there is one."""
    try:
        return session.open().sharing.verify_bundle(fs_path).info
    except NoKnowledgeBase:
        return bundle_check.verify_bundle(fs_path).info


def _read(fs_path: Path) -> BundleInfo:
    with contextlib.closing(bundle.Bundle(fs_path)) as opened:
        return opened.info


def _fields(info: BundleInfo) -> dict[str, Any]:
    return {
        "refs": [{"name": ref.name, "commit": ref.peeled.hex()} for ref in info.shown.refs],
        "prerequisites": [oid.hex() for oid in info.shown.prerequisites],
        "filter": info.filter or None,
        "cold": len(info.cold),
        "objects": info.objects,
    }
