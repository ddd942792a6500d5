"""Settings and policy: what may be in them, and what is said when something else is."""

from __future__ import annotations

import contextlib
import os
import threading
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arbor
from arbor.errors import StorageError, UsageError
from arbor.repo.config import (
    DEFAULT_MAX_FILE_BYTES,
    LOCAL_KEYS,
    Policy,
    Settings,
    parse_policy,
    parse_setting,
    parse_size,
    read_policy,
)
from arbor.repo.trust import signing
from arbor.text.extraction import ChunkPolicy
from tests.repo.kit import new_kb, record, write


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1024", 1024),
        ("64k", 65536),
        ("64K", 65536),
        ("64KB", 65536),
        ("64KiB", 65536),
        ("1.5M", 1_572_864),
        ("2G", 2 << 30),
        (" 3 m ", 3 << 20),
        (17, 17),
        ("1T", 1 << 40),
        ("1b", 1),
    ],
)
def test_sizes(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "x", "-1", "1X", "k", "nan", "inf", "-inf", "1e400", "1 2", "M64", True, -5, None, "0x10", "1..5"],
)
def test_what_is_no_size(text: object) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(text)  # type: ignore[arg-type]


def test_an_empty_policy_is_the_default() -> None:
    assert parse_policy(b"") == Policy()
    assert Policy().max_file_bytes == DEFAULT_MAX_FILE_BYTES
    assert Policy().section("ripple") == {}


