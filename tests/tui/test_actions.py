from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widgets import TextArea

from tokviz.guide import page
from tokviz.tui.actions import Action, action, bindings_of, declared_in, key_label
from tokviz.tui.app import APP_ACTIONS, actions_on, explained_on, screen_class
from tokviz.tui.dialogs.action_palette import Offer, offers_here, search
from tokviz.tui.screens.registry import SCREENS

TYPED = {"ctrl+i", "ctrl+m", "ctrl+j", "ctrl+h", "tab", "enter", "backspace"}


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
def test_ids_and_titles_are_unique_on_a_screen(screen: str) -> None:
    actions = list(actions_on(screen))
    assert len({action.id for action in actions}) == len(actions)
    assert len({action.title for action in actions}) == len(actions)


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
def test_no_key_means_two_things_on_a_screen(screen: str) -> None:
    keys = [key for action in actions_on(screen) for key in action.keys]
    assert len(set(keys)) == len(keys)


MEANINGS = {
    "open": {
        "open_file",
        "add_tokenizer",
        "add_corpus",
        "choose_replay",
    },
    "save": {
        "save_file",
        "save_result",
        "export_list",
    },
    "save as": {"save_as", "save_tokenizer"},
    "new": {"new_text", "new_conversation", "new_training"},
    "tokenizer": {"pick_tokenizer", "choose_replay"},
    "find": {"find", "filter_rows", "find_merge", "go_to_search"},
    "go to": {"goto", "find_merge"},
    "next panel": {"next_panel", "next_view"},
    "previous panel": {"prev_panel", "previous_view"},
    "next place": {
        "next_occurrence",
        "next_disagreement",
        "next_finding",
        "first_difference",
        "jump_to_text",
        "next_place",
        "next_learned",
        "next_merge",
    },
    "previous place": {
        "previous_occurrence",
        "previous_disagreement",
        "previous_place",
        "previous_learned",
        "previous_merge",
    },
    "copy": {
        "copy_ids",
        "copy_markdown",
        "copy_id",
    },
    "copy in another form": {
        "copy_tokens_json",
        "copy_tsv",
        "copy_mask",
        "copy_bytes",
    },
    "copy as text": {
        "copy_text",
        "copy_json",
        "copy_merge",
        "copy_token_text",
    },
    "between text and panel": {
        "switch_focus",
        "edit_text",
    },
    "show or hide the panel": {"toggle_panel", "toggle_side"},
    "show the ids": {"show_ids"},
    "show the mask": {"show_mask"},
    "sort": {"next_order"},
    "reverse": {"reverse_report", "reverse_order"},
    "next in the list": {"tokenizer_next", "next_row"},
    "previous in the list": {"tokenizer_previous", "previous_row"},
    "use": {"use_result", "text_at_hand"},
    "choose": {"Choose", "edit_text", "open_token"},
    "delete": {"Delete", "remove", "remove_tokenizer"},
    "select all": {"select_all", "Select all"},
    "undo, redo": {"undo", "redo", "Undo, redo"},
    "go back": {"escape", "leave", "stop_training", "clear_search"},
    "move": {
        "Move",
        "Move by words, or to an end",
        "step_forward",
        "step_back",
        "leap_forward",
        "leap_back",
        "go_start",
        "go_end",
    },
}
"""What a key means, and the actions with that meaning: one on each screen, at most."""

EXCEPTIONS = {
    ("space", "play_pause"): "as in every player",
    ("up", "older"): "a field of one line has a history, as in a shell",
    ("down", "newer"): "a field of one line has a history, as in a shell",
    ("backspace", "token_before"): "as in a browser, where no text has the keyboard",
}
"""Keys that mean something else in one place, and why."""


def _name(found: Action) -> str:
    return found.id or found.title


def meanings_of_keys() -> dict[str, dict[str, set[str]]]:
    """Collect the actions of every screen by key and meaning."""
    found: dict[str, dict[str, set[str]]] = {}
    for one in [one for kind in SCREENS for one in explained_on(kind.id)]:
        for key in one.keys:
            known = found.setdefault(key, {})
            if (key, _name(one)) not in EXCEPTIONS:
                shared = [name for name, names in MEANINGS.items() if _name(one) in names]
                # An action may be in two groups, such as Replay's one way to find and to go to.
                name = next((name for name in shared if name in known), [*shared, _name(one)][0])
                known.setdefault(name, set()).add(_name(one))
    return found


def test_a_key_has_one_meaning_on_all_screens() -> None:
    several = {key: known for key, known in meanings_of_keys().items() if len(known) > 1}
    assert not several


def test_the_meanings_and_exceptions_are_those_of_actions() -> None:
    listed = [one for kind in SCREENS for one in explained_on(kind.id)]
    names = {_name(one) for one in listed}
    assert set().union(*MEANINGS.values()) <= names
    assert set(EXCEPTIONS) <= {(key, _name(one)) for one in listed for key in one.keys}
    assert len(EXCEPTIONS) <= 5


