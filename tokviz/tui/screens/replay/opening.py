"""Choosing and opening what is replayed."""

from __future__ import annotations

from pathlib import Path

from textual import work
from textual.worker import get_current_worker

from tokviz.errors import TokvizError
from tokviz.formats.run import is_run
from tokviz.replay.request import ReplayRequest
from tokviz.session import ShowScreen, UseTokenizer
from tokviz.tui.screens.replay.base import ReplayBase
from tokviz.tui.screens.replay.compiling import compile_first
from tokviz.tui.screens.replay.opened import Opened, open_source
from tokviz.tui.screens.replay.sources import Source, path_label

_COMPILING = (
    "Making machine code for this computer. It is kept: a large training waits for it only once."
)
TAKES = "Type the path of a run folder or of a tokenizer file, or look for one with Ctrl+O."


class OpeningActions(ReplayBase):
    """Opens trainings and vocabularies in a thread: the newest choice wins."""

    opening: Source | None = None
    """What is being opened."""

    def action_choose_replay(self) -> None:
        """List what there is."""
        from tokviz.tui.screens.replay.source_dialog import SourceDialog

        dialog = SourceDialog("Replay", [self.at_hand()], self.runs(), takes_files=TAKES)
        self.app.push_screen(dialog, self._chosen)

    def _chosen(self, source: Source | None) -> None:
        if source is not None:
            self.open_source(source)

    def take_request(self, request: ReplayRequest) -> None:
        """Show what was asked for elsewhere: on the command line or on another screen."""
        if request.text is not None:
            self.own.set_text(request.text, is_own=True)
        name = Path(request.source).name or request.source
        self.open_source(Source(name, "", request.source), request)

    def open_source(self, source: Source, request: ReplayRequest | None = None) -> None:
        """Open something; what is shown stays until it is there."""
        self.opening = source
        self.show_opening(source)
        self._open(source, request)

    @work(thread=True, exclusive=True, group="open", description="open", exit_on_error=False)
    def _open(self, source: Source, request: ReplayRequest | None) -> None:
        worker = get_current_worker()
        try:
            if isinstance(source.opens, str) and is_run(source.opens):
                compile_first(source.opens, lambda: worker.is_cancelled, self._say_compiling)
            opened = open_source(source)
        except TokvizError as error:
            if not worker.is_cancelled:
                self.call_here(self._not_opened, source, str(error))
            return
        except Exception as error:
            self.call_here(self._not_opened, source, f"It failed unexpectedly: {error!r}")
            return
        if not worker.is_cancelled:
            self.call_here(self._take_opened, opened, request)

    def _say_compiling(self) -> None:
        self.call_here(self.say, _COMPILING)

    def _not_opened(self, source: Source, reason: str) -> None:
        if source is self.opening:
            self.opening = None
            self.show_problem(source, reason)

    def _take_opened(self, opened: Opened, request: ReplayRequest | None) -> None:
        if opened.source is self.opening:
            self.opening = None
            self.show_opened(opened, request)

    def action_use_replayed(self) -> None:
        """Show the Tokens screen with the tokenizer that is replayed."""
        if self.opened is not None:
            opens = self.opened.source.opens
            if isinstance(opens, str):
                self.session.ask(UseTokenizer(opens))
            else:
                self.session.ask(ShowScreen("tokens"))

    def source_name(self) -> str:
        """Say what is replayed."""
        if self.opened is None:
            return "" if self.opening is None else self.opening.name
        return self.opened.source.name or path_label(self.opened.source.opens)

    def show_opening(self, source: Source) -> None:
        """Show that something is being opened."""
        raise NotImplementedError

    def show_problem(self, source: Source, reason: str) -> None:
        """Say why something could not be opened."""
        raise NotImplementedError

    def show_opened(self, opened: Opened, request: ReplayRequest | None) -> None:
        """Show what has been opened."""
        raise NotImplementedError
