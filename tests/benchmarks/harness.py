"""How things are measured: time and memory of commands, peers in turns, medians and ratios with a spread."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

REPOSITORY = Path(__file__).resolve().parents[2]
LAUNCHER = Path(__file__).with_name("launch.py")
ARBOR = (sys.executable, "-m", "arbor")
T = TypeVar("T")


class MeasurementError(Exception):
    """A measured command failed, so there is nothing to report."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked for.

    Attributes:
        full: The large sizes (100,000 notes).
        rounds: How often each peer is run.
        notes: How many notes the usual corpus has.
        memory: A folder on a file system in memory, or None where there is none.
        disk: A folder on a disk.
        data: The folder of public collections and vaults, or None.
    """

    full: bool
    rounds: int
    notes: int
    memory: Path | None
    disk: Path
    data: Path | None

    @property
    def fast(self) -> Path:
        """The fastest place there is."""
        return self.memory or self.disk

    def places(self) -> dict[str, Path]:
        """The places to measure on, by the name they have in a table; with `full` the fastest alone."""
        places = ({"tmpfs": self.memory} if self.memory else {}) | {"disk": self.disk}
        return dict([*places.items()][:1]) if self.full else places


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a report; `data` is what the JSON file keeps besides."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured command: wall and processor time, peak memory, exit status and what it printed."""

    seconds: float
    cpu_seconds: float
    peak_rss_bytes: int
    exit: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of some values and how far they reach."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of at least one value."""
        collected = list(values)
        return cls(statistics.median(collected), min(collected), max(collected))


def neutral_environment(scratch: Path) -> dict[str, str]:
    """The environment of a measured command: this arbor, and nobody's settings for it, for Python or for git.

    Python's among them: one of them keeps it from storing what it compiled, and then each command compiles arbor anew.
    """
    foreign = ("GIT_", "ARBOR_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    config = scratch / "no-config"
    config.mkdir(parents=True, exist_ok=True)
    identity = {
        f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _PERSON.items()
    }
    return (
        kept
        | identity
        | {
            "PYTHONPATH": str(REPOSITORY),
            "XDG_CONFIG_HOME": str(config),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "ARBOR_AUTHOR_NAME": _PERSON["NAME"],
            "ARBOR_AUTHOR_EMAIL": _PERSON["EMAIL"],
        }
    )


_PERSON = {"NAME": "Ada Lovelace", "EMAIL": "ada@example.org"}


def measure(commands: Sequence[Sequence[str]], folder: Path, *, may_fail: bool = False) -> list[Sample]:
    """Run commands in a folder, one after the other, each measured.

    Raises:
        MeasurementError: when one fails and may not, or could not be started.
    """
    with tempfile.TemporaryDirectory() as logs:
        log = f"{logs}/log"
        request = json.dumps({"commands": [list(command) for command in commands], "log": log})
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(LAUNCHER), request],
            cwd=folder, env=neutral_environment(folder.parent), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise MeasurementError(f"{commands[0]} could not be run:\n{done.stderr[-2000:]}")
        samples = [
            Sample(
                float(result["seconds"]),
                float(result["cpu_seconds"]),
                int(result["peak_rss_bytes"]),
                int(result["exit"]),
                Path(f"{log}.{number}.out").read_text(encoding="utf-8", errors="replace"),
                Path(f"{log}.{number}.err").read_text(encoding="utf-8", errors="replace"),
            )
            for number, result in enumerate(json.loads(done.stdout))
        ]
    if samples[-1].exit and not may_fail:
        command = " ".join(commands[len(samples) - 1])
        raise MeasurementError(f"`{command}` exited {samples[-1].exit}:\n{samples[-1].stderr[-2000:]}")
    return samples


def run_untimed(commands: Sequence[Sequence[str]], folder: Path) -> None:
    """Run commands that only prepare something.

    Raises:
        MeasurementError: as `measure`.
    """
    measure(commands, folder)


def seconds_of(samples: Iterable[Sample]) -> float:
    """The time of commands that together do one job."""
    return sum(sample.seconds for sample in samples)


def cpu_seconds_of(samples: Iterable[Sample]) -> float:
    """The processor time of commands that together do one job, over all cores: what a busy machine changes least."""
    return sum(sample.cpu_seconds for sample in samples)


def in_turns(peers: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Run each peer once a round; another one begins each round, so that none always follows the same one."""
    results: dict[str, list[T]] = {name: [] for name in peers}
    names = list(peers)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            results[name].append(peers[name]())
    return results


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Ours over theirs, within each round."""
    return Spread.of(our / their for our, their in zip(ours, theirs, strict=True))


def format_seconds(spread: Spread) -> str:
    """`2.61 s (2.55 to 2.80)`, or in milliseconds under a tenth of a second."""
    if spread.median < 0.1:
        return f"{spread.median * 1e3:.3g} ms ({spread.low * 1e3:.3g} to {spread.high * 1e3:.3g})"
    return f"{spread.median:.2f} s ({spread.low:.2f} to {spread.high:.2f})"


def format_ratio(spread: Spread) -> str:
    """`0.85 (0.80 to 0.92)`."""
    return f"{spread.median:.2f} ({spread.low:.2f} to {spread.high:.2f})"


def format_mebibytes(size_bytes: float) -> str:
    """`93.1 MiB`."""
    return f"{size_bytes / 2**20:.1f} MiB"


def verdict(value: float, limit: float) -> str:
    """Whether a limit is kept, with the limit."""
    return f"{'yes' if value <= limit else 'NO'} (<= {limit:g})"


def folder_bytes(folder: Path) -> int:
    """The sizes of the files in a folder, added up."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
