"""Documents from elsewhere: fetched within bounds, kept as they came, and asked whether they have changed."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import itertools
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.errors import RemoteError, UsageError
from arbor.objects.ids import Kind
from arbor.objects.paths import path_fault
from arbor.repo.desk import TrustDesk
from arbor.repo.importing import fetching, git_sources, imports, sources
from arbor.repo.importing.fetching import Fetcher, FetchRules, check_url, is_public
from arbor.repo.importing.git_sources import parse_git_address, run_git
from arbor.repo.repository import open_repository
from arbor.repo.snapshot import passage_encoding
from arbor.repo.staging import adding
from arbor.store.journal import Journal
from tests.cli.harness import Cli
from tests.trust.conftest import MakeKb

LOCAL = FetchRules(private=True, timeout_s=5, total_s=10)
PAGE = b"<html><head><title>A page</title></head><body><h1>Words</h1><p>Readable text here.</p></body></html>"


@dataclass
class Site:
    """What the test server answers: path to (status, headers, body); every request is noted."""

    url: str = ""
    pages: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@pytest.fixture
def site() -> Iterator[Site]:
    state = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.seen.append((self.path, dict(self.headers)))
            status, headers, body = state.pages.get(self.path, (404, {}, b""))
            if headers.get("ETag") and self.headers.get("If-None-Match") == headers["ETag"]:
                status, body = 304, b""
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_is_fetched_once_and_kept(make_kb: MakeKb, site: Site) -> None:
    kb = make_kb()
    site.pages["/docs/page"] = (200, {"Content-Type": "text/html; charset=utf-8", "ETag": '"v1"'}, PAGE)
    url = f"{site.url}/docs/page"
    done = sources.add_url(kb.repo, url, Fetcher(LOCAL))
    assert done.path == "127.0.0.1/docs/page.html"
    kb.commit("page", index=False)
    document = kb.document(done.path)
    assert (document.source_uri, document.title) == (url, "A page")
    assert b"".join(kb.cat(done.path, "HEAD")) == PAGE
    [record] = Journal(kb.folder).records()
    assert (record.act, record.details["etag"]) == ("fetch", '"v1"')
    assert [path for path, _ in site.seen] == ["/robots.txt", "/docs/page"]


def test_sources_are_asked_again(make_kb: MakeKb, site: Site, tmp_path: Path) -> None:
    kb = make_kb()
    pages = {"etag": {"ETag": '"1"'}, "plain": {}, "other": {"ETag": '"x"'}, "gone": {}, "down": {}}
    for name, headers in pages.items():
        site.pages[f"/{name}.txt"] = (
            200,
            {"Content-Type": "text/plain", **headers},
            f"text of {name}\n".encode(),
        )
    feed = [(f"{site.url}/{name}.txt", f"web/{name}.txt") for name in pages]
    done, failed = sources.add_feed(kb.repo, feed, Fetcher(LOCAL))
    assert (len(done), failed) == (5, [])
    origin = tmp_path / "origin.txt"
    origin.write_text("a file\n")
    kb.add_bytes("file.txt", b"a file\n", source_uri=origin.as_uri())
    kb.commit("sources", index=False)

    def states() -> dict[str, str]:
        found = sources.recheck(kb.repo, kb.snapshot(), list(kb.snapshot().paths()), Fetcher(LOCAL))
        return {each.path.removeprefix("web/").removesuffix(".txt"): each.state for each in found}

    assert set(states().values()) == {"fresh"}
    site.pages["/other.txt"] = (200, {"ETag": '"y"'}, b"changed\n")
    del site.pages["/gone.txt"]
    site.pages["/down.txt"] = (500, {}, b"")
    site.seen.clear()
    assert states() == {
        "etag": "fresh", "plain": "fresh", "other": "changed", "gone": "gone", "down": "unreachable", "file": "fresh",
    }  # fmt: skip
    assert ("/etag.txt", '"1"') in [(path, headers.get("If-None-Match")) for path, headers in site.seen]
    origin.write_text("another\n")
    assert states()["file"] == "changed"
    origin.unlink()
    assert states()["file"] == "gone"
    origin.symlink_to(origin.name)  # to itself: it is there, and no system reads it, not even for root
    assert states()["file"] == "unreachable"
    origin.unlink()
    origin.mkdir()
    assert states()["file"] == "gone"
    (kb.folder / "sources").write_bytes(b"damaged")
    assert states()["etag"] == "fresh"


def test_what_a_server_said_of_one_version_says_nothing_of_another(make_kb: MakeKb, site: Site) -> None:
    kb = make_kb()
    url = f"{site.url}/page.txt"
    for version in ("one", "two"):
        site.pages["/page.txt"] = (200, {"ETag": f'"{version}"'}, f"version {version}\n".encode())
        sources.add_url(kb.repo, url, Fetcher(LOCAL), path="page.txt", overwrite=True)
        if version == "one":
            kb.commit("first", index=False)

    def state() -> str:
        [found] = sources.recheck(kb.repo, kb.snapshot(), list(kb.snapshot().paths()), Fetcher(LOCAL))
        return found.state

    assert state() == "changed", "the second version waits for its commit"
    kb.commit("second", index=False)
    assert state() == "fresh"
    assert site.seen[-1][1]["If-None-Match"] == '"two"'


def test_robots_are_respected_unless_told(make_kb: MakeKb, site: Site) -> None:
    kb = make_kb()
    site.pages["/robots.txt"] = (200, {}, b"User-agent: *\nDisallow: /private/\n")
    site.pages["/private/a.txt"] = site.pages["/open/a.txt"] = (200, {}, b"text\n")
    with pytest.raises(RemoteError, match="closed to robots"):
        sources.add_url(kb.repo, f"{site.url}/private/a.txt", Fetcher(LOCAL))
    fetcher = Fetcher(LOCAL)
    sources.add_url(kb.repo, f"{site.url}/open/a.txt", fetcher)
    sources.add_url(kb.repo, f"{site.url}/private/a.txt", Fetcher(FetchRules(private=True, robots=False)))
    site.pages["/robots.txt"] = (503, {}, b"")
    with pytest.raises(RemoteError, match="whether robots are welcome"):
        sources.add_url(kb.repo, f"{site.url}/open/b.txt", Fetcher(LOCAL))


def test_a_server_that_has_nothing_new_unasked(make_kb: MakeKb, site: Site) -> None:
    """Without a date or an ETag there is nothing that it could compare with."""
    kb = make_kb()
    site.pages["/a.txt"] = (200, {}, b"text\n")
    sources.add_url(kb.repo, f"{site.url}/a.txt", Fetcher(LOCAL), path="a.txt")
    kb.commit("a page", index=False)
    site.pages["/a.txt"] = (304, {}, b"")
    [state] = sources.recheck(kb.repo, kb.snapshot(), kb.snapshot().paths(), Fetcher(LOCAL))
    assert (state.state, "unasked" in state.detail) == ("unreachable", True)
    with pytest.raises(RemoteError, match="unasked"):
        sources.add_url(kb.repo, f"{site.url}/a.txt", Fetcher(LOCAL), path="b.txt")


def test_addresses_as_people_read_them(make_kb: MakeKb, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With characters beyond ASCII in the host, the path and the query, as a browser shows them."""
    kb, port = make_kb(), site.url.rpartition(":")[2]
    look_up = socket.getaddrinfo

    def here(host: str, *more: Any, **named: Any) -> Any:
        return look_up("127.0.0.1" if host.endswith(".example") else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    asked = "/%E6%A0%91/caf%C3%A9.txt?q=%C3%BC&a=%2F"
    site.pages[asked] = (200, {}, b"text\n")
    site.pages["/old"] = (
        302,
        {"Location": "/\u6811/caf\u00e9.txt?q=\u00fc&a=%2F".encode().decode("latin-1")},
        b"",
    )
    site.pages["/spaced"] = (302, {"Location": "/two words.txt "}, b"")
    site.pages["/two%20words.txt"] = (200, {}, b"text\n")
    for number, url in enumerate((
        f"http://b\u00fccher.example:{port}/\u6811/caf\u00e9.txt?q=\u00fc&a=%2F",
        f"http://\u4f8b\u3048.example:{port}{asked}", f"{site.url}/old", f"{site.url}/spaced",
    )):  # fmt: skip
        sources.add_url(kb.repo, url, Fetcher(LOCAL), path=f"{number}.txt")
    kb.commit("pages", index=False)
    states = sources.recheck(kb.repo, kb.snapshot(), kb.snapshot().paths(), Fetcher(LOCAL))
    assert {state.state for state in states} == {"fresh"}
    hosts = {headers["Host"] for _, headers in site.seen}
    assert hosts == {f"xn--bcher-kva.example:{port}", f"xn--r8jz45g.example:{port}", f"127.0.0.1:{port}"}


def test_a_feed_of_another_editor() -> None:
    text = "\ufeffhttps://a.example/1\r\n# a remark\r\nhttps://a.example/2\tmy notes/two words.md  \r\n"
    assert sources.parse_feed(text) == [
        ("https://a.example/1", ""),
        ("https://a.example/2", "my notes/two words.md"),
    ]


def test_private_addresses_are_not_fetched(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.pages["/a"] = (200, {}, b"secret")
    public = Fetcher(FetchRules(robots=False))
    port = site.url.rpartition(":")[2]
    for host in ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "127.1"):
        with pytest.raises(RemoteError):
            public.fetch(f"http://{host}:{port}/a")
    answers = [[(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 80)),
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 80))]]  # fmt: skip
    monkeypatch.setattr(fetching.socket, "getaddrinfo", lambda *_, **__: answers[0])
    with pytest.raises(RemoteError, match="private network"):
        public.fetch("http://example.org/a")
    assert site.seen == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True), ("10.1.2.3", False), ("127.0.0.1", False), ("169.254.169.254", False),
        ("192.168.0.1", False), ("100.64.0.1", False), ("::1", False), ("fe80::1%eth0", False), ("fc00::1", False),
        ("::ffff:127.0.0.1", False), ("2002:7f00:1::", False), ("224.0.0.1", False), ("0.0.0.0", False),
        ("2606:2800:220:1:248:1893:25c8:1946", True), ("255.255.255.255", False),
        ("64:ff9b::a9fe:a9fe", False), ("64:ff9b::5db8:d822", True), ("64:ff9b:1::5db8:d822", False),
    ],
)  # fmt: skip
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_redirect_is_followed_under_the_same_rules(site: Site) -> None:
    site.pages["/a"] = (302, {"Location": "/b"}, b"")
    site.pages["/b"] = (200, {}, b"here")
    site.pages["/loop"] = (301, {"Location": "/loop"}, b"")
    site.pages["/file"] = (302, {"Location": "file:///etc/passwd"}, b"")
    fetcher = Fetcher(FetchRules(private=True, robots=False))
    answer = fetcher.fetch(f"{site.url}/a")
    assert (answer.data, answer.url) == (b"here", f"{site.url}/b")
    with pytest.raises(RemoteError, match="more than 5 times"):
        fetcher.fetch(f"{site.url}/loop")
    with pytest.raises(UsageError, match="not an http"):
        fetcher.fetch(f"{site.url}/file")
    site.pages["/broken"] = (302, {"Location": "http://[::1"}, b"")
    with pytest.raises(RemoteError, match="redirects to no address"):
        fetcher.fetch(f"{site.url}/broken")


