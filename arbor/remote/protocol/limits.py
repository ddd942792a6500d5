"""Bounds on everything that another side can make grow or last."""

from __future__ import annotations

from arbor.errors import IntegrityError
from arbor.records import dataclass

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30

MAX_REFS = 100_000
MAX_WANTS = 100_000
MAX_HAVES = 200_000
MAX_UPDATES = 10_000
MAX_ERROR_CHARS = 600
HELD_BYTES = 8
"""Bytes of an oid in a list of what is held already."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one transfer may come to.

    Attributes:
        max_bytes: Packed bytes.
        max_raw_bytes: Unpacked bytes.
        max_objects: Objects.
        max_ratio: Unpacked bytes for each packed one over the whole transfer, beyond `free_raw_bytes`.
        max_mean_bytes: Unpacked bytes for each object that was announced, beyond `free_raw_bytes`.
        free_raw_bytes: Unpacked bytes that are always allowed.
        free_file_bytes: Bytes of files that are put together to be hashed, though few of their own came; beyond that
            there are `max_ratio` for each unpacked byte.
        idle_s: Seconds without a single byte.
        total_s: Seconds in all.
        min_bytes_per_s: The least average speed after `grace_s` seconds, so that a slow drip ends.
        grace_s: Seconds before the speed counts.
        head_s: Seconds in which a server must have the request line and the headers of a request.
    """

    max_bytes: int = 64 * _GIB
    max_raw_bytes: int = 256 * _GIB
    max_objects: int = 200_000_000
    max_ratio: int = 400
    max_mean_bytes: int = _MIB
    free_raw_bytes: int = 256 * _MIB
    free_file_bytes: int = 64 * _GIB
    idle_s: float = 120.0
    total_s: float = 24 * 3600.0
    min_bytes_per_s: float = 256.0
    grace_s: float = 60.0
    head_s: float = 10.0


DEFAULT_LIMITS = Limits()


class Meter:
    """Counts one transfer and ends it when it goes beyond its limits, or beyond what was announced.

    Args:
        limits: Bounds.
        announced: How many objects are to come; None where nothing was said.
    """

    def __init__(self, limits: Limits, announced: int | None = None) -> None:
        self._limits = limits
        self._announced = announced
        self.packed_bytes = 0
        self.raw_bytes = 0
        self.objects = 0
        if announced is not None and announced > limits.max_objects:
            raise IntegrityError(_too_many(limits))

    def take(self, packed_bytes: int, raw_bytes: int, objects: int) -> None:
        """Count one frame before it is unpacked.

        Raises:
            IntegrityError: when the transfer is larger than its limits.
        """
        self.packed_bytes += packed_bytes
        self.raw_bytes += raw_bytes
        self.objects += objects
        limits = self._limits
        if self.packed_bytes > limits.max_bytes or self.raw_bytes > limits.max_raw_bytes:
            raise IntegrityError(f"the transfer is larger than the limit of {limits.max_bytes} bytes")
        if self.objects > limits.max_objects:
            raise IntegrityError(_too_many(limits))
        if self.raw_bytes > limits.free_raw_bytes + limits.max_ratio * self.packed_bytes:
            raise IntegrityError(f"the transfer unpacks to more than {limits.max_ratio} times its size")
        if self._announced is not None:
            self._compare(self._announced)

    def _compare(self, announced: int) -> None:
        if self.objects > announced:
            raise IntegrityError(f"more than the {announced} objects came that were announced")
        if self.raw_bytes > self._limits.free_raw_bytes + self._limits.max_mean_bytes * announced:
            raise IntegrityError(f"the transfer is larger than its {announced} objects can be")


def _too_many(limits: Limits) -> str:
    return f"the transfer has more than {limits.max_objects} objects"
