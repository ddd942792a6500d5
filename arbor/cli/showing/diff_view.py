"""How differences look: as a patch, as bars, as status letters, as JSON."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from arbor.cli.command import F, option_group
from arbor.cli.output import Output
from arbor.cli.safe_text import cell_width, clean, clean_line, pad, quote_path, truncate_left
from arbor.cli.views import STATUS_STYLES, count, renamed
from arbor.errors import UsageError
from arbor.repo.commits.diffing import CONTEXT_LINES, Comparing

if TYPE_CHECKING:
    from arbor.repo.results import TextDiff

_FILE_MODE = "100644"  # a document has no mode of its own
_GIT_LETTERS = "ADMRUCTXB"  # the last four name what documents know nothing of: copies, types and the like
_WITH_LINES = frozenset(["stat", "numstat", "shortstat"])
_MIN_NAME_CELLS, _MAX_BAR_CELLS = 10, 40

CHANGE_FIELDS = {
    "status": "A added, M modified, D deleted, R renamed; U in conflict, where --diff-filter asks for it",
    "path": "where the document is",
    "old_path": "where it was before a rename; null else",
    "similarity": "percent of common bytes of a rename; null else",
    "added": "lines added; null where lines were not compared",
    "removed": "lines removed; null where lines were not compared",
    "diff": "the lines of a unified diff; null where lines were not compared",
}


def summary_options(before: str) -> Callable[[F], F]:
    """The options that sum changes up, as `summary`; `before` begins what the help says."""
    return option_group(
        *(
            click.option(option, "summary", flag_value=value, help=f"{before} {what}")
            for option, value, what in (
                ("--stat", "stat", "how many lines changed in which documents."),
                ("--shortstat", "shortstat", "the last line of --stat."),
                ("--numstat", "numstat",
                 "the same as numbers with tabs between, for scripts; - where lines were not compared."),
                ("--name-status", "status", "which documents changed."),
                ("--name-only", "only", "which documents changed, and not how."),
            )
        )
    )  # fmt: skip


patch_option = click.option("-p", "-u", "--patch", is_flag=True,
                            help="The changed lines, as without it; after --stat and other numbers too.")  # fmt: skip
"""For commands that show a patch unless they are asked for a summary."""


def _letters(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The letters of changes that count, each as `CHANGE_FIELDS` has it."""
    unknown = sorted(set(value or "") - set(_GIT_LETTERS + _GIT_LETTERS.lower()))
    if unknown or value == "":
        raise UsageError(
            f"no change is called '{''.join(unknown)}'", "say which of A, D, M, R and U: --diff-filter=AM"
        )
    if value is None:
        return None
    chosen = [letter for letter in value if letter.isupper()] or list(_GIT_LETTERS)
    return "".join(letter for letter in chosen if letter.lower() not in value)


comparing_options = option_group(
    click.option("-U", "--unified", "context", type=click.IntRange(min=0), metavar="NUM", default=None,
                 help="Show NUM lines around what changed.  [default: 3]"),
    click.option("-w", "--ignore-all-space", "spaces", flag_value="all", help="Ignore all white space in lines."),
    click.option("-b", "--ignore-space-change", "spaces", flag_value="change",
                 help="Ignore how much white space there is between words."),
    click.option("--ignore-space-at-eol", "spaces", flag_value="end", help="Ignore white space at line ends."),
    click.option("-M", "--find-renames/--no-renames", "renames", default=True,
                 help="Tell what was renamed as such, as without it; or as removed and added."),
    click.option("--diff-filter", "letters", metavar="LETTERS", default=None, callback=_letters,
                 help="Only what was A added, D deleted, M modified or R renamed, or U: is in conflict."),
)  # fmt: skip
"""How versions are compared, and which differences count."""


class ChangeForm(NamedTuple):
    """How a command shows what changed.

    Attributes:
        summary: Which of the `summary_options` was given, if any.
        patch: Whether the changed lines are shown.
        comparing: What the `comparing_options` said.
        letters: The statuses of the changes that count (`--diff-filter`); None where all do.
        nul: Whether a NUL byte ends each name of the summary.
    """

    summary: str | None
    patch: bool
    comparing: Comparing
    letters: str | None = None
    nul: bool = False

    @property
    def sums_lines(self) -> bool:
        """Whether the summary tells of lines, and not only of documents."""
        return self.summary in _WITH_LINES

    @property
    def with_lines(self) -> bool:
        """Whether lines are compared."""
        return self.patch or self.sums_lines

    def fitting(self, changes: Sequence[TextDiff]) -> tuple[TextDiff, ...]:
        """Those of the changes that count."""
        return tuple(change for change in changes if self.letters is None or change.status in self.letters)

    def lines(self, out: Output, changes: Sequence[TextDiff]) -> Iterator[str]:
        """The summary, and the patch."""
        if self.summary:
            yield from summary_lines(out, changes, self.summary)
            if self.patch and changes:
                yield ""
        for change in changes if self.patch else ():
            yield from patch_lines(out, change)

    def show(self, out: Output, changes: Sequence[TextDiff]) -> None:
        """Write the changes: lines, or with `nul` the records of the summary."""
        if self.summary and self.nul:
            out.raw(summary_records(changes, self.summary))
            return
        with out.paged():
            for line in self.lines(out, changes):
                out.line(line)


