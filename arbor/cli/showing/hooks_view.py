"""Local hooks as the terminal runs them: what they write goes to standard error."""

from __future__ import annotations

from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.repo.git import hooks


def run_post_hook(session: Session, name: str, *arguments: str) -> None:
    """Run a hook after the act; it cannot undo it, so a failure is a warning."""
    kb = session.open()
    outcome = hooks.run_hook(kb.folder, kb.fs_root, name, arguments)
    _tell(session, outcome.output)
    if outcome.exit_code:
        session.out.warning(f"the {name} hook ended with exit code {outcome.exit_code}")


def run_pre_commit(session: Session) -> None:
    """Run the pre-commit hook; raises ConflictError when it refuses."""
    kb = session.open()
    _tell(session, hooks.require_pre_commit(kb.folder, kb.fs_root))


def _tell(session: Session, output: str) -> None:
    for line in output.splitlines():
        session.out.note(clean_line(line))
