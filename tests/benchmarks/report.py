"""How results are shown and kept: Markdown tables, JSON in build/, a section of docs/benchmarks.md."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import re
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.harness import Table

HEADING = """# Benchmarks

Measured by `make bench`, which anyone can run. Peers run in turns, and a ratio is taken within each turn; the
value is the median and the brackets hold the lowest and the highest.
"""


def format_table(table: Table) -> str:
    """The table as Markdown."""
    lines = [
        f"### {table.title}",
        "",
        "| " + " | ".join(table.columns) + " |",
        "|" + " --- |" * len(table.columns),
        *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table.rows),
    ]
    if table.note:
        lines += ["", table.note]
    return "\n".join(lines) + "\n"


def machine() -> str:
    """What the numbers were measured with, in one sentence."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout.split()
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (
        f"{os.cpu_count()} cores, {memory_bytes / 2**30:.0f} GiB of memory, {platform.system()}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, git {git[-1] if git else '-'}."
    )


def section(title: str, tables: Sequence[Table]) -> str:
    """One benchmark as a section of the page."""
    return "\n".join([f"## {title}\n", machine() + "\n", *map(format_table, tables)])


def replace_section(page: str, name: str, text: str) -> str:
    """The page with the section of that name replaced between its markers, or added at the end."""
    begin, end = f"<!-- bench {name} -->", f"<!-- end of bench {name} -->"
    block = f"{begin}\n{text}{end}"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(page):
        return pattern.sub(lambda _: block, page)
    return page.rstrip("\n") + f"\n\n{block}\n"


def write_section(page_path: Path, name: str, text: str) -> None:
    """Put the section into the page, which is made if need be."""
    page = page_path.read_text(encoding="utf-8") if page_path.exists() else HEADING
    page_path.parent.mkdir(parents=True, exist_ok=True)
    page_path.write_text(replace_section(page, name, text), encoding="utf-8")


def write_json(path: Path, title: str, tables: Sequence[Table]) -> None:
    """Everything that was measured, for programs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "schema": "arbor.bench/1",
        "title": title,
        "machine": machine(),
        "python": sys.version,
        "tables": [dataclasses.asdict(table) for table in tables],
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
