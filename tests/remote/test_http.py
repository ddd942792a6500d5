"""`arbor serve` and its client on the loopback interface."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from arbor.errors import RemoteError, UsageError
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.wire import CONTENT_TYPE, encode_packet, request_packets
from arbor.remote.transports.connecting import ConnectOptions, connect
from arbor.remote.transports.http_server import HttpServer, ServeOptions
from arbor.repo.repository import open_repository
from tests.remote.people import assert_whole, change, clone_to, fetch_from, make_kb, notes, push_to


@contextmanager
def serving(fs_path: Path, **options: object) -> Iterator[str]:
    """The URL of a running server."""
    server = HttpServer(fs_path, ServeOptions(port=0, **options))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        for _ in range(500):
            if server.port is not None:
                break
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop()
        thread.join()


def test_clone_fetch_and_push_over_http(tmp_path: Path) -> None:
    first = make_kb(tmp_path / "a", notes(10))
    clone_to(tmp_path / "a", tmp_path / "bare", bare=True)
    with serving(tmp_path / "bare", push_tokens=("writer",)) as url:
        clone_to(url, tmp_path / "b")
        second = open_repository(tmp_path / "b")
        change(second, {"x.md": "# X\n"})
        with pytest.raises(RemoteError, match="not allowed"):
            push_to(second, url)
        with pytest.raises(RemoteError, match="not allowed"):
            push_to(second, connect(url, ConnectOptions(token="reader")))
        assert push_to(second, connect(url, ConnectOptions(token="writer"))).refs[0].status == "forward"
        assert fetch_from(first, url).changes[0].status == "new"
    assert first.refs.read("refs/remotes/origin/main") == second.refs.head_oid()
    assert_whole(first)
    assert_whole(open_repository(tmp_path / "bare"))


def test_a_fetch_with_nothing_new_is_one_round_trip(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(3))
    with serving(tmp_path / "a") as url:
        clone_to(url, tmp_path / "b")
        transport = connect(url)
        calls: list[str] = []
        real = transport.call
        transport.call = lambda command, *rest: (calls.append(command), real(command, *rest))[1]  # type: ignore[method-assign]
        fetch_from(open_repository(tmp_path / "b"), transport)
    assert calls == ["refs"]


def test_several_clones_at_once(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", notes(30))
    change(source, notes(5, 50))
    with serving(tmp_path / "a") as url, ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda number: clone_to(url, tmp_path / f"c{number}", bare=True), range(6)))
    for number in range(6):
        repo = open_repository(tmp_path / f"c{number}")
        assert repo.refs.head_oid() == source.refs.head_oid()
        assert_whole(repo)


def test_reading_can_be_kept_to_tokens(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    with serving(tmp_path / "a", read_tokens=("r1", "r2"), push_tokens=("w",)) as url:
        for token in ("", "r", "r11", "R1", "ä"):
            with pytest.raises(RemoteError, match="does not allow"):
                clone_to(
                    connect(url, ConnectOptions(token=token.encode("ascii", "replace").decode())),
                    tmp_path / "b",
                )
        for number, token in enumerate(("r1", "r2", "w")):
            clone_to(connect(url, ConnectOptions(token=token)), tmp_path / f"b{number}")


def ask(method: str, url: str, path: str = "/arbor", body: object = b"", **headers: str) -> tuple[int, bytes]:
    """(status, content) of a request whose headers, Host included, are these."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body, {"Content-Type": CONTENT_TYPE, **sent})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_token_is_taken_as_a_bearer_alone(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(1))
    with serving(tmp_path / "a", read_tokens=("r1",)) as url:
        assert post(url, Authorization="Bearer r1") == post(url, Authorization="bearer r1") == 200
        for sent in ("Basic r1", "r1", "Token r1", "Bearer", "Bearer  r1"):
            assert post(url, Authorization=sent) == 401, sent


def post(url: str, path: str = "/arbor", **headers: str) -> int:
    return ask("POST", url, path, **headers)[0]


