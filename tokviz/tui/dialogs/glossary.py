"""What the words on the screens mean."""

from __future__ import annotations

from collections.abc import Sequence

from tokviz.guide.glossary import glossary, words_in
from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.pick import Option, PickDialog


class GlossaryDialog(PickDialog):
    """Lists the words of the glossary, those on the screen first, and explains one."""

    DEFAULT_CSS = "GlossaryDialog #about { height: 6; color: $foreground; }"
    rows_wanted = 22
    """Room for a dozen words, and what one means."""

    def __init__(self, word: str, shown: str) -> None:
        """Take the word to begin with, and the text on the screen: near the keyboard first."""
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
