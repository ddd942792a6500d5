"""Every error arbor raises on purpose: a message, a hint that can be typed, and an exit code.

The exit codes are part of the interface: 1 the answer is no, 2 usage, 3 not or partly done, 10 no knowledge base here,
11 locked, 12 integrity, 13 conflict, 14 remote, 70 a bug in arbor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


def first_of(names: Sequence[str], most: int) -> str:
    """The first of some names for a message, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def printable(text: str, instead: str = "") -> str:
    """A text of somebody else's for a message: without control characters, or with something in place of each."""
    return "".join(char if char.isprintable() else instead for char in text)


class ArborError(Exception):
    """Base of every deliberate error.

    Args:
        message: One sentence without a full stop, in the words of the user.
        hint: What can be typed or done next; empty when there is nothing useful to say.
        path: The KB path that stands in the hint as a word for a shell, or in the message in quotes, "" for none: the
            command line writes it as it is typed in the folder that one is in.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, hint: str = "", path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        """How it is copied and pickled: made of what it holds, since not all kinds are made of a message alone."""
        kind = type(self)
        return kind.__new__, (kind, *self.args), self.__dict__


class AnswerNo(ArborError):
    """The question was understood and the answer is no."""

    exit_code = 1


class UsageError(ArborError):
    """The call or its arguments are wrong: unknown revision, bad query, no such path."""

    exit_code = 2


class WrongType(UsageError, TypeError):
    """A value of the wrong type was given to the library."""


class PartlyDone(ArborError):
    """Some of the work was done and some was not; the message says which."""

    exit_code = 3


class StorageError(ArborError):
    """The system refused to write or read: a full disk, no permission, a read-only folder. Nothing was lost."""

    exit_code = 3


class NoKnowledgeBase(ArborError):
    """There is no `.arbor` folder here or above, or it is of a format this version cannot read."""

    exit_code = 10


class Locked(ArborError):
    """Another writer holds the lock."""

    exit_code = 11


class IntegrityError(ArborError):
    """Bytes do not match their hash, or a stored structure breaks its own rules."""

    exit_code = 12


class LostObject(IntegrityError):
    """An object that should be stored here is damaged or, where `absent` says so, missing."""

    def __init__(self, message: str, hint: str, *, absent: bool = True) -> None:
        super().__init__(message, hint)
        self.absent = absent


class ConflictError(ArborError):
    """The change would overwrite other work: a merge conflict, a moved ref, local changes in the way."""

    exit_code = 13


class RemoteError(ArborError):
    """The other side could not be reached, refused, or broke the protocol."""

    exit_code = 14


class ColdDocument(ArborError):
    """The passages asked for are cold: known by their hashes, not stored here.

    Args:
        message, hint: As in every error.
        documents: (path, oid) of all the documents that are needed, where they are known: with these here, the same
            call succeeds. The hint names the first of them.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str, documents: tuple[tuple[str, bytes], ...] = ()) -> None:
        super().__init__(message, hint, documents[0][0] if documents else "")
        self.documents = documents
