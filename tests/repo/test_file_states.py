"""States of files: one value each, equal for equal files, in the order of time."""

from __future__ import annotations

import pytest

from arbor.repo.stage import UNKNOWN, moment_of, size_of, state_of


class Stat:
    """What `state_of` reads of a stat."""

    def __init__(self, *values: int) -> None:
        self.st_mtime_ns, self.st_ctime_ns, self.st_size, self.st_ino = values


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", [0, -1, 2**63, 2**64 + 50, -(2**70)])
def test_a_state_is_one_value_for_any_numbers(place: int, value: int) -> None:
    values = [3, 4, 5, 6]
    before = state_of(Stat(*values))  # type: ignore[arg-type]
    values[place] = value
    after = state_of(Stat(*values))  # type: ignore[arg-type]
    assert before != after != UNKNOWN
    assert after == state_of(Stat(*values))  # type: ignore[arg-type]
    assert size_of(before) == 5


def test_moments_are_in_order_as_states_are() -> None:
    assert moment_of(-5) < moment_of(7) < moment_of(2**40) == state_of(Stat(2**40, 0, 0, 0))[:8]  # type: ignore[arg-type]
