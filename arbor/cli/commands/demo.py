"""`arbor demo`."""

from __future__ import annotations

import tempfile

import click

from arbor.cli import demo_documents as documents
from arbor.cli.command import arbor_command, json_option
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.showing.ripple_view import ripple_fields, ripple_line, standing_fields
from arbor.cli.views import LABEL_STYLES
from arbor.kb import KnowledgeBase, init
from arbor.search.following import CommitResult

FIELDS = {
    "steps": "one for each commit: `step`, `ripple`, `standings`",
    "ranking": "paths as ranked by `relevance` and by the profile `ripple`",
}


@arbor_command("demo", fields=FIELDS)
@click.argument("what", default="ripple", type=click.Choice(["ripple"]), metavar="[ripple]")
@json_option
def command(session: Session, what: str, as_json: bool) -> None:
    """Walk through a life cycle on built-in documents.

    `arbor demo ripple` makes a knowledge base in a temporary folder and shows how labels follow: a first
    backfill, newcomers whose effect travels, a copy that does not count, a note on something else that stays
    NOVEL, and how consensus changes the ranking.
    """
    del what
    steps = []
    with tempfile.TemporaryDirectory(prefix="arbor-demo-") as folder, init(folder) as kb:
        kb.repo.identity = ("arbor demo", "demo@localhost")
        for title, files in _script():
            for path, text in files.items():
                kb.add_bytes(path, text.encode())
            made = kb.commit(title)
            standings = kb.standings()
            steps.append({"step": title, "ripple": ripple_fields(made.ripple),
                          "standings": {path: standing_fields(standing) for path, standing in standings}})  # fmt: skip
            if not as_json:
                _show(session, kb, title, made)
        ranking = {name: [hit.path for hit in kb.search(documents.QUESTION, rank=name, limit=4).hits]
                   for name in ("relevance", "ripple")}  # fmt: skip
    if as_json:
        session.out.json("demo", {"steps": steps, "ranking": ranking})
        return
    _show_ranking(session, ranking)


def _script() -> list[tuple[str, dict[str, str]]]:
    return [
        ("Backfill: five notes by five people", documents.BEGINNING),
        ("A newcomer on the same topic", dict([documents.NEWCOMER])),
        ("A third voice", dict([documents.THIRD])),
        ("A copy of the first note: not a source of its own", dict([documents.COPY])),
        ("A note on something else", dict([documents.ISOLATED])),
    ]


def _show(session: Session, kb: KnowledgeBase, title: str, made: CommitResult) -> None:
    out = session.out
    out.line(out.style(title, "bold"))
    if made.ripple is not None:
        out.line(f"  {clean_line(ripple_line(_Plain(session), made.ripple))}")
    for path, standing in kb.standings():
        label = standing.label.value
        groups = f"{standing.groups} independent" if standing.groups else "on its own"
        out.line(f"  {out.style(f'{label:<12}', LABEL_STYLES[label])} {path}  {out.style(groups, 'dim')}")
    out.line()


class _Plain(Session):
    """A session for the demo's own knowledge base, whose paths are shown as they are."""

    def __init__(self, session: Session) -> None:
        super().__init__(session.cwd, session.out)

    def shown(self, path: str) -> str:
        """The path itself."""
        return path


def _show_ranking(session: Session, ranking: dict[str, list[str]]) -> None:
    out = session.out
    out.line(out.style(f"Re-ranking: {documents.QUESTION}", "bold"))
    out.line(f"  {'by relevance':<24} by the profile ripple")
    for left, right in zip(ranking["relevance"], ranking["ripple"], strict=False):
        out.line(f"  {left:<24} {right}")
