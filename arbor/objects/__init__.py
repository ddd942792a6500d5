"""What is kept: object ids, the canonical codec, the object model, Merkle trees, the ledger and proofs; opens no file."""
