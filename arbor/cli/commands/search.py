"""`arbor search`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from arbor.cli.command import ArborCommand, at_option, json_option
from arbor.cli.session import Session
from arbor.cli.showing.search_view import hit_lines, porcelain_line, result_fields, summary_lines
from arbor.errors import IntegrityError, UsageError
from arbor.lazy import lazy_module, lazy_pattern
from arbor.search import audit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arbor.cli import hit_proofs
    from arbor.search.results import SearchResult
else:
    hit_proofs = lazy_module("arbor.cli.hit_proofs")

FIELDS = {
    "query": "as it was understood to be typed",
    "mode": "the least proof that a hit must have: STRICT, HYBRID or VISUAL",
    "rev": "oid of the commit that was searched; null before the first",
    "ledger_root": "Merkle root of what was searched",
    "trace": "names this search: the same version, query, mode and hits have the same trace",
    "hits": "best first; each has `rank`, `path`, `paths` (all that hold the same content, those that path: asks for "
    "first), `document`, "
    "`kind`, `title`, `chunk` (`index`, `oid`, `start_line`, `end_line`, `start_byte`, `end_byte`; "
    "of PDF, HTML, mail and Word files the lines and bytes of the text that was read in them), "
    "`heading`, `text`, `snippet`, `highlights` (none with --raw), `line` (of the first of them), `score`, "
    "`scores` (`raw` and `normalised` of each signal), "
    "`label`, `contested` (true where somebody says that it contradicts another document, or is contradicted; else "
    "false), `audit`, `reasons`, `sources` (of a core: `path`, `document`, `index`, `leaf` of each passage that it "
    "was made from, and whether the document has `changed` since) and further `passages`, and with --proof the "
    "`proof` of its best passage, as arbor prove writes it, or null where there is none",
    "withheld": "hits that the mode did not allow: `count`, and `reasons` with how many each",
    "more": "whether further documents match, which were not looked at",
    "stale": "whether the index could not be brought to the version asked for, since the store is damaged: only "
    "with VISUAL; `rev` is then null",
    "notes": "what was done to the query, and how many documents could not be searched in full",
}
MODES = ("STRICT", "HYBRID", "VISUAL")
KINDS = ("surface", "core")
EXIT_NO_MATCH = 1
_FURTHER_PASSAGES = 3
_QUOTABLE = lazy_pattern(r"(-?(?:[a-z]+:)?)(.*\s.*)", re.DOTALL)
_MARKS = '["\u201c-\u201f\uff02\xab\xbb]'
_MARK = lazy_pattern(_MARKS)
_EXCLUSION = lazy_pattern(rf"-(?:[^-\W]|{_MARKS}).*", re.DOTALL)
_ESCAPE = "\0"  # no argument of a process can hold it


class SearchCommand(ArborCommand):
    """A command whose words may begin with a minus: `-draft` leaves documents out and is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Tell exclusions from options before click reads them."""
        at = args.index("--") if "--" in args else len(args)
        known = {name for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        takes_value = {name for option in options if not option.is_flag for name in option.opts}
        head: list[str] = []
        for arg in args[:at]:
            is_value = bool(head) and head[-1] in takes_value
            word = (
                not is_value
                and arg not in known
                and not re.fullmatch(r"-n?\d+", arg)
                and _EXCLUSION.fullmatch(arg)
            )
            head.append(_ESCAPE + arg if word else arg)
        tail = [_ESCAPE + arg for arg in args[at + 1 :]]
        return super().parse_args(ctx, head + tail)


@click.command("search", cls=SearchCommand, fields=FIELDS, number_option="-n")
@click.argument("words", nargs=-1, metavar="WORDS...")
@click.option("--mode", type=click.Choice(MODES, case_sensitive=False), metavar="MODE",
              help="The least proof of a hit: STRICT, HYBRID (the default) or VISUAL.")  # fmt: skip
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=10, show_default=True, metavar="NUM",
              help="Documents to show; also -NUM.")  # fmt: skip
@click.option("--passages", type=click.IntRange(min=1), default=1, show_default=True, metavar="NUM",
              help="Passages to quote of each document.")  # fmt: skip
@at_option
@click.option("--kind", type=click.Choice(KINDS), metavar="KIND",
              help="Only surface documents (what came in), or only cores (texts made from others).")  # fmt: skip
@click.option("--rank", metavar="PROFILE", help="Rank by relevance, ripple, or a profile of arbor.toml.")
@click.option("--explain", is_flag=True, help="Show every signal of each hit, and why it carries its label.")
@click.option("-w", "--working-copy", "working_copy", type=bool, flag_value=True, default=None,
              help="Also files not committed as they are, as VISUAL hits.")  # fmt: skip
@click.option("--no-working-copy", "working_copy", type=bool, flag_value=False, default=None,
              help="Not those files, with --mode VISUAL.")  # fmt: skip
@click.option("--raw", is_flag=True, help="WORDS are an FTS5 expression; no matches are marked.")
@click.option("--exit-code", is_flag=True, help="End with 1 when nothing is found.")
@click.option("--proof", is_flag=True, help="With --json: attach the proof of each hit's best passage.")
@click.option("--porcelain", is_flag=True,
              help="For scripts: rank, audit, score, path, first line, last line, title.")  # fmt: skip
@json_option
@click.pass_obj
def command(
    session: Session, words: tuple[str, ...], mode: str | None, limit: int, passages: int, at: str | None,
    kind: str | None, rank: str | None, explain: bool, working_copy: bool | None, raw: bool, exit_code: bool,
    proof: bool, porcelain: bool, as_json: bool,
) -> int:  # fmt: skip
    """Find passages, grouped by document, best first.

      arbor search merkle proof            passages with any of the words
      arbor search '"merkle proof"'        only documents with the phrase
      arbor search '"merkle pro*"'         with a phrase that begins so
      arbor search proof -draft            no document that holds "draft"
      arbor search distil* title:merkle    beginnings of words; words in the title
      arbor search proof path:notes/ kind:surface lang:zh since:30d
      arbor search proof since:2024-05 until:2024   from May on, to the year's end

    STRICT shows what was read, hashed and proven into the commit just now and holds a word of the query.
    HYBRID also shows what is proven in part, and says which part. VISUAL claims nothing,
    and also looks at files that are not committed as they are.
    """
    query = join_query(words)
    if not query.strip():
        raise UsageError("the query is empty", "run: arbor search WORDS")
    if proof and not as_json:
        raise UsageError("proofs are attached to --json", "for one passage, run: arbor prove PATH:LINE")
    if working_copy and (mode or "VISUAL") != "VISUAL":
        raise UsageError(
            f"files that are not committed are never {mode}", "leave out --mode, or --working-copy"
        )
    result = session.open().search(
        query, mode=mode or ("VISUAL" if working_copy else "HYBRID"), limit=limit, at=at,
        passages=max(passages, _FURTHER_PASSAGES), raw=raw, kind=kind or "", rank=rank, working_copy=working_copy,
        progress=session.out.note,
    )  # fmt: skip
    out = session.out
    if as_json:
        fields = result_fields(result)
        out.json("search", hit_proofs.attach_proofs(session, fields) if proof else fields)
    elif porcelain:
        for hit in result.hits:
            out.line(porcelain_line(hit))
    else:
        cells = len(str(len(result.hits)))
        with out.paged():
            for number, hit in enumerate(result.hits):
                if number:
                    out.line()
                for line in hit_lines(session, hit, cells, passages, explain=explain):
                    out.line(line)
        for line in summary_lines(result, len(result.hits)):
            out.note(line)
    return _end(session, result, exit_code=exit_code)


def _end(session: Session, result: SearchResult, *, exit_code: bool) -> int:
    """Say what is wrong with the store, where that showed; the exit code."""
    if result.stale:
        session.out.warning(
            "the index could not be compared with this version, so these may be hits of an older one"
        )
    is_damaged = result.stale or not audit.DAMAGE.isdisjoint(_reasons(result))
    if is_damaged:
        session.out.hint("run: arbor verify")
    if is_damaged and not result.hits:
        return IntegrityError.exit_code
    return EXIT_NO_MATCH if exit_code and not result.hits else 0


def _reasons(result: SearchResult) -> Iterator[str]:
    """Everything that is said against a hit, shown or withheld."""
    yield from result.withheld
    for hit in result.hits:
        yield from hit.reasons


def join_query(words: tuple[str, ...]) -> str:
    """The query that was typed, with the quotation marks that the shell took away put back.

    One argument is the whole query. Of several, one with spaces in it was quoted: `-"old name"` and
    `path:"my notes"` need their marks again, and any other is a phrase.
    """
    plain = [word.removeprefix(_ESCAPE) for word in words]
    if len(plain) == 1:
        return plain[0]
    return " ".join(map(_requote, plain))


def _requote(word: str) -> str:
    found = _QUOTABLE.fullmatch(word)
    if not found or '"' in word or _MARK.match(found[2]):
        return word
    return f'{found[1]}"{found[2]}"'
