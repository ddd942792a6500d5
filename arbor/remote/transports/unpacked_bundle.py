"""A bundle of everything, asked for a part: it is unpacked beside, checked, and answers as any other KB does."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from arbor.remote.exchange.service import Service
from arbor.remote.exchange.transfer import TransferOptions, download
from arbor.remote.protocol.messages import Advertisement
from arbor.remote.protocol.wire import Message, Packets, Transport, request_packets
from arbor.repo.repository import init_repository, open_repository


class UnpackedBundle:
    """The KB that a bundle makes, in a temporary folder. Frames of a file lie in one order, and cannot be chosen from.

    Args:
        transport: The bundle; it has no prerequisites.
        shown: Its refs.
        filter_text: Which passages it holds.

    Raises:
        IntegrityError: when the bundle is damaged, malformed or incomplete.
    """

    def __init__(self, transport: Transport, shown: Advertisement, filter_text: str) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="arbor-")
        folder = Path(self._scratch.name, "kb")
        targets = sorted({ref.oid for ref in shown.refs})
        init_repository(folder, bare=True)
        with contextlib.closing(open_repository(folder)) as repo:
            options = TransferOptions(filter=filter_text)
            with download(repo, transport, targets, (), targets, options) as arrival:
                arrival.publish()
                for ref in shown.refs:
                    repo.refs.move(ref.name, None, ref.oid, repo.who(), "unpacked")
        self._service = Service(folder, may_push=False)

    def call(self, command: str, arguments: Message) -> Packets:
        """Ask it."""
        return self._service.answer(request_packets(command, arguments))

    def close(self) -> None:
        """Remove what was unpacked."""
        self._scratch.cleanup()
