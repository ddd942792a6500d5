"""SOURCES: documents from the web, from git and from what other tools have written."""
