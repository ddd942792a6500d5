"""The history drawn as lanes: one for each line of development, joined where commits have a parent in common."""

from __future__ import annotations

from collections.abc import Sequence

_ASCII = str.maketrans("●│├┤╮╯─┼", "*|||\\/-+")


class Lanes:
    """The lanes of a log, fed commit by commit, children before their parents.

    A lane leads to one commit; a lane that has ended leaves a free place, so that no lane ever moves.
    """

    def __init__(self, *, ascii_only: bool) -> None:
        self._ascii_only = ascii_only
        self._lanes: list[str | None] = []

    def take(self, oid: str, parents: Sequence[str]) -> tuple[str, str, list[str]]:
        """Draw one commit.

        Args:
            oid: The commit.
            parents: Its parents.

        Returns:
            What stands before its first line, what before its other lines, and the rows that join lanes below it.
        """
        here = self._lanes.index(oid) if oid in self._lanes else self._free_place(0)
        self._lanes[here] = oid
        first = self._row({here: "●"})
        rest = self._row({} if parents else {here: " "})
        joins = [self._lead_to(here, parent) for parent in parents[1:]]
        joins += self._lead_on(here, parents[0] if parents else None)
        while self._lanes and self._lanes[-1] is None:
            self._lanes.pop()
        return first, rest, joins

    def _lead_to(self, here: int, parent: str) -> str:
        """The row that leads to a further parent: on a lane of its own, or on the one that leads there already."""
        if parent in self._lanes:
            there = self._lanes.index(parent)
            return self._row({min(here, there): "├", max(here, there): "┤"})
        there = self._free_place(here + 1)
        self._lanes[there] = parent
        return self._row({here: "├", there: "╮"})

    def _lead_on(self, here: int, parent: str | None) -> list[str]:
        """Let the lane lead to the first parent; of two lanes that would lead there the right one ends."""
        if parent is None or parent not in self._lanes:
            self._lanes[here] = parent
            return []
        left, right = sorted((here, self._lanes.index(parent)))
        row = self._row({left: "├", right: "╯"})
        self._lanes[left], self._lanes[right] = parent, None
        return [row]

    def _free_place(self, start: int) -> int:
        for place in range(start, len(self._lanes)):
            if self._lanes[place] is None:
                return place
        self._lanes.append(None)
        return len(self._lanes) - 1

    def _row(self, marks: dict[int, str]) -> str:
        """One row: the lanes with marks on some; a line goes from the first mark to the last."""
        left, right = (min(marks), max(marks)) if len(marks) > 1 else (0, 0)
        cells = []
        for place, lane in enumerate(self._lanes):
            crossed = left < place < right
            plain = ("┼" if lane else "─") if crossed else ("│" if lane else " ")
            cells.append(marks.get(place, plain) + ("─" if left <= place < right else " "))
        row = "".join(cells)
        return row.translate(_ASCII) if self._ascii_only else row
