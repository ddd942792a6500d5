"""Paths: what could leave the folder, touch `.arbor` in any disguise, or not exist on some platform, is refused."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.errors import UsageError
from arbor.objects import paths
from arbor.objects.paths import check_path, collision_key, path_fault, windows_fault

GOOD = [
    "a",
    "a.md",
    "notes/day one.md",
    "notes/2024/a-b_c.md",
    "中文/笔记.md",
    "emoji 🎉.md",
    "a & b, c (d) [e] 'f'.md",
    "what is it?.md",
    ".hidden/file",
    ".gitignore",
    ".arborignore",
    ".gitattributes",
    "arbor",
    "git",
    "config",
    "console.md",
    "auxiliary/x",
    "comet1",
    "lpt",
    "com10.md",
    "nulls",
    "a~b.md",
    "arbor~",
    "-leading-dash.md",
    "--help",
    "a.b.c",
    "a..b",
    "..a",
    "...a",
    "x" * 255,
    "é.md",
    "한글.md",
    "ひらがな.md",
    "arbor~x",
    "$HOME",
    "%20",
    "#hash",
    "ab:c.md",
    "10:30 meeting.md",
    "a/.arbors/x",
    "a/.arbor.md/x",
]
ABSOLUTE = ["/a", "//a", "///", "/", "C:/x", "c:", "C:x", "notes/D:/x", "z:notes.md"]
CLIMBING = ["..", "../a", "a/../b", "a/..", ".", "./a", "a/./b", "a/.", "a//b", "a/", "", "a/../../b"]
SEPARATORS = ["a\\b", "..\\a", "\\a", "\\\\server\\share", "a/b\\..\\c"]
CONTROLS = ["a\nb", "a\rb", "a\0b", "\x1b[31m", "a\tb", "a\x7fb", "a\x85b", "a\u2028b", "a\u2029b", "\x01"]
PRIVATE = [
    ".arbor",
    ".arbor/config.toml",
    "a/.arbor/HEAD",
    ".ARBOR",
    ".Arbor/x",
    ".aRBOR/hooks/pre-commit",
    ".git",
    ".GIT/config",
    "a/.Git/hooks/post-checkout",
    ".arbor::$INDEX_ALLOCATION",
    ".arbor::$INDEX_ALLOCATION/x",
    ".arbor:stream",
    ".git::$DATA",
    ".GIT::$INDEX_ALLOCATION/config",
    "ARBOR~1",
    "arbor~1/config",
    "Arbor~2",
    "GIT~1",
    "git~1/hooks",
    "git~12",
    ".arbor\u200c",
    ".\u200darbor",
    ".ar\u200ebor/x",
    "\u200c.arbor",
    ".arb\ufeffor",
    ".arbor\u2060",
    ".arbo\u00adr",
    ".\u202earbor",
    "．arbor",
    ".ａｒｂｏｒ",
    ".ⓐⓡⓑⓞⓡ",
    ".𝐚𝐫𝐛𝐨𝐫",
    "．ｇｉｔ",
    ".𝓰𝓲𝓽/config",
    ".gi\u200ct",
    ".git\u206a",
    ".arbor\u3000",
    ".\ufe0farbor",
    ".arb\u180for",
    ".arb\u2064or",
    ".arb\U000e0fffor",
    ".ARBOR\u200b::$INDEX_ALLOCATION",
]
DROPPED = [
    "a.",
    "a ",
    "a./b",
    "a /b",
    ".arbor.",
    ".arbor ",
    ".arbor. . .",
    ".git ./x",
    "...",
    "a/...",
    ". ",
    "notes/x...",
]
DEVICES = [
    "con",
    "CON",
    "aux.md",
    "prn",
    "nul.tar.gz",
    "a/nul",
    "COM1",
    "com9.txt",
    "LPT1.md",
    "com¹",
    "lpt³.x",
    "conin$",
    "CONOUT$",
    "con .txt",
    "aux:stream",
    "nul/x",
    "CON.",
    "com0",
]
FORMS = ["e\u0301.md", "a/n\u0303/x", "\u212b.md", "\u1100\u1161.md"]
LONG = ["x" * 256, "中" * 86, "a/" * 2048 + "b", "/".join(["x" * 200] * 21), "é" * 128]
BROKEN = ["\ud800", "a/\udcff.md"]


@pytest.mark.parametrize("path", GOOD)
def test_ordinary_names_may_be_used(path: str) -> None:
    assert path_fault(path) == ""
    assert check_path(path) == path


@pytest.mark.parametrize(
    "path", ABSOLUTE + CLIMBING + SEPARATORS + CONTROLS + PRIVATE + DROPPED + DEVICES + FORMS + LONG + BROKEN
)
def test_tricks_are_refused(path: str) -> None:
    assert path_fault(path)
    with pytest.raises(UsageError):
        check_path(path)


@pytest.mark.parametrize("path", PRIVATE)
def test_tricks_are_refused_in_any_folder(path: str) -> None:
    assert path_fault(f"a/b c/{path}")


@given(st.lists(st.sampled_from("\u200c\u200d\ufeff\u206f\u00ad\u2064"), max_size=4), st.data())
def test_invisible_characters_do_not_hide_the_private_folder(
    invisible: list[str], data: st.DataObject
) -> None:
    name = ".arbor"
    for char in invisible:
        place = data.draw(st.integers(0, len(name)))
        name = name[:place] + char + name[place:]
    cased = "".join(data.draw(st.sampled_from([char.lower(), char.upper()])) for char in name)
    assert path_fault(unicodedata.normalize("NFC", cased))


@given(st.text(max_size=30) | st.text(alphabet="abcCOnN1uUlpPtTmM.:/ ~-_$x", max_size=24))
@settings(max_examples=1500)
def test_the_short_way_for_plain_names_agrees_with_the_rules(path: str) -> None:
    quick = path_fault(path)
    never = paths._PLAIN
    try:
        paths._PLAIN = paths.re.compile(r"(?!)")
        slow = path_fault(path)
    finally:
        paths._PLAIN = never
    assert quick == slow


@given(st.text(max_size=40))
@settings(max_examples=500)
def test_a_path_that_may_be_used_stays_in_its_folder(path: str) -> None:
    if path_fault(path):
        return
    assert not path.startswith("/")
    assert all(part not in ("", ".", "..") for part in path.split("/"))
    assert path == unicodedata.normalize("NFC", path)
    assert not set(path) & set(map(chr, range(32)))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("README.md", "readme.md"),
        ("caf\u00e9", "cafe\u0301"),
        ("STRASSE", "straße"),
        ("A/b", "a/B"),
        ("\u212b", "\u00e5"),
        ("Σ", "ς"),
        ("\u1fbc\u0342", "\u1fb7"),  # to fold before they are taken apart would leave them apart
    ],
)
def test_names_that_some_file_system_takes_for_one_collide(one: str, two: str) -> None:
    assert collision_key(one) == collision_key(two)


@pytest.mark.parametrize(("one", "two"), [("a", "b"), ("a/b", "ab"), ("a.md", "a"), ("é", "e")])
def test_other_names_do_not(one: str, two: str) -> None:
    assert collision_key(one) != collision_key(two)


@pytest.mark.parametrize(
    "name", ["what?.md", "a<b>.md", "pipe|x.md", 'q"q.md', "star*.md", "col:on.md", "HEAD:foo"]
)
def test_names_that_only_windows_cannot_hold_are_valid_and_told(name: str) -> None:
    for path in (name, f"folder/{name}", f"{name}/inside.md"):
        assert path_fault(path) == ""
        assert "Windows allows no" in windows_fault(path)


@pytest.mark.parametrize(
    "path", ["a.md", "notes/day one.md", "中文/笔记.md", "a & b, c (d) [e] 'f'.md", "x;y=z+~!@#$%^.md"]
)
def test_most_names_are_fine_everywhere(path: str) -> None:
    assert windows_fault(path) == ""
