"""`arbor version`."""

from __future__ import annotations

import platform

from arbor import __version__
from arbor.cli.command import arbor_command, json_option
from arbor.cli.session import Session
from arbor.repo.repository import FORMAT

FIELDS = {
    "version": "of arbor",
    "format": "the format of knowledge bases that it makes",
    "python": "the Python that runs it",
}


@arbor_command("version", fields=FIELDS)
@json_option
def command(session: Session, as_json: bool) -> None:
    """Print the version."""
    fields = {"version": __version__, "format": FORMAT.strip(), "python": platform.python_version()}
    if as_json:
        session.out.json("version", fields)
    else:
        session.out.line(
            f"arbor {fields['version']} (format '{fields['format']}', Python {fields['python']})"
        )
