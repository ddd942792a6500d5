"""How a commit is written: the forms that git has names for, format strings, and the forms of dates."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

import click

from arbor.cli.command import option_group
from arbor.cli.output import Output
from arbor.cli.safe_text import clean, clean_line
from arbor.cli.views import Head, moment, read_head, short
from arbor.errors import UsageError
from arbor.lazy import lazy_module, lazy_pattern
from arbor.repo.commits.messages import split_message
from arbor.store.refs import HEADS, TAGS, short_name

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase
    from arbor.repo.commits import describing
    from arbor.repo.results import CommitInfo
else:
    describing = lazy_module("arbor.repo.commits.describing")

MEDIUM = "medium"
FORMS = ("oneline", "short", MEDIUM, "full", "fuller", "reference")
_ABBREVIATED = "--oneline"
"""The form that has no other name: as `oneline`, with short oids, refs and colours."""
_ONE_LINE = {"oneline": "%H %s", "reference": "%h (%s, %as)"}
_PREFIXES = ("format:", "tformat:")
_PLACEHOLDER = lazy_pattern(
    r"%(?:C\([^)]*\)|C(?:red|green|blue|reset)|x[0-9a-fA-F]{2}|[ac][nNeEdDtriIs]|[HhTtPpsbBdDn%])"
)
_UNKNOWN = lazy_pattern(
    r"%(?:<\||>\||[<>]\(|>>|w\(|\([a-z]|G[?GSKFPT]|g[dDnNeEs]|[+\- ][a-zA-Z]|[ac][lLh]|[NSme])"
)
"""What git fills in and arbor does not: it would stand in the answer as it is."""
_LETTERS = {
    "d": "",
    "D": "rfc",
    "t": "unix",
    "r": "relative",
    "i": "iso",
    "I": "iso-strict",
    "s": "short",
}
_DATE_FORMS = ("iso", "iso-strict", "short", "relative", "unix", "raw", "rfc")
_SAME_DATE_FORMS = {"default": "iso", "iso8601": "iso", "iso8601-strict": "iso-strict", "rfc2822": "rfc"}
_STRFTIME = "format:"
_DIRECTIVE = lazy_pattern(r"%[-_0^#]?[A-Za-z%]")
# Up to how many of a unit an age is told in it, as git tells ages; each unit holds so many of the one before.
_AGES = (("second", 90, 1), ("minute", 90, 60), ("hour", 36, 60), ("day", 14, 24))
_WEEKS_UNTIL_DAYS, _MONTHS_UNTIL_DAYS, _YEARS_UNTIL_DAYS = 70, 365, 1825


def _form(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A form by name, or a template, which begins with `format:` from here on."""
    if value is None or value in FORMS:
        return value
    if unknown := _UNKNOWN.search(_PLACEHOLDER.sub("", value)):
        known = "%H %h %T %t %P %p %s %b %B %d %D %n %x00, and %an %ae %ad %ai %at or %cn %ce and so on"
        raise UsageError(f"'{unknown[0]}' is not filled in here", f"there are {known}")
    for prefix in _PREFIXES:
        if value.startswith(prefix):
            return _PREFIXES[0] + value.removeprefix(prefix)
    if value and "%" not in value:
        raise UsageError(f"there is no format '{value}'", f"say {', '.join(FORMS)}, or a text with %h %an %s")
    return _PREFIXES[0] + value


def parse_date_form(value: str) -> str:
    """One of the forms that `date_text` knows; raises UsageError for another."""
    value = _SAME_DATE_FORMS.get(value, value)
    if value not in _DATE_FORMS and not value.startswith(_STRFTIME):
        raise UsageError(
            f"there is no date format '{value}'", f"say {', '.join(_DATE_FORMS)} or format:%Y-%m-%d"
        )
    return value


format_options = option_group(
    click.option("--format", "--pretty", "form", metavar="FORM", default=None, callback=_form,
                 help="oneline, short, medium, full, fuller, reference, or a text with %H %h %an %ae %ad %s %b %D and "
                      "more, as in git."),
    click.option("--date", "date_form", metavar="FORM", default="iso",
                 callback=lambda ctx, param, value: parse_date_form(value),
                 help="Show dates as iso, iso-strict, short, relative, unix, raw, rfc, or format:STRFTIME."),
)  # fmt: skip
"""How a commit is written."""