def test_other_hosts_origins_paths_and_types_are_refused(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    with serving(tmp_path / "a", names=("kb.example.org",)) as url:
        assert post(url) == 200
        assert post(url, Host="kb.example.org") == 200
        assert post(url, Host="evil.example.org") == 403
        assert post(url, Host="127.0.0.1.evil.org:80") == 403
        assert post(url, Origin="http://evil.example.org") == 403
        assert post(url, Origin="null") == 403
        assert post(url, Origin=url) == 200
        assert post(url, Content_Type="text/plain") == 415
        for path in ("/", "/arbor/", "/packs/", "/arbor/../packs", "/.arbor/config.toml", "/%2e%2e/"):
            assert post(url, path) == 404
            assert ask("GET", url, path)[0] in (404, 405)
        assert ask("GET", url)[0] == 405


def test_a_target_may_be_a_whole_address_whose_host_counts(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    with serving(tmp_path / "a", names=("kb.example.org",)) as url:
        assert post(url, f"{url}/arbor") == 200
        assert post(url, "HTTP://KB.example.org:80/arbor", Host="whoever.example") == 200
        assert post(url, "https://[::1]/%61rbor") == 200
        for host in ("evil.example.org", "evil@localhost", "localhost:80:x", "", "%6cocalhost"):
            assert post(url, f"http://{host}/arbor", Host="localhost") == 403
        for target in (
            url,
            f"{url}/",
            f"{url}//arbor",
            f"{url}/arbor/",
            "ftp://localhost/arbor",
            "localhost:80",
        ):
            assert post(url, target) == 404
        assert ask("GET", url, f"{url}/arbor")[0] == 405


HOSTS = [
    ("localhost.", 200),
    ("LOCALHOST:", 200),
    ("[0:0:0:0:0:0:0:1]:80", 200),
    ("[2001:DB8:0::1]", 200),
    ("xn--bcher-kva.example", 200),
    ("b\u00fccher.example", 200),
    ("localhost:evil.example.org", 403),
    ("localhost:80:evil.example.org", 403),
    ("[::1", 403),
    ("[::1]evil.example.org", 403),
    ("[localhost]", 403),
    ("evil@localhost", 403),
    ("localhost..", 403),
    ("", 403),
]


def test_a_name_has_one_spelling_and_a_malformed_one_is_nobodys(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    with serving(tmp_path / "a", names=("2001:db8::1", "B\u00fccher.example.")) as url:
        assert [(host, post(url, Host=host)) for host, _ in HOSTS] == HOSTS
        for origin in ("http://localhost:evil", "extension://localhost", "localhost", "", "https://[::1"):
            assert post(url, Origin=origin) == 403
        assert post(url, Origin="HTTPS://LocalHost:1") == 200


@pytest.mark.parametrize("name", ["kb.example.org:8417", "https://kb.example.org", "kb/x", "", "a b", "[kb]"])
def test_a_name_that_no_client_can_send_is_refused(tmp_path: Path, name: str) -> None:
    make_kb(tmp_path / "a", notes(2))
    with pytest.raises(UsageError, match="no host name"):
        HttpServer(tmp_path / "a", ServeOptions(port=0, names=(name,)))


def test_every_header_of_a_kind_counts(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    with serving(tmp_path / "a", read_tokens=("r",)) as url:

        def status(*headers: tuple[str, str]) -> int:
            connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
            connection.putrequest("POST", "/arbor")
            for header in (("Content-Type", CONTENT_TYPE), ("Content-Length", "0"), *headers):
                connection.putheader(*header)
            connection.endheaders()
            found = connection.getresponse().status
            connection.close()
            return found

        right, wrong = ("Authorization", "Bearer r"), ("Authorization", "Bearer x")
        assert [status(right), status(wrong), status()] == [200, 401, 401]
        assert [status(right, wrong), status(wrong, right), status(right, right)] == [401, 401, 401]
        ours, theirs = ("Origin", url), ("Origin", "http://evil.example.org")
        assert [status(right, ours), status(right, ours, theirs), status(right, theirs, ours)] == [
            200,
            403,
            403,
        ]


@pytest.mark.parametrize("path", ["/arbor", "/elsewhere"])
def test_of_a_request_with_two_lengths_nothing_is_taken_for_the_next(tmp_path: Path, path: str) -> None:
    """What a proxy that counts otherwise sends behind it could be somebody else's, with a token (RFC 9112, 6.1)."""
    make_kb(tmp_path / "a", notes(2))
    with serving(tmp_path / "a") as url:
        host, _, port = url.removeprefix("http://").rpartition(":")
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: 5\r\n"
        )
        chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=20) as client:
            client.sendall((chunked + head + "\r\n12345").encode())
            received = b"".join(iter(lambda: client.recv(65536), b""))
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.count(b"HTTP/1.1 ") == 1


def test_a_request_that_only_drips_is_ended(tmp_path: Path) -> None:
    make_kb(tmp_path / "a", notes(2))
    with serving(tmp_path / "a", limits=Limits(idle_s=0.2)) as url:

        def drip() -> Iterator[bytes]:
            yield b"\x01\x50"
            time.sleep(1)
            yield b"\x00"

        _, content = ask("POST", url, body=drip())
        assert b"ended the connection early" in content


def test_no_answer_begins_before_the_whole_of_a_push_is_there(tmp_path: Path) -> None:
    """As nginx with `proxy_request_buffering off` has it, which passes on nothing more once an answer begins."""
    make_kb(tmp_path / "a", notes(2))
    head = (
        f"POST /arbor HTTP/1.1\r\nHost: localhost\r\nContent-Type: {CONTENT_TYPE}\r\n"
        "Authorization: Bearer w\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    row = ["refs/heads/x", b"", bytes(32), False]
    push = {"updates": [row], "key": bytes(8), "objects": 1}
    begun, *rest = [encode_packet(packet) for packet in request_packets("push", push, [bytes(20_000)])]
    with serving(tmp_path / "a", push_tokens=("w",)) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as client:
            client.sendall(head.encode() + b"%x\r\n%b\r\n" % (len(begun), begun))
            client.settimeout(0.5)
            with pytest.raises(TimeoutError):
                client.recv(1)
            client.settimeout(20)
            for piece in rest:
                client.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            client.sendall(b"0\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 200"


def test_a_server_that_is_not_there_is_an_error_of_the_remote(tmp_path: Path) -> None:
    with pytest.raises(RemoteError, match="cannot be reached"):
        clone_to("http://127.0.0.1:9", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_server_that_does_not_answer_to_a_name_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_kb(tmp_path / "a", notes(1))
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo",
        lambda host, *rest, **how: resolve("127.0.0.1" if host == "kb.example" else host, *rest, **how),
    )  # fmt: skip
    with serving(tmp_path / "a") as url:
        with pytest.raises(RemoteError, match="does not answer to this name") as caught:
            clone_to(url.replace("127.0.0.1", "kb.example"), tmp_path / "b")
        assert caught.value.hint == "its owner can let it: arbor serve --name kb.example"
    with serving(tmp_path / "a", names=("kb.example",)) as url:
        clone_to(url.replace("127.0.0.1", "kb.example"), tmp_path / "b")
