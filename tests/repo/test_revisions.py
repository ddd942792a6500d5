"""Revisions as people type them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from arbor.errors import IntegrityError, UsageError
from arbor.kb import KnowledgeBase
from arbor.objects.ids import Kind
from arbor.objects.model import Tag, encode_tag
from arbor.repo.commits.moments import parse_moment
from tests.repo.kit import new_kb, record, signature, write

NOW = 1_700_000_000


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Five commits an hour apart, the last one now; a tag, a tag object, a branch named like digits."""
    kb = new_kb(tmp_path_factory.mktemp("kb"))
    for number in range(5):
        kb.repo.who = lambda now=None, at=NOW - 3600 * (4 - number): signature(at)  # type: ignore[method-assign]
        record(kb, {"a.md": f"{number}\n"}, f"number {number}")
    oids = commits(kb)
    refs, who = kb.repo.refs, signature(NOW)
    refs.move("refs/tags/v1", None, oids[1], who, "tag")
    refs.move("refs/heads/dead", None, oids[2], who, "branch")
    refs.move("refs/heads/v1", None, oids[3], who, "branch")
    refs.move("refs/remotes/origin/main", None, oids[0], who, "fetch")
    refs.move("refs/remotes/origin/HEAD", None, oids[4], who, "fetch")
    with kb.repo.lock(), kb.repo.store.writer() as writer:
        inner = writer.add(Kind.TAG, encode_tag(Tag(oids[2], "inner", who, "m")))
        outer = writer.add(Kind.TAG, encode_tag(Tag(inner, "outer", who, "m")))
    refs.move("refs/tags/annotated", None, outer, who, "tag")
    return kb


def commits(kb: KnowledgeBase) -> list[bytes]:
    """Oldest first."""
    return [bytes.fromhex(entry.commit) for entry in kb.log("main")][::-1]


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("HEAD", 4),
        ("@", 4),
        ("main", 4),
        ("refs/heads/main", 4),
        ("HEAD~", 3),
        ("HEAD~1", 3),
        ("@~4", 0),
        ("main^^", 2),
        ("HEAD^1~1", 2),
        ("HEAD~0", 4),
        ("HEAD^0", 4),
        ("v1", 1),
        ("refs/heads/v1", 3),
        ("dead", 2),
        ("annotated", 2),
        ("annotated~1", 1),
        ("origin/main", 0),
        ("origin", 4),
        ("main@{0}", 4),
        ("main@{1}", 3),
        ("@{4}", 0),
        ("HEAD@{2}~1", 1),
        ("main@{now}", 4),
        ("main@{90 minutes ago}", 2),
        ("@{2.hours.ago}", 2),
        ("main@{yesterday}", None),
        ("~1", 3),
        ("^", 3),
    ],
)
def test_what_can_be_typed(
    kb: KnowledgeBase, typed: str, number: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    if number is None:
        with pytest.raises(UsageError, match="does not go back"):
            kb.resolve(typed)
    else:
        assert kb.resolve(typed) == commits(kb)[number]


def test_without_a_name_the_moves_of_the_current_branch_count(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "0\n"})
    first = kb.resolve()
    kb.commit("second", allow_empty=True, index=False)
    kb.branches.switch("other", create=True)
    made = kb.commit("other", allow_empty=True, index=False).commit
    kb.branches.switch("main")
    assert kb.resolve("@{1}") == kb.resolve("main@{1}") == first
    assert kb.resolve("HEAD@{1}").hex() == made
    kb.branches.switch("other", detach=True)
    assert kb.resolve("@{1}") == kb.resolve("HEAD@{1}") == kb.resolve("main")


def test_the_start_of_an_oid(kb: KnowledgeBase) -> None:
    for oid in commits(kb):
        for digits in (8, 12, 64):
            assert kb.resolve(oid.hex()[:digits]) == oid
        assert kb.resolve(oid.hex().upper()) == oid


def test_only_commits_and_tags_answer_to_digits(kb: KnowledgeBase) -> None:
    document = kb.document("a.md").document
    with pytest.raises(UsageError, match="not found"):
        kb.resolve(document)
    with pytest.raises(UsageError, match="not found"):
        kb.resolve("0" * 64)


def test_a_start_that_several_commits_share_is_said_to_be(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    oids = commits(kb)
    monkeypatch.setattr(kb.repo.store, "find_prefix", lambda digits: oids[:2])
    with pytest.raises(UsageError, match="start of 2 commits") as caught:
        kb.resolve("abcd")
    assert oids[0].hex()[:12] in caught.value.hint


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "mian",
        "HEAD~5",
        "HEAD~99999999999",
        "HEAD~" + "9" * 5000,
        "HEAD^2",
        "HEAD^" + "9" * 5000,
        "abc",
        "main@{9}",
        "main@{" + "9" * 5000 + "}",
        "main@{²}",
        "HEAD~²",
        "HEAD~１",
        "main@{}",
        "main@{no date}",
        "absent@{0}",
        "a b",
        "..",
        "../HEAD",
        "HEAD:a.md",
        "-x",
        "\0",
        "\ud800",
        "main\n",
        "@{-1}",
        "refs/heads/absent",
        "refs/../HEAD",
        "config.toml",
        "x" * 10_000,
        "^{}",
        "main~~x",
    ],
)
def test_what_is_no_revision_is_a_usage_error(kb: KnowledgeBase, typed: str) -> None:
    with pytest.raises(UsageError):
        kb.resolve(typed)


