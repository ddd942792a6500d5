"""Ref names: whatever arbor takes, git takes too; what git takes and arbor does not, is refused for a stated reason."""

from __future__ import annotations

import random
import re
import shutil
import subprocess

import pytest

from arbor.errors import UsageError
from arbor.store.refs import check_ref_name

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
PIECES = [
    "a",
    "main",
    "feature",
    "/",
    "/",
    ".",
    "..",
    "-",
    "@",
    "@{",
    "{",
    "~",
    "^",
    ":",
    "?",
    "*",
    "[",
    "]",
    "\\",
    " ",
    "\t",
    "\x7f",
    "\x01",
    ".lock",
    "lock",
    "con",
    "aux",
    "é",
    "中",
    "HEAD",
    "1.2",
    "_",
    "#",
    "$",
    "%",
    "&",
    "(",
    "'",
    '"',
    ";",
    "<",
    "|",
    "+",
    "=",
    ",",
    "!",
]
STRICTER = re.compile(r"/-|\.(/|$)|/(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|/|$)", re.IGNORECASE)


def takes(name: str) -> bool:
    try:
        check_ref_name(name)
    except UsageError:
        return False
    return True


def git_takes(name: str) -> bool:
    return subprocess.run(["git", "check-ref-format", name], check=False).returncode == 0


def test_names_made_by_chance() -> None:
    source = random.Random(5)
    names = [
        "refs/heads/" + "".join(source.choice(PIECES) for _ in range(source.randrange(1, 5)))
        for _ in range(250)
    ]
    assert 20 < sum(map(takes, names)) < 230
    for name in names:
        if git_takes(name):
            assert takes(name) or STRICTER.search(name), name
        else:
            assert not takes(name), name


@pytest.mark.parametrize(
    "name",
    [
        "refs/heads/x/",
        "refs/heads/.x",
        "refs/heads/x/.y",
        "refs/heads/x.lock/y",
        "refs/heads/@",
        "refs/heads/@{x",
        "refs/heads/x@y",
        "refs/heads/x//y",
        "/refs/heads/x",
        "refs/heads/x..y",
        "refs/heads/{x}",
        "refs/heads/x.lockx",
        "refs/heads/@/x",
    ],
)
def test_names_picked_by_hand(name: str) -> None:
    assert takes(name) == git_takes(name)
