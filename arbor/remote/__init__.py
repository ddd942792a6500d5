"""SHARING: one protocol over every transport, a quarantine for what arrives, clone, fetch and push; never caches."""
