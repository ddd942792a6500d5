"""What a commit would do to the consensus, held against the policy in `arbor.toml`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from arbor.errors import UsageError
from arbor.graph.desk import ConsensusDesk
from arbor.graph.ripple import Ripple
from arbor.graph.standing import Label
from arbor.objects.links import Link
from arbor.repo import git_bridge
from arbor.repo.ingest import store_extraction
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.text.reading import extract

SEVERITIES = ("off", "warn", "block")
RULES = {"verified-becomes-novel": "warn", "dangling-link": "warn"}
"""Rules and their severity where `[hooks]` says nothing."""
_NOT_LOCAL = ("url", "html")


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


def parse_rules(section: Mapping[str, Any]) -> dict[str, str]:
    """Severity by rule, from the table `[hooks]`.

    Raises:
        UsageError: when a rule or a severity is unknown.
    """
    rules = dict(RULES)
    for name, severity in section.items():
        if name not in RULES:
            raise UsageError(
                f"arbor.toml: [hooks] has an unknown rule '{name}'", f"the rules are: {', '.join(RULES)}"
            )
        if severity not in SEVERITIES:
            raise UsageError(
                f"arbor.toml: [hooks] {name} is '{severity}'", f"it can be {', '.join(SEVERITIES)}"
            )
        rules[name] = severity
    return rules


def check_staged(repo: Repository, progress: Callable[[str], None] | None = None) -> StagedCheck:
    """What the next commit would do to the consensus, and what the policy objects to.

    The next commit is git's where the work tree is in a git repository and nothing is staged in arbor itself.

    Raises:
        UsageError: when `[hooks]` of `arbor.toml` cannot be understood.
    """
    rules = parse_rules(repo.policy().section("hooks"))
    head = repo.snapshot(repo.refs.head_oid())
    documents = _staged_documents(repo)
    overlay = _Overlay(head, documents)
    ripple, before = ConsensusDesk(repo).preview(head, documents, progress)
    findings = []
    if rules["verified-becomes-novel"] != "off":
        findings += _became_novel(overlay, ripple, rules["verified-becomes-novel"], set(before))
    if rules["dangling-link"] != "off":
        findings += _dangling(
            overlay, [path for path, oid in documents if oid is not None], rules["dangling-link"]
        )
    return StagedCheck(ripple, tuple(findings))


def _staged_documents(repo: Repository) -> list[tuple[str, bytes | None]]:
    """(path, document or None) of what the next commit changes; git's staged bytes are stored as objects first."""
    stage = repo.stage()
    own = [
        (key[len(DOCUMENTS) :], value) for key, value in stage.changes.items() if key.startswith(DOCUMENTS)
    ]
    fs_root = repo.fs_root
    if own or fs_root is None or not (git_bridge.git_top(fs_root) / ".git").exists():
        return sorted(own)
    documents: list[tuple[str, bytes | None]] = []
    policy = repo.policy()
    files = git_bridge.staged_files(repo)
    with repo.lock(), repo.store.writer() as writer:
        for path, data in ((file.path, file.data) for file in files):
            oid = (
                None if data is None else store_extraction(writer, extract(data, path, policy.chunking), data)
            )
            documents.append((path, oid))
    return sorted(documents)


class _Overlay:
    """A version with staged documents over it."""

    def __init__(self, snapshot: Snapshot, documents: Sequence[tuple[str, bytes | None]]) -> None:
        self.snapshot = snapshot
        self._staged = dict(documents)
        self._stems: set[str] | None = None

    def find(self, path: str) -> bytes | None:
        """The document at a path after the commit."""
        return self._staged[path] if path in self._staged else self.snapshot.find(path)

    def has_stem(self, name: str) -> bool:
        """Whether any document has this file name, with or without its suffix, as wikilinks find it."""
        if self._stems is None:
            paths = [path for path, _ in self.snapshot.paths() if self._staged.get(path, b"-") is not None]
            paths += [path for path, oid in self._staged.items() if oid is not None]
            names = [posixpath.basename(path).casefold() for path in paths]
            self._stems = {*names, *(posixpath.splitext(name)[0] for name in names)}
        return name.casefold() in self._stems


def _became_novel(overlay: _Overlay, ripple: Ripple, severity: str, known: set[str]) -> list[Finding]:
    """Notes that say `status: verified` and would be left without any independent peer."""
    findings = []
    for change in ripple.changed:
        if change.after is not Label.NOVEL or (change.before is Label.NOVEL and change.key in known):
            continue
        oid = overlay.find(change.key)
        if (
            oid is None
            or str(overlay.snapshot.document(oid).front_matter.get("status", "")).casefold() != "verified"
        ):
            continue
        was = f"would go from {change.before.value} to NOVEL" if change.before else "would be NOVEL"
        findings.append(
            Finding("verified-becomes-novel", severity, change.key, f"it is marked as verified and {was}")
        )
    return findings


def _dangling(overlay: _Overlay, paths: Iterable[str], severity: str) -> list[Finding]:
    """Links of the staged documents that lead to no document and no file."""
    findings = []
    for path in paths:
        oid = overlay.find(path)
        if oid is None:
            continue
        manifest = overlay.snapshot.manifest(overlay.snapshot.document(oid))
        for link in overlay.snapshot.links(manifest):
            if _is_local(link) and not _leads_somewhere(overlay, path, link):
                message = f"line {link.line}: the link to '{link.target}' leads nowhere"
                findings.append(Finding("dangling-link", severity, path, message))
    return findings


def _is_local(link: Link) -> bool:
    if link.kind in _NOT_LOCAL or not link.target:
        return False
    try:
        return not urlsplit(link.target).scheme and not link.target.startswith(("//", "#"))
    except ValueError:
        return False


def _leads_somewhere(overlay: _Overlay, path: str, link: Link) -> bool:
    by_name = link.kind == "wikilink" or (link.kind == "frontmatter" and "/" not in link.target)
    if by_name and overlay.has_stem(posixpath.basename(link.target)):
        return True
    folder = posixpath.dirname(path)
    for target in {link.target, unquote(link.target)}:
        for base in (folder, ""):
            place = posixpath.normpath(posixpath.join(base, target.lstrip("/")))
            if any(
                overlay.find(candidate) is not None
                for candidate in (place, f"{place}.md", f"{place}/index.md")
            ):
                return True
            if next(overlay.snapshot.paths(place.rstrip("/") + "/"), None) is not None:
                return True
    return False
