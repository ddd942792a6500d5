"""One module per command, each with a `command`; a module is loaded only when its command is run."""

from __future__ import annotations
