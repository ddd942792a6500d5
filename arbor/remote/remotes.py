"""Named remotes and the upstreams of branches: local settings, which no clone brings along."""

from __future__ import annotations

from arbor.errors import UsageError
from arbor.lazy import lazy_pattern
from arbor.records import dataclass
from arbor.remote.protocol.messages import FULL, check_filter
from arbor.repo.commits.upstreams import list_upstreams, read_upstream, upstream_key, write_upstream
from arbor.repo.repository import Repository
from arbor.store.refs import HEADS, REMOTES, check_ref_name

_NAME = lazy_pattern(r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$")
DEFAULT_REMOTE = "origin"


@dataclass(frozen=True, slots=True)
class Remote:
    """One named remote: its URL, and the filter of a partial clone ("" for none)."""

    name: str
    url: str
    filter: str = FULL


def list_remotes(repo: Repository) -> list[Remote]:
    """The remotes that can be used, by name."""
    return read_remotes(repo)[0]


def find_remote(repo: Repository, name: str) -> Remote | None:
    """The remote of this name, or None; raises UsageError when something is wrong with its settings."""
    found, wrong = read_remotes(repo)
    if name in wrong:
        raise wrong[name]
    return next((remote for remote in found if remote.name == name), None)


def get_remote(repo: Repository, name: str) -> Remote:
    """The remote of this name; raises UsageError when there is none, or something is wrong with its settings."""
    remote = find_remote(repo, name)
    if remote is None:
        raise _unknown(name)
    return remote


def _unknown(name: str) -> UsageError:
    return UsageError(f"there is no remote '{name}'", "run: arbor remote")


def _refuse_unknown(repo: Repository, name: str) -> None:
    """Raises UsageError where no remote is called so, not even one whose settings are wrong: these can be mended."""
    rows, wrong = repo.settings.rows("remote")
    if not _NAME.match(name) or name not in rows.keys() | wrong.keys():
        raise _unknown(name)


def _is_taken(repo: Repository, name: str) -> bool:
    """Whether a remote has this name; settings without an address are none's yet."""
    rows, wrong = repo.settings.rows("remote")
    return name in wrong or "url" in rows.get(name, {})


def read_remotes(repo: Repository) -> tuple[list[Remote], dict[str, UsageError]]:
    """The remotes that can be used, and what is wrong with the others, which must not keep these from being used."""
    rows, wrong = repo.settings.rows("remote")
    found = []
    for name, row in sorted(rows.items()):
        try:
            check_remote_name(name)
            if "url" not in row:
                raise UsageError("it has no address", f"run: arbor remote set-url {name} URL")
            found.append(Remote(name, row["url"], check_filter(row.get("filter", FULL))))
        except UsageError as error:
            wrong[name] = UsageError(f"[remote.{name}] in the settings: {error.message}", error.hint)
    return found, wrong


def check_remote_name(name: str) -> str:
    """The name, when a remote may have it; raises UsageError when not."""
    if not _NAME.match(name):
        raise UsageError(f"'{name}' is not a name for a remote", "letters, digits, - and _ are safe")
    check_ref_name(f"{REMOTES}{name}/x")
    return name


def add_remote(repo: Repository, name: str, url: str) -> None:
    """Record a remote; nothing is fetched.

    Raises:
        UsageError: when the name may not be used or is taken.
    """
    check_remote_name(name)
    with repo.lock():
        if _is_taken(repo, name):
            raise UsageError(
                f"remote '{name}' exists already", f"change it with: arbor remote set-url {name} URL"
            )
        repo.settings.set(f"remote.{name}.url", url)


def set_remote_url(repo: Repository, name: str, url: str) -> None:
    """Give a remote another URL; raises UsageError when there is no such remote."""
    with repo.lock():
        _refuse_unknown(repo, name)
        repo.settings.set(f"remote.{name}.url", url)


def remove_remote(repo: Repository, name: str) -> None:
    """Forget a remote, its remote-tracking refs and what follows it; raises UsageError when there is none."""
    with repo.lock():
        _refuse_unknown(repo, name)
        for ref in list(repo.refs.iter_names(f"{REMOTES}{name}/")):
            repo.refs.move(ref, repo.refs.read(ref), None, repo.who(), f"remote: removed {name}")
        followers = (upstream_key(branch) for branch in _followers(repo, name))
        # At once and at the end: cut off before it, the same command goes on from what it has removed.
        repo.settings.set_all(dict.fromkeys((*followers, f"remote.{name}")))


def rename_remote(repo: Repository, old: str, new: str) -> None:
    """Give a remote another name; its refs and the branches that follow it go along.

    Raises:
        UsageError: when there is no such remote, or the new name is taken or may not be used.
    """
    check_remote_name(new)
    with repo.lock():
        remote = get_remote(repo, old)
        if _is_taken(repo, new):
            raise UsageError(f"remote '{new}' exists already")
        for ref in list(repo.refs.iter_names(f"{REMOTES}{old}/")):
            oid = repo.refs.read(ref)
            moved = f"{REMOTES}{new}/" + ref[len(f"{REMOTES}{old}/") :]
            repo.refs.move(moved, repo.refs.read(moved), oid, repo.who(), f"remote: renamed from {old}")
            repo.refs.move(ref, oid, None, repo.who(), f"remote: renamed to {new}")
        settings: dict[str, str | None] = {f"remote.{new}.url": remote.url}
        if remote.filter:
            settings[f"remote.{new}.filter"] = remote.filter
        for branch, upstream in _followers(repo, old).items():
            settings[upstream_key(branch)] = new + upstream[len(old) :]
        # At once and at the end: cut off before it, the same command goes on from what it has moved.
        repo.settings.set_all({**settings, f"remote.{old}": None})


def _followers(repo: Repository, remote: str) -> dict[str, str]:
    """What the branches that follow a remote follow, by branch."""
    upstreams = list_upstreams(repo)
    return {branch: upstream for branch, upstream in upstreams.items() if upstream.startswith(f"{remote}/")}


def follow(repo: Repository, branch: str, upstream: str) -> None:
    """Let a branch follow a remote's branch, written `REMOTE/BRANCH`; nothing with "".

    Raises:
        UsageError: when there is no such branch here, no such remote, or nothing of it has been seen.
    """
    if repo.refs.read(HEADS + branch) is None and repo.refs.head() != HEADS + branch:
        raise UsageError(f"there is no branch '{branch}'", "run: arbor branch")
    name, slash, there = upstream.partition("/")
    with repo.lock():
        if upstream and (not slash or find_remote(repo, name) is None):
            raise UsageError(
                f"'{upstream}' is not a branch of a remote", "write it as REMOTE/BRANCH, such as origin/main"
            )
        if upstream and repo.refs.read(check_ref_name(REMOTES + upstream)) is None:
            raise UsageError(f"remote '{name}' has not shown a branch '{there}'", f"run: arbor fetch {name}")
        if not upstream and not read_upstream(repo, branch):
            raise UsageError(f"branch '{branch}' follows nothing")
        write_upstream(repo, branch, upstream)


def upstream_of(repo: Repository, branch: str) -> tuple[Remote, str] | None:
    """The remote that a branch follows and the branch's name there, or None."""
    name, slash, there = read_upstream(repo, branch).partition("/")
    remote = find_remote(repo, name) if slash else None
    return None if remote is None else (remote, there)


def followed_there(repo: Repository, remote: str) -> str:
    """Full name of the branch of this remote that the current branch follows; "" where it follows none of it."""
    name, slash, there = read_upstream(repo, repo.refs.current_branch()).partition("/")
    return HEADS + there if slash and name == remote and find_remote(repo, name) is not None else ""


def set_upstream(repo: Repository, branch: str, remote: str, there: str) -> None:
    """Let a branch follow one of a remote."""
    check_ref_name(HEADS + there)
    write_upstream(repo, branch, f"{remote}/{there}")


def choose_remote(repo: Repository, branch: str) -> Remote:
    """The remote that the branch follows, else `origin`, else the only one.

    Raises:
        UsageError: when none can be meant.
    """
    followed = upstream_of(repo, branch)
    if followed is not None:
        return followed[0]
    found, wrong = read_remotes(repo)
    names = {*wrong, *(remote.name for remote in found)}
    if DEFAULT_REMOTE in names or len(names) == 1:
        return get_remote(repo, DEFAULT_REMOTE if DEFAULT_REMOTE in names else names.pop())
    raise UsageError(
        "name one of the remotes" if names else "there is no remote", "run: arbor remote add NAME URL"
    )
