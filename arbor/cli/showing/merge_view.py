"""Finishing a merge or revert, and telling what it did."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import click

from arbor.cli.on_demand import bring_needs
from arbor.cli.safe_text import clean_line, typed_path
from arbor.cli.session import Session
from arbor.cli.showing.file_view import cold_noticed
from arbor.cli.showing.hooks_view import run_post_hook, run_pre_commit
from arbor.cli.showing.ripple_view import ripple_line
from arbor.cli.views import count, short
from arbor.errors import ConflictError, UsageError, first_of
from arbor.repo.forgetting import cold_needs
from arbor.repo.merge.merging import MergeResult, merge
from arbor.repo.snapshot import CORE_MARK, DOCUMENTS
from arbor.repo.stage import what_resolves
from arbor.repo.work_tree import twins
from arbor.repo.work_tree.moving import telling_what_waits

MERGE_FIELDS = {
    "kind": "up-to-date, fast-forward, merged, staged (--no-commit) or conflict",
    "commit": "the commit HEAD stands at now",
    "merged": "the commit that was merged",
    "changed": "documents, and cores as core:NAME, that the merge brought",
    "conflicts": "those to be resolved by hand",
    "reasons": "why each of them is in conflict",
    "stale": "distilled cores that both sides made anew and that fit the merged documents on neither side",
}
"""The `--json` answer of a command that has merged, see `end_merge`."""


def finish_merge(
    session: Session, result: MergeResult, *, commit: bool, warned: Collection[str] = ()
) -> MergeResult:
    """Commit a clean merge, or say what is left to do; the result with kind `merged` or `staged` for a clean one.

    Args:
        session: The run.
        result: The merge.
        commit: Whether a clean one is committed.
        warned: Warnings that the person has seen already.
    """
    result = _finish(session, result, commit=commit)
    if result.changed:
        stage = session.open().repo.stage()
        tracked = stage.entries(session.open().repo.store, DOCUMENTS)
        found = twins.find_twins(result.changed, (key[len(DOCUMENTS) :] for key in tracked))
        for text in twins.twin_warnings([pair for pair in found if _are_here(tracked, pair)]):
            if text not in warned:
                session.out.warning(text)
    return result


def run_merge(
    session: Session, command: str, revision: str, how: Mapping[str, Any], *, message: str, favour: str = "",
    as_json: bool, warned: Collection[str] = (), **more: Any,
) -> None:  # fmt: skip
    """Merge a revision as the `merge_options` in `how` say; what is cold of it is brought back first.

    The rest is as in `finish_merge` and `end_merge`.
    """
    repo = session.open().repo
    bring_needs(session, cold_needs.needs_of_merge(repo, revision))
    with cold_noticed(session):
        result = merge(repo, revision, fast_forward=not how["no_ff"], only_fast_forward=how["ff_only"],
                       unrelated=how["allow_unrelated"], message=message, favour=favour)  # fmt: skip
        outcome = finish_merge(session, result, commit=not how["no_commit"], warned=warned)
    if outcome.kind in ("fast-forward", "merged"):
        run_post_hook(session, "post-merge", "0")
    end_merge(session, command, outcome, as_json=as_json, **more)


def check_ending(revision: str | None, *, abort: bool, goes_on: bool) -> None:
    """Refuse what `--abort` and `--continue` would pass over: a revision, and each other."""
    if abort and goes_on:
        raise UsageError("--abort and --continue cannot be used together", "choose one")
    if (abort or goes_on) and revision is not None:
        raise UsageError(f"{'--abort' if abort else '--continue'} takes no revision, and ends what is in progress",
                         f"leave out '{clean_line(revision)}'")  # fmt: skip


def say_left(session: Session, command: str, *, as_json: bool) -> None:
    """Say that a merge or revert is left, and which files still differ: edited before it, or unstaged since."""
    differ = [change.path for change in session.open().status().unstaged]
    if differ:
        named = first_of([*map(session.shown, differ)], _MAX_NAMED)
        session.out.note(
            f"the {command} is left; nothing is staged, and these files differ as they did: {named}"
        )
        session.out.hint("bring one back as it was committed with: arbor restore PATH")
    else:
        session.out.note(f"the {command} is left; everything is as before it")
    end_merge(session, command, MergeResult("left", ""), as_json=as_json)


def _are_here(tracked: Mapping[str, bytes], pair: tuple[str, str]) -> bool:
    """Whether both are there after the merge; what it changed may be what it removed."""
    return all(name.endswith("/") or DOCUMENTS + name in tracked for name in pair)


def _finish(session: Session, result: MergeResult, *, commit: bool) -> MergeResult:
    kb, out = session.open(), session.out
    if result.kind == "clean" and commit:
        with telling_what_waits(kb.repo):
            made = kb.commit(result.message)
        if not out.json_errors:
            out.line(
                f"[{clean_line(made.branch or 'detached HEAD')} {short(made.commit)}] {clean_line(made.subject)}"
            )
            out.line(f"  {_changed(result)} changed, root {made.ledger_root}")
            if made.ripple is not None and made.ripple.origins:
                out.line(f"  {ripple_line(session, made.ripple)}")
        for text in made.warnings:
            out.warning(text)
        return replace(result, kind="merged")
    if result.kind == "clean":
        result = replace(result, kind="staged")
    if result.kind == "fast-forward":
        kb.bring_up_to_date()
    verb = "merge" if kb.repo.stage().merge_parents else "revert"
    if not out.json_errors:
        out.line(
            _WORDS[result.kind].format(
                verb=verb,
                commit=short(result.commit),
                changed=_changed(result),
            )
        )
        for path, reason in zip(result.conflicts, result.reasons, strict=True):
            out.line(f"  conflict: {session.shown(path)} ({reason})")
    if result.conflicts:
        out.hint(
            f"resolve them, then run: {what_resolves(result.conflicts)} and arbor commit; or leave with: "
            f"arbor {verb} --abort"
        )
    for name in [path for path in result.conflicts if path.startswith(CORE_MARK)][:_MAX_NAMED]:
        there = short(result.commit) if verb == "merge" else f"{short(result.commit)}~1"
        typed = f"arbor core restore {typed_path(name.removeprefix(CORE_MARK))}"
        out.hint(f"take {clean_line(name)} from here: {typed} --at HEAD; from there: {typed} --at {there}")
    return result


def _tell_stale(session: Session, result: MergeResult) -> None:
    """Say which distilled cores a merge has left stale: making them again is all there is to do."""
    if result.stale:
        named = first_of([*map(clean_line, result.stale)], _MAX_NAMED)
        session.out.note(f"distilled on both sides, and stale after the merge: {named}")
        session.out.hint("make them again with: arbor distill PATH --with DISTILLER")


def _changed(result: MergeResult) -> str:
    """How many documents changed, and how many cores where there are any."""
    cores = sum(1 for path in result.changed if path.startswith(CORE_MARK))
    documents = count(len(result.changed) - cores, "document")
    if not cores:
        return documents
    return f"{documents} and {count(cores, 'core')}" if len(result.changed) > cores else count(cores, "core")


_MAX_NAMED = 3
_WORDS = {
    "up-to-date": "already up to date",
    "fast-forward": "fast-forward to {commit}, {changed} changed",
    "staged": "staged, {changed} changed; run: arbor commit",
    "conflict": "the {verb} has conflicts",
}


def go_on(session: Session, command: str, message: str, *, as_json: bool) -> None:
    """Commit a merge or revert in progress, as `arbor commit` would: `--continue`.

    Raises:
        UsageError: when no such thing is in progress.
        ConflictError: when something is not resolved, or the pre-commit hook refuses.
    """
    kb = session.open()
    stage = kb.repo.stage()
    found = stage.in_progress
    if found != command:
        raise UsageError(
            f"there is no {command} in progress", f"run: arbor {found} --continue" if found else ""
        )
    run_pre_commit(session)
    merged = stage.merge_parents[0].hex() if stage.merge_parents else ""
    changed = tuple(change.path for change in kb.status().staged)
    result = MergeResult("clean", merged, changed, message=message or stage.message)
    outcome = finish_merge(session, result, commit=True)
    run_post_hook(session, "post-commit")
    end_merge(session, command, outcome, as_json=as_json)


def end_merge(session: Session, command: str, result: MergeResult, *, as_json: bool, **more: Any) -> None:
    """End a command that has merged: its `--json` answer with `more` in front, and exit code 13 for conflicts."""
    _tell_stale(session, result)
    if as_json:
        head = session.open().repo.refs.head_oid()
        session.out.json(command, {
            **more, "kind": result.kind, "commit": head.hex() if head else None, "merged": result.commit,
            "changed": list(result.changed), "conflicts": list(result.conflicts), "reasons": list(result.reasons),
            "stale": list(result.stale),
        })  # fmt: skip
    if result.conflicts:
        raise click.exceptions.Exit(ConflictError.exit_code)