def test_a_policy_with_everything() -> None:
    policy = parse_policy(
        b"[chunking]\ntarget_bytes = 1500\ncap_bytes = 3000\nmin_bytes = 500\n"
        b'[add]\nmax_file_size = "2M"\n[ripple]\nlambda = 0.3\n'
    )
    assert policy.chunking == ChunkPolicy(1500, 3000, 500)
    assert policy.max_file_bytes == 2 << 20
    assert policy.section("ripple") == {"lambda": 0.3}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "cannot be read"),
        ("a = ", "cannot be read"),
        ("\xff", "cannot be read"),
        ("[chunkin]\n", "unknown section 'chunkin'"),
        ("x = 1\n", "unknown section 'x'"),
        ("chunking = 3\n", "unknown section"),
        ("[chunking]\ntarget = 1\n", "unknown key 'target'"),
        ("[add]\nlimit = 1\n", "unknown key 'limit'"),
        ('[chunking]\ntarget_bytes = "2k"\n', "whole number"),
        ("[chunking]\ntarget_bytes = 2000.0\n", "whole number"),
        ("[chunking]\ntarget_bytes = true\n", "whole number"),
        ("[chunking]\ntarget_bytes = 5\n", "16 <= min_bytes"),
        ("[chunking]\ncap_bytes = 99999999\n", "1 MiB"),
        ("[add]\nmax_file_size = -1\n", "is not a size"),
        ('[add]\nmax_file_size = "big"\n', "max_file_size"),
        ("[add]\nmax_file_size = [1]\n", "is not a size"),
        ("a" * 10_000, "cannot be read"),
        ("[add]\n[add]\n", "cannot be read"),
        ("x = " + "[" * 5000, "cannot be read"),
    ],
)
def test_a_policy_that_is_wrong_says_where(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_policy(text.encode("latin-1"))


@pytest.mark.parametrize("text", ["a" + ".b" * 5000 + " = 1\n", "[a" + '."b"' * 5000 + "]\n"])
def test_keys_of_very_many_parts(tmp_path: Path, text: str) -> None:
    """Memory for them grows with the square in Python's parser, and the file may have come with a clone."""
    with pytest.raises(UsageError, match="a key has more than 64 parts"):
        parse_policy(text.encode())
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(UsageError, match="a key has more than 64 parts"):
        Settings(tmp_path / "config.toml").get("user.name")


def test_tables_in_tables_by_the_thousand_are_settings_that_nobody_reads(tmp_path: Path) -> None:
    deep = "x = " + ("{a" + ".b" * 60 + " = ") * 50 + "1" + "}" * 50
    (tmp_path / "config.toml").write_text(f"{deep}\n[user]\nname = 'Ada'\n")
    settings = Settings(tmp_path / "config.toml")
    assert settings.get("user.name") == "Ada"
    assert len(settings.items()) == 2
    parse_policy(b"[vocabulary]\n" + deep.encode())


def test_a_number_of_very_many_digits(tmp_path: Path) -> None:
    """Python refuses to read those of more than 4,300, and the file may have come with a clone."""
    with pytest.raises(UsageError, match="cannot be read"):
        parse_policy(b"[ripple]\nmax_hops = " + b"9" * 5000)
    (tmp_path / "config.toml").write_text(f"[user]\nname = {'9' * 5000}\n")
    with pytest.raises(UsageError, match="cannot be read"):
        Settings(tmp_path / "config.toml").get("user.name")


@given(st.binary(max_size=60))
def test_any_bytes_are_a_policy_or_a_usage_error(data: bytes) -> None:
    with contextlib.suppress(UsageError):
        parse_policy(data)


def test_a_wrong_policy_stops_an_add_and_nothing_else(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    write(tmp_path, {"arbor.toml": "[nonsense]\n", "b.md": "b"})
    with pytest.raises(UsageError, match=r"arbor\.toml"):
        kb.add()
    assert kb.status().untracked == ("arbor.toml", "b.md")
    assert kb.verify().ok


def test_the_policy_of_a_version(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "a"})
    assert kb.repo.committed_policy(kb.snapshot("HEAD")) == Policy()
    record(kb, {"arbor.toml": "[add]\nmax_file_size = 5000\n"})
    assert kb.repo.committed_policy(kb.snapshot("HEAD")).max_file_bytes == 5000
    kb.add_bytes("arbor.toml", b"[broken", overwrite=True)
    kb.commit("broken", index=False)
    assert kb.repo.committed_policy(kb.snapshot("HEAD")) == Policy()


def test_where_there_is_no_policy(tmp_path: Path) -> None:
    assert read_policy(None) == Policy()
    assert read_policy(tmp_path) == Policy()
    (tmp_path / "arbor.toml").mkdir()
    assert read_policy(tmp_path) == Policy()


def test_settings_are_read_from_the_kb_and_then_from_the_user(tmp_path: Path) -> None:
    user = tmp_path / "user.toml"
    user.write_text('[user]\nname = "Ada"\nemail = "ada@example.org"\n[color]\nui = "never"\n')
    settings = Settings(tmp_path / "local.toml", user)
    assert settings.get("user.name") == "Ada"
    settings.set("user.name", "Grace")
    assert settings.get("user.name") == "Grace"
    assert settings.get("user.email") == "ada@example.org"
    assert settings.get("user.absent") is None
    assert settings.get("user.name.deeper") is None
    assert settings.items() == {"color.ui": "never", "user.email": "ada@example.org", "user.name": "Grace"}
    settings.set("user.name", "Alan", user_wide=True)
    assert settings.get("user.name") == "Grace"
    settings.set("user.name", None)
    assert settings.get("user.name") == "Alan"
    assert settings.rows("user") == ({}, {})


def test_comments_and_order_of_a_settings_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('# mine\n[user]\n# who\nname = "Ada" # really\n\n[remote.origin]\nurl = "../x"\n')
    settings = Settings(path)
    settings.set("user.email", "a@b")
    settings.set("remote.other.url", 'with "quotes" and \\ and\nline')
    text = path.read_text()
    assert text.startswith('# mine\n[user]\n# who\nname = "Ada" # really\n')
    assert tomllib.loads(text)["remote"]["other"]["url"] == 'with "quotes" and \\ and\nline'
    assert settings.rows("remote")[0]["origin"] == {"url": "../x"}


@pytest.mark.skipif(os.name == "nt", reason="files have neither such modes nor links there")
def test_a_settings_file_stays_behind_its_link_and_as_private_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real, link = tmp_path / "dotfiles/arbor.toml", tmp_path / "user.toml"
    real.write_text("# mine\n")
    real.chmod(0o600)
    link.symlink_to(real)
    Settings(tmp_path / "local.toml", link).set("user.name", "Ada", user_wide=True)
    assert link.is_symlink()
    assert tomllib.loads(real.read_text()) == {"user": {"name": "Ada"}}
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_settings_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("not = [toml")
    for use in (
        lambda: Settings(path).get("user.name"),
        lambda: Settings(path).items(),
        lambda: Settings(path).set("user.name", "x"),
    ):
        with pytest.raises(UsageError, match="cannot be read"):
            use()
    assert path.read_text() == "not = [toml"
    with pytest.raises(UsageError, match="user-wide"):
        Settings(path).set("user.name", "x", user_wide=True)


def test_a_settings_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError):
        Settings(tmp_path / "c", tmp_path / "file/config.toml").set("user.name", "x", user_wide=True)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("user.name", "Ada", "Ada"),
        ("core.index", "yes", True),
        ("core.index", "OFF", False),
        ("core.pager", "1", True),
        ("color.ui", "true", "true"),
        ("remote.origin.url", "x", "x"),
    ],
)
def test_settings_given_as_text(name: str, text: str, value: object) -> None:
    assert parse_setting(name, text) == value


