"""Ranking profiles: how relevance, consensus, quality and freshness are weighed, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from arbor.errors import UsageError
from arbor.records import dataclass
from arbor.repo.config import check_keys

WEIGHTS = ("relevance", "consensus", "quality", "freshness")


@dataclass(frozen=True, slots=True)
class RankingProfile:
    """A named way to rank. Weights are 0 to 1 and sum to 1.

    Attributes:
        name: What `--rank` takes.
        relevance, consensus, quality, freshness: Weights of the four signals, each brought to 0 ... 1.
        half_life_days: Age at which freshness is one half.
    """

    name: str
    relevance: float
    consensus: float = 0.0
    quality: float = 0.0
    freshness: float = 0.0
    half_life_days: float = 180.0

    @property
    def is_plain(self) -> bool:
        """Whether relevance alone counts."""
        return self.consensus == self.quality == self.freshness == 0.0


DEFAULT = RankingProfile("relevance", 1.0)
RIPPLE = RankingProfile("ripple", 0.35, 0.40, 0.15, 0.10)
BUILT_IN = {profile.name: profile for profile in (DEFAULT, RIPPLE)}


def parse_profiles(section: Mapping[str, Any]) -> dict[str, RankingProfile]:
    """The profiles of the table `[ranking]`, beside the built-in ones.

    `[ranking.NAME]` holds weights and `half_life_days`; a weight left out is 0.

    Raises:
        UsageError: when a weight is no number from 0 to 1, the weights do not sum to 1, or a key is unknown.
    """
    profiles = dict(BUILT_IN)
    for name, table in section.items():
        if name == "default":
            continue
        if not isinstance(table, Mapping):
            raise UsageError(f"arbor.toml: [ranking.{name}] is not a table", f"write [ranking.{name}]")
        profiles[name] = _parse_profile(name, table)
    return profiles


def _parse_profile(name: str, table: Mapping[str, Any]) -> RankingProfile:
    check_keys(f"ranking.{name}", table, (*WEIGHTS, "half_life_days"))
    weights = {key: _number(name, key, table.get(key, 0.0), 1.0) for key in WEIGHTS}
    if abs(sum(weights.values()) - 1.0) > 1e-6:
        raise UsageError(
            f"arbor.toml: the weights of [ranking.{name}] sum to {sum(weights.values()):g}, not to 1"
        )
    half_life = _number(name, "half_life_days", table.get("half_life_days", 180.0), 100_000.0)
    if half_life < 1.0:
        raise UsageError(f"arbor.toml: half_life_days of [ranking.{name}] must be 1 or more")
    return RankingProfile(name, **weights, half_life_days=half_life)


def _number(name: str, key: str, value: Any, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UsageError(f"arbor.toml: {key} of [ranking.{name}] is not a number")
    if not 0.0 <= value <= most:
        raise UsageError(f"arbor.toml: {key} of [ranking.{name}] must be from 0 to {most:g}")
    return float(value)


def choose_profile(section: Mapping[str, Any], name: str | None) -> RankingProfile:
    """The profile of a name; without one the policy's `default`, and without that relevance alone.

    Raises:
        UsageError: when there is no such profile.
    """
    return get_profile(name or section.get("default") or DEFAULT.name, parse_profiles(section))


def get_profile(name: object, profiles: Mapping[str, RankingProfile] = BUILT_IN) -> RankingProfile:
    """The profile of a name; raises UsageError when there is none."""
    profile = profiles.get(name) if isinstance(name, str) else None
    if profile is None:
        raise UsageError(f"there is no ranking profile '{name}'", f"the profiles are: {', '.join(profiles)}")
    return profile
