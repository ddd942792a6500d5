"""`arbor hook`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.identity import set_identity
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.showing.ripple_view import finding_lines, ripple_line
from arbor.cli.views import short
from arbor.errors import ArborError, NoKnowledgeBase
from arbor.repo.git import git_bridge, git_hooks

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase

FIELDS = {"hooks": "`name`, `state` (installed, absent, foreign), `chained`, `file` of each of git's hooks"}
_WARNINGS_SHOWN = 10
ACTIONS = ("install", "uninstall", "status", "run")


@arbor_command("hook", fields=FIELDS)
@click.argument("action", type=click.Choice(ACTIONS), metavar="install | uninstall | status | run")
@click.argument("name", required=False, metavar="[NAME]")
@click.argument("arguments", nargs=-1, metavar="[ARG]...")
@json_option
def command(
    session: Session, action: str, name: str | None, arguments: tuple[str, ...], as_json: bool
) -> None:
    """Let a git repository around the knowledge base bring it along.

      arbor hook install      put shims into git's hooks folder; others stay
      arbor hook uninstall    take them away again and put foreign hooks back
      arbor hook status       show which are there
      arbor hook run NAME     what the shims call

    pre-commit says which labels the staged notes would change and refuses what the policy blocks. The post-
    hooks bring the knowledge base to git's commit and always exit 0.
    """
    del arguments
    if action == "run":
        if as_json:
            raise click.UsageError("run tells people and git, and has no answer for --json")
        _run(session, name or "")
        return
    kb = session.open()
    fs_root = kb.repo.work_tree()
    states = {"install": git_hooks.install_hooks, "uninstall": git_hooks.uninstall_hooks,
              "status": git_hooks.hook_states}[action](fs_root)  # fmt: skip
    if as_json:
        rows = [
            {"name": s.name, "state": s.state, "chained": s.chained, "file": str(s.fs_path)} for s in states
        ]
        session.out.json("hook", {"hooks": rows})
        return
    for state in states:
        chained = "  (runs another hook first)" if state.chained and state.state == "installed" else ""
        session.out.line(f"{state.state:<10} {state.name}{chained}")


def _run(session: Session, name: str) -> None:
    """What a shim calls. Only pre-commit may stop git."""
    if name not in git_hooks.NAMES:
        raise click.UsageError(f"'{name}' is not a hook; the hooks are {', '.join(git_hooks.NAMES)}")
    kb = _open_here(session, name)
    if kb is None:
        return
    set_identity(kb)
    if name == "pre-commit":
        _pre_commit(session)
        return
    try:
        _follow(session)
    except (ArborError, OSError) as error:
        session.out.warning(f"the knowledge base was not brought along: {error}")


def _open_here(session: Session, name: str) -> KnowledgeBase | None:
    """The knowledge base of git's work tree; where it has none that is said once, before the commit.

    In a linked work tree the next knowledge base above may be that of another work tree, with other files.
    """
    main = git_bridge.main_work_tree(session.cwd)
    try:
        kb = session.open()
        if main is None or (kb.fs_root and git_bridge.git_top(kb.fs_root) == git_bridge.git_top(session.cwd)):
            return kb
    except NoKnowledgeBase as error:
        if main is None:
            session.out.warning(f"{error.message}: the {name} hook did nothing")
            return None
    if name == "pre-commit":
        session.out.warning(
            f"this work tree is linked to {clean_line(str(main))} and has no knowledge base: nothing was checked"
        )
        session.out.hint("a knowledge base of its own would be made by: arbor init")
    return None


def _pre_commit(session: Session) -> None:
    try:
        result = session.open().check_staged(progress=session.out.note)
    except OSError as error:
        session.out.warning(f"the staged notes could not be checked: {error}")
        return
    if result.ripple.origins:
        line = ripple_line(session, result.ripple)
        session.out.note(line)
        git_hooks.note_told(session.open().folder, line)
    for line in finding_lines(session, result.findings, _WARNINGS_SHOWN):
        session.out.note(line)
    if result.blocked:
        session.out.hint("commit all the same with: git commit --no-verify")
        raise click.exceptions.Exit(1)


def _follow(session: Session) -> None:
    kb = session.open()
    told = git_hooks.take_told(kb.folder)
    made = git_bridge.follow_git(kb.repo)
    if made is None:
        return
    ripple = kb.bring_up_to_date()
    session.out.note(f"arbor: [{clean_line(made.branch)} {short(made.oid.hex())}] {clean_line(made.message)}")
    if ripple is not None and ripple.origins and (line := ripple_line(session, ripple)) != told:
        session.out.note(line)
