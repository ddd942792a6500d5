"""Errors go from one process to another whole: a pool that cannot read one breaks, and loses every other result."""

from __future__ import annotations

import copy
import pickle

import pytest

from arbor import errors
from arbor.errors import ArborError, ColdDocument, LostObject


def made(kind: type[ArborError]) -> ArborError:
    error = kind("it went wrong", "do this") if kind is not ColdDocument else cold()
    error.add_note("while it did that")
    return error


def cold() -> ColdDocument:
    return ColdDocument("it is cold", "bring it", (("a.md", b"oid"),))


@pytest.mark.parametrize(
    "kind",
    [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ArborError)],
)
def test_an_error_is_copied_and_pickled_whole(kind: type[ArborError]) -> None:
    error = made(kind)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert str(again) == error.message
        assert vars(again) == vars(error)
    assert pickle.loads(pickle.dumps(LostObject("m", "h", absent=False))).absent is False
