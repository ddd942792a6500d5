"""Recording notes: add, commit, status and verify beside git's, with sizes and peak memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import corpus, git_peer
from tests.benchmarks.git_peer import GIT, RECORD
from tests.benchmarks.harness import (
    ARBOR,
    MeasurementError,
    Sample,
    Settings,
    Spread,
    Table,
    cpu_seconds_of,
    folder_bytes,
    format_mebibytes,
    format_ratio,
    format_seconds,
    in_turns,
    measure,
    ratios,
    run_untimed,
    seconds_of,
    verdict,
)

TITLE = "Recording"
MORE_NOTES = 100
LARGE_FILE_BYTES = 500 * 10**6
PEAK_LIMIT_BYTES = 300 * 2**20
STATUS_LIMIT_S = 0.25

ADD = (*ARBOR, "add", ".")
COMMIT = (*ARBOR, "commit", "-m", "notes")
COMMIT_ONLY = (*COMMIT, "--no-index")


@dataclass(frozen=True, slots=True)
class Trees:
    """The same notes twice: one copy for git, one for arbor."""

    git: Path
    arbor: Path

    @property
    def both(self) -> tuple[Path, Path]:
        """The two work trees."""
        return self.git, self.arbor


def run(settings: Settings) -> Iterator[Table]:
    """Measure on every place: first recording, recording a little more, and what is asked all day."""
    for place, folder in settings.places().items():
        trees = Trees(folder / "git", folder / "arbor")
        size = corpus.write_notes(trees.both, range(settings.notes), settings.data)
        about = f"{settings.notes:,} Markdown files, {size / 1e6:.0f} MB, {place}"
        peaks: dict[str, list[Sample]] = {}
        yield first_time(settings, trees, place, about)
        yield more_notes(settings, trees, about, peaks)
        yield all_day(settings, trees, about, peaks)
        yield memory(peaks, about)
    if not settings.full:
        yield large_file(settings)


def start_arbor(tree: Path) -> None:
    """A fresh, empty knowledge base over the files that are there."""
    shutil.rmtree(tree / ".arbor", ignore_errors=True)
    run_untimed([(*ARBOR, "init")], tree)


def record_with_git(trees: Trees) -> list[Sample]:
    """Everything into a fresh git repository."""
    git_peer.start(trees.git)
    os.sync()  # what the last one left to be written must not slow this one
    return measure(RECORD, trees.git)


def record_with_arbor(trees: Trees, commit: Sequence[str]) -> list[Sample]:
    """Everything into a fresh knowledge base."""
    start_arbor(trees.arbor)
    os.sync()
    return measure((ADD, commit), trees.arbor)


def first_time(settings: Settings, trees: Trees, place: str, about: str) -> Table:
    """add + commit of everything, with and without the search index, against git add + commit."""
    samples = in_turns(
        {
            "git": lambda: record_with_git(trees),
            "bare": lambda: record_with_arbor(trees, COMMIT_ONLY),
            "indexed": lambda: record_with_arbor(trees, COMMIT),
        },
        settings.rounds,
    )
    limits = {"bare": 1.0, "indexed": 2.0 if place == "tmpfs" else 1.0}
    names = {"bare": "arbor add + commit --no-index", "indexed": "arbor add + commit"}
    note = "arbor writes durably (fsync); of its time, add took "
    note += format_seconds(Spread.of(run[0].seconds for run in samples["indexed"])) + "."
    return compare_with_git(f"First recording: {about}", samples, names, limits, note)


def compare_with_git(
    title: str,
    samples: dict[str, list[list[Sample]]],
    names: dict[str, str],
    limits: dict[str, float],
    note: str = "",
) -> Table:
    """A table of jobs beside git's, whose samples are under "git"."""
    seconds = {name: [seconds_of(run) for run in runs] for name, runs in samples.items()}
    cpu_seconds = {name: [cpu_seconds_of(run) for run in runs] for name, runs in samples.items()}

    def times(name: str) -> tuple[str, str]:
        return format_seconds(Spread.of(seconds[name])), f"{Spread.of(cpu_seconds[name]).median:.2f} s"

    rows = [("git add + commit, no fsync", *times("git"), "1", "")]
    for name, words in names.items():
        ratio = ratios(seconds[name], seconds["git"])
        rows.append((words, *times(name), format_ratio(ratio), verdict(ratio.median, limits[name])))
    data = {"seconds": seconds, "cpu_seconds": cpu_seconds}
    return Table(title, ("what", "time", "processor time", "ratio to git", "kept"), tuple(rows), note, data)


def more_notes(settings: Settings, trees: Trees, about: str, peaks: dict[str, list[Sample]]) -> Table:
    """A hundred more files on top of all those, the index brought up to date."""
    record_with_git(trees)
    peaks["add"], peaks["commit"] = ([sample] for sample in record_with_arbor(trees, COMMIT))
    written = settings.notes
    samples: dict[str, list[list[Sample]]] = {"git": [], "arbor": []}
    for _ in range(settings.rounds):
        corpus.write_notes(trees.both, range(written, written + MORE_NOTES), settings.data)
        written += MORE_NOTES
        samples["git"].append(measure(RECORD, trees.git))
        samples["arbor"].append(measure((ADD, COMMIT), trees.arbor))
    title = f"{MORE_NOTES} more files: {about}"
    return compare_with_git(title, samples, {"arbor": "arbor add + commit"}, {"arbor": 4.0})


