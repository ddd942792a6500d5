"""`arbor core`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from arbor.cli.arguments import has_documents
from arbor.cli.command import arbor_command, at_option, json_option
from arbor.cli.completing import DOCUMENT
from arbor.cli.safe_text import clean, clean_line, clean_words, quote_path, table_lines
from arbor.cli.session import Session
from arbor.cli.views import count, fact_line, moment, origin_fields, short
from arbor.errors import AnswerNo, IntegrityError, UsageError
from arbor.repo.snapshot import CORE_MARK

if TYPE_CHECKING:
    from arbor.repo.desk import TrustDesk
    from arbor.repo.distillation.core_check import CoreState
    from arbor.repo.distillation.cores import CoreInfo

FIELDS = {
    "cores": "`name`, `core` (its oid), `title`, `text`, `distiller`, `version`, `parameters`, `ledger_root`, and "
    "`sources`: the `path`, `document`, `index` and `leaf` of each passage, and whether the document has `changed` "
    "since",
    "states": "with check: `name`, `core`, `state` (`current`, `stale` or `broken`), `problem`, `again` (what making "
    "it again gave), and `changes`: the `path`, `what` became of it, where it is `now`, whether the "
    "`same_passages` are still in it, and the `commit` and `time` since which",
}
_SOURCE = re.compile(r"(?P<path>.+):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")
_STYLES = {"current": ("green",), "stale": ("yellow",), "broken": ("red", "bold")}


@arbor_command("core", fields=FIELDS)
@click.argument("action", default="list", type=click.Choice(["list", "add", "show", "check", "restore", "rm"]),
                metavar="[list | add | show | check | restore | rm]")  # fmt: skip
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--from", "sources", metavar="PATH[:LINES]", multiple=True, type=DOCUMENT,
              help="With add: what it comes from; a document, some of its lines (10-20), or core:NAME.")  # fmt: skip
@click.option("-m", "--text", metavar="TEXT", help="With add: what it says; from standard input without.")
@click.option("-F", "--file", metavar="FILE", help="With add: a file with what it says.")
@click.option("--title", metavar="TITLE", default="", help="With add: its title.")
@click.option("--by", metavar="WHO", default="", help="With add: the person or agent who wrote it.")
@click.option("--no-rerun", is_flag=True, help="With check: do not make distilled cores again.")
@at_option
@json_option
def command(session: Session, action: str, names: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Keep short texts that are bound to the passages they come from.

    A core is written by a person or an agent, or made by arbor distill. Check says whether it is
    current, stale (a source has changed: which, and since when) or broken. Restore stages a core as it is in
    the revision --at, HEAD without one: in a merge, this takes one of the two sides.

    For example:

      arbor core add haiku/dawn --from poems.md:10-12 --text "first light / ..."
      arbor core add digest --from a.md --from core:keywords/b.md < digest.md
      arbor core check
    """
    trust = session.open().trust
    if action == "check":
        return _check(session, trust, names, options, as_json=as_json)
    if action == "rm":
        if not names:
            raise UsageError("name the cores to remove", "run: arbor core rm NAME; arbor core lists them")
        for name in names:
            trust.remove_core(name)
        found: list[CoreInfo] = []
    elif action == "restore":
        if not names:
            raise UsageError("name the cores to restore", "run: arbor core restore NAME --at REV")
        found = [trust.restore_core(name, options["at"] or "HEAD") for name in names]
    elif action == "add":
        found = [_add(session, trust, names, options)]
    else:
        found = [trust.core(name, options["at"]) for name in names] if names else trust.cores(options["at"])
    if as_json:
        session.out.json("core", {"cores": [_core_fields(each) for each in found], "states": []})
    elif action == "list" and not names:
        _list(session, found)
    elif action != "rm":
        for each in found:
            _show(session, each)
    return 0


def _add(session: Session, trust: TrustDesk, names: tuple[str, ...], options: dict[str, Any]) -> CoreInfo:
    if len(names) != 1:
        raise UsageError("a core needs one name", "arbor core add NAME --from PATH --text TEXT")
    sources = [_source(session, text) for text in options["sources"]]
    text = _text(session, options["text"], options["file"])
    if not text.endswith("\n"):
        text += "\n"
    return trust.add_core(names[0], text, sources, title=options["title"], by=options["by"])


def _text(session: Session, typed: str | None, file: str | None) -> str:
    """What a core says; raises UsageError for bytes that are no UTF-8: nothing is put in the place of a letter."""
    if typed is not None and file is not None:
        raise UsageError("-m and -F cannot be used together")
    if typed is not None:
        return typed
    try:
        return session.read_file("-" if file is None else file, "the core's text").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("the core's text is not UTF-8", "iconv -t UTF-8 makes it so") from error


