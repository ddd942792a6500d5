"""`python -m arbor` is the same as `arbor`."""

from __future__ import annotations

import sys

from arbor.cli import main

if __name__ == "__main__":
    sys.exit(main())
