"""`arbor reindex`."""

from __future__ import annotations

from arbor.cli.command import arbor_command, json_option, quiet_option
from arbor.cli.session import Session

FIELDS = {"seconds": "how long it took"}


@arbor_command("reindex", fields=FIELDS)
@quiet_option
@json_option
def command(session: Session, as_json: bool) -> None:
    """Rebuild the search index from the objects.

    The index is a cache: a search brings it up to date by itself, and deleting .arbor/cache loses nothing.
    A damaged consensus state is made anew as well.
    """
    seconds = session.open().reindex(progress=session.out.note)
    if as_json:
        session.out.json("reindex", {"seconds": round(seconds, 3)})
    else:
        session.out.line(f"rebuilt the search index in {seconds:.2f} s")
