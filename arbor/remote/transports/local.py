"""A KB on this machine's own file system: the same conversation as with any other, without a wire between."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from arbor.errors import NoKnowledgeBase, RemoteError
from arbor.remote.exchange.service import Service
from arbor.remote.protocol.limits import DEFAULT_LIMITS, Limits
from arbor.remote.protocol.wire import Message, Packets, request_packets
from arbor.repo.repository import open_repository


class LocalTransport:
    """Talks to the KB of a folder.

    Raises:
        RemoteError: when there is none.
    """

    is_peer = True

    def __init__(self, fs_path: Path, limits: Limits = DEFAULT_LIMITS) -> None:
        try:
            open_repository(fs_path).close()
        except NoKnowledgeBase as error:
            raise RemoteError(error.message, "check the address") from error
        self.url = str(fs_path)
        self._service = Service(fs_path, may_push=True, whole_packs=True, limits=limits)

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        """Ask the KB; see `arbor.remote.protocol.wire.Transport`."""
        return self._service.answer(request_packets(command, arguments, frames))

    def close(self) -> None:
        """Nothing is kept open between two calls."""
