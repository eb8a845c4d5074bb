"""Choose the current tokenizer from a list, by name, or by a pasted path."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import App
from textual.worker import Worker

from tokviz.formats.registry import HUB_PREFIX, place_words
from tokviz.formats.subprocess_loader import load
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import action
from tokviz.tui.messages import Pasted
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.tasks import Task, in_thread, pending_or
from tokviz.workspace.session import Session, source_of

if TYPE_CHECKING:
    from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker

GROUP = "tokenizer"
"""Group of the workers that load a tokenizer."""

_LONGEST_PATH = 4096
TOKENIZER_WORDS = "model vocabulary encoding llama mistral gemma claude gpt qwen"
"""Search words for choosing a tokenizer."""


def tokenizer_picker(session: Session, source: str = "", **options: Any) -> TokenizerPicker:
    """Create the dialog that lists all tokenizers; see `TokenizerPicker`."""
    from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker

    return TokenizerPicker(
        session.tokenizer_source,
        source,
        recent=session.settings.recent_tokenizers,
        remember=lambda recent: session.change_settings(recent_tokenizers=recent),
        renamed=session.track_renamed_run,
        **options,
    )


def cancel_pending_loads(app: App[Any]) -> None:
    """Cancel loading tokenizers, because another one was chosen."""
    for worker in app.workers:
        if worker.group == GROUP:
            worker.cancel()


class TokenizerChoice(Controller):
    """Changes the current tokenizer. Dropping a file on the terminal pastes its path."""

    _asked: tuple[str, Worker[None]] | None = None
    """The tokenizer requested last, and the worker that loads it."""

    def __init__(
        self, screen: TokvizScreen, take_back: Callable[[Pasted], object] | None = None
    ) -> None:
        """Create the controller.

        Args:
            screen: The screen.
            take_back: Removes a pasted path again; None if pastes are never paths.
        """
        super().__init__(screen)
        self._take_back = take_back

    @property
    def coming(self) -> str:
        """The name of the tokenizer that is being loaded, otherwise of the current one."""
        return pending_or(self._asked, self.session.tokenizer.name)

    @action(
        "Choose a tokenizer",
        "ctrl+t",
        section="Tokenizer",
        footer="tokenizer",
        stays=True,
        words=TOKENIZER_WORDS,
    )
    def pick_tokenizer(self) -> None:
        """Choose a trained or built-in one, a file, a folder, or one from the Hugging Face hub.

        You can also rename and delete trainings there.
        """
        self.pick()

    def pick(self, source: str = "") -> None:
        """Ask for a tokenizer; load it at once if its source is given."""
        picker = tokenizer_picker(self.session, source, prepare=self._prepare)

        def picked(name: str) -> None:
            if picker.loaded is not None:
                cancel_pending_loads(self.app)
                self.session.use_tokenizer(picker.loaded, name)

        self.ask(picker, picked)

    def _prepare(self, tokenizer: Tokenizer) -> None:
        live = self.session.live
        live.prepare_reading(tokenizer, live.parse_specials)

    def use(self, source: str) -> None:
        """Switch to another tokenizer once it is loaded; show the old tokens until then.

        Args:
            source: The argument of `tokviz.load`.
        """
        source = self.session.where(source)

        def build(task: Task) -> Tokenizer:
            tokenizer = load(source)
            self._prepare(tokenizer)
            if task.cancelled:
                tokenizer.close()
            return tokenizer

        def use(tokenizer: Tokenizer) -> None:
            self.session.use_tokenizer(tokenizer, source_of(tokenizer, source))

        name = place_words(source)[0]
        work = in_thread(self.screen, GROUP, build, use, stoppable=f"Loading {name}")
        self._asked = source, work

    @on(Pasted)
    def _pasted(self, message: Pasted) -> None:
        text, take_back = message.text.strip(), self._take_back
        if take_back and text and "\n" not in text and len(text) <= _LONGEST_PATH:
            offer = partial(self._offer, partial(take_back, message))
            self.in_thread("pasted", lambda task: _tokenizer_at(text), offer)

    def _offer(self, take_back: Callable[[], object], found: tuple[str, str] | None) -> None:
        from tokviz.tui.dialogs.confirm import ConfirmDialog

        if found is None or not self.screen.is_current:
            return
        source, kind = found
        name, where = place_words(source)
        question = f"{name} is a tokenizer ({kind}). Load it instead of pasting the path? {where}"

        def answered(load_it: bool) -> None:
            if load_it:
                take_back()
                self.pick(source)

        self.ask(ConfirmDialog("Tokenizer", question, "load it"), answered)


def _tokenizer_at(text: str) -> tuple[str, str] | None:
    """Return the source and the kind of the tokenizer at a path, None if there is none."""
    from tokviz.formats.recognize import recognize
    from tokviz.tui.dialogs.tokenizer_rows import typed_source

    source = typed_source(text)
    if source is None or source.startswith(HUB_PREFIX) or not os.path.isabs(source):
        return None
    kind = recognize(source) if os.path.exists(source) else None
    return None if kind is None else (source, kind)
