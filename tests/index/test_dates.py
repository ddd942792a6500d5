from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arbor
from arbor.index.dates import find_date


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"date": "1970-01-02"}, 86_400),
        ({"date": "1970-01-01", "updated": "1970-01-03"}, 2 * 86_400),
        ({"updated": "soon", "created": "1970-01-02T01:00:00+01:00"}, 86_400),
        ({"date": 1970}, 0),
        ({"date": 19700102}, 86_400),
        ({"date": 1712010512345}, None),
        ({"date": "1712010512345"}, None),
        ({"date": True}, None),
        ({"date": 12}, None),
        ({"date": ["1970-01-02"]}, None),
        ({}, None),
    ],
)
def test_dates(fields: dict[str, object], seconds: int | None) -> None:
    assert find_date(fields) == seconds


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024", (2024, 1, 1)),
        ("2024-03", (2024, 3, 1)),
        ("2024/3/4", (2024, 3, 4)),
        ("2024.03.04", (2024, 3, 4)),
        ("2024\u5e743\u67084\u65e5", (2024, 3, 4)),
        ("2024\u5e743\u6708", (2024, 3, 1)),
        ("2024\ub144 3\uc6d4 4\uc77c", (2024, 3, 4)),
        ("2024-03/04", None),
        ("03/04/2024", None),
        ("2024-13", None),
        ("0000", None),
        ("2024-W07-1", (2024, 2, 12)),
    ],
)
def test_dates_as_people_write_them(text: str, day: tuple[int, int, int] | None) -> None:
    assert find_date({"date": text}) == (day and datetime(*day, tzinfo=UTC).timestamp())


@given(st.text() | st.integers())
def test_anything_is_a_date_or_none(value: object) -> None:
    assert isinstance(find_date({"date": value}), int | None)


def test_a_note_of_a_month_is_not_of_today(tmp_path: Path) -> None:
    kb = arbor.init(tmp_path / "kb")
    kb.add_bytes("month.md", b"---\ndate: 2024-03\n---\ntide\n")
    kb.add_bytes("year.md", b"---\npublished: 2021\n---\ntide\n")
    kb.add_bytes("undated.md", b"tide\n")
    kb.commit("all")
    assert {hit.path for hit in kb.search("tide since:today").hits} == {"undated.md"}
    assert {hit.path for hit in kb.search("tide since:2024").hits} == {"undated.md", "month.md"}
    assert {hit.path for hit in kb.search("tide until:2024-03").hits} == {"month.md", "year.md"}
    assert {hit.path for hit in kb.search("tide until:today").hits} == {"month.md", "year.md", "undated.md"}
    kb.close()


def test_what_names_no_date_is_dated_by_its_last_change_to_the_second(tmp_path: Path) -> None:
    kb = arbor.init(tmp_path / "kb")
    who = kb.repo.who()._replace(seconds=1_700_000_000)
    with pytest.MonkeyPatch.context() as patch:
        for number, names in enumerate([("a.md", "b.md"), ("b.md",)]):
            patch.setattr(kb.repo, "who", lambda *_, at=who.seconds + number: who._replace(seconds=at))
            for name in names:
                kb.add_bytes(name, f"tide {name} {number}\n".encode(), overwrite=True)
            kb.commit("more")

    def found(query: str) -> set[str]:
        return {hit.path for hit in kb.search(f"tide {query}").hits}

    first, second = (datetime.fromtimestamp(who.seconds + number, UTC).isoformat() for number in (0, 1))
    assert found(f"until:{first}") == {"a.md"}
    assert found(f"since:{second}") == {"b.md"}
    assert found(f"until:{second}") == found(f"since:{first}") == {"a.md", "b.md"}
    assert found(f"since:{second} until:{first}") == set()
    kb.close()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system has one time zone")
def test_a_date_without_a_zone_is_the_same_moment_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert find_date({"date": "1970-01-02"}) == 86_400
    finally:
        monkeypatch.undo()
        time.tzset()
