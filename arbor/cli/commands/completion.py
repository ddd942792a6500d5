"""`arbor completion`."""

from __future__ import annotations

import os

import click
from click.shell_completion import BashComplete, FishComplete, get_completion_class

from arbor.cli.command import arbor_command, json_option
from arbor.cli.session import Session
from arbor.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


class _BashComplete(BashComplete):
    """As click has it, but a word goes to the command line as it is typed: `a note.md` with its space quoted.

    Bash puts the quotation mark back that the word begins with; in any other word each sign is quoted by itself.
    """

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' line value typed=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    while read -r line; do
        value=${line#*,}
        case ${line%%%%,*} in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                [[ $typed == [\\'\\"]* ]] || printf -v value %%q "$value"
                COMPREPLY+=("$value")
                ;;
        esac
    done < <(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _FishComplete(FishComplete):
    """As click has it, but only the first comma of a line parts it: paths and descriptions hold others."""

    source_template = """\
function %(complete_func)s
    set -lx %(complete_var)s fish_complete
    set -lx COMP_WORDS (commandline -cp)
    set -lx COMP_CWORD (commandline -t)
    for line in (%(prog_name)s)
        set -l parts (string split -m 1 , -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2]
            case file
                __fish_complete_path $parts[2]
            case plain
                echo $parts[2]
        end
    end
end

complete --no-files --command %(prog_name)s --arguments '(%(complete_func)s)'
"""


_OURS = {"bash": _BashComplete, "fish": _FishComplete}
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
    found = _OURS.get(name) or get_completion_class(name)
    assert found is not None
    script = found(ctx.find_root().command, {}, "arbor", "_ARBOR_COMPLETE").source()
    if as_json:
        session.out.json("completion", {"shell": name, "script": script})
    else:
        session.out.text(script)
