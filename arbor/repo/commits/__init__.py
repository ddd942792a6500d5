"""COMMITS: made, named, walked, compared, and the branches that lead to them."""
