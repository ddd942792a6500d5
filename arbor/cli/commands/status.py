"""`arbor status`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from arbor.cli.command import arbor_command, documents_argument, json_option
from arbor.cli.output import Output
from arbor.cli.safe_text import clean_line, quote_path
from arbor.cli.session import Session
from arbor.cli.views import STATUS_STYLES, STATUS_WORDS, ahead_behind, change_fields, count, short
from arbor.errors import IntegrityError, UsageError
from arbor.lazy import lazy_module
from arbor.repo.config import POLICY_FILE, parse_tables
from arbor.repo.stage import what_resolves
from arbor.repo.work_tree.selections import lies_at, matcher_of
from arbor.repo.work_tree.status import PathChange, Status, list_ignored
from arbor.store.files import MAX_STATE_BYTES, read_bounded

if TYPE_CHECKING:
    from arbor.search import policy_check
else:
    policy_check = lazy_module("arbor.search.policy_check")

FIELDS = {
    "top": "the folder of the documents, from which paths are written; null for a bare knowledge base",
    "branch": "the current branch; null where HEAD is detached",
    "head": "oid of the current commit; null before the first",
    "clean": "whether nothing differs and nothing is untracked",
    "merging": "whether a merge waits for its commit",
    "reverting": "whether a revert waits for its commit",
    "interrupted": "the command that was moving files when it was interrupted; null for none",
    "upstream": "what the branch follows, `name`, and how many commits it is `ahead` and `behind` of what was last "
    "seen there (null where it is `gone`: removed there, or never pushed); null where it follows nothing",
    "staged": "what the next commit changes: `status` (A, M, D, R), `path`, `old_path` of a rename",
    "unstaged": "files that differ from what is staged: `status` (M, D, U), `path`, `old_path`",
    "untracked": "files, and folders with a slash at the end, that are not tracked",
    "ignored": "with --ignored, files and folders that ignore files leave out; else null",
    "skipped": "what cannot be tracked: `path` and `reason`",
}
_MAX_SKIPPED = 5


@arbor_command("status", fields=FIELDS,
               joined_options={"-u": "-uall", "--untracked-files": "--untracked-files=all",
                               "--porcelain": "--porcelain=v1"})  # fmt: skip
@documents_argument()
@click.option("-s", "--short", "as_short", is_flag=True, help="One line a path: XY PATH, as git status -s.")
@click.option("--porcelain", is_flag=False, flag_value="v1", type=click.Choice(["v1", "1"]), metavar="[=v1]",
              help="As --short, stable for scripts: no colour, paths from the top.")  # fmt: skip
@click.option("-b", "--branch", "with_branch", is_flag=True,
              help="With --short or --porcelain: first a line for the branch, as git status -sb.")  # fmt: skip
@click.option("--long", "as_long", is_flag=True, help="In sentences, as without it.")
@click.option("-u", "--untracked-files", "untracked", is_flag=False, flag_value="all", default="normal",
              type=click.Choice(["no", "normal", "all"]), metavar="[=no|normal|all]",
              help="Of what is not tracked: nothing (-uno), folders as wholes, or each file (-uall, or just -u).",
)  # fmt: skip
@click.option(
    "-z", "nul", is_flag=True, help="As --porcelain, with a NUL byte after each path and no quoting."
)
@click.option("--ignored", is_flag=True, help="Also what the rules of ignore files leave out.")
@json_option
def command(
    session: Session,
    paths: tuple[str, ...],
    as_short: bool,
    porcelain: str | None,
    with_branch: bool,
    as_long: bool,
    untracked: str,
    nul: bool,
    ignored: bool,
    as_json: bool,
) -> None:
    """Show what is staged, what has changed since, and what is not tracked; all, or at and below PATH.

    In --short and --porcelain, X is the stage against HEAD and Y the files against the stage: A added,
    M modified, D deleted, R renamed, U in conflict, ?? untracked, !! ignored.
    """
    if nul and as_long:
        raise UsageError("-z is for a list of paths, and --long is in sentences", "leave out one of the two")
    kb, each = session.open(), untracked == "all"
    repo, state = kb.repo, kb.status(each_untracked=each)
    left_out = list_ignored(repo, each=each) if ignored else []
    if untracked == "no":
        state = replace(state, untracked=(), skipped=())
    if paths:
        wanted = [session.kb_path(path) for path in paths]
        state, left_out = _at(state, wanted), _of(left_out, wanted)
    if as_json:
        session.out.json("status", {
            "top": str(repo.fs_root) if repo.fs_root else None,
            "branch": state.branch or None, "head": state.head or None, "clean": state.clean,
            "merging": state.merging, "reverting": state.reverting, "interrupted": state.interrupted or None,
            "upstream": _upstream_fields(state),
            "staged": [change_fields(change) for change in state.staged],
            "unstaged": [change_fields(change) for change in state.unstaged],
            "untracked": list(state.untracked), "ignored": left_out if ignored else None,
            "skipped": [{"path": path, "reason": reason} for path, reason in state.skipped],
        })  # fmt: skip
    elif porcelain or nul or (as_short and not as_long):
        if with_branch:
            session.out.raw(f"## {_branch_words(state)}".encode() + (b"\0" if nul else b"\n"))
        _lines(session, state, left_out, nul=nul, coloured=not (porcelain or nul))
        session.warn_of_settings()
    else:
        with session.out.paged():
            _for_people(session, state, left_out, is_whole=not paths)
        session.warn_of_settings()
        _warn_of_policy(session)
        _give_hint(session.out, state)
        _report_skipped(session.out, state)


def _branch_words(state: Status) -> str:
    """The branch and what it follows, in git's words."""
    branch = clean_line(state.branch) or "HEAD (no branch)"
    if not state.head:
        return f"No commits yet on {branch}"
    if not state.upstream:
        return branch
    told = "gone" if state.upstream_gone else ahead_behind((state.ahead, state.behind), "{1} {0}")
    return f"{branch}...{clean_line(state.upstream)}" + (f" [{told}]" if told else "")


