"""`arbor tier`."""

from __future__ import annotations

from arbor.cli.command import arbor_command, at_option, documents_argument, json_option
from arbor.cli.safe_text import table_lines
from arbor.cli.session import Session
from arbor.cli.views import count, size

FIELDS = {
    "tiers": "`hot`, `warm` and `cold`, each with `documents` and the `size` of their files in bytes",
    "packed_bytes": "what all packs take on the disk, history included",
    "folder_bytes": "what the whole `.arbor` folder takes, packs and caches among it",
    "cache_bytes": "what its caches take, the search index above all; they are made anew when they are needed",
    "history": "without PATH: how many `documents` of which `size` only older versions hold, neither a branch nor the "
    "stage; and `cold_documents` and `cold_size`, how much of that is cold",
    "documents": "with PATH: `path`, `tier`, `size`, `here` and `passages`: how many of its passages are stored",
}


@arbor_command("tier", fields=FIELDS)
@documents_argument()
@at_option
@json_option
def command(session: Session, paths: tuple[str, ...], at: str | None, as_json: bool) -> None:
    """Show how much is hot (stored and indexed), warm (stored) and cold (elsewhere).

    With PATH each document is shown with its tier.
    """
    trust = session.open().trust
    report = trust.tiers([session.kb_path(path) for path in paths], at)
    tiers = {"hot": report.hot, "warm": report.warm, "cold": report.cold}
    if as_json:
        session.out.json("tier", {
            "tiers": {name: {"documents": tier.documents, "size": tier.size} for name, tier in tiers.items()},
            "packed_bytes": report.packed,
            "folder_bytes": report.folder,
            "cache_bytes": report.cache,
            "history": {"documents": report.past.documents, "size": report.past.size,
                        "cold_documents": report.past_cold.documents, "cold_size": report.past_cold.size},
            "documents": [
                {"path": path, "tier": tier, "size": bytes_, "here": here, "passages": passages}
                for path, tier, bytes_, here, passages in report.rows
            ],
        })  # fmt: skip
        return
    with session.out.paged():
        for path, tier, bytes_, here, passages in report.rows:
            part = f"  {here} of {count(passages, 'passage')} here" if tier == "cold" and here else ""
            session.out.line(f"{tier:5} {size(bytes_):>10}  {session.shown(path)}{part}")
        if not report.rows:
            rows = [
                [name, count(tier.documents, "document"), size(tier.size)] for name, tier in tiers.items()
            ]
            for line in table_lines(rows):
                session.out.line(line)
            if report.past.documents:
                cold = f", {report.past_cold.documents:,} of them cold" if report.past_cold.documents else ""
                what = f"{count(report.past.documents, 'document')} ({size(report.past.size)})"
                session.out.line(f"older versions hold {what} more{cold}")
            session.out.line(f"packs take {size(report.packed)}, caches {size(report.cache)}, the whole .arbor folder "
                             f"{size(report.folder)}")  # fmt: skip
