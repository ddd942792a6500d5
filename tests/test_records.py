"""Records behave as the dataclasses of the standard library do; both are made of the same classes here."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from typing import Any, cast, get_type_hints

import pytest

from arbor import records

Decorator = Callable[..., Callable[[type], Any]]
STANDARD = cast(Decorator, dataclasses.dataclass)
OURS = cast(Decorator, records.dataclass)


def make_note(decorator: Decorator, *, frozen: bool) -> Any:
    """A class with every kind of field that records have; a new one at each call."""

    class Note:
        """A note."""

        title: str
        lines: int
        marks: list[str] = dataclasses.field(default_factory=list)
        seen: int = dataclasses.field(default=0, repr=False)
        place: str = dataclasses.field(default="", compare=False)

        def __post_init__(self) -> None:
            if self.lines < 0:
                raise ValueError("lines")

        @property
        def shown(self) -> str:
            """The title and more."""
            return f"{self.title}!"

    Note.__qualname__ = "Note"
    return decorator(frozen=frozen, slots=True)(Note)


@records.dataclass(frozen=True, slots=True)
class Point:
    """Where something is."""

    x: int
    y: int = 2


@records.dataclass(frozen=True, slots=True)
class Hit:
    """A name with its place."""

    name: str
    where: Point


BOTH_WAYS = pytest.mark.parametrize("frozen", [True, False])


def told(act: Callable[[], object]) -> object:
    """What an action gives or raises, in words that can be compared."""
    try:
        return repr(act())
    except (TypeError, ValueError, AttributeError) as error:
        return type(error), str(error)


@BOTH_WAYS
def test_all_that_a_dataclass_can_do_is_the_same(frozen: bool) -> None:
    def everything(cls: Any) -> list[object]:
        note, same, other = cls("a", 1, place="here"), cls("a", 1, place="there"), cls("b", 1)
        changed = cls("c", 3)
        return [
            note, note.shown, note == same, note == other, note != other, note == "a", cls.__match_args__,
            cls.__slots__, cls.__doc__, cls.__name__, cls.__qualname__, cls.__module__,
            str(inspect.signature(cls)),
            [(each.name, each.type, each.default is dataclasses.MISSING) for each in dataclasses.fields(cls)],
            dataclasses.asdict(note), dataclasses.astuple(note), dataclasses.replace(note, lines=5),
            dataclasses.is_dataclass(cls), repr(cls.__dataclass_params__), copy.copy(note), copy.deepcopy(note),
            note.marks is not other.marks, hasattr(note, "__dict__"), cls("a", lines=2, marks=["x"], seen=4),
            told(cls), told(lambda: cls("a", 1, [], 0, "", 9)), told(lambda: cls("a", 1, no=1)),
            told(lambda: cls("a", -1)), told(lambda: hash(note)), told(lambda: setattr(changed, "title", "d")),
            told(lambda: delattr(changed, "lines")), told(lambda: changed.title), told(lambda: changed < note),
        ]  # fmt: skip

    ours, standard = (
        [repr(value) for value in everything(make_note(decorator, frozen=frozen))]
        for decorator in (OURS, STANDARD)
    )
    assert ours == standard


def test_hashes_are_equal_where_records_are() -> None:
    assert hash(Point(1)) == hash(Point(1, 2))
    assert len({Point(1), Point(1, 2), Point(2)}) == 2


def test_one_field_is_compared_as_of_several() -> None:
    def make(decorator: Decorator) -> Any:
        class Measure:
            """One number."""

            value: float

        return decorator(frozen=True, slots=True)(Measure)

    unknown, ours, standard = float("nan"), make(OURS), make(STANDARD)
    assert ours(unknown) == ours(unknown)
    if sys.version_info < (3, 13):  # from there on it compares field by field, and no tuples
        assert standard(unknown) == standard(unknown)
    for cls in (ours, standard):
        assert cls(1.0) == cls(1.0) != cls(2.0)


def test_a_record_travels_between_processes() -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(Point(3, 4), protocol)) == Point(3, 4)


def test_a_record_can_be_matched_and_can_hold_itself() -> None:
    match Point(1, 5):
        case Point(1, y):
            assert y == 5
        case _:
            pytest.fail("not matched")
    note = make_note(OURS, frozen=False)("a", 1)
    note.marks.append(note)
    assert repr(note) == "Note(title='a', lines=1, marks=[...], place='')"


def test_methods_that_a_class_brings_stay() -> None:
    class Odd:
        """Has its own ways."""

        value: int

        def __repr__(self) -> str:
            return "odd"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    made = OURS(frozen=True, slots=True)(Odd)
    assert (repr(made(1)), made(1) == 5, hash(made(1))) == ("odd", True, 7)


def test_help_shows_the_arguments_before_and_after_the_first_use() -> None:
    cls = make_note(OURS, frozen=True)
    before = str(inspect.signature(cls))
    cls("a", 1)
    assert before == str(inspect.signature(cls)) == str(inspect.signature(make_note(STANDARD, frozen=True)))


def test_a_class_made_from_a_record_keeps_its_own_arguments() -> None:
    def asked(decorator: Decorator) -> list[object]:
        base = make_note(decorator, frozen=True)

        class Short(base):  # type: ignore[misc]
            """A note of its title alone."""

            def __init__(self, title: str) -> None:
                super().__init__(title, 1)

        class Plain(base):  # type: ignore[misc]
            """As the note."""

        more = dataclasses.make_dataclass(
            "More", [("extra", "int", 3)], bases=(base,), frozen=True, slots=True
        )
        Short.__qualname__, Plain.__qualname__ = "Short", "Plain"
        signatures = [str(inspect.signature(cls)) for cls in (Short, Plain, more, base)]
        return [signatures, repr(Short("a")), repr(Plain("a", 1)), repr(more("a", 1)), repr(base("a", 1))]

    assert asked(OURS) == asked(STANDARD)


def test_the_annotations_of_an_init_mean_what_they_mean_in_its_module() -> None:
    Hit("a", Point(1))  # which writes it
    assert get_type_hints(Hit.__init__) == {"name": str, "where": Point, "return": type(None)}


def test_a_class_with_a_base_or_without_slots_is_refused() -> None:
    class Child(Point):
        """Has a base."""

    with pytest.raises(TypeError, match="has a base"):
        OURS(frozen=True, slots=True)(Child)
    with pytest.raises(TypeError, match="slots"):
        OURS(frozen=True)(Child)
