"""What stands between a client and `arbor serve`: proxies of either side, as nginx, Apache, tinyproxy and squid act."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpcore
import pytest

from arbor.errors import ArborError, RemoteError, UsageError
from arbor.remote.protocol.wire import Interrupted
from arbor.remote.transports.connecting import ConnectOptions, connect
from arbor.repo.importing.proxies import Proxy, find_proxy
from arbor.repo.repository import open_repository
from tests.cli.harness import Cli
from tests.remote.people import clone_to, fetch_from, make_kb, notes
from tests.remote.test_http import serving


def _read_request(connection: socket.socket) -> tuple[bytes, bytes]:
    """(head, what of the body is in a Content-Length) of a request."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return data, b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while lengths and len(body) < int(lengths[0].split(b":")[1]):
        body += connection.recv(65536)
    return head, body


class Middle:
    """A server that answers each request in its own way, or passes it on.

    Args:
        answers: Heads and bodies of answers in turn; the last one again and again. None passes the request on.
        behind: (host, port) of whom it is passed on to.
    """

    def __init__(self, answers: list[bytes | None], behind: tuple[str, int] | None = None) -> None:
        self._answers = answers
        self._behind = behind
        self.heads: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with suppress(OSError), connection:
                    connection.settimeout(10)
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        head, body = _read_request(connection)
        if not head:
            return
        self.heads.append(head)
        answer = self._answers[min(len(self.heads), len(self._answers)) - 1]
        if answer is not None:
            connection.sendall(answer)
            return
        assert self._behind is not None
        with socket.create_connection(self._behind, timeout=10) as onward:
            onward.sendall(head + b"\r\nConnection: close\r\n\r\n" + body)
            while piece := onward.recv(65536):
                connection.sendall(piece)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


@contextmanager
def between(answers: list[bytes | None], behind: str = "") -> Iterator[Middle]:
    host, _, port = behind.removeprefix("http://").partition(":")
    middle = Middle(answers, (host, int(port)) if behind else None)
    try:
        yield middle
    finally:
        middle.close()


def says(status: str, *lines: str, body: str = "") -> bytes:
    head = [f"HTTP/1.1 {status}", *lines, f"Content-Length: {len(body)}", "Connection: close", "", body]
    return "\r\n".join(head).encode()


@pytest.mark.parametrize(
    ("answer", "error", "message", "hint"),
    [
        (says("413 Too Large", body="<html>"), RemoteError, "no request as large", "client_max_body_size"),
        (says("502 Bad Gateway"), Interrupted, "gets no answer", "arbor serve"),
        (says("504 Gateway Time-out"), Interrupted, "gets no answer", "arbor serve"),
        (says("429 Too Many"), Interrupted, "too much to do", "again"),
        (says("503 Busy", body="too many requests at once; try again"), Interrupted, "has too much to do now", "again"),
        (says("503 Service Unavailable", body="<html>"), Interrupted, "is out of service, or", "again"),
        (says("401 No", 'WWW-Authenticate: Basic realm="kb"'), RemoteError, "a name and", "NAME:PASSWORD"),
        (says("401 No", "WWW-Authenticate: Bearer"), RemoteError, "not allow", "ask its owner for a token"),
        (says("407 Who"), RemoteError, "the proxy on the way", "HTTPS_PROXY="),
        (says("404 Nothing"), RemoteError, "status 404", "at this address"),
        (says("400 Bad", body="The plain HTTP request was sent to HTTPS port"), RemoteError, "400", "https://127"),
        (says("400 Bad", body="use the HTTPS scheme"), RemoteError, "400", "is https:"),
        (says("400 Bad", body="who knows"), RemoteError, "400", "at this address"),
        (says("301 Moved", "Location: https://h/kb/arbor"), RemoteError, "to 'https://h/kb'", "address"),
    ],
)  # fmt: skip
def test_a_status_is_told_by_its_cause(
    tmp_path: Path, answer: bytes, error: type[ArborError], message: str, hint: str
) -> None:
    with between([answer]) as middle:
        with pytest.raises(error, match=message) as caught:
            clone_to(f"http://{middle.address}/team", tmp_path / "b")
        assert hint in caught.value.hint
    assert not (tmp_path / "b").exists()


ASKS = says("401 Unauthorized", 'WWW-Authenticate: Basic realm="kb"')


@pytest.mark.parametrize(("in_address", "token"), [("ann:s%40c@", ""), ("", "ann:s@c")])
def test_a_name_and_a_password_are_sent_when_they_are_asked_for(
    tmp_path: Path, in_address: str, token: str
) -> None:
    make_kb(tmp_path / "a", notes(2))
    with serving(tmp_path / "a") as url, between([ASKS, None], url) as middle:
        address = f"http://{in_address}{middle.address}"
        clone_to(connect(address, ConnectOptions(token=token)), tmp_path / "b")
        expected = b"Basic " + base64.b64encode(b"ann:s@c")
        first, *later = middle.heads
        assert b"Bearer s" in first or b"Bearer ann" in first
        assert later
        assert all(expected in head for head in later)
        fetch_from(open_repository(tmp_path / "b"), connect(address, ConnectOptions(token=token)))
    with between([ASKS]) as middle:
        with pytest.raises(RemoteError, match="does not take this name and password"):
            clone_to(connect(f"http://ann:no@{middle.address}"), tmp_path / "c")
        assert len(middle.heads) == 2


def test_a_token_alone_is_no_name_and_password(tmp_path: Path) -> None:
    with between([ASKS]) as middle:
        with pytest.raises(RemoteError, match="asks for a name and a password"):
            clone_to(connect(f"http://{middle.address}", ConnectOptions(token="t0ken")), tmp_path / "b")
        assert len(middle.heads) == 1