def test_size_and_packing_are_bounded(site: Site) -> None:
    site.pages["/big"] = (200, {}, b"x" * 5000)
    site.pages["/packed"] = (200, {"Content-Encoding": "gzip"}, gzip.compress(b"y" * 900, mtime=0))
    site.pages["/bomb"] = (200, {"Content-Encoding": "gzip"}, gzip.compress(b"z" * 10_000_000, mtime=0))
    site.pages["/odd"] = (200, {"Content-Encoding": "br"}, b"?")
    fetcher = Fetcher(FetchRules(private=True, robots=False, max_bytes=1000))
    assert fetcher.fetch(f"{site.url}/packed").data == b"y" * 900
    members = [gzip.compress(text, mtime=0) for text in (b"one ", b"", b"two ", b"three")]
    for name, packed in (("members", b"".join(members)), ("padded", b"".join(members) + bytes(600))):
        site.pages[f"/{name}"] = (200, {"Content-Encoding": "gzip"}, packed)
        assert fetcher.fetch(f"{site.url}/{name}").data == b"one two three"
    site.pages["/cut"] = (200, {"Content-Encoding": "gzip"}, b"".join(members)[:-9])
    with pytest.raises(RemoteError, match="did not come whole"):
        fetcher.fetch(f"{site.url}/cut")
    site.pages["/many"] = (200, {"Content-Encoding": "gzip"}, gzip.compress(b"z" * 400, mtime=0) * 3)
    with pytest.raises(RemoteError, match="larger than the limit"):
        fetcher.fetch(f"{site.url}/many")
    for name in ("big", "bomb"):
        with pytest.raises(RemoteError, match="larger than the limit"):
            fetcher.fetch(f"{site.url}/{name}")
    with pytest.raises(RemoteError, match="not asked for"):
        fetcher.fetch(f"{site.url}/odd")