def _at(state: Status, paths: Sequence[str]) -> Status:
    """What is told of documents at and below some paths, or that fit patterns."""
    wanted = matcher_of(paths)

    def chosen(changes: Sequence[PathChange]) -> tuple[PathChange, ...]:
        return tuple(c for c in changes if wanted(c.path) or (c.old_path and wanted(c.old_path)))

    skipped = tuple((path, reason) for path, reason in state.skipped if wanted(path))
    return replace(state, staged=chosen(state.staged), unstaged=chosen(state.unstaged),
                   untracked=tuple(_of(state.untracked, paths)), skipped=skipped)  # fmt: skip


def _of(found: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Those of the files and folders at and below some paths; a folder told in one word also for what lies in it."""
    wanted = matcher_of(paths)
    return [path for path in found
            if wanted(path.rstrip("/")) or any(lies_at(each, path.rstrip("/")) for each in paths)]  # fmt: skip


def _warn_of_policy(session: Session) -> None:
    """Say what is wrong with the `arbor.toml` of the work tree, where there is one: the next add stumbles over it."""
    fs_root = session.open().repo.fs_root
    try:
        data = read_bounded(fs_root / POLICY_FILE, MAX_STATE_BYTES) if fs_root is not None else b""
        faults = policy_check.table_faults(parse_tables(data)) if data else ()
    except OSError:
        return
    except (UsageError, IntegrityError) as error:
        session.out.warning(error.message)
        if error.hint:
            session.out.hint(error.hint)
        return
    for fault in faults:
        session.out.warning(fault)


def _entries(state: Status, left_out: Sequence[str]) -> list[tuple[str, str, str]]:
    """The two status letters, path and old path of each line; a path that `rm --cached` left as a file has two."""
    old_paths = {change.path: change.old_path for change in state.staged}
    staged = {change.path: change.status for change in state.staged}
    unstaged = {change.path: change.status for change in state.unstaged}
    entries: list[tuple[str, str, str]] = []
    for path in sorted({*staged, *unstaged}):
        both = staged.get(path, " ") + unstaged.get(path, " ")
        entries.append(("UU" if "U" in both else both, path, old_paths.get(path, "")))
    return [
        *entries,
        *(("??", path, "") for path in state.untracked),
        *(("!!", path, "") for path in left_out),
    ]


def _lines(session: Session, state: Status, left_out: Sequence[str], *, nul: bool, coloured: bool) -> None:
    out = session.out
    for letters, path, old_path in _entries(state, left_out):
        if nul:
            names = [path, old_path] if old_path else [path]
            record = f"{letters} " + "".join(f"{name}\0" for name in names)
            out.raw(record.encode("utf-8", "surrogateescape"))
        elif coloured:
            names = [session.shown(name) for name in ((old_path, path) if old_path else (path,))]
            out.line(f"{_colour_letters(out, letters)} {' -> '.join(names)}")
        else:
            names = [quote_path(name, spaces=True) for name in ((old_path, path) if old_path else (path,))]
            out.line(f"{letters} {' -> '.join(names)}")


def _colour_letters(out: Output, letters: str) -> str:
    if letters in ("??", "!!", "UU"):
        return out.style(letters, "red")
    return out.style(letters[0], "green") + out.style(letters[1], "red")


def _for_people(session: Session, state: Status, left_out: Sequence[str], *, is_whole: bool) -> None:
    out = session.out
    where = f"On branch {clean_line(state.branch)}" if state.branch else "HEAD is detached"
    out.line(out.style(where, "bold") + (f" at {short(state.head)}" if state.head else ", no commit yet"))
    if state.upstream:
        out.line(_upstream_line(state))
    if state.interrupted:
        out.line(f"'arbor {clean_line(state.interrupted)}' was interrupted, and some files are moved.")
    if state.merging:
        out.line("A merge waits to be committed.")
    elif any(change.status == "U" for change in state.unstaged):
        out.line("A revert waits for its conflicts to be resolved.")
    elif state.reverting:
        out.line("A revert waits to be committed.")
    _section(session, "Staged:", state.staged, "green")
    _section(session, "Changed, not staged:", state.unstaged, "red")
    for title, paths in (("Not tracked:", state.untracked), ("Ignored:", left_out)):
        if paths:
            out.line(f"\n{title}")
        for path in paths:
            out.line(f"  {out.style(session.shown(path), 'red')}")
    if state.clean and not is_whole:
        out.line("Nothing differs there.")
    elif state.clean:
        out.line(
            "Nothing to commit: every document is as recorded."
            if state.head
            else "The folder holds no document."
        )


def _upstream_fields(state: Status) -> dict[str, Any] | None:
    """What the branch follows, for `--json`; no numbers are known of what is gone."""
    if not state.upstream:
        return None
    gone = state.upstream_gone
    return {"name": state.upstream, "ahead": None if gone else state.ahead, "behind": None if gone else state.behind,
            "gone": gone}  # fmt: skip


def _upstream_line(state: Status) -> str:
    name = clean_line(state.upstream)
    if state.upstream_gone:
        return f"It follows {name}, which is not there: gone, or never pushed."
    ahead, behind = count(state.ahead, "commit"), count(state.behind, "commit")
    if state.ahead and state.behind:
        return f"It and {name} have gone apart: {ahead} here, {behind} there."
    if state.ahead:
        return f"It is {ahead} ahead of {name}."
    if state.behind:
        return f"It is {behind} behind {name}, and can be brought forward with arbor pull."
    return f"It is where {name} was last seen."


def _give_hint(out: Output, state: Status) -> None:
    leave = f"arbor {'merge' if state.merging else 'revert'} --abort"
    if state.interrupted:
        out.hint(state.way_out)
    elif any(change.status == "U" for change in state.unstaged):
        typed = what_resolves(change.path for change in state.unstaged if change.status == "U")
        out.hint(f"resolve the conflicts, then run: {typed}, and arbor commit; or {leave}")
    elif (state.merging or state.reverting) and not state.unstaged:
        out.hint(f"run: arbor commit; or {leave}")
    elif not state.staged and not state.clean:
        out.hint("run: arbor add PATH to stage a document for the next commit")
    elif state.upstream_gone and state.head:
        out.hint("put it there with: arbor push; or follow nothing: arbor branch --unset-upstream")


def _section(session: Session, title: str, changes: tuple[PathChange, ...], style: str) -> None:
    if not changes:
        return
    out = session.out
    out.line(f"\n{title}")
    width = max(len(STATUS_WORDS[change.status]) for change in changes) + 2
    for change in changes:
        name = session.shown(change.path)
        if change.old_path:
            name = f"{session.shown(change.old_path)} -> {name}"
        word = STATUS_WORDS[change.status].ljust(width)
        out.line(f"  {out.style(word, STATUS_STYLES[change.status])}{out.style(name, style)}")


def _report_skipped(out: Output, state: Status) -> None:
    for path, reason in state.skipped[:_MAX_SKIPPED]:
        out.note(f"left out {quote_path(path)}: {clean_line(reason)}")
    if len(state.skipped) > _MAX_SKIPPED:
        out.note(f"left out {len(state.skipped) - _MAX_SKIPPED:,} more; --json lists them all")
