"""The numbers that decide what corroboration means, as a person may set them in `arbor.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any

from arbor.errors import UsageError
from arbor.records import dataclass

MILLI = 1000
PPM = 1_000_000
HOPS_MAX = 3
PEERS_MAX = 1000


@dataclass(frozen=True, slots=True)
class ConsensusPolicy:
    """Parameters of ripple consensus, all whole numbers.

    Attributes:
        lambda_milli: Influence that is left after one hop, in thousandths; 1 to 999.
        max_hops: Influence never travels further; 1 to 3.
        epsilon_milli: Influence under this is not followed, in thousandths; 1 to `lambda_milli`.
        min_similarity_milli: Documents at least this similar are peers, in thousandths; 50 to 1000.
        corroborated_from: Groups of independent peers that make a document CORROBORATED.
        extended_from: Groups of independent peers that make it EXTENDED; at most `corroborated_from`.
    """

    lambda_milli: int = 300
    max_hops: int = 3
    epsilon_milli: int = 50
    min_similarity_milli: int = 300
    corroborated_from: int = 3
    extended_from: int = 1

    def __post_init__(self) -> None:
        limits = (
            ("lambda", self.lambda_milli, 1, MILLI - 1),
            ("max_hops", self.max_hops, 1, HOPS_MAX),
            ("epsilon", self.epsilon_milli, 1, self.lambda_milli),
            # Far below the default nearly every pair is a peer and the peers no longer fit anywhere.
            ("min_similarity", self.min_similarity_milli, 50, MILLI),
            ("corroborated_from", self.corroborated_from, 1, PEERS_MAX),
            ("extended_from", self.extended_from, 1, self.corroborated_from),
        )
        for name, value, low, high in limits:
            if not low <= value <= high:
                unit = " thousandths" if _NAMES[name][1] == MILLI else ""
                raise UsageError(
                    f"the consensus policy needs {name} from {low} to {high}{unit}, not {value}", _HINT
                )

    @property
    def min_similarity_ppm(self) -> int:
        """The threshold for peers in millionths."""
        return self.min_similarity_milli * (PPM // MILLI)

    @property
    def hops(self) -> int:
        """Hops that influence really travels: lambda^k falls under epsilon, or `max_hops` is reached; at least 1."""
        hops = 1
        while hops < self.max_hops and self.lambda_milli ** (hops + 1) >= self.epsilon_milli * MILLI**hops:
            hops += 1
        return hops

    def weight_milli(self, hop: int) -> int:
        """Influence at a distance, lambda^hop in thousandths, rounded down."""
        return int(self.lambda_milli**hop // MILLI ** (hop - 1))

    @property
    def policy_id(self) -> str:
        """Names these numbers; state made under another id is out of date."""
        return " ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))


_HINT = "set it in arbor.toml under [ripple]"
_MAX_DIGITS = 18
_NAMES = {
    "lambda": ("lambda_milli", MILLI),
    "max_hops": ("max_hops", 1),
    "epsilon": ("epsilon_milli", MILLI),
    "min_similarity": ("min_similarity_milli", MILLI),
    "corroborated_from": ("corroborated_from", 1),
    "extended_from": ("extended_from", 1),
}


KEYS = tuple(_NAMES)


def parse_policy(section: Mapping[str, Any]) -> ConsensusPolicy:
    """The policy from the table `[ripple]` of `arbor.toml`; what is not given keeps its published default.

    Args:
        section: `lambda`, `epsilon` and `min_similarity` as decimals with at most three places, `max_hops`,
            `corroborated_from` and `extended_from` as whole numbers. Other names are passed over here, and reported
            where the file is looked at as a whole.

    Raises:
        UsageError: when a value is no number, has more than three places or is out of range.
    """
    given: dict[str, int] = {}
    for name, (field, scale) in _NAMES.items():
        if name in section:
            given[field] = _scaled(name, section[name], scale)
    return ConsensusPolicy(**given)


def _scaled(name: str, value: object, scale: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise UsageError(f"the consensus policy needs a number for {name}, not {value!r}", _HINT)
    try:
        scaled = Decimal(str(value)) * scale
    except ArithmeticError:  # no number, or one beyond all bounds
        raise UsageError(f"the consensus policy needs a number for {name}, not {value!r}", _HINT) from None
    if not scaled.is_finite() or scaled.adjusted() > _MAX_DIGITS or scaled != int(scaled):
        places = "at most three decimal places" if scale > 1 else "a whole number"
        raise UsageError(f"the consensus policy needs {places} for {name}, not {value!r}", _HINT)
    return int(scaled)
