"""Running commands in tests: in this process through click's runner, or as a real process where that matters."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from arbor.cli.app import arbor
from arbor.objects.model import Signature
from arbor.repo.repository import Repository

REPOSITORY = Path(__file__).resolve().parents[2]
FIRST_COMMIT_S = 1_769_850_000  # 2026-01-31 09:00 UTC
SECONDS_BETWEEN = 3600
IDENTITY = {"ARBOR_AUTHOR_NAME": "Ada Lovelace", "ARBOR_AUTHOR_EMAIL": "ada@example.org"}


def allow_new_key(folder: Path, signer: str) -> None:
    """Make an SSH key, `folder/key`, and a file that allows it to a signer, `folder/allowed`; skip without OpenSSH."""
    try:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    except FileNotFoundError:
        pytest.skip("ssh-keygen is not installed")
    kind, text, *_ = (folder / "key.pub").read_text().split()
    (folder / "allowed").write_text(f"{signer} {kind} {text}\n")


@dataclass(frozen=True, slots=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str
    raw: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The JSON answer; exactly one object on one line."""
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


class Cli:
    """Runs commands in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self, *words: str, code: int = 0, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> Done:
        """Run in this process; fails the test where the exit code is another."""
        done = self.run(*words, stdin=stdin, env=env)
        assert done.code == code, f"arbor {' '.join(words)}: exit {done.code}\n{done.out}{done.err}"
        return done

    def run(self, *words: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Done:
        """Run in this process, however it ends."""
        result = CliRunner().invoke(arbor, ["-C", str(self.folder), *words], input=stdin, env=dict(env or {}))
        raw = result.stdout_bytes
        return Done(result.exit_code, raw.decode("utf-8", "replace"), result.stderr, raw)

    def write(self, path: str, content: str | bytes) -> Path:
        """A file in the folder, with the folders above it."""
        fs_path = self.folder / path
        fs_path.parent.mkdir(parents=True, exist_ok=True)
        fs_path.write_bytes(content.encode() if isinstance(content, str) else content)
        return fs_path

    def commit(self, message: str) -> str:
        """Stage everything and commit; the commit's oid."""
        self("add", ".")
        oid: str = self("commit", "-m", message, "--json").json["commit"]
        return oid


def process_environment(folder: Path) -> dict[str, str]:
    """The environment of a real process: this interpreter, no settings of the person at work."""
    return {
        "PYTHONPATH": str(REPOSITORY), "PATH": os.environ.get("PATH", ""), "HOME": str(folder), "TZ": "UTC",
        "ARBOR_CONFIG": str(folder / "no-config.toml"), "LANG": "C.UTF-8", **IDENTITY,
    }  # fmt: skip


def command_line(*words: str) -> list[str]:
    """The words that start arbor as a process."""
    return [sys.executable, "-s", "-P", "-m", "arbor", *words]


def run_process(
    folder: Path, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run arbor as a process."""
    environment = {**process_environment(folder), **(env or {})}
    return subprocess.run(
        command_line(*words),
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def steady(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Iterator[int]]:
    """A fixed identity, a clock that ticks once a signature, UTC, a terminal of 80 columns, and no proxy."""
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ARBOR_CONFIG", str(tmp_path_factory.mktemp("user") / "config.toml"))
    monkeypatch.setenv("COLUMNS", "80")
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    ticks = itertools.count(FIRST_COMMIT_S, SECONDS_BETWEEN)
    who: Callable[[Repository, float | None], Signature] = Repository.who

    def at_fixed_time(repo: Repository, now: float | None = None) -> Signature:
        return who(repo, next(ticks) if now is None else now)

    monkeypatch.setattr(Repository, "who", at_fixed_time)
    yield ticks
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def cli(tmp_path: Path, steady: Iterator[int]) -> Cli:
    """Commands in an empty folder."""
    folder = tmp_path / "kb"
    folder.mkdir()
    return Cli(folder)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the knowledge base of `kb` is kept, to be copied for each test."""
    return tmp_path_factory.mktemp("template") / "kb"


@pytest.fixture
def kb(cli: Cli, template: Path, steady: Iterator[int]) -> Cli:
    """Commands in a knowledge base with three documents in one commit."""
    if template.exists():
        next(steady)
    else:
        _make_template(Cli(template))
    shutil.copytree(template, cli.folder, dirs_exist_ok=True)
    return cli


def _make_template(cli: Cli) -> None:
    cli.write(
        "notes/merkle.md", "# Merkle trees\n\nA leaf is hashed, then its parent. See [proofs](proofs.md).\n"
    )
    cli.write(
        "notes/proofs.md",
        "---\ntags: [hash]\n---\n# Proofs\n\nAn inclusion proof leads from a leaf to the root.\n",
    )
    cli.write("zh/默克尔.md", "# 默克尔树\n\n默克尔树把数据块的散列组织成一棵树。\n")
    cli("init")
    cli.commit("First notes")


_HEX = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{16}|[0-9a-f]{12})\b")


class Stable:
    """Makes transcripts comparable: oids become numbers in the order of their appearance, folders a name."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._known: dict[str, int] = {}

    def __call__(self, text: str) -> str:
        """The text with oids as `<1>` (short) and `<1:64>`, and the folder as `/kb`."""
        return _HEX.sub(self._named, text.replace(self._folder, "/kb"))

    def _named(self, found: re.Match[str]) -> str:
        oid = found[0]
        number = self._known.setdefault(oid[:12], len(self._known) + 1)
        return f"<{number}>" if len(oid) == 12 else f"<{number}:{len(oid)}>"
