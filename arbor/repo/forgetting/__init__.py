"""TIERS: documents out of the index or the store as far as others give the bytes, and back."""
