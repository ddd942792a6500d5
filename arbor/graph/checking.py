"""What a commit would do to the consensus, held against the policy in `arbor.toml`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from arbor.graph.dangling import iter_dangling
from arbor.graph.desk import ConsensusDesk
from arbor.graph.ripple import NO_RIPPLE, Ripple
from arbor.graph.rules import parse_rules
from arbor.graph.staged import Staged, read_staged
from arbor.graph.standing import Label
from arbor.records import dataclass
from arbor.repo.repository import Repository

_YES = frozenset({"true", "yes", "1"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the policy objects to.

    Attributes:
        rule: Its name, as in `arbor.toml` under `[hooks]`.
        severity: `warn` or `block`.
        path: The document.
        message: What is wrong.
    """

    rule: str
    severity: str
    path: str
    message: str

    @property
    def blocks(self) -> bool:
        """Whether a commit with it is refused."""
        return self.severity == "block"


@dataclass(frozen=True, slots=True)
class StagedCheck:
    """What the next commit would move, and what the policy objects to."""

    ripple: Ripple
    findings: tuple[Finding, ...]

    @property
    def blocked(self) -> bool:
        """Whether the policy refuses the commit."""
        return any(finding.blocks for finding in self.findings)


def check_staged(repo: Repository, progress: Callable[[str], None] | None = None) -> StagedCheck:
    """What the next commit would do to the consensus, and what the policy objects to; nothing is stored.

    In a git repository that is what git has staged, and what arbor has staged is looked at as well: a violation in
    either is a finding. The ripple is that of everything that is staged.

    Raises:
        UsageError: when `[hooks]` of `arbor.toml` cannot be understood.
    """
    rules = parse_rules(repo.policy().section("hooks"))
    ripple, findings = NO_RIPPLE, dict[Finding, None]()
    for staged in read_staged(repo):
        ripple, before = ConsensusDesk(repo).preview(staged.head, list(staged.documents.items()), progress)
        if rules["verified-becomes-novel"] != "off":
            found = _became_novel(staged, ripple, rules["verified-becomes-novel"], set(before))
            findings.update(dict.fromkeys(found))
        if rules["dangling-link"] != "off":
            findings.update(dict.fromkeys(_dangling(staged, repo.fs_root, rules["dangling-link"])))
    return StagedCheck(ripple, tuple(findings))


def _became_novel(staged: Staged, ripple: Ripple, severity: str, known: set[str]) -> list[Finding]:
    """Notes that say they are verified and would be left without any independent peer."""
    findings = []
    for change in ripple.changed:
        if change.after is not Label.NOVEL or (change.before is Label.NOVEL and change.key in known):
            continue
        oid = staged.find(change.key)
        if oid is None or not _is_verified(staged.head.document(oid).front_matter):
            continue
        was = f"would go from {change.before.value} to NOVEL" if change.before else "would be NOVEL"
        findings.append(
            Finding("verified-becomes-novel", severity, change.key, f"it is marked as verified and {was}")
        )
    return findings


def _is_verified(front_matter: Mapping[str, Any]) -> bool:
    """Whether a note says `status: verified` or `verified: true`."""
    said = {key.lower(): str(value).strip().casefold() for key, value in front_matter.items()}
    return said.get("status") == "verified" or said.get("verified") in _YES


def _dangling(staged: Staged, fs_root: Path | None, severity: str) -> Iterator[Finding]:
    for path, link, removed in iter_dangling(staged, fs_root):
        why = "would lead nowhere: its target is removed" if removed else "leads nowhere"
        message = f"line {link.line}: the link to '{link.target}' {why}"
        yield Finding("dangling-link", severity, path, message)
