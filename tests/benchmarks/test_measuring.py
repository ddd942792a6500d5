"""The measurements themselves are measured: a benchmark that lies is worse than none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.benchmarks import corpus, report
from tests.benchmarks.harness import (
    MeasurementError,
    Spread,
    Table,
    cpu_seconds_of,
    folder_bytes,
    format_ratio,
    format_seconds,
    in_turns,
    measure,
    ratios,
    seconds_of,
    verdict,
)


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code)


def test_time_memory_and_output_of_each_command(tmp_path: Path) -> None:
    asleep, large = measure(
        [python("import time; time.sleep(0.05)"), python("kept = bytearray(10**8); print('done')")], tmp_path
    )
    assert asleep.seconds >= 0.05
    assert 0 < asleep.cpu_seconds < asleep.seconds
    assert (asleep.exit, large.exit) == (0, 0)
    assert large.stdout == "done\n"
    assert large.peak_rss_bytes > 10**8
    assert asleep.peak_rss_bytes < 5 * 10**7
    assert seconds_of([asleep, large]) == asleep.seconds + large.seconds
    assert cpu_seconds_of([asleep, large]) == asleep.cpu_seconds + large.cpu_seconds


def test_the_memory_of_the_one_who_measures_is_not_counted(tmp_path: Path) -> None:
    kept = bytearray(10**8)
    small = measure([python("pass")], tmp_path)[0]
    assert len(kept) > small.peak_rss_bytes


def test_commands_run_where_they_are_told_without_anyones_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARBOR_SOMETHING", "set")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    folder = tmp_path / "here"
    folder.mkdir()
    script = "import os; print(os.getcwd(), {'ARBOR_SOMETHING', 'PYTHONDONTWRITEBYTECODE'} & {*os.environ})"
    found = measure([python(script)], folder)[0]
    assert found.stdout.split() == [str(folder), "set()"]


def test_a_failure_stops_and_is_said(tmp_path: Path) -> None:
    failing = python("import sys; sys.exit('no such thing')")
    with pytest.raises(MeasurementError, match="exited 1:\nno such thing"):
        measure([failing, python("open('ran', 'w')")], tmp_path)
    assert not (tmp_path / "ran").exists()
    assert measure([failing], tmp_path, may_fail=True)[0].exit == 1
    with pytest.raises(MeasurementError, match="could not be run"):
        measure([("no-such-command-anywhere",)], tmp_path)


def test_peers_run_in_turns_and_take_turns_at_beginning() -> None:
    order: list[str] = []
    results = in_turns({name: lambda name=name: order.append(name) or name for name in "abc"}, 4)  # type: ignore[misc, func-returns-value]
    assert "".join(order) == "abcbcacababc"
    assert results == {name: [name] * 4 for name in "abc"}


def test_ratios_are_taken_within_a_round() -> None:
    assert ratios([2.0, 30.0, 4.0], [1.0, 10.0, 4.0]) == Spread(2.0, 1.0, 3.0)
    with pytest.raises(ValueError, match="zip"):
        ratios([1.0], [1.0, 2.0])


def test_formats() -> None:
    assert format_seconds(Spread(2.608, 2.5, 2.8)) == "2.61 s (2.50 to 2.80)"
    assert format_seconds(Spread(0.00123, 0.001, 0.0456)) == "1.23 ms (1 to 45.6)"
    assert format_ratio(Spread(0.854, 0.8, 1.0)) == "0.85 (0.80 to 1.00)"
    assert verdict(1.1, 1.1) == "yes (<= 1.1)"
    assert verdict(1.11, 1.1) == "NO (<= 1.1)"


def test_folder_bytes_counts_files_and_not_links(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "inner" / "b").write_bytes(b"123")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert folder_bytes(tmp_path) == 8


@pytest.mark.parametrize("real", [False, True])
def test_notes_are_the_same_every_time_and_of_the_size_said(
    tmp_path: Path, real: bool, request: pytest.FixtureRequest
) -> None:
    data = request.getfixturevalue("shared_data") if real else None
    one, two = tmp_path / "one", tmp_path / "two"
    total = corpus.write_notes([one], range(300), data)
    corpus.write_notes([two], range(150), data)
    corpus.write_notes([two], range(150, 300), data)
    files = sorted(path.relative_to(one) for path in one.rglob("*.md"))
    assert len(files) == 300
    assert all((one / path).read_bytes() == (two / path).read_bytes() for path in files)
    sizes = [(one / path).stat().st_size for path in files]
    assert sum(sizes) == total
    assert all(corpus.MIN_BYTES <= size <= 8192 for size in sizes)
    assert 4000 < total / 300 < 5500
    assert len({(one / path).read_bytes() for path in files}) == 300


def test_short_documents_and_questions(shared_data: Path) -> None:
    documents = dict(corpus.short_documents(200, shared_data))
    assert documents == dict(corpus.short_documents(200, shared_data))
    assert len(documents) == 200
    assert all(len(text.encode()) < 4096 for text in documents.values())
    asked = corpus.questions(50, shared_data)
    assert len(set(asked)) == 50
    assert asked == corpus.questions(50, shared_data)


def test_everything_can_be_made_without_the_public_data() -> None:
    assert len(dict(corpus.short_documents(20, None))) == 20
    assert len(corpus.questions(20, None)) == 20


def test_a_large_text_has_its_size_and_no_line_twice(tmp_path: Path) -> None:
    corpus.write_large_text(tmp_path / "large.txt", 3_000_000, None)
    text = (tmp_path / "large.txt").read_text(encoding="utf-8")
    assert 3_000_000 <= len(text.encode()) < 6_000_000
    assert len(set(text.splitlines())) == len(text.splitlines())


def test_a_table_is_markdown() -> None:
    table = Table("Times", ("what", "time"), (("a | b", "1 s"),), "A note.")
    assert report.format_table(table) == (
        "### Times\n\n| what | time |\n| --- | --- |\n| a \\| b | 1 s |\n\nA note.\n"
    )


def test_a_section_of_the_page_is_replaced_and_the_rest_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "benchmarks.md"
    report.write_section(page, "one", "## One\n\nformer\n")
    report.write_section(page, "two", "## Two\n")
    page.write_text(page.read_text() + "\nBy hand.\n")
    report.write_section(page, "one", "## One\n\nnew \\1\n")
    text = page.read_text()
    assert text.startswith("# Benchmarks\n")
    assert text.count("## One") == 1
    assert "former" not in text
    assert "new \\1" in text
    assert text.index("## One") < text.index("## Two") < text.index("By hand.")
