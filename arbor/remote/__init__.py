"""SHARING: one protocol over every transport, quarantine for what arrives; clone, fetch, pull and push; never caches."""
