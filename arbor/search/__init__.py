"""Asking: from a typed query to ranked, audited and explained hits."""
