"""Proofs that leave the knowledge base, documents that go cold and come back, and cores of all of them."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import arbor
import arbor.proofs
from arbor import KnowledgeBase
from arbor.evaluation.metrics import percentile
from arbor.objects import ledger, merkle
from arbor.objects.ids import Kind, object_id
from arbor.objects.model import Commit, encode_commit
from arbor.objects.proofs import encode_proof
from arbor.repo.commits.committing import build_commit
from arbor.repo.desk import TrustDesk
from arbor.repo.forgetting.tiering import TierReport
from arbor.repo.staging.ingest import store_extraction
from arbor.repo.trust.proving import prove, prove_consistency
from arbor.repo.upkeep.gc import packed_bytes
from arbor.text.reading import extract
from tests.benchmarks import corpus
from tests.benchmarks.harness import (
    ARBOR,
    Settings,
    Spread,
    Table,
    format_mebibytes,
    format_seconds,
    measure,
    run_untimed,
    seconds_of,
    verdict,
)

TITLE = "Proofs, tiers and cores"
PROOFS = 300
LONG_HISTORY = 2000
SHUFFLED = 1000
PROOF_LIMITS = {100_000: 16 * 1024, 1_000_000: 24 * 1024}
PROVE_LIMIT_S, VERIFY_LIMIT_S, SHELL_LIMIT_S = 0.020, 0.002, 0.2
T = TypeVar("T")
COLD_LIMIT, REHYDRATE_LIMIT, DISTILL_LIMIT_S = 0.10, 2.0, 60.0


def run(settings: Settings) -> Iterator[Table]:
    """Measure proofs in a large ledger, then tiers and cores of the usual notes."""
    yield proofs(settings)
    if settings.full:
        return
    folder = settings.fast / "notes"
    corpus.write_notes([folder], range(settings.notes), settings.data)
    archive = settings.fast / "archive"
    shutil.copytree(folder, archive)
    add_s = add_notes(folder)
    yield tiers(folder, archive, add_s)
    yield cores(settings, folder)


# --- proofs


def proofs(settings: Settings) -> Table:
    """Size and time of proofs of single passages; the million only with --full."""
    rows: list[tuple[str, ...]] = []
    data: dict[str, object] = {}
    for size in (100_000, 1_000_000) if settings.full else (100_000,):
        kb, paths = large_kb(settings.fast / f"ledger-{size}", size, settings.data)
        measured = measure_proofs(kb, paths)
        limit = PROOF_LIMITS[size]
        rows.append((
            f"{size:,}", f"{measured['bytes'][2]:,.0f} (p50 {measured['bytes'][0]:,.0f})",
            verdict(measured["bytes"][2], limit), milliseconds(measured["prove"]),
            verdict(measured["prove"][1], PROVE_LIMIT_S), milliseconds(measured["verify"]),
            verdict(measured["verify"][1], VERIFY_LIMIT_S),
        ))  # fmt: skip
        data[str(size)] = measured
        if size == 100_000:
            rows += [shell_row(kb, paths[0], settings.fast), history_row(kb)]
        kb.close()
        shutil.rmtree(settings.fast / f"ledger-{size}")
    columns = (
        "documents",
        "largest proof, bytes",
        "limit",
        "prove p50, p95",
        "limit, s",
        "verify p50, p95",
        "limit, s",
    )
    note = (
        f"{PROOFS} passages at random, in process, with the proof checked by its maker before it is handed out. Bytes "
        "are those of the MessagePack form, passage included."
    )
    return Table("One passage, proven to a stranger", columns, tuple(rows), note, data)


def large_kb(folder: Path, size: int, data: Path | None) -> tuple[KnowledgeBase, list[str]]:
    """A KB with a ledger of so many documents, of which some hundred are real notes; their paths."""
    kb = arbor.init(folder)
    prose = corpus.paragraphs(data)
    chosen = set(random.Random(size).sample(range(size), PROOFS))
    entries, paths = [], []
    with kb.repo.store.writer() as writer:
        for number in range(size):
            path = corpus.note_path(number)
            oid = object_id(Kind.DOCUMENT, b"%d" % number)
            if number in chosen:
                text = corpus.note(number, prose)
                oid = store_extraction(writer, extract(text, path), text)
                paths.append(path)
            entries.append((f"d/{path}", oid))

        def keep(oid: bytes, encoding: bytes) -> None:
            writer.add(Kind.NODE, encoding, oid)

        root = ledger.build(sorted(entries), keep)
        who = kb.repo.who()
        commit = build_commit(kb.repo, root, (), who, who, "a large ledger", {"chunker": "structural/1"})
        oid = writer.add(Kind.COMMIT, encode_commit(commit))
    kb.repo.refs.move("refs/heads/main", None, oid, who, "bench")
    return kb, paths


def measure_proofs(kb: KnowledgeBase, paths: list[str]) -> dict[str, tuple[float, float, float]]:
    """(p50, p95, largest) of bytes and seconds over one passage of each document."""
    tip, snapshot = kb.resolve("HEAD"), kb.snapshot()
    sizes, made_s, checked_s = [], [], []
    for number, path in enumerate(paths):
        count = snapshot.document(snapshot.get(path)).passage_count
        started = time.perf_counter()
        proof = prove(kb.repo, tip, path, number % count)
        made_s.append(time.perf_counter() - started)
        data = encode_proof(proof)
        started = time.perf_counter()
        arbor.proofs.verify(data, commit=tip)
        checked_s.append(time.perf_counter() - started)
        sizes.append(float(len(data)))
    return {"bytes": spread(sizes), "prove": spread(made_s), "verify": spread(checked_s)}


def spread(values: list[float]) -> tuple[float, float, float]:
    """(p50, p95, largest)."""
    return percentile(values, 0.5), percentile(values, 0.95), max(values)


def milliseconds(values: tuple[float, float, float]) -> str:
    """`0.8 ms, 1.2 ms`."""
    return f"{values[0] * 1e3:.2f} ms, {values[1] * 1e3:.2f} ms"


def shell_row(kb: KnowledgeBase, path: str, scratch: Path) -> tuple[str, ...]:
    """`arbor verify --proof` as a process, in a folder without a knowledge base."""
    (scratch / "p.proof").write_bytes(encode_proof(prove(kb.repo, kb.resolve("HEAD"), path, 0)))
    command = (*ARBOR, "verify", "--proof", "p.proof", "--commit", kb.resolve("HEAD").hex())
    found = Spread.of(seconds_of(measure([command], scratch)) for _ in range(7))
    return "from the shell", "", "", "", "", format_seconds(found), verdict(found.median, SHELL_LIMIT_S)


def history_row(kb: KnowledgeBase) -> tuple[str, ...]:
    """A consistency proof over a long history."""
    oid = first = kb.resolve("HEAD")
    made, who = kb.repo.commit(first), kb.repo.who()
    with kb.repo.store.writer() as writer:
        for number in range(LONG_HISTORY):
            peaks = tuple(merkle.append_leaf(made.log_size, made.log_peaks, oid))
            size = made.log_size + 1
            made = Commit(made.ledger_root, (oid,), who, who, f"commit {number}", {}, size, peaks)
            oid = writer.add(Kind.COMMIT, encode_commit(made))
    started = time.perf_counter()
    proof = prove_consistency(kb.repo, first, oid)
    made_s = time.perf_counter() - started
    data = encode_proof(proof)
    started = time.perf_counter()
    arbor.proofs.verify(data, commit=first)
    checked_s = time.perf_counter() - started
    return (
        f"consistency over {LONG_HISTORY:,} commits", f"{len(data):,} ({len(proof.path)} hashes)", "",
        f"{made_s * 1e3:.1f} ms", "", f"{checked_s * 1e3:.2f} ms", "",
    )  # fmt: skip


# --- tiers


def add_notes(folder: Path) -> float:
    """Seconds of `arbor add` and `commit` without the index."""
    run_untimed([(*ARBOR, "init")], folder)
    return seconds_of(
        measure([(*ARBOR, "add", "."), (*ARBOR, "commit", "--no-index", "-m", "notes")], folder)
    )


def _folder_row(what: str, hot: TierReport, cold: TierReport) -> tuple[str, ...]:
    whole = f"{format_mebibytes(hot.folder)} to {format_mebibytes(cold.folder)}"
    caches = f"caches {format_mebibytes(hot.cache)} to {format_mebibytes(cold.cache)}"
    return what, f"{cold.folder / hot.folder:.1%}", f"{whole}, {caches}", ""


def tiers(folder: Path, archive: Path, add_s: float) -> Table:
    """All documents to cold, with a folder that has them, and back; verified at every step."""
    kb = arbor.open(folder)
    kb.search("river")  # a folder that is in use has its index
    before, root = packed_bytes(kb.repo.store), kb.repo.head_root()
    hot = TrustDesk(kb.repo).tiers()
    oids = dict(kb.ls())
    desk = TrustDesk(kb.repo)
    evict_s, evicted = timed(lambda: desk.evict([""], places=[archive]))
    assert len(evicted.evicted) == len(oids)
    bare = desk.tiers()
    cold, verify_cold_s = packed_bytes(kb.repo.store), checked(kb)
    kb.search("river")
    rest = desk.tiers()
    rehydrate_s, back = timed(lambda: desk.rehydrate((), places=[archive]))
    assert len(back.whole) == len(oids)
    after, verify_hot_s = packed_bytes(kb.repo.store), checked(kb)
    assert (dict(kb.ls()), kb.repo.head_root()) == (oids, root)
    raw = sum(path.stat().st_size for path in archive.rglob("*.md"))
    kb.close()
    ratio = rehydrate_s / add_s
    rows = (
        (
            "evict to cold",
            f"{evict_s:.2f} s",
            f"packs {format_mebibytes(before)} to {format_mebibytes(cold)}",
            "",
        ),
        (
            "cold packs / files",
            f"{cold / raw:.1%}",
            f"files {format_mebibytes(raw)}",
            verdict(cold / raw, COLD_LIMIT),
        ),
        ("cold packs / hot packs", f"{cold / before:.1%}", "documents, leaf hashes and ledger stay", ""),
        _folder_row("the whole .arbor folder", hot, bare),
        _folder_row("the same with its next index", hot, rest),
        ("rehydrate", f"{rehydrate_s:.2f} s", f"packs {format_mebibytes(after)}", ""),
        (
            "rehydrate / first add",
            f"{ratio:.2f}",
            f"add and commit {add_s:.2f} s",
            verdict(ratio, REHYDRATE_LIMIT),
        ),
        (
            "verify, cold and hot",
            f"{verify_cold_s:.2f} s, {verify_hot_s:.2f} s",
            "sound, same oids and root",
            "",
        ),
    )
    data = {
        "before": before, "cold": cold, "after": after, "raw": raw, "folder": hot.folder, "folder_cold": rest.folder,
        "evict_s": evict_s, "rehydrate_s": rehydrate_s, "add_s": add_s,
    }  # fmt: skip
    return Table(f"{len(oids):,} documents to cold and back", ("what", "value", "", "limit"), rows, "", data)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """(seconds, result)."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def checked(kb: KnowledgeBase) -> float:
    """Seconds of a verification, which must pass."""
    seconds, report = timed(lambda: kb.verify("HEAD"))
    assert report.ok, report.damaged
    return seconds


