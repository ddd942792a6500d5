"""`arbor prove`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from arbor import proofs
from arbor.cli.command import arbor_command, at_option, offline_option
from arbor.cli.completing import DOCUMENT, REVISION
from arbor.cli.on_demand import with_passages
from arbor.cli.session import Session
from arbor.errors import UsageError
from arbor.store.files import write_named

if TYPE_CHECKING:
    from arbor.objects.proofs import AnyProof


@arbor_command("prove")
@click.argument(
    "place", required=False, metavar="[PATH[:LINE | #PASSAGE] | core:NAME[#PASSAGE]]", type=DOCUMENT
)
@click.option(
    "--absent", metavar="PATH", help="Prove that the revision has no document there, or no core:NAME."
)
@click.option("--core", metavar="NAME[#PASSAGE]", help="Prove a core instead of a document.")
@click.option("--consistency", nargs=2, metavar="OLD NEW", type=REVISION,
              help="Prove that the history of NEW goes on from OLD.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", help="Write the proof to a file; - is standard output.")
@click.option("--format", "form", type=click.Choice(["json", "msgpack"]),
              help="json for people (the default), msgpack for machines.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@at_option
@offline_option
def command(
    session: Session, place: str | None, absent: str | None, core: str | None, consistency: tuple[str, str] | None,
    output: str | None, form: str | None, as_json: bool, at: str | None,
) -> None:  # fmt: skip
    """Write a proof that can be checked anywhere, without this knowledge base.

    For example:

      arbor prove notes/a.md:12             the passage with line 12 is in HEAD
      arbor prove notes/a.md --at v1        the whole file is in v1
      arbor prove core:gist#0               a passage of a core
      arbor prove --absent notes/b.md       HEAD has no such document
      arbor prove --consistency v1 main     main goes on from v1

    A passage that is cold is brought back from a remote that has it.

    Check it with: arbor verify --proof FILE --commit OID

    Ends with 1 where the answer is no: what --absent names is there, or NEW does not go on from OLD.
    """
    given = [name for name, value in (("PATH", place), ("--absent", absent), ("--core", core),
                                      ("--consistency", consistency)) if value]  # fmt: skip
    if len(given) != 1:
        raise UsageError("say what to prove: one of PATH, --absent, --core and --consistency")
    if consistency and at is not None:
        raise UsageError(
            "--consistency names its two revisions", "leave out --at: the second one is the newer"
        )
    if form == "msgpack" and as_json:
        raise UsageError("a proof has one form: json or msgpack")
    output = None if output == "-" else output
    proof = _make(session, place, absent, core, consistency, at)
    packed = form == "msgpack" or (form is None and not as_json and _is_binary(output))
    if packed and output is None and session.out.interactive:
        raise UsageError("msgpack is not for a terminal", "write it to a file with -o FILE")
    data = proofs.format_msgpack(proof) if packed else proofs.format_json(proof).encode("utf-8")
    if output is None:
        session.out.raw(data)
    else:
        write_named(session.from_here(output), data)


def _make(
    session: Session, place: str | None, absent: str | None, core: str | None,
    consistency: tuple[str, str] | None, at: str | None,
) -> AnyProof:  # fmt: skip
    trust = session.open().trust
    if consistency:
        return trust.prove_consistency(*consistency)
    if absent is not None:
        return trust.prove_absent(session.document_or_core(absent), at)
    if core is not None:
        return trust.prove(core, at, room="core")
    assert place is not None
    named = session.document_or_core(place)
    return with_passages(session, lambda: trust.prove(named, at))


def _is_binary(output: str | None) -> bool:
    """Whether a file's name asks for the machine's form."""
    return output is not None and Path(output).suffix.lower() in (".proof", ".msgpack", ".bin")
