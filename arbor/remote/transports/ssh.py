"""A KB on another machine, reached by the `ssh` program, which runs `arbor serve --stdio` there."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from typing import IO

from arbor.errors import RemoteError, printable
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.pacing import Pace, PacedReader
from arbor.remote.protocol.wire import (
    Interrupted,
    Message,
    NoPacket,
    Packets,
    encode_packet,
    read_packets,
    request_packets,
)
from arbor.remote.transports.addresses import Address
from arbor.store.files import in_words

_FIRST_ANSWER_S = 300.0
_READ_BYTES = 1 << 16
_END_S = 5.0
_LISTEN_S = 0.5  # a connection that ssh shares may keep standard error open for good
_SAID_BYTES = 4000
_CAN_WAIT = sys.platform != "win32"  # there, pipes cannot be waited for


_HOME = re.compile(r"^(~[A-Za-z0-9_.+-]*)(?:/(.*))?$", re.DOTALL)
"""The home folder of whoever logs in, or of somebody named, and a path below it: for the shell there to put in."""
_OF_SSH = 255
"""Exit status of ssh itself, and not of what runs on the other side."""
_NOT_FOUND = 127
"""Exit status of a shell that does not find a command."""


def ssh_arguments(
    address: Address, ssh_command: tuple[str, ...], remote_command: tuple[str, ...]
) -> list[str]:
    """The words that start the other side: its shell gets the path quoted, ssh nothing that looks like an option."""
    home = _HOME.match(address.path)
    path = f"{home[1]}/{shlex.quote(home[2]) if home[2] else ''}" if home else shlex.quote(address.path)
    command = " ".join([*map(shlex.quote, remote_command), "serve", "--stdio", "--", path])
    return [*ssh_command, "-T", *_port(address), "--", _target(address), command]


def _port(address: Address) -> tuple[str, ...]:
    return ("-p", str(address.port)) if address.port is not None else ()


def _target(address: Address) -> str:
    return f"{address.user}@{address.host}" if address.user else address.host


class SshTransport:
    """Keeps one process for all calls."""

    is_peer = True

    def __init__(
        self, address: Address, ssh_command: tuple[str, ...], remote_command: tuple[str, ...], limits: Limits
    ) -> None:
        self.url = address.url
        self._limits = limits
        self._host = " ".join((*_port(address), _target(address)))
        words = ssh_arguments(address, ssh_command, remote_command)
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            hint = "install an ssh client" if isinstance(error, FileNotFoundError) else ""
            raise RemoteError(f"'{words[0]}' cannot be run: {in_words(error)[0]}", hint) from error
        self._begun = b""  # how all that it writes begins, until a packet has been found in it
        self._answered = False
        self._said = b""
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        if _CAN_WAIT and self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)

    def _listen(self) -> None:
        """Keep the end of what is said on standard error: how much that is, is up to the other side."""
        stderr = self._process.stderr
        assert stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(stderr.fileno(), _READ_BYTES):
                self._said = (self._said + data)[-_SAID_BYTES:]

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        """Send a request over the process; see `arbor.remote.protocol.wire.Transport`."""
        pace, waited_s = Pace(self._limits, "reads"), 0.0
        # A side that refuses half-way closes its input; what it says then stands in its answer.
        with contextlib.suppress(BrokenPipeError):
            for packet in request_packets(command, arguments, frames):
                view = memoryview(encode_packet(packet))
                while view:
                    began = time.monotonic()
                    written = self._write_some(view)
                    waited_s += time.monotonic() - began
                    pace.take(written, waited_s)
                    view = view[written:]
        return self._answer(read_packets(PacedReader(self._read_some, self._limits).read))

    def _write_some(self, view: memoryview) -> int:
        """Write what the other side takes now, and wait until it takes something; how many bytes."""
        stdin = self._process.stdin
        assert stdin is not None
        if _CAN_WAIT and not _is_ready(stdin, selectors.EVENT_WRITE, self._wait_s):
            raise Interrupted(f"the other side has taken nothing for {self._wait_s:.0f} seconds")
        return stdin.write(view) or 0

    @property
    def _wait_s(self) -> float:
        """Seconds for a single wait; before the first answer somebody may be typing a password."""
        return self._limits.idle_s if self._answered else max(self._limits.idle_s, _FIRST_ANSWER_S)

    def _answer(self, packets: Packets) -> Packets:
        try:
            for packet in packets:
                self._begun = b""
                yield packet
        except NoPacket as error:
            if not (said := _last_line(self._begun.split(b"\n", 1)[0])):
                raise
            raise RemoteError(
                f"the other side does not speak the arbor protocol; it begins with: {said}",
                f"a login file or a forced command may print that; what comes unasked: ssh -T {self._host} true",
            ) from error
        except Interrupted as error:
            said, code = self._last_words()
            hint = error.hint
            if code == _NOT_FOUND or "not found" in said.lower():
                hint = "where arbor is on the other side is told with: ARBOR_REMOTE_COMMAND=/path/to/arbor"
            message = error.message
            if code == _OF_SSH and not self._answered:
                message = f"{self.url} cannot be reached"
            raise Interrupted(f"{message}: {said}" if said else message, hint) from error

    def _last_words(self) -> tuple[str, int | None]:
        """What ssh or the other side wrote last, to its standard error or in the place of packets; its exit status."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
            self._listener.join(_LISTEN_S)
        return _last_line(self._said) or _last_line(self._begun), self._process.returncode

    def _read_some(self) -> bytes:
        stdout = self._process.stdout
        assert stdout is not None
        if _CAN_WAIT and not _is_ready(stdout, selectors.EVENT_READ, self._wait_s):
            raise Interrupted(f"the other side has said nothing for {self._wait_s:.0f} seconds")
        data = os.read(stdout.fileno(), _READ_BYTES)
        if data and not self._answered:
            self._answered, self._begun = True, data[:_SAID_BYTES]
        return data

    def close(self) -> None:
        """End the process, which ends by itself when its input does."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(_LISTEN_S)
        if self._process.stderr is not None and not self._listener.is_alive():
            self._process.stderr.close()


def _last_line(data: bytes) -> str:
    """The last line with a word in it, as far as it can be printed."""
    lines = data.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if any(char.isalnum() for char in line)), "")
    return printable(last[:300])


def _is_ready(pipe: IO[bytes], event: int, wait_s: float) -> bool:
    """Whether a pipe can be read or written within so many seconds, however many files the process has open."""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, event)
        return bool(selector.select(wait_s))
