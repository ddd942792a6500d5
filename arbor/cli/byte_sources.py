"""Where a command may look for documents' bytes: folders, bundles, remotes, and addresses on the web."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arbor.cli.command import option_group
from arbor.cli.session import Session
from arbor.cli.sharing import connect_options
from arbor.errors import UsageError
from arbor.lazy import lazy_module
from arbor.records import dataclass
from arbor.repo.forgetting.copies import ByteSource, Fetch

if TYPE_CHECKING:
    from arbor.remote import on_demand, remotes
    from arbor.repo.importing import fetching
else:
    on_demand = lazy_module("arbor.remote.on_demand")
    remotes = lazy_module("arbor.remote.remotes")
    fetching = lazy_module("arbor.repo.importing.fetching")


@dataclass(frozen=True, slots=True)
class Places:
    """What a command asks: folders, further sources, and a fetcher for the web; `None` asks nothing there."""

    folders: tuple[Path, ...]
    others: tuple[ByteSource, ...]
    fetch: Fetch | None


fetching_options = option_group(
    click.option("--offline", is_flag=True, help="Ask no remote that is not named, and nothing on the web."),
    click.option("--private", is_flag=True, help="Sources on private networks may be fetched."),
    click.option("--no-robots", is_flag=True, help="Do not ask robots.txt."),
)
"""What may be asked for bytes."""


@contextlib.contextmanager
def open_places(
    session: Session, named: Sequence[str], *, offline: bool, private: bool, no_robots: bool, as_copies: bool = False,
    dry_run: bool = False,
) -> Iterator[Places]:  # fmt: skip
    """The places that a person named and, unless `offline`, every remote and the web.

    Args:
        session: The run.
        named: Folders, bundle files, names of remotes, or addresses of knowledge bases.
        offline: Ask no remote that was not named, and nothing on the web.
        private: Addresses of private networks may be fetched.
        no_robots: Without asking `robots.txt`.
        as_copies: What they give is to be relied on, so none of them may be this knowledge base.
        dry_run: Nothing may be written to find that out.

    Raises:
        UsageError: when a name is none of these.
    """
    repo = session.open().repo
    folders: list[Path] = []
    addresses: list[tuple[str, str]] = []
    sound, wrong = remotes.read_remotes(repo)
    known = {remote.name: remote.url for remote in sound}
    for text in dict.fromkeys(named):
        fs_path = session.from_here(text)
        if text in wrong:
            raise wrong[text]
        if text in known:
            addresses.append((text, known.pop(text)))
        elif fs_path.is_dir():
            folders.append(fs_path)
        elif fs_path.is_file() or "://" in text:
            addresses.append((text, str(fs_path) if fs_path.is_file() else text))
        else:
            raise UsageError(f"'{text}' is no folder, bundle or remote", "run: arbor remote")
    if not offline:
        addresses += known.items()
        for name, fault in wrong.items():
            session.out.warning(f"remote '{name}' is not asked: {fault.message}")
    far: list[tuple[str, str]] = []
    for name, url in addresses:
        if session.from_here(url).is_dir():
            folders.append(session.from_here(url))
        else:
            far.append((name, url))
    fetch, connecting = None, connect_options(session)
    if not offline:
        rules = fetching.FetchRules(private=private, robots=not no_robots, proxies=connecting.proxies)
        fetch = fetching.make_fetch(rules)
    places = on_demand.FarPlaces(
        connecting, session.out.warning, repo if as_copies else None, dry_run=dry_run
    )
    try:
        yield Places(tuple(folders), tuple(places.source(name, url) for name, url in far), fetch)
    finally:
        places.close()
