"""`arbor completion`."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from arbor.cli.command import arbor_command, json_option
from arbor.cli.session import Session
from arbor.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


FIELDS = {"shell": "which shell it is for", "script": "what the shell is to read"}


@arbor_command("completion", fields=FIELDS)
@click.argument("shell", required=False, type=click.Choice(SHELLS), metavar="[bash | zsh | fish]")
@json_option
@click.pass_context
def command(ctx: click.Context, session: Session, shell: str | None, as_json: bool) -> None:
    """Print the script that makes TAB complete commands, options, documents and revisions.

    For example:

      bash   echo 'eval "$(arbor completion bash)"' >> ~/.bashrc
      zsh    echo 'eval "$(arbor completion zsh)"' >> ~/.zshrc
      fish   arbor completion fish > ~/.config/fish/completions/arbor.fish
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise UsageError("which shell is it for?", f"run: arbor completion {' | '.join(SHELLS)}")
    found = get_completion_class(name)
    assert found is not None
    script = found(ctx.find_root().command, {}, "arbor", "_ARBOR_COMPLETE").source()
    if as_json:
        session.out.json("completion", {"shell": name, "script": script})
    else:
        session.out.text(script)
