"""Sharing: clones, pushes and bundles beside git's, one server with many clients, merges of large knowledge bases."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import arbor
from arbor.objects import ledger
from arbor.objects.ids import Kind
from arbor.objects.ledger_diff import diff
from arbor.objects.model import encode_commit
from arbor.repo.commits.committing import build_commit
from arbor.repo.merge.merge_ledgers import Merging, merge_ledgers
from arbor.repo.merge.merging import merge
from arbor.repo.repository import Repository, init_repository, open_repository
from arbor.repo.staging.ingest import store_extraction
from arbor.store.frames import FrameCollector
from arbor.text.reading import extract
from tests.benchmarks import corpus, git_peer
from tests.benchmarks.git_peer import GIT, RECORD
from tests.benchmarks.harness import (
    ARBOR,
    MeasurementError,
    Settings,
    Spread,
    Table,
    format_mebibytes,
    format_ratio,
    format_seconds,
    in_turns,
    measure,
    neutral_environment,
    ratios,
    run_untimed,
    seconds_of,
    verdict,
)

TITLE = "Sharing"
PUSHED_NOTES = 100
CLIENTS = 8
SERVER_LIMIT_BYTES = 300 * 2**20
FETCH_LIMIT_S = 0.25
LARGE_DOCUMENTS = 100_000
CHANGED_DOCUMENTS = 10
MERGE_LIMIT_S = 0.2
COLUMNS = ("what", "git", "arbor", "ratio to git", "kept")


def run(settings: Settings) -> Iterator[Table]:
    """Measure clones on every place, and the rest on the fastest."""
    for place, folder in settings.places().items():
        size = record_both(settings, folder)
        about = f"{settings.notes:,} Markdown files, {size / 1e6:.0f} MB, {place}"
        yield clones(settings, folder, place, about)
        if folder == settings.fast:
            yield pushes(settings, folder, about)
            yield bundles(settings, folder, about)
            yield serving(settings, folder, about)
        for name in ("git", "arbor"):
            shutil.rmtree(folder / name)
    yield merging(settings)


def record_both(settings: Settings, folder: Path) -> int:
    """The same notes committed on both sides, git's packed; their bytes."""
    trees = (folder / "git", folder / "arbor")
    size = corpus.write_notes(trees, range(settings.notes), settings.data)
    git_peer.start(trees[0])
    run_untimed(RECORD, trees[0])
    git_peer.repack(trees[0])
    run_untimed([(*ARBOR, "init"), (*ARBOR, "add", "."), (*ARBOR, "commit", "-m", "notes")], trees[1])
    return size


def fresh_clone(folder: Path, name: str, command: Sequence[str]) -> float:
    """Seconds of a clone into a new folder, which is removed again."""
    target = folder / name
    sample = measure([(*command, str(target))], folder)
    shutil.rmtree(target)
    return seconds_of(sample)


def clones(settings: Settings, folder: Path, place: str, about: str) -> Table:
    """Bare and full clones by path; git through its own transport, since hard links check nothing."""
    url = f"file://{folder / 'git'}"
    rows, data = [], {}
    for what, limit, flags in (("clone --bare", 0.6, ("--bare",)), ("clone, files and index", 2.0, ())):
        if not flags and place != "tmpfs":
            limit = 1.0
        seconds = in_turns(
            {
                "git": lambda flags=flags: fresh_clone(
                    folder, "c-git", (*GIT, "clone", "--quiet", *flags, url)
                ),  # type: ignore[misc]
                "arbor": lambda flags=flags: fresh_clone(  # type: ignore[misc]
                    folder, "c-arbor", (*ARBOR, "clone", *flags, str(folder / "arbor"))
                ),
            },
            settings.rounds,
        )
        data[what] = seconds
        rows.append(_row(what, seconds["git"], seconds["arbor"], limit))
    note = "arbor writes durably (fsync), hashes and decodes every object; git here writes without fsync."
    return Table(f"Clones by path: {about}", COLUMNS, tuple(rows), note, {"seconds": data})


def _row(what: str, git: Sequence[float], arbor: Sequence[float], limit: float) -> tuple[str, ...]:
    ratio = ratios(arbor, git)
    times = format_seconds(Spread.of(git)), format_seconds(Spread.of(arbor))
    return (what, *times, format_ratio(ratio), verdict(round(ratio.median, 3), limit))


