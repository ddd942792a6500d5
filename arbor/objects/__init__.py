"""What is kept: object ids, canonical codec, object model, Merkle trees, ledger and proofs; opens no file."""
