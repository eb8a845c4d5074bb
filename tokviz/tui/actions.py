"""Every named action of the app, once: key bindings, command palette and help are made from it.

A screen or the app answers an action with a method `action_<id>`. Keys are chosen for a plain xterm
over ssh: `ctrl` with a letter and the function keys. `alt` keys are second choices, since many
terminals send nothing usable for them. Three keys that look natural are left out on purpose:

- `ctrl+shift+letter` is the same byte as `ctrl+letter`, or is taken by the terminal itself.
- `alt+digit` reaches a Textual app as the character that macOS types with it ("¡" for alt+1).
- `shift+f3` is sent by xterm as a cursor position report, so it always has a companion.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode

from tokviz.tui.screens.registry import SCREENS


class Action(NamedTuple):
    """Something the user can do, under one name everywhere."""

    id: str
    """Its name, and that of the `action_<id>` method that does it unless `call` names another."""
    title: str
    """What the command palette and the help call it."""
    help: str
    """A sentence that says what happens."""
    group: str
    """Who answers: "app", or the name of a screen."""
    section: str
    """The heading of the help page under which it stands."""
    keys: tuple[str, ...] = ()
    """Its keys in Textual's spelling, the one that works everywhere first."""
    footer: str = ""
    """A word for the footer, empty for an action that is not shown there."""
    priority: bool = True
    """Whether its keys reach it before the focused widget. Printable keys never do."""
    bound: bool = True
    """False where a widget binds the keys itself and the entry only makes them known."""
    call: str = ""
    """What to run where that is more than the id: an action with arguments."""


class Gesture(NamedTuple):
    """Something the mouse does, for the help page."""

    gesture: str
    help: str
    group: str


