"""What every test shares: where the real-world data lies, and an environment free of a user's settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent

# Wall-clock limits fail on busy machines and prove nothing about the code. The examples are always the same, so that no
# change is refused for one that it did not bring; `make explore` looks for new ones.
settings.register_profile(
    "arbor",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", settings.get_profile("arbor"), derandomize=False, max_examples=1000)
settings.load_profile("arbor")


def find_shared_data() -> Path | None:
    """The public collections and vaults: ARBOR_TEST_DATA, else ../shared/data beside the repository."""
    named = os.environ.get("ARBOR_TEST_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the public collections and vaults; the test is skipped where it is absent."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip("the shared test data is absent (set ARBOR_TEST_DATA to its folder)")
    return folder


@pytest.fixture(scope="session", autouse=True)
def neutral_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test sees the settings of the person who runs it: arbor's, git's, or the terminal's."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("GIT_") or (name.startswith("ARBOR_") and name != "ARBOR_TEST_DATA"):
                patch.delenv(name)
        for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PAGER", "COLUMNS", "LINES"):
            patch.delenv(name, raising=False)
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "Ada Lovelace")
            patch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
        yield
