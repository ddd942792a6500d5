"""`arbor log`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from arbor.cli.arguments import split_revisions
from arbor.cli.command import arbor_command, json_option, paths_after_dashes
from arbor.cli.completing import REVISION_OR_DOCUMENT
from arbor.cli.identity import set_identity
from arbor.cli.session import Session
from arbor.cli.showing.commit_format import CommitForm, commit_form, format_options
from arbor.cli.showing.diff_view import (
    ChangeForm,
    change_form,
    comparing_options,
    diff_fields,
    patch_lines,
    summary_lines,
    summary_options,
)
from arbor.cli.showing.graph_view import Lanes
from arbor.cli.views import COMMIT_FIELDS, commit_fields, count
from arbor.errors import UsageError
from arbor.lazy import lazy_module
from arbor.repo.commits import history, revisions
from arbor.repo.commits.moments import parse_moment
from arbor.store.refs import HEADS, REMOTES, TAGS

if TYPE_CHECKING:
    from arbor.cli.showing import signature_view
    from arbor.kb import KnowledgeBase
    from arbor.repo.commits import pickaxe
    from arbor.repo.results import CommitInfo, TextDiff
    from arbor.repo.trust.tag_seals import SealedTag
else:
    pickaxe = lazy_module("arbor.repo.commits.pickaxe")
    signature_view = lazy_module("arbor.cli.showing.signature_view")

_MOST_REVISIONS = 1000
_DAY, _DAY_S = re.compile(r"\d{4}-\d{2}-\d{2}"), 86_400

FIELDS = {
    "commits": "newest first, with --reverse oldest first; each with "
    + ", ".join(f"`{name}`" for name in COMMIT_FIELDS)
    + ", and with --stat, --numstat, --name-status or --patch its `changes`, with --checkpoint its `checkpoint` "
    "(`origin`, `size`, `log_root`, `note`), with --follow its `followed` "
    "(the path there, and the one before), with --show-signature its `signature` (`state`: good, bad, unknown or "
    "none, `signer`, `key`, `reason`) and the annotated `tags` that stand there (`name`, `tag`, `commit`, `message`, "
    "`tagger`, `seal`)"
}


@arbor_command("log", fields=FIELDS, splits_paths=True, number_option="-n")
@click.argument(
    "words", nargs=-1, metavar="[REV | ^REV | OLD..NEW]... [-- PATH...]", type=REVISION_OR_DOCUMENT
)
@click.option(
    "-n",
    "--max-count",
    "limit",
    type=click.IntRange(min=0),
    metavar="NUM",
    help="At most NUM commits; also -NUM.",
)
@click.option("--since", "--after", "since", metavar="DATE",
              help="Only commits of that time or later: 2026-01-31, 30d, yesterday.")  # fmt: skip
@click.option("--until", "--before", "until", metavar="DATE",
              help="Only commits of that time or earlier; a day counts to its end.")  # fmt: skip
@click.option("--author", "authors", multiple=True, metavar="REGEX",
              help="Only commits by an author whose name or address matches, one of several.")  # fmt: skip
@click.option("--grep", "greps", multiple=True, metavar="REGEX",
              help="Only commits whose message matches, one of several.")  # fmt: skip
@click.option(
    "-i", "--regexp-ignore-case", "any_case", is_flag=True, help="--author and --grep in capitals or not."
)
@click.option("-S", "text", metavar="TEXT", help="Only commits that change how often a document holds TEXT.")
@click.option("--merges/--no-merges", default=None, help="Only merges, or only commits that are none.")
@click.option(
    "--skip", type=click.IntRange(min=0), default=0, metavar="NUM", help="Leave out the first NUM of them."
)
@click.option("--all", "everywhere", is_flag=True, help="Also what other branches and tags lead to.")
@click.option("--follow", is_flag=True, help="Go on past the renames of the one document that is given.")
@click.option("--reverse", is_flag=True, help="The oldest of them first.")
@click.option("-p", "-u", "--patch", is_flag=True, help="Also the changed lines.")
@click.option("--oneline", is_flag=True, help="One line a commit.")
@click.option("--graph", is_flag=True, help="Draw lines of development beside the commits.")
@format_options
@click.option(
    "--decorate/--no-decorate", default=True, help="Show which branches and tags stand at a commit."
)
@click.option("--first-parent", is_flag=True, help="Of a merge, follow only the branch that it was made on.")
@click.option(
    "--branches", "kinds", flag_value=HEADS, multiple=True, help="Begin at all branches, and at the REVs."
)
@click.option("--tags", "kinds", flag_value=TAGS, multiple=True, help="Begin at all tags, and at the REVs.")
@click.option("--remotes", "kinds", flag_value=REMOTES, multiple=True,
              help="Begin at all remote-tracking branches, and at the REVs.")  # fmt: skip
@summary_options("Also")
@comparing_options
@click.option(
    "--checkpoint", is_flag=True, help="Only the size and root of the log that ends in REV (C2SP form)."
)
@click.option("--show-signature", is_flag=True, help="Also whether a commit is signed, and by whom.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, session: Session, words: tuple[str, ...], limit: int | None, since: str | None,
    until: str | None, text: str | None, follow: bool, everywhere: bool, kinds: tuple[str, ...],
    first_parent: bool, reverse: bool, patch: bool, oneline: bool, graph: bool, checkpoint: bool,
    show_signature: bool, merges: bool | None, skip: int, as_json: bool, **shape: Any,
) -> None:  # fmt: skip
    """Show the history, newest first.

    For example:

      arbor log --oneline -5       the last five commits
      arbor log -- notes/a.md      commits that changed a document (or '*.md')
      arbor log --since 30d -p     the last month, with the changed lines
      arbor log --follow -- a.md   also from before it was called so
      arbor log -S "dark matter"   when a text came in, or went
      arbor log --format='%h %as %an: %s' --date short   in a form of your own
      arbor log v1..main           what main has that v1 has not
      arbor log v1...main          what only one of them has
    """
    kb = session.open()
    most = 1 if checkpoint else _MOST_REVISIONS
    chosen = split_revisions(session, words, paths_after_dashes(ctx), most=most, excludes=True)
    paths = [session.kb_path(path) for path in chosen.paths]
    if checkpoint:
        if paths:
            raise UsageError("a checkpoint is of a whole history, not of some paths", "leave out the paths")
        revision = chosen.revisions[0] if chosen.revisions else ""
        _show_checkpoint(session, revision.rpartition("..")[2] or "HEAD", as_json=as_json)
        return
    axe = _pickaxe(kb, text)
    by, about = ([revisions.compile_pattern(typed, any_case=shape["any_case"]) for typed in shape[name]]
                 for name in ("authors", "greps"))  # fmt: skip
    chooses = _chooser(since, until, by, about, axe, paths, merges)
    form = _made_form(session, shape, paths, oneline=oneline, patch=patch, signatures=show_signature)
    commits = kb.log(_starts(kb, chosen.revisions, kinds), paths, follow=follow, everywhere=everywhere,
                     first_parent=first_parent)  # fmt: skip
    chosen_commits = filter(form.fits(kb), filter(chooses, commits))
    found: Iterable[CommitInfo] = history.at_most(islice(chosen_commits, skip, None), limit)
    if graph and (as_json or reverse):
        raise UsageError("--graph is for people, newest first", "leave out --graph: --json names the parents")
    if reverse:
        found = reversed(list(found))
    if as_json:
        session.out.json("log", {"commits": [_fields(session, info, form) for info in found]})
        return
    by_text = bool(since or until or by or about or axe or skip or shape["letters"] or merges is not None)
    with session.out.paged():
        if graph:
            _draw(session, found, form, has_choice=bool(paths) or by_text, first_parent=first_parent)
            return
        shown = _list(session, found, form)
    if axe is not None and axe.cold:
        session.out.note(f"not looked into, being cold here: {count(len(axe.cold), 'document')}")
    if not shown and limit != 0:
        _say_nothing_found(session, paths, chosen_by_text=by_text)


def _starts(kb: KnowledgeBase, revisions: Sequence[str], kinds: Sequence[str]) -> list[str] | None:
    """Where the log begins, and `^REV` of what it leaves out; None for HEAD."""
    refs = [name for kind in kinds for name in kb.repo.refs.iter_names(kind)]
    return [*revisions, *refs] if revisions or kinds else None


def _made_form(
    session: Session, shape: dict[str, Any], paths: Sequence[str], *, oneline: bool, patch: bool, signatures: bool
) -> _Form:  # fmt: skip
    """How commits are shown, from the options; `-U` without a summary asks for a patch, as in git."""
    written = commit_form(session.open(), shape["form"], shape["date_form"], oneline=oneline,
                          decorate=shape["decorate"])  # fmt: skip
    tags = signature_view.tags_by_commit(session) if signatures else {}
    patch = patch or (shape["context"] is not None and not shape["summary"])
    return _Form(written, change_form(shape, patch=patch), signatures, paths, tags)


def _show_checkpoint(session: Session, revision: str, *, as_json: bool) -> None:
    """The checkpoint as it is compared: origin, size, root, commit; signed where there is a key."""
    kb = session.open()
    trust = kb.trust
    found = trust.checkpoint(revision)
    set_identity(kb)  # whose name a signed one bears
    try:
        note = trust.checkpoint_note(revision)
    except UsageError as error:  # the key is for commits, and can sign these
        session.out.warning(f"the checkpoint is not signed: {error.message}")
        note = trust.checkpoint_note(revision, sign=False)
    if as_json:
        fields = {"origin": found.origin, "size": found.size, "log_root": found.log_root.hex(), "note": note}
        info = next(kb.log(revision, limit=1))
        session.out.json("log", {"commits": [{**commit_fields(info), "checkpoint": fields}]})
        return
    session.out.text(note)


class _Form(NamedTuple):
    """How commits are shown."""

    written: CommitForm
    changed: ChangeForm
    signatures: bool
    paths: Sequence[str]
    tags: Mapping[str, Sequence[SealedTag]]

    def changes(self, kb: KnowledgeBase, info: CommitInfo) -> tuple[TextDiff, ...]:
        """What a commit changed, of the documents that were asked for."""
        return self._changes(kb, info, with_lines=self.changed.with_lines)

    def fits(self, kb: KnowledgeBase) -> Callable[[CommitInfo], bool]:
        """Whether a commit has changes that `--diff-filter` lets pass; any does without it."""
        return lambda info: self.changed.letters is None or bool(self._changes(kb, info, with_lines=False))

    def _changes(self, kb: KnowledgeBase, info: CommitInfo, *, with_lines: bool) -> tuple[TextDiff, ...]:
        paths, how = info.followed or self.paths, self.changed
        return how.fitting(
            kb.show(info.commit, with_text=with_lines, paths=paths, comparing=how.comparing)[1]
        )


def _pickaxe(kb: KnowledgeBase, text: str | None) -> pickaxe.Pickaxe | None:
    if text == "":
        raise UsageError("there is no text to look for", "run: arbor log -S TEXT")
    return None if text is None else pickaxe.Pickaxe(kb.repo, text)


def _chooser(
    since: str | None, until: str | None, by: Sequence[re.Pattern[str]], about: Sequence[re.Pattern[str]],
    axe: pickaxe.Pickaxe | None, paths: Sequence[str], merges: bool | None,
) -> Callable[[CommitInfo], bool]:  # fmt: skip
    """Whether a commit is one of those that were asked for."""
    first = parse_moment(since) if since is not None else None
    last = parse_moment(until) if until is not None else None
    if last is not None and _DAY.fullmatch(until or ""):
        last += _DAY_S - 1

    def chooses(info: CommitInfo) -> bool:
        return (
            (first is None or info.commit_time >= first)
            and (last is None or info.commit_time <= last)
            and (not by or any(each.search(f"{info.author} <{info.author_email}>") for each in by))
            and (not about or any(each.search(info.message) for each in about))
            and (merges is None or merges == (len(info.parents) > 1))
            and (axe is None or axe.finds(info.commit, info.followed or paths))
        )

    return chooses


def _list(session: Session, found: Iterable[CommitInfo], form: _Form) -> int:
    """Show the commits; how many there were."""
    number = 0
    for number, info in enumerate(found, 1):
        if number > 1 and not form.written.is_compact:
            session.out.line()
        for line in _lines(session, info, form):
            session.out.line(line)
    return number


def _say_nothing_found(session: Session, paths: Sequence[str], *, chosen_by_text: bool) -> None:
    if paths and not chosen_by_text:
        named = ", ".join(map(session.shown, paths))
        session.out.note(f"no commit of this history touches {named}")
    elif paths or chosen_by_text:
        session.out.note("no commit of this history is like that")


def _draw(
    session: Session, found: Iterable[CommitInfo], form: _Form, *, has_choice: bool, first_parent: bool
) -> None:
    """The commits beside lanes; parents that are not shown end their lane."""
    if has_choice:
        raise UsageError(
            "--graph draws whole histories, not some commits of them",
            "leave out --graph, or what chooses among them",
        )
    infos = list(found)
    shown = {info.commit for info in infos}
    lanes = Lanes(ascii_only=not session.out.is_unicode)
    for number, info in enumerate(infos, 1):
        parents = info.parents[:1] if first_parent else info.parents
        first, rest, joins = lanes.take(info.commit, [parent for parent in parents if parent in shown])
        lines = list(_lines(session, info, form))
        if not form.written.is_compact and number < len(infos):
            lines.append("")
        for place, line in enumerate(lines):
            session.out.line(f"{rest if place else first}{line}".rstrip())
        for join in joins:
            session.out.line(join.rstrip())


def _fields(session: Session, info: CommitInfo, form: _Form) -> dict[str, Any]:
    fields, kb, changed = commit_fields(info), session.open(), form.changed
    if form.signatures:
        fields["signature"] = signature_view.signature_fields(session, info.commit)
        fields["tags"] = [signature_view.tag_fields(tag) for tag in form.tags.get(info.commit, ())]
    if info.followed:
        fields["followed"] = list(info.followed)
    if changed.summary or changed.patch:
        fields["changes"] = [
            diff_fields(change, with_lines=changed.with_lines, with_patch=changed.patch)
            for change in form.changes(kb, info)
        ]
    return fields


def _seals(session: Session, info: CommitInfo, form: _Form) -> list[str]:
    """What is known of the signatures of a commit and of the tags that stand there."""
    tags = [tag for tag in form.tags.get(info.commit, ()) if tag.seal.state != "none"]
    return [signature_view.signature_line(session, info.commit), *signature_view.tag_lines(session, tags)]


def _lines(session: Session, info: CommitInfo, form: _Form) -> Iterator[str]:
    """A commit, with what it changed where that was asked for."""
    out, written, changed = session.out, form.written, form.changed
    yield from written.lines(out, info)
    if form.signatures:
        for line in _seals(session, info, form):
            yield f"    {line}"
    if not (changed.summary or changed.patch):
        return
    changes = form.changes(session.open(), info)
    if changed.summary:
        if not written.is_short and (changes or written.template is None):
            yield ""
        margin = "" if written.template is not None else "  "
        for line in summary_lines(out, changes, changed.summary):
            yield f"{margin}{line}"
    for number, change in enumerate(changes if changed.patch else ()):
        if written.template is None or (written.template and not number):
            yield ""
        yield from patch_lines(out, change)
