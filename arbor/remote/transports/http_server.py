"""`arbor serve` over http: one address that speaks the protocol, and nothing else to see."""

from __future__ import annotations

import asyncio
import errno
import hmac
import io
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import anyio
import anyio.from_thread
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from arbor.errors import RemoteError, UsageError
from arbor.records import dataclass
from arbor.remote.exchange.service import Service
from arbor.remote.protocol.limits import DEFAULT_LIMITS, Limits
from arbor.remote.protocol.pacing import Pace, PacedReader
from arbor.remote.protocol.wire import (
    CONTENT_TYPE,
    CROWDED,
    EARLY_END,
    HTTP_PATH,
    UNKNOWN_NAME,
    Interrupted,
    Packets,
    encode_packet,
    error_packet,
    question_bytes,
    read_packets,
)
from arbor.remote.transports.host_names import name_in_host, name_in_origin, parse_name, split_absolute
from arbor.remote.transports.http_connections import Connections, end_connection, trust

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LOOK_AFTER = 16
_POLL_S = 0.01
_TWO_LENGTHS = "a request says its length in one way\n"


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


def build_app(fs_path: Path, options: ServeOptions, connections: Connections) -> ASGIApp:
    """The application for one KB."""
    service = Service(fs_path, may_push=False, limits=options.limits)
    names = {parse_name(name) for name in (*LOOPBACK, options.host, *options.names)}

    async def answer(request: Request) -> Response:
        refusal = _refuse(request, names, options)
        if refusal is not None:
            return refusal
        may_push = _matches(request, options.push_tokens)
        stream = _chunks(request, options.limits)
        if may_push:
            # A push may be as large as it is: its frames are read by the thread that answers, as it needs them.
            trust(request.scope)
            read = _body_reader(stream, options.limits)
        else:
            try:
                question = await _read_question(stream, connections, options.limits)
            except RemoteError as error:
                return Response(encode_packet(error_packet(error.message)), media_type=CONTENT_TYPE)
            if question is None:
                return PlainTextResponse(f"{CROWDED}\n", 503)
            read = io.BytesIO(question).read
        return _Answer(
            request, service.answer(read_packets(read), may_push=may_push), connections, options.limits
        )

    app = Starlette(routes=[Route(HTTP_PATH, answer, methods=["POST"])])
    app.router.redirect_slashes = False
    return _of_one_length(_in_origin_form(app))


def _of_one_length(app: ASGIApp) -> ASGIApp:
    """The application, which no request reaches whose length is said in two ways.

    Who passes requests on may go by the other one and take for the next request what belongs to this one's body, with
    somebody else's token behind it: the connection ends. Source: RFC 9112, section 6.1.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
            refusal = PlainTextResponse(_TWO_LENGTHS, 400, {"Connection": "close"})
            await refusal(scope, receive, send)
        else:
            await app(scope, receive, send)

    return answer


def _in_origin_form(app: ASGIApp) -> ASGIApp:
    """The application, which finds a request for `http://host/path` as one for `/path` with that host in its header."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        whole = split_absolute(scope.get("raw_path", b""))
        if whole is not None:
            authority, path = whole
            others = [header for header in scope["headers"] if header[0] != b"host"]
            scope = {
                **scope,
                "path": unquote(path),
                "raw_path": path,
                "headers": [*others, (b"host", authority)],
            }
        await app(scope, receive, send)

    return answer


