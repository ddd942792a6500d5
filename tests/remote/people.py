"""Small KBs for the tests of sharing, and short ways to change them."""

from __future__ import annotations

from pathlib import Path

from arbor.objects.model import Commit
from arbor.remote.cloning import CloneOptions, CloneResult, clone
from arbor.remote.exchange.transfer import TransferOptions
from arbor.remote.fetching import FetchOptions, FetchResult, fetch
from arbor.remote.protocol.wire import Transport
from arbor.remote.pushing import PushResult, PushSpec, push
from arbor.remote.transports.connecting import connect
from arbor.repo.commits import committing
from arbor.repo.repository import Repository, init_repository, open_repository
from arbor.repo.staging import adding
from arbor.repo.trust.verify import verify
from arbor.store.refs import HEADS


def make_kb(fs_path: Path, files: dict[str, str] | None = None, *, bare: bool = False) -> Repository:
    """A new KB, with one commit where files are given."""
    fs_path.mkdir(parents=True, exist_ok=True)
    init_repository(fs_path, bare=bare)
    repo = open_repository(fs_path)
    if files:
        change(repo, files)
    return repo


def change(repo: Repository, files: dict[str, str | None], message: str = "change") -> bytes:
    """Write (None removes) files and commit; the commit's oid."""
    assert repo.fs_root is not None
    for path, text in files.items():
        fs_path = repo.fs_root / path
        if text is None:
            fs_path.unlink()
        else:
            fs_path.parent.mkdir(parents=True, exist_ok=True)
            fs_path.write_text(text)
    adding.add(repo, [""], update=False)
    return committing.commit(repo, message).oid


def notes(count: int, start: int = 0) -> dict[str, str]:
    """Some notes of several passages each, no two alike."""
    made = {}
    for number in range(start, start + count):
        parts = [f"# Note {number}\n"]
        parts += [
            f"\n## Part {part}\n\nNote {number} says this in part {part}. " + f"word{number * 7 + part} " * 90
            for part in range(3)
        ]
        made[f"folder{number % 5}/note{number}.md"] = "".join(parts) + "\n"
    return made


def clone_to(
    source: Path | str | Transport, target: Path, transfer: TransferOptions | None = None, **options: object
) -> CloneResult:
    """Clone from an address or over a transport."""
    transport = source if not isinstance(source, (Path, str)) else connect(str(source))
    try:
        return clone(transport, target, CloneOptions(**options), transfer or TransferOptions())  # type: ignore[arg-type]
    finally:
        transport.close()


def fetch_from(
    repo: Repository,
    source: Path | str | Transport,
    remote: str = "origin",
    transfer: TransferOptions | None = None,
    **options: object,
) -> FetchResult:
    """Fetch from an address or over a transport."""
    transport = source if not isinstance(source, (Path, str)) else connect(str(source))
    try:
        return fetch(repo, transport, remote, FetchOptions(**options), transfer or TransferOptions())  # type: ignore[arg-type]
    finally:
        transport.close()


def push_to(
    repo: Repository,
    target: Path | str | Transport,
    branch: str = "main",
    *,
    force: bool = False,
    lease: bytes | None = None,
    dry_run: bool = False,
) -> PushResult:
    """Push one branch."""
    transport = target if not isinstance(target, (Path, str)) else connect(str(target))
    try:
        spec = PushSpec(HEADS + branch, repo.refs.read(HEADS + branch) or b"", force, lease)
        return push(repo, transport, "origin", [spec], dry_run=dry_run)
    finally:
        transport.close()


def assert_whole(repo: Repository) -> None:
    """Verification finds nothing, and nothing of a transfer is left."""
    report = verify(repo, repo.refs.head_oid())
    assert report.ok, report.damaged
    assert not list(repo.folder.glob("incoming-*"))
    assert not list(repo.folder.rglob("tmp-*"))


def head(repo: Repository) -> Commit:
    """The commit HEAD stands at."""
    oid = repo.refs.head_oid()
    assert oid is not None
    return repo.commit(oid)


__all__ = [
    "assert_whole", "change", "clone_to", "fetch_from", "head", "make_kb", "notes", "push_to",
]  # fmt: skip
