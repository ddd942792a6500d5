"""The desk for branches and tags of one repository: making, moving between, merging and undoing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from arbor.arguments import checked_desk
from arbor.errors import UsageError
from arbor.lazy import lazy_module
from arbor.repo.commits import branching, history
from arbor.repo.commits.branching import Branch, TagInfo
from arbor.repo.commits.revisions import find_ref, resolve
from arbor.repo.merge import merging
from arbor.repo.merge.merging import MergeResult
from arbor.repo.repository import Repository
from arbor.repo.work_tree.moving import telling_what_waits
from arbor.store.refs import ReflogEntry

if TYPE_CHECKING:
    from arbor.repo.trust import signing
else:
    signing = lazy_module("arbor.repo.trust.signing")


@checked_desk
class BranchDesk:
    """Branches and tags. Methods mirror the commands; commits are given as hexadecimal oids."""

    def __init__(
        self, repo: Repository, commit: Callable[[str], object], follow: Callable[[], object]
    ) -> None:
        """Open the desk.

        Args:
            repo: The repository.
            commit: Records the stage under a message, with all that follows a commit.
            follow: Brings derived state to HEAD after it moved in another way.
        """
        self._repo = repo
        self._commit = commit
        self._follow = follow

    def merge_base(self, left: str, right: str) -> str:
        """The commit from which two revisions diverged.

        Raises:
            UsageError: when they have no history in common.
        """
        bases = history.merge_bases(self._repo, [resolve(self._repo, left)], [resolve(self._repo, right)])
        if not bases:
            raise UsageError(f"'{left}' and '{right}' have no commit in common")
        return bases[0].hex()

    def listing(self, *, remotes: bool = False) -> list[Branch]:
        """The local branches, or the remote-tracking ones."""
        return branching.list_branches(self._repo, remotes=remotes)

    def create(self, name: str, start: str = "HEAD", *, force: bool = False) -> str:
        """Make a branch at a revision; raises UsageError when the name is taken or may not be used."""
        return branching.create_branch(self._repo, name, start, force=force).hex()

    def delete(self, name: str, *, force: bool = False) -> str:
        """Remove a branch; raises ConflictError when its commits are nowhere else and `force` is not given."""
        return branching.delete_branch(self._repo, name, force=force).hex()

    def rename(self, old: str, new: str, *, force: bool = False) -> None:
        """Give a branch another name; raises UsageError when there is none, or the new name is taken."""
        branching.rename_branch(self._repo, old, new, force=force)

    def switch(self, target: str, *, create: bool = False, detach: bool = False, force: bool = False) -> None:
        """Go to a branch or commit; raises ConflictError when local changes would be overwritten."""
        branching.switch(self._repo, target, create=create, detach=detach, force=force)

    def tags(self) -> list[TagInfo]:
        """The tags, by name."""
        return branching.list_tags(self._repo)

    def tag(
        self, name: str, revision: str = "HEAD", *, message: str = "", force: bool = False, sign: bool = False
    ) -> str:
        """Make a tag, with a message an annotated one; raises UsageError when the name is taken."""
        seal = signing.signer(self._repo, sign)
        return branching.create_tag(self._repo, name, revision, message=message, force=force, sign=seal).hex()

    def untag(self, name: str) -> str:
        """Remove a tag; raises UsageError when there is none."""
        return branching.delete_tag(self._repo, name).hex()

    def merge(
        self, revision: str, *, fast_forward: bool = True, only_fast_forward: bool = False, unrelated: bool = False,
        message: str = "", commit: bool = True, favour: str = "",
    ) -> MergeResult:  # fmt: skip
        """Merge a revision into the current branch; a clean merge is committed (kind `merged`) unless told not to.

        With `favour`, `ours` or `theirs`, that side stands where both changed the same.

        Raises:
            UsageError: when the revision is unknown or the histories are unrelated.
            ConflictError: when local changes are in the way, or a demanded fast-forward is impossible.
            ColdDocument: when versions that must be read are cold here; with its `documents` brought back it goes on.
        """
        result = merging.merge(self._repo, revision, fast_forward=fast_forward, unrelated=unrelated,
                               only_fast_forward=only_fast_forward, message=message, favour=favour)  # fmt: skip
        return self._finish(result, commit)

    def abort_merge(self) -> None:
        """Leave a merge in progress; raises UsageError when there is none."""
        merging.abort(self._repo, "merge")

    def abort_revert(self) -> None:
        """Leave a revert in progress; raises UsageError when there is none."""
        merging.abort(self._repo, "revert")

    def abort_mv(self) -> None:
        """Take back an `mv` that was cut off half-way; raises UsageError when there is none."""
        merging.abort(self._repo, "mv")

    def revert(self, revision: str, *, commit: bool = True, mainline: int | None = None) -> MergeResult:
        """Undo a commit with another one, of a merge what it brought to its parent number `mainline`, from 1.

        Without `commit` it is staged, also together with a revert that waits for its commit.

        Raises:
            ConflictError: when something is staged or in the way.
        """
        return self._finish(merging.revert(self._repo, revision, mainline, further=not commit), commit)

    def reset(self, revision: str = "HEAD", mode: str = "mixed") -> str:
        """Move the current branch: `soft`, `mixed` or `hard`; raises UsageError for another mode or revision."""
        oid = branching.reset(self._repo, revision, mode)
        self._follow()
        return oid.hex()

    def reflog(self, name: str = "HEAD") -> list[ReflogEntry]:
        """The moves of HEAD, a branch or a tag, newest first; raises UsageError when there is no such ref.

        Under a full name, `refs/heads/...`, also those of a branch that was removed.
        """
        found = name if name == "HEAD" or name.startswith("refs/") else find_ref(self._repo, name)
        if found is None:
            raise UsageError(f"there is no ref '{name}'", "run: arbor branch")
        return self._repo.refs.reflog(found)

    def _finish(self, result: MergeResult, commit: bool) -> MergeResult:
        if result.kind == "fast-forward":
            self._follow()
        if result.kind == "clean" and commit:
            with telling_what_waits(self._repo):
                self._commit(result.message)
            return replace(result, kind="merged")
        return result