def change_form(given: Mapping[str, Any], *, patch: bool | None = None) -> ChangeForm:
    """The form that the `summary_options` and the `comparing_options` ask for.

    Without `patch`, changed lines are shown as the `patch_option` has it: where nothing else is asked for, or with `-p`
    after numbers, not names.

    Raises:
        UsageError: when `-z` is given for what is no list of names.
    """
    context = CONTEXT_LINES if given["context"] is None else given["context"]
    comparing = Comparing(context=context, spaces=given["spaces"] or "", renames=given["renames"])
    summary, nul = given["summary"], given.get("nul", False)
    if patch is None:
        patch = not summary or (given["patch"] and summary in _WITH_LINES)
    if nul and (patch or summary in ("stat", "shortstat")):
        raise UsageError("-z is for names alone", "give it with --name-only, --name-status or --numstat")
    return ChangeForm(summary, patch, comparing, given["letters"], nul)


def summary_lines(out: Output, changes: Sequence[TextDiff], summary: str | None) -> Iterator[str]:
    """What one of the `summary_options` shows."""
    if summary == "numstat":
        return _number_lines(changes)
    if summary in ("stat", "shortstat"):
        lines = list(stat_lines(out, changes))
        return iter(lines if summary == "stat" else lines[-1:])
    return name_lines(out, changes, summary)


def _number_lines(changes: Sequence[TextDiff]) -> Iterator[str]:
    for change in changes:
        named = _braced(change.old_path, change.path) if change.status == "R" else quote_path(change.path)
        yield "\t".join([*_numbers(change), named])


def _numbers(change: TextDiff) -> tuple[str, str]:
    """Lines added and removed, or dashes where there is a line instead that says why: binary, cold, or too long."""
    return ("-", "-") if len(change.lines) == 1 else (f"{change.added}", f"{change.removed}")


def _letter(change: TextDiff) -> str:
    return f"R{change.similarity}" if change.status == "R" else change.status


def _braced(old: str, new: str) -> str:
    """A rename as git's `--numstat` writes it: `notes/{a.md => b.md}`, with the folders that are the same told once."""
    if quote_path(old) != old or quote_path(new) != new:
        return f"{quote_path(old)} => {quote_path(new)}"
    start = posixpath.commonprefix([old, new]).rfind("/") + 1
    end = posixpath.commonprefix(
        [old[: max(start - 1, 0) - len(old) - 1 : -1], new[: max(start - 1, 0) - len(new) - 1 : -1]]
    )
    cut = end.rfind("/") + 1
    if not (start or cut):
        return f"{old} => {new}"
    middles = (name[start : max(start, len(name) - cut)] for name in (old, new))
    return f"{old[:start]}{{{' => '.join(middles)}}}{old[len(old) - cut :]}"


def summary_records(changes: Sequence[TextDiff], summary: str) -> bytes:
    """What `--name-only`, `--name-status` and `--numstat` show with `-z`: names as they are, a NUL byte after each."""
    fields: list[str] = []
    for change in changes:
        names = [change.old_path, change.path] if change.status == "R" else [change.path]
        if summary == "only":
            fields.append(change.path)
        elif summary == "status":
            fields += [_letter(change), *names]
        else:
            numbers = "\t".join(_numbers(change))
            fields += [f"{numbers}\t", *names] if change.status == "R" else [f"{numbers}\t{change.path}"]
    return "".join(f"{field}\0" for field in fields).encode("utf-8", "surrogateescape")


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
    """A difference as a patch that `git apply` takes where files are UTF-8, renames too.

    What is yielded may be several lines.
    """
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
    """One line a document: the status letter and the path with a tab between, or where `names` is "only" the path."""
    for change in changes:
        if names == "only":
            yield quote_path(change.path)
            continue
        paths = [change.old_path, change.path] if change.status == "R" else [change.path]
        yield "\t".join([out.style(_letter(change), STATUS_STYLES[change.status]), *map(quote_path, paths)])


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