def test_http_goes_through_the_proxy_of_the_environment(tmp_path: Path, cli: Cli) -> None:
    make_kb(tmp_path / "a", notes(2))
    with serving(tmp_path / "a") as url, between([None], url) as middle:
        cli("clone", url, "b", env={"http_proxy": middle.address})
        assert middle.heads
        assert all(head.startswith(f"POST {url}/arbor ".encode()) for head in middle.heads)
        seen = len(middle.heads)
        cli("clone", url, "c", env={"http_proxy": middle.address, "NO_PROXY": "x.example, 127.0.0.1"})
        cli("clone", url, "d", env={"https_proxy": middle.address})
        assert len(middle.heads) == seen


HALF = says("200 OK", "Content-Type: application/x-arbor-packets", body="cut").replace(
    b"Length: 3", b"Length: 50"
)


@pytest.mark.parametrize("answer", [b"", HALF, b"HTTP/1.1 200 OK\r\nno header\r\n\r\n"])
def test_a_conversation_that_breaks_off_was_one(tmp_path: Path, answer: bytes) -> None:
    with between([answer]) as middle, pytest.raises(Interrupted, match="broke off the conversation"):
        clone_to(f"http://{middle.address}", tmp_path / "b")


def test_a_proxy_that_fails_is_named(tmp_path: Path) -> None:
    """As tinyproxy does, with a page of its own, where it cannot connect."""
    with between([says("500 Unable to connect")]) as middle:
        options = ConnectOptions(proxies={"http": middle.address})
        with pytest.raises(RemoteError, match=f"through the proxy {middle.address} with status 500"):
            clone_to(connect("http://kb.example/x", options), tmp_path / "b")


def test_a_name_and_a_password_beyond_ascii_are_given_to_the_proxy(tmp_path: Path) -> None:
    with between([says("500 Unable to connect")]) as middle:
        options = ConnectOptions(proxies={"http": f"http://m%C3%A9:w%C3%B6rd@{middle.address}"})
        with pytest.raises(RemoteError, match="status 500"):
            clone_to(connect("http://kb.example/x", options), tmp_path / "b")
        assert b"Basic " + base64.b64encode("m\u00e9:w\u00f6rd".encode()) in middle.heads[0]


def test_a_proxy_is_named_as_in_an_address(tmp_path: Path) -> None:
    options = ConnectOptions(proxies={"http": "http://[::1]:9"})
    with pytest.raises(RemoteError, match=r"through the proxy \[::1\]:9"):
        clone_to(connect("http://kb.example/x", options), tmp_path / "b")
    assert find_proxy("http://kb.example/x", {"all": "http://b\u00fccher.invalid"}) == Proxy(
        "http", "xn--bcher-kva.invalid", 80
    )


def test_https_goes_through_a_tunnel(tmp_path: Path) -> None:
    with between([says("407 Proxy Authentication Required")]) as middle:
        proxies = {"all": f"http://me:s%3Acret@{middle.address}"}
        with pytest.raises(Interrupted, match="which says: 407") as caught:
            clone_to(connect("https://kb.example/x", ConnectOptions(proxies=proxies)), tmp_path / "b")
        assert "NAME:PASSWORD" in caught.value.hint
        assert middle.address in caught.value.message
        head = middle.heads[0]
        assert head.startswith(b"CONNECT kb.example:443 ")
        assert base64.b64encode(b"me:s:cret") in head


@pytest.mark.parametrize(
    ("url", "proxies", "expected"),
    [
        ("https://kb.example/x", {}, None),
        ("https://kb.example/x", {"http": "p:1"}, None),
        ("https://kb.example/x", {"https": "p"}, ("http", "p", 80)),
        ("https://kb.example/x", {"https": "https://[::1]", "all": "p:1"}, ("https", "::1", 443)),
        ("http://kb.example/x", {"all": "p:1", "no": "other"}, ("http", "p", 1)),
        ("http://kb.example/x", {"all": "p:1", "no": ".example"}, None),
        ("http://kb.example:81/x", {"all": "p:1", "no": "kb.example:80"}, ("http", "p", 1)),
        ("http://kb.example/x", {"all": "p:1", "no": "kb.example:80"}, None),
        ("http://[::1]:81/x", {"all": "p:1", "no": "localhost,::1"}, None),
        ("http://kb.example/x", {"all": "p:1", "no": "*"}, None),
    ],
)
def test_which_proxy_is_taken(url: str, proxies: dict[str, str], expected: object) -> None:
    found = find_proxy(url, proxies)
    assert (found and found[:3]) == expected


@pytest.mark.parametrize(
    "address", ["socks5://u:secret@h:1", "http://", "http://h:99999", "u:secret@[x:1", "http://b\u00fc..x"]
)
def test_a_proxy_that_cannot_be_used_is_named(address: str) -> None:
    with pytest.raises(UsageError, match="is no proxy") as caught:
        find_proxy("https://kb.example/x", {"https": address})
    assert "secret" not in caught.value.message
    assert caught.value.hint.endswith("NO_PROXY=kb.example")


def test_an_authority_of_ones_own_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    said = (
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate"
    )

    def fail(*_: object, **__: object) -> None:
        raise httpcore.ConnectError(said)

    monkeypatch.setattr(httpcore.ConnectionPool, "stream", fail)
    with pytest.raises(Interrupted, match="cannot be reached") as caught:
        list(connect("https://kb.example/x").call("refs", {}))
    assert "SSL_CERT_FILE" in caught.value.hint
