"""Distilling documents: each one's core is made by a named distiller and staged, in several processes where safe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from arbor.errors import IntegrityError, UsageError
from arbor.objects.model import Derivation, Document, Manifest
from arbor.objects.paths import path_fault
from arbor.processes import batches
from arbor.records import dataclass
from arbor.repo.distillation.cores import Binding, bind, source_key, write_core
from arbor.repo.distillation.distillers.contract import Distillate, Distiller, Parameter, Source
from arbor.repo.distillation.distillers.registry import asks_statistics, fault_of_distillate, told
from arbor.repo.distillation.kb_statistics import KbStatistics, TermCounter, documents_root
from arbor.repo.documents import read_parts, read_texts
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORE_MARK, CORES, DOCUMENTS, display_title
from arbor.repo.stage import Stage, write_stage
from arbor.repo.work_tree.selections import select_tracked
from arbor.store.frames import FrameCollector
from arbor.store.preparing import write_prepared
from arbor.store.sequential import SequentialReader, in_stored_order

_BATCH = 250


@dataclass(frozen=True, slots=True)
class Distilled:
    """What became of one document.

    Attributes:
        path: The document's path, or `core:NAME`.
        name: The core's name.
        core: Its oid as hexadecimal digits; "" where there is none.
        state: `new`, `changed`, `same`, or `skipped`.
        problem: Why it was skipped.
    """

    path: str
    name: str
    core: str
    state: str
    problem: str = ""


class DistillerFailed(UsageError):
    """A distiller raised something, or gave what its contract does not allow."""


class _Job(NamedTuple):
    """A document to distill: how people call it, its ledger key and oid."""

    shown: str
    key: str
    oid: bytes


class _Made(NamedTuple):
    """A core that was made: its key and oid, b"" where there was nothing to make one of and why."""

    job: _Job
    oid: bytes
    problem: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """How cores are made.

    Attributes:
        distiller: The distiller.
        parameters: All of its parameters.
        statistics: Of the whole KB, where the distiller uses them.
        ledger_root: Root of a ledger of the documents that they are of, see `documents_root`; b"" else.
    """

    distiller: Distiller
    parameters: Mapping[str, Parameter]
    statistics: KbStatistics | None = None
    ledger_root: bytes = b""


def distill(
    repo: Repository, selections: Sequence[str], distiller: Distiller, parameters: Mapping[str, Parameter], *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Distilled]:  # fmt: skip
    """Make and stage a core of each document; its name is the distiller's, a slash, and the document's path.

    Args:
        repo: Where.
        selections: Paths, folders or globs of staged documents, or `core:NAME`; none means all documents.
        distiller: What makes them.
        parameters: All of its parameters.
        progress: Called with (documents done, documents in all).

    Raises:
        UsageError: when a selection matches nothing.
        Locked: when another writer holds the lock.
    """
    with repo.changing_stage() as stage:
        documents = stage.entries(repo.store, DOCUMENTS)
        jobs = _jobs(repo, stage, documents, selections)
        # What is staged counts, as it is what the next commit holds beside these cores: so it makes no difference
        # whether documents are committed before they are distilled or together with their cores.
        recipe = make_recipe(repo, distiller, parameters, documents)
        before = stage.entries(repo.store, CORES)
        made: list[_Made] = []

        def distill_batch(collector: FrameCollector, batch: Sequence[_Job]) -> list[_Made]:
            reader = SequentialReader(repo.store)
            return [_distill_one(collector, reader, job, recipe) for job in batch]

        with repo.store.writer() as writer:
            for part in write_prepared(writer, repo.store.holds, distill_batch, batches(jobs, _BATCH)):
                made += part
                if progress:
                    progress(len(made), len(jobs))
        results = [_result(each, distiller, before) for each in made]
        changes = {
            CORES + each.name: bytes.fromhex(each.core)
            for each in results
            if each.state in ("new", "changed")
        }
        new = stage.with_changes(repo.store, changes).resolved(
            {CORES + each.name for each in results if each.core}
        )
        if new != stage:
            write_stage(repo.folder, new)
        return results


def _jobs(
    repo: Repository, stage: Stage, entries: Mapping[str, bytes], selections: Sequence[str]
) -> list[_Job]:
    documents = {key[len(DOCUMENTS) :]: oid for key, oid in entries.items()}
    cores = [text for text in selections if text.startswith(CORE_MARK) and text not in documents]
    others = [text for text in selections if text not in cores]
    paths = select_tracked(others, documents) if others else [] if cores else sorted(documents)
    jobs = [_Job(path, DOCUMENTS + path, documents[path]) for path in paths]
    order = {oid: place for place, oid in enumerate(in_stored_order(repo.store, {job.oid for job in jobs}))}
    jobs.sort(key=lambda job: order[job.oid])
    for text in cores:
        oid = stage.find(repo.store, source_key(text))
        if oid is None:
            raise UsageError(f"there is no '{text}'", "run: arbor core list")
        jobs.append(_Job(text, source_key(text), oid))
    return jobs


def make_recipe(
    repo: Repository,
    distiller: Distiller,
    parameters: Mapping[str, Parameter],
    documents: Mapping[str, bytes],
    counter: TermCounter | None = None,
) -> Recipe:
    """A distiller with its parameters and, where it uses them, the statistics of documents (ledger key to oid)."""
    if not asks_statistics(distiller, parameters):
        return Recipe(distiller, parameters)
    counted = (counter or TermCounter(repo)).count(documents.values())
    return Recipe(distiller, parameters, counted, documents_root(documents))


def _distill_one(collector: FrameCollector, reader: SequentialReader, job: _Job, recipe: Recipe) -> _Made:
    name = core_name(recipe.distiller, job.shown)
    fault = path_fault(name)
    if fault:
        return _Made(job, b"", f"its core cannot be called {name!r}: {fault}")
    try:
        document, manifest = read_parts(reader, job.oid)
        texts = read_texts(reader, document, manifest)
    except IntegrityError:
        return _Made(job, b"", "its text is not here: it is cold or damaged")
    if not texts:
        return _Made(job, b"", "it has no text")
    try:
        distillate = run_distiller(recipe, job.shown, document, manifest, texts)
    except DistillerFailed as failed:
        return _Made(job, b"", failed.message)
    if distillate is None:
        return _Made(job, b"", f"{recipe.distiller.name} finds nothing in it")
    bindings = [Binding(job.key, job.oid, index) for index in distillate.used]
    derivation = Derivation(
        recipe.distiller.name, recipe.distiller.version, dict(recipe.parameters), recipe.ledger_root,
        bind({job.oid: (document, manifest)}, bindings),
    )  # fmt: skip
    return _Made(job, write_distilled(collector, recipe, job.shown, document, distillate, derivation), "")


def run_distiller(
    recipe: Recipe, shown: str, document: Document, manifest: Manifest, texts: tuple[str, ...]
) -> Distillate | None:
    """What a distiller makes of a document that has been read.

    Raises:
        DistillerFailed: when it does not keep its contract.
    """
    title = display_title(document, shown)
    headings = tuple(tuple(ref.headings) for ref in manifest.passages)
    source = Source(shown, title, document.media_type, texts, headings)
    try:
        made = recipe.distiller.distill(source, recipe.parameters, recipe.statistics)
    except Exception as error:
        raise DistillerFailed(f"{recipe.distiller.name} fails on it: {told(error)}") from error
    if made is None:
        return None
    fault = fault_of_distillate(made, len(texts))
    if fault:
        raise DistillerFailed(f"{recipe.distiller.name} {fault}")
    return Distillate(made.text, tuple(made.used))  # it may have given a list, which is equal to no tuple


def write_distilled(
    collector: FrameCollector, recipe: Recipe, shown: str, document: Document, distillate: Distillate,
    derivation: Derivation,
) -> bytes:  # fmt: skip
    """Write the core of a distillate; its oid."""
    title = f"{display_title(document, shown)}: {recipe.distiller.name.replace('-', ' ')}"
    return write_core(
        collector, distillate.text, title, derivation, f"{recipe.distiller.name}/{recipe.distiller.version}"
    )


def core_name(distiller: Distiller, shown: str) -> str:
    """What the core of a document is called."""
    return (
        f"{distiller.name}/{'cores/' if shown.startswith(CORE_MARK) else ''}{shown.removeprefix(CORE_MARK)}"
    )


def _result(made: _Made, distiller: Distiller, before: Mapping[str, bytes]) -> Distilled:
    name = core_name(distiller, made.job.shown)
    if not made.oid:
        return Distilled(made.job.shown, name, "", "skipped", made.problem)
    old = before.get(CORES + name)
    state = "new" if old is None else "same" if old == made.oid else "changed"
    return Distilled(made.job.shown, name, made.oid.hex(), state)
