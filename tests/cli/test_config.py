from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest

from tests.json_schema import Validator
from tokviz.cli.main import main
from tokviz.workspace.settings import Settings, config_path, load_settings, meanings, save_settings


@pytest.fixture(autouse=True)
def keys_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokviz.tui.actions.KEYS", {})
    monkeypatch.setattr("tokviz.tui.actions.LEADER", "ctrl+l")


def run_config(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["config", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_default_tokenizer_is_back_when_a_path_was_remembered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert save_settings(Settings(tokenizer="/me/my.json")) is None
    assert load_settings()[0].tokenizer == "/me/my.json"
    assert run_config(capsys, "set", "tokenizer") == (0, "", "")
    assert load_settings()[0] == Settings()


def test_every_setting_is_shown_with_value_place_and_meaning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_config(capsys, "set", "theme", "contrast-dark") == (0, "", "")
    code, out, _ = run_config(capsys)
    assert code == 0
    assert all(f"{name} = " in out and text in out for name, text in meanings().items())
    path = config_path()
    assert f'From {path}, line 2; the default is "tokviz-dark".' in out
    assert run_config(capsys, "path") == (0, f"{path}\n", "")


def test_settings_that_cannot_be_written_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    code, _, err = run_config(capsys, "set", "theme", "contrast-dark")
    assert (code, err) == (2, f"tokviz: {config_path()}: Not a directory\n")
    assert load_settings()[0] == Settings()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no such pipes")
def test_settings_that_are_a_pipe_are_not_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    config_path().parent.mkdir(parents=True)
    os.mkfifo(config_path())
    code, _, err = run_config(capsys, "set", "theme", "contrast-dark")
    assert code == 2 and "is a pipe" in err


def test_a_wrong_value_is_refused_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = run_config(capsys, "set", "theme", "contrast-drak")
    assert code == 2 and "did you mean 'contrast-dark'?" in err
    assert not config_path().exists()
    assert run_config(capsys, "set", "wrap", "no")[0] == 2
    assert run_config(capsys, "set", "keys.n\udc9b", "f9")[0] == 2, "bytes that are no UTF-8"
    assert run_config(capsys, "set", "profile.\udcff.theme", "contrast-dark")[0] == 2
    assert run_config(capsys, "set", "thme", "x")[2].endswith("did you mean 'theme'?\n")
    assert run_config(capsys, "set", "profile.work.theme", "contrast-light")[0] == 0
    written = config_path().read_bytes()
    code, _, err = run_config(capsys, "set", "keys.find", "ctrl+o")
    assert code == 2 and "Ctrl+O is “Open a file” on the Tokens screen too" in err
    assert config_path().read_bytes() == written
    assert run_config(capsys, "set")[0] == run_config(capsys, "path", "x")[0] == 2


def test_a_file_is_checked_and_edited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "an editor"
    editor.write_text('#!/bin/sh\necho \'panel = "tokens"\' >> "$2"\nexit $1\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("EDITOR", f"'{editor}' 0")
    monkeypatch.delenv("VISUAL", raising=False)
    code, out, _ = run_config(capsys, "edit")
    lines = config_path().read_text().splitlines()
    assert code == 1
    assert out == (
        f"{config_path()}, line {len(lines)}: panel: there is no 'tokens': did you mean 'token'?\n"
    )
    assert '# theme = "tokviz-dark"' in lines and "# The current side panel." in lines
    monkeypatch.setenv("EDITOR", f"'{editor}' 3")
    code, _, err = run_config(capsys, "edit")
    assert code == 2 and "failed with exit code 3" in err
    other = tmp_path / "other.toml"
    other.write_text("wrap = false\n")
    assert run_config(capsys, "check", other) == (0, f"{other}: no errors\n", "")
    other.write_text('[keys]\nmore_keys = "shift+f10"\nfind = "shift+f10 x"\n')
    assert run_config(capsys, "check", other) == (0, f"{other}: no errors\n", "")
    other.unlink()
    assert run_config(capsys, "check", other) == (
        2,
        "",
        f"tokviz: {other}: there is no such file\n",
    )
    assert run_config(capsys, "keys")[1].count("\n") > 80
    assert Settings().editor == ""


def test_the_table_of_prices_is_created_opened_and_checked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    path = config_path().with_name("models.toml")
    assert run_config(capsys, "prices") == (0, f"{path}: 1 model, no errors\n", "")
    path.write_text("[[model]]\nwindow = 1\n")
    code, out, _ = run_config(capsys, "prices")
    assert code == 1 and "line 1: name: is missing" in out


def test_a_key_that_terminals_send_for_word_movement_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = run_config(capsys, "set", "keys.toggle_wrap", "alt+b")
    assert code == 2 and "Alt+B cannot be its key" in err
    assert not config_path().exists()


def test_the_tokenizer_of_the_app_is_not_the_one_of_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, err = run_config(capsys, "set", "tokenizer", "gpt2")
    assert code == 0 and "commands use $TOKVIZ_TOKENIZER or -t" in err


def test_the_schema_agrees_with_the_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = run_config(capsys, "schema")
    validator = Validator(json.loads(out))
    assert (code, [*json.loads(out)["properties"]]) == (0, [*meanings(), "profile"])
    file = tmp_path / "config.toml"
    keys = '[keys]\nfind = ["ctrl+f"]\nmore_keys = "shift+f10"'
    valid = (
        *("", 'theme = "terminal-dark"', 'split_patterns = ["gpt2", "none"]', "wrap = false"),
        *(keys, '[profile.work]\npanel = "ids"'),
    )
    wrong = (
        *('theme = "terminal"', 'split_patterns = ["gpt3"]', "wrap = 1", "wrapp = true"),
        *('[keys]\nfound = "ctrl+g"', "[keys]\nfind = 1", "profile = 1"),
        *('[profile.work]\npanel = "id"', '[profile.work]\nprofile = "id"'),
    )
    for text in (*valid, *wrong):
        file.write_text(text)
        checked = run_config(capsys, "check", file)[0]
        found = validator.problems(tomllib.loads(text))
        assert (bool(found), checked) == (text in wrong, text in wrong), (text, found)
