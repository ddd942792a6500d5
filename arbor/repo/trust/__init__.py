"""TRUST: verification, proofs, checkpoints and signatures."""