class _Answer(Response):
    """Sends packets as they are made, in a thread that may still be reading the request's body.

    Starlette's own streaming response watches for a lost connection by receiving, which would eat the body.
    """

    def __init__(self, request: Request, packets: Packets, connections: Connections, limits: Limits) -> None:
        super().__init__(media_type=CONTENT_TYPE)
        self._request = request
        self._packets = packets
        self._connections = connections
        self._limits = limits
        self._pace = Pace(limits, "reads")
        self._waited_s = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = self._request.client.host if self._request.client else ""
        with self._connections.answering(address) as fits:
            if not fits:
                await PlainTextResponse(f"{CROWDED}\n", 503)(scope, receive, send)
                return
            try:
                await self._send_all(send)
            except (TimeoutError, RemoteError):
                end_connection(scope)
            finally:
                with anyio.CancelScope(shield=True):
                    await run_in_threadpool(self._packets.close)

    async def _send_all(self, send: Send) -> None:
        headers = [(b"content-type", CONTENT_TYPE.encode()), (b"cache-control", b"no-store")]
        sent = 0
        async for packet in iterate_in_threadpool(self._packets):
            if not sent:
                # Not before the first packet, which is when the body has been read: a proxy in front, nginx among
                # them, may pass on no more of a push once its answer has begun.
                await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send(send, encode_packet(packet))
            sent += 1
            # After the first packet the body has been read, unless the request failed and this is the end.
            if sent % _LOOK_AFTER == 0 and await self._request.is_disconnected():
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send, data: bytes) -> None:
        """Send bytes when those before them have been taken; only the time spent waiting for that counts.

        Raises:
            TimeoutError: when nothing was taken for long.
            RemoteError: when the other side takes too little.
        """
        began = time.monotonic()
        body = {"type": "http.response.body", "body": data, "more_body": True}
        await asyncio.wait_for(send(body), self._limits.idle_s)
        self._waited_s += time.monotonic() - began
        self._pace.take(len(data), self._waited_s)


def _refuse(request: Request, names: set[str], options: ServeOptions) -> Response | None:
    """Why a request is not even read, or None.

    A page in a browser cannot send our content type to another origin without asking first, and DNS rebinding shows in
    the Host header.
    """
    host = name_in_host(request.headers.get("host", ""))
    origins = {name_in_origin(origin) for origin in request.headers.getlist("origin")}
    if not {host, *origins} <= names:
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


def _matches(request: Request, tokens: tuple[str, ...]) -> bool:
    """Whether the request carries one of the tokens; the time does not tell how much of one was right."""
    headers = request.headers.getlist("authorization")
    if len(headers) != 1:  # of several, who asks and whoever passes it on may each mean another
        return False
    scheme, _, given = headers[0].partition(" ")
    found = False
    for token in tokens:
        found |= hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())
    return found and scheme.lower() == "bearer"


async def _chunks(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    """The body as it comes, b"" left out.

    Raises:
        Interrupted: when the other side falls silent or goes.
    """
    stream = request.stream()
    try:
        while True:
            chunk = await asyncio.wait_for(anext(stream), limits.idle_s)
            if chunk:
                yield chunk
    except StopAsyncIteration:
        return
    except (ClientDisconnect, TimeoutError) as error:
        raise Interrupted(EARLY_END) from error


async def _read_question(
    stream: AsyncIterator[bytes], connections: Connections, limits: Limits
) -> bytes | None:
    """A request without frames, or its beginning: all that somebody who may not push can be answered from.

    It is read before a thread takes it up, so that a slow sender holds up nobody else.

    Returns:
        None when too much comes in at the same time.
    """
    question, pace, began = bytearray(), Pace(limits), time.monotonic()
    with connections.receiving(stream):
        async for chunk in stream:
            question += chunk
            pace.take(len(chunk), time.monotonic() - began)
            if not connections.has_room(stream, len(question)):
                return None
            if len(question) >= question_bytes(question):
                break
    return bytes(question)


def _body_reader(stream: AsyncIterator[bytes], limits: Limits) -> Callable[[int], bytes]:
    """Reads the body from the thread that answers, as it is needed."""
    received = 0

    async def next_chunk() -> bytes:
        return await anext(stream, b"")

    def read_some() -> bytes:
        nonlocal received
        data = anyio.from_thread.run(next_chunk)
        received += len(data)
        if received > limits.max_bytes:
            raise RemoteError(f"the request is larger than {limits.max_bytes} bytes")
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
        connections = Connections(options.limits.head_s)
        app = build_app(fs_path, options, connections)
        self._host = options.host
        self._started = started
        self._server = uvicorn.Server(
            uvicorn.Config(
                app, host=options.host, port=options.port, log_level="error", access_log=False, server_header=False,
                date_header=False, http=cast(Any, connections.make), timeout_keep_alive=15, timeout_graceful_shutdown=5,
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
            hint = "--port 0 takes a free port"
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                hint = "--host takes a name or an address of this machine, such as 127.0.0.1 or 0.0.0.0"
            raise UsageError(f"cannot listen at {config.host}, port {config.port}: {reason}", hint) from error
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
