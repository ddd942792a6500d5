"""`arbor evict`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from arbor.cli.byte_sources import fetching_options, open_places
from arbor.cli.command import arbor_command, documents_argument, dry_run_option, json_option
from arbor.cli.session import Session
from arbor.cli.views import MAX_LISTED, count, note_rest, size
from arbor.errors import AnswerNo, PartlyDone
from arbor.lazy import lazy_module
from arbor.repo.commits.moments import parse_age
from arbor.repo.config import parse_size

if TYPE_CHECKING:
    from arbor.repo.forgetting import tiering
    from arbor.repo.forgetting.evicting import Eviction, EvictReport
else:
    tiering = lazy_module("arbor.repo.forgetting.tiering")

FIELDS = {
    "tier": "`warm` or `cold`",
    "dry_run": "whether nothing was changed",
    "evicted": "the documents that went: `paths`, `document`, `size` in bytes, and the `copies` that were found",
    "refused": "those that did not, with the `problem`",
    "already": "paths of those that were in that tier or a colder one before",
    "lost": "paths of those that went by force although no copy was found",
    "dropped": "passages and pieces of originals that left the store",
    "shared": "those that stay, because a document that is not cold has them too",
    "freed_bytes": "how much smaller the packs are",
}


@arbor_command("evict", fields=FIELDS)
@documents_argument()
@click.option("--cold", "tier", flag_value="cold", default=True, help="Out of the store (the default).")
@click.option("--warm", "tier", flag_value="warm", help="Out of the search index only; nothing is dropped.")
@click.option("--history", is_flag=True, help="What only older versions hold, and no branch or stage.")
@click.option("--older-than", metavar="AGE", help="Not changed for so long: 90d, 12h, 2w, 1y.")
@click.option("--larger-than", metavar="SIZE", help="Larger files only: 1M.")
@click.option(
    "--label", metavar="LABEL", help="Only with this consensus label: novel, extended, corroborated."
)
@click.option("--to-fit", metavar="SIZE", help="Least lately changed first, until the packs fit into SIZE.")
@click.option("--from", "places", metavar="PLACE", multiple=True,
              help="A folder, bundle or remote that has copies; may be given again.")  # fmt: skip
@click.option("--copies", type=click.IntRange(min=1), default=1, show_default=True, metavar="NUM",
              help="How many different copies there must be now.")  # fmt: skip
@fetching_options
@click.option("-f", "--force", is_flag=True, help="Also documents without enough copies: they are lost.")
@dry_run_option
@json_option
def command(session: Session, paths: tuple[str, ...], as_json: bool, dry_run: bool, **options: Any) -> None:
    """Move documents to the cold tier: only their leaf hashes and source remain here.

    Nothing is dropped that could not be read elsewhere just now: behind the source URI, in a folder or
    bundle given with --from, or at a remote; the work tree's own file is no copy. Proofs, history and oids stay as
    they are, and arbor rehydrate brings the passages back.

    For example:

      arbor evict papers/ --from /mnt/archive      an archive has them too
      arbor evict --older-than 1y --copies 2 -n    what could go
      arbor evict drafts/ --warm                   out of searches only
      arbor evict --history --from origin          older versions too
    """
    kb = session.open()
    chosen = [session.kb_path(path) for path in paths]
    criteria = _criteria(session, options)
    trust = kb.trust
    places = open_places(
        session, options["places"], offline=options["offline"] or options["tier"] == "warm", private=options["private"],
        no_robots=options["no_robots"], as_copies=True, dry_run=dry_run,
    )  # fmt: skip
    with places as found, session.progress("checking copies") as progress:
        report = trust.evict(
            chosen, criteria, tier=options["tier"], history=options["history"], places=found.folders,
            others=found.others, fetch=found.fetch, copies=options["copies"], force=options["force"], dry_run=dry_run,
            progress=progress,
        )  # fmt: skip
    if as_json:
        session.out.json("evict", _fields(report, dry_run))
    else:
        _show(session, report, dry_run, options["copies"])
    if options["to_fit"] and not dry_run and not as_json:
        _say_if_too_large(session, parse_size(options["to_fit"]), more=bool(report.evicted))
    _end(report)


def _say_if_too_large(session: Session, limit: int, *, more: bool) -> None:
    """Say what holds the packs, which can be too large with everything evicted.

    What a document takes in them is an estimate: where some went and others are left, another run brings them nearer.
    """
    tiers = session.open().trust.tiers()
    if tiers.packed <= limit:
        return
    left = tiers.hot.documents + tiers.warm.documents
    older = tiers.past.documents - tiers.past_cold.documents
    holds = [f"{count(left, 'document')} not cold"] if left else []
    holds += [f"{older:,} of older versions"] if older else []
    holds.append("cores and what proves cold documents")
    session.out.warning(
        f"the packs still take {size(tiers.packed)}, more than {size(limit)}: they hold {', '.join(holds)}"
    )
    if left and more:
        session.out.hint("run it again: how much a document gives back was too high an estimate")
    if older:
        session.out.hint("older versions can go too: arbor evict --history")


def _criteria(session: Session, options: dict[str, Any]) -> tiering.Criteria | None:
    """What the options ask for; None where there is none."""
    if not any(options[name] for name in ("older_than", "larger_than", "label", "to_fit")):
        return None
    label = options["label"]
    among = None
    if label:
        among = frozenset(path for path, _ in session.open().standings(label=label))
    return tiering.Criteria(
        older_than_s=parse_age(options["older_than"]) if options["older_than"] else None,
        larger_than=parse_size(options["larger_than"]) if options["larger_than"] else None,
        to_fit=parse_size(options["to_fit"]) if options["to_fit"] else None,
        among=among,
    )


def _fields(report: EvictReport, dry_run: bool) -> dict[str, Any]:
    def fields(item: Eviction) -> dict[str, Any]:
        return {
            "paths": list(item.paths),
            "document": item.document,
            "size": item.size,
            "copies": list(item.copies),
        }

    return {
        "tier": report.tier, "dry_run": dry_run, "evicted": [fields(item) for item in report.evicted],
        "refused": [{**fields(item), "problem": item.problem} for item in report.refused],
        "already": [path for item in report.already for path in item.paths],
        "lost": [path for item in report.lost for path in item.paths], "dropped": report.dropped,
        "shared": report.shared, "freed_bytes": report.freed_bytes,
    }  # fmt: skip


def _show(session: Session, report: EvictReport, dry_run: bool, copies: int) -> None:
    out = session.out
    verb = "would go" if dry_run else "went"
    if dry_run or len(report.evicted) <= MAX_LISTED:
        for item in report.evicted:
            places = f", copies: {', '.join(item.copies)}" if item.copies else ""
            out.line(f"{report.tier} {', '.join(map(session.shown, item.paths))}{places}")
    total = sum(item.size for item in report.evicted)
    freed = f"; {size(report.freed_bytes)} of packs given back" if report.freed_bytes > 0 else ""
    out.line(
        f"{count(len(report.evicted), 'document')} ({size(total)}) {verb} to the {report.tier} tier{freed}"
    )
    if report.already:
        tier = "cold" if report.tier == "cold" else "warm or cold"
        out.note(f"{count(len(report.already), 'document')} of those chosen "
                 f"{'is' if len(report.already) == 1 else 'are'} {tier} already")  # fmt: skip
    for item in report.lost:
        named = ", ".join(map(session.shown, item.paths))
        out.warning(f"no copy of {named} was found: it {'would be' if dry_run else 'is'} lost")
    for item in report.evicted if report.tier == "cold" else ():
        if 0 < len(item.copies) < copies:
            out.warning(
                f"only {len(item.copies)} of {copies} copies of {session.shown(item.paths[0])} were found"
            )
    for item in report.refused[:MAX_LISTED]:
        out.note(f"kept {session.shown(item.paths[0])}: {item.problem}")
    note_rest(out, len(report.refused))


def _end(report: EvictReport) -> None:
    """Let the exit code say when something was kept back."""
    if report.refused:
        hint = "name a place that has them with --from PLACE, or lose them with --force"
        text = f"{count(len(report.refused), 'document')} stayed: not enough copies are elsewhere"
        raise (PartlyDone if report.evicted else AnswerNo)(text, hint)
