"""What a document's peers amount to: its label and its score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from arbor.graph.policy import MILLI, PPM, ConsensusPolicy
from arbor.records import dataclass


class Label(StrEnum):
    """How many independent groups of peers a document has."""

    NOVEL = "NOVEL"
    EXTENDED = "EXTENDED"
    CORROBORATED = "CORROBORATED"


CONTESTED = "CONTESTED"
"""What stands beside the label of a document that somebody says contradicts another, or is contradicted by it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The consensus on one document.

    Attributes:
        label: NOVEL, EXTENDED or CORROBORATED.
        score_ppm: The influence that reaches it, in millionths; 0 when it has no independent peer.
        groups: Independent groups of peers.
        contested: Whether it contradicts or refutes another document of the set, or one contradicts it, as somebody
            asserted.
    """

    label: Label
    score_ppm: int
    groups: int
    contested: bool = False

    @property
    def score(self) -> float:
        """The score as a number for reading; never compared or stored."""
        return self.score_ppm / PPM


@dataclass(frozen=True, slots=True)
class PeerGroup:
    """Peers that are one source.

    Attributes:
        members: Keys of its documents, most similar first; copies under several keys are all named.
        similarity_ppm: Of the most similar member to the document.
        shared_terms: Terms which that member shares with the document, those that weigh most first.
        independent: Whether the group counts; False for copies of the document and what has its origin.
    """

    members: tuple[str, ...]
    similarity_ppm: int
    shared_terms: tuple[str, ...]
    independent: bool


def label_for(groups: int, policy: ConsensusPolicy) -> Label:
    """The label of a document with so many independent groups of peers."""
    if groups >= policy.corroborated_from:
        return Label.CORROBORATED
    return Label.EXTENDED if groups >= policy.extended_from else Label.NOVEL


def first_support(similarities: Iterable[int]) -> int:
    """Support at one hop: the sum over the groups of the similarity of the nearest member."""
    return sum(similarities)


def passed_on(similarity_ppm: int, peer_support: int, policy: ConsensusPolicy) -> int:
    """What one peer adds to the support one hop further.

    It passes on its similarity times how well supported it is itself: full from `corroborated_from` on, never
    more. What the document itself gives the peer is taken off first, so that nothing echoes back.
    """
    full = policy.corroborated_from * PPM
    return similarity_ppm * min(max(peer_support - similarity_ppm, 0), full) // full


def total_score(supports: Sequence[int], policy: ConsensusPolicy) -> int:
    """The score in millionths: the sum over the hops k of lambda^k times the support at that distance."""
    return sum(support * policy.lambda_milli**hop // MILLI**hop for hop, support in enumerate(supports, 1))
