"""Whether a bundle is whole: everything in it is unpacked, hashed, decoded and connected, and nothing is kept."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from arbor.records import dataclass
from arbor.remote.exchange.transfer import TransferOptions, download
from arbor.remote.fetching import require_prerequisites
from arbor.remote.quarantine.connectivity import complete_commits
from arbor.remote.transports.bundle import BundleInfo, BundleTransport
from arbor.repo.repository import Repository, init_repository, open_repository


@dataclass(frozen=True, slots=True)
class BundleReport:
    """A sound bundle: what its header says, and how many commits and objects were checked."""

    info: BundleInfo
    commits: int
    objects: int


def verify_bundle(fs_path: Path, repo: Repository | None = None) -> BundleReport:
    """Check a bundle.

    Args:
        fs_path: The file.
        repo: The KB that has what the bundle was made without; not needed for a bundle of everything.

    Raises:
        IntegrityError: when the bundle is damaged, malformed or incomplete.
        RemoteError: when it needs commits that are not here.
    """
    with contextlib.ExitStack() as stack:
        if repo is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arbor-")))
            init_repository(folder / "kb", bare=True)
            repo = stack.enter_context(contextlib.closing(open_repository(folder / "kb")))
        transport = BundleTransport(fs_path)
        stack.callback(transport.close)
        info = transport.info
        targets = sorted({ref.oid for ref in info.shown.refs})
        require_prerequisites(info.shown, complete_commits(repo))
        options = TransferOptions(filter=info.filter)
        with download(repo, transport, targets, (), targets, options) as arrival:
            return BundleReport(info, len(arrival.checked.commits), arrival.objects)
