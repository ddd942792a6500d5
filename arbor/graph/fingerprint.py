"""One hash over a whole state, for comparing states that were made in different ways."""

from __future__ import annotations

from blake3 import blake3

from arbor.index.consensus_store import ConsensusStore


def fingerprint(store: ConsensusStore) -> bytes:
    """A hash over all tables with contents named by their oids, so that the numbers of documents do not matter."""
    oids = {row.id: row.oid for row in store.iter_documents()}
    hasher = blake3()
    lines = [
        repr((row.oid, row.size, row.groups, row.supports, row.score, row.origins,
              [(oids[peer], ppm) for peer, ppm in row.nearest_peers()]))
        for row in store.iter_documents()
    ]  # fmt: skip
    lines += [repr((oids[one], oids[other], ppm, copy)) for one, other, ppm, copy in store.iter_edges()]
    lines += [repr((row.key, oids[row.document], row.origins, row.disputes)) for row in store.iter_keys()]
    lines += [repr((oids[number], packed)) for number, packed in store.iter_signatures()]
    lines += [repr((oids[number], content)) for number, content in store.iter_contents()]
    lines += [repr((term, frequency)) for term, frequency in store.iter_frequencies()]
    lines += [repr((term, oids[number], value)) for term, number, value in store.iter_postings()]
    lines += [repr(words) for words in store.iter_term_texts()]
    for line in sorted(lines):
        hasher.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return hasher.digest()
