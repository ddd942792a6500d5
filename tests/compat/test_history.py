"""Histories with merges: order, ancestry, merge bases and revisions are those that git finds in the same graph."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from arbor.errors import UsageError
from arbor.kb import KnowledgeBase
from arbor.objects import ledger
from arbor.objects.ids import Kind
from arbor.objects.model import Commit, encode_commit
from arbor.repo.commits import history, pickaxe
from arbor.repo.commits.committing import build_commit, write_ledger
from tests.repo.kit import new_kb, record, signature

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
SIZE = 24
PATHS = ["a.md", "b.md", "x/c.md", "x/d.md"]


class Twins:
    """One random graph of commits, made in git and in arbor. Commits are called by their number."""

    def __init__(self, folder: Path, seed: int) -> None:
        source = random.Random(seed)
        self.git_folder = folder / "git"
        self.times_ascend = bool(seed % 2)
        self.kb: KnowledgeBase = new_kb(folder / "kb", {f"v{n}": f"version {n}\n" for n in range(3)})
        versions = [bytes.fromhex(oid) for _, oid in self.kb.ls()]
        self.oids: list[bytes] = []
        stream: list[str] = []
        contents: list[dict[str, int]] = []
        times = source.sample(range(1_700_000_000, 1_700_000_000 + 10 * SIZE), SIZE)
        if self.times_ascend:
            times.sort()
        for number in range(SIZE):
            count = 0 if not number else source.choice([1, 1, 1, 2, 2, 3])
            parents = source.sample(range(max(0, number - 6), number), min(count, number))
            content = dict(contents[parents[0]]) if parents else {"a.md": 0}
            for _ in range(source.randrange(3)):
                content[source.choice(PATHS)] = source.randrange(3)
            if source.random() < 0.2:
                content.pop(source.choice(PATHS), None)
            contents.append(content)
            self._commit(number, parents, {path: versions[n] for path, n in content.items()}, times[number])
            stream.append(self._line(number, parents, content, times[number]))
        subprocess.run(["git", "init", "-q", str(self.git_folder)], check=True)
        self.git("fast-import", "--quiet", text="".join(stream))
        self.names = {self.git("rev-parse", f"c{n}").strip(): n for n in range(SIZE)}

    def _commit(self, number: int, parents: list[int], content: dict[str, bytes], seconds: int) -> None:
        repo = self.kb.repo
        with repo.lock(), repo.store.writer() as writer:
            root = write_ledger(
                repo, writer, ledger.EMPTY_LEDGER, {f"d/{path}": oid for path, oid in content.items()}
            )
            who = signature(seconds)
            made = build_commit(repo, root, tuple(self.oids[p] for p in parents), who, who, str(number), {})
            oid = writer.add(Kind.COMMIT, encode_commit(made))
        repo.refs.move(f"refs/heads/c{number}", None, oid, who, "made")
        self.oids.append(oid)

    def _line(self, number: int, parents: list[int], content: dict[str, int], seconds: int) -> str:
        links = "".join(f"{'from' if n == 0 else 'merge'} :{p + 1}\n" for n, p in enumerate(parents))
        files = "".join(f"M 100644 inline {path}\ndata 10\nversion {n}\n\n" for path, n in content.items())
        who = f"committer Ada <ada@example.org> {seconds} +0100\n"
        text = str(number)
        head = f"commit refs/heads/c{number}\nmark :{number + 1}\n{who}"
        return f"{head}data {len(text)}\n{text}\n{links}deleteall\n{files}\n"

    def git(self, *words: str, text: str | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.git_folder, input=text, capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode in (0, 1) else ""

    def git_numbers(self, *words: str) -> list[int]:
        return [self.names[line] for line in self.git(*words).split()]

    def git_resolve(self, revisions: Sequence[str]) -> list[int | None]:
        """What git finds each revision to be, None where it finds nothing; one process for all of them."""
        said = self.git("cat-file", "--batch-check=%(objectname)", text="".join(f"{r}\n" for r in revisions))
        found = [None if line.endswith(" missing") else self.names[line] for line in said.splitlines()]
        assert len(found) == len(revisions)
        return found

    def git_bases(self, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
        """The merge bases of each pair of commits; one process for all of them."""
        said = self.git("rev-parse", *(f"c{left}...c{right}" for left, right in pairs)).split()
        found: list[list[int]] = []
        sides = 0
        for line in said:  # of each pair both commits, and then its bases with a `^` before them
            if line.startswith("^"):
                found[-1].append(self.names[line[1:]])
            else:
                sides += 1
                found += [[]] if sides % 2 else []
        assert len(found) == len(pairs)
        return found

    def numbers(self, oids: object) -> list[int]:
        return [self.oids.index(oid) for oid in oids]  # type: ignore[attr-defined]


@pytest.fixture(scope="module", params=range(4))
def twins(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Twins:
    return Twins(tmp_path_factory.mktemp("twins"), request.param)


def test_the_log_is_in_the_same_order(twins: Twins) -> None:
    for number in range(SIZE):
        found = twins.numbers(entry.oid for entry in history.iter_log(twins.kb.repo, [twins.oids[number]]))
        assert found == twins.git_numbers("log", "--date-order", "--format=%H", f"c{number}")


def test_a_range_leaves_out_the_same_commits(twins: Twins) -> None:
    if not twins.times_ascend:
        pytest.skip("git stops too early where a parent is younger than its child")
    for old in range(0, SIZE, 3):
        for new in range(1, SIZE, 4):
            found = [int(entry.message) for entry in twins.kb.log(f"c{old}..c{new}")]
            assert found == twins.git_numbers("log", "--date-order", "--format=%H", f"c{old}..c{new}")


def test_the_log_of_a_path_has_the_same_commits(twins: Twins) -> None:
    for path in [*PATHS, "x", "absent"]:
        for number in (SIZE - 1, SIZE - 2, SIZE // 2):
            found = [int(entry.message) for entry in twins.kb.log(f"c{number}", [path])]
            words = ("log", "--date-order", "--format=%H", f"c{number}", "--", path)
            assert found == twins.git_numbers(*words)


def test_a_text_comes_and_goes_in_the_same_commits(twins: Twins) -> None:
    for text in ("version 0", "version 2\n", "n", "absent"):
        for paths in ([], ["a.md"], ["x"]):
            axe = pickaxe.Pickaxe(twins.kb.repo, text)
            entries = twins.kb.log(f"c{SIZE - 1}", paths)
            found = [int(entry.message) for entry in entries if axe.finds(entry.commit, paths)]
            words = ("log", "--date-order", "--format=%H", f"-S{text}", f"c{SIZE - 1}", "--", *paths)
            assert found == twins.git_numbers(*words)


def test_merge_bases_and_ancestry_are_the_same(twins: Twins) -> None:
    repo = twins.kb.repo
    pairs = [(left, right) for left in range(SIZE) for right in range(0, SIZE, 5)]
    for (left, right), bases in zip(pairs, twins.git_bases(pairs), strict=True):
        found = twins.numbers(history.merge_bases(repo, [twins.oids[left]], [twins.oids[right]]))
        assert sorted(found) == sorted(bases)
        assert history.is_ancestor(repo, twins.oids[left], twins.oids[right]) == (left in found)


def test_how_far_two_commits_are_apart_is_the_same(twins: Twins) -> None:
    for left in range(0, SIZE, 3):
        for right in range(0, SIZE, 5):
            apart = twins.git("rev-list", "--left-right", "--count", f"c{left}...c{right}").split()
            found = history.count_apart(twins.kb.repo, twins.oids[left], twins.oids[right])
            assert found == tuple(map(int, apart))


def test_what_is_below_the_meeting_of_two_lines_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = new_kb(tmp_path)
    for number in range(30):
        record(kb, {"a.md": f"version {number}\n"})
    kb.branches.create("side")
    for branch in ("main", "side"):
        kb.branches.switch(branch)
        for number in range(3):
            record(kb, {f"{branch}.md": f"version {number}\n"})
    read: set[bytes] = set()
    real = kb.repo.commit

    def commit(oid: bytes) -> Commit:
        read.add(oid)
        return real(oid)

    monkeypatch.setattr(type(kb.repo), "commit", lambda _, oid: commit(oid))
    main, side, start = (kb.resolve(revision) for revision in ("main", "side", "main~3"))
    read.clear()
    assert history.count_apart(kb.repo, main, side) == (3, 3)
    assert history.merge_bases(kb.repo, [main], [side]) == [start]
    assert history.is_ancestor(kb.repo, start, side)
    assert not history.is_ancestor(kb.repo, main, side)
    assert len(read) == 7


def test_a_commit_is_found_by_its_message(twins: Twins) -> None:
    for pattern in ("1", "^2", "[3-5]$", "absent", "[0-9]"):
        found = twins.git("rev-parse", "--verify", "-q", f":/{pattern}").strip()
        try:
            assert twins.kb.resolve(f":/{pattern}") == twins.oids[twins.names[found]]
        except UsageError:
            assert not found


def test_three_dots_begin_where_the_two_went_apart(twins: Twins) -> None:
    pairs = [(left, right) for left in range(0, SIZE, 3) for right in range(1, SIZE, 4)]
    names = [f"began-{left}-{right}" for left, right in pairs]
    for name, (left, right) in zip(names, pairs, strict=True):
        twins.git("branch", name, f"c{left}...c{right}")
    rows = zip(pairs, twins.git_resolve(names), twins.git_bases(pairs), strict=True)
    for (left, right), git_began, bases in rows:
        try:
            made = twins.kb.branches.create("began", f"c{left}...c{right}", force=True)
        except UsageError:
            assert git_began is None
        else:
            assert git_began is not None
            assert twins.oids.index(bytes.fromhex(made)) in bases


STEPS = (
    "", "~", "^", "~0", "^0", "~2", "^2", "^^", "~1^2", "^2~1", "^3", "~~~", "^1^1", "~3^2~2", "~99", "^{}",
    "^{commit}~1", "~1^{}^2^{object}", "^{/1}", "^{/^2}~1", "~1^{/absent}", "^{tag}", "^{",
)  # fmt: skip


def test_steps_back_lead_to_the_same_commits(twins: Twins) -> None:
    revisions = [f"c{number}{steps}" for number in range(SIZE) for steps in STEPS]
    for revision, expected in zip(revisions, twins.git_resolve(revisions), strict=True):
        try:
            found = twins.kb.resolve(revision)
        except UsageError:
            assert expected is None, revision
            continue
        assert expected == twins.oids.index(found), revision
