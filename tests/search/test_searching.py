from __future__ import annotations

import contextlib
import threading
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbor.errors import UsageError
from arbor.index.access import bring_up_to_date
from arbor.index.reader import IndexMoved
from arbor.search.options import MAX_LIMIT, SearchOptions
from arbor.search.plan import Hooks
from arbor.search.query import parse_query
from arbor.search.results import AuditMode
from arbor.search.searching import Searcher
from arbor.text.reading import extract
from tests.search.conftest import Library, Shelve

NOW = datetime(2024, 6, 15, tzinfo=UTC).timestamp()
FILES: dict[str, bytes | str] = {
    "notes/git.md": "---\ntags: [vcs]\ndate: 2024-06-01\n---\n# Git for knowledge\n\nA commit holds a tree of "
    "documents.\n\n## Proofs\n\nEvery passage can be proven.\n",
    "notes/old draft.md": "---\nupdated: 2020-02-02\n---\n# Draft about commits\n\nThis draft is about a commit and "
    "its tree.\n",
    "notes/c++.md": "# Languages\n\nC++ and C# and node.js; see foo_bar in v1.2.3 by user@example.com. Don't panic.\n",
    "知识/版本.md": "# 知识库的版本\n\n每次提交都把文档放进账本，任何段落都可以证明。用 merkle 树。\n",
    "日本/京都.md": "# 京都の旅\n\n京都へ行きました。東京都ではありません。\n",
    "한국/서울.md": "# 서울 여행\n\n대한민국의 수도는 서울입니다.\n",
    "deep/a/b/c/leaf.txt": "commit early, commit often",
    "names/résumé café.md": "# Résumé\n\nA naïve café owner.\n",
    "code/tool.py": "def commit_tree(parents):\n    return parents\n",
}  # fmt: skip


@pytest.fixture
def library(shelve: Shelve) -> Library:
    return shelve(FILES)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("提交", {"知识/版本.md"}),
        ("版本", {"知识/版本.md"}),
        ("merkle", {"知识/版本.md"}),
        ('"京都"', {"日本/京都.md"}),
        ("행정 수도", {"한국/서울.md"}),
        ("C++", {"notes/c++.md"}),
        ("c#", {"notes/c++.md"}),
        ("node.js", {"notes/c++.md"}),
        ("foo_bar", {"notes/c++.md"}),
        ("v1.2.3", {"notes/c++.md"}),
        ("user@example.com", {"notes/c++.md"}),
        ("don't", {"notes/c++.md"}),
        ("resume", {"names/résumé café.md"}),
        ("CAFÉ", {"names/résumé café.md"}),
        ("passages", {"notes/git.md"}),
        ("prov*", {"notes/git.md"}),
        ("passag*", {"notes/git.md"}),
        ("knowledg*", {"notes/git.md"}),
        ("languag*", {"notes/c++.md"}),
        ("languagex*", set()),
        ('"commit early"', {"deep/a/b/c/leaf.txt"}),
        ('"often commit"', set()),
        ('"commit ear*"', {"deep/a/b/c/leaf.txt"}),
        ('"commit earlx*"', set()),
        ("“commit early”", {"deep/a/b/c/leaf.txt"}),
        ('commit -"a tre*"', {"notes/old draft.md", "deep/a/b/c/leaf.txt", "code/tool.py"}),
        ('commit title:"git for know*"', {"notes/git.md"}),
        ('"passage can be prove*"', {"notes/git.md"}),
        ("commit -draft", {"notes/git.md", "deep/a/b/c/leaf.txt", "code/tool.py"}),
        ('commit -"a tree"', {"notes/old draft.md", "deep/a/b/c/leaf.txt", "code/tool.py"}),
        ("commit path:notes/", {"notes/git.md", "notes/old draft.md"}),
        ("path:notes/ -draft", {"notes/git.md", "notes/c++.md"}),
        ("path:notes/ -title:git -title:languages", {"notes/old draft.md"}),
        ('commit path:"notes/old d"', {"notes/old draft.md"}),
        ("commit path:*.txt", {"deep/a/b/c/leaf.txt"}),
        ("commit path:b/*/leaf.txt", {"deep/a/b/c/leaf.txt"}),
        ("commit path:[n]otes/git.md", {"notes/git.md"}),
        ("commit -path:notes/ -path:code/", {"deep/a/b/c/leaf.txt"}),
        ("commit path:notes/git path:deep", {"notes/git.md", "deep/a/b/c/leaf.txt"}),
        ("commit title:knowledge", {"notes/git.md"}),
        ("commit -title:draft -path:code/", {"notes/git.md", "deep/a/b/c/leaf.txt"}),
        ("commit kind:core", set()),
        ("kind:surface path:한국/", {"한국/서울.md"}),
        ("lang:zh", {"知识/版本.md"}),
        ("lang:ja", {"日本/京都.md"}),
        ("lang:ko", {"한국/서울.md"}),
        ("commit since:2024", {"notes/git.md"}),
        ("commit since:30d", {"notes/git.md"}),
        ("since:2019 path:notes/", {"notes/git.md", "notes/old draft.md"}),
        ("commit since:2024-06-01 until:2024-06-01", {"notes/git.md"}),
        ("commit until:2024-06-01T00:00:00", {"notes/git.md", "notes/old draft.md"}),
        ("commit until:2024-05-31T23:59:59", {"notes/old draft.md"}),
        ("until:2024-05 path:notes/", {"notes/old draft.md"}),
        ("nothing-like-this", set()),
        ("url:commit", set()),
    ],
)
def test_queries(library: Library, query: str, expected: set[str]) -> None:
    assert set(library.paths(query, now=NOW)) == expected


