"""Ignore rules mean what they mean to git: `git check-ignore` is asked about the same trees and patterns."""

from __future__ import annotations

import functools
import os
import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from arbor.repo.work_tree.wildmatch import parse_pattern
from arbor.repo.work_tree.worktree import scan

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

STARS_BEHIND_LITERAL = re.compile(rb"[^*/!\n]\*\*+/")
"""`foo**/a`: git up to 2.47 compares `foo` by itself, so that the stars may span folders; git 2.53 does not."""

TREE = [
    "a",
    "b.md",
    "c.txt",
    "d.o",
    "foo",
    "bar.md",
    "x/a",
    "x/b.md",
    "x/foo",
    "x/y/a",
    "x/y/b.md",
    "x/y/foo/deep.md",
    "foo bar/a b.md",
    "foobar/a",
    "dir/sub/a",
    "dir/sub/c.txt",
    "dir/foo",
    "#hash",
    "!bang",
    "sp ",
    "back[1].md",
    "Ab",
    "é.md",
    "x/.hidden",
    ".dot/a",
    "build/out.o",
    "x/build/in.md",
    "a*b",
    "a-b",
    "x/y/z/w/v.md",
    "]",
    "[a]",
]


def ask_git(folder: Path, paths: list[str]) -> set[str]:
    """The paths that git ignores, by the rules alone."""
    done = subprocess.run(
        ["git", "-c", "core.quotePath=false", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=folder,
        input="\0".join(paths).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return {name for name in done.stdout.decode().split("\0") if name}


@functools.cache
def spans_folders_behind_literal() -> bool:
    """Whether this git is one of the earlier ones, see `STARS_BEHIND_LITERAL`."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        Path(folder, ".gitignore").write_text("foo**/*\n")
        return ask_git(Path(folder), ["foo"]) == {"foo"}


def make_tree(folder: Path) -> None:
    for name in TREE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ignore")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    make_tree(folder)
    return folder


def compare(folder: Path, rules: dict[str, bytes]) -> None:
    if any(map(STARS_BEHIND_LITERAL.search, rules.values())) and not spans_folders_behind_literal():
        pytest.skip("this git means something else by stars behind a literal")
    written = []
    for place, text in rules.items():
        path = folder / place / ".gitignore"
        path.write_bytes(text)
        written.append(path)
    try:
        ignored = ask_git(folder, TREE)
        listing = scan(folder)
        found = set(listing.files) | {name.removesuffix("/") for name, _ in listing.skipped}
        assert {name for name in TREE if name not in found} == ignored
    finally:
        for path in written:
            path.unlink()


HAND_PICKED = [
    "*.md",
    "*.md\n!b.md",
    "foo",
    "/foo",
    "foo/",
    "x/",
    "/x/",
    "x/*",
    "x/*\n!x/y",
    "x/\n!x/a",
    "x/*\n!x/a",
    "**/foo",
    "foo/**",
    "x/**/a",
    "x/**",
    "**",
    "*",
    "*\n!*/",
    "*\n!*/\n!*.md",
    "/*",
    "/*\n!/x",
    "**/y/",
    "y/*",
    "x/y/*\n!x/y/a",
    "# comment\nfoo",
    "\\#hash",
    "#hash",
    "\\!bang",
    "!bang",
    "sp\\ ",
    "sp ",
    "sp  ",
    "foo bar",
    "foo bar/",
    "f?o",
    "[ab]",
    "[!a]",
    "[^a]",
    "[a-c]*",
    "[]]",
    "[[]a]",
    "[[]",
    "[",
    "a[",
    "a\\",
    "\\a",
    "a\\*b",
    "a*b",
    "*.[oa]",
    "*.o\n",
    "\n\n*.o\n\n",
    "*.o\r\n!d.o\r\n",
    "\ufeff*.o",
    "b.md\n*.md\n!b.md",
    "!a",
    "a\n!a",
    "!a\na",
    "/a",
    "//a",
    "a//",
    "./a",
    "../a",
    "x//a",
    "x/./a",
    "dir/sub",
    "/dir/sub/",
    "sub",
    "sub/",
    "dir/*/a",
    "dir/**/a",
    "**/a",
    "a/**",
    "**/",
    "**/x/**",
    "*/a",
    "*/*/a",
    "?",
    "??",
    "*b*",
    "foo*",
    "*foo",
    ".*",
    ".?*",
    ".*/",
    "!.dot/\n.*",
    "build",
    "build/",
    "/build/",
    "x/build/",
    "**/build/*.o",
    "AB",
    "ab",
    "é.md",
    "*.MD",
    "\\*",
    "[[:alpha:]]",
    "[[:digit:]]*",
    "[a-]",
    "[-a]",
    "x/**/**/a",
    "***",
    "**a",
    "a**",
    "x/y/z/**/v.md",
    "x/***/a",
    "/**/a",
    "/**",
    "x/**/",
    "[!b].md",
    "back[[]1].md",
    "back\\[1\\].md",
    "back[1].md",
    "*]",
    "\\]",
    "{a,b}",
    "a|b",
    "(a)",
    "^a",
    "$",
    "+",
    "a.b",
    "!",
    "!!",
    "/",
    "//",
    " ",
    "  a",
    "a\t",
    "\\",
    "\\\\",
    "[\\]]",
    "[a\\]",
    "!*.md\n*.md",
    "*\n!/x/\n!/x/y/\n!/x/y/a",
    "foo**/*",
    "foo**/**",
    "f**/**",
    "/foo***/**",
    "/foo**",
    "/foo**/a",
    "fo**/foo",
    "x/fo**/**",
    "x/y/**/deep.md",
    "x/y**/a",
    "foo**/**/a",
    "*\n!/foo**\n!/x**/",
    "f[o]o**/**",
    "\\foo**/**",
    "fo?**/**",
]


@pytest.mark.parametrize("text", HAND_PICKED)
def test_patterns_picked_by_hand(tree: Path, text: str) -> None:
    compare(tree, {"": text.encode()})


@pytest.mark.parametrize(
    "rules",
    [
        {"": b"*.md\n", "x": b"!b.md\n"},
        {"": b"!a\n", "x": b"a\n"},
        {"x": b"/a\n"},
        {"x": b"y/\n"},
        {"x": b"/y/a\n", "x/y": b"!a\n"},
        {"": b"x/\n", "x": b"!a\n"},
        {"": b"x/*\n!x/y/\n", "x/y": b"*\n!a\n"},
        {"x": b"*\n", "x/y": b"!*\n"},
        {"dir": b"sub\n"},
        {"dir": b"**/a\n"},
        {"dir": b"/**/a\n"},
        {"": b"/dir/sub/a\n", "dir": b"!sub/a\n"},
        {"x": b".hidden\n"},
        {"x": b"foo**/*\n"},
        {"x": b"/foo***/**\n", "x/y": b"!foo**/**\n"},
    ],
)
def test_rules_of_several_folders(tree: Path, rules: dict[str, bytes]) -> None:
    compare(tree, rules)


SEGMENTS = st.sampled_from(
    "a b.md foo x y sub * ** *.md ? f* [ab] [!a] build a* *o foo** f** x** **o".split()  # noqa: SIM905
)
PATTERNS = st.builds(
    lambda bang, root, parts, tail: bang + root + "/".join(parts) + tail,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(SEGMENTS, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)
FILES = st.lists(PATTERNS, min_size=1, max_size=4).map(lambda lines: "\n".join(lines).encode())


@given(FILES, st.none() | FILES, st.none() | FILES)
@settings(max_examples=60)
@example(b"*\n!*/\n!*.md", b"*\n", None)
def test_patterns_made_by_chance(tree: Path, top: bytes, inner: bytes | None, deepest: bytes | None) -> None:
    rules = {"": top, "x": inner, "x/y": deepest}
    assume(
        spans_folders_behind_literal()
        or not any(map(STARS_BEHIND_LITERAL.search, filter(None, rules.values())))
    )
    compare(tree, {place: text for place, text in rules.items() if text is not None})


ALPHABET = [
    "a",
    "b",
    "x",
    "y",
    "/",
    "*",
    "*",
    "**",
    "?",
    "[",
    "]",
    "!",
    "^",
    "-",
    "\\",
    ".",
    " ",
    "[a-c]",
    "[!x]",
    "[[:alpha:]]",
    "[:",
    "é",
    "/**/",
    "x**/",
]


def odd_pattern(source: random.Random) -> str:
    return "".join(source.choice(ALPHABET) for _ in range(source.randrange(1, 8)))


def test_odd_patterns_in_bulk(tmp_path: Path) -> None:
    """Each of some hundred folders has an ignore file of its own and the same small tree."""
    source = random.Random(20_240_229)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    names = [
        "xy",
        "a b",
        "a-b",
        "é",
        "]",
        "-",
        "x/a",
        "x/b.x",
        "a/y",
        "a/x/a",
        "y/.a",
        "b/!",
        "b/[x]",
        "x/y/^",
        "x/y/b",
    ]
    texts = {f"d{number:03d}": odd_pattern(source) for number in range(300)}
    for folder, text in texts.items():
        for name in names:
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).touch()
        (tmp_path / folder / ".gitignore").write_text(text + "\n")
    paths = [f"{folder}/{name}" for folder in texts for name in names]
    ignored, found = ask_git(tmp_path, paths), scan(tmp_path).files
    wrong = {(texts[path[:4]], path[5:]) for path in paths if (path in found) == (path in ignored)}
    if not spans_folders_behind_literal():
        wrong = {(text, name) for text, name in wrong if not STARS_BEHIND_LITERAL.search(text.encode())}
    assert not wrong


def test_arborignore_says_the_last_word(tree: Path) -> None:
    (tree / ".gitignore").write_text("*.md\n")
    (tree / ".arborignore").write_text("!b.md\n*.txt\n")
    try:
        found = scan(tree).files
        assert "b.md" in found
        assert "bar.md" not in found
        assert "c.txt" not in found
    finally:
        (tree / ".gitignore").unlink()
        (tree / ".arborignore").unlink()


def test_an_ignore_file_that_is_a_symlink_is_not_followed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*\n")
    os.symlink(tmp_path / "rules", tree / ".gitignore")
    try:
        assert "a" in scan(tree).files
    finally:
        (tree / ".gitignore").unlink()


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 30 + "*b", "a" * 250),
        ("**/" * 30 + "b", "a/" * 1000 + "a"),
        ("**/a*" * 20 + "/b", "a/" * 500 + "c"),
        ("[a]*" * 40 + "b", "a" * 250),
        ("?*" * 40 + "b", "a" * 250),
        ("*" * 200 + "b", "a" * 250),
        ("a/**/" * 30 + "b", "a/" * 900 + "c"),
    ],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    """A clone can bring any ignore file. A search that tried every split of these would not end."""
    found = parse_pattern(pattern.encode())
    assert found is not None
    assert not found.regex.fullmatch(path.encode())
