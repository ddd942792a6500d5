"""Derived tables: the full-text index of one version, made from objects and deleted at will; the only room with SQLite."""
