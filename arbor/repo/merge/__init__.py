"""MERGING: two versions and what they come from become one; documents, cores and ledgers."""