class CommitForm(NamedTuple):
    """How commits are written.

    Attributes:
        name: One of `FORMS`, or `format:` with a template.
        date: One of the forms of `--date`.
        head: Where HEAD stands.
        marks: Commit to the refs that stand there, as `%D` tells them; empty where they are not asked for.
        decorates: Whether the forms with a name show refs.
    """

    name: str
    date: str
    head: Head
    marks: Mapping[str, Sequence[str]]
    decorates: bool = True

    @property
    def template(self) -> str | None:
        """The template; None for a form of several lines."""
        if self.name.startswith(_PREFIXES[0]):
            return self.name.removeprefix(_PREFIXES[0])
        return _ONE_LINE.get(self.name)

    @property
    def is_compact(self) -> bool:
        """Whether no empty line stands between one commit and the next."""
        return self.template is not None or self.name == _ABBREVIATED

    @property
    def is_short(self) -> bool:
        """Whether what follows stands right below: where nothing, or one line in short, is written."""
        return self.template == "" or self.name == _ABBREVIATED

    def lines(self, out: Output, info: CommitInfo) -> list[str]:
        """What is written of a commit; nothing for an empty template."""
        if self.template == "":
            return []
        if self.name == _ABBREVIATED:
            names = decorations(out, info, self.head) if self.decorates else ""
            shown = f" ({names})" if names else ""
            return [f"{out.style(short(info.commit), 'yellow')}{shown} {clean_line(info.subject)}"]
        if self.template is not None:
            return self._filled(self.template, info).split("\n")
        return list(self._header(out, info))

    def _header(self, out: Output, info: CommitInfo) -> list[str]:
        """The lines that introduce a commit in the forms of several lines."""
        refs = decorations(out, info, self.head) if self.decorates else ""
        author = f"{clean_line(info.author)} <{clean_line(info.author_email)}>"
        committer = f"{clean_line(info.committer)} <{clean_line(info.committer_email)}>"
        lines = [out.style(f"commit {info.commit}", "yellow")]
        lines += [f"Refs:   {refs}"] if refs else []
        if len(info.parents) > 1:
            lines.append("Merge:  " + " ".join(map(short, info.parents)))
        written = date_text(info.author_time, info.author_offset, self.date)
        if self.name == "fuller":
            recorded = date_text(info.commit_time, info.commit_offset, self.date)
            lines += [f"Author:     {author}", f"AuthorDate: {written}"]
            lines += [f"Commit:     {committer}", f"CommitDate: {recorded}"]
        else:
            lines.append(f"Author: {author}")
            if self.name == "full" or (self.name == MEDIUM and committer != author):
                lines.append(f"Commit: {committer}")
            lines += [f"Date:   {written}"] if self.name == MEDIUM else []
        message = info.message.partition("\n\n")[0] if self.name == "short" else info.message
        return [*lines, "", *(f"    {line}".rstrip() for line in clean(message).rstrip("\n").split("\n"))]

    def _filled(self, template: str, info: CommitInfo) -> str:
        return _PLACEHOLDER.sub(lambda found: self._value(found[0][1:], info), template)

    def _value(self, name: str, info: CommitInfo) -> str:
        """What a placeholder stands for; colours stand for nothing."""
        if name[0] == "C":
            return ""
        if name[0] == "x":
            return chr(int(name[1:], 16))
        if len(name) == 2:
            return self._of_person(name, info)
        subject, body = split_message(info.message)
        names = ", ".join(self.marks.get(info.commit, ()))
        found = {
            "H": info.commit, "h": short(info.commit), "T": info.ledger_root, "t": short(info.ledger_root),
            "P": " ".join(info.parents), "p": " ".join(map(short, info.parents)), "s": clean_line(subject),
            "b": clean(body), "B": clean(info.message.strip("\n") + "\n") if info.message.strip("\n") else "",
            "D": clean_line(names), "d": f" ({clean_line(names)})" if names else "", "n": "\n", "%": "%",
        }  # fmt: skip
        return found[name]

    def _of_person(self, name: str, info: CommitInfo) -> str:
        is_author, what = name[0] == "a", name[1]
        if what in "nN":  # in capitals as a mail map of git has it, of which there is none here
            return clean_line(info.author if is_author else info.committer)
        if what in "eE":
            return clean_line(info.author_email if is_author else info.committer_email)
        seconds, offset = (
            (info.author_time, info.author_offset) if is_author else (info.commit_time, info.commit_offset)
        )
        return date_text(seconds, offset, _LETTERS[what] or self.date)


