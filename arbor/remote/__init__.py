"""SHARING: one small protocol over every transport, quarantine for what arrives, and clone, fetch, pull and push; never caches."""