def test_what_is_joined_to_a_name_with_signs_is_one_phrase(shelve: Shelve) -> None:
    library = shelve(
        {"17.md": "On the 17th day: 17.", "c.md": "C++ only", "c17.md": "In C++17 it is; C++-style."}
    )
    for query in ("c++17", '"C++17"', "C++-style", "c++17*"):
        assert library.paths(query) == ["c17.md"], query
    assert set(library.paths("c++")) == set(library.paths("c++*")) == {"c.md", "c17.md"}


def test_a_pattern_may_also_be_the_name_itself(shelve: Shelve) -> None:
    library = shelve({"f/[draft] tree.md": "tree 1", "f/z tree.md": "tree 2", "f/what?/a*b.md": "tree 3"})
    assert library.paths('tree path:"f/[draft] tree.md"') == ["f/[draft] tree.md"]
    assert library.paths('tree path:"f/[draft]"') == ["f/[draft] tree.md"]
    assert library.paths("tree path:f/what?/a*b.md") == ["f/what?/a*b.md"]
    assert set(library.paths('tree -path:"f/[draft] tree.md"')) == {"f/z tree.md", "f/what?/a*b.md"}
    assert set(library.paths('tree path:"f/[z] tree.md"')) == {"f/z tree.md"}


def test_a_word_may_be_in_the_title_path_or_heading(library: Library) -> None:
    assert library.paths("languages") == ["notes/c++.md"]
    assert library.paths("leaf") == ["deep/a/b/c/leaf.txt"]
    assert library.paths("tool") == ["code/tool.py"]
    assert library.search("proofs").hits[0].path == "notes/git.md"


def test_a_heading_above_a_passage_finds_it(shelve: Shelve) -> None:
    text = "# Book\n\n## Whales\n\n" + "\n\n".join(
        "Some text about the sea and more. " * 20 for _ in range(6)
    )
    library = shelve({"book.md": text, **{f"{n}.md": f"# Other {n}\n\nfiller" for n in range(9)}})
    hit = library.search("whales").hits[0]
    assert (hit.path, hit.heading) == ("book.md", ("Book", "Whales"))
    assert hit.passages, "every passage under the heading matches by it"
    assert {passage.audit for passage in hit.passages} == {AuditMode.HYBRID}


def test_a_passage_with_the_word_stands_before_a_shorter_one_without(shelve: Shelve) -> None:
    filler = "Much is said here about other things, at some length and with many words. " * 40
    parts = [f"## Part {number}\n\n{filler}\n\n" for number in range(6)]
    parts[4] = f"## Part 4\n\nAt last something of the zeppelin itself. {filler}\n\n"
    library = shelve({"z.md": "# Zeppelin\n\n" + "".join(parts) + "## End\n\nShort.\n", "a.md": "# A\n"})
    [hit] = library.search("zeppelin path:z.md").hits
    assert hit.audit is AuditMode.STRICT
    assert "zeppelin" in hit.text.lower()


