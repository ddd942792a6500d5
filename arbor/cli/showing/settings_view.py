"""Saying what is wrong with the settings where a command goes on without them."""

from __future__ import annotations

from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session


def warn_of_settings(session: Session) -> None:
    """Name each setting that has no value of its kind, with its file and line."""
    for fault in session.open().repo.settings.faults():
        session.out.warning(clean_line(fault))
