"""Adding what is not in the folder: addresses, lists of them, and what other tools have written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arbor.cli.session import Session
from arbor.errors import UsageError
from arbor.repo.importing import git_sources, imports, sources
from arbor.repo.importing.fetching import Fetcher, FetchRules
from arbor.repo.repository import Repository
from arbor.repo.staging.adding import AddResult

_NOT_HERE = "an address begins with http://, https:// or git+file:///; a file is put into the folder first"


def add_from_afar(
    session: Session, addresses: Sequence[str], kinds: Mapping[str, str | None], rules: FetchRules, *, as_path: str,
    force: bool,
) -> AddResult:  # fmt: skip
    """Fetch or import everything that was named, as one add.

    Raises:
        UsageError: when an address is not one, or `--as` is given for several or a list.
        RemoteError: when the only address cannot be fetched.
    """
    repo = session.open().repo
    target = session.kb_path(as_path) if as_path else ""
    given = [name for name, value in kinds.items() if value]
    if target and (len(addresses) + len(given) != 1 or "feed" in given):
        raise UsageError("--as goes with one source, and a list of --feed may name a path for each")
    fetcher = Fetcher(rules)
    results = [
        _add_one(session, repo, address, fetcher, target, force, alone=len(addresses) == 1)
        for address in addresses
    ]
    results += [_import(session, repo, name, kinds[name] or "", fetcher, target, force) for name in given]
    return imports.join_results(results)


def _add_one(
    session: Session,
    repo: Repository,
    address: str,
    fetcher: Fetcher,
    target: str,
    force: bool,
    *,
    alone: bool,
) -> AddResult:
    if address.startswith(f"{git_sources.GIT_SCHEME}:"):
        with session.progress("importing") as progress:
            return imports.import_git(repo, address, prefix=target, overwrite=force, progress=progress).result
    if not address.lower().startswith(("http://", "https://")):
        if "://" in address:
            raise UsageError(f"'{address}' is no address that can be added", _NOT_HERE)
        raise UsageError(
            f"'{address}' cannot be added beside an address", "add the files of the folder by themselves"
        )
    if alone:
        done = sources.add_url(repo, address, fetcher, path=target, overwrite=force)
        session.out.note(f"fetched {session.shown(done.path)}")
        return done.result
    return _feed(session, repo, [(address, "")], fetcher, force)


def _feed(
    session: Session, repo: Repository, feed: list[tuple[str, str]], fetcher: Fetcher, force: bool
) -> AddResult:
    with session.progress("fetching") as progress:
        done, failed = sources.add_feed(repo, feed, fetcher, overwrite=force, progress=progress)
    return imports.join_results([*(each.result for each in done), AddResult(skipped=tuple(failed))])


def _import(
    session: Session, repo: Repository, name: str, value: str, fetcher: Fetcher, target: str, force: bool
) -> AddResult:
    fs_path = session.from_here(value)
    if name == "feed":
        try:
            text = session.read_file(value, "the addresses").decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(f"'{value}' is not UTF-8") from error
        return _feed(session, repo, sources.parse_feed(text), fetcher, force)
    run = imports.import_okf if name == "okf" else imports.import_mediawiki
    with session.progress("importing") as progress:
        return run(repo, fs_path, prefix=target, overwrite=force, progress=progress).result