def test_a_hit_names_the_line_of_the_match_that_it_shows(shelve: Shelve) -> None:
    lines = [f"Line {number} is about nothing in particular, as the others are." for number in range(1, 61)]
    lines[46] = "Here the zeppelin lands; 这里有一个齐柏林飞艇。"
    files = {"z.md": "# Z\r\n\r\n" + "\n".join(lines) + "\n", "u.txt": "\n" * 9 + "zeppelin"}
    library = shelve(files)
    for query in ("zeppelin", "齐柏林"):
        for hit in library.search(query).hits:
            assert hit.line is not None
            assert query in files[hit.path].split("\n")[hit.line - 1], hit.path


@pytest.mark.parametrize("query", ["表に挿入する", "「表に挿入する」", "表に挿入する。"])
def test_a_run_typed_as_it_stands_in_a_text_comes_before_its_pieces(shelve: Shelve, query: str) -> None:
    pieces = "表に、に挿、挿入、入す、する、"
    files: dict[str, bytes | str] = {
        f"{n}.md": f"これは{n}番目の別の話であって、どれも同じように長い。" for n in range(9)
    }
    library = shelve({**files, "a.md": pieces, "b.md": "図を作り、その後で表に挿入する。説明は長い。"})
    assert library.paths(query)[:2] == ["b.md", "a.md"]
    hit = library.search(query, mode=AuditMode.STRICT).hits[0]
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["表に挿入する"]


def test_a_whole_run_does_not_keep_its_common_pieces_out(shelve: Shelve) -> None:
    library = shelve({"a.md": "所有，有权", "b.md": "所有权", "c.md": "有权所有"})
    assert set(library.paths("所有权")) == {"a.md", "b.md", "c.md"}


def test_conditions_alone_list_by_path(library: Library) -> None:
    found = library.search("path:notes/", limit=2)
    assert [hit.path for hit in found.hits] == ["notes/c++.md", "notes/git.md"]
    assert {hit.score for hit in found.hits} == {0.0}
    assert {hit.audit for hit in found.hits} == {AuditMode.HYBRID}


def test_a_hit_has_everything_to_cite_it(library: Library) -> None:
    hit = library.search('"passage can be proven"', mode=AuditMode.STRICT).hits[0]
    assert (hit.rank, hit.path, hit.title, hit.kind) == (1, "notes/git.md", "Git for knowledge", "surface")
    assert hit.chunk is not None
    lines = str(FILES["notes/git.md"]).split("\n")
    assert any("proven" in line for line in lines[hit.chunk.start_line - 1 : hit.chunk.end_line])
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["passage can be proven"]
    assert hit.scores.lexical is not None
    assert hit.scores.lexical.normalised == 1.0
    assert hit.scores.dense is hit.scores.graph is hit.scores.consensus is None


def test_chinese_is_marked_in_the_snippet(library: Library) -> None:
    hit = library.search("可以证明").hits[0]
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["可以证明"]


def test_the_same_question_has_the_same_trace(library: Library) -> None:
    one, two = library.search("commit"), library.search("commit")
    assert one == two
    assert one.trace != library.search("commit", mode=AuditMode.VISUAL).trace
    assert len(one.trace) == 16


def test_labels_come_from_a_hook(library: Library) -> None:
    novel = {library.snapshot.get("notes/git.md"), library.snapshot.get("deep/a/b/c/leaf.txt")}
    hooks = Hooks(
        documents_labelled=lambda label: novel if label.upper() == "NOVEL" else set(),
        label_of=lambda oid: "NOVEL" if oid in novel else None,
        is_contested=lambda oid: oid == library.snapshot.get("notes/git.md"),
    )
    found = library.search("commit label:novel", hooks=hooks)
    assert [hit.path for hit in found.hits if hit.contested] == ["notes/git.md"]
    assert {hit.path: hit.label for hit in found.hits} == {
        "notes/git.md": "NOVEL",
        "deep/a/b/c/leaf.txt": "NOVEL",
    }
    assert "notes/git.md" not in library.paths("commit -label:NOVEL", hooks=hooks)
    assert library.paths("commit label:CORROBORATED", hooks=hooks) == []
    with pytest.raises(UsageError, match="labels are not known"):
        library.search("commit label:NOVEL")