ACTIONS: tuple[Action, ...] = (
    # Text
    Action(
        "open_file",
        "Open a file",
        "Choose a file and show its tokens. Every byte is kept as it is.",
        "tokens",
        "Text",
        ("ctrl+o",),
        footer="open",
    ),
    Action(
        "save_file",
        "Save the text",
        "Write the text to the file it came from, byte for byte.",
        "tokens",
        "Text",
        ("ctrl+s",),
        footer="save",
    ),
    Action(
        "save_as",
        "Save the text as…",
        "Write the text to another file.",
        "tokens",
        "Text",
        ("f12",),
    ),
    Action(
        "new_text",
        "New text",
        "Start with an empty text. Undo brings the old one back.",
        "tokens",
        "Text",
        ("ctrl+n",),
    ),
    Action(
        "sample_text",
        "Show the sample text",
        "A short text with words, code, numbers, several scripts and emoji.",
        "tokens",
        "Text",
    ),
    Action(
        "restore_text",
        "Restore the recovered text",
        "Bring back the text that was open when tokviz last ended without saving it.",
        "tokens",
        "Text",
    ),
    # Tokenizer
    Action(
        "pick_tokenizer",
        "Choose a tokenizer",
        "Pick one of the built-in tokenizers by its name or the name of a model.",
        "tokens",
        "Tokenizer",
        ("ctrl+t",),
        footer="tokenizer",
    ),
    Action(
        "tokenizer_next",
        "Next tokenizer",
        "See the same text with the next tokenizer of the list.",
        "tokens",
        "Tokenizer",
        ("ctrl+right_square_bracket",),
    ),
    Action(
        "tokenizer_previous",
        "Previous tokenizer",
        "See the same text with the previous tokenizer of the list.",
        "tokens",
        "Tokenizer",
        ("ctrl+backslash",),
    ),
    Action(
        "toggle_specials",
        "Special tokens: parsed or text",
        "Read text such as <|endoftext|> as one special token, or as ordinary text.",
        "tokens",
        "Tokenizer",
        ("f6",),
    ),
    # View
    Action(
        "toggle_invisibles",
        "Show or hide invisible characters",
        "Draw spaces, tabs, line ends and other invisible characters as glyphs.",
        "tokens",
        "View",
        ("f7",),
    ),
    Action(
        "toggle_wrap",
        "Wrap long lines or not",
        "Break long lines at the right edge, or scroll sideways.",
        "tokens",
        "View",
        ("f8", "alt+z"),
    ),
    Action(
        "toggle_theme",
        "Dark or light",
        "Change between the dark and the light theme.",
        "app",
        "View",
        ("f10",),
        priority=False,
    ),
    # Panels
    Action(
        "show_ids",
        "IDs panel",
        "The token ids in order. Pointing at one lights up its text, and the other way round.",
        "tokens",
        "Panels",
        ("alt+i",),
    ),
    Action(
        "show_splits",
        "Splits panel",
        "The pieces that GPT-2's, GPT-4's and your own regex cut from the same text.",
        "tokens",
        "Panels",
        ("alt+s",),
    ),
    Action(
        "show_token",
        "Token panel",
        "One token: its bytes, rank, the merge that made it, its lineage, where else it occurs.",
        "tokens",
        "Panels",
        ("alt+t",),
    ),
    Action(
        "next_panel",
        "Next panel",
        "Show the panel to the right of the one shown now.",
        "tokens",
        "Panels",
        ("f2",),
        footer="panel",
    ),
    Action(
        "prev_panel",
        "Previous panel",
        "Show the panel to the left of the one shown now.",
        "tokens",
        "Panels",
        ("shift+f2",),
    ),
    Action(
        "toggle_panel",
        "Show or hide the panels",
        "Give the whole width to the text, or share it with the panels.",
        "tokens",
        "Panels",
        ("f9",),
    ),
    Action(
        "switch_focus",
        "Go between text and panel",
        "Move the keyboard from the text to the panel and back.",
        "tokens",
        "Panels",
        ("f5",),
    ),
    # Find
    Action(
        "find",
        "Find text",
        "Search the text for words or a regular expression.",
        "tokens",
        "Find",
        ("ctrl+f",),
        footer="find",
    ),
    Action(
        "goto",
        "Go to…",
        "Jump to a line (12 or 12:3), a token (#12) or a byte (@345).",
        "tokens",
        "Find",
        ("ctrl+g",),
    ),
    Action(
        "next_occurrence",
        "Next occurrence of the token",
        "Jump to the next place where this token occurs.",
        "tokens",
        "Find",
        ("f3",),
    ),
    Action(
        "previous_occurrence",
        "Previous occurrence of the token",
        "Jump to the previous place where this token occurs.",
        "tokens",
        "Find",
        ("ctrl+r", "shift+f3"),
    ),
    # Copy
    Action(
        "copy_text",
        "Copy the text",
        "Copy the selected text, or all of it, exactly as it is.",
        "tokens",
        "Copy",
        ("alt+c",),
    ),
    Action(
        "copy_ids",
        "Copy the token ids",
        "Copy the ids of the selected tokens, or of all, as a list.",
        "tokens",
        "Copy",
        ("f4",),
    ),
    Action(
        "copy_tokens_json",
        "Copy the tokens as JSON",
        "Copy id, text, bytes and place of the selected tokens, or of all.",
        "tokens",
        "Copy",
        ("shift+f4",),
    ),
    # Edit
    Action(
        "undo",
        "Undo",
        "Take back the last change of the text.",
        "tokens",
        "Edit",
        ("ctrl+z",),
        bound=False,
    ),
    Action(
        "redo",
        "Redo",
        "Do again what was taken back.",
        "tokens",
        "Edit",
        ("ctrl+y",),
        bound=False,
    ),
    Action(
        "select_all",
        "Select all",
        "Select the whole text, to copy it or to type or paste another in its place.",
        "tokens",
        "Edit",
        ("ctrl+a",),
    ),
    Action(
        "insert_character",
        "Insert a character…",
        "Any character by its name or number, also those that no keyboard has.",
        "tokens",
        "Edit",
        ("alt+u",),
    ),
    Action(
        "convert_line_endings_lf",
        "Line ends: make all LF",
        "Turn every CRLF and CR into LF. Undo takes it back.",
        "tokens",
        "Edit",
    ),
    Action(
        "convert_line_endings_crlf",
        "Line ends: make all CRLF",
        "Turn every LF and CR into CRLF. Undo takes it back.",
        "tokens",
        "Edit",
    ),
    # Corpus
    Action(
        "add_corpus",
        "Add files to the corpus",
        "Choose a file or a folder to train on.",
        "train",
        "Corpus",
        ("ctrl+o",),
        footer="add files",
    ),
    Action(
        "clear_corpus",
        "Empty the corpus",
        "Take every file and folder off the list. The files themselves stay.",
        "train",
        "Corpus",
    ),
    # Training
    Action(
        "start_training",
        "Start the training",
        "Train a tokenizer on the corpus, in the background. The other screens stay usable.",
        "train",
        "Training",
        ("ctrl+r", "f5"),
        footer="start",
    ),
    Action(
        "cancel_training",
        "Cancel the training",
        "Stop at once and leave nothing behind.",
        "train",
        "Training",
        ("escape",),
        footer="cancel",
        priority=False,
    ),
    Action(
        "new_training",
        "Back to the settings",
        "Leave the result and see the settings again, as they were.",
        "train",
        "Training",
        ("ctrl+n",),
        footer="settings",
    ),
    # Result
    Action(
        "use_result",
        "Use the trained tokenizer",
        "See the text of the Tokens screen with it.",
        "train",
        "Result",
        ("ctrl+t",),
        footer="use",
    ),
    Action(
        "save_result",
        "Save the trained tokenizer as…",
        "Copy its folder, with tokenizer.json and the training's history, to a place of yours.",
        "train",
        "Result",
        ("ctrl+s",),
        footer="save as",
    ),
    # App
    Action(
        "next_screen",
        "Next screen",
        "Go to the next screen. What this one does goes on.",
        "app",
        "Screens",
        ("ctrl+l", "f11"),
        footer="screen",
    ),
    *(
        Action(
            f"{kind.id}_screen",
            f"{kind.title} screen",
            kind.help,
            "app",
            "Screens",
            kind.keys,
            call=f"show_screen('{kind.id}')",
        )
        for kind in SCREENS
    ),
    Action(
        "command_palette",
        "Command palette",
        "Every action by its name.",
        "app",
        "App",
        ("ctrl+p",),
        bound=False,
    ),
    Action(
        "help",
        "Help",
        "The keys, panels and mouse of the screen you are on. ? does it where you are not typing.",
        "app",
        "App",
        ("f1", "question_mark"),
        footer="help",
        priority=False,
    ),
    Action(
        "quit",
        "Quit",
        "End tokviz. A text that was not saved comes back at the next start.",
        "app",
        "App",
        ("ctrl+q",),
    ),
)
"""Every action, in the order of the help page and the command palette."""

