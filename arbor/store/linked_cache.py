"""A cache that is a link: a KB folder that came from somebody else could have derived state written over any files.

People link the cache to another disk on purpose. So an empty folder is taken, and carries from then on the number of
the store whose cache it is; a folder with anything else in it is left alone.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from arbor.errors import StorageError
from arbor.store.files import read_bounded, write_atomically
from arbor.store.store_id import ID_BYTES, make_store_id

MARK_FILE = "cache-of"
_MAX_MARK_BYTES = 4 * ID_BYTES


def refuse_foreign_cache(cache: Path) -> None:
    """Let nobody write derived state over what is none of this KB's.

    Args:
        cache: The folder of the derived state, directly in the KB's private folder.

    Raises:
        StorageError: when it, or the folder of older indexes in it, is a link to a folder of something else.
    """
    if cache.is_symlink() and not _is_own(cache):
        raise StorageError(
            f"'{cache}' is a link to a folder that is no cache of this knowledge base: nothing is written there",
            "remove the link, and what is derived is made anew; one to an empty folder is followed",
        )
    older = cache / "at"
    if older.is_symlink():
        raise StorageError(f"'{older}' is a link: nothing is written there", "remove the link")


def _is_own(cache: Path) -> bool:
    """Whether the folder is empty, and then it is taken, or was taken before; one that is not there harms nobody."""
    mark = make_store_id(cache.parent).hex().encode()
    try:
        if not os.listdir(cache) and mark:
            with contextlib.suppress(OSError):  # read-only: then nothing else is written there, either
                write_atomically(cache / MARK_FILE, mark + b"\n")
            return True
        return bool(mark) and read_bounded(cache / MARK_FILE, _MAX_MARK_BYTES).strip() == mark
    except FileNotFoundError:
        return not cache.exists()
    except OSError:
        return False