# --- cores


def cores(settings: Settings, folder: Path) -> Table:
    """A core of every document, and the same cores in another order of adding."""
    kb = arbor.open(folder)
    desk, rows = TrustDesk(kb.repo), []
    data: dict[str, float] = {}
    for distiller in ("first-sentence", "keywords"):
        seconds, made = timed(partial(desk.distill, (), distiller))
        kb.commit(distiller, index=False)
        count = sum(1 for each in made if each.core)
        rows.append((distiller, f"{seconds:.1f} s for {count:,}", verdict(seconds, DISTILL_LIMIT_S)))
        data[distiller] = seconds
    kb.close()
    total = sum(data.values())
    rows.append(("both together", f"{total:.1f} s", verdict(total, DISTILL_LIMIT_S)))
    same = same_in_any_order(settings)
    rows.append(
        (
            f"{SHUFFLED:,} documents added in three orders",
            "the same core oids" if same else "OTHER core oids",
            "",
        )
    )
    return Table("A core of every document", ("distiller", "value", "limit, s"), tuple(rows), "", data)


def same_in_any_order(settings: Settings) -> bool:
    """Whether three KBs with the same documents, added in other orders, have the same cores."""
    prose = corpus.paragraphs(settings.data)
    found = []
    for seed in range(3):
        kb = arbor.init(settings.fast / f"order-{seed}")
        numbers = list(range(SHUFFLED))
        random.Random(seed).shuffle(numbers)
        for start in range(0, SHUFFLED, 300):
            for number in numbers[start : start + 300]:
                target = settings.fast / f"order-{seed}" / corpus.note_path(number)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(corpus.note(number, prose))
            kb.add()
            kb.commit("more", index=False)
        desk = TrustDesk(kb.repo)
        made = [desk.distill((), name) for name in ("first-sentence", "keywords")]
        found.append({each.name: each.core for cores_ in made for each in cores_})
        kb.close()
    return found[0] == found[1] == found[2]