GESTURES: tuple[Gesture, ...] = (
    Gesture("Point at a token", "Its text and its id light up together.", "tokens"),
    Gesture("Click a token", "Pins it: the Token panel shows it, wherever you clicked.", "tokens"),
    Gesture("Drag over text", "Selects it. The status line counts the selection.", "tokens"),
    Gesture("Wheel", "Scrolls what the mouse is over.", "tokens"),
    Gesture("Click the tokenizer", "Opens the list of tokenizers.", "tokens"),
    Gesture("Click a panel's name", "Shows that panel.", "tokens"),
    Gesture("Click ✕ in the corpus", "Takes the file or folder off the list.", "train"),
    Gesture("Click a choice", "Takes it: a vocabulary size, a pattern, a rule.", "train"),
    Gesture("Click a tab", "Shows that screen.", "app"),
    Gesture("Click outside a dialog", "Closes the dialog, nothing changes.", "app"),
)
"""What the mouse does, in the order of the help page."""

_KEY_NAMES = {
    "question_mark": "?",
    "right_square_bracket": "]",
    "backslash": "\\",
    "escape": "Esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}


def key_label(key: str) -> str:
    r"""Spell a key for people.

    >>> key_label("ctrl+o"), key_label("shift+f3"), key_label("ctrl+backslash")
    ('Ctrl+O', 'Shift+F3', 'Ctrl+\\')
    """
    *modifiers, name = key.split("+")
    shown = _KEY_NAMES.get(name, name.capitalize())
    return "+".join([*(modifier.capitalize() for modifier in modifiers), shown])


def keys_label(action: Action) -> str:
    """Spell all keys of an action for people, empty where it has none."""
    return "  ".join(key_label(key) for key in action.keys)


def actions_of(*groups: str) -> Iterator[Action]:
    """Yield the actions that these groups answer, in registry order."""
    return (action for action in ACTIONS if action.group in groups)


def bindings_for(group: str) -> list[Binding]:
    """Make the key bindings of the app (group "app") or of a screen.

    Printable keys get no priority, so that the editor receives them while it has the focus.
    """
    return [
        Binding(
            key,
            action.call or action.id,
            action.footer or action.title,
            show=bool(action.footer) and position == 0,
            priority=action.priority and not _is_printable(key),
            tooltip=action.help,
            id=f"{action.id}.{position}" if position else action.id,
        )
        for action in actions_of(group)
        if action.bound
        for position, key in enumerate(action.keys)
    ]


def _is_printable(key: str) -> bool:
    return len(key) == 1 or key == "question_mark"


class ActionProvider(Provider):
    """Offers every action that can be done now in the command palette, with its key."""

    async def discover(self) -> Hits:
        """List all actions while nothing is typed."""
        for action, node in self._available():
            yield DiscoveryHit(
                _with_key(Content(action.title), action),
                partial(self._run, action, node),
                text=action.title,
                help=action.help,
            )

    async def search(self, query: str) -> Hits:
        """Find actions whose title fits, or, ranked lower, whose description holds the query."""
        matcher = self.matcher(query)
        for action, node in self._available():
            score = (
                matcher.match(action.title)
                or float(query.casefold() in action.help.casefold()) / 10
            )
            if score > 0:
                yield Hit(
                    score,
                    _with_key(matcher.highlight(action.title), action),
                    partial(self._run, action, node),
                    text=action.title,
                    help=action.help,
                )

    def _available(self) -> Iterator[tuple[Action, DOMNode]]:
        """Yield the actions with the node that answers them and does not refuse now."""
        for action in ACTIONS:
            # Textual's own screens answer some names too.
            if action.id == "command_palette" or action.group not in (
                "app",
                getattr(self.screen, "action_group", action.group),
            ):
                continue
            method = (action.call or action.id).partition("(")[0]
            for node in (self.screen, self.app):
                if hasattr(node, f"action_{method}"):
                    if node.check_action(method, ()):
                        yield action, node
                    break

    async def _run(self, action: Action, node: DOMNode) -> None:
        await self.app.run_action(action.call or action.id, node)


def _with_key(title: Content, action: Action) -> Content:
    if not action.keys:
        return title
    return Content.assemble(title, "  ", (key_label(action.keys[0]), "$text-accent not bold"))
