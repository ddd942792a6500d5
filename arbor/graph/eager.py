"""When a commit makes the consensus from nothing, without being asked."""

from __future__ import annotations

EAGER_DOCUMENTS = 2_500
"""A commit makes the state from nothing for as many documents; for more it waits until somebody asks."""
