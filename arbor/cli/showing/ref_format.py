"""How branches and tags are written in a form of one's own, with the words of `git for-each-ref`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from arbor.cli.safe_text import clean, clean_line
from arbor.cli.showing.commit_format import date_text, parse_date_form
from arbor.cli.views import ahead_behind, short
from arbor.errors import UsageError
from arbor.objects.ids import Kind
from arbor.objects.model import Commit, Signature, Tag, decode_tag
from arbor.repo.commits.messages import split_message
from arbor.repo.commits.upstreams import count_ahead_behind, is_gone, told_upstream
from arbor.store.refs import HEADS, REMOTES, short_name

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase

FIELDS = (
    "refname", "objectname", "objecttype", "HEAD", "upstream", "subject", "body", "contents", "authorname",
    "authoremail", "authordate", "committername", "committeremail", "committerdate", "taggername",
    "taggeremail", "taggerdate", "creatordate",
)  # fmt: skip
_FIELD = re.compile(r"%\((?P<name>\*?\w+)(?::(?P<how>[^)]*))?\)|%(?P<digits>[0-9a-fA-F]{2})|%%")
_WITH_KINDS = {"refname": r"short|l?strip=-?\d+", "objectname": r"short(=\d+)?", "upstream": "short|track",
               "contents": "subject|body"}  # fmt: skip


def _checked(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse a field that is none, which would be printed as it is."""
    for field in re.findall(r"%\([^)]*\)?", value or ""):
        found = _FIELD.fullmatch(field)
        name, how = (found["name"], found["how"]) if found else ("", None)
        is_date = name.endswith("date")
        if name not in (*FIELDS, "*objectname") or not (
            how is None or is_date or re.fullmatch(_WITH_KINDS.get(name.lstrip("*"), "(?!)"), how)
        ):
            raise UsageError(f"there is no field '{field}'", f"say one of {', '.join(FIELDS)}")
        if is_date and how is not None:
            parse_date_form(how)
    return value


ref_format_option = click.option(
    "--format", "form", metavar="FORM", default=None, callback=_checked,
    help="List each as a text with %(refname:short) %(objectname) %(subject) and more, as in git.",
)  # fmt: skip


class _Ref(NamedTuple):
    """A branch or tag, with what it stands at."""

    name: str
    oid: bytes
    commit: Commit
    tag: Tag | None
    commit_oid: bytes
    is_current: bool


def ref_lines(kb: KnowledgeBase, names: Iterable[str], form: str) -> Iterator[str]:
    """Each of the refs, by their full names, in the form."""
    current = kb.repo.refs.head()
    for name in names:
        oid = kb.repo.refs.read(name)
        if oid is None:  # the current branch before its first commit
            continue
        kind, data = kb.repo.store.get(oid)
        tag = decode_tag(data, trusted=True) if kind == Kind.TAG else None
        commit_oid = kb.resolve(name)
        ref = _Ref(name, oid, kb.repo.commit(commit_oid), tag, commit_oid, name == current)
        yield _FIELD.sub(lambda found, ref=ref: _value(kb, ref, found), form)  # type: ignore[misc]


def _value(kb: KnowledgeBase, ref: _Ref, found: re.Match[str]) -> str:
    name, how = found["name"], found["how"] or ""
    if name is None:
        return chr(int(found["digits"], 16)) if found["digits"] else "%"
    if name.endswith(("name", "email", "date")) and name not in ("refname", "objectname", "*objectname"):
        return _of_person(ref, name, how)
    if name == "upstream":
        return _upstream(kb, ref, how)
    if name == "refname":
        return clean_line(_name(ref.name, how))
    if name.endswith("objectname"):
        oid = ref.oid if name == "objectname" else ref.commit_oid if ref.tag else b""
        return _digits(oid.hex(), how)
    if name == "HEAD":
        return "*" if ref.is_current else " "
    if name == "objecttype":
        return "tag" if ref.tag else "commit"
    message = ref.tag.message if ref.tag else ref.commit.message
    subject, body = split_message(message)
    what = how or name
    if what == "contents":
        return clean(message.strip("\n") + "\n")
    return clean_line(subject) if what == "subject" else clean(body)


def _name(name: str, how: str) -> str:
    if how == "short":
        return short_name(name)
    if how:  # lstrip=2 leaves the first two parts out, lstrip=-1 leaves the last one
        parts, number = name.split("/"), int(how.partition("=")[2])
        return "/".join(parts[number if number < 0 else min(number, len(parts)) :])
    return name


def _digits(oid: str, how: str) -> str:
    if not how:
        return oid
    return oid[: int(how.partition("=")[2])] if "=" in how else short(oid)


def _of_person(ref: _Ref, name: str, how: str) -> str:
    """Name, address or time of who wrote, committed or tagged; nothing where nobody did."""
    who: Signature | None
    if name == "creatordate":
        who = ref.tag.tagger if ref.tag else ref.commit.committer
    elif name.startswith("tagger"):
        who = ref.tag.tagger if ref.tag else None
    else:
        who = None if ref.tag else ref.commit.author if name.startswith("author") else ref.commit.committer
    if who is None:
        return ""
    if name.endswith("date"):
        return date_text(who.seconds, who.offset_minutes, parse_date_form(how or "iso"))
    return clean_line(f"<{who.email}>" if name.endswith("email") else who.name)


def _upstream(kb: KnowledgeBase, ref: _Ref, how: str) -> str:
    follows = told_upstream(kb.repo, ref.name.removeprefix(HEADS)) if ref.name.startswith(HEADS) else ""
    if not follows or how == "short":
        return clean_line(follows)
    if how != "track":
        return clean_line(REMOTES + follows)
    if is_gone(kb.repo, follows):
        return "[gone]"
    told = ahead_behind(count_ahead_behind(kb.repo, ref.commit_oid, follows), "{1} {0}")
    return f"[{told}]" if told else ""