def test_a_hook_dates_documents_that_name_no_date(library: Library) -> None:
    asked = []

    def changed(moment: int) -> set[str]:
        asked.append(moment)
        return {"code/tool.py", "notes/old draft.md"}

    hooks = Hooks(paths_changed_since=changed)
    found = library.paths("commit since:2024-01-01", hooks=hooks)
    assert sorted(found) == ["code/tool.py", "notes/git.md"], "a date in the text goes before the hook"
    assert asked == [int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())]


def test_raw_queries_are_opt_in(library: Library) -> None:
    assert library.paths("path : tool", raw=True) == ["code/tool.py"]
    assert library.paths("commit NOT draft", raw=True, limit=50)
    for wrong in ('"', "foo-bar", "AND", "nocolumn : x", "NEAR(", "^", ")"):
        with pytest.raises(UsageError, match="not a full-text expression") as caught:
            library.search(wrong, raw=True)
        assert "--raw" in caught.value.hint


@pytest.mark.parametrize("limit", [0, -1, MAX_LIMIT + 1])
def test_limits_have_limits(limit: int) -> None:
    with pytest.raises(UsageError, match="number of results"):
        SearchOptions(limit=limit)
    with pytest.raises(UsageError, match="number of passages"):
        SearchOptions(passages=0)


def test_a_parsed_query_and_a_single_search(library: Library) -> None:
    parsed = parse_query("commit", NOW)
    assert Searcher().search(library.snapshot, library.index, parsed).hits == library.search("commit").hits


def test_an_index_of_another_version_is_refused(library: Library) -> None:
    other = library.kb.commit({"x": "commit"})
    with pytest.raises(IndexMoved):
        Searcher().search(other, library.index, "commit")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=40)
    | st.text('ab "-*:()^+{}[]\\/\x00知path:kind:title:commit', max_size=40)
    | st.lists(st.sampled_from(list("\"'*^+-(){}[]:;,.~NEAR AND OR NOT\x00\ud7ff知")), max_size=20).map(
        "".join
    )
)
def test_no_text_breaks_a_search(library: Library, text: str) -> None:
    for mode in AuditMode:
        with contextlib.suppress(UsageError):
            library.search(text, mode=mode, now=NOW)


@pytest.mark.parametrize(
    "query",
    ["foo-bar", "can't", 'a"b', "(x", "x)", "NEAR(a b)", "a AND", "OR", "NOT x", "a^2", "{title}:x", "col:x",
     "*", "-", "+x", "x*y", "a:b:c", "'", "\\", "c:\\dir", "#tag", "@me", "50%", "a,b", "[[wiki link]]"],
)  # fmt: skip
def test_ordinary_strings_are_plain_text(library: Library, query: str) -> None:
    if query in ("*", "-", "'", "\\"):
        with pytest.raises(UsageError, match="letter or digit"):
            library.search(query)
    else:
        library.search(query)


def test_several_threads_share_one_searcher(library: Library) -> None:
    queries = ["commit", "提交", "c++", "path:notes/", '"京都"', "prov*"]
    expected = {query: library.search(query) for query in queries}
    wrong: list[object] = []

    def ask() -> None:
        for _ in range(20):
            wrong.extend(query for query in queries if library.search(query) != expected[query])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_deleting_the_cache_changes_nothing(library: Library) -> None:
    before = [
        library.search(query, now=NOW) for query in ("commit", "提交", "path:notes/", "since:2020 commit")
    ]
    library.index.close()
    for fs_path in library.kb.cache.iterdir():
        fs_path.unlink()
    library.index = bring_up_to_date(library.kb.cache, library.snapshot)
    library.searcher = Searcher()
    assert [
        library.search(query, now=NOW) for query in ("commit", "提交", "path:notes/", "since:2020 commit")
    ] == before


def test_a_language_that_no_document_is_in_is_told(library: Library) -> None:
    assert library.search("commit lang:english").notes == (
        "no document is known to be in 'english'; languages are codes, such as lang:en or lang:zh",
    )
    assert library.search("nowhere lang:zh").notes == ()
    assert library.search("nowhere -lang:english").notes == ()


