"""A cold document that only gets another path: its file, which may be the last copy, goes along."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arbor.repo.work_tree import checkout, moving
from tests.cli.harness import IDENTITY, Cli

TEXT = "# A\n\nRivers and stones.\n"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A knowledge base where `a.md` is cold on main, with its file, and `x/c.md` on the branch `moved`."""
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    made = Cli(tmp_path / "kb")
    made.folder.mkdir()
    made("init")
    made.write("a.md", TEXT)
    made.write("b.md", "# B\n")
    made.commit("first")
    made("switch", "-c", "moved")
    made.write("x/keep.md", "# Keep\n")
    made("mv", "a.md", "x/c.md")
    made.commit("moved")
    made("switch", "main")
    made("evict", "a.md", "--force")
    return made


def files(cli: Cli) -> dict[str, str]:
    found = (path for path in cli.folder.rglob("*") if path.is_file() and ".arbor" not in path.parts)
    return {path.relative_to(cli.folder).as_posix(): path.read_text() for path in found}


def is_whole(cli: Cli, path: str) -> bool:
    """Whether the document is where it belongs, with its file, and nothing is left over."""
    other = {"a.md": "x/c.md", "x/c.md": "a.md"}[path]
    status = cli("status", "--json").json
    assert not status["unstaged"]
    assert not status["untracked"]
    assert cli("verify").out
    now = files(cli)
    return now.get(path) == TEXT and other not in now and is_cold(cli, path)


def part_ways(cli: Cli) -> None:
    """Let a merge be no fast-forward."""
    cli.write("b.md", "# B again\n")
    cli("add", "b.md")
    cli("commit", "-m", "meanwhile")


def is_cold(cli: Cli, path: str) -> bool:
    return cli("tier", path, "--json").json["documents"][0]["tier"] == "cold"


def merge(cli: Cli) -> str:
    part_ways(cli)
    return cli("merge", "moved", "--offline").err


@pytest.mark.parametrize("act", [merge, lambda cli: cli("merge", "moved").err, lambda cli: cli("switch", "moved").err],
                         ids=["merge", "fast-forward", "switch"])  # fmt: skip
def test_the_file_goes_along(cli: Cli, act: Callable[[Cli], str]) -> None:
    told = act(cli)
    assert "no file is written" not in told
    assert is_whole(cli, "x/c.md")
    cli("rehydrate", "x/c.md")
    assert cli("cat", "x/c.md").out == TEXT


def test_a_file_that_changes_while_it_goes_along_stays(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    real = checkout.check_out

    def write_edited(root: Path, path: str, _: object, *, durable: bool) -> object:
        return real(root, path, iter([b"edited\n"]), durable=durable)

    monkeypatch.setattr(checkout, "check_out", write_edited)
    assert "changed just now" in cli("switch", "moved", code=13).err
    assert files(cli).items() >= {"a.md": TEXT}.items()
    assert "x/c.md" not in files(cli)


def test_there_and_back(cli: Cli) -> None:
    cli("switch", "moved")
    cli("switch", "main")
    assert is_whole(cli, "a.md")
    cli("reset", "--hard", "moved")
    assert is_whole(cli, "x/c.md")


def test_an_edited_file_stays_where_it_is(cli: Cli) -> None:
    cli.write("a.md", TEXT + "more\n")
    assert "local changes" in cli("switch", "moved", code=13).err
    assert files(cli)["a.md"] == TEXT + "more\n"


def test_an_edited_file_goes_nowhere_by_force(cli: Cli) -> None:
    cli.write("a.md", TEXT + "more\n")
    assert "no file is written" in cli("switch", "-f", "moved").err
    assert not files(cli).keys() & {"a.md", "x/c.md"}


def test_twins_keep_one_file(cli: Cli) -> None:
    cli.write("twin.md", TEXT)
    cli.commit("a twin")
    cli("evict", "twin.md", "--force")
    cli("switch", "moved")
    assert is_whole(cli, "x/c.md")
    assert "twin.md" not in files(cli)


def test_without_a_free_place_it_is_refused(cli: Cli) -> None:
    cli.write("x/c.md", TEXT)
    cli("switch", "moved", code=13)
    assert files(cli)["a.md"] == files(cli)["x/c.md"] == TEXT


def test_two_names_for_a_cold_document_name_it(cli: Cli) -> None:
    """A person has to choose, and needs the text for it; where it is wanted is said as it can be typed."""
    cli("mv", "a.md", "d.md")
    cli("commit", "-m", "moved here")
    refused = cli("merge", "moved", "--offline", code=1).err
    assert "'d.md' in HEAD" in refused
    assert "arbor rehydrate-cold --at HEAD d.md --from=PLACE" in refused
    assert files(cli)["d.md"] == TEXT
    cli("rehydrate", "d.md")
    assert "conflict: d.md" in cli("merge", "moved", "--offline", code=13).out


@pytest.mark.parametrize(
    "fault", [OSError(5, "Input/output error"), KeyboardInterrupt()], ids=["fails", "is killed"]
)
def test_what_is_cut_off_is_taken_back(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    part_ways(cli)

    def put(*given: object) -> None:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(moving, "put_stage", put)
        assert cli.run("merge", "moved", "--offline").code != 0
    if isinstance(fault, KeyboardInterrupt):
        assert files(cli)["x/c.md"] == TEXT
        cli("merge", "--abort")
    assert is_whole(cli, "a.md")


def test_a_last_copy_that_cannot_go_back_stays(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody made another file under the old name after a merge was killed."""

    def put(*given: object) -> None:
        raise KeyboardInterrupt

    part_ways(cli)
    with monkeypatch.context() as patch:
        patch.setattr(moving, "put_stage", put)
        cli.run("merge", "moved", "--offline")
    cli.write("a.md", "another\n")
    cli("merge", "--abort")
    assert files(cli)["x/c.md"] == TEXT
    assert files(cli)["a.md"] == "another\n"
