from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tokviz.errors import TokvizError
from tokviz.workspace.settings import (
    Settings,
    check_file,
    config_path,
    edit_file,
    load_settings,
    meanings,
    save_settings,
)


def stored(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def test_missing_file_means_the_defaults_without_a_word(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "no" / "config.toml") == (Settings(), None)


def test_what_was_saved_is_loaded_and_what_is_only_remembered_stands_elsewhere(
    tmp_path: Path,
) -> None:
    path = tmp_path / "new" / "config.toml"
    settings = Settings(theme="tokviz-light", wrap=False, folder="/é", split_regexes=("a\\d", '"'))
    assert save_settings(settings, path) is None
    assert load_settings(path) == (settings, None)
    assert stored(path) == {"theme": "tokviz-light", "wrap": False}
    assert stored(path.with_name("state.toml")) == {"folder": "/é", "split_regexes": ["a\\d", '"']}


def test_the_path_of_a_tokenizer_stays_out_of_the_file_that_is_shared(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    first = Settings(theme="tokviz-light", tokenizer="gpt2", compared=("gpt2",))
    assert save_settings(first, path) is None
    second = first._replace(tokenizer="/me/my.json", compared=("gpt2", "/me/other.json"))
    assert save_settings(second, path, before=first) is None
    assert load_settings(path) == (second, None)
    assert stored(path) == {"theme": "tokviz-light"}
    third = second._replace(tokenizer="o200k_base", compared=("gpt2",))
    assert save_settings(third, path, before=second) is None
    assert load_settings(path) == (third, None)
    assert stored(path) == {
        "theme": "tokviz-light", "tokenizer": "o200k_base", "compared": ["gpt2"]
    }  # fmt: skip
    assert stored(path.with_name("state.toml")) == {}


def test_a_path_that_is_not_utf8_is_not_remembered_and_the_rest_is(tmp_path: Path) -> None:
    settings = Settings(wrap=False, tokenizer="/caf\udce9", recent_tokenizers=("/caf\udce9", "a"))
    assert save_settings(settings, tmp_path / "config.toml") is None
    kept = Settings(wrap=False, recent_tokenizers=("a",))
    assert load_settings(tmp_path / "config.toml") == (kept, None)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions")
def test_nobody_else_may_read_them(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    assert save_settings(Settings(wrap=False, folder="/home/me/secret"), path) is None
    for name in ("config.toml", "state.toml"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"a = ", b"[[1", b"\xff\xfe", b"a = " + b"[" * 100_000])
def test_a_broken_file_stays_as_it_is_and_the_defaults_come_with_a_sentence(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    settings, notice = load_settings(path)
    assert settings == Settings()
    assert notice is not None and "config.toml" in notice
    failed = save_settings(Settings(wrap=False), path)
    assert failed is not None and failed.startswith("Your settings are not saved: ")
    assert path.read_bytes() == content


def test_a_syntax_error_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('theme = "tokviz-dark"\nwrap = yes\n')
    assert "line 2, column 8: is not valid TOML" in str(load_settings(path)[1])


WRONG = """\
# mine
wrap = 1
"panel" = "token"
thme = "x"

[keys]
find = "ctrl+g"

[profile.work]
theme = 3 # a number
strip = true
"""


def test_what_is_of_no_use_is_told_with_file_line_and_key_and_costs_nothing_else(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(WRONG)
    assert [str(error) for error in check_file(path, {"panel": ("ids", "tokens")})] == [
        f"{path}, line 2: wrap: must be true or false",
        f"{path}, line 3: panel: there is no 'token': did you mean 'tokens'?",
        f"{path}, line 4: thme: there is no such setting: did you mean 'theme'?",
        f"{path}, line 10: profile.work.theme: must be a string in quotes",
    ]
    assert load_settings(path) == (Settings(panel="token", keys={"find": "ctrl+g"}), None)
    assert path.read_text() == WRONG


def test_a_profile_goes_before_and_keeps_what_is_changed_of_it(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('theme = "a"\n[profile.work]\ntheme = "b"\n')
    before, notice = load_settings(path, "work")
    assert (before.theme, notice) == ("b", None)
    now = before._replace(theme="c", wrap=False)
    assert save_settings(now, path, before=before) is None
    assert stored(path) == {"theme": "a", "wrap": False, "profile": {"work": {"theme": "c"}}}
    assert load_settings(path, "work") == (now, None)
    with pytest.raises(TokvizError, match=r"no table \[profile.wrok\]: did you mean 'work'"):
        load_settings(path, "wrok")
    with pytest.raises(TokvizError, match=r"no table \[profile.work\]$"):
        load_settings(tmp_path / "none.toml", "work")


def test_comments_and_order_survive_what_the_app_writes(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    mine = '# mine\ntheme = "a" # dark\n\nfuture = [1]\n[keys]\n# none\nfind = "ctrl+g"\n'
    path.write_text(mine)
    before, _ = load_settings(path)
    assert save_settings(before._replace(theme="b", wrap=False), path, before=before) is None
    written = path.read_text()
    assert written == mine.replace('"a"', '"b"').replace("[1]\n", "[1]\nwrap = false\n\n")


def test_a_setting_is_edited_by_name_in_any_table_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    edit_file(path, {"wrap": False, "keys.find": ["f2", "f3"], "profile.work.theme": "b"})
    assert stored(path) == {
        "wrap": False,
        "keys": {"find": ["f2", "f3"]},
        "profile": {"work": {"theme": "b"}},
    }
    edit_file(path, {"wrap": None, "keys.find": None})
    assert load_settings(path, "work")[0] == Settings(theme="b", profile="work")


ODD = (
    "profile = 3",
    "profile.work = 3",
    "keys = 3",
    'wrap = [[1], {a = "b"}]',
    'profile = {work = {wrap = true, theme = "a"}}',
    'profile.work.wrap = true\nprofile.work.theme = "a"',
    "[profile.work]\nwrap = true\n[b]\n[profile.home]\n[profile.work.a]\n[b.c]\n[[d]]\n",
    '"wrap" = true # \u00e9\r\n\r\n[keys] # mine\r\n',
)


@pytest.mark.parametrize("number", range(len(ODD)))
def test_what_is_odd_is_written_into_too_and_all_else_stays(tmp_path: Path, number: int) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(ODD[number].encode())
    before = stored(path)
    check_file(path)
    settings, notice = load_settings(path)
    assert notice is None
    settings = settings._replace(profile="work", wrap=False)
    assert save_settings(settings, path, before=settings._replace(wrap=True)) is None
    edit_file(path, {"keys.find": ["f2"]})
    now = stored(path)
    assert now.pop("keys")["find"] == ["f2"]
    profiles = before.get("profile")
    own = profiles.get("work") if isinstance(profiles, dict) else None
    (own if isinstance(own, dict) else before)["wrap"] = False
    before.pop("keys", None)
    assert now == before


def test_every_setting_says_what_it_means() -> None:
    assert set(meanings()) == {*Settings._fields} - {"profile"}
    assert all(text.endswith(".") and "\n" not in text for text in meanings().values())


def test_folder_in_place_of_the_file_is_told_not_raised(tmp_path: Path) -> None:
    settings, notice = load_settings(tmp_path)
    assert settings == Settings()
    assert notice is not None
    assert "is a folder" in notice


def test_failed_save_is_a_sentence_and_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    notice = save_settings(Settings(wrap=False), tmp_path / "file" / "config.toml")
    assert notice is not None
    assert notice.startswith("Your settings are not saved: ")


def test_path_is_in_the_users_config_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert config_path() == tmp_path / "tokviz" / "config.toml"


def test_saving_leaves_nothing_but_its_lock(tmp_path: Path) -> None:
    save_settings(Settings(panel="token"), tmp_path / "config.toml")
    save_settings(Settings(wrap=False), tmp_path / "config.toml")
    assert sorted(os.listdir(tmp_path)) == ["config.toml", "config.toml.lock"]


def test_only_what_has_changed_is_written_over_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('theme = "tokviz-light"\nwrap = false\nfuture = [1]')
    before, _ = load_settings(path)
    path.write_text('theme = "tokviz-dark"\nwrap = false\nfuture = [2]')
    assert save_settings(before._replace(wrap=True), path, before=before) is None
    assert stored(path) == {"theme": "tokviz-dark", "wrap": True, "future": [2]}


def test_many_sessions_at_once_lose_no_setting(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    code = (
        "import sys; from pathlib import Path; from tokviz.workspace.settings import *\n"
        "before, name = Settings(), sys.argv[2]\n"
        "for n in range(10):\n"
        "    now = before._replace(**{name: f'{n}'})\n"
        "    assert save_settings(now, Path(sys.argv[1]), before=before) is None\n"
        "    before = now\n"
    )
    names = ("theme", "tokenizer", "panel", "folder")
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in names]
    assert [process.wait() for process in running] == [0] * len(names)
    assert stored(path) | stored(path.with_name("state.toml")) == dict.fromkeys(names, "9")


def test_settings_need_no_textual() -> None:
    code = "import sys, tokviz.workspace.settings; print('textual' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
