"""`arbor commit`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from arbor.cli.arguments import known_documents
from arbor.cli.command import arbor_command, documents_argument, json_option, message_option, quiet_option
from arbor.cli.identity import set_identity
from arbor.cli.safe_text import clean_line, quote_path
from arbor.cli.session import Session
from arbor.cli.showing.add_view import report_skipped
from arbor.cli.showing.hooks_view import run_post_hook, run_pre_commit
from arbor.cli.showing.ripple_view import ripple_fields, ripple_line
from arbor.cli.views import STATUS_WORDS, change_fields, count, short, summary_of
from arbor.errors import ArborError, ConflictError, UsageError
from arbor.lazy import lazy_module
from arbor.repo.commits.moments import parse_moment
from arbor.repo.work_tree.selections import matcher_of
from arbor.repo.work_tree.status import staged_changes, tracked_files
from arbor.store.files import in_words

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase
    from arbor.objects.model import Signature
    from arbor.repo.commits import committing
    from arbor.repo.staging import adding
    from arbor.search.following import CommitResult
else:
    adding = lazy_module("arbor.repo.staging.adding")
    committing = lazy_module("arbor.repo.commits.committing")

FIELDS = {
    "commit": "oid of the new commit",
    "ledger_root": "Merkle root of everything it holds",
    "parent": "oid of the commit before; null for the first",
    "branch": "the branch that moved; null where HEAD is detached",
    "subject": "first paragraph of the message, on one line",
    "documents": "how many documents it holds",
    "changes": "what it changed: `status`, `path`, `old_path`",
    "index": "what became of the search index: updated, rebuilt, current or skipped",
    "ripple": "what the change meant for consensus; null where that was not computed",
    "warnings": "what could not be done after the commit was safe",
    "skipped": "with -a or PATH: what could not be staged, `path` and `reason`",
}
_TEMPLATE = """

