"""The numbers of the policy: published defaults, how far influence travels, what is refused."""

from __future__ import annotations

import pytest

from arbor.errors import UsageError
from arbor.graph.policy import ConsensusPolicy, parse_policy


def test_the_published_defaults() -> None:
    policy = parse_policy({})
    assert policy == ConsensusPolicy(300, 3, 50, 300, 3, 1)
    assert [policy.weight_milli(hop) for hop in (1, 2, 3)] == [300, 90, 27]
    assert policy.hops == 2  # 0.027 is under 0.05


def test_influence_stops_under_epsilon_or_at_the_last_hop() -> None:
    assert parse_policy({"lambda": 0.5}).hops == 3
    assert parse_policy({"lambda": 0.5, "max_hops": 2}).hops == 2
    assert parse_policy({"lambda": "0.3", "epsilon": 0.09}).hops == 2
    assert parse_policy({"lambda": 0.3, "epsilon": 0.091}).hops == 1
    assert parse_policy({"lambda": 0.2, "epsilon": 0.2}).hops == 1


@pytest.mark.parametrize(
    "section",
    [
        {"lambda": 1.0},
        {"lambda": 0},
        {"lambda": 0.3001},
        {"lambda": "a lot"},
        {"lambda": "1e999999"},
        {"lambda": "1e99999"},
        {"lambda": float("nan")},
        {"lambda": float("inf")},
        {"lambda": True},
        {"lambda": [0.3]},
        {"epsilon": 0.4},
        {"max_hops": 4},
        {"max_hops": 1.5},
        {"min_similarity": 0.01},
        {"extended_from": 4},
        {"corroborated_from": 0},
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(section: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_policy(section)
    assert "[ripple]" in caught.value.hint


def test_every_number_is_part_of_the_id() -> None:
    ids = {
        ConsensusPolicy().policy_id,
        ConsensusPolicy(lambda_milli=301).policy_id,
        ConsensusPolicy(max_hops=2).policy_id,
        ConsensusPolicy(epsilon_milli=51).policy_id,
        ConsensusPolicy(min_similarity_milli=301).policy_id,
        ConsensusPolicy(corroborated_from=4).policy_id,
        ConsensusPolicy(extended_from=2).policy_id,
    }
    assert len(ids) == 7
