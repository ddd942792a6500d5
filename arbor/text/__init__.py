"""Bytes to terms: what kind of file it is, its text, its passages, its links, and the words a search sees."""
