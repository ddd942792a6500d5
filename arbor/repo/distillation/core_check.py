"""Whether cores still hold: bound to their sources, made from what is there now, and made again the same."""

from __future__ import annotations

from collections.abc import Iterable

from arbor.errors import ArborError, IntegrityError, UsageError
from arbor.objects import ledger
from arbor.objects.ids import Kind
from arbor.objects.model import CoreSource, Derivation, decode_document
from arbor.records import dataclass
from arbor.repo.commits.history import first_parents
from arbor.repo.distillation.core_binding import broken_source, changed_below, changed_sources, get_derivation
from arbor.repo.distillation.cores import MANUAL
from arbor.repo.distillation.distillers.contract import Distiller
from arbor.repo.distillation.distillers.registry import asks_statistics, find_distiller, takes
from arbor.repo.distillation.distilling import Recipe, make_recipe, run_distiller
from arbor.repo.distillation.kb_statistics import DocumentFinder, TermCounter
from arbor.repo.documents import read_parts, read_texts
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot, shown_path

CURRENT, STALE, BROKEN = "current", "stale", "broken"
_RECIPES_KEPT = 8
"""Each may hold how common every term of a version is; cores that were made together are checked together."""


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A source that is not any more what a core was made from.

    Attributes:
        path: The document's path, or `core:NAME`.
        what: `changed`, `moved` (to another path), `gone`, or `stale`: a core of which a source is one of these.
        now: Where it is now, after a move; "" else.
        same_passages: Whether every passage that the core uses is still in it.
        commit, seconds: The commit since which, as hexadecimal digits, and its time; "" and 0 where it is not
            committed.
    """

    path: str
    what: str
    now: str
    same_passages: bool
    commit: str
    seconds: int


@dataclass(frozen=True, slots=True)
class CoreState:
    """What a check found of one core.

    Attributes:
        name, core: Its name, and its oid as hexadecimal digits.
        state: `current`, `stale` (a source has changed) or `broken` (it is not what it says).
        problem: Why it is broken; "" else.
        changes: The sources that have changed.
        again: What making it again gave: `same`, `differs`, or why it was not made again; "" where nobody can.
    """

    name: str
    core: str
    state: str
    problem: str
    changes: tuple[SourceChange, ...]
    again: str


class CoreChecker:
    """Checks cores of one version; histories are gathered once, and statistics where `in_order` says the order."""

    def __init__(
        self, repo: Repository, snapshot: Snapshot, commit_oid: bytes | None, *, rerun: bool = True
    ) -> None:
        self._repo = repo
        self._snapshot = snapshot
        self._commit = commit_oid
        self._rerun = rerun
        self._recipes: dict[tuple[str, str, bytes], Recipe | None] = {}
        self._finder = DocumentFinder(repo, commit_oid)
        self._counter = TermCounter(repo)
        self._places: dict[bytes, str] | None = None

    def in_order(self, oids: Iterable[bytes]) -> list[bytes]:
        """Cores in an order in which those that name one version stand together, so that its terms are counted once."""
        together: dict[bytes, list[bytes]] = {}
        for oid in oids:
            try:
                document = decode_document(self._repo.store.get_kind(oid, Kind.DOCUMENT))
                named = get_derivation(self._repo.store, document).ledger_root
            except IntegrityError:  # told by `test`
                named = b""
            together.setdefault(named, []).append(oid)
        return [oid for group in together.values() for oid in group]

    def check(self, name: str, oid: bytes) -> CoreState:
        """The state of one core; whatever is wrong with it is in the answer."""
        problem, again = self.test(oid)
        if problem:
            return CoreState(name, oid.hex(), BROKEN, problem, (), again)
        document = self._snapshot.document(oid)
        changes = tuple(self._changes(get_derivation(self._repo.store, document)))
        return CoreState(name, oid.hex(), STALE if changes else CURRENT, "", changes, again)

    def test(self, oid: bytes) -> tuple[str, str]:
        """(why a core is broken, what making it again gave), whatever has become of its sources; see `CoreState`."""
        try:
            document = decode_document(self._repo.store.get_kind(oid, Kind.DOCUMENT))
            derivation = get_derivation(self._repo.store, document)
            problem = broken_source(self._repo.store, derivation) or self._own_text(oid)
        except IntegrityError as error:
            return error.message, ""
        again = self._make_again(oid, derivation) if self._rerun and not problem else ""
        if again == "differs":
            problem = f"{derivation.distiller} makes another text from the same sources"
        return problem, again

    def _own_text(self, oid: bytes) -> str:
        """Whether the core's own passages are here: cores are never cold."""
        return "a passage of its own text is missing" if self._snapshot.lacks_pieces(oid) else ""

    # --- what has become of the sources

    def _changes(self, derivation: Derivation) -> Iterable[SourceChange]:
        for key in changed_sources(self._repo.store, derivation, self._snapshot.find_key):
            sources = [source for source in derivation.sources if source.key == key]
            now = self._snapshot.find_key(key)
            yield self._describe(key, sources, now)

    def _describe(self, key: str, sources: list[CoreSource], now: bytes | None) -> SourceChange:
        shown = shown_path(key)
        if now == sources[0].document:  # a core that is as it was, above something that is not
            below = changed_below(self._repo.store, now, self._snapshot.find_key)
            since = self._since(below.key, below.document) if below is not None else ("", 0)
            return SourceChange(shown, "stale", "", True, *since)
        commit, seconds = self._since(key, sources[0].document)
        if now is None:
            moved = self._place_of(sources[0].document)
            return SourceChange(shown, "moved" if moved else "gone", moved, bool(moved), commit, seconds)
        manifest = self._snapshot.manifest(self._snapshot.document(now))
        leaves = {ref.oid for ref in manifest.passages}
        return SourceChange(shown, "changed", "", all(s.leaf in leaves for s in sources), commit, seconds)

    def _place_of(self, document: bytes) -> str:
        if self._places is None:
            self._places = {}
            for path, oid in self._snapshot.paths():
                self._places.setdefault(oid, path)
        return self._places.get(document, "")

    def _since(self, key: str, document: bytes) -> tuple[str, int]:
        """The oldest commit on the way back from which on the source is another one."""
        found = ("", 0)
        for oid in first_parents(self._repo, self._commit) if self._commit else ():
            commit = self._repo.commit(oid)
            if ledger.find(self._repo.store, commit.ledger_root, key) == document:
                break
            found = (oid.hex(), commit.committer.seconds)
        return found

    # --- making it again

    def _make_again(self, oid: bytes, derivation: Derivation) -> str:
        if derivation.distiller == MANUAL:
            return ""
        try:
            distiller = find_distiller(derivation.distiller)
        except UsageError as error:
            return error.message
        if distiller is None:
            return f"there is no distiller '{derivation.distiller}' here"
        if not distiller.deterministic:
            return "the distiller is not deterministic"
        if distiller.version != derivation.version:
            return f"made by version {derivation.version}, this is version {distiller.version}"
        if not takes(distiller, derivation.parameters):
            return f"its parameters are not such as {distiller.name} takes"
        try:
            recipe = self._recipe(derivation, distiller)
            if recipe is None:
                return "no version of this history holds just the documents that its statistics are of"
            return self._compare(oid, derivation, recipe)
        except UsageError as error:
            return error.message
        except ArborError:
            return "the text of a source, or of the statistics, is not here: cold or absent"

    def _recipe(self, derivation: Derivation, distiller: Distiller) -> Recipe | None:
        """How a core was made; None where the documents of its statistics are not found."""
        key = (derivation.distiller, repr(sorted(derivation.parameters.items())), derivation.ledger_root)
        if key not in self._recipes:
            documents: dict[str, bytes] | None = {}
            if asks_statistics(distiller, derivation.parameters):
                documents = self._finder.find(derivation.ledger_root)
            if len(self._recipes) >= _RECIPES_KEPT:
                self._recipes.clear()
            self._recipes[key] = (
                make_recipe(self._repo, distiller, derivation.parameters, documents, self._counter)
                if documents is not None
                else None
            )
        return self._recipes[key]

    def _compare(self, oid: bytes, derivation: Derivation, recipe: Recipe) -> str:
        """Make the text again from the recorded sources; titles may differ where a path has changed."""
        source = derivation.sources[0]
        if any(other[:2] != source[:2] for other in derivation.sources):
            return "differs"  # a distiller makes a core of one document
        store = self._repo.store
        document, manifest = read_parts(store, source.document)
        texts = read_texts(store, document, manifest)
        made = run_distiller(recipe, shown_path(source.key), document, manifest, texts)
        own = b"".join(self._snapshot.iter_file(oid))
        same = made is not None and made.text.encode("utf-8") == own
        used = tuple(each.index for each in derivation.sources)
        return "same" if same and made is not None and made.used == used else "differs"
