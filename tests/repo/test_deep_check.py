"""Derived fields that are false: no hash is wrong, and `verify --deep` still says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arbor.objects import merkle
from arbor.objects.ids import Kind, file_hash, object_id
from arbor.objects.links import Rows
from arbor.objects.model import ChunkRef
from arbor.remote.exchange.transfer import TransferOptions
from arbor.repo.commits.committing import commit
from arbor.repo.repository import open_repository
from arbor.repo.staging.adding import add
from arbor.repo.trust.verify import VerifyReport, verify
from arbor.text.reading import extract
from tests.hostile_remote.liars import Liar, World, shown
from tests.remote.people import clone_to, make_kb

TEXT = "# Bees\n\nHoney keeps.\n"


def told(
    folder: Path, headings: tuple[str, ...] = ("Bees",), links: Rows = (), **changes: Any
) -> VerifyReport:
    """What a deep verification says of a clone whose document says this of its text."""
    world, data = World(), TEXT.encode()
    ref = ChunkRef(object_id(Kind.CHUNK, data), len(data), 3, headings)
    document = world.document(TEXT, {"passages": (ref,), "links": links}, **{"title": "Bees", **changes})
    return verified_clone(folder, world, {"d/a.md": document})


def verified_clone(folder: Path, world: World, documents: dict[str, bytes]) -> VerifyReport:
    """What a deep verification says of a clone of these documents, in which nothing is wrong at first sight."""
    tip, _ = world.commit(world.ledger(documents))
    clone_to(Liar(shown(tip), world.frames()), folder / "b", TransferOptions())
    repo = open_repository(folder / "b")
    assert verify(repo, tip).ok
    return verify(repo, tip, deep=True)


def test_the_truth_is_found_true(tmp_path: Path) -> None:
    report = told(tmp_path)
    assert report.ok, report.damaged


@pytest.mark.parametrize(
    ("problem", "lie"),
    [
        ("title, headings", {"title": "Wasps"}),
        ("title, headings", {"headings": ("Bees", "Made up")}),
        ("title, headings", {"links": (0, 1, "", "elsewhere.md", "", "", 0)}),
        ("title, headings", {"encoding": "latin_1"}),
        ("title, headings", {"front_matter": {"author": "somebody"}}),
        ("media type", {"media_type": "application/pdf"}),
    ],
)
def test_a_lie_is_found(tmp_path: Path, problem: str, lie: dict[str, Any]) -> None:
    report = told(tmp_path, **lie)
    assert not report.ok
    [finding] = report.damaged
    assert problem in finding.problem
    assert finding.affects[0][1] == "a.md"


PAGE = b"<html><head><title>Bees</title></head><body><h1>Bees</h1><p>Honey keeps.</p></body></html>"


def told_of_page(folder: Path, text: str, **changes: Any) -> VerifyReport:
    """What a deep verification says of a clone with a page of which somebody says that this is its text."""
    world, data = World(), text.encode()
    ref = ChunkRef(object_id(Kind.CHUNK, data), len(data), data.count(b"\n"), ("Bees",))
    original = world.put(Kind.CHUNK, PAGE)
    document = world.document(
        text,
        {"passages": (ref,), "original": ((original, len(PAGE)),)},
        **{
            "title": "Bees", "media_type": "text/html", "extractor": "html/1", "size": len(PAGE),
            "file_hash": file_hash(PAGE), "original_count": 1, "original_root": merkle.tree_root([original]),
        }
        | changes,
    )  # fmt: skip
    return verified_clone(folder, world, {"d/a.html": document})


def test_the_text_of_a_page_is_taken_out_of_it_again(tmp_path: Path) -> None:
    text = b"".join(passage.data for passage in extract(PAGE, "a.html").passages).decode()
    assert told_of_page(tmp_path / "true", text).ok
    [finding] = told_of_page(tmp_path / "false", text.replace("keeps", "spoils")).damaged
    assert "its text is not what html/1 reads in its original" in finding.problem
    [finding] = told_of_page(tmp_path / "title", text, title="Wasps").damaged
    assert "title, headings" in finding.problem
    assert told_of_page(tmp_path / "other", "Another reader's.\n", extractor="html/0").ok


def test_what_was_added_here_in_any_form_is_found_true(tmp_path: Path) -> None:
    repo = make_kb(tmp_path / "a")
    files = {
        "a.md": "---\ntitle: T\ntags: [a, b]\n---\n# H\n\n[x](y.md) and [[z]]\n\n## I\n\n"
        + "word " * 2000
        + "\n",
        "b.txt": "plain\n" * 900,
        "c.py": "def f() -> int:\n    return 1\n" * 300,
        "d.rst": "Title\n=====\n\n`link <http://example.org>`_\n",
        "e.html": "<html><title>x</title><body><h1>H</h1><p>text</p></body></html>",
        "f": "# a heading in a file without a name\n",
        "arbor.toml": "[chunking]\ntarget_bytes = 300\ncap_bytes = 500\nmin_bytes = 100\n",
    }
    for path, text in files.items():
        (tmp_path / "a" / path).write_text(text)
    (tmp_path / "a/u.md").write_bytes("\ufeff# U\n\ntext [x](y.md)\n".encode("utf-16-le"))
    (tmp_path / "a/j.md").write_bytes("# 日本\n\n日本語の文章です。[x](y.md)\n".encode("cp932") * 60)
    (tmp_path / "a/n.bin").write_bytes(bytes(range(256)) * 300)
    add(repo, [""], update=False)
    tip = commit(repo, "all").oid
    (tmp_path / "a/a.md").rename(tmp_path / "a/a.txt")
    add(repo, [""], update=False)
    tip = commit(repo, "renamed").oid
    report = verify(repo, tip, deep=True)
    assert report.ok, report.damaged
