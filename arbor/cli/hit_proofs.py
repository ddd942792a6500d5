"""Proofs attached to search hits, in the form that `arbor prove` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arbor.cli.session import Session
from arbor.errors import ArborError
from arbor.objects.proof_json import proof_fields

if TYPE_CHECKING:
    from arbor.repo.desk import TrustDesk


def attach_proofs(session: Session, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a search with a `proof` in each hit; null where the passage cannot be proven."""
    trust = session.open().trust
    hits = [{**hit, "proof": _proof(trust, hit, fields["rev"])} for hit in fields["hits"]]
    return {**fields, "hits": hits}


def _proof(trust: TrustDesk, hit: dict[str, Any], rev: str | None) -> dict[str, Any] | None:
    if rev is None or hit["chunk"] is None or hit["audit"] == "VISUAL":
        return None
    try:
        return proof_fields(trust.prove_passage(hit["path"], hit["chunk"]["index"], bytes.fromhex(rev)))
    except ArborError:
        return None
