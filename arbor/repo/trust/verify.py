"""Verification: everything reachable from a revision is read, hashed and checked again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial

from arbor.errors import ArborError, IntegrityError
from arbor.objects import ledger, merkle
from arbor.objects.model import split_oids
from arbor.processes import batches, map_forked
from arbor.records import dataclass
from arbor.repo.distillation.core_check import CoreChecker
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORES, DOCUMENTS, shown_path
from arbor.repo.stage import Stage, read_stage
from arbor.repo.tiers import TIERS_FILE, read_tiers
from arbor.repo.trust.deep_check import check_document
from arbor.repo.trust.pack_audit import Audit, Damage, DocumentFacts, ManifestFacts, NodeFacts, audit_packs
from arbor.repo.trust.witness import WITNESS_FILE, read_witnessed
from arbor.store.refs import FETCH_HEAD, HEADS
from arbor.store.sequential import SequentialReader, in_stored_order
from arbor.text.extraction import DEFAULT_POLICY

_MAX_NAMED = 200
_FILES_A_TASK = 500


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is damaged.

    Attributes:
        object: The object's oid as hexadecimal digits; "" where it is not an object.
        where: The place: a pack and byte, a ref, a file.
        problem: What is wrong.
        affects: (revision, path) of the documents that need it.
    """

    object: str
    where: str
    problem: str
    affects: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The outcome of a verification.

    Attributes:
        ok: Whether nothing is damaged and a given root fits.
        commit: The revision's commit oid as hexadecimal digits; "" before the first commit.
        ledger_root: Its Merkle root as hexadecimal digits.
        checked: How many packs, commits, nodes, documents (cold ones among them) and passages were read.
        damaged: What is broken.
    """

    ok: bool
    commit: str
    ledger_root: str
    checked: dict[str, int]
    damaged: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class _Names:
    """What is named here, read before any pack is.

    What a name stands for is stored before the name is written. Read the other way round, a commit that somebody makes
    meanwhile would be named and seem to be missing.

    Attributes:
        targets: What the refs stand for.
        roots: The ledger that the stage is over.
        staged: The documents that it adds.
        cold: The documents that are cold here, so that their passages need not be stored.
        damaged: What could not be read.
    """

    targets: tuple[bytes, ...]
    roots: tuple[bytes, ...]
    staged: frozenset[bytes]
    cold: frozenset[bytes]
    damaged: tuple[Finding, ...]


@dataclass(slots=True)
class _Reach:
    """What revisions need that is absent or broken, and who needs it."""

    missing: dict[bytes, str] = field(default_factory=dict)
    broken_nodes: list[Damage] = field(default_factory=list)


def verify(
    repo: Repository, tip: bytes | None, *, expected_root: bytes | None = None, all_refs: bool = True,
    deep: bool = False, meanwhile: Callable[[], object] | None = None,
) -> VerifyReport:  # fmt: skip
    """Check the packs, the refs, and everything that the revisions need.

    Args:
        repo: What to check.
        tip: The commit to report on; None before the first commit.
        expected_root: A ledger root that the tip must have.
        all_refs: Also everything that other refs and the stage need.
        deep: Also put every document's file together, compare its hash with the one that is recorded, and make again
            what was derived from it: its passages, and cores.
        meanwhile: Called once while other processes read the packs.
    """
    names = _read_names(repo, all_refs=all_refs)
    repo.store.refresh()
    audit = audit_packs(repo.store.packs(), meanwhile)
    damaged = [Finding(d.oid.hex(), d.where, d.problem) for d in audit.damaged]
    damaged += names.damaged
    starts = [] if tip is None else [tip]
    starts += [_untagged(audit, oid) for oid in names.targets]
    reach = _Reach()
    commits = _reachable_commits(audit, starts, reach)
    roots = [*names.roots, *(audit.commits[oid].ledger_root for oid in commits)]
    documents = _check_nodes(audit, roots, reach)
    _check_kinds(audit, reach)
    documents |= names.staged
    documents |= _core_sources(audit, documents, reach)
    # Cold before the packs were read or after: what is evicted or brought back meanwhile is not damaged.
    cold = names.cold | _cold_documents(repo, [])
    _check_documents(audit, documents, cold, reach)
    if deep and not reach.missing and not damaged:
        reach.broken_nodes += _check_files(repo, documents - cold, tip)
        reach.broken_nodes += _check_cores(repo, audit, documents, tip)
    if tip in audit.commits and not reach.missing:
        _check_places(repo, audit, audit.commits[tip].ledger_root, reach)
    damaged += _explain(repo, audit, commits, reach)
    tip_root = audit.commits[tip].ledger_root if tip in audit.commits else ledger.EMPTY_LEDGER
    if expected_root is not None and expected_root != tip_root:
        damaged.append(
            Finding("", "ledger root", f"the revision has root {tip_root.hex()}, not {expected_root.hex()}")
        )
    checked = {"packs": len(repo.store.packs()), "commits": len(commits), "nodes": len(audit.nodes),
               "documents": len(documents), "cold": len(cold & documents), "passages": audit.chunks}  # fmt: skip
    return VerifyReport(not damaged, tip.hex() if tip else "", tip_root.hex(), checked, tuple(damaged))


def _read_names(repo: Repository, *, all_refs: bool) -> _Names:
    """What is named here; of the refs and the stage nothing, where only a revision is asked for."""
    damaged = _check_names(repo)
    targets = tuple(_ref_targets(repo)) if all_refs else ()
    stage = _stage(repo, damaged) if all_refs else None
    staged = stage.changes.items() if stage else ()
    keys = (DOCUMENTS, CORES)
    return _Names(
        targets, (stage.base,) if stage else (),
        frozenset(value for key, value in staged if value is not None and key.startswith(keys)),
        _cold_documents(repo, damaged), tuple(damaged),
    )  # fmt: skip


def _check_names(repo: Repository) -> list[Finding]:
    """HEAD, refs and reflogs."""
    found = []
    try:
        head = repo.refs.head()
        if (
            isinstance(head, str)
            and any(repo.refs.iter_names(HEADS))  # first: a first commit may come just now
            and repo.refs.read(head) is None
        ):
            found.append(Finding("", "HEAD", f"it follows '{head}', which does not exist"))
    except ArborError as error:
        found.append(Finding("", "HEAD", error.message))
    for name in repo.refs.iter_names():
        try:
            repo.refs.read(name)
        except ArborError as error:
            found.append(Finding("", name, error.message))
    try:
        repo.refs.fetched()
    except ArborError as error:
        found.append(Finding("", FETCH_HEAD, error.message))
    found += [
        Finding("", line, "a reflog line does not fit its checksum") for line in repo.refs.damaged_log_lines()
    ]
    try:
        found += [Finding("", "config.toml", problem) for problem in repo.settings.problems()]
    except ArborError as error:
        found.append(Finding("", "config.toml", error.message))
    try:
        read_witnessed(repo.folder, "")
    except ArborError as error:
        found.append(Finding("", WITNESS_FILE, error.message))
    return found


def _ref_targets(repo: Repository) -> Iterator[bytes]:
    looks: list[Callable[[], bytes | None]] = [
        partial(repo.refs.read, name) for name in repo.refs.iter_names()
    ]
    for look in (*looks, repo.refs.fetched):
        try:
            oid = look()
        except ArborError:
            continue
        if oid is not None:
            yield oid


def _untagged(audit: Audit, oid: bytes) -> bytes:
    """What a tag stands for in the end."""
    while oid in audit.tags:
        oid = audit.tags[oid].target
    return oid


def _stage(repo: Repository, damaged: list[Finding]) -> Stage | None:
    try:
        return read_stage(repo.folder, ledger.EMPTY_LEDGER)
    except (ArborError, ValueError, TypeError) as error:
        damaged.append(Finding("", "stage", str(error)))
        return None


def _core_sources(audit: Audit, documents: set[bytes], reach: _Reach) -> set[bytes]:
    """The documents that cores were made from, which may be in no ledger any more, down to those of cores of cores."""
    found: set[bytes] = set()
    waiting = documents
    while waiting:
        derivations = {audit.documents[oid].derivation for oid in waiting if oid in audit.documents}
        named = {source for oid in derivations for source in audit.sources.get(oid, ())}
        waiting = named - documents - found
        reach.missing.update((oid, "source of a core") for oid in waiting if oid not in audit.documents)
        waiting &= audit.documents.keys()
        found |= waiting
    return found


def _cold_documents(repo: Repository, damaged: list[Finding]) -> frozenset[bytes]:
    try:
        return read_tiers(repo.folder).cold
    except ArborError as error:
        damaged.append(Finding("", TIERS_FILE, error.message))
        return frozenset()


def _reachable_commits(audit: Audit, starts: Iterable[bytes], reach: _Reach) -> list[bytes]:
    stack, seen, order = list(starts), set(), []
    while stack:
        oid = stack.pop()
        if oid in seen:
            continue
        seen.add(oid)
        commit = audit.commits.get(oid)
        if commit is None:
            reach.missing[oid] = "commit"
            continue
        order.append(oid)
        stack += commit.parents
        first = audit.commits.get(commit.parents[0]) if commit.parents else None
        if first is not None:
            peaks = merkle.append_leaf(first.log_size, first.log_peaks, commit.parents[0])
            if commit.log_size != first.log_size + 1 or list(commit.log_peaks) != peaks:
                reach.broken_nodes.append(Damage(oid, "commit", "its log does not go on from its parent's"))
    return order


def _check_nodes(audit: Audit, roots: Iterable[bytes], reach: _Reach) -> set[bytes]:
    """Walk the ledgers, each node once; the oids of all documents in them."""
    documents: set[bytes] = set()
    seen: set[bytes] = set()
    stack = list(dict.fromkeys(roots))
    for oid in stack:
        _check_root(audit, oid, reach)
    while stack:
        oid = stack.pop()
        if oid in seen or oid == ledger.EMPTY_LEDGER:
            continue
        seen.add(oid)
        facts = audit.nodes.get(oid)
        if facts is None:
            reach.missing[oid] = "node"
            continue
        documents.update(split_oids(facts.values))
        _check_children(audit, facts, reach)
        stack += [child.oid for child in facts.children]
    return documents


def _check_kinds(audit: Audit, reach: _Reach) -> None:
    """Cores stand where cores do, and other documents where they do."""
    for facts in audit.nodes.values():
        cores = set(split_oids(facts.cores))
        for oid in set(split_oids(facts.values)):
            found = audit.documents.get(oid)
            if found is not None and bool(found.derivation) != (oid in cores):
                reach.broken_nodes.append(
                    Damage(oid, "ledger", "a document stands where another kind belongs")
                )


def _check_root(audit: Audit, oid: bytes, reach: _Reach) -> None:
    facts = audit.nodes.get(oid)
    if facts is None:
        return
    try:
        ledger.check_root(facts.level, len(facts.children), facts.last_key)
    except IntegrityError as error:
        reach.broken_nodes.append(Damage(oid, "ledger", error.message))


def _check_places(repo: Repository, audit: Audit, root: bytes, reach: _Reach) -> None:
    """No document of a ledger stands where the folder of another one must be. Nodes are all there."""
    folders: set[str] = set()
    stack = [root] if root in audit.nodes else []
    while stack:
        facts = audit.nodes[stack.pop()]
        folders |= facts.folders
        stack += [child.oid for child in facts.children]
    for key in sorted(folders):
        while key not in ("", DOCUMENTS[:-1]):
            if ledger.find(repo.store, root, key) is not None:
                problem = f"'{key[len(DOCUMENTS) :]}' is a document and a folder of others"
                reach.broken_nodes.append(Damage(root, "ledger", problem))
            key = key.rpartition("/")[0]
            if key in folders:
                break


def _first_key(audit: Audit, facts: NodeFacts) -> str:
    """The smallest key at or below a node, as far as its nodes can be read."""
    while facts.children:
        below = audit.nodes.get(facts.children[0].oid)
        if below is None or below.level >= facts.level:
            break
        facts = below
    return facts.first_key


def _check_children(audit: Audit, facts: NodeFacts, reach: _Reach) -> None:
    after = ""
    for child in facts.children:
        below = audit.nodes.get(child.oid)
        if below is not None:
            fits = (
                below.level == facts.level - 1
                and below.last_key == child.last_key
                and below.count == child.count
            )
            if not fits or _first_key(audit, below) <= after:
                reach.broken_nodes.append(
                    Damage(facts.oid, "ledger", "a ledger node does not fit its parent")
                )
        after = child.last_key


def _check_documents(audit: Audit, documents: set[bytes], cold: frozenset[bytes], reach: _Reach) -> None:
    checked: set[bytes] = set()
    all_there = audit.awaited <= audit.oids
    for oid in documents:
        facts = audit.documents.get(oid)
        if facts is None:
            reach.missing[oid] = "document"
            continue
        manifest = audit.manifests.get(facts.manifest)
        if manifest is None:
            reach.missing[facts.manifest] = "manifest"
            continue
        if not _fits(facts, manifest):
            reach.broken_nodes.append(Damage(oid, "document", "its roots or sizes do not fit its manifest"))
        if facts.derivation and facts.derivation not in audit.oids:
            reach.missing[facts.derivation] = "derivation"
        is_cold = oid in cold and not facts.derivation
        if not all_there and not is_cold and facts.manifest not in checked:
            checked.add(facts.manifest)
            chunks = split_oids(manifest.chunks)
            if not audit.oids.issuperset(chunks):
                reach.missing.update((chunk, "chunk") for chunk in chunks if chunk not in audit.oids)


def _check_files(repo: Repository, documents: set[bytes], tip: bytes | None) -> list[Damage]:
    """The documents that are not what their files come to, see `check_document`. Every object is there and sound."""
    ordered = in_stored_order(repo.store, documents)
    policies = list({DEFAULT_POLICY: 0, repo.committed_policy(repo.snapshot(tip)).chunking: 0})

    def work(task: Sequence[bytes]) -> list[Damage]:
        reader, found = SequentialReader(repo.store), []
        for oid in task:
            try:
                check_document(reader, oid, policies)
            except IntegrityError as error:
                found.append(Damage(oid, "document", error.message))
        return found

    return [
        damage for found in map_forked(work, batches(ordered, _FILES_A_TASK), at_least=4) for damage in found
    ]


def _check_cores(repo: Repository, audit: Audit, documents: set[bytes], tip: bytes | None) -> list[Damage]:
    """The cores that are not bound to their sources, or that their distiller makes otherwise from what is here."""
    checker = CoreChecker(repo, repo.snapshot(tip), tip)
    cores = in_stored_order(repo.store, [oid for oid in documents if audit.documents[oid].derivation])
    return [Damage(oid, "core", why) for oid in checker.in_order(cores) if (why := checker.test(oid)[0])]


def _fits(document: DocumentFacts, manifest: ManifestFacts) -> bool:
    return document[2:7] == manifest[1:6]


def _explain(repo: Repository, audit: Audit, commits: list[bytes], reach: _Reach) -> list[Finding]:
    """Name what is missing or broken, and which documents at which revisions it touches."""
    if not reach.missing and not reach.broken_nodes:
        return []
    wanted = set(reach.missing) | {damage.oid for damage in reach.broken_nodes}
    touched: dict[bytes, list[tuple[str, str]]] = {oid: [] for oid in wanted}
    by_document = {oid: _needs(audit, oid) & wanted for oid in audit.documents}
    for commit_oid in commits:
        for path, document in _documents_of(repo, audit, audit.commits[commit_oid].ledger_root):
            for oid in by_document.get(document, {document} & wanted):
                if len(touched[oid]) < _MAX_NAMED:
                    touched[oid].append((commit_oid.hex(), path))
    found = [Finding(oid.hex(), what, f"{what} is missing or damaged", tuple(touched[oid]))
             for oid, what in reach.missing.items()]  # fmt: skip
    found += [Finding(d.oid.hex(), d.where, d.problem, tuple(touched[d.oid])) for d in reach.broken_nodes]
    return found


def _needs(audit: Audit, oid: bytes) -> set[bytes]:
    facts = audit.documents[oid]
    manifest = audit.manifests.get(facts.manifest)
    sources = audit.sources.get(facts.derivation, ())
    return {
        *split_oids(manifest.chunks if manifest else b""),
        oid,
        facts.manifest,
        facts.derivation,
        *sources,
    }


def _documents_of(repo: Repository, audit: Audit, root: bytes) -> Iterator[tuple[str, bytes]]:
    """(path or `core:NAME`, document oid) of a ledger, as far as its nodes can be read."""
    stack = [root]
    while stack:
        oid = stack.pop()
        if oid not in audit.nodes:
            continue
        node = repo.store.get_node(oid)
        stack += [child.oid for child in reversed(node.children)]
        for key, value in node.entries:
            if key.startswith((DOCUMENTS, CORES)):
                yield shown_path(key), value
