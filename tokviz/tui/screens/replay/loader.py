"""Commands that choose and open a replay."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tokviz.errors import TokvizError
from tokviz.text.glyphs import safe
from tokviz.text.sentences import failure_message, pluralize
from tokviz.tui.actions import action
from tokviz.tui.screens.bars import CUT_NAME, LONGEST_NAME, SHORTENED_NAME
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.choosing import tokenizer_picker
from tokviz.tui.screens.replay.state import (
    Opened,
    ReplayState,
    Source,
    open_source,
    source_at_hand,
    source_named,
)
from tokviz.tui.tasks import LatestWorker, StoppedError
from tokviz.tui.widgets.bar import BarItem
from tokviz.tui.widgets.fit import fit_name
from tokviz.tui.widgets.spans import Span
from tokviz.workspace.session import ReplayRequest, ShowScreen, UseTokenizer


def ask_source(controller: Controller, title: str, answered: Callable[[Source], object]) -> None:
    """Ask for a training or vocabulary to replay."""
    session = controller.session

    def picked(place: str) -> None:
        if place == session.tokenizer_source:
            answered(source_at_hand(session.tokenizer, place))
        else:
            answered(source_named(place))

    controller.ask(tokenizer_picker(session, title=title, loads=False), picked)


class Opening(Controller):
    """Open trainings and vocabularies in a thread. Only the latest choice counts."""

    _state: ReplayState
    _message: Static
    _covered: tuple[Widget, Widget]
    _show: Callable[[Opened, ReplayRequest | None], object]

    def set_up(self) -> None:
        """Create the other fields."""
        self._work, self._lesson = self._covered
        self._worker = LatestWorker[Source](self.screen, "open")

    @property
    def pending(self) -> Source | None:
        """The source that is being opened."""
        return self._worker.pending

    @action("Choose what to replay", "ctrl+o", "ctrl+t", section="Replay", footer="open")
    def choose_replay(self) -> None:
        """Choose the current tokenizer, a training, a run folder, or another vocabulary."""
        ask_source(self, "Replay", self.open)

    def open_at_hand(self) -> None:
        """Open the tokenizer of the Tokens screen."""
        self.open(source_at_hand(self.session.tokenizer, self.settings.tokenizer))

    @action("Use this tokenizer", section="Replay")
    def use_replayed(self) -> None:
        """Use the replayed tokenizer on the Tokens screen."""
        if self._state.opened is not None:
            opens = self._state.opened.source.opens
            named = UseTokenizer(opens) if isinstance(opens, str) else ShowScreen("tokens")
            self.session.ask(named)

    def open(self, source: Source, request: ReplayRequest | None = None) -> None:
        """Open a source. The current replay stays until the new one is ready.

        Args:
            source: What to open.
            request: The merge to show first, and what to compare with.
        """

        def done(opened: Opened) -> None:
            self._show_message("")
            self._show(opened, request)

        def failed(error: TokvizError) -> None:
            if isinstance(error, StoppedError):
                self._stopped(source)
            else:
                self.complain(source, str(error))

        self._worker.start(
            source,
            lambda task: self._open(source),
            done,
            failed,
            stoppable=f"Opening {source.name}",
            is_said=True,
        )
        self.screen.show_title()
        if self._state.opened is None:
            self._show_message(f"Opening {source.name}…\n\nEsc stops it.")

    def _stopped(self, source: Source) -> None:
        stopped = f"Stopped opening {source.name}."
        if self._state.opened is None:
            self._show_message(f"{stopped}\n\nPress Ctrl+O to choose a replay.")
        else:
            self.say(stopped)
        self.screen.show_title()

    def _open(self, source: Source) -> Opened:
        """Open a source in a thread, and turn any error into a `TokvizError`."""
        try:
            return open_source(source)
        except TokvizError:
            raise
        except Exception as error:
            raise TokvizError(f"it failed unexpectedly: {error!r}") from error

    def complain(self, source: Source, reason: str) -> None:
        """Report why a source cannot be replayed. The current replay stays."""
        # The reason may start with the name of the source.
        text = failure_message(
            f"{source.name} cannot be replayed", reason.removeprefix(f"{source.name}: ")
        )
        if self._state.opened is None:
            self._show_message(f"{text}\n\nPress Ctrl+O to choose a replay.")
        else:
            self.say(text, "error")
        self.screen.show_title()

    def _show_message(self, text: str) -> None:
        self._message.update(Content("\n".join(map(safe, text.split("\n")))))
        # Setting a class of the screen would restyle all of its widgets.
        self._message.display = bool(text)
        self._work.display = not text
        self._lesson.set_class(bool(text), "-covered")

    def title(self) -> BarItem:
        """Return the title, which names the current or pending replay."""
        opened, opening = self._state.opened, self.pending
        source = opening if opened is None else opened.source
        name = "choose…" if source is None else safe(self._name(source))
        words: list[Span] = [Span(fit_name(name, LONGEST_NAME), "heading")]
        short = fit_name(name, SHORTENED_NAME)
        if opened is not None and opening is not None:
            words = [Span(f"opening {safe(self._name(opening))}… Esc stops it")]
            short = "opening…"
        elif opened is not None:
            words.append(Span(f" ({pluralize(opened.replay.n_merges, 'merge')})"))
        shorter: tuple[Span, ...]
        shorter = Span(short, "heading"), Span(" ▾", "heading")
        return BarItem((*words, Span(" ▾", "key")), "screen.choose_replay", shorter, least=CUT_NAME)

    def _name(self, source: Source) -> str:
        """Return the current name of a source, which may be a renamed training."""
        opens = source.opens
        now = self.session.where(opens) if isinstance(opens, str) else opens
        return source.name if now == opens else source_named(str(now)).name
