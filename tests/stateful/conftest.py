"""The fixtures of the tests of crashes."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be synced is looked at, and no test waits for the disk that it runs on."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
