"""Who is at work: the only place that asks the environment and the system for a name."""

from __future__ import annotations

import getpass
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.lazy import lazy_module

if TYPE_CHECKING:
    import platformdirs

    from arbor.kb import KnowledgeBase
else:
    platformdirs = lazy_module("platformdirs")

_IS_LINUX = str(sys.platform) == "linux"  # as text, so that a type checker reads both branches


def user_config_path() -> Path:
    """The user's own settings file: `ARBOR_CONFIG`, else `config.toml` in the user's configuration folder."""
    if names_user_config():
        return Path(os.environ["ARBOR_CONFIG"])
    if _IS_LINUX:  # what platformdirs says too, which takes 15 ms to load
        return (
            Path(os.environ.get("XDG_CONFIG_HOME", "").strip() or "~/.config").expanduser()
            / "arbor/config.toml"
        )
    return platformdirs.user_config_path("arbor") / "config.toml"


def names_user_config() -> bool:
    """Whether `ARBOR_CONFIG` says where the user's own settings are."""
    return bool(os.environ.get("ARBOR_CONFIG"))


def set_identity(kb: KnowledgeBase) -> bool:
    """Tell the knowledge base who is at work: environment, settings, then the login name at this machine.

    Returns:
        False where nobody has said who they are, so that the login name had to do.
    """
    kb.repo.identity, is_known = find_identity(kb.config_get)
    return is_known


def find_identity(setting: Callable[[str], object]) -> tuple[tuple[str, str], bool]:
    """((name, e-mail address), whether somebody has said the name) of who is at work; see `set_identity`."""
    name = os.environ.get("ARBOR_AUTHOR_NAME") or setting("user.name")
    email = os.environ.get("ARBOR_AUTHOR_EMAIL") or setting("user.email")
    identity = str(name or _login_name()), str(email or f"{_login_name()}@{platform.node() or 'localhost'}")
    return identity, bool(name)


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
