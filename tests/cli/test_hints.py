"""What is suggested can be typed: in a shell, and in the folder that one is in."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from arbor.cli.safe_text import typed_path
from arbor.repo.forgetting.cold_needs import Need, cold_error
from tests.cli.harness import Cli

NAMES = [
    "a b.md",
    "it's.md",
    "Q&A; $HOME `x`.md",
    "-dash.md",
    "潮汐.md",
    "~x",
    "#1",
    "*.md",
    'q"uote.md',
    "plain.md",
]


def hint(cli: Cli, *words: str, code: int = 2) -> list[str]:
    """The words of the command that the hint ends in."""
    _, _, typed = cli(*words, code=code).err.partition("hint: ")[2].rpartition("arbor ")
    return shlex.split(typed)


@pytest.mark.parametrize("name", NAMES)
def test_a_shell_reads_a_path_of_a_hint_as_that_path(name: str) -> None:
    words = ["sh", "-c", f"printf %s {typed_path(name)}"]
    printed = subprocess.run(words, capture_output=True, check=True).stdout.decode()
    assert printed.removeprefix("./") == name


@pytest.mark.parametrize("name", [name for name in NAMES if name != "*.md"])
def test_a_document_to_be_added_is_named_so_that_add_takes_it(name: str, kb: Cli) -> None:
    kb.write(f"sub dir/{name}", "text\n")
    sub = Cli(kb.folder / "sub dir")
    typed = hint(sub, "cat", "--", name)
    assert typed[0] == "add"
    sub(*typed)
    assert kb("status", "--porcelain", "-z").out == f"A  sub dir/{name}\0"


def test_a_document_that_is_gone_is_looked_for_from_here(kb: Cli) -> None:
    kb.write("sub dir/a note.md", "text\n")
    kb.commit("one more")
    sub = Cli(kb.folder / "sub dir")
    sub("rm", "a note.md")
    kb("commit", "-m", "and gone")
    (kb.folder / "sub dir").mkdir(exist_ok=True)
    for asked in ("a note.md", "a note.md@HEAD"):
        typed = hint(sub, "cat", asked)
        assert typed == ["log", "--", "a note.md"]
        assert sub(*typed).out.count("commit ") == 2


def test_a_cold_document_is_brought_back_by_what_is_typed_here(kb: Cli) -> None:
    path = kb.write("sub dir/a note.md", "some text\n")
    kb.commit("one more")
    sub = Cli(kb.folder / "sub dir")
    sub("evict", "--cold", "--force", "a note.md")
    path.unlink()
    assert hint(sub, "prove", "a note.md:1", code=1) == ["rehydrate-cold", "a note.md"]
    typed = hint(sub, "cat", "a note.md", code=1)
    kb.write("elsewhere/a note.md", "some text\n")
    sub(*typed[:-1], "--from=../elsewhere")
    assert sub("cat", "a note.md").out == "some text\n"


@pytest.mark.parametrize("name", ["r", "run", "HEAD", "rehydrate-cold"])
def test_a_cold_document_with_a_name_that_is_in_the_hint_too(name: str, kb: Cli) -> None:
    path = kb.write(name, "some text\n")
    kb.commit("one more")
    kb("evict", "--force", name)
    path.unlink()
    notes = Cli(kb.folder / "notes")
    assert hint(notes, "prove", f"../{name}:1", code=1) == ["rehydrate-cold", f"../{name}"]
    typed = hint(notes, "cat", f"../{name}", code=1)
    assert typed == ["rehydrate-cold", "--at", "HEAD", f"../{name}", "--from=PLACE"]


def test_of_several_cold_documents_the_one_that_is_named_is_named_from_here(kb: Cli) -> None:
    for name in ("sub/b.md", "b.md"):
        kb.write(name, f"{name}\n")
    kb.commit("two more")
    kb("evict", "--force", "b.md", "sub/b.md")
    for name in ("sub/b.md", "b.md"):
        (kb.folder / name).unlink()
    typed = hint(Cli(kb.folder / "sub"), "restore", "b.md", "../b.md", code=1)
    assert typed == ["rehydrate-cold", "--at", "HEAD", "../b.md", "--from=PLACE"]


def test_whatever_is_refused_for_a_cold_document_names_it_from_here(kb: Cli) -> None:
    path = kb.write("sub/a.md", "some text\n")
    kb.commit("one more")
    kb("evict", "--force", "sub/a.md")
    sub = Cli(kb.folder / "sub")
    assert hint(sub, "rm", "a.md", code=13) == ["rehydrate-cold", "a.md"]
    assert hint(sub, "switch", "--detach", "HEAD~1", code=13) == ["rehydrate-cold", "a.md"]
    assert hint(sub, "consensus", "a.md") == ["rehydrate-cold", "a.md"]
    assert path.read_text() == "some text\n"


def test_passages_are_looked_for_from_here(kb: Cli) -> None:
    notes = Cli(kb.folder / "notes")
    for place in ("merkle.md#7", "merkle.md#abcd"):
        assert hint(notes, "prove", place) == ["show", "merkle.md"]
    kb("distill", "--with", "lead", "notes/merkle.md")
    kb("commit", "-m", "A core")
    assert hint(notes, "prove", "--core", "lead/notes/merkle.md#7") == [
        "core",
        "show",
        "lead/notes/merkle.md",
    ]


def test_the_passages_of_a_document_are_named_for_a_shell(kb: Cli) -> None:
    kb.write("a note.md", "text\n")
    kb.commit("one more")
    done = kb("prove", "a note.md#7", code=2)
    assert "has 1 passage, numbered from 0" in done.err
    assert kb(*hint(kb, "prove", "a note.md#7")).out.startswith("a note.md\n")


def test_a_core_has_the_same_name_in_every_folder(kb: Cli) -> None:
    kb("distill", "--with", "lead", "notes/merkle.md")
    notes = Cli(kb.folder / "notes")
    assert "  added  core:lead/notes/merkle.md\n" in notes("status").out
    kb("commit", "-m", "A core")
    place = notes("search", "hashed", "kind:core").out.split()[1].removesuffix(":1")
    assert place == "core:lead/notes/merkle.md"
    notes("prove", place)
    assert "made from merkle.md\n" in notes("search", "hashed", "kind:core").out
    assert " merkle.md passage 0 " in notes("core", "show").out


def test_several_commits_in_one_word_are_written_as_a_range(kb: Cli) -> None:
    kb.write("a.md", "text\n")
    kb.commit("second")
    assert hint(kb, "show", "HEAD~1..HEAD") == ["log", "-p", "HEAD~1..HEAD"]
    assert kb("log", "--oneline", "HEAD^!", code=2).err.endswith("hint: write it as HEAD~1..HEAD\n")
    assert kb("show", "^HEAD~1", code=2).err.endswith("is written as HEAD~1..HEAD\n")
    assert "regular expression" in kb("show", ":/(", code=2).err


def test_a_document_called_like_a_word_of_a_hint_is_found_in_it() -> None:
    error = cold_error("the document is cold", [Need("PLACE", b"", "HEAD")])
    assert error.hint.split().count(error.path) == 1


@pytest.mark.parametrize(
    "command",
    ["add", "rm", "cat", "show", "diff", "restore", "log", "mv -n ? x.md", "evict", "links", "prove", "ls",
     "commit -m x", "show HEAD:./?", "recheck", "consensus", "tier"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("typed", "shown"), [("deep/../no.md", "no.md"), ("../no.md", "../no.md"), ("no.md", "no.md")]
)
def test_a_path_in_a_message_is_written_as_status_would(
    kb: Cli, command: str, typed: str, shown: str
) -> None:
    path = kb.write("sub/deep/a.md", "some text\n")
    kb.commit("first")
    here = Cli(path.parent.parent)
    words = (command if "?" in command else f"{command} ?").replace("?", typed).split()
    said = here(*words, code=2).err
    assert f"'{shown}'" in said or f"revision '{typed}'" in said
    assert typed == shown or typed not in said


@pytest.mark.parametrize(
    ("command", "told"),
    [("clone . ?", "free"), ("clone --bare . ? --json", "free"), ("clone ? new", "none"), ("clone . ?", "full"),
     ("init ?", "free"), ("init --bare ? --json", "free"), ("serve ?", "none"), ("eval ?", "none"),
     ("bundle create ? --json", "free"), ("bundle create ?/b", "none"), ("bundle verify ?", "none"),
     ("bundle list ?", "none"), ("prove a.md -o ?/p", "none"), ("verify --proof ?", "none"), ("fetch ?", "none"),
     ("pull ?", "none"), ("push ? main", "none"), ("commit -F ?", "none"), ("add --mediawiki ?", "none"),
     ("add --feed ?", "none"), ("add --okf ?", "none"), ("-C ? clone . new", "kb"),
     ("serve --read-tokens ? .", "none")],
)  # fmt: skip
@pytest.mark.parametrize("way", ["../", "sub/../../", "linked/../"])
def test_a_place_outside_of_the_knowledge_base_is_told_as_typed_or_without_dots(
    kb: Cli, command: str, told: str, way: str
) -> None:
    """Also behind a link, where what is above it is not what is above its target."""
    kb.write("a.md", "some text\n")
    kb.commit("first")
    beside = kb.folder.parent / "beside"
    for folder in (kb.folder / "sub", beside / "inner", beside / "full" / "x", beside / "kb"):
        folder.mkdir(parents=True, exist_ok=True)
    (kb.folder / "linked").symlink_to(beside / "inner")
    place = (beside if way.startswith("linked") else kb.folder.parent) / told
    if told == "full":
        (place / "x").mkdir(parents=True, exist_ok=True)
    if told == "kb" and not (place / ".arbor").exists():
        Cli(place)("init")
    done = kb.run(*(word.replace("?", way + told) for word in command.split()))
    said = done.out + done.err
    assert f"{kb.folder}/{way}" not in said
    assert str(place) in said or f"'{way}{told}'" in said
