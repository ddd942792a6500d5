"""Runs of characters outside ASCII: found by a codec, which must find the very same ones as a pattern would."""

from __future__ import annotations

import re

from hypothesis import example, given

from arbor.text.folding import INNER_CAPITAL, camel_parts, find_camel_parts, fold, run_replacer
from tests.text.strategies import any_texts

RUNS = re.compile(r"[^\x00-\x7f]+")
mark_runs = run_replacer("arbor-test.mark", lambda run: f"<{run}|{len(run)}>")


@given(any_texts)
@example("a\ud800\udc00é\udfff")
@example("中" * 5000 + "x" + "文" * 5000)
def test_every_run_is_replaced_once_and_whole(text: str) -> None:
    assert mark_runs(text) == RUNS.sub(lambda match: f"<{match[0]}|{len(match[0])}>", text)


def test_folding() -> None:
    assert fold("plain ASCII") == "plain ASCII"
    assert fold("Ｆｕｌｌ ŒUVRE Straße") == "full oeUVRE Strasse"
    assert fold("a🎨b") == "a u127912 b"


def test_parts_of_words_with_capitals_inside() -> None:
    whole = ("parseHTTPRequest", "utf8Decoder", "sha256Hash", "IPv6Address", "toString", "HTTPServer")
    for word in whole:
        assert len(camel_parts(word)) > 1, word
        assert "".join(camel_parts(word)) == word
        assert INNER_CAPITAL.search(word)
    assert camel_parts("parseHTTPRequest") == ("parse", "HTTP", "Request")
    assert find_camel_parts("src/GitHub and toString, iPhone_x, ÉtatMajor") == ["Git", "Hub", "to", "String"]


@given(any_texts)
def test_what_is_ruled_out_has_no_parts(text: str) -> None:
    assert INNER_CAPITAL.search(text) or not find_camel_parts(text)
