"""`kill -9` at any moment of evict, rehydrate and gc: nothing is lost that is not proven to be elsewhere."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

import arbor
from arbor import KnowledgeBase
from arbor.errors import ArborError
from arbor.objects.ids import Kind, file_hash
from arbor.repo.desk import TrustDesk
from arbor.repo.forgetting.copies import FolderSource, Wanted, gives_everything
from arbor.repo.tiers import read_tiers
from arbor.repo.upkeep.gc import collect
from arbor.store.journal import Journal
from arbor.text.extraction import DEFAULT_POLICY
from tests.trust.conftest import fill, long_note

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be killed at a chosen moment")


def work(kb: KnowledgeBase, archive: Path, number: int) -> None:
    """Every act that changes what is stored, once."""
    desk = TrustDesk(kb.repo)
    desk.evict([""], places=[archive])
    desk.rehydrate((), places=[archive])
    with contextlib.suppress(ArborError):
        kb.add_bytes(f"extra/{number % 3}.md", f"# Extra {number} {os.getpid()}\n".encode(), overwrite=True)
    collect(kb.repo, grace_s=0)


def work_forever(folder: Path, archive: Path) -> None:
    """What the child does until it is killed."""
    kb = arbor.open(folder)
    for number in itertools.count(1):
        work(kb, archive, number)


def time_to_work_s(folder: Path, archive: Path) -> float:
    """Seconds that all acts take now: on a busy machine the moments must lie further apart to fall into each."""
    copy = shutil.copytree(folder, folder.with_name("timed"))
    began = time.perf_counter()
    with arbor.open(copy) as kb:
        work(kb, archive, 1)
    return time.perf_counter() - began


def killed_after(seconds: float, folder: Path, archive: Path) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            work_forever(folder, archive)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "the child ended by itself"


def assert_nothing_is_lost(folder: Path, archive: Path, hashes: dict[str, bytes]) -> None:
    """Every committed file is here as it was, or cold and given by the archive now."""
    kb = arbor.open(folder)
    report = kb.verify()
    assert report.ok, report.damaged
    snapshot, tiers, source = kb.snapshot(), read_tiers(kb.folder), FolderSource(archive)
    assert {path for path, _ in snapshot.paths()} == set(hashes)
    for path, oid in snapshot.paths():
        document = snapshot.document(oid)
        assert document.file_hash == hashes[path]
        manifest = snapshot.manifest(document)
        if oid not in tiers.cold:
            assert file_hash(b"".join(snapshot.file_pieces(document, manifest))) == hashes[path]
            continue
        found = source.find(Wanted(oid, document, manifest, (path,)))
        assert found is not None
        assert gives_everything(Wanted(oid, document, manifest, (path,)), found, DEFAULT_POLICY)
    assert Journal(kb.folder).check().faults == ()
    for commit in kb.log():
        assert kb.repo.store.get(bytes.fromhex(commit.commit))[0] == Kind.COMMIT
    kb.close()


def acts_of(folder: Path) -> set[str]:
    return {record.act for record in Journal(folder / ".arbor").records()}


def run(tmp_path: Path, moments: int, seed: int) -> None:
    folder, archive = tmp_path / "kb", tmp_path / "archive"
    files: dict[str, str | bytes] = {f"n{i:02}.md": long_note(3, str(i)) for i in range(12)}
    files["page.html"] = "<html><body>" + "<p>some words</p>" * 300 + "</body></html>"
    kb = fill(arbor.init(folder), files)
    kb.close()
    shutil.copytree(folder, archive, ignore=shutil.ignore_patterns(".arbor"))
    hashes = {
        path: file_hash(text if isinstance(text, bytes) else text.encode()) for path, text in files.items()
    }
    shuffled = random.Random(seed)
    wanted = {"evict", "rehydrate", "gc"}
    longest_s = 1.5 * time_to_work_s(folder, archive)
    for number in range(6 * moments):  # a machine that grows busier needs more before each act was reached
        killed_after(shuffled.uniform(0.0, longest_s * (1 + number // moments)), folder, archive)
        assert_nothing_is_lost(folder, archive, hashes)
        if number + 1 >= moments and wanted <= acts_of(folder):
            break
    assert wanted <= acts_of(folder)
    last = arbor.open(folder)
    TrustDesk(last.repo).rehydrate((), places=[archive])
    assert not read_tiers(last.folder).cold
    assert collect(last.repo, grace_s=0).damaged == ()
    assert last.verify().ok
    last.close()


@pytest.mark.skipif(sys.platform != "linux", reason="times and signals are Linux's")
def test_killed_at_some_moments(tmp_path: Path) -> None:
    run(tmp_path, 10, 7)


@pytest.mark.slow
def test_killed_at_a_hundred_moments(tmp_path: Path) -> None:
    run(tmp_path, 100, 11)
