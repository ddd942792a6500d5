"""Ripple consensus: updates, backfill and its growth, orders of arrival, and labels against known corroboration."""

from __future__ import annotations

import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path

from arbor.evaluation.collections import iter_documents
from arbor.graph.consensus import Consensus
from arbor.graph.facts import DocumentFacts, document_facts, gather_facts
from arbor.graph.ripple import Ripple
from arbor.graph.standing import Label
from tests.benchmarks import corpus, report
from tests.benchmarks.harness import MeasurementError, Settings, Table
from tests.conftest import find_shared_data
from tests.graph.labelled_set import fact, greeted, half, neighbours, reposted, tellings, topics

TITLE = "Ripple consensus"
UPDATES = 200
ORDERS = 20
ORDER_NOTES = 2000
COLLECTIONS = ("cranfield", "scifact", "hotpot100", "cmrc2018_zh", "kb/rust-book", "kb/vue-zh")


def run(settings: Settings) -> Iterator[Table]:
    """Measure everything that consensus promises."""
    yield measure_growth(settings)
    yield measure_orders(settings)
    yield measure_labelled_set()
    yield measure_reposts()
    if settings.data is not None:
        yield measure_collections(settings.data)


def note_facts(numbers: Sequence[int], data: Path | None) -> list[DocumentFacts]:
    """The facts of notes of the usual corpus, over all cores."""
    prose = corpus.paragraphs(data)

    def read(number: int) -> DocumentFacts:
        text = corpus.note(number, prose).decode()
        return document_facts(corpus.note_path(number), number.to_bytes(32, "big"), text)

    return gather_facts(numbers, read)


def measure_growth(settings: Settings) -> Table:
    """Backfill, single updates and previews at growing sizes; peak memory is of the process so far."""
    sizes = [2_000, settings.notes] if not settings.full else [2_000, 20_000, settings.notes]
    rows, data = [], {}
    for size in sizes:
        start = time.perf_counter()
        facts = note_facts(range(size + UPDATES), settings.data)
        gathered = time.perf_counter() - start
        path = settings.fast / f"consensus-{size}.db"
        consensus = Consensus.open(path)
        start = time.perf_counter()
        consensus.rebuild(facts[:size])
        built = time.perf_counter() - start
        consensus.close()
        consensus = Consensus.open(path)
        extra = facts[size:]
        updates = [timed(partial(consensus.apply, [each], at_once=False)) for each in extra]
        removals = [timed(partial(consensus.apply, [], [each.key], at_once=False)) for each in extra[:100]]
        previews = [timed(partial(consensus.preview, [each])) for each in extra[:20]]
        reached = statistics.median(count for _, count in updates)
        consensus.close()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        rows.append(
            (f"{size:,}", f"{gathered:.1f} s", f"{built:.1f} s", f"{peak} MB", f"{path.stat().st_size / 1e6:.0f} MB",
             *percentiles(updates), f"{reached:g}", *percentiles(removals)[:2], percentiles(previews)[1])
        )  # fmt: skip
        data[str(size)] = {"updates_s": [seconds for seconds, _ in updates], "backfill_s": gathered + built}
        path.unlink()
    columns = ("notes", "terms", "build", "peak", "file", "update p50", "p95", "max", "reached p50", "removal p50",
               "p95", "preview p95")  # fmt: skip
    note = "One note of 1 to 8 KB added to, or removed from, a state opened fresh; wanted: p50 < 50 ms, p95 < 400 ms."
    return Table("Growth", columns, tuple(rows), note, data)


def timed(act: Callable[[], Ripple]) -> tuple[float, int]:
    """Seconds that an update took, and how many documents it reached."""
    start = time.perf_counter()
    ripple = act()
    return time.perf_counter() - start, len(ripple.reached)


