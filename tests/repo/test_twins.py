"""Names that a file system without case takes for one are found, whichever of the two is new."""

from __future__ import annotations

import pytest

from arbor.repo.work_tree.twins import find_twins


@pytest.mark.parametrize(
    ("new", "others", "twins"),
    [
        (["readme.md"], ["README.md", "other.md"], [("README.md", "readme.md")]),
        (["A/x.md"], ["a"], [("a", "A/")]),
        (["a"], ["A/x.md", "A/y.md"], [("a", "A/")]),
        (["A/x.md"], ["a/y.md"], []),
        (["A/x.md"], ["a/x.md"], [("A/x.md", "a/x.md")]),
        (["x.md"], ["README.md", "readme.md"], []),
        (["e\u0301.md"], ["\u00e9.md"], [("e\u0301.md", "\u00e9.md")]),
        ([], ["README.md", "readme.md"], []),
    ],
)
def test_twins(new: list[str], others: list[str], twins: list[tuple[str, str]]) -> None:
    assert find_twins(new, others) == twins
