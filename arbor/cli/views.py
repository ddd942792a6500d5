"""How commits, dates, sizes and counts look in more than one command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from arbor.cli.output import Output
from arbor.cli.safe_text import quote_path

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase
    from arbor.repo.distillation.core_binding import CoreOrigin
    from arbor.repo.results import CommitInfo, LinkInfo
    from arbor.repo.work_tree.status import PathChange

SHORT_OID = 12
MAX_LISTED = 10
"""Commands name so many documents; of more they say how many."""

STATUS_WORDS = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed", "U": "in conflict"}
STATUS_STYLES = {"A": "green", "M": "yellow", "D": "red", "R": "cyan", "U": "red"}
LABEL_STYLES = {"NOVEL": "magenta", "EXTENDED": "cyan", "CORROBORATED": "green"}
_LABEL_CELLS = 12
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def short(oid: str) -> str:
    """The first digits of an oid."""
    return oid[:SHORT_OID]


def count(number: int, one: str, many: str = "") -> str:
    """`1 document`, `12,345 documents`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: int) -> str:
    """Bytes in the largest unit that keeps three digits: `812 bytes`, `1.4 MiB`."""
    value, unit = float(number), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{number} byte{'' if number == 1 else 's'}" if unit == 0 else f"{value:.3g} {_UNITS[unit]}"


def moment(seconds: int, offset_minutes: int, *, iso: bool = False) -> str:
    """A time where it was written: `2026-01-31 10:00:00 +0100`, or ISO 8601 for machines."""
    try:
        local = datetime.fromtimestamp(seconds, timezone(timedelta(minutes=offset_minutes)))
    except (ValueError, OverflowError, OSError):
        return f"@{seconds}"
    return local.isoformat() if iso else local.strftime("%Y-%m-%d %H:%M:%S %z")


def verify_fields(*, ok: bool, **told: Any) -> dict[str, Any]:
    """The answer of `verify --json`; what this way of asking does not tell is null or empty."""
    untold: dict[str, Any] = {"commit": None, "ledger_root": None, "checked": {}, "damaged": [], "proof": None,
              "signatures": None, "checkpoint": None}  # fmt: skip
    return {"ok": ok, **untold, **told}


def commit_fields(info: CommitInfo) -> dict[str, Any]:
    """A commit for `--json`."""
    return {
        "commit": info.commit,
        "ledger_root": info.ledger_root,
        "parents": list(info.parents),
        "author": {"name": info.author, "email": info.author_email,
                   "time": moment(info.author_time, info.author_offset, iso=True)},
        "committer": {"name": info.committer, "email": info.committer_email,
                      "time": moment(info.commit_time, info.commit_offset, iso=True)},
        "subject": info.subject,
        "message": info.message,
        "refs": list(info.refs),
        "signed": info.signed,
    }  # fmt: skip


COMMIT_FIELDS = {
    "commit": "oid of the commit",
    "ledger_root": "Merkle root of what it holds",
    "parents": "oids of the commits before it",
    "author": "`name`, `email` and `time` (ISO 8601) of who wrote it",
    "committer": "`name`, `email` and `time` of who recorded it",
    "subject": "first paragraph of the message, on one line",
    "message": "the whole message",
    "refs": "branches and tags that stand here",
    "signed": "whether it carries a signature",
}


def change_fields(change: PathChange) -> dict[str, Any]:
    """A path that differs, for `--json`."""
    return {"status": change.status, "path": change.path, "old_path": change.old_path or None}


class Head(NamedTuple):
    """Where HEAD stands: the branch it follows ("" where it is detached) and its commit ("" before the first)."""

    branch: str
    commit: str


def read_head(kb: KnowledgeBase) -> Head:
    """Where HEAD stands now."""
    oid = kb.repo.refs.head_oid()
    return Head(kb.repo.refs.current_branch(), oid.hex() if oid else "")


def ahead_behind(numbers: tuple[int, int], form: str = "{0:,} {1}") -> str:
    """`2 ahead, 1 behind`, or each number and word in another form; "" where a branch is neither."""
    told = zip(numbers, ("ahead", "behind"), strict=True)
    return ", ".join(form.format(number, word) for number, word in told if number)


def renamed(old: str, new: str) -> str:
    """`old -> new`, each quoted where it must be."""
    return f"{quote_path(old)} -> {quote_path(new)}"


def summary_of(statuses: Iterable[str]) -> str:
    """`2 added, 1 modified` from status letters, in the order of `STATUS_WORDS`; "" where there are none."""
    found = list(statuses)
    parts = [f"{found.count(letter):,} {word}" for letter, word in STATUS_WORDS.items() if letter in found]
    return ", ".join(parts)


def name_documents(out: Output, verb: str, names: Sequence[str], *, every: bool = False) -> None:
    """What was done to documents, one on each line; how many they are where that would be long, unless `every`."""
    if every or len(names) <= MAX_LISTED:
        for name in names:
            out.line(f"{verb} {name}")
    else:
        out.line(f"{verb} {count(len(names), 'document')}")


def note_rest(out: Output, total: int, what: str = "more") -> None:
    """How many were not named of so many, where only the first `MAX_LISTED` were."""
    if total > MAX_LISTED:
        out.note(f"and {total - MAX_LISTED:,} {what}; --json names them")


def fact_line(out: Output, label: str, value: str) -> None:
    """One thing that is known of what is shown, below its name."""
    out.line(f"  {out.style(label.ljust(_LABEL_CELLS), 'cyan')}{value}")


def origin_fields(origin: CoreOrigin) -> dict[str, Any]:
    """A passage that a core was made from, for `--json`."""
    return {
        "path": origin.path,
        "document": origin.document.hex(),
        "index": origin.index,
        "leaf": origin.leaf.hex(),
        "changed": origin.changed,
    }


def link_fields(link: LinkInfo) -> dict[str, Any]:
    """A link for `--json`."""
    return {"line": link.line, "kind": link.kind, "relation": link.relation, "target": link.target,
            "anchor": link.anchor or None, "text": link.text}  # fmt: skip