@contextlib.contextmanager
def raw_server(head: bytes, body: Iterable[bytes], pause_s: float = 0.0) -> Iterator[str]:
    """A server that answers one request with these bytes and ends; its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def answer() -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + head)
            for piece in body:
                connection.sendall(piece)
                if stop.wait(pause_s):
                    return

    thread = threading.Thread(target=answer)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/a"
    stop.set()
    thread.join()
    listener.close()


PACKED = gzip.compress(b"words of a page " * 500, mtime=0)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"Content-Length: 1000000\r\n\r\n", b"x" * 70_000),
        (b"Content-Length: 1000\r\n\r\n", b"x"),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (b"X-Long: ", b"x"),
    ],
)
def test_a_slow_server_is_given_up(head: bytes, body: bytes) -> None:
    rules = FetchRules(private=True, robots=False, total_s=0.2, timeout_s=2)
    with (
        raw_server(head, itertools.repeat(body), 0.05) as url,
        pytest.raises(RemoteError, match="takes too long"),
    ):
        Fetcher(rules).fetch(url)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"Content-Length: 100\r\n\r\n", b"half of it"),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"a\r\nhalf of it\r\n"),
        (b"Content-Encoding: gzip\r\n\r\n", PACKED[:-12]),
        (b"Content-Encoding: gzip\r\n\r\n", PACKED[:30] + b"\xff" * 20),
    ],
)
def test_half_a_page_is_no_page(head: bytes, body: bytes) -> None:
    rules = FetchRules(private=True, robots=False)
    with raw_server(head, [body]) as url, pytest.raises(RemoteError):
        Fetcher(rules).fetch(url)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a/b",
        "http://",
        "http://u:p@host/",
        "http://host:99999/",
        "http://ho st/",
        "javascript:1",
        "http://a.b/\udcff",
        "http://h\n/",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(UsageError):
        check_url(url)


@given(st.text(max_size=60), st.sampled_from(["text/html", "application/pdf", "", "image/png"]))
def test_every_address_gives_a_path_that_may_be_used(tail: str, media_type: str) -> None:
    path = sources.path_of_url(f"https://example.org/{tail}", media_type)
    assert path_fault(path) == ""
    assert path.startswith("example.org/")


def test_paths_of_addresses() -> None:
    assert sources.path_of_url("https://example.org/", "text/html") == "example.org/index.html"
    assert sources.path_of_url("https://example.org/a/b.pdf", "application/pdf") == "example.org/a/b.pdf"
    assert sources.path_of_url("https://example.org/a/..%2f..%2fetc", "text/plain").count("..") == 0
    one, two = (sources.path_of_url(f"https://example.org/p?id={n}", "text/html") for n in (1, 2))
    assert one != two
    assert sources.parse_feed("# a list\nhttps://a/b\n\nhttps://c/d notes/d.html\n") == [
        ("https://a/b", ""), ("https://c/d", "notes/d.html"),
    ]  # fmt: skip


def test_cold_documents_come_back_from_their_address(make_kb: MakeKb, site: Site) -> None:
    kb = make_kb()
    site.pages["/page.html"] = (200, {"Content-Type": "text/html"}, PAGE)
    done = sources.add_url(kb.repo, f"{site.url}/page.html", Fetcher(LOCAL))
    kb.commit("page", index=False)
    assert kb.fs_root is not None
    (kb.fs_root / done.path).unlink()
    desk, fetch = TrustDesk(kb.repo), fetching.make_fetch(LOCAL)
    assert desk.evict([done.path]).refused
    assert desk.evict([done.path], fetch=fetch).evicted
    assert kb.verify().ok
    site.pages["/page.html"] = (200, {"Content-Type": "text/html"}, PAGE.replace(b"Readable", b"Other"))
    [drifted] = desk.rehydrate([done.path], fetch=fetch).documents
    assert drifted.drift is not None
    site.pages["/page.html"] = (200, {"Content-Type": "text/html"}, PAGE)
    assert desk.rehydrate([done.path], fetch=fetch).whole
    assert b"".join(kb.cat(done.path, "HEAD")) == PAGE


def test_evict_and_rehydrate_say_why_a_source_gives_nothing(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    folder.mkdir()
    cli, url = Cli(folder), f"{site.url}/a.md"
    cli("init")
    site.pages["/a.md"] = (200, {"Content-Type": "text/markdown"}, b"# A\n\nwords\n")
    file = tmp_path / "b.md"
    file.write_text("# B\n\nwords\n")
    cli("add", url, "--private", "--as", "a.md")
    cli("add", "-", "--as", "b.md", "--source-uri", file.as_uri(), stdin=file.read_bytes())
    cli("commit", "-m", "both")

    def kept(*options: str, path: str = "a.md") -> str:
        [item] = cli("evict", path, "-n", "--json", *options, code=1).json["refused"]
        return str(item["problem"])

    nothing = "no other copy was found"
    assert kept("--offline") == nothing
    assert kept() == f"{nothing}; '127.0.0.1' is on a private network (fetch it all the same: --private)"
    site.pages["/robots.txt"] = (200, {}, b"User-agent: *\nDisallow: /\n")
    closed = f"'{url}' is closed to robots (fetch it all the same: --no-robots)"
    assert kept("--private") == f"{nothing}; {closed}"
    assert kept("--private", "--no-robots", "--copies", "2") == "only 1 of 2 copies were found"
    cli("evict", "a.md", "--private", "--no-robots")
    (folder / "a.md").unlink()
    assert closed in cli("rehydrate", "a.md", "--private", code=1).err
    site.pages["/a.md"] = (404, {}, b"")
    said = cli("rehydrate", "a.md", "--private", "--no-robots", "--json", code=1).json["documents"][0]
    assert said["note"] == f"'{url}' is gone: the server answers 404"
    site.pages["/a.md"] = (200, {"Content-Type": "text/markdown"}, b"# A\n\nwords\n")
    cli("rehydrate", "a.md", "--private", "--no-robots")
    file.unlink()
    assert kept(path="b.md") == f"{nothing}; '{file.as_uri()}' is not there any more"
    adding.add_bytes(open_repository(folder), "c.md", b"c\n", "file:///etc/hostname")  # as a clone brings it
    cli("commit", "-m", "c")
    assert "was not added from here, so it is not opened" in kept(path="c.md")
    assert "was not added from here" in cli("evict", "c.md", code=1).err


# --- imports


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_a_git_repository_at_a_commit(make_kb: MakeKb, tmp_path: Path) -> None:
    source = tmp_path / "notes repo"
    source.mkdir()
    git(source, "init", "-q", "-b", "main")
    (source / "sub").mkdir()
    (source / "a.md").write_text("# One\n")
    (source / "sub" / "ü.md").write_text("# Two\n")
    (source / "link.md").symlink_to("a.md")
    (source / "con.md").write_text("a name that Windows keeps for itself\n")
    git(source, "add", ".")
    git(source, "commit", "-q", "-m", "first")
    first = git(source, "rev-parse", "HEAD")
    (source / "a.md").write_text("# One, changed\n")
    git(source, "commit", "-q", "-am", "second")
    kb = make_kb()
    address = f"git+file://{str(source).replace(' ', '%20')}@{first[:10]}"
    report = imports.import_git(kb.repo, address)
    assert report.source.endswith(f"@{first}")
    assert report.result.added == ("notes repo/a.md", "notes repo/sub/ü.md")
    assert dict(report.result.skipped) == {
        "link.md": "it is a symbolic link", "con.md": "a part of it is a device name on Windows",
    }  # fmt: skip
    kb.commit("import", index=False)
    assert b"".join(kb.cat("notes repo/a.md", "HEAD")) == b"# One\n"
    assert kb.document("notes repo/a.md").source_uri == f"{report.source}#a.md"
    again = imports.import_git(kb.repo, f"git+file://{source}", prefix="later")
    assert b"".join(kb.cat("later/a.md")) == b"# One, changed\n"
    assert again.source != report.source
    assert [record.act for record in Journal(kb.folder).records()] == ["import", "import"]
    with pytest.raises(RemoteError, match="could not read"):
        imports.import_git(kb.repo, f"git+file://{source}@nothing")
    with pytest.raises(RemoteError):
        imports.import_git(kb.repo, f"git+file://{tmp_path}/none")


@pytest.mark.parametrize(
    "address", ["git+file://host/path", "git+ssh:///x", "git+file:///x@--upload-pack=x", "git+file:"]
)
def test_what_is_no_git_address(address: str) -> None:
    with pytest.raises(UsageError):
        parse_git_address(address)


def test_a_path_and_a_revision_may_have_an_at_sign(tmp_path: Path) -> None:
    for name in ("plain", "at@v1", "@scope"):
        (tmp_path / name).mkdir()
    base = f"git+file://{tmp_path}"
    for address, folder, revision in [
        (f"{base}/plain", "plain", "HEAD"), (f"{base}/plain@v1", "plain", "v1"),
        (f"{base}/plain@v1@x", "plain", "v1@x"), (f"{base}/plain@main@{{1}}", "plain", "main@{1}"),
        (f"{base}/at@v1", "at@v1", "HEAD"), (f"{base}/at@v1@x", "at@v1", "x"),
        (f"{base}/at%40v1@x@y", "at@v1", "x@y"), (f"{base}/@scope", "@scope", "HEAD"),
        (f"{base}/@scope@v2", "@scope", "v2"), (f"{base}/gone@now@v2", "gone@now", "v2"),
        (f"{base}/gone", "gone", "HEAD"),
    ]:  # fmt: skip
        assert parse_git_address(address) == (tmp_path / folder, revision)


def test_a_pointer_in_the_place_of_a_file_is_named(make_kb: MakeKb, tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 12345\n"
    source = tmp_path / "source"
    source.mkdir()
    (source / "paper.pdf").write_text(pointer)
    (source / "about.md").write_text(f"As in\n\n{pointer}")
    run_git(source, "init", "-q")
    run_git(source, "add", ".")
    run_git(source, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "one")
    kb = make_kb()
    told: list[tuple[int, int]] = []
    report = imports.import_git(kb.repo, f"git+file://{source}", progress=lambda *counts: told.append(counts))
    assert told == [(number, len(told)) for number in range(len(told))] != []
    assert len(report.result.added) == 2
    [(path, remark)] = report.result.warnings
    assert path == "source/paper.pdf"
    assert "Git LFS pointer" in remark


def test_an_open_knowledge_format_folder(make_kb: MakeKb, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    (bundle / "concepts").mkdir(parents=True)
    (bundle / "index.md").write_text("---\nokf_version: '0.1'\n---\n# Index\n\n- [A](concepts/a.md)\n")
    (bundle / "concepts" / "a.md").write_text(
        "---\ntype: concept\ntitle: A thing\n---\nText, see [b](b.md).\n"
    )
    (bundle / ".hidden").mkdir()
    (bundle / ".hidden" / "x.md").write_text("no\n")
    (bundle / "logo.png").write_bytes(b"\x89PNG")
    os.symlink(tmp_path, bundle / "concepts" / "loop")
    kb = make_kb()
    told: list[tuple[int, int]] = []
    report = imports.import_okf(kb.repo, bundle, progress=lambda *counts: told.append(counts))
    assert told == [(number, len(told)) for number in range(len(told))] != []
    assert report.result.added == ("bundle/index.md", "bundle/concepts/a.md")
    kb.commit("okf", index=False)
    document = kb.document("bundle/concepts/a.md")
    assert (document.title, document.front_matter["type"]) == ("A thing", "concept")
    assert document.source_uri == (bundle / "concepts/a.md").as_uri()
    with pytest.raises(UsageError, match="no Markdown file"):
        imports.import_okf(kb.repo, kb.folder)


SITE = "<sitename>Test</sitename><dbname>testwiki</dbname><base>https://wiki.example/wiki/Main_Page</base>"
WIKI = f"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">
  <siteinfo>{SITE}</siteinfo>
  <page><title>Merkle tree</title><ns>0</ns><id>1</id>
    <revision><id>7</id><text>A '''Merkle tree''' is a [[tree]].</text></revision></page>
  <page><title>Old name</title><ns>0</ns><id>2</id><redirect title="Merkle tree"/>
    <revision><id>8</id><text>#REDIRECT [[Merkle tree]]</text></revision></page>
  <page><title>Talk:Merkle tree</title><ns>1</ns><id>3</id>
    <revision><id>9</id><text>talk</text></revision></page>
  <page><title>AC/DC: "live"?</title><ns>0</ns><id>4</id>
    <revision><id>10</id><text>Band.</text></revision></page>
</mediawiki>
"""


