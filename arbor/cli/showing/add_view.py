"""What could not be added, said beside the answer of whatever adds: `arbor add` and `arbor commit -a`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arbor.cli.failures import EXIT_PARTLY
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import count
from arbor.errors import first_of

if TYPE_CHECKING:
    from arbor.repo.staging.adding import AddResult

# Found on a walk, these are no documents and nobody asked for them: they are counted, and the exit code stays
# 0.
_NO_DOCUMENTS = {
    "it is a symbolic link": ("symbolic link", "symbolic links"),
    "it is not a file": ("thing that is no file", "things that are no files"),
    "it is a knowledge base of its own": (
        "knowledge base inside this one",
        "knowledge bases inside this one",
    ),
}
_MAX_LISTED, _NAMED = 20, 3


def report_skipped(session: Session, result: AddResult, named: set[str], *, quiet: bool) -> int:
    """Say beside the answer what is not in it (a JSON answer holds it all); the exit code."""
    out = session.out
    failed = [
        entry for entry in result.skipped if entry[1] not in _NO_DOCUMENTS or entry[0].rstrip("/") in named
    ]
    if quiet:
        return EXIT_PARTLY if failed else 0
    for path, message in result.warnings[:_MAX_LISTED]:
        out.warning(f"{session.shown(path)}: {message}")
    if len(result.warnings) > _MAX_LISTED:
        out.warning(f"{len(result.warnings) - _MAX_LISTED:,} more warnings; --json lists them all")
    for path, reason in failed:
        out.warning(f"skipped {session.shown(path)}: {clean_line(reason)}")
    for reason, what in _NO_DOCUMENTS.items():
        passed = sorted(
            path for path, why in result.skipped if why == reason and path.rstrip("/") not in named
        )
        if passed:
            out.note(
                f"left out {count(len(passed), *what)}: {first_of([*map(session.shown, passed)], _NAMED)}"
            )
    return EXIT_PARTLY if failed else 0
