"""`arbor serve` over http: one address that speaks the protocol, and nothing else to see."""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.from_thread
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from arbor.errors import RemoteError, UsageError
from arbor.remote.limits import DEFAULT_LIMITS, Limits
from arbor.remote.pacing import PacedReader
from arbor.remote.service import Service
from arbor.remote.wire import (
    CONTENT_TYPE,
    HTTP_PATH,
    UNKNOWN_NAME,
    Interrupted,
    Packets,
    encode_packet,
    read_packets,
)

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MAX_REQUESTS = 64
_LOOK_AFTER = 16
_POLL_S = 0.01
_MAX_READ_BODY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Who may do what.

    Attributes:
        host, port: Where to listen; port 0 takes a free one.
        read_tokens: Tokens that may read; () lets everybody read.
        push_tokens: Tokens that may read and push; () lets nobody push.
        names: Host names under which the server is reached besides the loopback ones and `host`.
        limits: Bounds on requests.
    """

    host: str = "127.0.0.1"
    port: int = 8417
    read_tokens: tuple[str, ...] = ()
    push_tokens: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS


def build_app(fs_path: Path, options: ServeOptions) -> Starlette:
    """The application for one KB."""
    service = Service(fs_path, may_push=False, limits=options.limits)
    names = {name.lower() for name in (*LOOPBACK, options.host, *options.names)}

    async def answer(request: Request) -> Response:
        refusal = _refuse(request, names, options)
        if refusal is not None:
            return refusal
        may_push = _matches(request, options.push_tokens)
        body = read_packets(_body_reader(request, options.limits, may_push=may_push))
        packets = service.answer(body, may_push=may_push)
        return _Answer(request, packets)

    app = Starlette(routes=[Route(HTTP_PATH, answer, methods=["POST"])])
    app.router.redirect_slashes = False
    return app


class _Answer(Response):
    """Sends packets as they are made, in a thread that may still be reading the request's body.

    Starlette's own streaming response watches for a lost connection by receiving, which would eat the body.
    """

    def __init__(self, request: Request, packets: Packets) -> None:
        super().__init__(media_type=CONTENT_TYPE)
        self._request = request
        self._packets = packets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", CONTENT_TYPE.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        sent = 0
        try:
            async for packet in iterate_in_threadpool(self._packets):
                await send({"type": "http.response.body", "body": encode_packet(packet), "more_body": True})
                sent += 1
                # After the first packet the body has been read, unless the request failed and this is the end.
                if sent % _LOOK_AFTER == 0 and await self._request.is_disconnected():
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            with anyio.CancelScope(shield=True):
                await run_in_threadpool(self._packets.close)


def _refuse(request: Request, names: set[str], options: ServeOptions) -> Response | None:
    """Why a request is not even read, or None.

    A page in a browser cannot send our content type to another origin without asking first, and DNS rebinding shows in
    the Host header.
    """
    host = _host_name(request.headers.get("host", ""))
    origin = request.headers.get("origin")
    if host not in names or (origin is not None and _host_name(origin.partition("://")[2]) not in names):
        return PlainTextResponse(f"{UNKNOWN_NAME}\n", 403)
    if request.headers.get("content-type") != CONTENT_TYPE:
        return PlainTextResponse("this address speaks the arbor protocol only\n", 415)
    reads = (
        not options.read_tokens
        or _matches(request, options.read_tokens)
        or _matches(request, options.push_tokens)
    )
    if not reads:
        return PlainTextResponse("a token is needed\n", 401, {"WWW-Authenticate": "Bearer"})
    return None


def _host_name(value: str) -> str:
    """The name in a Host header, without its port."""
    if value.startswith("["):
        return value[1:].partition("]")[0].lower()
    return value.partition(":")[0].lower()


def _matches(request: Request, tokens: tuple[str, ...]) -> bool:
    """Whether the request carries one of the tokens; the time does not tell how much of one was right."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    found = False
    for token in tokens:
        found |= hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())
    return found and scheme.lower() == "bearer"


def _body_reader(request: Request, limits: Limits, *, may_push: bool) -> Callable[[int], bytes]:
    """Reads the body from the thread that answers, as it is needed."""
    stream = request.stream()
    most = limits.max_bytes if may_push else _MAX_READ_BODY_BYTES
    received = 0

    async def next_chunk() -> bytes:
        try:
            while True:
                chunk = await asyncio.wait_for(anext(stream), limits.idle_s)
                if chunk:
                    return chunk
        except StopAsyncIteration:
            return b""

    def read_some() -> bytes:
        nonlocal received
        try:
            data = anyio.from_thread.run(next_chunk)
        except (ClientDisconnect, TimeoutError) as error:
            raise Interrupted("the other side ended the connection early") from error
        received += len(data)
        if received > most:
            raise RemoteError(f"the request is larger than {most} bytes")
        return data

    return PacedReader(read_some, limits).read


class HttpServer:
    """A running server of one KB.

    Args:
        fs_path: The KB.
        options: Who may do what.
        started: Called with the URL when the server listens.
    """

    def __init__(
        self, fs_path: Path, options: ServeOptions, started: Callable[[str], None] = lambda url: None
    ) -> None:
        app = build_app(fs_path, options)
        self._host = options.host
        self._started = started
        self._server = uvicorn.Server(
            uvicorn.Config(
                app, host=options.host, port=options.port, log_level="error", access_log=False, server_header=False,
                date_header=False, limit_concurrency=_MAX_REQUESTS, timeout_keep_alive=15, timeout_graceful_shutdown=5,
                lifespan="off", ws="none",
            )
        )  # fmt: skip

    def run(self) -> None:
        """Serve until `stop` is called or the process is told to end.

        Raises:
            UsageError: when the address or the port cannot be listened at.
        """
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        serving = asyncio.create_task(self._server.serve([self._bind()]))
        while not (self._server.started or serving.done()):
            await asyncio.sleep(_POLL_S)
        if self.port is not None:
            host = f"[{self._host}]" if ":" in self._host else self._host
            self._started(f"http://{host}:{self.port}")
        await serving

    def _bind(self) -> socket.socket:
        """The listening socket; the server's own way out of a port that is taken is to end the process."""
        config = self._server.config
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            bound = socket.socket(family, kind, protocol)
            try:
                if os.name == "posix":
                    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                bound.bind(address)
            except BaseException:
                bound.close()
                raise
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(
                f"cannot listen at {config.host}, port {config.port}: {reason}", "--port 0 takes a free port"
            ) from error
        return bound

    @property
    def port(self) -> int | None:
        """Where the server listens; None until it does."""
        for server in self._server.servers if self._server.started else ():
            return int(server.sockets[0].getsockname()[1])
        return None

    def stop(self) -> None:
        """End `run` soon; may be called from another thread."""
        self._server.should_exit = True
