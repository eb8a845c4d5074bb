"""Commands for the split patterns of the Splits panel."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual import on

from tokviz.formats.huggingface import pre_tokenizer
from tokviz.tokenizer.pretokenize.patterns import (
    SPLIT_PATTERNS,
    STARTERS,
    SplitPattern,
    get_split_pattern,
)
from tokviz.tui.actions import LEADER, action, declared_by
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.tokens.panels import SidePanels
from tokviz.tui.widgets.splits.heads import CUSTOM_ROW, PatternsWanted
from tokviz.workspace.session import TrainWith

if TYPE_CHECKING:
    from tokviz.tui.dialogs.pick import Option
    from tokviz.tui.widgets.splits.panel import SplitsPanel

_SECTION = "Splits panel"


class SplitLab(Controller):
    """Choose split patterns, and copy or train with the custom one."""

    def __init__(
        self, screen: TokvizScreen, panels: SidePanels, show_panel: Callable[[str], object]
    ) -> None:
        """Take the panels, and a function that shows one of them."""
        super().__init__(screen)
        self._panels, self._show_panel = panels, show_panel

    @property
    def _panel(self) -> SplitsPanel:
        """The Splits panel, which becomes visible."""
        if self._panels.shown != "splits" or self._panels.current is None:
            self._show_panel("splits")
        return cast("SplitsPanel", self._panels.current)

    def recall(self) -> None:
        """Show the patterns of the settings."""
        settings = self.session.settings
        if self._panels.shown == "splits" and self._panels.current is not None:
            panel = self._panel
            if not panel.is_mounted:
                return
            known = [name for name in settings.split_patterns if name in SPLIT_PATTERNS]
            for row, name in enumerate(known[:CUSTOM_ROW]):
                panel.choose(row, name)
            panel.choose(CUSTOM_ROW, settings.split_regex or panel.regex)

    @action(
        "Split patterns…", f"{LEADER} s", section=_SECTION, words="library regex lab pre-tokenizer"
    )
    def split_patterns(self) -> None:
        """Choose a split pattern, or a command for the custom one.

        The regex that you typed is kept: undo brings it back, and so does the key up.
        """
        from tokviz.tui.dialogs.pick import Option, PickDialog

        doings = [found for found in declared_by(SplitLab) if found.method != "split_patterns"]
        options = [Option(f"do {one.method}", one.title, help=one.help) for one in doings]
        starters = [Option(f"use {regex}", about[:-1], regex) for regex, about in STARTERS]
        options += [
            Option(f"row {n}", f"Another pattern in row {n + 1}…", name)
            for n, name in enumerate(self._panel.patterns)
        ]
        dialog = PickDialog("Split patterns", [*options, *_named("use "), *starters])
        self.ask(dialog, self._do)

    def _do(self, chosen: str) -> None:
        kind, _, what = chosen.partition(" ")
        if kind == "do":
            getattr(self, what)()
        elif kind == "row":
            self._choose_for(int(what))
        else:
            self._panel.choose(CUSTOM_ROW, what)

    @on(PatternsWanted)
    def _patterns_wanted(self, message: PatternsWanted) -> None:
        if message.row == CUSTOM_ROW:
            self.split_patterns()
        else:
            self._choose_for(message.row)

    def _choose_for(self, row: int) -> None:
        from tokviz.tui.dialogs.pick import PickDialog

        dialog = PickDialog("Pattern", _named(), current=self._panel.patterns[row])
        self.ask(dialog, lambda name: self._panel.choose(row, name))

    @action("Tokens inside the pre-tokens", section=_SECTION, words="show hide switch splits")
    def toggle_pre_token_tokens(self) -> None:
        """Show or hide token boundaries inside the pre-tokens of every pattern.

        They are the tokens that your tokenizer's merges make of each pre-token.
        """
        self._panel.toggle_tokens()

    @action("Train with this pattern", section=_SECTION, words="regex splits custom")
    def train_with_pattern(self) -> None:
        """Set up a training that splits by the custom regex."""
        self.session.ask(TrainWith(self._panel.pattern))

    @action("Copy the pattern as Python", section=_SECTION, words="regex splits export code")
    def copy_pattern_python(self) -> None:
        """Copy a function that splits text as the custom regex does."""
        self._copy(lambda pattern: self.copy(pattern.as_python(), "the pattern as Python"))

    @action("Copy the pattern for tokenizer.json", section=_SECTION, words="pre-tokenizer export")
    def copy_pattern_json(self) -> None:
        """Copy the custom regex as the value of "pre_tokenizer" in a tokenizer.json."""
        from tokviz.formats.hf_pattern import means_the_same

        def copy(pattern: SplitPattern) -> None:
            text = json.dumps(pre_tokenizer(pattern), ensure_ascii=False, indent=2)
            self.copy(text, "the pattern as a pre-tokenizer")
            if pattern.guarded and not means_the_same(pattern.regex):
                self.say(
                    "Hugging Face's regex engine may interpret this regex differently.", "warning"
                )

        self._copy(copy)

    def _copy(self, copy: Callable[[SplitPattern], object]) -> None:
        """Copy the custom pattern, or report its error."""
        text = self._panel.pattern
        self.in_thread("pattern", lambda task: get_split_pattern(text), copy)


def _named(prefix: str = "") -> list[Option]:
    from tokviz.tui.dialogs.pick import Option

    return [
        Option(prefix + one.name, one.title or one.name, one.regex, f"{one.about} ({one.source})")
        for one in SPLIT_PATTERNS.values()
    ]
