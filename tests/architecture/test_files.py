"""What is kept under version control: sources, and nothing that a tool dropped beside them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
MAX_FILE_BYTES = 1 << 20
BUILT = (".whl", ".tar.gz", ".zip", ".so", ".pyc", ".egg")


@pytest.mark.skipif(
    shutil.which("git") is None or not (TOP / ".git").exists(), reason="this is no git checkout"
)
def test_no_tracked_file_is_built_or_large() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True
    ).stdout.decode()
    tracked = [TOP / name for name in listed.split("\0") if name]
    assert tracked
    wrong = [
        str(path.relative_to(TOP))
        for path in tracked
        if path.is_file() and (path.name.endswith(BUILT) or path.stat().st_size > MAX_FILE_BYTES)
    ]
    assert wrong == [], "remove these, and let .gitignore name what made them"
