"""`arbor --help` and `arbor status` start at once: what they may load is on a list."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.package_source import PACKAGE, REPOSITORY

needs_command_line = pytest.mark.skipif(
    not (PACKAGE / "cli" / "__init__.py").exists(), reason="the command line (arbor/cli) is not in this tree"
)

HEAVY = {
    "asyncio",
    "docx",
    "httpcore",
    "jieba",
    "json",
    "mcp",
    "numpy",
    "pypdf",
    "rich",
    "selectolax",
    "sqlite3",
    "Stemmer",
}
LIGHT = {"backports", "blake3", "click", "msgpack", "platformdirs"}


def run_python(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    # Safe path and no user site: nothing in the folder or the home of this run can shadow a module.
    command = [sys.executable, "-s", "-P", "-X", "importtime", *arguments]
    environment = {"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin", "HOME": str(folder.parent)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def run_arbor(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "arbor", *arguments, folder=folder)


def loaded_packages(done: subprocess.CompletedProcess[str]) -> set[str]:
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:") and "|" in line]
    return {line.split("|")[-1].strip().split(".")[0] for line in lines} - {"imported package"}


def assert_starts_light(done: subprocess.CompletedProcess[str]) -> None:
    loaded = loaded_packages(done)
    assert "arbor" in loaded, "the import log of the interpreter was not understood"
    assert loaded & HEAVY == set()
    bare = loaded_packages(run_python("-c", "pass", folder=PACKAGE))
    # The log also names modules that were looked for in vain.
    foreign = {
        name
        for name in loaded - bare - sys.stdlib_module_names - {"arbor"}
        if importlib.util.find_spec(name) is not None
    }
    assert foreign <= LIGHT, f"loaded at start-up and not on the list: {sorted(foreign - LIGHT)}"


@needs_command_line
def test_help_loads_little(tmp_path: Path) -> None:
    done = run_arbor("--help", folder=tmp_path)
    assert_starts_light(done)
    assert "status" in done.stdout


@pytest.fixture(scope="module")
def knowledge_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("startup")
    (folder / "note.md").write_text("# A note\n\nSome words.\n", encoding="utf-8")
    run_arbor("init", folder=folder)
    run_arbor("add", "note.md", folder=folder)
    run_arbor("commit", "-m", "first", folder=folder)
    return folder


@needs_command_line
def test_status_loads_little(knowledge_base: Path) -> None:
    assert_starts_light(run_arbor("status", folder=knowledge_base))


@needs_command_line
def test_status_with_a_change_loads_little(knowledge_base: Path) -> None:
    (knowledge_base / "other.md").write_text("# Another\n", encoding="utf-8")
    done = run_arbor("status", folder=knowledge_base)
    assert_starts_light(done)
    assert "other.md" in done.stdout


@needs_command_line
@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        (["log"], {"difflib", "arbor.text.reading", "arbor.index", "arbor.graph", "arbor.remote"}),
        (["cat", "note.md"], {"difflib", "arbor.text.reading", "arbor.index", "arbor.graph"}),
        (
            ["search", "words"],
            {"numpy", "arbor.index.writer", "arbor.graph.updating", "arbor.graph.collection", "arbor.search.overlay"},
        ),
        (["tier"], {"importlib.metadata", "cryptography", "arbor.repo.distillation.distillers", "arbor.index"}),
        (["core", "list"], {"importlib.metadata", "cryptography", "arbor.repo.distillation.distilling"}),
        (["journal"], {"arbor.repo.distillation", "arbor.repo.forgetting.evicting", "arbor.repo.trust.ssh_keys"}),
    ],
)  # fmt: skip
def test_a_command_loads_what_it_needs(knowledge_base: Path, command: list[str], unneeded: set[str]) -> None:
    """What is named here was loaded once by commands that came to nothing of it, a few milliseconds each."""
    code = "import sys\nfrom arbor.cli import main\ncode = main()\nprint('loaded:', *sys.modules)\nsys.exit(code)"
    done = run_python("-c", code, *command, folder=knowledge_base)
    loaded = set(done.stdout.rpartition("loaded:")[2].split())
    assert "arbor.kb" in loaded
    assert loaded & unneeded == set()


def test_the_package_itself_imports_nothing_heavy() -> None:
    code = "import sys; import arbor; print(*{name.split('.')[0] for name in sys.modules})"
    environment = {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-s", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "arbor" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize(
    "name", ["ArborError", "errors.NoKnowledgeBase", "proofs.verify", "open", "KnowledgeBase"]
)
def test_the_package_alone_is_enough_to_name_what_it_offers(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-s", "-c", f"import arbor; arbor.{name}"],
        env={"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
