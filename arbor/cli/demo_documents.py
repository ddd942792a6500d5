"""The documents of `arbor demo ripple`: several people on one topic, one copy, and notes on something else."""

from __future__ import annotations

BEGINNING = {
    "anna/tides.md": """# Why the sea rises twice a day

The moon's gravity pulls the ocean towards it, and on the far side the water bulges as well. The earth turns under
both bulges, so most coasts see two high tides and two low tides each day. When sun and moon pull along one line, at
full moon and at new moon, spring tides are higher than usual.
""",
    "ben/harbour.md": """# Notes from the harbour

Boats must leave with the high tide, which comes about every twelve and a half hours. The harbour master explains it
with lunar gravity: the ocean bulges below the moon and opposite to it, and the coast passes through both bulges.
Spring tides, after full moon and new moon, flood the lower quay.
""",
    "chen/chaoxi.md": """# 潮汐

潮汐主要由月球的引力引起。海水在面向月球和背向月球的两侧隆起，地球自转使海岸每天经过两次，
所以每天有两次涨潮和两次落潮。满月和新月时太阳的引力叠加，形成大潮。
""",
    "ivy/songs.md": """# High tides and the moon

Song in D minor, capo on the third fret, from the album High Tides. Refrain: high tides, oh the moon, high tides.
Practise the bridge slowly, then the chorus with the whole choir before the autumn concert.
""",
    "dora/bread.md": """# Sourdough

A starter of flour and water ferments for a week. Wild yeast and bacteria make the dough rise and give the loaf its
sour taste. Bake it in a hot pot with the lid on for the first half.
""",
}

NEWCOMER = (
    "emil/almanac.md",
    """# Reading a tide almanac

An almanac lists high tides and low tides for each day. It can be computed years ahead because lunar gravity follows
the moon's orbit: the ocean has one bulge towards the moon and one away from it. Full moon and new moon are marked,
since spring tides come with them.
""",
)

THIRD = (
    "fay/ferry.md",
    """# Ferry timetable explained

The ferry sails around high tide, so its times move by fifty minutes each day, as the moon does. Gravity of the moon
raises the ocean in two bulges; low tide leaves the pier dry. Around new moon and full moon the spring tides are
strong and the ferry may be cancelled.
""",
)

COPY = (
    "gus/tides-copy.md",
    """# Why the sea rises twice a day (shared)

The moon's gravity pulls the ocean towards it, and on the far side the water bulges as well. The earth turns under
both bulges, so most coasts see two high tides and two low tides every day. When sun and moon pull along one line, at
full moon and at new moon, spring tides are a lot higher than usual.
""",
)

ISOLATED = (
    "hana/kiln.md",
    """# Firing a kiln

Raise the temperature slowly up to quartz inversion, then faster. Glaze melts at cone six. Let the kiln cool for a
day before opening it, or the pots crack.
""",
)

QUESTION = "high tides, low tides and the moon"