def pushes(settings: Settings, folder: Path, about: str) -> Table:
    """A hundred changed notes to a bare repository by path; committing them is not counted."""
    bare = {name: folder / f"bare-{name}" for name in ("git", "arbor")}
    run_untimed([(*GIT, "clone", "--quiet", "--bare", f"file://{folder / 'git'}", str(bare["git"]))], folder)
    run_untimed([(*ARBOR, "clone", "--bare", str(folder / "arbor"), str(bare["arbor"]))], folder)
    run_untimed([(*GIT, "remote", "add", "origin", str(bare["git"]))], folder / "git")
    run_untimed([(*ARBOR, "remote", "add", "origin", str(bare["arbor"]))], folder / "arbor")
    branch = subprocess.run(
        [*GIT, "branch", "--show-current"], cwd=folder / "git", capture_output=True, text=True, check=True
    ).stdout.strip()
    seconds: dict[str, list[float]] = {"git": [], "arbor": []}
    for turn in range(settings.rounds):
        for number in range(PUSHED_NOTES):
            for name in ("git", "arbor"):
                path = folder / name / corpus.note_path(number * 7 % settings.notes)
                path.write_bytes(path.read_bytes() + f"\nchange {turn}\n".encode())
        run_untimed(RECORD, folder / "git")
        run_untimed([(*ARBOR, "add", "."), (*ARBOR, "commit", "-m", "changes")], folder / "arbor")
        samples = in_turns(
            {
                "git": lambda: measure([(*GIT, "push", "--quiet", "origin", branch)], folder / "git"),
                "arbor": lambda: measure([(*ARBOR, "push", "origin")], folder / "arbor"),
            },
            1,
        )
        for name, runs in samples.items():
            seconds[name].append(seconds_of(runs[0]))
    for path in bare.values():
        shutil.rmtree(path)
    rows = (_row(f"push of {PUSHED_NOTES} changed notes", seconds["git"], seconds["arbor"], 1.5),)
    return Table(f"Pushes by path: {about}", COLUMNS, rows, data={"seconds": seconds})


def bundles(settings: Settings, folder: Path, about: str) -> Table:
    """The whole history in one file, what no ref reaches left out."""
    run_untimed([(*GIT, "gc", "--quiet", "--prune=now")], folder / "git")
    files = {name: folder / f"{name}.bundle" for name in ("git", "arbor")}
    commands = {
        "git": (*GIT, "bundle", "create", "--quiet", str(files["git"]), "--all"),
        "arbor": (*ARBOR, "bundle", "create", str(files["arbor"])),
    }

    def create(name: str, *, walk: bool = False) -> float:
        files[name].unlink(missing_ok=True)
        if walk:
            (folder / name / ".arbor/cache/whole-packs").unlink(missing_ok=True)
        return seconds_of(measure([commands[name]], folder / name))

    def create_after_commit() -> float:
        path = folder / "arbor" / corpus.note_path(0)
        path.write_bytes(path.read_bytes() + b"\nOne more line.\n")
        run_untimed(
            [(*ARBOR, "add", "."), (*ARBOR, "commit", "-m", "a line", "--no-index")], folder / "arbor"
        )
        return create("arbor")

    create("arbor")  # the pushes before have left packs of which nothing is noted
    peers = {
        "git": lambda: create("git"),
        "arbor": create_after_commit,
        "again": lambda: create("arbor"),
        "walk": lambda: create("arbor", walk=True),
    }
    seconds = in_turns(peers, settings.rounds)
    sizes = {name: path.stat().st_size for name, path in files.items()}
    run_untimed([(*ARBOR, "bundle", "verify", str(files["arbor"]))], folder)
    for path in files.values():
        path.unlink()
    ratio = sizes["arbor"] / sizes["git"]
    rows = (
        _row("bundle create, the first after a commit", seconds["git"], seconds["arbor"], 2.0),
        _row("bundle create, again", seconds["git"], seconds["again"], 2.0),
        (*_row("bundle create, the cache removed", seconds["git"], seconds["walk"], 2.0)[:-1], ""),
        (
            "its size",
            format_mebibytes(sizes["git"]),
            format_mebibytes(sizes["arbor"]),
            f"{ratio:.2f}",
            verdict(round(ratio, 3), 1.1),
        ),
    )
    return Table(f"Bundles: {about}", COLUMNS, rows, data={"seconds": seconds, "bytes": sizes})


