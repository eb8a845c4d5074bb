"""Which tokenizers are compared."""

from __future__ import annotations

from tokviz.compare.lanes import MOST_OTHERS, Other
from tokviz.session import OthersChanged, source_of
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.choosing import TOKENIZER_WORDS, tokenizer_picker
from tokviz.tui.screens.compare.state import CompareState
from tokviz.tui.screens.lanes import Lanes


class Compared(Controller):
    """The other tokenizers, chosen by the user."""

    def __init__(self, screen: TokvizScreen, state: CompareState, lanes: Lanes) -> None:
        """Take the state, and what loads and encodes them."""
        super().__init__(screen)
        self._state, self._lanes = state, lanes

    @action("Add a tokenizer…", "a", "ctrl+o", section="Tokenizers", footer="add",
            words=f"compare versus diff {TOKENIZER_WORDS}")  # fmt: skip
    def add_tokenizer(self) -> None:
        """Compare with one more: a built-in one, one you trained, a file, one from the hub."""
        if len(self._state.others) == MOST_OTHERS:
            self.say(f"{MOST_OTHERS + 1} tokenizers is the most. Remove one first (x).")
            return
        picker = tokenizer_picker(self.session, title="Compare with")

        def picked(source: str) -> None:
            tokenizer = picker.loaded
            if tokenizer is None:
                return
            source = source_of(tokenizer, source)
            known = [self.session.tokenizer_source, *(one.source for one in self._state.others)]
            if source in known:
                self.say(f"{tokenizer.name} is compared already.")
                return
            self._lanes.add(Other(source, tokenizer))
            self._remember()

        self.ask(picker, picked)

    @action("Remove the last tokenizer", "x", "delete", section="Tokenizers",
            when=lambda self: bool(self._state.others), call="remove_tokenizer(0)")  # fmt: skip
    def remove_tokenizer(self, number: int) -> None:
        """Compare with one fewer. The × in the table removes another one."""
        other = self._state.others.pop(number - 1)
        if other.tokenizer is not None:
            other.tokenizer.close()
        self._state.take_out(number or len(self._state.others) + 1)
        self._remember()
        self.session.tell(OthersChanged())

    def _remember(self) -> None:
        self.session.change_settings(compared=tuple(one.source for one in self._state.others))
