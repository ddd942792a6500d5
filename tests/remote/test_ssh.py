"""ssh: the words that start the other side, and a conversation over the pipes of a process."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from pathlib import Path

import pytest

from arbor.errors import RemoteError, UsageError
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.wire import Interrupted
from arbor.remote.transports import ssh as ssh_transport
from arbor.remote.transports.addresses import Address, parse_address
from arbor.remote.transports.connecting import ConnectOptions, connect
from arbor.remote.transports.ssh import ssh_arguments
from arbor.repo.repository import open_repository
from tests.remote.people import assert_whole, change, clone_to, fetch_from, make_kb, notes, push_to

REPOSITORY = Path(__file__).resolve().parents[2]
SERVE = """
import shlex, sys
from pathlib import Path
sys.path.insert(0, {repository!r})
from arbor.remote.exchange.service import Service
from arbor.remote.transports.stdio import serve_streams
words = shlex.split(sys.argv[-1])
assert words[:4] == ["arbor", "serve", "--stdio", "--"], words
serve_streams(Service(Path(words[4]), may_push=True), sys.stdin.buffer, sys.stdout.buffer)
"""


@pytest.fixture
def ssh(tmp_path: Path) -> ConnectOptions:
    """A program in the place of ssh that runs the other side here."""
    script = tmp_path / "fake_ssh.py"
    script.write_text(SERVE.format(repository=str(REPOSITORY)))
    return ConnectOptions(ssh_command=(sys.executable, str(script)))


def test_clone_fetch_and_push_over_ssh(tmp_path: Path, ssh: ConnectOptions) -> None:
    first = make_kb(tmp_path / "a", notes(10))
    clone_to(tmp_path / "a", tmp_path / "bare kb", bare=True)
    url = f"ssh://me@example.org:2222{tmp_path}/bare%20kb"
    clone_to(connect(url, ssh), tmp_path / "b")
    second = open_repository(tmp_path / "b")
    assert second.refs.head_oid() == first.refs.head_oid()
    change(second, {"x.md": "# X\n"})
    assert push_to(second, connect(url, ssh)).refs[0].status == "forward"
    assert fetch_from(first, connect(url, ssh)).changes[0].status == "new"
    assert first.refs.read("refs/remotes/origin/main") == second.refs.head_oid()
    assert_whole(second)
    assert_whole(open_repository(tmp_path / "bare kb"))


def test_an_error_of_the_other_side_is_passed_on(tmp_path: Path, ssh: ConnectOptions) -> None:
    with pytest.raises(RemoteError, match="there is no knowledge base in"):
        clone_to(connect(f"host:{tmp_path}/nothing", ssh), tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_what_ssh_says_last_is_shown(tmp_path: Path) -> None:
    failing = ConnectOptions(
        ssh_command=(sys.executable, "-c", "import sys; sys.exit('host key is unknown')")
    )
    with pytest.raises(RemoteError, match="host key is unknown"):
        clone_to(connect("host:kb", failing), tmp_path / "b")
    assert not (tmp_path / "b").exists()


def running(program: str) -> ConnectOptions:
    return ConnectOptions(ssh_command=(sys.executable, "-c", program), limits=Limits(idle_s=0.3))


@pytest.mark.skipif(sys.platform == "win32", reason="pipes cannot be waited for there")
def test_another_side_that_reads_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh_transport, "_FIRST_ANSWER_S", 0.3)
    with closing(connect("host:kb", running("import time; time.sleep(60)"))) as deaf:
        with pytest.raises(RemoteError, match="has taken nothing for"):
            deaf.call("push", {}, [bytes(1 << 20)])
        deaf._process.kill()  # type: ignore[attr-defined]


def test_of_what_the_other_side_complains_of_only_the_end_is_kept() -> None:
    program = "import sys; sys.stderr.write('much ' * 1000000 + chr(10) + 'the last word' + chr(10))"
    with closing(connect("host:kb", running(program))) as chatty:
        with pytest.raises(Interrupted, match="the last word"):
            list(chatty.call("refs", {}))
        assert len(chatty._said) <= 4000  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("h:~/my kb", "~/'my kb'"),
        ("h:~", "~/"),
        ("ssh://h/~", "~/"),
        ("ssh://h/~/", "~/"),
        ("ssh://h/~bob/kb", "~bob/kb"),
        ("h:~bob", "~bob/"),
        ("h:~$(touch x)/kb", "'~$(touch x)/kb'"),
        ("h:~bob;x", "'~bob;x'"),
        ("h:a/~", "'a/~'"),
        ("h:./~bob", "'./~bob'"),
    ],
)
def test_a_home_folder_is_for_the_shell_over_there(text: str, path: str) -> None:
    command = ssh_arguments(parse_address(text), ("ssh",), ("arbor",))[-1]
    assert command == f"arbor serve --stdio -- {path}"


def test_an_address_without_a_folder_says_so() -> None:
    with pytest.raises(UsageError, match="names no folder") as caught:
        parse_address("ssh://h")
    assert caught.value.hint.endswith("ssh://h/~")


def test_a_banner_in_the_place_of_packets_is_shown(tmp_path: Path) -> None:
    """As of a login file that greets, a forced command, and `nologin`."""
    greets = f"print('Welcome to kb1!', flush=True); import sys; sys.path.insert(0, {str(REPOSITORY)!r})"
    for program in (greets, "print('This account is currently not available.')", "print('No!')"):
        words = program.split("'")[1]
        with pytest.raises(RemoteError, match=re.escape(words)):
            clone_to(connect("me@host:kb", running(program)), tmp_path / "b")
    with pytest.raises(RemoteError, match="it begins with: Welcome") as caught:
        clone_to(connect("ssh://me@host:22/kb", running(greets)), tmp_path / "b")
    assert caught.value.hint.endswith("ssh -T -p 22 me@host true")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("said", "code"),
    [("bash: line 1: arbor: command not found", 127), ("arbor: Command not found.", 1), ("no", 127)],
)
def test_where_arbor_is_on_the_other_side_can_be_told(said: str, code: int) -> None:
    program = f"import sys; sys.stderr.write({said!r}); sys.exit({code})"
    with closing(connect("host:kb", running(program))) as lost:
        with pytest.raises(Interrupted, match=said) as caught:
            list(lost.call("refs", {}))
        assert "ARBOR_REMOTE_COMMAND=" in caught.value.hint


def test_what_ssh_itself_could_not_do_is_told_apart() -> None:
    program = "import sys; sys.stderr.write('connect to host h port 22: refused\\n****\\n'); sys.exit(255)"
    said = "ssh://h/kb cannot be reached: connect to host h port 22"
    with closing(connect("ssh://h/kb", running(program))) as lost, pytest.raises(Interrupted, match=said):
        list(lost.call("refs", {}))


def test_the_hints_of_another_side_are_for_who_reads_them(tmp_path: Path, ssh: ConnectOptions) -> None:
    with pytest.raises(RemoteError) as caught:
        clone_to(connect(f"host:{tmp_path}/nothing", ssh), tmp_path / "b")
    assert caught.value.hint == "check the address"


def test_a_program_that_is_absent_is_named() -> None:
    with pytest.raises(RemoteError, match="no-such-ssh"):
        connect("host:kb", ConnectOptions(ssh_command=("no-such-ssh",)))


@pytest.mark.parametrize(
    "text",
    [
        "ssh://-oProxyCommand=touch%20x/kb",
        "-oProxyCommand=x:kb",
        "ssh://-x@host/kb",
        "host:-x",
        "ssh://host",
        "ssh://a b/kb",
        "ho$st:kb",
        "ssh://user:password@host/kb",
        "host:a\nb",
        "ftp://host/kb",
        "",
        "file://host/kb",
        "http:///kb",
        "http://host/kb?x=1",
        "http://host:99999/kb",
        "s3://key:secret@bucket/kb",
        "ssh://us;er@host/kb",
    ],
)
def test_addresses_that_could_be_taken_for_something_else(text: str) -> None:
    with pytest.raises(UsageError):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "kind", "path"),
    [
        ("kb", "path", "kb"),
        ("/a/b", "path", "/a/b"),
        ("file:///a%20b", "path", "/a b"),
        ("./host:kb", "path", "./host:kb"),
        ("host:kb", "ssh", "kb"),
        ("me@host:/a b", "ssh", "/a b"),
        ("ssh://h/~/kb", "ssh", "~/kb"),
        ("[::1]:kb", "ssh", "kb"),
        ("https://h/x/", "http", "/x/"),
        ("s3://bucket/x", "store", "/x"),
        ("C:\\kb", "path", "C:\\kb"),
    ],
)
def test_addresses(text: str, kind: str, path: str) -> None:
    address = parse_address(text)
    assert (address.kind, address.path) == (kind, path)


def test_the_words_for_ssh() -> None:
    address = parse_address("ssh://me@h:22/a'b; rm -rf x")
    assert ssh_arguments(address, ("ssh", "-4"), ("arbor",)) == [
        "ssh",
        "-4",
        "-T",
        "-p",
        "22",
        "--",
        "me@h",
        """arbor serve --stdio -- '/a'"'"'b; rm -rf x'""",
    ]
    home = Address("ssh", "h:~/k b", "~/k b", "h")
    assert ssh_arguments(home, ("ssh",), ("arbor",))[-1] == "arbor serve --stdio -- ~/'k b'"


def test_a_secret_of_an_url_is_not_shown() -> None:
    address = parse_address("https://tok3n@host:8080/kb")
    assert (address.url, address.secret) == ("https://host:8080/kb", "tok3n")
