"""Where bytes lie: the writer lock, packs, the object store, refs and the journal; the only writer of `.arbor/`."""
