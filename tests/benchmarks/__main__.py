"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

from tests.benchmarks import report
from tests.benchmarks.harness import REPOSITORY, MeasurementError, Settings, Table
from tests.conftest import find_shared_data

PAGE = REPOSITORY / "docs" / "benchmarks.md"
RESULTS = REPOSITORY / "build" / "benchmarks"
MEMORY_FILE_SYSTEM = Path("/dev/shm")


def main() -> int:
    """Run the benchmarks that were asked for; the exit status is 1 when one could not be measured."""
    names = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    options = parse_options(names)
    benchmarks = {
        name: importlib.import_module(f"tests.benchmarks.bench_{name}") for name in options.names or names
    }
    if options.list:
        for name, module in benchmarks.items():
            print(f"{name:12} {(module.__doc__ or '').splitlines()[0]}")
        return 0
    failed = False
    for name, module in benchmarks.items():
        settings = make_settings(options, name)
        try:
            run_benchmark(name, module, settings, options.write)
        except MeasurementError as error:
            print(f"\n{name}: {error}\n", file=sys.stderr)
            failed = True
        finally:
            for folder in (settings.fast, settings.disk):
                shutil.rmtree(folder, ignore_errors=True)
    return int(failed)


def parse_options(names: list[str]) -> argparse.Namespace:
    """The command line, read."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description="Measure arbor beside its peers."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(names)} (all, if none)")
    parser.add_argument("--list", action="store_true", help="say what there is and stop")
    parser.add_argument(
        "--full", action="store_true", help="only the large sizes: 100,000 notes, a million documents"
    )
    parser.add_argument("--notes", type=int, help="how many notes (20,000, with --full 100,000)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each peer runs (3)")
    parser.add_argument("--disk", type=Path, default=Path(tempfile.gettempdir()), help="a folder on a disk")
    parser.add_argument("--write", action="store_true", help="also put the tables into docs/benchmarks.md")
    options = parser.parse_args()
    unknown = set(options.names) - set(names)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return options


def make_settings(options: argparse.Namespace, name: str) -> Settings:
    """The settings of one benchmark, with fresh folders to work in."""
    usable = MEMORY_FILE_SYSTEM.is_dir() and os.access(MEMORY_FILE_SYSTEM, os.W_OK)
    return Settings(
        full=options.full,
        rounds=options.rounds,
        notes=options.notes or (100_000 if options.full else 20_000),
        memory=Path(tempfile.mkdtemp(prefix=f"arbor-bench-{name}-", dir=MEMORY_FILE_SYSTEM))
        if usable
        else None,
        disk=Path(tempfile.mkdtemp(prefix=f"arbor-bench-{name}-", dir=options.disk)),
        data=find_shared_data(),
    )


def run_benchmark(name: str, module: ModuleType, settings: Settings, write: bool) -> None:
    """Measure one benchmark, printing each table when it is there, and keep the results."""
    start = time.monotonic()
    tables: list[Table] = []
    print(f"## {module.TITLE}\n\n{report.machine()}\n", flush=True)
    for table in module.run(settings):
        tables.append(table)
        print(report.format_table(table), flush=True)
    title = f"{module.TITLE}, large" if settings.full else module.TITLE
    kept_as = f"{name} --full" if settings.full else name
    report.write_json(RESULTS / f"{kept_as}.json", title, tables)
    if write:
        report.write_section(PAGE, kept_as, report.section(title, tables))
    print(f"({name} took {time.monotonic() - start:.0f} s)\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