class TestWorkTree:
    def ask(
        self, library: Library, query: str, files: dict[str, str | None], **options: object
    ) -> list[tuple[str, bytes]]:
        read = {path: None if text is None else extract(text.encode(), path) for path, text in files.items()}
        options.setdefault("mode", AuditMode.VISUAL)
        found = library.searcher.search(
            library.snapshot,
            library.index,
            query,
            SearchOptions(now=NOW, **options),
            read,  # type: ignore[arg-type]
        )
        return [(hit.path, hit.document) for hit in found.hits]

    def test_new_edited_and_removed_files_show(self, library: Library) -> None:
        files = {
            "new.md": "# New\n\na commit of unicorns",
            "notes/git.md": "# Git\n\nunicorns only",
            "code/tool.py": None,
        }
        assert self.ask(library, "unicorns", files) == [("notes/git.md", b""), ("new.md", b"")] or self.ask(
            library, "unicorns", files
        ) == [("new.md", b""), ("notes/git.md", b"")]
        commits = dict(self.ask(library, "commit", files))
        assert commits.keys() == {"new.md", "deep/a/b/c/leaf.txt", "notes/old draft.md"}
        assert commits["new.md"] == b""

    def test_a_hit_of_the_work_tree_makes_no_claim(self, library: Library) -> None:
        read = {"new.md": extract(b"# New\n\ntwo lines\nof unicorns\n", "new.md")}
        found = library.searcher.search(
            library.snapshot, library.index, "unicorns", SearchOptions(AuditMode.VISUAL), read
        )
        hit = found.hits[0]
        assert hit.audit is AuditMode.VISUAL
        assert hit.reasons == ("from the work tree, not committed",)
        assert hit.chunk is not None
        assert (hit.chunk.start_line, hit.chunk.end_line, hit.chunk.start_byte) == (1, 4, 0)
        assert [hit.snippet[start:end] for start, end in hit.highlights] == ["unicorns"]

    def test_a_telling_word_that_only_a_file_holds_leaves_the_common_ones_out(self, shelve: Shelve) -> None:
        library = shelve({f"{number}.txt": "the tide is common" for number in range(5)})
        read = {"new.md": extract(b"a zebra is not common", "new.md")}
        for query, paths in (
            ("common zebra", ["new.md"]),
            ("the zebra", ["new.md"]),
            ("common", ["0.txt", "1.txt", "2.txt", "3.txt", "4.txt", "new.md"]),
        ):
            found = library.searcher.search(
                library.snapshot, library.index, query, SearchOptions(AuditMode.VISUAL), read
            )
            assert sorted(path for hit in found.hits for path in hit.paths) == paths, query
            assert found.notes == (), query
        read = {"new.md": extract(b"the moon", "new.md")}
        found = library.searcher.search(
            library.snapshot, library.index, "the zebra", SearchOptions(AuditMode.VISUAL), read
        )
        assert sum(len(hit.paths) for hit in found.hits) == 6
        assert any("common words were used" in note for note in found.notes)

    def test_a_telling_word_that_was_edited_away_gives_way_to_the_common_ones(self, shelve: Shelve) -> None:
        library = shelve(
            {"z.md": "a zebra", **{f"{number}.txt": f"the tide {number} is common" for number in range(5)}}
        )
        read = {"z.md": extract(b"a horse", "z.md")}
        for query in ("common zebra", "tide is the zebra"):
            found = library.searcher.search(
                library.snapshot, library.index, query, SearchOptions(AuditMode.VISUAL), read
            )
            assert sum(len(hit.paths) for hit in found.hits) == 5, query
            assert all(hit.highlights for hit in found.hits), query
            assert [note for note in found.notes if "common words were used" in note] == list(found.notes)
            assert len(found.notes) == 1
        assert self.ask(library, "zebra", {"z.md": "a horse"}) == []

    def test_the_passage_with_the_word_comes_before_those_under_it_as_a_heading(self, shelve: Shelve) -> None:
        text = "# Bestiary\n\n" + "Introduction. " * 10 + "\n\n## Unicorns\n\n" + "Many words. " * 100
        text += "".join(f"### Part {number}\n\n" + "other things said. " * 60 for number in range(4))
        library = shelve({"a.md": text, "b.md": "nothing"})
        read = {"a.md": extract(text.encode(), "a.md")}
        lines = {
            library.search("unicorns", mode=mode).hits[0].line
            for mode in (AuditMode.STRICT, AuditMode.HYBRID, AuditMode.VISUAL)
        }
        found = library.searcher.search(
            library.snapshot, library.index, "unicorns", SearchOptions(AuditMode.VISUAL, passages=2), read
        )
        assert lines | {found.hits[0].line} == {text[: text.index("## Uni")].count("\n") + 1}
        assert len(found.hits[0].passages) == 1

    def test_other_modes_do_not_look_at_it(self, library: Library) -> None:
        for mode in (AuditMode.STRICT, AuditMode.HYBRID):
            assert self.ask(library, "unicorns", {"new.md": "unicorns"}, mode=mode) == []

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("path:new", True), ("unicorns path:notes/", False), ("unicorns -commit", False), ('"of unicorns"', True),
            ("unicorns title:new", True), ("unicorns lang:ko", False), ("unicorns since:1d", True), ("unic*", True),
            ("知识库", True), ("the of", True), ("unicorns kind:surface", True), ("unicorns kind:core", False),
        ],
    )  # fmt: skip
    def test_conditions_hold_for_files_too(self, library: Library, query: str, found: bool) -> None:
        files: dict[str, str | None] = {"new.md": "# New\n\na commit of unicorns in the 知识库"}
        assert ("new.md" in dict(self.ask(library, query, files))) is found

    def test_files_are_scored_like_committed_documents(self, shelve: Shelve) -> None:
        base = {f"{n}.md": f"# Note {n}\n\ncommit {'tree ' * (n % 4)}word{n} node.js" for n in range(40)}
        committed = shelve({**base, "extra.md": "# Extra\n\nA tree, a commit tree of node.js\n"})
        beside = shelve(base)
        query = "commit tree node.js extr*"
        expected = {hit.path: hit.score for hit in committed.search(query, limit=50).hits}
        read = {"extra.md": extract(b"# Extra\n\nA tree, a commit tree of node.js\n", "extra.md")}
        found = beside.searcher.search(
            beside.snapshot, beside.index, query, SearchOptions(AuditMode.VISUAL, limit=50), read
        )
        scores = {hit.path: hit.score for hit in found.hits}
        assert scores["extra.md"] == pytest.approx(expected["extra.md"], rel=0.02)

    def test_copies_are_one_hit_with_all_their_paths(self, library: Library) -> None:
        data = b"# New\n\nunicorns\n"
        read = {path: extract(data, path) for path in ("b.md", "a/b.md", "c.txt")}
        read["z copy.md"] = extract(str(FILES["notes/git.md"]).encode(), "z copy.md")

        def ask(query: str, limit: int = 10) -> list[tuple[str, ...]]:
            options = SearchOptions(AuditMode.VISUAL, limit=limit, now=NOW)
            found = library.searcher.search(library.snapshot, library.index, query, options, read)
            assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
            return [hit.paths for hit in found.hits]

        assert sorted(ask("unicorns")) == [("a/b.md", "b.md"), ("c.txt",)]
        assert ask("unicorns path:b") == [("b.md", "a/b.md")]
        assert ("notes/git.md", "z copy.md") in ask("git")
        assert ask("git path:z") == [("z copy.md",)]
        whole = ask("git")
        for limit in range(1, len(whole) + 1):
            assert ask("git", limit) == whole[:limit], "copies of the last hit are looked for too"

    def test_raw_expressions_reach_files(self, library: Library) -> None:
        assert self.ask(library, "body : unicorns", {"new.md": "unicorns"}, raw=True) == [("new.md", b"")]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("apricot", ["a/keep.md", "keep.md", "old/keep.md"]),
        ("apricot -path:old/", ["a/keep.md", "keep.md", "old/keep.md"]),
        ("apricot -path:a/", ["keep.md", "old/keep.md", "a/keep.md"]),
        ("apricot -path:a/ -path:keep", ["old/keep.md", "a/keep.md", "keep.md"]),
        ("apricot path:old/", ["old/keep.md", "a/keep.md", "keep.md"]),
        ("apricot path:o*/keep.md", ["old/keep.md", "a/keep.md", "keep.md"]),
        ("apricot -path:?/*", ["keep.md", "old/keep.md", "a/keep.md"]),
        ("apricot path:old/ path:keep", ["keep.md", "old/keep.md", "a/keep.md"]),
        ("path:old/ -path:old/k", []),
        ("apricot -path:old/ -path:a/ -path:keep", []),
        ("apricot -path:*keep.md", []),
        ("apricot path:new/", []),
    ],
)
def test_a_document_is_left_out_when_all_of_its_paths_are(
    shelve: Shelve, query: str, paths: list[str]
) -> None:
    library = shelve(
        dict.fromkeys(["keep.md", "old/keep.md", "a/keep.md"], "unique apricot") | {"x.md": "other"}
    )
    for mode in AuditMode:
        hits = library.search(query, mode=mode).hits
        assert [hit.paths for hit in hits] == ([tuple(paths)] if paths else [])
        assert [hit.path for hit in hits] == paths[:1]


