"""arbor: git for knowledge. `arbor.init` and `arbor.open` give a KnowledgeBase with a method for each command."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arbor import errors, proofs
    from arbor.errors import ArborError
    from arbor.kb import KnowledgeBase, clone, init
    from arbor.kb import open_kb as open

__version__ = "0.1.0"
__all__ = ["ArborError", "KnowledgeBase", "__version__", "clone", "errors", "init", "open", "proofs"]
_FRONT_DESK = {"KnowledgeBase": "KnowledgeBase", "clone": "clone", "init": "init", "open": "open_kb"}
_MODULES = ("errors", "proofs")


def __getattr__(name: str) -> Any:
    """The front desk's names, loaded at their first use: `arbor.proofs` and `--help` do without the rooms."""
    if name in _FRONT_DESK:
        return getattr(importlib.import_module("arbor.kb"), _FRONT_DESK[name])
    if name == "ArborError":
        return importlib.import_module("arbor.errors").ArborError
    if name in _MODULES:
        return importlib.import_module(f"arbor.{name}")
    raise AttributeError(f"module 'arbor' has no attribute '{name}'")