@pytest.mark.parametrize("suffix", ["", ".bz2", ".gz"])
def test_a_mediawiki_dump(make_kb: MakeKb, tmp_path: Path, suffix: str) -> None:
    pack = {"": lambda data: data, ".bz2": bz2.compress, ".gz": gzip.compress}[suffix]
    dump = tmp_path / f"dump.xml{suffix}"
    dump.write_bytes(pack(WIKI.encode()))
    kb = make_kb()
    told: list[tuple[int, int]] = []
    report = imports.import_mediawiki(kb.repo, dump, progress=lambda *counts: told.append(counts))
    assert report.result.added == ("testwiki/Merkle tree.wiki", "testwiki/AC_DC_ _live_-54c5b47f.wiki")
    assert len(told) == WIKI.count("<page>")
    assert all(0 < done <= total == dump.stat().st_size for done, total in told)
    kb.commit("wiki", index=False)
    assert (
        kb.document("testwiki/Merkle tree.wiki").source_uri == "https://wiki.example/wiki/Merkle_tree?oldid=7"
    )
    assert b"is a [[tree]]" in b"".join(kb.cat("testwiki/Merkle tree.wiki", "HEAD"))


def test_no_two_titles_of_a_wiki_become_one_file(make_kb: MakeKb, tmp_path: Path) -> None:
    """Not in one dump, and not in two that are imported one after the other."""
    long = "界" * 85
    titles = [
        "A/B",
        "A:B",
        "A_B",
        "St",
        "St.",
        "St. ",
        "CON",
        "con",
        ".git",
        "git",
        long,
        f"{long[:-1]}人",
        "x" * 255,
    ]
    pages = [
        f"<page><title>{title}</title><ns>0</ns><revision><id>{number}</id><text>{number}</text></revision></page>"
        for number, title in enumerate(titles)
    ]
    kb = make_kb()
    for part in (pages[::2], pages[1::2]):
        dump = tmp_path / "dump.xml"
        dump.write_text(f"<mediawiki><siteinfo>{SITE}</siteinfo>{''.join(part)}</mediawiki>")
        report = imports.import_mediawiki(kb.repo, dump)
        assert (len(report.result.added), report.result.skipped) == (len(part), ())
    kb.commit("wiki", index=False)
    assert len(dict(kb.ls())) == len(titles)
    for kept in ("St", "git", "A_B"):
        assert f"testwiki/{kept}.wiki" in dict(kb.ls())


