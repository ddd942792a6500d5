"""UPKEEP: what nothing reaches goes, and the number of packs stays small."""
