"""Texts for the property tests: made of pieces that mean something to a reader of Markdown, and of any characters."""

from __future__ import annotations

from hypothesis import strategies as st

from arbor.text.extraction import ChunkPolicy

PIECES = [
    "# ", "## ", "### Title", "#", "#tag", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", " ", "    ", "\t", "```",
    "```py\n",
    "~~~", "````", "`", "``", "---", "---\n", "===\n", "=\n", "- ", "* ", "1. ", "> ",
    "| a | b |\n|---|---|\n", "<!--",
    "-->", "<pre>", "</pre>", "<?", "?>", "<![CDATA[", "]]>",
    "[a](b.md)", "[a](b.md#c \"t\")", "![i](p.png)", "[[page]]", "[[page#part|shown]]", "![[embed]]", "[ref]",
    "[ref]: http://x.org/a\n", "<https://x.org>", "https://example.com/a_(b).", "\\[", "\\`", "text ", "Some words. ",
    "中文句子。", "日本語テキスト", "한국어 ", "é", "😀", "x" * 40, "word " * 30, "长" * 50, "[", "]", "(",
    ")", "\ufeff", "\x00",
    "title: x\n", "related: [[y]]\n", "+++\n",
]  # fmt: skip

markdown_texts = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
any_texts = st.one_of(
    markdown_texts,
    st.text(max_size=400),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=40).map("".join),
)
policies = st.builds(
    lambda least, more, most: ChunkPolicy(
        min_bytes=least, target_bytes=least + more, cap_bytes=least + more + most
    ),
    st.integers(16, 64),
    st.integers(0, 128),
    st.integers(0, 256),
)
