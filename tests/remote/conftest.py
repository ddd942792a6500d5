"""The fixtures of the tests of sharing."""

from __future__ import annotations

from tests.cli.harness import cli, kb, steady, template

__all__ = ["cli", "kb", "steady", "template"]