# Why? The first line is the summary. Lines that start with # are left out;
# an empty message stops the commit.
#
# To be committed:
"""


@arbor_command("commit", fields=FIELDS)
@documents_argument()
@message_option("Why; several become paragraphs.")
@click.option(
    "-F",
    "--file",
    "message_file",
    metavar="FILE",
    help="Take the message from a file (- for standard input).",
)
@click.option(
    "-a", "--all", "everything", is_flag=True, help="First stage every change to tracked documents."
)
@click.option("--amend", is_flag=True, help="Replace the last commit instead of following it.")
@click.option("--allow-empty", is_flag=True, help="Commit even when nothing is staged.")
@click.option("--author", metavar="'NAME <EMAIL>'", help="Who wrote it, when that is somebody else.")
@click.option("--date", metavar="DATE",
              help="When it was written, when that is not now: 2026-01-31T10:00+01:00, yesterday.")  # fmt: skip
@click.option("-S", "--sign/--no-sign", default=None, help="Sign it with the key in sign.key, or not.")
@click.option("--no-edit", is_flag=True, help="Keep the message of the last commit, or of a merge, as it is.")
@click.option("-n", "--no-verify", is_flag=True, help="Do not run the pre-commit hook.")
@click.option("--no-index", is_flag=True, help="Leave the search index for the next search.")
@quiet_option
@json_option
def command(
    session: Session, paths: tuple[str, ...], message: str | None, message_file: str | None, everything: bool,
    amend: bool, allow_empty: bool, author: str | None, date: str | None, sign: bool | None,
    no_edit: bool, no_verify: bool, no_index: bool, as_json: bool,
) -> int:  # fmt: skip
    """Record what is staged; with PATH, only the tracked documents there, as their files are.

    What else is staged goes on waiting, and so does what is not tracked.

    Without -m or -F an editor opens (ARBOR_EDITOR, VISUAL or EDITOR). Who you are comes from
    ARBOR_AUTHOR_NAME and ARBOR_AUTHOR_EMAIL, then from the settings user.name and user.email.
    """
    kb = session.open()
    is_known = set_identity(kb)
    with contextlib.ExitStack() as until_committed:
        chosen = _chosen(session, kb, paths, everything=everything)
        staged = adding.AddResult()
        if everything or paths:
            staged = until_committed.enter_context(_staged(session, kb, chosen))
        code = report_skipped(session, staged, set(), quiet=as_json)
        if not no_verify:
            run_pre_commit(session)
        text = _message(session, kb, chosen, message, message_file, amend=amend, no_edit=no_edit)
        by = author if date is None else _dated(kb, author, date, amend=amend)
        index = not no_index and kb.config_get("core.index") is not False
        made = kb.commit(text, allow_empty=allow_empty, amend=amend, index=index, author=by, sign=sign,
                         paths=chosen)  # fmt: skip
    if not is_known:
        session.out.hint("say who you are; run: arbor config --global user.name 'Your Name' (and user.email)")
    for text in () if as_json else made.warnings:
        session.out.warning(text)
    run_post_hook(session, "post-commit")
    if as_json:
        _answer_json(session, made, staged.skipped)
    else:
        _answer(session, made)
    return code


def _dated(kb: KnowledgeBase, author: str | None, date: str, *, amend: bool) -> Signature:
    """Who wrote it, and when: the one who is named, who wrote the commit that is replaced, or the one at work."""
    zone = None
    try:
        at = datetime.fromisoformat(date)
        seconds, zone = int(at.timestamp()), at.utcoffset()
    except (ValueError, OverflowError):
        seconds = parse_moment(date)
    if seconds < 0:
        raise UsageError(f"'{date}' is before 1970, and times begin there", "write it into the document")
    who = kb.repo.who(seconds)
    if zone is not None:
        who = who._replace(offset_minutes=int(zone.total_seconds()) // 60)
    head = kb.repo.refs.head_oid() if amend else None
    if author is not None:
        name, email = committing.parse_author(author)
        return who._replace(name=name, email=email)
    if head is not None:
        before = kb.repo.commit(head).author
        return who._replace(name=before.name, email=before.email)
    return who


def _chosen(session: Session, kb: KnowledgeBase, paths: Sequence[str], *, everything: bool) -> list[str]:
    """The KB paths and globs that are to be committed alone; none where all that is staged is.

    Raises:
        UsageError: when nothing that is or was tracked is meant by one. ConflictError: while a merge or revert waits.
    """
    if not paths:
        return []
    if everything:
        raise UsageError("-a is every tracked document, and takes no paths", "leave out -a, or the paths")
    committing.part_of_stage(kb.repo, ())  # refuses before anything is staged
    known, chosen = known_documents(kb), [session.kb_path(path) for path in paths]
    for typed, path in zip(paths, chosen, strict=True):
        if path and not any(map(matcher_of([path]), known)):
            is_there = os.path.lexists(session.from_here(typed))
            hint = f"run first: arbor add {session.typed(path)}" if is_there else "a message goes after -m"
            raise UsageError(f"'{session.as_shown(typed)}' matches no tracked document", hint)
    return chosen


@contextlib.contextmanager
def _staged(session: Session, kb: KnowledgeBase, chosen: Sequence[str]) -> Iterator[adding.AddResult]:
    """Changes to tracked documents, all or those that are meant, are staged.

    When the block fails, what was staged before is so again.
    """
    marked = adding.marked_conflicts(kb.repo)
    if marked:
        raise ConflictError(
            f"'{marked[0]}' still holds conflict markers",
            "resolve it, or take it as it is: arbor add PATH",
        )
    before, head = kb.repo.stage(), kb.repo.refs.head_oid()
    # What is staged as removed is no longer tracked, and nothing is to be added of it.
    tracked = tracked_files(kb.repo, before) if chosen else ()
    there = [path for path in chosen if not path or any(map(matcher_of([path]), tracked))]
    with session.progress("adding") as progress:
        staged = adding.AddResult()
        if there or not chosen:
            staged = adding.add(kb.repo, there or [""], update=True, progress=progress)
    after = kb.repo.stage()
    try:
        yield staged
    except BaseException:
        with contextlib.suppress(ArborError):
            adding.stage_again(kb.repo, before, after, head)
        raise


def _message(
    session: Session, kb: KnowledgeBase, chosen: Sequence[str], message: str | None, message_file: str | None, *,
    amend: bool, no_edit: bool,
) -> str:  # fmt: skip
    if (message is not None) + (message_file is not None) + no_edit > 1:
        raise UsageError("-m, -F and --no-edit cannot be used together")
    if message is not None:
        return message
    if message_file is not None:
        return _read_message(session, message_file)
    before = kb.show("HEAD", with_text=False)[0].message if amend and kb.repo.refs.head_oid() else ""
    waiting = before or kb.repo.stage().message
    is_typed = (session.input_is_terminal and session.out.interactive) or os.environ.get("ARBOR_EDITOR")
    if no_edit or not is_typed:
        return waiting
    return _edit(kb, chosen, waiting)


def _read_message(session: Session, name: str) -> str:
    try:
        if name != "-":
            session.from_here(name).stat()
        data = session.read_file(name, "the message")
    except OSError as error:
        raise UsageError(f"the message file '{name}': {in_words(error)[0]}") from error
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"the message file '{name}' is not UTF-8") from error


def _edit(kb: KnowledgeBase, chosen: Sequence[str], message: str) -> str:
    part = committing.part_of_stage(kb.repo, chosen) if chosen else kb.repo.stage()
    changes = staged_changes(kb.repo, part)
    listed = [f"#   {STATUS_WORDS[change.status]}  {quote_path(change.path)}" for change in changes]
    text = message + _TEMPLATE + "\n".join(listed or ["#   (nothing is staged)"]) + "\n"
    editor = next(
        (os.environ[name] for name in ("ARBOR_EDITOR", "VISUAL", "EDITOR") if os.environ.get(name)), None
    )
    edited = click.edit(text, editor=editor, extension=".md", require_save=not message)
    lines = [line for line in (edited or "").split("\n") if not line.startswith("#")]
    written = "\n".join(lines).strip()
    if not written:
        raise UsageError("the commit message is empty, so nothing was committed")
    return written


def _answer_json(session: Session, made: CommitResult, skipped: Sequence[tuple[str, str]]) -> None:
    session.out.json("commit", {
        "commit": made.commit,
        "ledger_root": made.ledger_root,
        "parent": made.parent or None,
        "branch": made.branch or None,
        "subject": made.subject,
        "documents": made.documents,
        "changes": [change_fields(change) for change in made.changes],
        "index": made.index,
        "ripple": ripple_fields(made.ripple),
        "warnings": list(made.warnings),
        "skipped": [{"path": path, "reason": reason} for path, reason in skipped],
    })  # fmt: skip


def _answer(session: Session, made: CommitResult) -> None:
    out = session.out
    where = clean_line(made.branch) if made.branch else "detached HEAD"
    root = "" if made.parent else " (first commit)"
    oid = out.style(short(made.commit), "yellow")
    out.line(f"[{out.style(where, 'cyan')}{root} {oid}] {clean_line(made.subject)}")
    changed = summary_of(change.status for change in made.changes)
    out.line(f"  {changed or 'no document changed'}")
    out.line(f"  {count(made.documents, 'document')}, root {made.ledger_root}")
    if made.ripple is not None and made.ripple.origins:
        out.line(f"  {ripple_line(session, made.ripple)}")
    elif made.ripple is None and made.index != "skipped":
        out.note("the consensus waits until it is asked for; run: arbor consensus")
