"""Derived state follows a commit: the index and the consensus, and what is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arbor.errors import ArborError
from arbor.graph.eager import EAGER_DOCUMENTS
from arbor.index import access
from arbor.index.consensus_store import CONSENSUS_FILE
from arbor.lazy import lazy_module
from arbor.records import dataclass
from arbor.repo.commits.messages import subject_of
from arbor.repo.config import POLICY_FILE
from arbor.repo.repository import Repository
from arbor.repo.work_tree.status import PathChange

if TYPE_CHECKING:
    from arbor.graph import desk
    from arbor.graph.ripple import Ripple
    from arbor.repo.commits.committing import NewCommit
    from arbor.search import policy_check
else:
    policy_check = lazy_module("arbor.search.policy_check")
    desk = lazy_module("arbor.graph.desk")

SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CommitResult:
    """A commit that was just made.

    Attributes:
        commit, ledger_root: Hexadecimal oids.
        parent: The commit before; "" for the first.
        branch: The branch that moved; "" where HEAD is detached.
        documents: Documents in the commit.
        subject: First paragraph of the message, on one line.
        changes: What it changed.
        ripple: What it moved in the consensus; None where that waits until somebody asks.
        index: "updated", "rebuilt", "current" or "skipped".
        warnings: Messages about what could not be done after the commit was safe, and about the policy that it brings.
    """

    commit: str
    ledger_root: str
    parent: str
    branch: str
    documents: int
    subject: str
    changes: tuple[PathChange, ...]
    ripple: Ripple | None
    index: str
    warnings: tuple[str, ...] = ()


class Followed(NamedTuple):
    """What bringing derived state to HEAD did: the ripple, what became of the index, and warnings."""

    ripple: Ripple | None
    state: str
    warnings: tuple[str, ...]


def follow(repo: Repository, documents: int) -> Followed:
    """Bring index and consensus to HEAD. The commit is safe already, so what fails here is a warning.

    Args:
        repo: Whose state.
        documents: Documents in HEAD's commit.
    """
    index, ripple, warnings = SKIPPED, None, []
    try:
        index = access.follow_head(repo)
    except (ArborError, OSError) as error:
        warnings.append(f"the index follows with the next search: {error}")
    # Where nothing is there to follow and too much to begin with, the graph need not even be loaded.
    if documents <= EAGER_DOCUMENTS or (repo.folder / "cache" / CONSENSUS_FILE).exists():
        try:
            ripple = desk.ConsensusDesk(repo).follow_commit(documents)
        except (ArborError, OSError) as error:
            warnings.append(f"the consensus follows when it is asked for: {error}")
    return Followed(ripple, index, tuple(warnings))


def after_commit(repo: Repository, made: NewCommit, *, index: bool) -> CommitResult:
    """What to tell of a commit, after its derived state has followed (not without `index`)."""
    followed = follow(repo, made.documents) if index else Followed(None, SKIPPED, ())
    return CommitResult(
        commit=made.oid.hex(),
        ledger_root=made.ledger_root.hex(),
        parent=made.parent.hex() if made.parent else "",
        branch=made.branch,
        documents=made.documents,
        subject=subject_of(made.message),
        changes=made.changes,
        ripple=followed.ripple,
        index=followed.state,
        warnings=(*_policy_warnings(repo, made), *followed.warnings),
    )


def _policy_warnings(repo: Repository, made: NewCommit) -> tuple[str, ...]:
    """What is wrong with the policy, said once: by the commit that brings it."""
    if not any(change.path == POLICY_FILE and change.status != "D" for change in made.changes):
        return ()
    return policy_check.policy_faults(repo.committed_policy_file(repo.snapshot(made.oid)))
