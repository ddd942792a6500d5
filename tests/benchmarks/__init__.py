"""Measurements of arbor beside its peers: `make bench`, or `python -m tests.benchmarks [NAME ...]`.

Each `bench_NAME.py` has a `TITLE` and a function `run(settings: Settings) -> Iterator[Table]` (both types are
in `harness.py`); it yields each table as soon as it is measured. The first sentence of the module's docstring
is its line in `--list`. Peers are run in turns, never one after the other, and a ratio is taken within each
turn, so that a busy machine slows both.
"""