def commit_form(
    kb: KnowledgeBase, name: str | None, date: str, *, oneline: bool = False, decorate: bool = True
) -> CommitForm:
    """The form that was asked for; `--oneline` stands for one with short oids."""
    head = read_head(kb)
    form = CommitForm(name or (_ABBREVIATED if oneline else MEDIUM), date, head, {}, decorate)
    if form.template is None or not re.search("%[dD]", form.template):
        return form
    return form._replace(marks=_marks(kb, head))


def _marks(kb: KnowledgeBase, head: Head) -> dict[str, list[str]]:
    """The refs at each commit as git writes them for `%D`: HEAD first, then tags, remotes' branches, branches."""
    marks = {
        oid.hex(): [_mark(name) for name in reversed(names) if name != HEADS + head.branch]
        for oid, names in describing.full_ref_names(kb.repo).items()
    }
    if head.commit:
        marks.setdefault(head.commit, []).insert(0, f"HEAD -> {head.branch}" if head.branch else "HEAD")
    return marks


def _mark(name: str) -> str:
    return f"tag: {short_name(name)}" if name.startswith(TAGS) else short_name(name)


def decorations(out: Output, info: CommitInfo, head: Head) -> str:
    """`HEAD -> main, v1` for a commit where refs stand; "" for any other."""
    names = list(info.refs)
    if info.commit == head.commit:
        names = [name for name in names if name != head.branch]
        names.insert(0, f"HEAD -> {head.branch}" if head.branch else "HEAD")
    styles = ["cyan" if name.startswith("HEAD") else "green" for name in names]
    return ", ".join(out.style(clean_line(name), style) for name, style in zip(names, styles, strict=True))


def date_text(seconds: int, offset_minutes: int, form: str) -> str:
    """A time where it was written, in one of the forms of `--date`."""
    if form == "unix":
        return str(seconds)
    if form == "raw":
        sign, minutes = "-" if offset_minutes < 0 else "+", abs(offset_minutes)
        return f"{seconds} {sign}{minutes // 60:02}{minutes % 60:02}"
    if form == "relative":
        return age_text(int(time.time()) - seconds)
    whole = moment(seconds, offset_minutes)
    if form == "iso" or whole.startswith("@"):
        return whole
    if form == "short":
        return whole[:10]
    local = datetime.fromtimestamp(seconds, timezone(timedelta(minutes=offset_minutes)))
    if form == "iso-strict":
        return local.isoformat()
    if form == "rfc":
        return f"{local:%a}, {local.day} {local:%b %Y %H:%M:%S %z}"
    # Piece by piece: strftime refuses a whole text that holds a byte which is no character.
    return clean_line(_DIRECTIVE.sub(lambda found: local.strftime(found[0]), form.removeprefix(_STRFTIME)))


def age_text(age_s: int) -> str:
    """How long ago, in the units and with the rounding that git uses."""
    if age_s < 0:
        return "in the future"
    number = age_s
    for unit, below, size in _AGES:
        number = (number + size // 2) // size
        if number < below:
            return f"{_some(number, unit)} ago"
    days = number
    if days < _WEEKS_UNTIL_DAYS:
        return f"{_some((days + 3) // 7, 'week')} ago"
    if days < _MONTHS_UNTIL_DAYS:
        return f"{_some((days + 15) // 30, 'month')} ago"
    if days < _YEARS_UNTIL_DAYS:
        years, months = divmod((days * 24 + 365) // 730, 12)
        rest = f", {_some(months, 'month')}" if months else ""
        return f"{_some(years, 'year')}{rest} ago"
    return f"{_some((days + 183) // 365, 'year')} ago"


def _some(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"
