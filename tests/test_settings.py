from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tokviz.settings import Settings, load_settings, save_settings, settings_path


def test_missing_file_means_the_defaults_without_a_word(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "no" / "settings.json") == (Settings(), None)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.json"
    settings = Settings()._replace(theme="tokviz-light", wrap=False, folder="/caf\udce9")
    assert save_settings(settings, path) is None
    assert load_settings(path) == (settings, None)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions")
def test_nobody_else_may_read_them(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    assert save_settings(Settings(folder="/home/me/secret"), path) is None
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"{", b"", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_broken_file_is_kept_aside_and_the_defaults_come_with_a_notice(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    settings, notice = load_settings(path)
    assert settings == Settings()
    assert notice is not None
    assert "settings.json.broken" in notice
    assert (tmp_path / "settings.json.broken").read_bytes() == content
    assert not path.exists()
    assert load_settings(path) == (Settings(), None)


def test_entry_of_the_wrong_type_falls_back_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"wrap": 1, "theme": None, "panel": "token", "future": [1]}))
    settings, notice = load_settings(path)
    assert settings == Settings()._replace(panel="token")
    assert notice is not None
    assert "theme, wrap" in notice
    assert path.exists()


def test_folder_in_place_of_the_file_is_told_not_raised(tmp_path: Path) -> None:
    settings, notice = load_settings(tmp_path)
    assert settings == Settings()
    assert notice is not None
    assert "is a folder" in notice


def test_failed_save_is_a_sentence_and_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    notice = save_settings(Settings(wrap=False), tmp_path / "file" / "settings.json")
    assert notice is not None
    assert notice.startswith("Your settings are not saved: ")


def test_path_is_in_the_users_config_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert settings_path() == tmp_path / "tokviz" / "settings.json"


def test_saving_leaves_nothing_but_its_lock(tmp_path: Path) -> None:
    save_settings(Settings(panel="token"), tmp_path / "settings.json")
    save_settings(Settings(wrap=False), tmp_path / "settings.json")
    assert sorted(os.listdir(tmp_path)) == ["settings.json", "settings.json.lock"]


def test_only_what_has_changed_is_written_over_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"theme": "tokviz-light", "wrap": false, "future": [1]}')
    before, _ = load_settings(path)
    path.write_text('{"theme": "tokviz-dark", "wrap": false, "future": [2]}')
    assert save_settings(before._replace(wrap=True), path, before=before) is None
    assert json.loads(path.read_text()) == {"theme": "tokviz-dark", "wrap": True, "future": [2]}


def test_many_sessions_at_once_lose_no_setting(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    code = (
        "import sys; from pathlib import Path; from tokviz.settings import *\n"
        "before, name = Settings(), sys.argv[2]\n"
        "for n in range(20):\n"
        "    now = before._replace(**{name: f'{n}'})\n"
        "    assert save_settings(now, Path(sys.argv[1]), before=before) is None\n"
        "    before = now\n"
    )
    names = ("theme", "tokenizer", "panel", "folder")
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in names]
    assert [process.wait() for process in running] == [0] * len(names)
    assert json.loads(path.read_text()) == dict.fromkeys(names, "19")


def test_settings_need_no_textual() -> None:
    code = "import sys, tokviz.settings; print('textual' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
