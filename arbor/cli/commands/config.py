"""`arbor config`."""

from __future__ import annotations

from typing import Any

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.identity import user_config_path
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.errors import AnswerNo, UsageError
from arbor.repo.config import Settings, check_setting, parse_setting

FIELDS = {"settings": "each setting in force by its name (only the one asked for or changed, when one was)"}
_ACTIONS = ("get", "set", "unset", "list")


@arbor_command("config", fields=FIELDS)
@click.argument("words", nargs=-1, metavar="[get | set | unset | list] [NAME] [VALUE]")
@click.option("--global", "user_wide", is_flag=True, help="The settings of all your knowledge bases.")
@click.option("--get", "option", flag_value="get", help="Print NAME.")
@click.option("--unset", "option", flag_value="unset", help="Remove NAME.")
@click.option("-l", "--list", "option", flag_value="list", help="Print every setting in force.")
@json_option
def command(
    session: Session, words: tuple[str, ...], user_wide: bool, option: str | None, as_json: bool
) -> None:
    """Read and change settings.

      arbor config                             everything in force
      arbor config user.name                   one setting
      arbor config --global user.name 'Ada'    for all your knowledge bases
      arbor config unset user.name             remove it from this one

    Settings of this knowledge base are in .arbor/config.toml and never leave it; your own are in config.toml
    in your configuration folder (ARBOR_CONFIG names another file). Policy that travels with the documents is
    in arbor.toml.

    The settings are user.name, user.email, core.index (false: commits leave the index to the next search),
    core.pager (false: never page), color.ui (auto, always or never), sign.key, sign.commits,
    sign.allowed_signers and pull.require_signed. The file that sign.key or sign.allowed_signers names is found
    from the folder of the knowledge base, in your own settings from your home folder, or begins with ~/.
    """
    action, name, value = _understand(words, option)
    settings = Settings(user_config_path()) if user_wide else None
    if action == "list":
        items = settings.items() if settings else session.open().config_items()
    elif action == "get":
        items = {name: _get(session, settings, name)}
    else:
        _change(session, settings, name, value)
        if not as_json:
            return
        value = settings.get(name) if settings else session.open().config_get(name)
        items = {} if value is None else {name: value}
    if as_json:
        session.out.json("config", {"settings": items})
    elif action == "get":
        session.out.line(_shown(items[name]))
    else:
        for key, found in items.items():
            session.out.line(f"{clean_line(key)} = {_shown(found)}")


def _understand(words: tuple[str, ...], option: str | None) -> tuple[str, str, str | None]:
    """(action, name, value) of what was typed; the action may be an option, as in older git, or be left out."""
    action, rest = (words[0], words[1:]) if words and words[0] in _ACTIONS else ("", words)
    action = option or action
    if not action:
        action = ("list", "get", "set")[min(len(rest), 2)]
    wanted = {"list": 0, "get": 1, "unset": 1, "set": 2}[action]
    if len(rest) != wanted:
        raise UsageError(f"'{action}' takes {wanted} word{'' if wanted == 1 else 's'}, not {len(rest)}",
                         "run: arbor config --help")  # fmt: skip
    return action, rest[0] if rest else "", rest[1] if wanted == 2 else None


def _get(session: Session, settings: Settings | None, name: str) -> Any:
    value = settings.get(name) if settings else session.open().config_get(name)
    if value is None:
        check_setting(name)
        where = "--global " if settings else ""
        raise AnswerNo(f"'{name}' is not set", f"run: arbor config {where}{name} VALUE")
    return value


def _change(session: Session, settings: Settings | None, name: str, value: str | None) -> None:
    if settings is None:
        session.open().config_set(name, value)
    else:
        settings.set(name, None if value is None else parse_setting(name, value))


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else clean_line(str(value))
