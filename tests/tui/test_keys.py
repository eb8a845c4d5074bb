"""Keys of the user's choice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tokviz.tui.actions import key_label, key_of
from tokviz.tui.app import actions_everywhere, check_settings
from tokviz.tui.checks import key_faults
from tokviz.workspace.settings import edit_file


def faults(**keys: object) -> list[tuple[str, str]]:
    return list(key_faults(keys, actions_everywhere()))


def test_every_key_of_the_app_is_read_back_from_its_label() -> None:
    keys = {key for listed in actions_everywhere().values() for one in listed for key in one.keys}
    assert {key: key_of(key_label(key)) for key in keys} == {key: key for key in keys}
    assert [key_of(wrong) for wrong in ("", "ctrl+", "hyper+x", "ctrl+l", "ctrl+x y", "f99")] == [
        *("", "", "", "ctrl+l", "", "")
    ]


def test_conflicts_are_named_with_the_other_action_and_its_screen() -> None:
    assert faults(find="Shift+F9", toggle_wrap=[]) == []
    ((name, reason),) = faults(find="ctrl+s")
    assert (name, reason) == (
        "find",
        "Ctrl+S is “Save the text” on the Tokens screen too: give save_file another key, or []",
    )
    assert faults(find="ctrl+s", save_file="shift+f9") == []
    (clash,) = faults(find="shift+f9", goto="shift+f9")
    assert clash[0] in ("find", "goto")


def test_what_cannot_be_a_key_or_an_action_is_named() -> None:
    said = dict(faults(fnd="f2", undo="f2", find="hyper+x", goto="ctrl+i", replace="left", quit=3))
    assert said == {
        "fnd": "there is no such action: did you mean 'find'?",
        "undo": "its keys cannot be changed",
        "find": "there is no key 'hyper+x': write it as in the help (F1)",
        "goto": "Ctrl+I cannot be its key, because dialogs or terminals need it",
        "replace": "← cannot be its key, because texts need it (Cursor left)",
        "quit": 'must be a key such as "ctrl+g", or a list of keys',
    }


def test_a_fault_is_told_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    edit_file(path, {"keys.find": "ctrl+s", "keys.goto": "shift+f9"})
    (error,) = check_settings(path)
    assert (error.line, error.key) == (4, "keys.find")


CODE = """
import json
from tokviz.tui.actions import remap
remap({"more_keys": "ctrl+g", "goto": "shift+f9", "find": ["ctrl+g x", "F2"], "help": [], "x": 3})
from tokviz.tui.app import actions_on, screen_class
keys = {one.id: one.keys for one in actions_on("tokens")}
bound = {binding.id: binding.key for binding in screen_class("tokens").BINDINGS}
print(json.dumps([[keys[n] for n in ("more_keys", "goto", "find", "help", "chat_screen")],
                  bound["goto"], bound["find.1"]]))
"""


def test_other_keys_are_everywhere_where_the_old_ones_were() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    keys, goto, find = json.loads(done.stdout)
    assert keys[:4] == [["ctrl+g"], ["shift+f9"], ["ctrl+g x", "f2"], []]
    assert keys[4][0] == "ctrl+g 3", "chords begin with the new leader"
    assert (goto, find) == ("shift+f9", "f2")
