"""The folders that paths lie in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Folders:
    """Every folder (with trailing slash) that has one of some paths below it; worked out when it is first asked for."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = paths
        self._found: set[str] | None = None

    def __contains__(self, folder: object) -> bool:
        if self._found is None:
            self._found = folders_of(self._paths)
        return folder in self._found


def folders_of(paths: Iterable[str]) -> set[str]:
    """Every folder (with trailing slash) that has one of the paths below it."""
    folders = {path[: path.rfind("/") + 1] for path in paths}
    folders.discard("")
    for folder in list(folders):
        cut = folder.rfind("/", 0, -1)
        while cut > 0 and folder[: cut + 1] not in folders:
            folders.add(folder[: cut + 1])
            cut = folder.rfind("/", 0, cut)
    return folders


def folders_above(path: str) -> Iterator[str]:
    """The folders that a path is in, the nearest first; as paths, so without a slash at the end."""
    while path := path.rpartition("/")[0]:
        yield path
