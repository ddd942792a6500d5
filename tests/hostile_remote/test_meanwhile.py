"""What another process does to a KB while it is cloned, fetched from or bundled is no damage of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import arbor
from arbor.remote.exchange import enumerating, service
from arbor.remote.transports.local import LocalTransport
from arbor.repo import tiers
from arbor.repo.tiers import Tiers
from tests.remote.people import clone_to, notes
from tests.repo.kit import new_kb


class Served(LocalTransport):
    """As others see it who cannot read the disk: what refs reach, and no whole packs."""

    def __init__(self, fs_path: Path) -> None:
        super().__init__(fs_path)
        self._service = service.Service(fs_path, may_push=False)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A KB beside a copy of it, from which evicted documents come back."""
    new_kb(tmp_path / "kb", notes(4)).close()
    clone_to(tmp_path / "kb", tmp_path / "copy", bare=True)
    return tmp_path / "kb"


def evict(folder: Path) -> None:
    with arbor.open(folder) as kb:
        assert kb.trust.evict(["folder0"], places=[str(folder.parent / "copy")]).evicted


def rehydrate(folder: Path) -> None:
    with arbor.open(folder) as kb:
        kb.trust.rehydrate(["folder0"], places=[str(folder.parent / "copy")])


def after_tiers_are_read(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something once, right after the tiers were read by who answers."""
    left = [act]

    def read(folder: Path) -> Tiers:
        found = tiers.read_tiers(folder)
        if left:
            left.pop()()
        return found

    for module in (service, enumerating):
        monkeypatch.setattr(module, "read_tiers", read, raising=False)


def bundle_and_clone(source: Path, target: Path) -> None:
    with arbor.open(source) as kb:
        kb.sharing.create_bundle(target.with_suffix(".bundle"), ["main"])
    clone_to(target.with_suffix(".bundle"), target)


WAYS: dict[str, Callable[[Path, Path], object]] = {
    "path": clone_to,
    "served": lambda source, target: clone_to(Served(source), target),
    "bundle": bundle_and_clone,
}


@pytest.mark.parametrize("act", [evict, rehydrate])
@pytest.mark.parametrize("way", WAYS)
def test_a_document_that_goes_cold_or_comes_back_meanwhile(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, way: str, act: Callable[[Path], None]
) -> None:
    if act is rehydrate:
        evict(source)
    after_tiers_are_read(monkeypatch, lambda: act(source))
    WAYS[way](source, tmp_path / "clone")
    with arbor.open(tmp_path / "clone") as kb:
        assert kb.verify().ok
        assert len(list(kb.ls())) == 4
