"""git as the peer: its defaults, but no fsync (in its favour) and no housekeeping that runs on by itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.benchmarks.harness import run_untimed

GIT = ("git", "-c", "core.fsync=none", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
RECORD = ((*GIT, "add", "."), (*GIT, "commit", "--quiet", "--message", "notes"))


def start(tree: Path) -> None:
    """A fresh, empty repository over the files that are there."""
    shutil.rmtree(tree / ".git", ignore_errors=True)
    run_untimed([(*GIT, "init", "--quiet")], tree)


def repack(tree: Path) -> None:
    """What a user gets after housekeeping: everything in one pack."""
    run_untimed([(*GIT, "gc", "--quiet", "--prune=now")], tree)
