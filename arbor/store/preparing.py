"""Objects prepared in several processes and written to one pack, in the order of their batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from arbor.processes import map_forked
from arbor.store.frames import FrameCollector
from arbor.store.pack_writer import PackWriter

T = TypeVar("T")
R = TypeVar("R")


def write_prepared(
    writer: PackWriter,
    exists: Callable[[bytes], bool],
    make: Callable[[FrameCollector, T], R],
    batches: Sequence[T],
) -> Iterator[R]:
    """What `make` gives for each batch, in order, the objects that it collected being in the pack by then.

    Args:
        writer: Where they go.
        exists: Whether an object is stored already.
        make: Gets a collector and a batch, perhaps in another process; see `map_forked`.
        batches: Worth some ten milliseconds each.
    """

    def work(batch: T) -> tuple[R, list[tuple[bytes, list[bytes]]]]:
        collector = FrameCollector(exists)
        return make(collector, batch), collector.finish()

    for made, frames in map_forked(work, batches):
        for frame, oids in frames:
            writer.add_frame(frame, oids)
        yield made
