"""`arbor serve`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.session import Session
from arbor.errors import UsageError
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from types import ModuleType

    from arbor.remote.exchange import service
    from arbor.remote.transports import stdio
    from arbor.repo import repository
else:
    service = lazy_module("arbor.remote.exchange.service")
    stdio = lazy_module("arbor.remote.transports.stdio")
    repository = lazy_module("arbor.repo.repository")

FIELDS = {"url": "where the server listens"}
READ_VARIABLE, PUSH_VARIABLE = "ARBOR_READ_TOKEN", "ARBOR_PUSH_TOKEN"


@arbor_command("serve", fields=FIELDS)
@click.argument("folder", default=".", metavar="[FOLDER]", type=click.Path(file_okay=False))
@click.option(
    "--stdio", "over_pipes", is_flag=True, help="Speak over standard input and output, as ssh starts it."
)
@click.option("--read-only", is_flag=True, help="With --stdio: refuse pushes.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="NAME", help="Listen at this address."
)
@click.option("--port", default=8417, show_default=True, type=click.IntRange(0, 65535), metavar="N",
              help="Listen at this port; 0 takes a free one.")  # fmt: skip
@click.option(
    "--name", "names", multiple=True, metavar="NAME", help="A host name that clients use; may be repeated."
)
@click.option("--read-tokens", type=click.Path(dir_okay=False), metavar="FILE",
              help="Only who has a token of this file (one a line) may read.")  # fmt: skip
@click.option("--push-tokens", type=click.Path(dir_okay=False), metavar="FILE",
              help="Who has a token of this file may push.")  # fmt: skip
@json_option
def command(
    session: Session, folder: str, over_pipes: bool, read_only: bool, host: str, port: int, names: tuple[str, ...],
    read_tokens: str | None, push_tokens: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Share the knowledge base in FOLDER over http, or over pipes for ssh.

    Everybody who reaches the address may read unless read tokens are given; nobody may push without a push
    token. Tokens come from files, or from ARBOR_READ_TOKEN and ARBOR_PUSH_TOKEN, never from the command line.
    A variable that is set and empty is refused, as it would let everybody in where a token was meant.
    """
    place = session.from_here(folder).resolve()
    if over_pipes:
        session.out.flush()
        reader = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115 - the process owns it
        stdio.serve_streams(service.Service(place, may_push=not read_only), reader, sys.stdout.buffer)
        return
    repository.open_repository(place)  # now, and not when the first client asks
    server = _load_server()
    options = server.ServeOptions(
        host,
        port,
        _tokens(session, read_tokens, READ_VARIABLE),
        _tokens(session, push_tokens, PUSH_VARIABLE),
        names,
    )

    def started(url: str) -> None:
        if as_json:
            session.out.json("serve", {"url": url})
        else:
            session.out.line(f"serving {place} at {url}")
        session.out.flush()

    server.HttpServer(place, options, started).run()


def _load_server() -> ModuleType:
    try:
        lazy_module("uvicorn")
        lazy_module("starlette")
    except ModuleNotFoundError as error:
        hint = "run: pip install 'arbor-kb[serve]'"
        raise UsageError("serving over http needs starlette and uvicorn", hint) from error
    return lazy_module("arbor.remote.transports.http_server")


def _tokens(session: Session, file: str | None, variable: str) -> tuple[str, ...]:
    """The tokens of a file and of a variable; one that no client can send would only look like protection."""
    found = []
    if variable in os.environ:
        found.append((variable, os.environ[variable].strip()))
        if not found[0][1]:
            raise UsageError(f"{variable} is set, and empty", "give it a token, or unset it")
    if file:
        name = Path(file).name
        # Some editors put a mark before the first line, and it is no part of a token.
        text = session.from_here(file).read_bytes().decode("utf-8-sig", "replace")
        lines = [
            (f"line {number} of '{name}'", line.strip()) for number, line in enumerate(text.splitlines(), 1)
        ]
        if not any(token for _, token in lines):
            raise UsageError(f"'{name}' holds no token", "write one a line")
        found += [each for each in lines if each[1]]
    for place, token in found:
        if not (token.isascii() and token.isprintable()):
            raise UsageError(f"{place} is no token", "a token has printable ASCII characters only")
    return tuple(token for _, token in found)
