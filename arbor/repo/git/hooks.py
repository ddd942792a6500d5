"""Local hooks: programs in `.arbor/hooks/` that run around a commit, a merge and a checkout. They are never cloned."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import ConflictError
from arbor.lazy import lazy_module
from arbor.records import dataclass
from arbor.store.files import in_words

if TYPE_CHECKING:
    import subprocess
    import tempfile
else:  # most knowledge bases have no hook
    subprocess = lazy_module("subprocess")
    tempfile = lazy_module("tempfile")

TIMEOUT_S = 600.0
_MAX_OUTPUT_BYTES = 100_000
_HAS_GROUPS = hasattr(os, "killpg")


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """What a hook did: its exit code and what it wrote; 0 and nothing where there is none."""

    exit_code: int
    output: str


def run_hook(folder: Path, fs_root: Path | None, name: str, arguments: Sequence[str] = ()) -> HookOutcome:
    """Run a hook if there is an executable one, in the work tree, with nothing to read but the terminal if it opens it.

    Args:
        folder: The `.arbor` folder.
        fs_root: The work tree; in a bare KB hooks run in the folder itself.
        name: One of `NAMES`.
        arguments: Given to the program.
    """
    program = folder / "hooks" / name
    if not program.is_file() or not os.access(program, os.X_OK):
        return HookOutcome(0, "")
    is_leader = _HAS_GROUPS and not _has_terminal()
    # A file and no pipe, which would stay open for as long as anything that the hook left running.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                [str(program), *arguments], cwd=fs_root or folder, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, process_group=0 if is_leader else None,
            )  # fmt: skip
        except OSError as error:
            return HookOutcome(126, f"it cannot be run: {in_words(error)[0]}")
        try:
            code = process.wait(TIMEOUT_S)
        except BaseException as error:
            _stop(process, is_leader=is_leader)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return HookOutcome(124, f"it took longer than {TIMEOUT_S:.0f} seconds and was stopped")
        output.seek(0)
        return HookOutcome(code, output.read(_MAX_OUTPUT_BYTES).decode("utf-8", "replace"))


def _has_terminal() -> bool:
    """Whether there is a terminal that a hook may ask: it would be stopped there in a group of its own, and waited for.

    In the group of this process it can, and an interrupt that is typed ends all that it started.
    """
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return True


def _stop(process: subprocess.Popen[bytes], *, is_leader: bool) -> None:
    """End a hook; where it leads a group, also what it started."""
    if is_leader:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def require_pre_commit(folder: Path, fs_root: Path | None) -> str:
    """Run the pre-commit hook; what it wrote.

    Raises:
        ConflictError: when the hook refuses, with what it wrote.
    """
    outcome = run_hook(folder, fs_root, "pre-commit")
    if outcome.exit_code:
        said = outcome.output.strip() or f"exit code {outcome.exit_code}"
        raise ConflictError(f"the pre-commit hook refused: {said}", "commit all the same with --no-verify")
    return outcome.output
