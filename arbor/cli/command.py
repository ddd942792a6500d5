"""What all commands share: how they are declared and read their arguments, and options that several have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from arbor.cli.completing import DOCUMENT, REVISION, DocumentType
from arbor.cli.output import COLOURS
from arbor.cli.session import Session
from arbor.lazy import lazy_pattern

F = TypeVar("F", bound=Callable[..., Any])
PATHS_AFTER_DASHES = "arbor.paths"
_NUMBER = lazy_pattern(r"-\d+")


class ArborCommand(click.Command):
    """A command that may take `-- PATH...` and `-NUM`, and the display options that may stand before it too.

    Attributes:
        splits_paths: What follows `--` are paths, and `paths_after_dashes` gives them.
        number_option: The option that `-NUM` stands for; "" where there is none.
        joined_options: Options whose value may be left out, and must else be joined to them: what follows after a space
            is an argument, as in git. Each with what it is read as where it stands without a value.
        fields: The keys of the JSON answer with what they mean; empty where there is no JSON answer.
    """

    def __init__(
        self, *args: Any, splits_paths: bool = False, number_option: str = "",
        joined_options: Mapping[str, str] | None = None, fields: Mapping[str, str] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, **kwargs)
        self.help = _keep_layout(inspect.cleandoc(self.help or ""))
        self.splits_paths = splits_paths
        self.number_option = number_option
        self.joined_options = dict(joined_options or {})
        self.fields = dict(fields or {})
        self.params += [
            click.Option(["--color"], type=click.Choice(COLOURS), hidden=True,
                         expose_value=False, callback=_set_colour, help="As before the command."),
            click.Option(["--no-pager"], is_flag=True, hidden=True, expose_value=False, callback=_set_pager,
                         help="As before the command."),
        ]  # fmt: skip

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; see the class."""
        args = _colour_words(args)
        if self.splits_paths and "--" in args:
            at = args.index("--")
            ctx.meta[PATHS_AFTER_DASHES] = tuple(args[at + 1 :])
            args = args[:at]
        if self.number_option:
            args = self._expand_numbers(args)
        if self.joined_options:
            end = args.index("--") if "--" in args else len(args)
            args = [self.joined_options.get(arg, arg) for arg in args[:end]] + args[end:]
        return super().parse_args(ctx, args)

    def _expand_numbers(self, args: list[str]) -> list[str]:
        """`-NUM` as the option with its number, except where it is that option's value."""
        names = next(param.opts for param in self.params if self.number_option in param.opts)
        return [
            part
            for before, arg in zip(["", *args], args, strict=False)
            for part in ([arg] if before in names else _expand_number(arg, self.number_option))
        ]


def _colour_words(args: list[str]) -> list[str]:
    """The `--no-color` of git, and `--color` without a word, as `--color` with one; what follows `--` stays."""
    end = args.index("--") if "--" in args else len(args)
    words = []
    for arg, after in zip(args[:end], [*args[1:end], ""], strict=False):
        if arg == "--no-color":
            words.append("--color=never")
        elif arg == "--color" and after not in COLOURS:
            words.append("--color=always")
        else:
            words.append(arg)
    return words + args[end:]


def _keep_layout(text: str) -> str:
    """Help whose indented paragraphs click prints line by line as they are."""
    return "\n\n".join(f"\b\n{part}" if part.startswith("  ") else part for part in text.split("\n\n"))


def _expand_number(arg: str, option: str) -> list[str]:
    return [option, arg[1:]] if _NUMBER.fullmatch(arg) else [arg]


def _set_colour(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None and isinstance(ctx.obj, Session):
        ctx.obj.out.colour = value


def _set_pager(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and isinstance(ctx.obj, Session):
        ctx.obj.out.use_pager = False


def _set_quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and isinstance(ctx.obj, Session):
        ctx.obj.out.quiet = True


def _set_offline(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and isinstance(ctx.obj, Session):
        ctx.obj.offline = True


def arbor_command(
    name: str,
    *,
    fields: Mapping[str, str] | None = None,
    splits_paths: bool = False,
    number_option: str = "",
    joined_options: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Any]], ArborCommand]:
    """Declare a command; its function's docstring is its help, and gets the Session first."""

    def declare(function: Callable[..., Any]) -> ArborCommand:
        made = click.command(
            name, cls=ArborCommand, fields=fields, splits_paths=splits_paths, number_option=number_option,
            joined_options=joined_options,
        )(click.pass_obj(function))  # fmt: skip
        assert isinstance(made, ArborCommand)
        return made

    return declare


def paths_after_dashes(ctx: click.Context) -> tuple[str, ...] | None:
    """What followed `--`; None where there was none."""
    found: tuple[str, ...] | None = ctx.meta.get(PATHS_AFTER_DASHES)
    return found


json_option = click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
quiet_option = click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=_set_quiet,
                            help="Say nothing but warnings and errors.")  # fmt: skip
"""Nothing is said but warnings, errors and a JSON answer."""

offline_option = click.option("--offline", is_flag=True, expose_value=False, callback=_set_offline,
                              help="Ask no remote for what is cold here.")  # fmt: skip
no_edit_option = click.option("--no-edit", is_flag=True, expose_value=False,
                              help="Keep the prepared message, as without it.")  # fmt: skip
"""As people type it for git: no editor is opened here in any case."""

signed_option = click.option("--require-signed/--no-require-signed", "require_signed", default=None,
                             help="Refuse commits without a good signature (pull.require_signed).")  # fmt: skip
dry_run_option = click.option(
    "-n", "--dry-run", is_flag=True, help="Say what would happen and change nothing."
)
at_option = click.option("--at", metavar="REV", type=REVISION, help="Look at this revision.")


def option_group(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Options that go together, as one decorator; the help lists them in this order."""

    def declare(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return declare


merge_options = option_group(
    click.option("--ff-only", is_flag=True, help="Refuse unless a fast-forward is possible."),
    click.option("--no-ff", is_flag=True, help="Make a merge commit even where a fast-forward is possible."),
    click.option("--no-commit", is_flag=True, help="Stage the merge and leave the commit to you."),
    click.option("--allow-unrelated", "--allow-unrelated-histories", "allow_unrelated", is_flag=True,
                 help="Merge histories that have nothing in common."),
)  # fmt: skip
"""How a merge is made."""


def message_option(what: str) -> Callable[[F], F]:
    """`-m` as `message`: several are one, with empty lines between as in git; None where none is given."""

    def joined(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> str | None:
        return "\n\n".join(given) if given else None

    return click.option("-m", "--message", multiple=True, metavar="TEXT", callback=joined, help=what)


def documents_argument(
    *, required: bool = False, metavar: str = "[PATH]...", kind: DocumentType = DOCUMENT
) -> Callable[[F], F]:
    """`paths` of documents, any number, completed from what the knowledge base holds, or else as their kind has it."""
    return click.argument("paths", nargs=-1, required=required, metavar=metavar, type=kind)
