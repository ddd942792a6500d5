"""PEOPLE: the command line, one file per command; the only room that knows a terminal."""

from __future__ import annotations

from arbor.cli.app import main

__all__ = ["main"]
