"""What both sides have is found in few questions, however far apart they are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from arbor.remote.exchange import enumerating
from arbor.remote.protocol.wire import Message, Packets
from arbor.remote.transports.local import LocalTransport
from arbor.repo.commits.history import ancestors
from arbor.repo.repository import Repository, open_repository
from tests.remote.people import assert_whole, change, clone_to, fetch_from, make_kb, notes

APART = 150


class Heard(LocalTransport):
    """A way to a KB that notes what is asked, and how many objects are sent."""

    def __init__(self, fs_path: Path) -> None:
        super().__init__(fs_path)
        self.asked: list[str] = []

    def call(self, command: str, arguments: Message, frames: Iterable[bytes] = ()) -> Packets:
        self.asked.append(command)
        return super().call(command, arguments, frames)


def go_on(repo: Repository, name: str, commits: int) -> None:
    """Commits that the other side does not have."""
    for number in range(commits):
        change(repo, {f"{name}.md": f"{number}\n"})


@pytest.fixture
def apart(tmp_path: Path) -> Repository:
    """A KB that has gone on from what `tmp_path/there` has, which went on too, and that knows no remote."""
    there = make_kb(tmp_path / "there", notes(3))
    clone_to(tmp_path / "there", tmp_path / "here")
    here = open_repository(tmp_path / "here")
    go_on(there, "theirs", 2)
    go_on(here, "mine", APART)
    there.close()
    return here


def test_a_long_line_of_commits_is_asked_for_in_few_questions(apart: Repository, tmp_path: Path) -> None:
    transport = Heard(tmp_path / "there")
    result = fetch_from(apart, transport, "elsewhere")
    assert transport.asked == ["refs", "known", "known", "fetch"]
    assert result.commits == 2
    assert result.objects < 20, "the notes were here"
    assert_whole(apart)


def test_what_has_nothing_in_common_is_asked_for_once(apart: Repository, tmp_path: Path) -> None:
    make_kb(tmp_path / "stranger", {"s.md": "strange\n"}).close()
    transport = Heard(tmp_path / "stranger")
    assert fetch_from(apart, transport, "stranger").commits == 1
    assert transport.asked.count("known") <= 3


def test_each_commit_below_the_haves_is_looked_at_once(
    apart: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = apart.refs.head_oid()
    assert tip is not None
    line = ancestors(apart, [tip])
    oldest_first = sorted(line, key=lambda oid: apart.commit(oid).log_size)
    looked, commit = [], Repository.commit
    monkeypatch.setattr(Repository, "commit", lambda repo, oid: (looked.append(oid), commit(repo, oid))[1])
    assert enumerating.known_ancestors(apart, oldest_first) == line
    assert len(looked) == len(line)
