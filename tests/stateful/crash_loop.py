"""Run as a program: kills a writer again and again at random moments, and looks at what it left each time.

    python -m tests.stateful.crash_loop FOLDER ROUNDS SEED

The writer makes commit after commit; what commit N holds is a function of N, so every state that may be found is
known. Writers are forked from this process, which has everything loaded, so that the moments of death fall into
the work and not into the start.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import arbor


def content(number: int) -> dict[str, bytes]:
    """What commit `number` holds."""
    files = {f"kept/{n}.md": f"# Kept {n}\n\nfor ever\n".encode() for n in range(3)}
    files["changing.md"] = f"# Version {number}\n\n{'words ' * (number % 50)}\n".encode()
    files |= {
        f"coming/{n % 7}/{n}.md": f"# Came with {n}\n".encode() for n in range(max(0, number - 4), number)
    }
    return files


def apply_content(folder: Path, wanted: dict[str, bytes]) -> None:
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and ".arbor" not in path.parts and name not in wanted:
            path.unlink()
    for name, data in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


def record(folder: Path, number: int) -> None:
    """Make commit `number`."""
    apply_content(folder, content(number))
    with arbor.open(folder) as kb:
        kb.add()
        kb.commit(str(number), index=False)


def write_for_ever(folder: Path, start: int, report: int) -> None:
    number = start
    while True:
        number += 1
        record(folder, number)
        os.write(report, b"%d\n" % number)


def run_and_kill(folder: Path, start: int, delay_s: float) -> int:
    """The last commit that the writer said was done."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read_end)
        try:
            write_for_ever(folder, start, write_end)
        finally:
            os._exit(1)
    os.close(write_end)
    time.sleep(delay_s)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the writer ended by itself"
    with os.fdopen(read_end, "rb") as pipe:
        said = pipe.read().split()
    return int(said[-1]) if said else start


def look(folder: Path, done: int) -> int:
    """Check what is there; the number of the commit at HEAD."""
    kb = arbor.open(folder)
    number = int(next(kb.log(limit=1)).message)
    assert number in (done, done + 1), f"{number} found after {done} was done"
    found = {path: b"".join(kb.cat(path, "HEAD")) for path, _ in kb.ls()}
    assert found == content(number), f"commit {number} holds something else"
    report = kb.verify()
    assert report.ok, report.damaged
    kb.status()
    assert len(list(kb.log())) == number + 1
    kb.close()
    return number


def main(folder: Path, rounds: int, seed: int) -> None:
    source = random.Random(seed)
    apply_content(folder, content(0))
    kb = arbor.init(folder)
    kb.add()
    kb.commit("0", index=False)
    kb.close()
    number = 1
    start = time.perf_counter()
    record(folder, number)
    commit_s = time.perf_counter() - start  # a busy machine would kill every writer before its first commit
    for _ in range(rounds):
        number = look(folder, run_and_kill(folder, number, source.random() ** 2 * 4 * commit_s))
    kb = arbor.open(folder)
    with kb.repo.lock():
        left = [path.name for path in (kb.folder / "packs").iterdir() if path.suffix not in (".pack", ".idx")]
    assert left == [], left
    sys.stdout.write(f"{number}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
