"""Revisions as people type them: HEAD, branches, tags, oid prefixes, `main@{1}`, `main@{yesterday}`, `~2`, `:/x`."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from arbor.errors import UsageError
from arbor.lazy import lazy_module, lazy_pattern
from arbor.objects.ids import Kind
from arbor.repo.commits import history
from arbor.repo.commits.moments import parse_moment
from arbor.repo.commits.shorthands import stands_for
from arbor.repo.repository import Repository
from arbor.store.refs import FETCH_HEAD, HEADS, REMOTES, TAGS, short_name

if TYPE_CHECKING:
    import difflib
else:  # for a name that is not found
    difflib = lazy_module("difflib")

MERGE_HEAD = "MERGE_HEAD"
"""The commit that a merge in progress brings in."""
ORIG_HEAD = "ORIG_HEAD"
"""Where HEAD was before the last reset, merge or pull."""
_FAR_MOVES = ("reset: ", "merge ", "commit (merge): ")
_STEP = lazy_pattern(r"\^\{([^}]*)\}|([~^])([0-9]{0,9})")
_AT = lazy_pattern(r"^(.*)@\{([^}]+)\}$")
_NUMBER = lazy_pattern(r"^[0-9]{1,9}$")


class UnknownRevision(UsageError):
    """Nothing is called so: no ref, and no commit begins with it."""


def resolve(repo: Repository, text: str) -> bytes:
    """The commit oid of a revision.

    Raises:
        UsageError: when there is no such revision; the hint names the nearest one.
    """
    if text.startswith(":/") and len(text) > 2:
        return _youngest(repo, text[2:], history.ref_commits(repo), text)
    base = re.split(r"[~^]", text, maxsplit=1)[0]
    place, steps = len(base), []
    while step := _STEP.match(text, place):
        steps.append(step)
        place = step.end()
    if not text or place < len(text) or text.startswith("^{"):
        raise UsageError(f"'{text}' is not a revision", _as_range(text))
    oid = _resolve_base(repo, base or "HEAD")
    for step in steps:
        wanted, symbol, digits = step.groups()
        if symbol:
            oid = _step(repo, oid, symbol, int(digits) if digits else 1, text)
        elif wanted.startswith("/"):
            oid = _youngest(repo, wanted[1:], [oid], text)
        elif wanted not in ("", "commit", "object"):
            raise UsageError(f"'{text}' is no commit", "what can be named is a commit: REV^{commit}, or REV")
    return oid


def _as_range(text: str) -> str:
    """A hint for the ways in which git writes several commits as one word, which are ranges here."""
    if re.fullmatch(r"\^[^^].*", text):
        return f"what it does not lead to is written as {text[1:]}..HEAD"
    if text.endswith(("^!", "^@")) and len(text) > 2:
        return (
            f"write it as {text[:-2]}~1..{text[:-2]}"
            if text.endswith("!")
            else f"its parents are {text[:-1]}1, {text[:-1]}2"
        )
    return ""


def compile_pattern(text: str, *, any_case: bool = False) -> re.Pattern[str]:
    """What is looked for in messages and names; raises UsageError where it is no regular expression."""
    try:
        return re.compile(text, re.MULTILINE | (re.IGNORECASE if any_case else 0))
    except re.error as error:
        hint = "put a backslash before ( [ * + ?"
        raise UsageError(f"'{text}' is not a regular expression: {error}", hint) from error


def _youngest(repo: Repository, pattern: str, tips: Sequence[bytes], text: str) -> bytes:
    """The newest commit whose message holds a pattern, of those that some lead to."""
    finds = compile_pattern(pattern).search
    # By their times alone, as git looks: a log would have to walk the whole history before its first commit.
    pending = [
        (-repo.commit(oid).committer.seconds, place, oid) for place, oid in enumerate(dict.fromkeys(tips))
    ]
    heapq.heapify(pending)
    seen = {oid for *_, oid in pending}
    while pending:
        *_, oid = heapq.heappop(pending)
        commit = repo.commit(oid)
        if finds(commit.message):
            return oid
        for parent in (parent for parent in commit.parents if parent not in seen):
            seen.add(parent)
            heapq.heappush(pending, (-repo.commit(parent).committer.seconds, len(seen), parent))
    raise UnknownRevision(f"no commit that '{text}' could mean", "run: arbor log --all --oneline")


def _step(repo: Repository, oid: bytes, symbol: str, number: int, text: str) -> bytes:
    """`~N`, the commit that so many first parents lead to, or `^N`, a commit's parent of this number; 0 is itself."""
    line = history.first_parents(repo, oid) if symbol == "~" else (oid, *repo.commit(oid).parents)
    found = next(islice(line, number, None), None)
    if found is None:
        raise UsageError(f"'{text}' goes back beyond the first commit")
    return found


