"""kill -9 of either side at random moments of clone, fetch and push: whole, finished by a second try, nothing twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from arbor.repo.repository import open_repository
from arbor.repo.trust.verify import verify
from arbor.store import pack_format as fmt
from tests.cli.harness import Cli
from tests.remote.people import make_kb
from tests.remote.test_resuming import bulky

REPOSITORY = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")

# Stands in for ssh: notes its process, and becomes the other side.
FAKE_SSH = """
import os, shlex, sys
with open({pid!r}, "w") as file:
    file.write(str(os.getpid()))
words = shlex.split(sys.argv[-1])
os.execv(sys.executable, [sys.executable, "-m", "arbor", *words[1:]])
"""


@dataclass(frozen=True)
class Bench:
    """Two KBs and how to run arbor between them."""

    folder: Path
    env: dict[str, str]

    def start(self, cwd: Path, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "arbor", *words, "--json"],
            cwd=cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, cwd: Path, *words: str) -> dict[str, object]:
        """Run to the end; the JSON answer."""
        process = self.start(cwd, *words)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()
        answer = json.loads(out)
        assert isinstance(answer, dict)
        return answer

    def run_here(self, cwd: Path, *words: str) -> dict[str, object]:
        """As `run`, without the start of a process on this side; the JSON answer."""
        return Cli(cwd)(*words, "--json", env=self.env).json

    def run_and_kill(self, cwd: Path, after_s: float, side: str, *words: str) -> bool:
        """Run and kill one side; whether it had already ended."""
        pid_file = self.folder / "pid"
        pid_file.unlink(missing_ok=True)
        process = self.start(cwd, *words)
        time.sleep(after_s)
        with contextlib.suppress(ProcessLookupError, FileNotFoundError, ValueError):
            if side == "there":
                os.kill(int(pid_file.read_text()), signal.SIGKILL)
            elif process.poll() is None:
                process.kill()
        process.communicate(timeout=120)
        # What was started by the side that died ends with its pipes.
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self._lives(pid_file):
            time.sleep(0.01)
        return process.returncode == 0

    @staticmethod
    def _lives(pid_file: Path) -> bool:
        try:
            pid = int(pid_file.read_text())
            return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
        except (OSError, ValueError):
            return False


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("kill")
    script = folder / "fake_ssh.py"
    script.write_text(FAKE_SSH.format(pid=str(folder / "pid")))
    env = {name: value for name, value in os.environ.items() if not name.startswith("ARBOR_")}
    env |= {
        "PYTHONPATH": str(REPOSITORY),
        "ARBOR_SSH": f"{sys.executable} -I -S {script}",
        "ARBOR_AUTHOR_NAME": "Ada",
        "ARBOR_AUTHOR_EMAIL": "ada@example.org",
    }
    make_kb(folder / "full", bulky(250)).close()
    return Bench(folder, env)


def whole_frames(folder: Path) -> int:
    """Bytes of the whole frames in quarantine."""
    total = 0
    for path in folder.glob("incoming-*/frames"):
        data = path.read_bytes()
        offset = len(fmt.MAGIC)
        while header := fmt.decode_frame_header(data[offset : offset + fmt.HEADER_BYTES]):
            end = offset + fmt.HEADER_BYTES + header.packed_bytes
            if end > len(data):
                break
            total += end - offset
            offset = end
    return total


def rounds(slow: int) -> list[object]:
    return [1, pytest.param(slow, marks=pytest.mark.slow)]


def moments(number: int, seconds: float) -> list[tuple[float, str]]:
    source = random.Random(number)
    return [(source.uniform(0.1, 1.05) * seconds, side) for _ in range(number) for side in ("here", "there")]


def timed(bench: Bench, cwd: Path, *words: str) -> tuple[float, int]:
    """(seconds, bytes transferred) of an undisturbed run."""
    began = time.monotonic()
    answer = bench.run(cwd, *words)
    return time.monotonic() - began, int(answer["bytes"])  # type: ignore[call-overload]


def check_second_try(place: Path, ref: str, tip: bytes | None, sent: int, missing: int) -> None:
    """It has brought all, sent no more than was missing, and left nothing behind; the place goes."""
    repo = open_repository(place)
    assert repo.refs.read(ref) == tip
    assert verify(repo, tip).ok
    assert sent <= missing
    assert not list(repo.folder.glob("incoming-*"))
    repo.close()
    shutil.rmtree(place)


@pytest.mark.parametrize("number", rounds(9))
def test_clone_killed(bench: Bench, number: int) -> None:
    url = f"host:{bench.folder}/full"
    seconds, total = timed(bench, bench.folder, "clone", "--bare", url, "undisturbed")
    shutil.rmtree(bench.folder / "undisturbed")
    for after_s, side in moments(number, seconds):
        target = bench.folder / "clone"
        done = bench.run_and_kill(bench.folder, after_s, side, "clone", "--bare", url, "clone")
        if done or (target / "format").exists():
            held, sent = 0, 0
        else:
            held = whole_frames(target)
            sent = int(bench.run_here(bench.folder, "clone", "--bare", url, "clone")["bytes"])  # type: ignore[call-overload]
        repo = open_repository(target)
        assert verify(repo, repo.refs.head_oid()).ok
        assert sent <= total - held + total // 20
        assert not list(target.glob("incoming-*"))
        repo.close()
        shutil.rmtree(target)


@pytest.mark.parametrize("number", rounds(9))
def test_fetch_killed(bench: Bench, number: int) -> None:
    def fresh(name: str) -> Path:
        place = bench.folder / name
        make_kb(place).close()
        bench.run_here(place, "remote", "add", "origin", f"host:{bench.folder}/full")
        return place

    seconds, total = timed(bench, fresh("undisturbed"), "fetch")
    shutil.rmtree(bench.folder / "undisturbed")
    tip = open_repository(bench.folder / "full").refs.head_oid()
    for after_s, side in moments(number, seconds):
        place = fresh("fetch")
        bench.run_and_kill(place, after_s, side, "fetch")
        repo = open_repository(place)
        assert repo.refs.read("refs/remotes/origin/main") in (None, tip)
        assert verify(repo, None).ok
        repo.close()
        held = whole_frames(place / ".arbor")
        sent = int(bench.run_here(place, "fetch")["bytes"])  # type: ignore[call-overload]
        check_second_try(place, "refs/remotes/origin/main", tip, sent, total - held + total // 20)


@pytest.mark.parametrize("number", rounds(9))
def test_push_killed(bench: Bench, number: int) -> None:
    source = bench.folder / "full"

    def fresh(name: str) -> str:
        make_kb(bench.folder / name, bare=True).close()
        return f"host:{bench.folder}/{name}"

    seconds, total = timed(bench, source, "push", fresh("undisturbed"))
    shutil.rmtree(bench.folder / "undisturbed")
    tip = open_repository(source).refs.head_oid()
    for after_s, side in moments(number, seconds):
        url = fresh("push")
        bench.run_and_kill(source, after_s, side, "push", url)
        place = bench.folder / "push"
        repo = open_repository(place)
        assert repo.refs.read("refs/heads/main") in (None, tip)
        assert verify(repo, repo.refs.head_oid()).ok
        repo.close()
        held = whole_frames(place)
        sent = int(bench.run_here(source, "push", url)["bytes"])  # type: ignore[call-overload]
        check_second_try(place, "refs/heads/main", tip, sent, total - held + total // 20)
