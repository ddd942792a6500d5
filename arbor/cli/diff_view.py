"""How differences look: as a patch, as bars, as status letters, as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from arbor.cli.output import Output
from arbor.cli.safe_text import cell_width, clean, clean_line, pad, quote_path, truncate_left
from arbor.cli.views import STATUS_STYLES, count, renamed

if TYPE_CHECKING:
    from arbor.repo.results import TextDiff

_FILE_MODE = "100644"  # a document has no mode of its own
_MIN_NAME_CELLS, _MAX_BAR_CELLS = 10, 40

CHANGE_FIELDS = {
    "status": "A added, M modified, D deleted, R renamed",
    "path": "where the document is",
    "old_path": "where it was before a rename; null else",
    "similarity": "percent of common bytes of a rename; null else",
    "added": "lines added; null where lines were not compared",
    "removed": "lines removed; null where lines were not compared",
    "diff": "the lines of a unified diff; null where lines were not compared",
}


def diff_fields(change: TextDiff, *, with_lines: bool, with_patch: bool = False) -> dict[str, Any]:
    """A difference for `--json`."""
    is_rename = change.status == "R"
    fields: dict[str, Any] = {
        "status": change.status,
        "path": change.path,
        "old_path": change.old_path if is_rename else None,
        "similarity": change.similarity if is_rename else None,
        "added": change.added if with_lines and not change.cold else None,
        "removed": change.removed if with_lines and not change.cold else None,
    }
    if with_patch:
        fields["diff"] = list(change.lines) if with_lines else None
    return fields


def patch_lines(out: Output, change: TextDiff) -> Iterator[str]:
    """A difference as a patch that `git apply` takes, renames too; what is yielded may be several lines."""
    old, new = quote_path(f"a/{change.old_path}"), quote_path(f"b/{change.path}")
    yield out.style(f"diff --git {old} {new}", "bold")
    if change.status == "A":
        yield out.style(f"new file mode {_FILE_MODE}", "bold")
    elif change.status == "D":
        yield out.style(f"deleted file mode {_FILE_MODE}", "bold")
    elif change.status == "R":
        yield out.style(f"similarity index {change.similarity}%", "bold")
        yield out.style(f"rename from {quote_path(change.old_path)}", "bold")
        yield out.style(f"rename to {quote_path(change.path)}", "bold")
    if out.shows_raw_text:
        if change.lines:
            yield "\n".join(change.lines)
        return
    for number, line in enumerate(change.lines):
        # Names are in the first two lines; a tab ends one that has spaces.
        shown = "\t".join(map(clean_line, line.split("\t"))) if number < 2 else clean(line)
        yield _patch_line(out, shown.replace("\r", "\u240d"), is_header=number < 2)


def _patch_line(out: Output, line: str, *, is_header: bool) -> str:
    if is_header and line.startswith(("--- ", "+++ ", "Binary ", "Documents ")):
        return out.style(line, "bold")
    if line.startswith("@@"):
        return out.style(line, "cyan")
    if line.startswith("+"):
        return out.style(line, "green")
    return out.style(line, "red") if line.startswith("-") else line


def name_lines(out: Output, changes: Sequence[TextDiff], names: str | None) -> Iterator[str]:
    """One line a document: the status letter and the path, or where `names` is "only" the path."""
    for change in changes:
        if names == "only":
            yield quote_path(change.path)
            continue
        letter = f"R{change.similarity}" if change.status == "R" else change.status
        name = renamed(change.old_path, change.path) if change.status == "R" else quote_path(change.path)
        yield f"{out.style(letter.ljust(4), STATUS_STYLES[change.status])} {name}"


def stat_lines(out: Output, changes: Sequence[TextDiff]) -> Iterator[str]:
    """One line a document with a bar of lines added and removed, and their sum."""
    if not changes:
        return
    names = [renamed(c.old_path, c.path) if c.status == "R" else quote_path(c.path) for c in changes]
    most = max(change.added + change.removed for change in changes)
    number_cells = max([len(f"{most:,}"), *(len("cold") for change in changes if change.cold)])
    free = out.width - number_cells - 6
    name_cells = min(max(map(cell_width, names)), max(free - _MAX_BAR_CELLS // 2, _MIN_NAME_CELLS))
    bar_cells = max(1, min(_MAX_BAR_CELLS, free - name_cells))
    for name, change in zip(names, changes, strict=True):
        total = "cold" if change.cold else f"{change.added + change.removed:,}"
        plus, minus = _bar(change.added, change.removed, most, bar_cells)
        bar = out.style("+" * plus, "green") * bool(plus) + out.style("-" * minus, "red") * bool(minus)
        shown = pad(truncate_left(name, name_cells), name_cells)
        yield f"{shown} | {total:>{number_cells}} {bar}".rstrip()
    added, removed = sum(c.added for c in changes), sum(c.removed for c in changes)
    parts = [count(len(changes), "document") + " changed"]
    parts += [count(added, "line") + " added"] if added else []
    parts += [count(removed, "line") + " removed"] if removed else []
    cold = sum(bool(c.cold) for c in changes)
    parts += [f"{cold:,} not compared: cold here"] if cold else []
    yield ", ".join(parts)


def _bar(added: int, removed: int, most: int, cells: int) -> tuple[int, int]:
    """Cells for each sign: one a line while that fits, else in proportion, and one at least for any line."""
    if most <= cells:
        return added, removed
    plus = max(1, round(added * cells / most)) if added else 0
    minus = max(1, round(removed * cells / most)) if removed else 0
    return plus, max(0, min(minus, cells - plus)) if minus > 1 else minus
