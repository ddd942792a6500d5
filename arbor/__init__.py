"""arbor: git for knowledge. `arbor.init` and `arbor.open` give a KnowledgeBase whose methods mirror the commands."""

from __future__ import annotations

from arbor.kb import KnowledgeBase, init
from arbor.kb import open_kb as open  # noqa: A001 - `arbor.open` is the name that reads well

__version__ = "0.1.0"
__all__ = ["KnowledgeBase", "__version__", "init", "open"]
