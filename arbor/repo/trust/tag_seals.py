"""Annotated tags for reading: who made them, what they say, and whether their signatures are good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from arbor.objects.ids import Kind
from arbor.objects.model import Signature, decode_tag
from arbor.records import dataclass
from arbor.repo.commits.history import peel
from arbor.repo.commits.revisions import find_ref
from arbor.repo.repository import Repository
from arbor.repo.trust import signing
from arbor.repo.trust.signing import SealReport
from arbor.store.refs import TAGS


@dataclass(frozen=True, slots=True)
class SealedTag:
    """An annotated tag.

    Attributes:
        name: What it is called here.
        oid, commit: Hexadecimal digits of the tag object, and of the commit it stands for.
        tagger: Who made it, and when.
        message: Why.
        seal: What is known of its signature.
    """

    name: str
    oid: str
    commit: str
    tagger: Signature
    message: str
    seal: SealReport


def find_tag(repo: Repository, name: str, allowed: bytes | None) -> SealedTag | None:
    """The annotated tag that a name means, or None where it means something else.

    Args:
        repo: Where.
        name: As typed for a revision.
        allowed: Content of an allowed-signers file; None without one.
    """
    ref = find_ref(repo, name)
    return _read(repo, ref, allowed) if ref is not None and ref.startswith(TAGS) else None


def iter_tags(repo: Repository, allowed: bytes | None) -> Iterator[SealedTag]:
    """The annotated tags, in order of their names."""
    for ref in repo.refs.iter_names(TAGS):
        found = _read(repo, ref, allowed)
        if found is not None:
            yield found


def _read(repo: Repository, ref: str, allowed: bytes | None) -> SealedTag | None:
    oid = repo.refs.read(ref)
    kind, data = repo.store.get(oid) if oid is not None else (None, b"")
    if oid is None or kind != Kind.TAG:
        return None
    tag, name = decode_tag(data, trusted=True), ref[len(TAGS) :]
    report = signing.check_tag(tag, allowed)
    if tag.name != name and report.state in ("good", "unknown"):
        # A signature is for a name too: the tag of one release must not pass for that of another.
        report = replace(report, state="bad", reason=f"it was signed as tag '{tag.name}'")
    return SealedTag(name, oid.hex(), peel(repo, oid).hex(), tag.tagger, tag.message, report)
