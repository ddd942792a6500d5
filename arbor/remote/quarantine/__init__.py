"""QUARANTINE: what arrives, hashed, decoded strictly and connected before it counts."""