@pytest.mark.parametrize(
    ("name", "text"), [("user.nme", "x"), ("core.index", "maybe"), ("", "x"), ("remote", "x"), ("user", "x")]
)
def test_settings_that_are_refused(name: str, text: str) -> None:
    with pytest.raises(UsageError):
        parse_setting(name, text)


def test_the_front_desk_sets_and_gets(tmp_path: Path) -> None:
    kb = arbor.init(tmp_path)
    kb.config_set("user.name", "Ada")
    assert kb.config_get("user.name") == "Ada"
    assert kb.config_items() == {"user.name": "Ada"}
    kb.config_set("user.name", None)
    assert kb.config_get("user.name") is None
    with pytest.raises(UsageError):
        kb.config_set("user.shoe-size", "43")


def test_a_protection_in_the_wrong_words_is_not_off_in_silence(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    (kb.folder / "config.toml").write_text('[pull]\nrequire_signed = "true"\n[usev]\nname = "x"\n')
    with pytest.raises(UsageError, match=r"'pull\.require_signed' is true or false, not 'true'"):
        kb.config_get("pull.require_signed")
    assert [finding.problem for finding in kb.verify().damaged] == [
        "line 2: 'pull.require_signed' is true or false, not 'true'",
        f"line 4: there is no setting 'usev.name'; the settings are: {', '.join(LOCAL_KEYS)}",
    ]
    kb.config_set("pull.require_signed", "true")
    assert kb.config_get("pull.require_signed") is True


@pytest.mark.parametrize(
    "name", [*LOCAL_KEYS, "remote.origin.url", "remote.origin.filter", "branch.a.b.upstream"]
)
@pytest.mark.parametrize(
    "value", ["3", "-1", "nan", "1e400", "9" * 99, "[1]", "2026-01-01", '"""\n\nx"""', "true"]
)
def test_every_setting_of_a_wrong_type_says_its_line(tmp_path: Path, name: str, value: str) -> None:
    kind = LOCAL_KEYS.get(name, str)
    if (kind is bool and value == "true") or (kind is str and value.startswith('"') and name != "color.ui"):
        return
    kb = new_kb(tmp_path)
    table, key = name.rsplit(".", 1)
    table = table.replace("a.b", '"a.b"')
    (kb.folder / "config.toml").write_text(f"# {key} = 1\n\n\n[{table}]\n# the {key}\n{key} = {value}\n")
    [finding] = kb.verify().damaged
    assert finding.problem.startswith(f"line 6: '{name}' is ")
    if name != "color.ui" or not value.startswith('"'):
        with pytest.raises(UsageError, match=f"config.toml: line 6: '{name}' is "):
            kb.config_get(name)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("remote = 3\n", "line 1: 'remote' is a table, not 3"),
        ("user = 3\n", "line 1: 'user' is a table, not 3"),
        ("[remote.origin]\nurl = '/x'\nuurl = 'y'\n",
         "line 3: there is no setting 'remote.origin.uurl'; the settings of 'remote' are: "),
        ("[sign]\nkeys = 1\n",
         "line 2: there is no setting 'sign.keys'; the settings of 'sign' are: sign.key, sign.commits, "),
        ("user.nam = 'x'\n", "line 1: there is no setting 'user.nam'; the settings of 'user' are: user.name"),
    ],
)  # fmt: skip
def test_what_is_no_setting_says_its_line_and_what_there_is(tmp_path: Path, text: str, problem: str) -> None:
    kb = new_kb(tmp_path)
    (kb.folder / "config.toml").write_text(text)
    [finding] = kb.verify().damaged
    assert finding.problem.startswith(problem)