def test_one_letter_and_a_star_are_the_most_frequent_words_that_begin_so(shelve: Shelve) -> None:
    files = {
        f"{number:03}.md": f"Beans and c{number:03}x" + " cabbage" * (number < 60) for number in range(90)
    }
    library = shelve({**files, "can.md": "You can.", "其.md": "其他"})
    found = library.search("c*", limit=100)
    assert {hit.path for hit in found.hits} >= {f"{number:03}.md" for number in range(60)}
    assert len(found.hits) == 63, "cabbage, and as many of the others as there is room for"
    assert found.notes == ("'c*' stands for many words: the 64 most frequent of them were used",)
    assert library.search("c*").hits == found.hits[:10]
    assert library.paths("C* path:089") == library.paths("path:089 cab*") == []
    assert library.search("b*").notes == ()
    assert len(library.search("b*", limit=100).hits) == 90
    assert library.paths("-c* you") == []
    assert library.paths("beans -c*") == []
    assert library.paths("title:c*") == ["can.md"]
    assert library.paths("其*") == ["其.md"]
    assert library.paths("z*") == []


def test_a_character_that_stands_for_several_is_a_beginning_like_any_other(shelve: Shelve) -> None:
    library = shelve({"a.md": "\u00bd cup", "b.md": "Stra\u00dfe", "c.md": "ss Titanic"})
    assert library.paths("\u00bd*") == ["a.md"]
    assert library.paths("\u00df*") == ["c.md"]
    for code in (*range(0xA0, 0x250), *range(0xF00, 0x1000), *range(0x2000, 0x2600), *range(0xFB00, 0xFFFD)):
        with contextlib.suppress(UsageError):
            library.search(f"{chr(code)}*")