@contextmanager
def server(folder: Path) -> Iterator[tuple[str, int]]:
    """`arbor serve` of a knowledge base: its URL and process."""
    process = subprocess.Popen(
        [*ARBOR, "serve", "--port", "0", "--json", str(folder)], cwd=folder, stdout=subprocess.PIPE,
        env=neutral_environment(folder.parent), text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise MeasurementError("`arbor serve` did not start")
        yield json.loads(line)["url"], process.pid
    finally:
        process.terminate()
        process.wait(20)


def peak_rss_bytes(pid: int) -> int:
    """The most memory a process has had so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def serving(settings: Settings, folder: Path, about: str) -> Table:
    """A fetch that brings nothing, and many clones at once, all of them verified."""
    with server(folder / "arbor") as (url, pid):
        run_untimed([(*ARBOR, "clone", "--bare", url, str(folder / "fetcher"))], folder)
        idle = [
            seconds_of(measure([(*ARBOR, "fetch")], folder / "fetcher"))
            for _ in range(max(settings.rounds, 5))
        ]
        start = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            targets = [folder / f"client{number}" for number in range(CLIENTS)]
            list(
                pool.map(
                    lambda target: measure([(*ARBOR, "clone", "--bare", url, str(target))], folder), targets
                )
            )
        together = time.monotonic() - start
        peak = peak_rss_bytes(pid)
    for target in targets:
        run_untimed([(*ARBOR, "verify")], target)
        shutil.rmtree(target)
    shutil.rmtree(folder / "fetcher")
    median = Spread.of(idle).median
    rows = (
        (
            "fetch with nothing new",
            format_seconds(Spread.of(idle)),
            verdict(round(median, 3), FETCH_LIMIT_S) + " s",
        ),
        (f"{CLIENTS} bare clones at once, all verified", f"{together:.1f} s", ""),
        (
            "peak memory of the server",
            format_mebibytes(peak),
            verdict(peak >> 20, SERVER_LIMIT_BYTES >> 20) + " MiB",
        ),
    )
    data = {"seconds": {"fetch": idle, "clones": together}, "bytes": {"server": peak}}
    return Table(f"Over http on loopback: {about}", ("what", "measured", "kept"), rows, data=data)


def merging(settings: Settings) -> Table:
    """Two branches that differ in ten documents of a hundred thousand, compared and merged in process."""
    folder = settings.fast / "large"
    folder.mkdir()
    init_repository(folder)
    repo = open_repository(folder)
    base, left, right = large_branches(repo)
    rounds = max(settings.rounds, 5)
    compared, merged = [], []
    for _ in range(rounds):
        repo = open_repository(folder)
        start = time.perf_counter()
        found = sum(1 for _ in diff(repo.store, left, right))
        compared.append(time.perf_counter() - start)
        repo = open_repository(folder)
        start = time.perf_counter()
        made: list[bytes] = []
        how = Merging(repo, FrameCollector(repo.store.holds))
        outcome = merge_ledgers(how, base, left, right)
        ledger.apply(repo.store, left, outcome.changes, lambda oid, data, made=made: made.append(data))  # type: ignore[misc]
        merged.append(time.perf_counter() - start)
        if found != CHANGED_DOCUMENTS or outcome.conflicts:
            raise MeasurementError("the branches do not differ as they should")
    shutil.rmtree(folder)
    whole = merging_files(settings, rounds)
    timed = (("diff", compared), ("merge of the ledgers", merged), ("merge with stage and files", whole))
    rows = tuple(
        (what, format_seconds(spread), verdict(round(spread.median, 4), MERGE_LIMIT_S) + " s")
        for what, spread in ((what, Spread.of(times)) for what, times in timed)
    )
    title = f"Two branches that differ in {CHANGED_DOCUMENTS} of {LARGE_DOCUMENTS:,} documents, in process, just opened"
    return Table(title, ("what", "time", "kept"), rows, data={"seconds": dict(timed)})


def merging_files(settings: Settings, rounds: int) -> list[float]:
    """Seconds of merges that also stage what comes and write its files; the commit and its index follow."""
    folder = settings.fast / "large"
    paths = [corpus.note_path(number) for number in range(LARGE_DOCUMENTS)]
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"# {path}\n\nits text\n", "utf-8")
    half = CHANGED_DOCUMENTS // 2
    with arbor.init(folder) as kb:
        kb.add([""])
        kb.commit("base", index=False)
        kb.branches.create("theirs")
        for side, branch in enumerate(("main", "theirs")):
            kb.branches.switch(branch)
            chosen = paths[side :: LARGE_DOCUMENTS // half][:half]
            for path in chosen:
                (folder / path).write_text(f"# {path}\n\nchanged on side {side}\n", "utf-8")
            kb.add(chosen)
            kb.commit(f"side {side}", index=False)
        kb.branches.switch("main")
    times = []
    for _ in range(rounds):
        with arbor.open(folder) as kb:
            kb.status()
            start = time.perf_counter()
            outcome = merge(kb.repo, "theirs")
            times.append(time.perf_counter() - start)
            if len(outcome.changed) != half or outcome.conflicts:
                raise MeasurementError("the merge is not what it should be")
            kb.branches.reset("HEAD", "hard")
    shutil.rmtree(folder)
    return times


def large_branches(repo: Repository) -> tuple[bytes, bytes, bytes]:
    """Ledger roots: a large one, and two that each changed half of the documents in which they differ."""
    roots = []
    with repo.store.writer() as writer:

        def document(text: str) -> bytes:
            data = text.encode()
            return store_extraction(writer, extract(data, "note.md"), data)

        def sink(oid: bytes, data: bytes) -> None:
            writer.add(Kind.NODE, data, oid)

        paths = sorted(f"d/{corpus.note_path(number)}" for number in range(LARGE_DOCUMENTS))
        roots.append(ledger.build(((path, document(f"# {path}\n\nits text\n")) for path in paths), sink))
    with repo.store.writer() as writer:
        half = CHANGED_DOCUMENTS // 2
        for side in (0, 1):
            chosen = paths[side :: LARGE_DOCUMENTS // half][:half]
            changes = {path: document(f"# {path}\n\nchanged on side {side}\n") for path in chosen}
            roots.append(ledger.apply(repo.store, roots[0], changes, sink))
        who = repo.who()
        for root in roots:
            writer.add(Kind.COMMIT, encode_commit(build_commit(repo, root, (), who, who, "m", {})))
    return roots[0], roots[1], roots[2]
