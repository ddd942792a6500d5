"""`arbor gc`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, dry_run_option, json_option, quiet_option
from arbor.cli.session import Session
from arbor.cli.views import count, short, size
from arbor.lazy import lazy_module
from arbor.repo.commits.moments import parse_age

if TYPE_CHECKING:
    from arbor.index import access
else:
    access = lazy_module("arbor.index.access")

FIELDS = {
    "dry_run": "whether nothing was changed; `dropped` is then what would go",
    "reachable": "objects that a name, a reflog or the stage needs",
    "waiting": "objects that nothing reaches and whose grace period runs",
    "dropped": "objects that went",
    "dropped_bytes": "their size, unpacked",
    "freed_bytes": "how much smaller the packs are",
    "packs": "how many packs there are now",
    "merged": "how many packs were merged",
    "damaged": "packs that were left alone because they cannot be read in full",
}


@arbor_command("gc", fields=FIELDS)
@click.option("--grace", metavar="AGE", default="14d", show_default=True,
              help="How long an object must have been unreachable: 14d, 12h.")  # fmt: skip
@click.option("--now", is_flag=True, help="No grace: only when no other command is at work.")
@dry_run_option
@quiet_option
@json_option
def command(session: Session, grace: str, now: bool, dry_run: bool, as_json: bool) -> None:
    """Drop what nothing reaches, after a grace period, and merge many packs into few.

    What a branch, tag, reflog or the stage leads to stays. The first run only notes what is
    unreachable; a run after the grace period drops what still is. What killed commands left
    half written goes too.
    """
    kb = session.open()
    report = kb.trust.gc(grace_s=0.0 if now else parse_age(grace), dry_run=dry_run)
    if not dry_run:
        access.remove_leftovers(kb.folder / "cache")
    out = session.out
    if as_json:
        names = ("reachable", "waiting", "dropped", "dropped_bytes", "freed_bytes", "packs", "merged")
        fields = {name: getattr(report, name) for name in names}
        out.json("gc", {"dry_run": dry_run, **fields, "damaged": list(report.damaged)})
        return
    verb = "would go" if dry_run else "dropped"
    out.line(f"{count(report.dropped, 'object')} {verb}, {report.waiting:,} in their grace period, "
             f"{report.reachable:,} needed")  # fmt: skip
    if not dry_run:
        merged = f", {report.merged} merged" if report.merged else ""
        freed = f"; {size(report.freed_bytes)} given back" if report.freed_bytes > 0 else ""
        out.line(f"{count(report.packs, 'pack')}{merged}{freed}")
    for name in report.damaged:
        out.warning(f"pack {short(name)} is damaged and was left alone")
        out.hint("arbor verify")
