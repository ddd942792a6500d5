"""`arbor clone`."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, json_option, quiet_option, signed_option
from arbor.cli.identity import find_identity
from arbor.cli.safe_text import clean_line, quote_path
from arbor.cli.session import Session
from arbor.cli.sharing import connect_options, transfer_bar, warn_of_secret
from arbor.cli.views import count, short, size
from arbor.errors import StorageError, UsageError
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from arbor import kb as front_desk
    from arbor.remote import cloning, desk
    from arbor.remote.cloning import CloneResult
    from arbor.repo import config
else:
    front_desk = lazy_module("arbor.kb")
    cloning = lazy_module("arbor.remote.cloning")
    desk = lazy_module("arbor.remote.desk")
    config = lazy_module("arbor.repo.config")

FIELDS = {
    "path": "the new knowledge base",
    "url": "where it came from",
    "branch": "the branch that HEAD follows; null where it stands at a tag",
    "commit": "the commit it stands at; null for an empty one",
    "branches": "branches on the other side",
    "tags": "tags",
    "documents": "files written",
    "objects": "objects received",
    "bytes": "bytes received",
    "cold": "documents that came without their passages",
    "warnings": "what to know before relying on it",
}


@arbor_command("clone", fields=FIELDS)
@click.argument("url", metavar="URL", type=click.Path())
@click.argument("folder", required=False, metavar="[FOLDER]", type=click.Path())
@click.option("--bare", is_flag=True, help="Only the store, without a folder of documents: for sharing.")
@click.option("--cold", is_flag=True, help="Without passages; they come when they are asked for.")
@click.option("--filter", "filter_text", metavar="FILTER", default="", help="`cold`, or `at:FOLDER`.")
@click.option("--at", "prefix", metavar="FOLDER", default="", help="The passages of this folder only.")
@click.option(
    "-b", "--branch", metavar="NAME", default="", help="Stand at this branch, or detached at this tag."
)
@click.option(
    "-o", "--origin", metavar="NAME", default="origin", show_default=True, help="Name of the remote."
)
@click.option("-n", "--no-checkout", is_flag=True, help="Write no files.")
@click.option("--no-tags", is_flag=True, help="Leave tags out.")
@click.option("--no-index", is_flag=True, help="Leave the index for the first search.")
@signed_option
@quiet_option
@json_option
def command(
    session: Session, url: str, folder: str | None, bare: bool, cold: bool, filter_text: str, prefix: str,
    branch: str, origin: str, no_checkout: bool, no_tags: bool, no_index: bool,
    require_signed: bool | None, as_json: bool,
) -> None:  # fmt: skip
    """Make a knowledge base here from another one.

    URL is a folder, a bundle file, ssh://HOST/PATH or HOST:PATH, http(s)://HOST, or an object store (s3://, gs://,
    az://). Every object is hashed and checked before anything is believed. With --require-signed, or
    `pull.require_signed` among your user-wide settings, every commit must be signed by a key that you allow;
    --require-signed becomes a setting of the clone, so that it holds for what is fetched later, too.

    For example:

      arbor clone /srv/notes.arbor notes
      arbor clone --cold https://kb.example.org
      arbor clone --at recipes notes.bundle
    """
    chosen = filter_text or ("cold" if cold else "") or (f"at:{prefix}" if prefix else "")
    if bool(cold) + bool(prefix) + bool(filter_text) > 1:
        raise UsageError("--cold, --at and --filter cannot be combined")
    connecting_options = connect_options(session)
    target = session.from_here(_folder_name(url, bare=bare) if folder is None else folder)
    settings = config.Settings(session.user_config())
    options = cloning.CloneOptions(
        bare=bare, branch=branch, remote=origin, checkout=not no_checkout, tags=not no_tags,
        identity=find_identity(settings.get)[0],
    )  # fmt: skip
    with transfer_bar(session, "receiving") as bar:
        result = desk.clone_kb(
            url, target, options, filter_text=chosen, connecting=connecting_options, progress=bar,
            settings=settings, require_signed=require_signed,
        )  # fmt: skip
    if not (bare or no_index or no_checkout or not result.commit):
        whole = (
            f"the clone in {quote_path(str(target))} is whole; its search index follows with the first search"
        )
        try:
            with front_desk.open_kb(target) as kb:
                kb.reindex()
        except StorageError as error:
            session.out.warning(f"{whole}: {error}")
        except KeyboardInterrupt as stop:
            stop.add_note(whole)
            raise
    _show(session, result, as_json)
    warn_of_secret(session, url)


def _folder_name(url: str, *, bare: bool) -> str:
    """A name for the new folder out of the address's last part."""
    last = posixpath.basename(re.sub(r"[/\\]+$", "", url.replace("\\", "/")).removesuffix("/.arbor"))
    name = re.sub(r"\.(bundle|arbor)$", "", last.rpartition(":")[2])
    if not name or name.startswith(("-", ".")):
        raise UsageError("the address gives no name for the new folder", "name one: arbor clone URL FOLDER")
    return f"{name}.arbor" if bare else name


def _show(session: Session, result: CloneResult, as_json: bool) -> None:
    out = session.out
    if as_json:
        out.json("clone", {
            "path": str(result.folder), "url": result.url, "branch": result.branch or None,
            "commit": result.commit or None, "branches": result.branches, "tags": result.tags,
            "documents": result.documents, "objects": result.objects, "bytes": result.received_bytes,
            "cold": result.cold, "warnings": list(result.warnings),
        })  # fmt: skip
        return
    place = quote_path(str(result.folder))
    branch = clean_line(result.branch or "detached HEAD")
    where = f"{branch} at {short(result.commit)}" if result.commit else branch
    held = count(result.documents, "document") if result.documents else count(result.objects, "object")
    out.line(f"cloned into {place}: {where}, {held}, {size(result.received_bytes)}")
    if result.cold:
        out.warning(f"{count(result.cold, 'document')} came without passages (cold)")
        out.hint("bring them here with: arbor rehydrate --all, or arbor rehydrate PATH")
    for text in result.warnings:
        out.warning(text)
