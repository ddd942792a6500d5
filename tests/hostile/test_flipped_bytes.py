"""A flipped bit anywhere in `.arbor/` is found or harmless, and never makes a document read as something else."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

import arbor
from arbor import processes
from arbor.errors import ArborError, IntegrityError
from tests.repo.kit import new_kb, read_all, record, write

# Text that people edit, without a checksum of its own, and what is not read at all.
NOT_CHECKED = {"config.toml", "lock"}


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of checks of a few bytes each: to fork this process for every one of them takes longer than they do."""
    monkeypatch.setattr(processes, "can_fork", lambda: False)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two commits and something staged, in few bytes."""
    folder = tmp_path_factory.mktemp("original")
    kb = new_kb(folder, {"a.md": "# A\n\nalpha\n", "b/c.md": "gamma\n"})
    record(kb, {"a.md": "# A\n\nother\n"}, "second")
    write(folder, {"staged.md": "staged\n"})
    kb.add()
    kb.close()
    return folder


def state_of(folder: Path) -> tuple[object, ...]:
    kb = arbor.open(folder)
    try:
        staged = b"".join(kb.cat("staged.md"))
        return kb.resolve(), read_all(kb), read_all(kb, "HEAD~1"), staged, kb.status().staged
    finally:
        kb.close()


def check_flip(folder: Path, path: Path, place: int, bit: int, truth: tuple[object, ...]) -> None:
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[place] ^= 1 << bit
    path.write_bytes(changed)
    where = (path.name, place, bit)
    try:
        try:
            kb = arbor.open(folder)
        except ArborError:
            return  # found at once
        found = not kb.verify().ok
        kb.close()
        try:
            assert state_of(folder) == truth, where
        except IntegrityError:
            assert found, where
        else:
            assert found or path.suffix == ".idx" or "logs" in path.parts, where
    finally:
        path.write_bytes(whole)


def places(path: Path, source: random.Random) -> list[int]:
    """Every second byte of a small file; of an index and of a log fewer."""
    size = path.stat().st_size
    if path.suffix == ".idx":
        return [*range(0, 48, 5), *source.sample(range(48, 1076), 8), *source.sample(range(1076, size), 24)]
    return list(range(0, size, 5 if "logs" in path.parts else 2))


def flips(folder: Path) -> list[tuple[Path, int]]:
    source = random.Random(1)
    files = [p for p in sorted((folder / ".arbor").rglob("*")) if p.is_file() and p.name not in NOT_CHECKED]
    kept = [path for path in files if "cache" not in path.parts]
    return [(path, place) for path in kept for place in places(path, source)]


def test_some_flips(original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "kb")
    truth, source = state_of(folder), random.Random(2)
    for path, place in source.sample(flips(folder), 60):
        check_flip(folder, path, place, source.randrange(8), truth)


@pytest.mark.slow
def test_flips_all_over_the_smallest_pack_and_the_names(original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "kb")
    truth, source = state_of(folder), random.Random(3)
    smallest = min((folder / ".arbor/packs").glob("*.pack"), key=lambda path: path.stat().st_size)
    for path, place in flips(folder):
        if path == smallest or path.name in ("HEAD", "main", "stage"):
            check_flip(folder, path, place, source.randrange(8), truth)


def test_cuts(original: Path, tmp_path: Path) -> None:
    """As flips, with the end of a file gone."""
    folder = shutil.copytree(original, tmp_path / "kb")
    truth = state_of(folder)
    for path in sorted({path for path, _ in flips(folder)}):
        whole = path.read_bytes()
        for size in sorted({0, 1, len(whole) // 2, len(whole) - 1}):
            path.write_bytes(whole[:size])
            try:
                kb = arbor.open(folder)
                found = not kb.verify().ok
                read_right = state_of(folder) == truth
            except ArborError:
                found = read_right = True
            assert found or read_right, (path.name, size)
            path.write_bytes(whole)


def test_a_flip_in_the_cache_changes_no_answer(original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "kb")
    truth = state_of(folder)
    path = folder / ".arbor/cache/worktree"
    whole = path.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 4
        path.write_bytes(changed)
        assert state_of(folder) == truth
    shutil.rmtree(folder / ".arbor/cache")
    assert state_of(folder) == truth


def test_flips_in_the_caches_are_found(original: Path, tmp_path: Path) -> None:
    """The index and the consensus state change no document, but what they say must be what was written."""
    folder = shutil.copytree(original, tmp_path / "kb")
    kb = arbor.open(folder)
    kb.search("alpha")
    kb.consensus("a.md")
    assert kb.verify().ok
    kb.close()
    source = random.Random(4)
    for name in ("index.db", "consensus.db"):
        path = folder / ".arbor/cache" / name
        whole = path.read_bytes()
        for place in source.sample(range(len(whole)), 12):
            changed = bytearray(whole)
            changed[place] ^= 1 << source.randrange(8)
            path.write_bytes(changed)
            kb = arbor.open(folder)
            assert [each.where for each in kb.verify().damaged] == [f"cache/{name}"], (name, place)
            kb.close()
        path.write_bytes(whole)
