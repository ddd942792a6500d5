"""A document, a file name, a message or an author that holds terminal commands: none of them reaches the terminal."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.cli.harness import Cli

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\r\x08"
FORBIDDEN = ("\x1b", "\x9b", "\x07", "\x08", "\r", "\u202e")
DOCUMENT = f"""---
title: "evil {EVIL.encode("unicode_escape").decode()}"
author: "{EVIL.encode("unicode_escape").decode()}"
---
# Heading {EVIL}

A pomegranate {EVIL} in the text, with a [link {EVIL}](target.md) and [[wiki{EVIL}|label{EVIL}]].

## Second {EVIL}

More.
"""

COMMANDS = (
    ("log",),
    ("log", "--oneline"),
    ("log", "--stat"),
    ("show",),
    ("show", "evil.md"),
    ("show", "--stat"),
    ("links", "evil.md"),
    ("search", "pomegranate"),
    ("search", "pomegranate", "--mode", "visual"),
    ("search", "pomegranate", "--porcelain"),
    ("search", "pomegranate", "--json"),
    ("diff", "HEAD~1..HEAD"),
    ("diff",),
    ("status",),
    ("ls",),
    ("verify",),
    ("consensus",),
    ("consensus", "evil.md"),
    ("consensus", "evil.md", "--history"),
    ("consensus", "--label", "NOVEL"),
    ("ripple",),
    ("reflog",),
    ("branch",),
    ("log", "--graph"),
    ("search", "pomegranate", "--explain"),
)


@pytest.fixture
def evil(kb: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A knowledge base whose last commit was made by an enemy."""
    monkeypatch.setenv("ARBOR_AUTHOR_NAME", f"Mallory {EVIL}".replace("\r", ""))
    kb.write("evil.md", DOCUMENT)
    kb.write("crlf.md", "one\r\ntwo\r\n")
    kb("add", ".")
    kb("commit", "-m", f"message {EVIL}\n\nbody {EVIL}")
    kb.write("evil.md", DOCUMENT.replace("More.", f"Less. {EVIL}"))
    (kb.folder / os.fsdecode(b"bad\x1b[31m\xff name.md")).write_bytes(b"x")
    return kb


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("colour", ["auto", "always"])
def test_nothing_is_obeyed(words: tuple[str, ...], colour: str, evil: Cli) -> None:
    done = evil.run("--color", colour, *words)
    assert done.code == 0
    shown = done.out + done.err
    if colour == "always":
        shown = remove_own_colours(shown)
    elif words[0] in ("diff", "show") and "diff --git a/evil.md" in shown:
        return  # a patch for a program: the bytes of the document as they are
    found = [repr(char) for char in FORBIDDEN if char in shown]
    assert found == []


def remove_own_colours(text: str) -> str:
    """The text without what `Output.style` writes."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_patch_for_a_program_is_exact(evil: Cli) -> None:
    done = evil("diff")
    assert f"+Less. {EVIL}\n".encode() in done.raw


def test_the_bytes_of_a_document_are_exact(evil: Cli) -> None:
    assert evil("cat", "evil.md").raw == DOCUMENT.encode()


def test_names_that_cannot_be_tracked_are_named_safely(evil: Cli) -> None:
    done = evil("add", ".", code=3)
    assert 'skipped "bad\\033[31m\\377 name.md": its name is not valid Unicode' in done.err
    listed = evil("status", "--json").json["skipped"]
    assert [entry["reason"] for entry in listed] == ["its name is not valid Unicode"]


def test_errors_are_safe(evil: Cli) -> None:
    for words in (
        ("cat", EVIL),
        ("log", EVIL),
        ("show", EVIL),
        ("search", f'"{EVIL}'),
        (EVIL,),
        ("log", f"--{EVIL}"),
    ):
        done = evil.run(*words)
        assert done.code == 2
        assert [char for char in FORBIDDEN if char in done.err] == []


def test_unreadable_settings_do_not_keep_verify_from_its_work(kb: Cli) -> None:
    (kb.folder / ".arbor" / "config.toml").write_text("not = [toml")
    done = kb("verify", code=12)
    assert "damaged config.toml" in done.out
    assert "1 thing did not verify" in done.err


def test_commit_all_says_what_it_could_not_stage(kb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    kb.write("big.md", "small\n")
    kb.write("arbor.toml", "[add]\nmax_file_size = 1000\n")
    kb.commit("small")
    kb.write("big.md", "large " * 1000)
    kb.write("other.md", "other\n")
    kb("add", "other.md")
    done = kb("commit", "-am", "two", code=3)
    assert "skipped big.md: " in done.err
    assert "two" in kb("log", "-1").out
    kb.write("other.md", "again\n")
    answer = kb("commit", "-am", "three", "--json", code=3).json
    assert [each["path"] for each in answer["skipped"]] == ["big.md"]


def test_an_editor_that_is_named_opens_without_a_terminal(kb: Cli) -> None:
    kb.write("new.md", "new\n")
    kb("add", "new.md")
    kb("commit", env={"ARBOR_EDITOR": "sh -c 'echo by-editor > \"$0\"'"})
    assert "by-editor" in kb("log", "-1").out


def test_status_names_a_policy_that_is_not_understood(kb: Cli) -> None:
    assert "arbor.toml" not in kb("status").err
    kb.write("arbor.toml", "[ripple]\nthreshold = 0\n")
    assert "[ripple] has an unknown key 'threshold'" in kb("status").err
    kb.write("arbor.toml", "[chunking]\ntarget_bytes = -5\n[ripple]\nthreshold = 0\n")
    told = kb("status").err
    assert "chunk policy needs" in told
    assert "[ripple] has an unknown key 'threshold'" in told


NO_UTF8 = "caf\udce9"
"""As a shell in another locale hands on `café`."""


@pytest.mark.parametrize(
    "words",
    [
        ("config", "user.name", NO_UTF8),
        ("commit", "--allow-empty", "-m", NO_UTF8),
        ("commit", "--allow-empty", "-m", "x", "--author", f"{NO_UTF8} <a@example.org>"),
        ("tag", "v9", "-m", NO_UTF8),
        ("core", "add", "n", "--from", "notes/merkle.md", "--text", NO_UTF8),
        ("core", "add", "n", "--from", "notes/merkle.md", "--text", "x", "--by", NO_UTF8),
        ("add", "-", "--as", "x.md", "--source-uri", f"http://{NO_UTF8}/"),
    ],
)
def test_a_text_that_is_not_unicode_is_refused_in_words(kb: Cli, words: tuple[str, ...]) -> None:
    assert "is not valid Unicode" in kb(*words, stdin=b"text\n", code=2).err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
@pytest.mark.parametrize(
    "words",
    [
        ("verify", "--proof", "/dev/zero"),
        ("verify", "--checkpoint", "/dev/zero"),
        ("core", "add", "name", "--from", "notes/merkle.md", "-F", "/dev/zero"),
        ("commit", "-F", "/dev/zero"),
        ("add", "--feed", "/dev/zero"),
    ],
)
def test_what_never_ends_is_not_read_to_its_end(words: tuple[str, ...], kb: Cli) -> None:
    assert "at most 67,108,864 bytes are read" in kb(*words, code=2).err
