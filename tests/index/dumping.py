"""What an index holds, without its row numbers, which say only in what order things came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arbor.index.reader import decode_varints
from arbor.index.schema import connect_to_read


def dump(fs_path: Path) -> dict[str, Any]:
    """Documents, paths, every occurrence of every token, lengths and statistics, all by content."""
    connection = connect_to_read(fs_path)
    try:
        documents = {
            first: (oid, rest)
            for first, oid, *rest in connection.execute("SELECT * FROM documents ORDER BY id")
        }
        owner = {
            first + ordinal: (oid, ordinal)
            for first, (oid, rest) in documents.items()
            for ordinal in range(rest[0])
        }
        connection.execute("CREATE VIRTUAL TABLE temp.places USING fts5vocab(main, passages, instance)")
        return {
            "meta": connection.execute("SELECT * FROM meta ORDER BY key").fetchall(),
            "documents": sorted((oid, *rest) for oid, rest in documents.values()),
            "paths": [
                (path, documents[first][0])
                for path, first in connection.execute("SELECT path, document FROM paths ORDER BY path")
            ],
            "tokens": sorted(
                (term, *owner[row], column, offset)
                for term, row, column, offset in connection.execute(
                    "SELECT term, doc, col, offset FROM places"
                )
            ),
            "lengths": sorted(
                (*owner[row], sizes)
                for row, sizes in connection.execute("SELECT id, sz FROM passages_docsize")
            ),
            "averages": [
                decode_varints(block) if any(block) else []
                for (block,) in connection.execute("SELECT block FROM passages_data WHERE id = 1")
            ],
        }
    finally:
        connection.close()