def _resolve_base(repo: Repository, name: str) -> bytes:
    name = stands_for(repo, name)
    at = _AT.match(name)
    if at:
        return _from_reflog(repo, at.group(1) or _current(repo), at.group(2))
    if name in ("HEAD", "@"):
        head = repo.refs.head_oid()
        if head is None:
            raise UsageError("there is no commit yet", "run: arbor commit -m MESSAGE")
        return head
    if name == FETCH_HEAD:
        fetched = repo.refs.fetched()
        if fetched is None:
            raise UsageError("nothing has been fetched yet", "run: arbor fetch")
        return history.peel(repo, fetched)
    if name == MERGE_HEAD:
        merged = repo.stage().merge_parents
        if not merged:
            raise UsageError("no merge is in progress", "run: arbor status")
        return merged[0]
    if name == ORIG_HEAD:
        return _before_far_move(repo)
    ref = find_ref(repo, name)
    if ref is not None:
        oid = repo.refs.read(ref)
        if oid is not None:
            return history.peel(repo, oid)
    return _from_prefix(repo, name)


def _before_far_move(repo: Repository) -> bytes:
    """Where HEAD was before the last reset or merge, from its reflog.

    Raises:
        UsageError: when there was none.
    """
    for entry in repo.refs.reflog("HEAD"):
        if entry.reason.startswith(_FAR_MOVES) and entry.old:
            return entry.old
    raise UsageError("there was no reset or merge yet", "run: arbor reflog")


def find_ref(repo: Repository, name: str) -> str | None:
    """The full name of the ref that a short name means (tags before branches, as git has it), or None."""
    name = stands_for(repo, name)
    for full in (name, "refs/" + name, TAGS + name, HEADS + name, REMOTES + name, f"{REMOTES}{name}/HEAD"):
        if not full.startswith("refs/"):
            continue
        try:
            if repo.refs.read(full) is not None:
                return full
        except UsageError:
            continue
    return None


def _from_prefix(repo: Repository, name: str) -> bytes:
    if len(name) >= 4 and all(c in "0123456789abcdefABCDEF" for c in name):
        matches = repo.store.find_prefix(name)
        found = [oid for oid in matches if repo.store.get(oid)[0] in (Kind.COMMIT, Kind.TAG)]
        if len(found) == 1:
            return history.peel(repo, found[0])
        if found:
            some = ", ".join(oid.hex()[:12] for oid in found[:4])
            raise UsageError(f"'{name}' is the start of {len(found)} commits", f"give more digits: {some}")
    raise UnknownRevision(f"revision '{name}' not found", _nearest(repo, name))


def _nearest(repo: Repository, name: str) -> str:
    close = nearest(name, [*map(short_name, repo.refs.iter_names()), "HEAD"])
    return f"did you mean '{close[0]}'?" if close else "run: arbor log --oneline"


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """The one of some names that was probably meant, if any."""
    return difflib.get_close_matches(name, list(names), n=1)


def _current(repo: Repository) -> str:
    """Whose moves `@{1}` counts: those of the current branch, as in git, so that a switch is none of them."""
    head = repo.refs.head()
    return head if isinstance(head, str) else "HEAD"


def _from_reflog(repo: Repository, name: str, inside: str) -> bytes:
    ref = "HEAD" if name in ("HEAD", "@") else find_ref(repo, name)
    if ref is None:
        raise UnknownRevision(f"revision '{name}' not found", _nearest(repo, name))
    log = f"arbor reflog{'' if ref == 'HEAD' else ' ' + name}"
    entries = repo.refs.reflog(ref)
    if _NUMBER.match(inside):
        number = int(inside)
        if number < len(entries) and entries[number].new:
            return entries[number].new
        if number == len(entries) and entries and entries[-1].old:
            return entries[-1].old
        raise UsageError(f"'{name}' has moved only {len(entries)} times", f"run: {log}")
    moment = parse_moment(inside)
    for entry in entries:
        if entry.who.seconds <= moment and entry.new:
            return entry.new
    oldest = f"its oldest entry is {name}@{{{len(entries) - 1}}}; run: {log}" if entries else ""
    raise UsageError(f"the reflog of '{name}' does not go back to {inside}", oldest)


def resolve_start(repo: Repository, text: str) -> bytes:
    """Where something is to begin: a revision, or with `A...B` the commit from which the two diverged.

    Raises:
        UsageError: when there is no such revision, or the two have nothing in common.
    """
    if not is_symmetric(text):
        return resolve(repo, text)
    left, right = resolve_range(repo, text)
    bases = history.merge_bases(repo, [left], [right])
    if not bases:
        raise UsageError(f"the two sides of '{text}' have no commit in common")
    if len(bases) > 1:
        named = ", ".join(oid.hex()[:12] for oid in bases[:4])
        raise UsageError(
            f"the two sides of '{text}' went apart at {len(bases)} commits", f"name one: {named}"
        )
    return bases[0]


def split_range(text: str) -> tuple[str, str] | None:
    """The two revisions of `A..B` or `A...B`, HEAD for a side left out; None for what is no range."""
    left, dots, right = text.partition("..")
    return (left or "HEAD", right.removeprefix(".") or "HEAD") if dots else None


def is_symmetric(text: str) -> bool:
    """Whether a range is `A...B`: what either side has that the other has not."""
    return "..." in text


def resolve_range(repo: Repository, text: str) -> tuple[bytes, bytes]:
    """The two commits of `A..B` or `A...B`; a side left out is HEAD."""
    sides = split_range(text)
    if sides is None:
        raise UsageError(f"'{text}' is not a range", "write it as OLD..NEW")
    return resolve(repo, sides[0]), resolve(repo, sides[1])