def test_remotes_and_upstreams_of_a_wrong_type_are_no_bug(tmp_path: Path) -> None:
    kb = new_kb(tmp_path)
    (kb.folder / "config.toml").write_text("[remote.origin]\nurl = '/x'\nfilter = 4\n")
    with pytest.raises(
        UsageError, match=r"line 3: 'remote\.origin\.filter' is text in quotation marks, not 4"
    ):
        kb.sharing.remote("origin")
    (kb.folder / "config.toml").write_text("[branch.main]\nupstream = 3\n")
    with pytest.raises(UsageError, match=r"line 2: 'branch\.main\.upstream' is text"):
        kb.sharing.tracking("main")


def test_settings_changed_at_once_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    failures: list[BaseException] = []

    def change(number: int) -> None:
        try:
            for turn in range(5):
                Settings(file).set(f"branch.b{number}x{turn}.upstream", "origin/main")
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(Settings(file).items()) == 30


def test_a_linked_settings_file_stays_a_link(tmp_path: Path) -> None:
    """As those have it who keep their settings in one folder."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "arbor.toml").write_text('[user]\nname = "Ada"  # me\n')
    (tmp_path / "config.toml").symlink_to("dotfiles/arbor.toml")
    settings = Settings(tmp_path / "none.toml", tmp_path / "config.toml")
    settings.set("user.email", "ada@example.org", user_wide=True)
    assert (tmp_path / "config.toml").is_symlink()
    assert "# me" in (tmp_path / "dotfiles" / "arbor.toml").read_text()
    assert settings.get("user.email") == "ada@example.org"


def test_a_file_that_a_setting_names_is_found_from_the_knowledge_base_wherever_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, user = tmp_path / "home", tmp_path / "settings" / "user.toml"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    user.parent.mkdir()
    user.write_text("[sign]\nallowed_signers = 'people'\n")
    new_kb(tmp_path / "kb").close()
    arbor.init(tmp_path / "bare", bare=True).close()
    for folder, base in ((tmp_path / "kb", tmp_path / "kb"), (tmp_path / "bare", tmp_path / "bare")):
        kb = arbor.open(folder, user_config=user)
        monkeypatch.chdir(tmp_path)
        assert kb.repo.settings.get_path("sign.key") is None
        for named, found in (("keys/k", base / "keys/k"), ("~/k", home / "k"), (str(tmp_path), tmp_path)):
            kb.config_set("sign.key", named)
            assert signing.signing_key(kb.repo) == found
        assert kb.repo.settings.get_path("sign.allowed_signers") == home / "people"
        with pytest.raises(UsageError, match="home/people' cannot be read"):
            signing.allowed_signers(kb.repo)
        kb.close()
    assert Settings(user).get_path("sign.allowed_signers") == home / "people"