def all_day(settings: Settings, trees: Trees, about: str, peaks: dict[str, list[Sample]]) -> Table:
    """status with nothing changed, verify, and the size of what is stored."""
    rounds = max(settings.rounds, 5)
    status = in_turns(
        {
            "git": lambda: measure([(*GIT, "status", "--porcelain")], trees.git)[0],
            "arbor": lambda: measure([(*ARBOR, "status", "--porcelain")], trees.arbor)[0],
        },
        rounds,
    )
    if any(sample.stdout for samples in status.values() for sample in samples):
        raise MeasurementError("status reported changes where there are none")
    git_peer.repack(trees.git)
    verify = in_turns(
        {
            "git": lambda: measure([(*GIT, "fsck", "--full", "--no-progress")], trees.git)[0],
            "arbor": lambda: measure([(*ARBOR, "verify")], trees.arbor)[0],
        },
        settings.rounds,
    )
    peaks["status"], peaks["verify"] = status["arbor"], verify["arbor"]
    times = {
        f"{action} {name}": Spread.of(sample.seconds for sample in samples[name])
        for action, samples in (("status", status), ("verify", verify))
        for name in ("git", "arbor")
    }
    verify_ratio = ratios(*([sample.seconds for sample in verify[name]] for name in ("arbor", "git")))
    packs = folder_bytes(trees.arbor / ".arbor" / "packs")
    git_packs = folder_bytes(trees.git / ".git" / "objects" / "pack")
    median = times["status arbor"].median
    rows = (
        (
            "status, nothing changed",
            format_seconds(times["status git"]),
            format_seconds(times["status arbor"]),
            f"{median / times['status git'].median:.1f}",
            verdict(round(median, 3), STATUS_LIMIT_S) + " s",
        ),
        (
            "fsck --full (packed) / verify",
            format_seconds(times["verify git"]),
            format_seconds(times["verify arbor"]),
            format_ratio(verify_ratio),
            verdict(verify_ratio.median, 0.9),
        ),
        (
            "packs (git: after gc)",
            format_mebibytes(git_packs),
            format_mebibytes(packs),
            f"{packs / git_packs:.3f}",
            verdict(round(packs / git_packs, 3), 1.1),
        ),
    )
    cache = folder_bytes(trees.arbor / ".arbor" / "cache")
    note = f"The search index and the other caches of arbor take {format_mebibytes(cache)}."
    data = {"pack_bytes": packs, "git_pack_bytes": git_packs}
    return Table(f"Day by day: {about}", ("what", "git", "arbor", "ratio", "kept"), rows, note, data)


def memory(peaks: dict[str, list[Sample]], about: str) -> Table:
    """The most memory that each command held."""
    most = {name: max(sample.peak_rss_bytes for sample in samples) for name, samples in peaks.items()}
    rows = tuple(
        (
            f"arbor {name}",
            format_mebibytes(size),
            verdict(round(size / 2**20), PEAK_LIMIT_BYTES / 2**20) + " MiB",
        )
        for name, size in most.items()
    )
    note = "The largest process of the command; workers share most of its memory."
    return Table(
        f"Peak memory: {about}", ("command", "resident", "kept"), rows, note, {"peak_rss_bytes": most}
    )


def large_file(settings: Settings) -> Table:
    """One text file of 500 MB: refused unless forced, then streamed."""
    tree = settings.fast / "large"
    tree.mkdir()
    corpus.write_large_text(tree / "large.txt", LARGE_FILE_BYTES, settings.data)
    start_arbor(tree)
    refused = measure([(*ARBOR, "add", "large.txt")], tree, may_fail=True)[0]
    add, commit = measure([(*ARBOR, "add", "-f", "large.txt"), COMMIT], tree)
    verify = measure([(*ARBOR, "verify")], tree)[0]
    limit = PEAK_LIMIT_BYTES / 2**20
    rows = [
        (
            name,
            f"{sample.seconds:.2f} s",
            format_mebibytes(sample.peak_rss_bytes),
            str(sample.exit),
            verdict(round(sample.peak_rss_bytes / 2**20), limit) + " MiB",
        )
        for name, sample in (("add", refused), ("add -f", add), ("commit", commit), ("verify", verify))
    ]
    if not refused.exit:
        raise MeasurementError("a file of 500 MB was added without being forced")
    note = "Without -f arbor says: " + " / ".join(
        line.strip() for line in refused.stderr.splitlines() if line.strip()
    )
    columns = ("command", "time", "peak memory", "exit status", "kept")
    return Table("One text file of 500 MB", columns, tuple(rows), note.replace(str(tree), "..."))
