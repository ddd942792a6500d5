"""Pages that are fetched through the proxy of one's own network."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from arbor.errors import RemoteError, UsageError
from arbor.repo.importing.fetching import Fetcher, FetchRules
from tests.cli.harness import IDENTITY, Cli
from tests.remote.test_http_between import Middle, between, says
from tests.trust.test_https import TEXT, server

__all__ = ["server"]  # the fixture of a TLS server
PAGE = says("200 OK", "Content-Type: text/plain", body="# Words of a page\n")
ALLOWED = [says("404 Not Found"), PAGE]


def through(middle: Middle, *, private: bool = False, robots: bool = False) -> Fetcher:
    proxies = {"all": f"http://me:s%3Acret@{middle.address}"}
    return Fetcher(FetchRules(private=private, robots=robots, timeout_s=5, total_s=10, proxies=proxies))


def test_a_name_that_only_the_proxy_knows_is_asked_for_there() -> None:
    with between(ALLOWED) as middle:
        answer = through(middle, robots=True).fetch("http://pages.invalid:81/a b.txt?q=1".replace(" ", "%20"))
        assert answer.data == b"# Words of a page\n"
        asked = [head.split(b"\r\n")[0] for head in middle.heads]
        assert asked == [b"GET http://pages.invalid:81/robots.txt HTTP/1.1",
                         b"GET http://pages.invalid:81/a%20b.txt?q=1 HTTP/1.1"]  # fmt: skip
        for head in middle.heads:
            assert b"Host: pages.invalid:81" in head
            assert b"Proxy-Authorization: Basic " + base64.b64encode(b"me:s:cret") in head


@pytest.mark.parametrize("url", ["http://b\u00fc..cher.invalid/a", "https://b\u00fc..cher.invalid/a"])
def test_a_name_that_no_host_can_have_is_not_asked_for_anywhere(url: str) -> None:
    with between([PAGE]) as middle:
        with pytest.raises(RemoteError, match="is not known"):
            through(middle).fetch(url)
        assert middle.heads == []


def test_what_is_known_to_be_private_is_not_asked_of_the_proxy_either() -> None:
    with between([PAGE]) as middle:
        for url in ("http://10.0.0.1/a", "http://localhost/a", "https://[::1]/a", "http://2130706433/a"):
            with pytest.raises(RemoteError, match="private network"):
                through(middle).fetch(url)
        assert middle.heads == []
        assert through(middle, private=True).fetch("http://10.0.0.1/a").status == 200


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_name_and_a_password_says_so(scheme: str) -> None:
    with between([says("407 Proxy Authentication Required")]) as middle:
        with pytest.raises(RemoteError, match=f"through the proxy {middle.address}: .*407") as caught:
            through(middle).fetch(f"{scheme}://pages.invalid/a")
        assert "NAME:PASSWORD" in caught.value.hint
        if scheme == "https":
            assert middle.heads[0].startswith(b"CONNECT pages.invalid:443 ")


def test_a_proxy_that_cannot_be_used_is_named() -> None:
    for address in ("https://h:1", "socks5://h:1"):
        fetcher = Fetcher(FetchRules(proxies={"all": address}))
        with pytest.raises(UsageError, match="proxy") as caught:
            fetcher.fetch("http://pages.invalid/a")
        assert caught.value.hint.endswith("NO_PROXY=pages.invalid")


@pytest.fixture
def tunnel() -> Iterator[str]:
    """The address of a proxy that connects as it is told, once."""

    def pass_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)

    def run() -> None:
        with suppress(OSError):
            near, _ = listener.accept()
            with near:
                host, _, port = near.recv(65536).split(b" ")[1].decode().rpartition(":")
                with socket.create_connection((host, int(port)), timeout=10) as far:
                    near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    back = threading.Thread(target=pass_on, args=(far, near))
                    back.start()
                    pass_on(near, far)
                    back.join(10)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_tls_is_spoken_to_the_host_through_the_tunnel(
    server: tuple[str, Path, bool], tunnel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, pem, fits = server
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    fetcher = Fetcher(FetchRules(private=True, robots=False, timeout_s=5, proxies={"https": tunnel}))
    if fits:
        assert fetcher.fetch(f"{url}/a.txt").data == TEXT
        return
    with pytest.raises(RemoteError, match="certificate"):
        fetcher.fetch(f"{url}/a.txt")


def test_add_and_recheck_go_through_the_proxy_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    cli = Cli(tmp_path / "kb")
    cli.folder.mkdir()
    cli("init")
    with between([PAGE]) as middle:
        at_hand = {"http_proxy": middle.address, "NO_PROXY": "own.invalid"}
        cli("add", "--no-robots", "http://pages.invalid/a.txt", env=at_hand)
        cli("commit", "-m", "page")
        cli("recheck", "--no-robots", env=at_hand)
        assert len(middle.heads) == 2
        assert (
            "is not known" in cli("add", "--no-robots", "http://own.invalid/a.txt", code=14, env=at_hand).err
        )
        assert len(middle.heads) == 2
