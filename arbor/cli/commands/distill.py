"""`arbor distill`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, documents_argument, json_option
from arbor.cli.session import Session
from arbor.cli.views import MAX_LISTED, count, note_rest
from arbor.errors import AnswerNo, UsageError
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from arbor.repo.distillation.distillers import registry
    from arbor.repo.distillation.distilling import Distilled
else:
    registry = lazy_module("arbor.repo.distillation.distillers.registry")

FIELDS = {
    "distiller": "the distiller's name",
    "cores": "one for each document: `path`, the core's `name` and `core` (its oid), `state` (`new`, `changed`, `same` "
    "or `skipped`), and the `problem` of what was skipped",
    "distillers": "with --list, and nothing else then: `name` and `parameters`, with their defaults, of each",
}


@arbor_command("distill", fields=FIELDS)
@documents_argument()
@click.option(
    "--with", "distiller", metavar="DISTILLER", help="first-sentence, keywords, lead, outline, or a plug-in."
)
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="A parameter of the distiller.")
@click.option("--list", "listing", is_flag=True, help="Name the distillers with their parameters and stop.")
@json_option
def command(
    session: Session, paths: tuple[str, ...], distiller: str | None, settings: tuple[str, ...], listing: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Make a short core of each document and stage it, bound to the passages it comes from.

    Without PATH every document is distilled. The same document and version give the same core on
    every machine.

    For example:

      arbor distill notes/ --with first-sentence
      arbor distill --with keywords --set count=8
      arbor distill --with keywords --set statistics=kb
    """
    if listing:
        _list(session, as_json)
        return
    if distiller is None:
        raise UsageError("say how to distill", f"with --with: {', '.join(registry.list_distillers())}")
    chosen = [session.document_or_core(path) for path in paths]
    trust = session.open().trust
    with session.progress("distilling") as progress:
        found = trust.distill(chosen, distiller, dict(map(_setting, settings)), progress=progress)
    if as_json:
        session.out.json("distill", {"distiller": distiller, "cores": [
            {"path": each.path, "name": each.name, "core": each.core or None, "state": each.state,
             "problem": each.problem or None}
            for each in found
        ]})  # fmt: skip
    else:
        _show(session, found)
    if all(each.state == "skipped" for each in found):
        raise AnswerNo("there was nothing to make a core of")


def _list(session: Session, as_json: bool) -> None:
    known = {name: registry.get_distiller(name).defaults for name in registry.list_distillers()}
    if as_json:
        rows = [{"name": name, "parameters": dict(defaults)} for name, defaults in known.items()]
        session.out.json("distill", {"distillers": rows})
        return
    for name, defaults in known.items():
        session.out.line(f"{name:16} {', '.join(f'{key}={value}' for key, value in defaults.items())}")


def _setting(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise UsageError(f"'{text}' is not a parameter", "write it like count=8")
    return name, value


def _show(session: Session, found: list[Distilled]) -> None:
    out = session.out
    made = [each for each in found if each.state in ("new", "changed")]
    if len(made) <= MAX_LISTED:
        for each in made:
            out.line(f"{each.state} core:{each.name}")
    states = Counter(each.state for each in found)
    out.line(
        f"{count(len(made), 'core')} staged, {states['same']:,} as before, {states['skipped']:,} skipped"
    )
    for each in [each for each in found if each.state == "skipped"][:MAX_LISTED]:
        out.note(f"skipped {session.shown(each.path)}: {each.problem}")
    note_rest(out, states["skipped"])
    if made:
        out.hint("arbor commit -m MESSAGE")
