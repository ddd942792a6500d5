"""What is demanded of commits before a branch may gain them: that each carries a good signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from arbor.objects.model import Commit
from arbor.repo.commits.history import iter_log
from arbor.repo.trust import signing

if TYPE_CHECKING:
    from arbor.remote.quarantine.connectivity import Checked
    from arbor.repo.config import Settings
    from arbor.repo.repository import Repository

Demand = Callable[[Mapping[bytes, Commit]], None]
"""Raises IntegrityError for commits that are not signed as they must be."""


def signed_demand(settings: Settings | None, wanted: bool | None) -> Demand | None:
    """What refuses commits without a good signature, or None where that is not demanded.

    Args:
        settings: Whose `pull.require_signed` and allowed signers count.
        wanted: What was asked for; None leaves it to the settings.

    Raises:
        UsageError: when the allowed signers cannot be read.
    """
    demanded = wanted if wanted is not None else bool(settings and settings.get("pull.require_signed"))
    if not demanded:
        return None
    return partial(
        signing.require_signed, allowed=signing.read_allowed_signers(settings) if settings else None
    )


def of_arrivals(demand: Demand) -> Callable[[Checked], None]:
    """The same demand of what a transfer brings, before any of it is published."""
    return lambda checked: demand(checked.commits)


def gained_commits(repo: Repository, tip: bytes) -> dict[bytes, Commit]:
    """What HEAD's branch would gain by a merge of a commit, by oid."""
    head = repo.refs.head_oid()
    return {entry.oid: entry.commit for entry in iter_log(repo, [tip], exclude=[head] if head else [])}
