"""Measuring: retrieval collections, the metrics of a run, and nothing that a search depends on."""
