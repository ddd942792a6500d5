"""What a change of the set did: whom it reached, by which path, and which labels moved."""

from __future__ import annotations

from arbor.graph.standing import Label
from arbor.records import dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """One document whose standing a change touched.

    Attributes:
        key: The document; of several keys with one content the first.
        hop: Distance from the change, 1 at its neighbours.
        weight_milli: Influence at that distance, lambda^hop in thousandths.
        path: Keys from a changed document to this one, both included. Only this one when no changed document is
            near: then a word that they share became commoner or rarer in the set.
        terms: Those words; empty where the path says it all.
    """

    key: str
    hop: int
    weight_milli: int
    path: tuple[str, ...]
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelChange:
    """One document whose label, or whose being contested, moved.

    Attributes:
        key: The document.
        before: Its label; None when it was not in the set.
        after: Its label; None when it is no longer in the set.
        score_before_ppm: 0 when it was not in the set.
        score_after_ppm: 0 when it is no longer in the set.
        contested_before: Whether it was contested.
        contested_after: Whether it is contested.
    """

    key: str
    before: Label | None
    after: Label | None
    score_before_ppm: int
    score_after_ppm: int
    contested_before: bool = False
    contested_after: bool = False


@dataclass(frozen=True, slots=True)
class Ripple:
    """The effect of one change of the set.

    Attributes:
        origins: Keys that were added, changed or removed, sorted.
        reached: Other documents whose label or score moved, nearest first, then by key.
        changed: Documents whose label moved, the origins included, by key.
        terms: Terms whose weight moved because more or fewer documents hold them, sorted.
        hops: The largest distance in `reached`; 0 when nothing was reached.
    """

    origins: tuple[str, ...]
    reached: tuple[Reach, ...]
    changed: tuple[LabelChange, ...]
    terms: tuple[str, ...] = ()

    @property
    def hops(self) -> int:
        """How far the change travelled."""
        return max((reach.hop for reach in self.reached), default=0)


NO_RIPPLE = Ripple((), (), ())
