"""`arbor show`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from arbor.cli.arguments import Place, find_place, has_documents, is_span
from arbor.cli.command import arbor_command, json_option, offline_option, paths_after_dashes
from arbor.cli.completing import REVISION_OR_DOCUMENT
from arbor.cli.on_demand import bring_needs, with_texts
from arbor.cli.output import Output
from arbor.cli.safe_text import clean_line, clean_words, quote_path, table_lines, truncate, typed_path
from arbor.cli.session import Session
from arbor.cli.showing.commit_format import CommitForm, commit_form, format_options
from arbor.cli.showing.diff_view import (
    ChangeForm,
    change_form,
    comparing_options,
    diff_fields,
    patch_option,
    summary_options,
)
from arbor.cli.views import commit_fields, count, fact_line, link_fields, short, size
from arbor.errors import UsageError
from arbor.lazy import lazy_module
from arbor.repo.commits.revisions import find_ref
from arbor.repo.forgetting import cold_needs
from arbor.store.refs import TAGS

if TYPE_CHECKING:
    from arbor.cli.showing import signature_view
    from arbor.kb import KnowledgeBase
    from arbor.repo.results import CommitInfo, DocumentInfo, PassageInfo, TextDiff
else:
    signature_view = lazy_module("arbor.cli.showing.signature_view")

FIELDS = {
    "type": "`commit` or `document`; the keys below that fit it are there",
    "commit": "of a commit: `commit` (its oid), `ledger_root`, `parents`, `author`, `committer`, `subject`, "
    "`message`, `refs`, `signed`; with --show-signature also `signature`: `state`, `signer`, `key`, `reason`",
    "tag": "where an annotated tag was asked for: `name`, `tag` (its oid), `commit`, `message`, `tagger`, `seal`: "
    "`state` (good, bad, unknown, none), `signer`, `key`, `reason`; else null",
    "changes": "of a commit: `status`, `path`, `old_path`, `similarity`, `added`, `removed`, `diff`",
    "document": "of a document: `document` (its oid), `path`, `rev`, `kind`, `media_type`, `title`, "
    "`source_uri`, `encoding`, `size`, `file_hash` (BLAKE3, as b3sum prints it), `text_root`, `extractor`, "
    "`chunker`, `front_matter`, `tier`, `passages` (with `here`: whether the bytes are stored here), `links`",
}


@arbor_command("show", fields=FIELDS, splits_paths=True)
@click.argument(
    "words", nargs=-1, metavar="[REV | PATH[@REV] | REV:PATH] [-- PATH...]", type=REVISION_OR_DOCUMENT
)
@format_options
@click.option("--oneline", is_flag=True, help="Of a commit: one line about it.")
@click.option("-s", "--no-patch", is_flag=True, help="Of a commit: not what it changed.")
@summary_options("Of a commit: only")
@comparing_options
@patch_option
@click.option("--show-signature", is_flag=True, help="Of a commit: also whether it is signed, and by whom.")
@offline_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, session: Session, words: tuple[str, ...], show_signature: bool, no_patch: bool,
    as_json: bool, **shape: Any,
) -> None:  # fmt: skip
    """Show a commit with what it changed, all or at and below PATH, or a document with its passages.

    Of an annotated tag, also who made it, why, and whether its signature is good.

    For example:

      arbor show                     the last commit
      arbor show main -- notes       what the last commit of main changed there
      arbor show notes/a.md          what is known of a document
      arbor show notes/a.md@HEAD~2   two commits ago; or HEAD~2:notes/a.md
    """
    thing, *rest = words or ("HEAD",)
    after = paths_after_dashes(ctx)
    revision = _as_revision(session, thing)
    if revision is None:
        if rest or after:
            raise UsageError(f"'{thing}' is no revision, and of documents one is shown at a time",
                             f"run: arbor show {typed_path((*rest, *(after or ()))[0])}")  # fmt: skip
        _show_document(session, find_place(session, thing), as_json=as_json)
        return
    if rest and (after is not None or _as_revision(session, rest[0]) is not None):
        raise UsageError("one commit is shown at a time", f"run: arbor show {typed_path(rest[0])}")
    written = commit_form(session.open(), shape["form"], shape["date_form"], oneline=shape["oneline"])
    paths = [session.kb_path(path) for path in after or rest]
    changed = change_form(shape, patch=False if no_patch and not shape["summary"] else None)
    form = _Form(written, changed, show_signature, paths)
    _show_commit(session, revision, form, as_json=as_json)


def _as_revision(session: Session, thing: str) -> str | None:
    """The revision that the word names, else None; of something that is both, the revision."""
    kb = session.open()
    try:
        kb.resolve(thing)
    except UsageError:
        if is_span(kb, thing):
            hint = f"run: arbor log -p {typed_path(thing)}"
            raise UsageError(f"'{thing}' is a range, and one commit is shown", hint) from None
        if thing == "HEAD" or _looks_like_revision(session, thing):
            raise
        return None
    return thing


def _is_document(session: Session, thing: str) -> bool:
    try:
        find_place(session, thing)
    except UsageError:
        return False
    return True


def _looks_like_revision(session: Session, thing: str) -> bool:
    """Whether a word that names nothing was more likely meant as a revision than as a path."""
    if thing.startswith(":/") or "@{" in thing:
        return "}:" not in thing and not _is_document(session, thing)
    if any(char in thing for char in "/.:@"):
        return False
    path = session.kb_path(thing)
    kb = session.open()
    return not has_documents(kb, path) and not (kb.fs_root is not None and (kb.fs_root / path).exists())


class _Form(NamedTuple):
    """How a commit is shown."""

    written: CommitForm
    changed: ChangeForm
    signature: bool
    paths: Sequence[str]


def _show_commit(session: Session, revision: str, form: _Form, *, as_json: bool) -> None:
    kb, out, how = session.open(), session.out, form.changed

    def compare() -> tuple[CommitInfo, tuple[TextDiff, ...]]:
        return kb.show(revision, with_text=how.with_lines, paths=form.paths, comparing=how.comparing)

    info, changes = compare()
    changes = how.fitting(with_texts(session, changes, lambda: compare()[1]))
    tag = signature_view.find_tag(session, revision) if _is_tag(kb, revision) else None
    if as_json:
        with_lines, with_patch = how.with_lines, how.patch or not how.sums_lines
        fields = [diff_fields(change, with_lines=with_lines, with_patch=with_patch) for change in changes]
        commit = commit_fields(info)
        if form.signature:
            commit["signature"] = signature_view.signature_fields(session, info.commit)
        told = {"type": "commit", "tag": signature_view.tag_fields(tag) if tag else None, "commit": commit}
        out.json("show", {**told, "changes": fields})
        return
    with out.paged():
        for line in [*signature_view.tag_header(session, tag), ""] if tag else ():
            out.line(line)
        for line in _commit_lines(session, info, changes, form):
            out.line(line)


def _commit_lines(
    session: Session, info: CommitInfo, changes: Sequence[TextDiff], form: _Form
) -> Iterator[str]:
    lines = form.written.lines(session.out, info)
    yield from lines
    if form.signature:
        yield f"    {signature_view.signature_line(session, info.commit)}"
    is_asked = form.changed.summary or form.changed.patch
    if is_asked and lines and not form.written.is_short and (changes or form.written.template is None):
        yield ""
    yield from form.changed.lines(session.out, changes)


def _is_tag(kb: KnowledgeBase, revision: str) -> bool:
    return (find_ref(kb.repo, revision) or "").startswith(TAGS)


def document_fields(info: DocumentInfo, revision: str | None) -> dict[str, Any]:
    """A document for `--json`."""
    return {
        "document": info.document, "path": info.path, "rev": revision, "kind": info.kind,
        "media_type": info.media_type, "title": info.title, "source_uri": info.source_uri or None,
        "encoding": info.encoding, "size": info.size, "file_hash": info.file_hash,
        "text_root": info.text_root, "extractor": info.extractor, "chunker": info.chunker,
        "front_matter": info.front_matter, "tier": info.tier,
        "passages": [
            {"index": p.index, "oid": p.oid, "start_line": p.start_line, "end_line": p.end_line,
             "start_byte": p.start_byte, "end_byte": p.end_byte, "heading": list(p.heading), "here": p.here}
            for p in info.passages
        ],
        "links": [link_fields(link) for link in info.links],
    }  # fmt: skip


def _show_document(session: Session, place: Place, *, as_json: bool) -> None:
    kb, out = session.open(), session.out
    bring_needs(session, cold_needs.needs_of_document(kb.repo, place.path, place.revision))
    info = kb.document(place.path, place.revision)
    if as_json:
        out.json("show", {"type": "document", "document": document_fields(info, place.revision)})
        return
    with out.paged():
        out.line(
            out.style(quote_path(info.path), "bold")
            + (f" in {clean_line(place.revision)}" if place.revision else "")
        )
        for label, value in _facts(info):
            fact_line(out, label, value)
        _show_passages(out, info)


def _facts(info: DocumentInfo) -> Iterator[tuple[str, str]]:
    yield "title", clean_words(info.title)
    yield "document", info.document
    yield "type", f"{info.media_type}, {info.encoding}, {size(info.size)}"
    if info.kind != "surface":
        yield "kind", info.kind
    if info.source_uri:
        yield "source", clean_line(info.source_uri)
    yield "blake3", info.file_hash
    yield "text root", info.text_root
    yield "read by", clean_line(f"{info.extractor}, {info.chunker}")
    for name, value in info.front_matter.items():
        if value != info.title:
            yield clean_line(str(name)), clean_line(_plain(value))
    here = sum(passage.here for passage in info.passages)
    if info.tier != "hot":
        held = f", {here:,} of {count(len(info.passages), 'passage')} here" if info.tier == "cold" else ""
        yield "tier", f"{info.tier}{held}"
    yield "links", f"{len(info.links):,}" if here == len(info.passages) else "not known while it is cold"


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    return (
        {True: "true", False: "false", None: ""}.get(value, str(value))
        if isinstance(value, bool | None)
        else str(value)
    )


def _show_passages(out: Output, info: DocumentInfo) -> None:
    out.line(f"\n{count(len(info.passages), 'passage')}{':' if info.passages else ''}")
    for row in table_lines([_passage_row(info, passage) for passage in info.passages]):
        line = f"  {row}"
        out.line(truncate(line, out.width) if out.interactive else line)


def _passage_row(info: DocumentInfo, passage: PassageInfo) -> list[str]:
    """Number, lines, leaf, size and heading path without the title."""
    heading = passage.heading[1:] if passage.heading[:1] == (info.title,) else passage.heading
    lines = f"{passage.start_line}-{passage.end_line}"
    return [
        f"#{passage.index}",
        lines,
        short(passage.oid),
        size(passage.end_byte - passage.start_byte),
        clean_words(" › ".join(heading)),
        "" if passage.here else "cold",
    ]
