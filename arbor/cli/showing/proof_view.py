"""What a checked proof says, for people and as JSON; loads nothing that a knowledge base would need."""

from __future__ import annotations

from typing import Any

from arbor import proofs
from arbor.cli.output import Output
from arbor.cli.safe_text import clean, clean_line, clean_words, quote_path
from arbor.cli.views import count, fact_line, verify_fields

_OF_PASSAGE = ("index", "passages", "leaf", "text")
_OF_DOCUMENT = ("document", "title", "media_type", "source_uri", "file_hash")
_OF_CONSISTENCY = ("old_commit", "old_log_size", "log_size", "old_log_root", "log_root")


def check_proof(
    out: Output, data: bytes, *, root: str | None, commit: str | None, text: bytes | None, as_json: bool
) -> None:
    """Check a proof and say what it proves; raises IntegrityError when it does not hold."""
    found = proofs.verify(data, root=root, commit=commit, text=text)
    if as_json:
        out.json("verify", verify_fields(
            ok=True, commit=found.commit, ledger_root=found.ledger_root, proof=proof_fields(found)
        ))  # fmt: skip
        return
    _show(out, found)


def proof_fields(found: proofs.Verified) -> dict[str, Any]:
    """A checked proof for `--json`."""
    fields: dict[str, Any] = {"kind": found.kind, "anchor": found.anchor or None}
    names: tuple[str, ...] = ("room", "path")
    if found.kind == "consistency":
        names = _OF_CONSISTENCY
    elif found.kind != "absence":
        names += _OF_DOCUMENT + (_OF_PASSAGE if found.kind == "passage" else ()) + ("text_matched",)
    return fields | {name: getattr(found, name) for name in names}


def _show(out: Output, found: proofs.Verified) -> None:
    out.line(f"{out.style('proven', 'green', 'bold')} {_sentence(found)}")
    rows = [("commit", found.commit), ("root", found.ledger_root)]
    if found.kind == "consistency":
        rows.insert(0, ("older", f"{found.old_commit}, {count(found.old_log_size, 'commit')}"))
        rows[1] = ("commit", f"{found.commit}, {count(found.log_size, 'commit')}")
    if found.document:
        rows += [
            ("document", found.document),
            ("title", clean_words(found.title)),
            ("blake3", found.file_hash),
        ]
    if found.source_uri:
        rows.append(("source", clean_line(found.source_uri)))
    if found.text_matched:
        rows.append(("text", f"as given, it is the {found.text_matched}"))
    for label, value in rows:
        fact_line(out, label, value)
    if found.text:
        out.line()
        out.text(clean(found.text) + ("" if found.text.endswith("\n") else "\n"))
    if not found.anchor:
        out.warning("nothing vouches for this commit: compare its oid or root with one that came another way")
        out.hint("arbor verify --proof FILE --commit OID")


def _sentence(found: proofs.Verified) -> str:
    if found.kind == "consistency":
        return "the newer commit's history goes on from the older one's"
    what = "core " if found.room == "core" else ""
    place = f"{what}{quote_path(found.path)}"
    if found.kind == "absence":
        return f"there is no {place} in this commit"
    if found.kind == "document":
        return f"{place} is in this commit"
    return f"passage {found.index} (of {found.passages}, from 0) of {place} is in this commit"
