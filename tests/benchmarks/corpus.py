"""The notes that are measured: real prose where it is at hand, else out of word lists; always the same.

Note number i depends on i and on the source of the prose alone, so a corpus can be made longer without
changing it.
"""

from __future__ import annotations

import itertools
import random
import tarfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from arbor.evaluation.collections import iter_documents, read_queries

MIN_BYTES, MAX_BYTES = 1200, 8000
PROSE_ARCHIVE = "kb/obsidian-hub.tar.gz"
PROSE_FOLDER = "kb/rust-book"
COLLECTIONS = ("scifact", "cranfield", "hotpot100")

# Whole lines of words read better than a literal of three hundred strings.
_STEMS = """
air anchor answer archive bank base bear bell bird blade block board boat body bond book border bottle bottom
branch bread bridge brush cable camp canal candle cap card carbon cell centre chain chalk chamber channel
chart circle city clay clock cloud coal coast coin colour column comet copper coral corn cotton crane crystal
current curve dam day desert dial door drift drum dust earth edge engine estate fabric factor farm feather
fence fern field film filter fire flag flint flow flower foam fog force forest fork form frame frost fruit
garden gas gate gear glass gold grain grape grass gravel grid ground harbour heart heat hill hinge hive honey
horn house ice ink iron island ivory jar jet joint key lake lamp land lattice lead leaf lens lever light lime
line lock loom magnet map marble market mass mast meadow metal mill mineral mirror moon moss motor mountain
needle nest net night node north oak oar ocean oil orbit ore oxide paper path pearl phase pine pipe plain
plane plant plate pocket point pole pool port post powder press prism pulse pump quartz radio rail rain reef
resin rice ridge ring river road rock root rope rudder salt sand scale school sea seed shade shell shield ship
shore signal silk silver skin sky slate slope smoke snow soil solar sound spark spring star state steam steel
stem stone storm straw stream street string sugar sulphur summer sun surface table tank tape temple thread
tide timber tin tower track train tree tube turbine valley valve vapour vein wall water wave wax weather wheel
willow wind window winter wire wood wool yard year zinc
""".split()  # noqa: SIM905
_JOINING = """
the of and a to in is that it was for on are as with his they at be this from have or by one had not but
""".split()  # noqa: SIM905


@cache
def paragraphs(data: Path | None) -> tuple[str, ...]:
    """The prose that notes are put together from.

    Args:
        data: The folder of public vaults; None for prose out of the word lists.
    """
    if data is None or not (data / PROSE_ARCHIVE).exists():
        return tuple(_invented_paragraph(number) for number in range(6000))
    texts = itertools.chain(_archive_texts(data / PROSE_ARCHIVE), _folder_texts(data / PROSE_FOLDER))
    return tuple(paragraph for text in texts for paragraph in text.split("\n\n") if paragraph.strip())


def note(number: int, prose: Sequence[str]) -> bytes:
    """The bytes of one Markdown note, 1 to 8 KB of UTF-8."""
    source = random.Random(f"note {number}")
    target = source.randint(MIN_BYTES, MAX_BYTES)
    subject = source.choice(prose).strip()[:40].splitlines()[0]
    parts = [f"# Note {number} about {subject}"]
    size = len(parts[0])
    while size < target:
        paragraph = source.choice(prose)[:3000]
        if source.random() < 0.2:
            paragraph = "## " + paragraph[:30].replace("\n", " ") + "\n\n" + paragraph
        parts.append(paragraph)
        size += len(paragraph.encode()) + 2
    whole = "\n\n".join(parts).encode()[: MAX_BYTES + 190]
    return whole.decode("utf-8", "ignore").encode() + b"\n"


def note_path(number: int) -> str:
    """Where a note lies: 40 areas of 25 topics."""
    return f"area{number % 40:02d}/topic{number // 40 % 25:02d}/note{number}.md"


def write_notes(folders: Sequence[Path], numbers: range, data: Path | None) -> int:
    """Write notes into each of the folders; the bytes written into one of them."""
    prose = paragraphs(data)
    total = 0
    for number in numbers:
        content = note(number, prose)
        total += len(content)
        for folder in folders:
            path = folder / note_path(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return total


def write_large_text(path: Path, size_bytes: int, data: Path | None) -> None:
    """One text file of at least that size, no line of which comes twice."""
    block = "\n\n".join(paragraphs(data)[:2000])
    written, number = 0, 0
    with path.open("wb") as file:
        while written < size_bytes:
            lines = (f"{number}.{line} {text}\n" for line, text in enumerate(block.splitlines()))
            written += file.write("".join(lines).encode())
            number += 1


def short_documents(count: int, data: Path | None) -> Iterator[tuple[str, str]]:
    """Paths and texts of documents of one passage: some sentences of the collections, or invented."""
    sentences = tuple(_collection_sentences(data)) if data else ()
    pool = sentences or paragraphs(None)
    for number in range(count):
        source = random.Random(f"document {number}")
        text = " ".join(source.choice(pool) for _ in range(source.randint(2, 5)))
        title = " ".join(text.split()[:6])
        yield f"shelf{number % 50:02d}/document{number}.md", f"# {title}\n\n{text[:1500]}\n"


def questions(count: int, data: Path | None) -> list[str]:
    """Queries of several words: those of the collections, or invented."""
    found: list[str] = []
    for name in COLLECTIONS:
        if data and (data / name).is_dir():
            found += read_queries(data / name).values()
    if not found:
        found = [" ".join(_invented_paragraph(10_000 + number).split()[:8]) for number in range(count)]
    return random.Random("questions").sample(sorted(set(found)), min(count, len(set(found))))


def _collection_sentences(data: Path) -> Iterator[str]:
    for name in COLLECTIONS:
        if (data / name).is_dir():
            for document in iter_documents(data / name):
                yield from (f"{part.strip()}." for part in document.text.split(". ") if len(part) > 30)


def _archive_texts(path: Path) -> Iterator[str]:
    with tarfile.open(path) as archive:
        # In the order of the archive: going back in a compressed stream means reading it again.
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".md") else None
            if file is not None:
                yield file.read().decode("utf-8", "replace")


def _folder_texts(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.md")):
        yield path.read_text(encoding="utf-8", errors="replace")


def _invented_paragraph(number: int) -> str:
    """A paragraph whose words are as unevenly common as those of a language (Zipf's law)."""
    source = random.Random(f"paragraph {number}")
    words = _invented_words()
    ranks = (int(len(words) ** source.random()) - 1 for _ in range(source.randint(30, 120)))
    return " ".join(words[rank] for rank in ranks).capitalize() + "."


@cache
def _invented_words() -> tuple[str, ...]:
    pairs = [first + second for first, second in itertools.product(_STEMS, _STEMS) if first != second]
    random.Random("words").shuffle(pairs)
    return (*_JOINING, *_STEMS, *pairs[:12_000])
