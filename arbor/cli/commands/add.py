"""`arbor add`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, documents_argument, dry_run_option, json_option, quiet_option
from arbor.cli.completing import FILE
from arbor.cli.session import Session
from arbor.cli.sharing import proxies_at_hand
from arbor.cli.showing.add_view import report_skipped
from arbor.errors import UsageError
from arbor.lazy import lazy_module
from arbor.repo.staging.adding import AddResult

if TYPE_CHECKING:
    from arbor.cli import far_sources
    from arbor.repo.importing import fetching
else:
    far_sources = lazy_module("arbor.cli.far_sources")
    fetching = lazy_module("arbor.repo.importing.fetching")

FIELDS = {
    "dry_run": "whether nothing was changed",
    "added": "paths that are new",
    "modified": "paths whose content changed",
    "removed": "paths whose file is gone",
    "unchanged": "how many files were staged as they are already",
    "skipped": "what could not be added: `path` and `reason`",
    "warnings": "about what was added: `path` and `message`",
}
_DRY = {"added": "add", "modified": "update", "removed": "remove"}


@arbor_command("add", fields=FIELDS)
@documents_argument(metavar="[PATH]...", kind=FILE)
@click.option(
    "-u", "--update", is_flag=True, help="Only documents that are tracked already, removals included."
)
@click.option(
    "-A", "--all", "everything", is_flag=True, help="The whole knowledge base, wherever you are in it."
)
@click.option("-f", "--force", is_flag=True, help="Also files that are ignored or over the size limit.")
@dry_run_option
@click.option("-v", "--verbose", is_flag=True, help="List every path.")
@click.option(
    "--as",
    "as_path",
    metavar="PATH",
    help="The path for what standard input or an address holds, or the folder for what is imported.",
)
@click.option(
    "--feed", metavar="FILE", help="Fetch every address in a list, one a line, perhaps with a path."
)
@click.option("--okf", metavar="FOLDER", help="Import an Open Knowledge Format folder.")
@click.option("--mediawiki", metavar="FILE", help="Import the articles of a MediaWiki XML dump.")
@click.option("--private", is_flag=True, help="Addresses on private networks may be fetched.")
@click.option("--no-robots", is_flag=True, help="Do not ask robots.txt.")
@click.option(
    "--source-uri", default="", metavar="URI", help="With -: where it came from; kept with the document."
)
@quiet_option
@json_option
def command(
    session: Session, paths: tuple[str, ...], update: bool, everything: bool, force: bool, dry_run: bool,
    verbose: bool, as_path: str | None, feed: str | None, okf: str | None, mediawiki: str | None, private: bool,
    no_robots: bool, source_uri: str, as_json: bool,
) -> int:  # fmt: skip
    """Stage documents for the next commit.

    PATH is a file, a folder or a pattern ('*.md' also matches in folders); a file that is gone is staged as
    removed. What .gitignore and .arborignore name is left out. - reads one document from standard input.

      arbor add .                  everything here and below
      arbor add 'notes/*.md'       a pattern, quoted against the shell
      curl -s $URL | arbor add - --as clips/page.html --source-uri $URL
      arbor add https://example.org/page   fetch it, keep its bytes and address
      arbor add git+file:///src/notes@v1   the files of a git commit
    """
    kinds = {"feed": feed, "okf": okf, "mediawiki": mediawiki}
    is_far = any(kinds.values()) or any("://" in path for path in paths)
    if (private or no_robots) and not is_far:
        raise UsageError("--private and --no-robots are about addresses, and none is given")
    if is_far:
        if dry_run or update or everything or "-" in paths:
            raise UsageError("what comes from elsewhere is added by itself, without -n, -u, -A or -")
        if source_uri:
            raise UsageError("--source-uri belongs to -: what is fetched or imported has its own")
        rules = fetching.FetchRules(private=private, robots=not no_robots, proxies=proxies_at_hand())
        result = far_sources.add_from_afar(session, paths, kinds, rules, as_path=as_path or "", force=force)
        paths = ()
    elif "-" in paths:
        if len(paths) > 1 or update or everything or dry_run:
            raise UsageError(
                "- goes without -n, -u, -A and other paths: it adds one document from standard input"
            )
        result = _add_input(session, as_path, source_uri, force=force)
    elif as_path is not None or source_uri:
        raise UsageError("--as and --source-uri belong to -, which reads standard input")
    else:
        result = _add_files(
            session, paths, update=update, everything=everything, force=force, dry_run=dry_run
        )
    named = set() if "-" in paths else {session.kb_path(path) for path in paths}
    if as_json:
        _answer_json(session, result, dry_run)
    else:
        _answer(session, result, dry_run=dry_run, verbose=verbose)
    return report_skipped(session, result, named, quiet=as_json)


def _add_input(session: Session, as_path: str | None, source_uri: str, *, force: bool) -> AddResult:
    if as_path is None:
        raise UsageError("a document from standard input needs a path", "run: arbor add - --as notes/new.md")
    data = session.read_input("the document")
    kb = session.open()
    return kb.add_bytes(session.kb_path(as_path), data, source_uri=source_uri, overwrite=force)


def _add_files(
    session: Session, paths: tuple[str, ...], *, update: bool, everything: bool, force: bool, dry_run: bool
) -> AddResult:
    kb = session.open()
    cwd = session.cwd
    if not paths:
        if not (update or everything):
            raise UsageError("nothing to add was named", "run: arbor add . for everything here and below")
        paths, cwd = (".",), kb.repo.work_tree()
    with session.progress("adding") as progress:
        return kb.add(paths, update=update, force=force, dry_run=dry_run, cwd=cwd, progress=progress)


def _answer_json(session: Session, result: AddResult, dry_run: bool) -> None:
    session.out.json("add", {
        "dry_run": dry_run,
        "added": list(result.added),
        "modified": list(result.modified),
        "removed": list(result.removed),
        "unchanged": result.unchanged,
        "skipped": [{"path": path, "reason": reason} for path, reason in result.skipped],
        "warnings": [{"path": path, "message": message} for path, message in result.warnings],
    })  # fmt: skip


def _answer(session: Session, result: AddResult, *, dry_run: bool, verbose: bool) -> None:
    out = session.out
    groups = (("added", result.added), ("modified", result.modified), ("removed", result.removed))
    if dry_run or verbose:
        for path, verb in sorted((path, verb) for verb, paths in groups for path in paths):
            out.line(f"{_DRY[verb] if dry_run else verb}  {session.shown(path)}")
    parts = [f"{verb} {len(paths):,}" for verb, paths in groups if paths]
    parts += [f"unchanged {result.unchanged:,}"] if result.unchanged else []
    would = "would have " if dry_run and any(paths for _, paths in groups) else ""
    out.line(would + (", ".join(parts) or "nothing to add"))
