"""Derived tables: the full-text index, made from objects and deleted at will; the only room with SQLite."""