def test_bytes_that_are_no_text_stand_between_words_and_spoil_nothing(shelve: Shelve) -> None:
    library = shelve({"caf.md": "# Caf\u00e9\n\nopen late"})
    for query in (
        "late\udce9",
        '"open late\udce9"',
        "title:caf\u00e9\udce9",
        "-\udce9x late",
        "path:c lat\udce9*",
    ):
        assert library.paths(query) == ["caf.md"], query
    assert library.paths("late", raw=True) == ["caf.md"]
    assert library.paths("path:\udce9") == library.paths("\udce9x", raw=True) == []


def test_mail_is_found_by_who_wrote_it_to_whom_and_about_what(shelve: Shelve) -> None:
    mail = "From: Ann <ann@example.com>\nTo: bob@example.org\nCc: carol@example.net\nSubject: Ripe plums\n\nCome by.\n"
    library = shelve({"mail.eml": mail, "other.md": "# Other\n\nwords\n"})
    for query in ("ann@example.com", "bob@example.org", "carol", "ripe plums"):
        [hit] = library.search(query, mode=AuditMode.STRICT).hits
        assert hit.path == "mail.eml"


@pytest.mark.parametrize("query", ["fjord", "path:*.md", '"a fjord"', "+none"])
def test_more_is_said_exactly_where_more_documents_match(shelve: Shelve, query: str) -> None:
    files = {
        f"{number}.md": f"# Note {number}\n\na fjord, and a fjord {number}\n\n" * 9 for number in range(12)
    }
    library = shelve({**files, "other.txt": "nothing of it"})
    matching = len(library.search(query, limit=100).hits)
    for limit in (1, 3, matching - 1, matching, matching + 1, 50):
        if limit > 0:
            found = library.search(query, limit=limit)
            assert found.more is (limit < matching), limit
            assert len(found.hits) == min(limit, matching)
