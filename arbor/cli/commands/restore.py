"""`arbor restore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, documents_argument, json_option, offline_option, quiet_option
from arbor.cli.completing import REVISION
from arbor.cli.on_demand import with_passages
from arbor.cli.session import Session
from arbor.cli.views import name_documents
from arbor.errors import ColdDocument, UsageError
from arbor.repo.commits.revisions import MERGE_HEAD

if TYPE_CHECKING:
    from arbor.repo.work_tree.restoring import RestoreResult

FIELDS = {
    "source": "the revision as given, of --ours and --theirs HEAD and MERGE_HEAD; null for the stage (or, with "
    "--staged, HEAD)",
    "staged": "whether the stage was changed",
    "worktree": "whether files were changed",
    "restored": "paths that were brought back or, where the source does not have them, removed",
}


@arbor_command("restore", fields=FIELDS)
@documents_argument(required=True, metavar="PATH...")
@click.option("-s", "--source", metavar="REV", type=REVISION, help="Take the versions of this revision.")
@click.option("--ours", "side", flag_value="HEAD", help="In a merge: the versions of the current branch.")
@click.option("--theirs", "side", flag_value=MERGE_HEAD, help="In a merge: the versions of what is merged.")
@click.option(
    "-S", "--staged", is_flag=True, help="Change what is staged (and not the files, unless -W is given)."
)
@click.option("-W", "--worktree", is_flag=True, help="Change the files (the default without -S).")
@offline_option
@quiet_option
@json_option
def command(
    session: Session, paths: tuple[str, ...], source: str | None, side: str | None, staged: bool, worktree: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Bring documents back to an earlier version.

    For example:

      arbor restore notes/a.md            undo edits that are not staged
      arbor restore --staged notes/a.md   out of the next commit, edits kept
      arbor restore -s HEAD~3 notes       files as they were three commits ago
      arbor restore --theirs notes/a.md   take one side of a conflict; then add it
    """
    files = worktree or not staged
    kb = session.open()
    if side is not None:
        if source is not None:
            raise UsageError("--ours and --theirs name a revision, as -s does", "choose one")
        if kb.repo.stage().in_progress == "revert":
            raise UsageError(
                "--ours and --theirs are sides of a merge, and a revert is in progress",
                "take what stands here with -s HEAD, or what was there before the undone commit with -s REV~1",
            )
        kb.resolve(MERGE_HEAD)  # both words mean something in a merge only
        source = side
    brought: set[str] = set()

    def restore() -> RestoreResult:
        try:
            return kb.restore(paths, source=source, staged=staged, worktree=files, cwd=session.cwd)
        except ColdDocument as cold:  # their files differ; bringing them back may write them already
            brought.update(path for path, _ in cold.documents)
            raise

    restored = sorted(brought.union(with_passages(session, restore).restored))
    out = session.out
    if as_json:
        out.json("restore", {"source": source, "staged": staged, "worktree": files, "restored": restored})
        return
    if not restored:
        out.note("there is nothing to restore")
    verb = "restored" if files else "unstaged"
    name_documents(out, verb, [*map(session.shown, restored)])