def test_a_dump_of_tables_is_told_from_one_of_articles(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb()
    for name, pack in (("page.sql", bytes), ("page.sql.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack(b"-- MySQL dump 10.19\n\nCREATE TABLE `page` (\n"))
        with pytest.raises(UsageError, match="SQL dump") as raised:
            imports.import_mediawiki(kb.repo, tmp_path / name)
        assert "pages-articles.xml" in raised.value.hint


def test_what_is_no_dump(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb()
    bomb = '<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + WIKI
    for number, text in enumerate(["<html></html>", bomb, WIKI[:500], ""]):
        dump = tmp_path / f"{number}.xml"
        dump.write_text(text)
        with pytest.raises(UsageError, match="not a MediaWiki dump"):
            imports.import_mediawiki(kb.repo, dump)
    (tmp_path / "x.bz2").write_bytes(b"BZh9 nonsense")
    packed = gzip.compress(WIKI.encode(), mtime=0)
    (tmp_path / "x.gz").write_bytes(packed[:20] + b"\xff" * 20 + packed[40:])
    for name in ("x.bz2", "x.gz"):
        with pytest.raises(UsageError):
            imports.import_mediawiki(kb.repo, tmp_path / name)


def test_the_commands(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    folder.mkdir()
    cli = Cli(folder)
    cli("init")
    site.pages["/a.md"] = (200, {"Content-Type": "text/markdown"}, b"# A\n")
    refused = cli("add", f"{site.url}/a.md", code=14)
    assert "private network" in refused.err
    assert cli("add", f"{site.url}/a.md", "--private", "--as", "web/a.md", "--json").json["added"] == [
        "web/a.md"
    ]
    cli.write("urls.txt", f"{site.url}/a.md b.md\n{site.url}/none.md\n")
    part = cli("add", "--feed", "urls.txt", "--private", "--json", code=3).json
    assert part["added"] == ["b.md"]
    assert "answers 404" in part["skipped"][0]["reason"]
    cli("commit", "-m", "pages")
    assert "2 fresh" in cli("recheck", "--private").out
    site.pages["/a.md"] = (200, {}, b"# Changed\n")
    changed = cli("recheck", "--private", "--json", code=1).json["sources"]
    assert {each["state"] for each in changed} == {"changed"}
    assert "beside an address" in cli("add", "x.md", f"{site.url}/a.md", "--private", code=2).err


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    source = tmp_path / "notes"
    (source / "sub").mkdir(parents=True)
    git(source, "init", "-q", "-b", "main")
    for name in ("a.md", "b.md", "gone.md", "mine.md", "sub/c.md"):
        (source / name).write_text(f"# {name}\n\nfirst\n")
    git(source, "add", ".")
    git(source, "commit", "-q", "-m", "first")
    return source


def test_a_newer_commit_is_followed_where_nobody_changed_anything(make_kb: MakeKb, repository: Path) -> None:
    kb = make_kb()
    assert kb.fs_root is not None
    imports.import_git(kb.repo, f"git+file://{repository}")
    kb.commit("import", index=False)
    (kb.fs_root / "notes/mine.md").write_text("# edited here\n")
    for name in ("a.md", "mine.md"):
        (repository / name).write_text(f"# {name}\n\nsecond\n")
    git(repository, "rm", "-q", "gone.md")
    git(repository, "commit", "-q", "-am", "second")
    result = imports.import_git(kb.repo, f"git+file://{repository}").result
    assert result.removed == ("notes/gone.md",)
    assert result.skipped == (("notes/mine.md", "it exists and holds something else"),)
    kb.commit("second", index=False)
    assert b"".join(kb.cat("notes/a.md", "HEAD")) == b"# a.md\n\nsecond\n"
    assert (kb.fs_root / "notes/mine.md").read_text() == "# edited here\n"
    assert not (kb.fs_root / "notes/gone.md").exists()


def test_a_blob_that_git_cannot_give_whole_is_no_document(make_kb: MakeKb, repository: Path) -> None:
    blob = git(repository, "rev-parse", "HEAD:sub/c.md")  # the last one, after which nothing is asked for
    damaged = repository / ".git/objects" / blob[:2] / blob[2:]
    damaged.chmod(0o644)
    damaged.write_bytes(damaged.read_bytes()[:-6] + b"\xff" * 6)
    kb = make_kb()
    with pytest.raises(RemoteError, match="could not read object"):
        imports.import_git(kb.repo, f"git+file://{repository}")
    assert kb.status().clean


def test_a_folder_of_a_repository_alone(make_kb: MakeKb, repository: Path) -> None:
    kb = make_kb()
    report = imports.import_git(kb.repo, f"git+file://{repository}/sub@main")
    assert report.result.added == ("sub/c.md",)
    assert git_sources.read_git_source(kb.document("sub/c.md").source_uri) == b"# sub/c.md\n\nfirst\n"


def test_a_name_in_git_is_asked_for_as_git_has_it(make_kb: MakeKb, repository: Path) -> None:
    """A document's path is in Unicode form C; the name in the commit is whatever bytes it is."""
    kb = make_kb()
    blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=repository, input=b"# Caf\n",
                          capture_output=True, check=True).stdout.decode().strip()  # fmt: skip
    git(repository, "update-index", "--add", "--cacheinfo", f"100644,{blob},cafe\u0301 #1.md")
    git(repository, "commit", "-q", "-m", "a name in form D")
    imports.import_git(kb.repo, f"git+file://{repository}", prefix="g")
    kb.commit("import", index=False)
    states = sources.recheck(kb.repo, kb.snapshot(), kb.snapshot().paths("g/caf"), Fetcher(LOCAL))
    assert "fresh" in {state.state for state in states if state.path == "g/caf\u00e9 #1.md"}
    assert kb.trust.evict(["g/caf\u00e9 #1.md"]).evicted


def test_a_git_source_is_asked_and_is_a_copy(
    make_kb: MakeKb, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make_kb()
    assert kb.fs_root is not None
    imports.import_git(kb.repo, f"git+file://{repository}", prefix="from git")
    kb.commit("import", index=False)
    documents = [(path, oid) for path, oid in kb.snapshot().paths()]
    fetcher = Fetcher(FetchRules(private=True))
    assert {state.state for state in sources.recheck(kb.repo, kb.snapshot(), documents, fetcher)} == {"fresh"}
    gone = kb.trust.evict(["from git/a.md"])
    assert [item.copies for item in gone.evicted] == [(kb.document("from git/a.md").source_uri,)]
    (kb.fs_root / "from git/a.md").unlink()
    assert kb.trust.rehydrate(["from git/a.md"]).whole
    monkeypatch.setenv("PATH", str(tmp_path))  # without git nobody can tell
    assert {state.state for state in sources.recheck(kb.repo, kb.snapshot(), documents, fetcher)} == {
        "unreachable"
    }
    monkeypatch.undo()
    (repository / ".git").rename(tmp_path / "moved")
    (repository / ".git").write_text("gitdir: a place that cannot be read\n")
    assert {state.state for state in sources.recheck(kb.repo, kb.snapshot(), documents, fetcher)} == {
        "unreachable"
    }
    (repository / ".git").unlink()
    assert {state.state for state in sources.recheck(kb.repo, kb.snapshot(), documents, fetcher)} == {"gone"}
    assert kb.trust.evict(["from git/b.md"]).refused


def test_a_file_that_a_document_names_is_opened_with_consent_only(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb()
    own, secret = tmp_path / "own.txt", tmp_path / "secret.txt"
    own.write_text("mine\n")
    secret.write_text("a secret\n")
    kb.add_bytes("own.txt", b"mine\n", source_uri=own.as_uri())
    adding.add_bytes(kb.repo, "foreign.txt", b"a guess\n", secret.as_uri())  # as a clone brings it
    kb.commit("both", index=False)

    def states(rules: FetchRules) -> dict[str, str]:
        found = sources.recheck(kb.repo, kb.snapshot(), list(kb.snapshot().paths()), Fetcher(rules))
        return {each.path: each.state for each in found}

    assert states(FetchRules()) == {"own.txt": "fresh", "foreign.txt": "unreachable"}
    assert states(FetchRules(private=True)) == {"own.txt": "fresh", "foreign.txt": "changed"}
    own.unlink()
    own.symlink_to(own.name)
    assert states(FetchRules())["own.txt"] == "unreachable"
    (kb.folder / "sources").write_bytes(b"damaged")
    assert states(FetchRules())["own.txt"] == "unreachable"


RUSSIAN = "Быстрая лиса прыгает через ленивую собаку. " * 4
CHARSETS = {
    # path: (Content-Type, bytes, what is read, what is recorded)
    "/page.html": (
        "text/html; charset=windows-1251", f"<title>x</title><p>{RUSSIAN}".encode("cp1251"), RUSSIAN, ""
    ),
    "/beats-meta.html": (
        'text/html; Charset="KOI8-R"', f"<meta charset=windows-1251><p>{RUSSIAN}".encode("koi8_r"), RUSSIAN,
        "html/3; charset=koi8_r",
    ),
    "/as-said.txt": (
        "text/plain; charset=iso-8859-1", "Größe".encode(), "GrÃ¶ÃŸe", "plain/1; charset=cp1252"
    ),
    "/latin-2.txt": (
        "text/plain; charset=iso-8859-2", "Žluťoučký kůň".encode("iso8859_2"), "Žluťoučký kůň",
        "plain/1; charset=iso8859_2",
    ),
    "/latin-9.md": (
        "text/markdown; charset=ISO-8859-15", "# Preis\n\n5 € für Œuvres\n".encode("iso8859_15"),
        "# Preis\n\n5 € für Œuvres", "markdown/3; charset=iso8859_15",
    ),
    "/marked.txt": ("text/plain; charset=iso-8859-1", "\ufeffGröße".encode(), "Größe", ""),
    "/cannot-be.txt": ("text/plain; charset=utf-8", "Größe und Maße\n".encode("cp1252"), "Größe und Maße\n", ""),
    "/unknown.txt": ("text/plain; charset=klingon", "Größe".encode(), "Größe", ""),
    "/wide.txt": ("text/plain; charset=utf-16le", "ni".encode("utf-16-le"), "ni", ""),
}  # fmt: skip


def test_the_encoding_that_a_server_names_is_followed_and_recorded(
    make_kb: MakeKb, site: Site, tmp_path: Path
) -> None:
    kb = make_kb()
    assert kb.fs_root is not None
    for path, (content_type, body, _, _) in CHARSETS.items():
        site.pages[path] = (200, {"Content-Type": content_type}, body)
        sources.add_url(kb.repo, site.url + path, Fetcher(LOCAL), path=path[1:])
    kb.commit("pages", index=False)

    def read() -> dict[str, tuple[str, str]]:
        found = {}
        for path in CHARSETS:
            snapshot, document = kb.snapshot(), kb.snapshot().document(bytes.fromhex(dict(kb.ls())[path[1:]]))
            parts = [
                kb.repo.store.get_kind(ref.oid, Kind.CHUNK) for ref in snapshot.manifest(document).passages
            ]
            text = b"".join(parts).decode(passage_encoding(document)).strip().removeprefix("\ufeff")
            found[path] = text, document.extractor if "charset" in document.extractor else ""
        return found

    as_said = {path: (text.strip(), recorded) for path, (_, _, text, recorded) in CHARSETS.items()}
    assert read() == as_said
    assert all(b"".join(kb.cat(path[1:], "HEAD")) == body for path, (_, body, _, _) in CHARSETS.items())
    assert kb.verify(deep=True).ok

    archive = shutil.copytree(kb.fs_root, tmp_path / "archive", ignore=shutil.ignore_patterns(".arbor"))
    assert len(kb.trust.evict("*", places=[archive]).evicted) == len(CHARSETS)
    assert all(done.state == "whole" for done in kb.trust.rehydrate("*", places=[archive]).documents)
    kb.trust.evict("*", places=[archive])
    kb.add("*", force=True)
    assert not kb.status().staged, "its file, added again, is another document"
    assert kb.trust.tiers().cold.documents == 0
    site.pages["/beats-meta.html"] = (200, {}, CHARSETS["/beats-meta.html"][1] + b"<p>more")
    kb.trust.evict("beats-meta.html", places=[archive])
    fetch = fetching.make_fetch(LOCAL)
    (kb.fs_root / "beats-meta.html").unlink()
    kb.trust.rehydrate("beats-meta.html", fetch=fetch, update=True)
    kb.commit("update", index=False)
    assert kb.document("beats-meta.html").extractor == "html/3; charset=koi8_r"


def test_of_a_long_robots_txt_the_beginning_counts(make_kb: MakeKb, site: Site) -> None:
    kb = make_kb()
    filler = b"# nothing\n" * 60_000
    rules = b"User-agent: *\nDisallow: /closed\n" + filler + b"Disallow: /open\nDisallow: /\n"
    site.pages["/robots.txt"] = (200, {}, rules)
    site.pages["/open.txt"] = site.pages["/closed.txt"] = (200, {"Content-Type": "text/plain"}, b"text\n")
    sources.add_url(kb.repo, f"{site.url}/open.txt", Fetcher(LOCAL))
    with pytest.raises(RemoteError, match="closed to robots"):
        sources.add_url(kb.repo, f"{site.url}/closed.txt", Fetcher(LOCAL))
    before, rule = (
        b"User-agent: *\n",
        b"\nDisallow: /op",
    )  # the limit falls into this rule, and half of one is none
    before += b"#" * (512 * 1024 - len(before) - len(rule))
    site.pages["/robots.txt"] = (200, {}, before + rule + b"erator\n" + filler)
    sources.add_url(kb.repo, f"{site.url}/open.txt", Fetcher(LOCAL), path="again.txt")
