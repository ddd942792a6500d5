"""`arbor diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arbor.cli.arguments import split_revisions
from arbor.cli.command import arbor_command, json_option, offline_option, paths_after_dashes
from arbor.cli.completing import REVISION
from arbor.cli.diff_view import CHANGE_FIELDS, diff_fields, name_lines, patch_lines, stat_lines
from arbor.cli.on_demand import with_texts
from arbor.cli.session import Session
from arbor.errors import UsageError

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase
    from arbor.repo.results import TextDiff

FIELDS = {
    "old": "the older side: a revision as typed, or `stage` or `HEAD`",
    "new": "the newer side: a revision as typed, `stage` or `files`",
    "changes": "each with " + ", ".join(f"`{name}`" for name in CHANGE_FIELDS),
}
EXIT_DIFFERS = 1


@arbor_command("diff", fields=FIELDS, splits_paths=True)
@click.argument("words", nargs=-1, metavar="[REV | OLD..NEW | OLD NEW] [-- PATH...]", type=REVISION)
@click.option("--staged", "--cached", "staged", is_flag=True, help="What is staged, against HEAD or REV.")
@click.option("--stat", is_flag=True, help="Only how many lines changed in which documents.")
@click.option("--name-status", "names", flag_value="status", help="Only which documents changed.")
@click.option("--name-only", "names", flag_value="only", help="Only which documents changed, and not how.")
@click.option("--exit-code", is_flag=True, help="End with 1 when anything differs.")
@click.option("-q", "--quiet", is_flag=True, help="Show nothing, and end with 1 when anything differs.")
@offline_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, session: Session, words: tuple[str, ...], staged: bool, stat: bool, names: str | None,
    exit_code: bool, quiet: bool, as_json: bool,
) -> int:  # fmt: skip
    """Show what differs, document by document, as a patch that git apply takes where files are UTF-8.

    For example:

      arbor diff                     the files against what is staged
      arbor diff --staged            what is staged against HEAD
      arbor diff HEAD~2              the files against a revision
      arbor diff v1..main -- notes   two revisions, below one folder
      arbor diff main...topic        what topic has done since it left main
    """
    kb = session.open()
    chosen = split_revisions(session, words, paths_after_dashes(ctx), most=2)
    old, new = _sides(kb, chosen.revisions, staged=staged)
    paths = [session.kb_path(path) for path in chosen.paths]

    def compare() -> tuple[TextDiff, ...]:
        return kb.diff(old, new, paths, staged=staged, with_text=not (names or quiet))

    changes = with_texts(session, compare(), compare)
    if quiet and not as_json:
        return EXIT_DIFFERS if changes else 0
    if as_json:
        fields = [
            diff_fields(change, with_lines=not (names or quiet), with_patch=not (stat or quiet))
            for change in changes
        ]
        left = old or ("HEAD" if staged else "stage")
        right = new or ("stage" if staged else "files")
        session.out.json("diff", {"old": left, "new": right, "changes": fields})
    elif not quiet:
        _show(session, changes, stat=stat, names=names)
    return EXIT_DIFFERS if (exit_code or quiet) and changes else 0


def _sides(kb: KnowledgeBase, revisions: tuple[str, ...], *, staged: bool) -> tuple[str | None, str | None]:
    old: str | None = revisions[0] if revisions else None
    new: str | None = revisions[1] if len(revisions) > 1 else None
    if old is not None and ".." in old:
        if new is not None:
            raise UsageError("a range and a revision cannot be compared", "give OLD..NEW, or OLD NEW")
        left, _, right = old.partition("..")
        old, new = left or "HEAD", right.removeprefix(".") or "HEAD"
        if right.startswith("."):
            old = kb.branches.merge_base(old, new)
    if staged and new is not None:
        raise UsageError("--staged compares the stage with one revision, not two")
    return old, new


def _show(session: Session, changes: tuple[TextDiff, ...], *, stat: bool, names: str | None) -> None:
    out = session.out
    with out.paged():
        if stat or names:
            for line in stat_lines(out, changes) if stat else name_lines(out, changes, names):
                out.line(line)
            return
        for change in changes:
            for line in patch_lines(out, change):
                out.line(line)