def percentiles(samples: Sequence[tuple[float, int]]) -> tuple[str, str, str]:
    """The median, the 95th percentile and the maximum, in milliseconds."""
    ordered = sorted(seconds * 1000 for seconds, _ in samples)
    chosen = (ordered[len(ordered) // 2], ordered[int(0.95 * (len(ordered) - 1))], ordered[-1])
    return tuple(f"{value:.1f} ms" for value in chosen)  # type: ignore[return-value]


def measure_orders(settings: Settings) -> Table:
    """How many labels and scores differ between orders and batchings of one set with a tenth removed and edited."""
    facts = note_facts(range(ORDER_NOTES), settings.data)
    edits = {
        each.key: document_facts(each.key, each.oid[::-1], f"edited {' '.join(each.terms[::2])}")
        for each in facts[5::10]
    }
    dropped = [each.key for each in facts[::10]]
    final = [edits.get(each.key, each) for each in facts if each.key not in set(dropped)]
    wanted = Consensus.open()
    wanted.rebuild(final)
    items, fingerprint = dict(wanted.items()), wanted.fingerprint()
    labels = scores = states = 0
    for seed in range(ORDERS):
        found = replay(facts, list(edits.values()), dropped, random.Random(seed))
        seen = dict(found.items())
        labels += sum(seen.get(key) is None or seen[key].label != each.label for key, each in items.items())
        scores += sum(
            seen.get(key) is None or seen[key].score_ppm != each.score_ppm for key, each in items.items()
        )
        states += found.fingerprint() != fingerprint
        found.close()
    row = (f"{ORDER_NOTES:,}", str(ORDERS), str(labels), str(scores), str(states))
    columns = ("notes", "orders", "labels differing", "scores differing", "states differing")
    note = "Each order starts from a part, then adds, edits and removes in batches of 1 to 60."
    return Table("Orders of arrival", columns, (row,), note)


def replay(
    facts: Sequence[DocumentFacts], edits: list[DocumentFacts], dropped: list[str], source: random.Random
) -> Consensus:
    """A state that came about in some order."""
    left = list(facts)
    source.shuffle(left)
    consensus = Consensus.open()
    start = source.randrange(len(left) * 3 // 4, len(left))
    consensus.rebuild(left[:start])
    steps: list[tuple[list[DocumentFacts], list[str]]] = []
    left = left[start:]
    while left:
        size = source.choice((1, 5, 20, 60))
        steps.append((left[:size], []))
        left = left[size:]
    for put, removed in steps:
        consensus.apply(put, removed, at_once=False)
    source.shuffle(edits)
    source.shuffle(dropped)
    while edits or dropped:
        size = source.choice((1, 5, 20, 60))
        consensus.apply(edits[:size], dropped[:size], at_once=False)
        edits, dropped = edits[size:], dropped[size:]
    return consensus


def measure_labelled_set() -> Table:
    """Precision and recall of CORROBORATED on the labelled set."""
    rows = []
    sets = {which: half(which) for which in ("tuned", "confirming", "all")}
    for which, chosen in (sets | {"short": topics("short_"), "by another hand": topics("foreign_")}).items():
        consensus = Consensus.open()
        consensus.rebuild([*tellings(chosen), *neighbours(chosen)])
        told = [standing.label for key, standing in consensus.items() if key.startswith("told/")]
        near = [standing.label for key, standing in consensus.items() if key.startswith("near/")]
        right, wrong = told.count(Label.CORROBORATED), near.count(Label.CORROBORATED)
        rows.append(
            (which, str(len(chosen)), f"{right} of {len(told)}", f"{near.count(Label.NOVEL)} of {len(near)}",
             f"{right / max(right + wrong, 1):.2f}", f"{right / len(told):.2f}")
        )  # fmt: skip
    columns = ("half", "topics", "tellings CORROBORATED", "neighbours NOVEL", "precision", "recall")
    note = (
        "Eighteen topics in English and Chinese, each told four times independently, with three neighbours; "
        "thirteen in two to four sentences, with one; six more short ones by somebody else."
    )
    return Table("Known corroboration", columns, tuple(rows), note)


def measure_reposts() -> Table:
    """How many originals with three edited reposts become CORROBORATED."""
    rows = []
    for strength in (0.05, 0.1, 0.15, 0.2, 0.3):
        originals: list[Label] = []
        for kind, reposts, seed in product(("", "short_", "foreign_"), (reposted, greeted), range(5)):
            chosen = topics(kind)
            consensus = Consensus.open()
            consensus.rebuild([*reposts(chosen, seed, strength), *neighbours(chosen)])
            originals += [each.label for key, each in consensus.items() if key.endswith("/original.md")]
        rows.append((f"{strength:.0%}", f"{originals.count(Label.CORROBORATED)} of {len(originals)}"))
    return Table("Edited reposts", ("words touched", "originals CORROBORATED"), tuple(rows), "Wanted: none.")


@cache
def collection_facts(folder: Path) -> tuple[DocumentFacts, ...]:
    """The facts of a collection or a folder of notes."""
    if (folder / "corpus.jsonl").exists():
        return tuple(fact(each.id, f"{each.title}\n\n{each.text}") for each in iter_documents(folder))
    paths = sorted(folder.rglob("*.md"))
    return tuple(fact(str(path.relative_to(folder)), path.read_text(encoding="utf-8")) for path in paths)


def measure_collections(data: Path) -> Table:
    """The label counts of the public collections."""
    rows = []
    for name in COLLECTIONS:
        if not (data / name).is_dir():
            raise MeasurementError(f"the collection {name} is not at hand")
        consensus = Consensus.open()
        consensus.rebuild(collection_facts(data / name))
        counts = consensus.counts()
        total = sum(counts.values())
        rows.append(
            (name, str(total), *(f"{counts[label]} ({counts[label] / total:.0%})" for label in Label))
        )
    columns = ("collection", "documents", *(label.value for label in Label))
    return Table("Labels", columns, tuple(rows))


def main() -> None:
    """Measure with the usual sizes and print, without the other benchmarks."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(False, 1, 20_000, None, Path(folder), find_shared_data())
        for table in run(settings):
            print(report.format_table(table), flush=True)


if __name__ == "__main__":
    main()
