"""CORES: short texts made from documents, tied to their sources, and checked against them."""
