"""The parts of a commit's or tag's message, as git tells them."""

from __future__ import annotations


def split_message(message: str) -> tuple[str, str]:
    """The subject, which is the first paragraph on one line, and what follows it."""
    paragraph, _, rest = message.strip("\n").partition("\n\n")
    body = rest.strip("\n")
    return " ".join(paragraph.split("\n")), f"{body}\n" if body else ""


def subject_of(message: str) -> str:
    """The first paragraph of a message, on one line."""
    return split_message(message)[0]
