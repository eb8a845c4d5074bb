"""Dialog that explains the words on the screens."""

from __future__ import annotations

from collections.abc import Sequence

from tokviz.guide.glossary import glossary, words_in
from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.pick import Option, PickDialog


class GlossaryDialog(PickDialog):
    """Lists the glossary entries, those on the screen first, and explains one."""

    DEFAULT_CSS = "GlossaryDialog #about { height: 6; color: $foreground; }"
    rows_wanted = 22
    """Height for a dozen words and an explanation."""

    def __init__(self, word: str, shown: str) -> None:
        """Create the dialog with an initial word and the text on the screen."""
        here = list(dict.fromkeys(name for _, _, name in words_in(shown)))
        words = [glossary()[name] for name in dict.fromkeys((*here, *glossary()))]
        options = [
            Option(
                entry.name,
                entry.name,
                ", ".join(entry.also),
                f"{entry.say} {entry.example}",
            )
            for entry in words
        ]
        super().__init__("Glossary", options, highlighted=word or options[0].value)

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [("Esc", "close", "cancel"), ("↑↓", "move", "")]
