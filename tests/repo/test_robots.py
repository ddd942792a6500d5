"""robots.txt as RFC 9309 reads it."""

from __future__ import annotations

import pytest

from arbor.repo.importing.robots import parse_robots

RFC_5_1 = """\
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""


@pytest.mark.parametrize(
    ("text", "product", "allowed", "refused"),
    [
        (RFC_5_1, "other", ["/", "/publications/a", "/a.gif?x"], ["/a.gif", "/example/page.html"]),
        (RFC_5_1, "FooBot", ["/example/page.html", "/example/allowed.gif"], ["/", "/publications/"]),
        (RFC_5_1, "bazbot", ["/a.gif", "/example/"], ["/example/page.html"]),
        (RFC_5_1, "quxbot", ["/a.gif", "/example/page.html"], []),
        ("User-agent: *\nAllow: /\nDisallow: /private", "x", ["/", "/public"], ["/private/a"]),
        ("User-agent: *\nDisallow: /\nAllow: /public", "x", ["/public/a"], ["/", "/other"]),
        ("User-agent: *\nDisallow: /page\nAllow: /page", "x", ["/page"], []),
        ("User-agent: *\nDisallow: /*.pdf$", "x", ["/a.pdf?v=1", "/pdf"], ["/a.pdf", "/b/c.pdf"]),
        ("User-agent: *\nDisallow: /a*b*c", "x", ["/acb", "/xabc"], ["/abc", "/a1b2c3"]),
        ("User-agent: *\nDisallow: /a*a$", "x", ["/a", "/ab"], ["/aa", "/aba"]),
        ("User-agent: *\nDisallow: /a$", "x", ["/ab"], ["/a"]),
        ("\ufeffUser-agent: *\r\nDisallow: /", "x", [], ["/"]),
        ("user-agent : x/2.0 # us\ndisallow : /a # why\n\nUser-agent: x\nDisallow: /b", "x", ["/c"], ["/a", "/b"]),
        ("User-agent: x\nSitemap: /s\nUser-agent: y\nDisallow: /a", "y", ["/b"], ["/a"]),
        ("User-agent: y\nDisallow: /a\nUser-agent: x\nDisallow: /b", "x", ["/a"], ["/b"]),
        ("User-agent: *\nDisallow: /%7Ea/%2f\nDisallow: /\u00e9", "x", ["/~a//"], ["/~a/%2F", "/%7ea/%2f", "/%C3%A9"]),
        ("User-agent: *\nDisallow:\n", "x", ["/"], []),
        ("User-agent: *\nDisallow: /a?b=", "x", ["/a", "/a?c"], ["/a?b=1"]),
        ("User-agent: x\nDisallow:\n\nUser-agent: *\nDisallow: /", "x", ["/"], []),
        ("<html>Disallow: /</html>", "x", ["/"], []),
        ("", "x", ["/"], []),
    ],
)  # fmt: skip
def test_what_may_be_fetched(text: str, product: str, allowed: list[str], refused: list[str]) -> None:
    robots = parse_robots(text, product)
    assert [target for target in allowed if not robots.allows(target)] == []
    assert [target for target in refused if robots.allows(target)] == []


def test_a_pattern_of_stars_takes_no_time() -> None:
    robots = parse_robots("User-agent: *\nDisallow: /" + "*a" * 2000 + "*b$", "x")
    assert robots.allows("/" + "a" * 20_000)
