"""Runs commands one after the other and reports, as JSON, the time and the peak memory of each.

A process of its own because a child starts with the peak memory of the process that started it: this one is
small. It is started with `python -I -S` and one argument, a JSON object with `commands` (lists of words) and
`log` (the path prefix for what they print). It stops at the first command that fails.
"""

from __future__ import annotations

import json
import os
import sys
import time


def measure(command: list[str], log: str) -> dict[str, float]:
    """Run one command, its output in files: time, peak resident bytes (children included), exit status."""
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log + ".out", write, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, log + ".err", write, 0o600),
    ]
    start = time.perf_counter()
    process = os.posix_spawnp(command[0], command, os.environ, file_actions=files)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - start
    rss_unit = 1 if sys.platform == "darwin" else 1024
    code = os.waitstatus_to_exitcode(status)
    return {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_rss_bytes": usage.ru_maxrss * rss_unit,
        "exit": code,
    }


def main() -> None:
    """Measure what the argument asks for."""
    request = json.loads(sys.argv[1])
    results = []
    for number, command in enumerate(request["commands"]):
        results.append(measure(command, f"{request['log']}.{number}"))
        if results[-1]["exit"]:
            break
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