def test_the_guide_lists_every_function_key_and_what_control_keys_share() -> None:
    section = page("settings").partition("## Keys\n")[2].partition("\n## ")[0]
    explained = set(re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (`.*?) \|", section, re.M))))
    for key, known in meanings_of_keys().items():
        is_shared = any(len(names) > 1 for names in known.values())
        if re.fullmatch(r"(shift\+)?f\d+", key) or (is_shared and re.fullmatch(r"ctrl\+.", key)):
            assert key_label(key) in explained, key


def test_first_key_of_an_action_reaches_an_app_in_any_terminal_or_is_alt_alone() -> None:
    """Control letters that are no other key, and function keys."""
    for found in [one for kind in SCREENS for one in actions_on(kind.id)]:
        for position, key in enumerate(found.keys):
            assert key not in TYPED or not (found.bound and found.priority)
            assert "ctrl+shift" not in key
            if key.startswith("alt+"):
                assert key[4:].isalpha(), "alt+digit arrives as another character"
                assert key[4:] not in "bf", "alt+b and alt+f arrive as word movements"
            if key == "shift+f3":
                assert position > 0, "xterm sends shift+f3 as a cursor position report"


def test_printable_keys_are_left_to_the_editor() -> None:
    bindings = {binding.key: binding for binding in bindings_of(APP_ACTIONS)}
    assert not bindings["question_mark"].priority
    assert all(
        binding.priority
        for binding in bindings_of(screen_class("tokens").declared())
        if binding.key.startswith("ctrl")
    )


def test_keys_that_a_widget_binds_itself_are_only_listed() -> None:
    bound = {binding.action for binding in bindings_of(actions_on("tokens"))}
    assert {"undo", "redo"}.isdisjoint(bound)
    assert {"undo", "redo"} <= {action.id for action in actions_on("tokens")}


@pytest.mark.parametrize(
    ("key", "label"),
    [("ctrl+o", "Ctrl+O"), ("f1", "F1"), ("question_mark", "?"), ("shift+f3", "Shift+F3")],
)
def test_keys_are_spelled_for_people(key: str, label: str) -> None:
    assert key_label(key) == label


def test_importing_the_registry_adds_next_to_nothing_to_textual() -> None:
    code = (
        "import sys, textual.app; before = set(sys.modules); import tokviz.tui.actions;"
        "print(*sorted(set(sys.modules) - before))"
    )
    new = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name.startswith("tokviz") for name in new.stdout.split())
    assert "dialogs" not in new.stdout


class SomeScreen(Screen[None]):
    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    def compose(self) -> ComposeResult:
        yield TextArea()

    @action("Special tokens: parsed or text", "f6", section="Tokenizer")
    def action_toggle_specials(self) -> None:
        """Read text such as <|endoftext|> as one special token, or as ordinary text."""
        self.done.append("toggle_specials")

    @action("Find text", "ctrl+f", section="Find")
    def action_find(self) -> None:
        """Search the text."""
        self.done.append("find")

    @action("Go to…", "ctrl+g", section="Find")
    def action_goto(self) -> None:
        """Jump."""
        self.done.append("goto")

    BINDINGS = [*bindings_of(declared_in(locals()))]  # noqa: RUF012

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "goto"


class SomeApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.helped = 0

    def get_default_screen(self) -> Screen[Any]:
        return SomeScreen()

    @action("Help", "f1", "question_mark", section="App", priority=False)
    def action_help(self) -> None:
        """Show the help."""
        self.helped += 1

    BINDINGS = [*bindings_of(declared_in(locals()))]  # noqa: RUF012


def done(app: SomeApp) -> list[str]:
    screen = app.screen
    assert isinstance(screen, SomeScreen)
    return screen.done


async def test_keys_reach_the_screen_before_the_editor_takes_them() -> None:
    app = SomeApp()
    async with app.run_test() as pilot:
        app.screen.query_one(TextArea).focus()
        await pilot.press("ctrl+f", "f6")
        assert done(app) == ["find", "toggle_specials"]


async def test_question_mark_is_typed_in_the_editor_and_helps_elsewhere() -> None:
    app = SomeApp()
    async with app.run_test() as pilot:
        area = app.screen.query_one(TextArea)
        area.focus()
        await pilot.press("question_mark")
        assert (area.text, app.helped) == ("?", 0)
        app.set_focus(None)
        await pilot.press("question_mark", "f1")
        assert (area.text, app.helped) == ("?", 2)


def offered(app: SomeApp, query: str) -> list[Offer]:
    return search(query, offers_here(app), ())


async def test_palette_offers_what_the_screen_or_the_app_answers_and_does_not_refuse() -> None:
    app = SomeApp()
    async with app.run_test():
        assert [(offer.title, offer.key) for offer in offered(app, "")] == [
            ("Special tokens: parsed or text", "F6"),
            ("Find text", "Ctrl+F"),
            ("Help", "F1"),
        ]


async def test_palette_finds_by_title_and_by_description_and_runs_the_action() -> None:
    app = SomeApp()
    async with app.run_test():
        assert [offer.title for offer in offered(app, "find text")] == ["Find text"]
        (offer,) = offered(app, "endoftext")
        assert offer.title == "Special tokens: parsed or text"
        await offer.do()
        assert done(app) == ["toggle_specials"]