def _source(session: Session, text: str) -> tuple[str, int | None, int | None]:
    """A source as typed: a path or core, perhaps with lines; a document of exactly that name comes first."""
    kb = session.open()
    found = _SOURCE.fullmatch(text)
    whole = session.document_or_core(text)
    if found is None or (not text.startswith(CORE_MARK) and has_documents(kb, whole)):
        return whole, None, None
    first = int(found["first"])
    if found["last"] and int(found["last"]) < first:
        hint = f"write {found['path']}:{found['last']}-{first}"
        raise UsageError(f"the lines of '{text}' end before they begin", hint)
    return session.document_or_core(found["path"]), first, int(found["last"]) if found["last"] else first


def _core_fields(core: CoreInfo) -> dict[str, Any]:
    return {
        "name": core.name, "core": core.core, "title": core.title, "text": core.text, "distiller": core.distiller,
        "version": core.version, "parameters": dict(core.parameters), "ledger_root": core.ledger_root or None,
        "sources": [origin_fields(origin) for origin in core.sources],
    }  # fmt: skip


def _list(session: Session, found: list[CoreInfo]) -> None:
    rows = [[quote_path(each.name), clean_line(each.distiller),
             count(len(each.sources), "passage") + (", stale" if each.is_stale else ""), clean_words(each.title)]
            for each in found]  # fmt: skip
    with session.out.paged():
        for line in table_lines(rows):
            session.out.line(line)
    if not found:
        session.out.note("there are no cores")
        session.out.hint("arbor distill PATH --with keywords, or arbor core add NAME --from PATH")


def _show(session: Session, core: CoreInfo) -> None:
    out = session.out
    out.line(out.style(f"{CORE_MARK}{quote_path(core.name)}", "bold"))
    made = f"{core.distiller} version {core.version}" if core.distiller != "manual" else "written by hand"
    parameters = ", ".join(f"{key}={value}" for key, value in core.parameters.items())
    for label, value in (("core", core.core), ("title", clean_words(core.title)), ("made", clean_line(made)),
                         ("with", clean_line(parameters)), ("statistics", core.ledger_root)):  # fmt: skip
        if value:
            fact_line(out, label, value)
    for origin in core.sources:
        since = ", changed since" if origin.changed else ""
        passage = f"{short(origin.leaf.hex())} of {short(origin.document.hex())}"
        fact_line(out, "from", f"{session.shown(origin.path)} passage {origin.index} {passage}{since}")
    out.line()
    out.text(clean(core.text) + ("" if core.text.endswith("\n") else "\n"))


def _check(
    session: Session, trust: TrustDesk, names: tuple[str, ...], options: dict[str, Any], *, as_json: bool
) -> int:
    states = trust.check_cores(names, options["at"], rerun=not options["no_rerun"])
    if as_json:
        session.out.json("core", {"cores": [], "states": [_state_fields(state) for state in states]})
    else:
        for state in states:
            _show_state(session, state)
        if options["at"] is None and session.open().repo.stage().changes:
            session.out.note("checked as committed: what is staged counts with the next commit")
        totals = {name: sum(1 for state in states if state.state == name) for name in _STYLES}
        session.out.line(", ".join(f"{number:,} {name}" for name, number in totals.items()))
    if any(state.state == "broken" for state in states):
        return IntegrityError.exit_code
    return AnswerNo.exit_code if any(state.state == "stale" for state in states) else 0


def _state_fields(state: CoreState) -> dict[str, Any]:
    return {
        "name": state.name, "core": state.core, "state": state.state, "problem": state.problem or None,
        "again": state.again or None,
        "changes": [
            {"path": change.path, "what": change.what, "now": change.now or None,
             "same_passages": change.same_passages, "commit": change.commit or None,
             "time": moment(change.seconds, 0, iso=True) if change.commit else None}
            for change in state.changes
        ],
    }  # fmt: skip


def _show_state(session: Session, state: CoreState) -> None:
    out = session.out
    if state.again not in ("", "same", "differs"):
        out.note(f"{CORE_MARK}{quote_path(state.name)} was not made again: {clean_line(state.again)}")
    if state.state == "current":
        return
    problem = f": {clean_line(state.problem)}" if state.problem else ""
    out.line(f"{out.style(state.state, *_STYLES[state.state])} core:{quote_path(state.name)}{problem}")
    for change in state.changes:
        where = f" to {session.shown(change.now)}" if change.now else ""
        still = ", its passages are still there" if change.same_passages and change.what == "changed" else ""
        since = f" since {short(change.commit)} ({moment(change.seconds, 0)})" if change.commit else ""
        out.line(f"  {session.shown(change.path)} {change.what}{where}{since}{still}")