def test_the_nearest_name_is_proposed(kb: KnowledgeBase) -> None:
    with pytest.raises(UsageError, match="'mian' not found") as caught:
        kb.resolve("mian")
    assert caught.value.hint == "did you mean 'main'?"


def test_before_the_first_commit(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    with pytest.raises(UsageError, match="no commit yet"):
        kb.resolve("HEAD")
    with pytest.raises(UsageError, match="not found"):
        kb.resolve("main")


def test_a_damaged_ref_is_not_taken_for_an_absent_one(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    (kb.folder / "refs/heads/main").write_bytes(b"junk\n")
    with pytest.raises(IntegrityError):
        kb.resolve("main")


def test_ranges(kb: KnowledgeBase) -> None:
    assert [entry.message for entry in kb.log("v1..main")] == ["number 4", "number 3", "number 2"]
    assert [entry.message for entry in kb.log("HEAD~1..")] == ["number 4"]
    assert list(kb.log("..v1")) == []
    assert len(list(kb.log("main", limit=2))) == 2
    assert kb.resolve("heads/main") == kb.resolve("main")
    assert kb.resolve("tags/v1") == kb.resolve("v1")
    for typed in ("absent..main", "main..absent", "main...absent"):
        with pytest.raises(UsageError):
            list(kb.log(typed))


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("now", 0),
        ("yesterday", 86400),
        ("3 days ago", 3 * 86400),
        ("1 hour", 3600),
        ("12h", 12 * 3600),
        ("30d", 30 * 86400),
        ("2w", 14 * 86400),
        ("1y", 365 * 86400),
        ("2.weeks.ago", 14 * 86400),
        ("  10   MINUTES ago ", 600),
        ("5 seconds ago", 5),
        ("1m", 30 * 86400),
        ("90 minutes", 5400),
    ],
)
def test_moments_counted_back_from_now(text: str, ago: int) -> None:
    assert parse_moment(text, float(NOW)) == NOW - ago


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_dates_are_local_in_winter_and_in_summer(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for text, form in (
            ("2024-01-15", "%Y-%m-%d"),
            ("2024-07-15", "%Y-%m-%d"),
            ("2024-07-15 12:30", "%Y-%m-%d %H:%M"),
            ("2024-01-15T01:02:03", "%Y-%m-%dT%H:%M:%S"),
        ):
            assert time.strftime(form, time.localtime(parse_moment(text))) == text
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text",
    [
        "2024-07-15T12:30:05+00:00",
        "2024-07-15T12:30:05Z",
        "2024-07-15 12:30:05 +0000",
        "2024-07-15 14:30:05 +0200",
        "2024-07-15T07:00:05.25-05:30",
    ],
)
def test_moments_as_the_log_prints_them(text: str) -> None:
    assert parse_moment(text) == 1721046605


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-07-15T12:30:05+99:00",
        "2024-07-15T25:30Z",
        "soon",
        "2024-13-01",
        "2024-02-30",
        "3 fortnights",
        "9" * 5000 + " days",
        "²d",
        "0001-01-01x",
        "-1 day",
        "1.5h",
    ],
)
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(UsageError, match="is not a date"):
        parse_moment(text)


def test_what_only_one_of_two_sides_has(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "base\n"})
    base = kb.resolve("HEAD").hex()
    kb.branches.switch("side", create=True)
    record(kb, {"s.md": "side\n"}, "on side")
    kb.branches.switch("main")
    record(kb, {"m.md": "main\n"}, "on main")
    assert sorted(entry.message for entry in kb.log("main...side")) == ["on main", "on side"]
    assert kb.branches.merge_base("main", "side") == base
    assert [change.path for change in kb.diff(base, "side")] == ["s.md"]


def test_a_reflog_that_is_too_young_is_named(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a\n"})
    with pytest.raises(UsageError, match=r"the reflog of 'main' does not go back to yesterday") as found:
        kb.resolve("main@{yesterday}")
    assert found.value.hint == "its oldest entry is main@{0}; run: arbor reflog main"


def test_a_document_is_described_as_staged(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "# A\n\ntext\n"})
    write(tmp_path, {"b.md": "# B\n\nnew\n", "a.md": "# A2\n\nchanged\n"})
    kb.add()
    assert kb.document("b.md").title == "B"
    assert kb.document("a.md").title == "A2"
    assert kb.document("a.md", "HEAD").title == "A"
    assert {(passage.here, kb.document("a.md").tier) for passage in kb.document("a.md").passages} == {
        (True, "hot")
    }
