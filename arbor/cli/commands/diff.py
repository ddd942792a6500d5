"""`arbor diff`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from arbor.cli.arguments import Selection, find_place, is_range, split_revisions
from arbor.cli.command import arbor_command, json_option, offline_option, paths_after_dashes
from arbor.cli.completing import REVISION_OR_DOCUMENT
from arbor.cli.on_demand import with_texts
from arbor.cli.session import Session
from arbor.cli.showing.diff_view import (
    CHANGE_FIELDS,
    change_form,
    comparing_options,
    diff_fields,
    patch_option,
    summary_options,
)
from arbor.errors import UsageError
from arbor.repo.commits import describing
from arbor.repo.commits.revisions import is_symmetric, split_range
from arbor.repo.results import TextDiff
from arbor.repo.work_tree.selections import matcher_of

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase

FIELDS = {
    "old": "the older side: a revision as typed, or `stage` or `HEAD`",
    "new": "the newer side: a revision as typed, `stage` or `files`",
    "changes": "each with " + ", ".join(f"`{name}`" for name in CHANGE_FIELDS),
}
EXIT_DIFFERS = 1


@arbor_command("diff", fields=FIELDS, splits_paths=True)
@click.argument(
    "words", nargs=-1, metavar="[REV | OLD..NEW | OLD NEW] [-- PATH...]", type=REVISION_OR_DOCUMENT
)
@click.option("--staged", "--cached", "staged", is_flag=True, help="What is staged, against HEAD or REV.")
@summary_options("Only")
@comparing_options
@patch_option
@click.option("-z", "nul", is_flag=True,
              help="With --name-only, --name-status or --numstat: a NUL byte after each name, and no quoting.",
)  # fmt: skip
@click.option("-R", "reverse", is_flag=True, help="The other way round: from the newer side to the older.")
@click.option("--exit-code", is_flag=True, help="End with 1 when anything differs.")
@click.option("-q", "--quiet", is_flag=True, help="Show nothing, and end with 1 when anything differs.")
@offline_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, session: Session, words: tuple[str, ...], staged: bool, reverse: bool,
    exit_code: bool, quiet: bool, as_json: bool, **shape: Any,
) -> int:  # fmt: skip
    """Show what differs, document by document, as a patch that git apply takes where files are UTF-8.

    For example:

      arbor diff                     the files against what is staged
      arbor diff --staged            what is staged against HEAD
      arbor diff HEAD~2              the files against a revision
      arbor diff v1..main -- notes   two revisions, below one folder
      arbor diff main...topic        what topic has done since it left main
      arbor diff HEAD~2:a.md HEAD:b.md   two documents, whatever they are called
    """
    kb, form = session.open(), change_form(shape)
    two = None if staged else _two_documents(session, words, paths_after_dashes(ctx))
    chosen = Selection(words, ()) if two else split_revisions(session, words, paths_after_dashes(ctx), most=2)
    old, new = words if two else _sides(kb, chosen.revisions, staged=staged)
    paths = [session.kb_path(path) for path in chosen.paths]

    with_lines = bool(form.comparing.spaces) or (form.with_lines and not quiet)

    def compare() -> tuple[TextDiff, ...]:
        how = replace(form.comparing, text=with_lines, reverse=reverse)
        if two:
            return describing.diff_documents(kb.repo, *two, how)
        return kb.diff(old, new, paths, staged=staged, with_text=with_lines, comparing=how)

    found = with_texts(session, compare(), compare)
    changes = form.fitting(found)
    if "U" in (form.letters or "") and not (staged or two or new):
        changes = _with_conflicts(kb, changes, found, paths)
    if quiet and not as_json:
        return EXIT_DIFFERS if changes else 0
    if as_json:
        with_patch = not quiet and (form.patch or not form.sums_lines)
        fields = [diff_fields(change, with_lines=with_lines, with_patch=with_patch) for change in changes]
        left = old or ("HEAD" if staged else "stage")
        right = new or ("stage" if staged else "files")
        left, right = (right, left) if reverse else (left, right)
        session.out.json("diff", {"old": left, "new": right, "changes": fields})
    elif not quiet:
        form.show(session.out, changes)
    return EXIT_DIFFERS if (exit_code or quiet) and changes else 0


def _with_conflicts(
    kb: KnowledgeBase, changes: Sequence[TextDiff], found: Sequence[TextDiff], paths: Sequence[str]
) -> tuple[TextDiff, ...]:
    """The changes, and of documents in conflict those as U, also where the file is as it was before the merge."""
    wanted = matcher_of(paths)
    at = {change.path: change for change in found}
    chosen = {change.path: change for change in changes}
    for path in kb.repo.stage().documents_in_conflict:
        if wanted(path):
            chosen[path] = replace(at.get(path) or TextDiff("U", path, path, 0, (), 0, 0), status="U")
    return tuple(chosen[path] for path in sorted(chosen))


def _two_documents(
    session: Session, words: Sequence[str], after_dashes: Sequence[str] | None
) -> tuple[tuple[str, bytes], tuple[str, bytes]] | None:
    """The path and oid of each of two documents that are named with their revisions; None where others are meant."""
    kb = session.open()
    named = [word for word in words if ":" in word.strip(":") and not is_range(kb, word)]
    if after_dashes is not None or not named or (kb.fs_root and os.path.lexists(session.from_here(named[0]))):
        return None
    places = [find_place(session, word) for word in named]
    if any(place.revision is None for place in places):  # a path that holds a colon
        return None
    if len(words) != 2 or len(places) != 2:
        raise UsageError(f"'{named[0]}' is one document, and two are compared",
                         f"run: arbor diff {places[0].revision} -- {session.typed(places[0].path)}")  # fmt: skip
    old, new = ((place.path, kb.snapshot(place.revision).get(place.path)) for place in places)
    return old, new


def _sides(kb: KnowledgeBase, revisions: tuple[str, ...], *, staged: bool) -> tuple[str | None, str | None]:
    old: str | None = revisions[0] if revisions else None
    new: str | None = revisions[1] if len(revisions) > 1 else None
    if old is not None and (sides := split_range(old)):
        if new is not None:
            raise UsageError("a range and a revision cannot be compared", "give OLD..NEW, or OLD NEW")
        old, new = sides if not is_symmetric(old) else (kb.branches.merge_base(*sides), sides[1])
    if staged and new is not None:
        raise UsageError("--staged compares the stage with one revision, not two")
    return old, new
