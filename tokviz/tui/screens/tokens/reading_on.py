"""Reading the rest of a long text whose head is shown already."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.text import Text

from tokviz.errors import TokvizError
from tokviz.glyphs import safe
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.tokens.encoding import SLICE_SECONDS
from tokviz.tui.screens.tokens.text import TextAtHand
from tokviz.tui.tasks import Task


class ReadingOn(Controller):
    """Brings the text that follows the head. Keys wait until it is there.

    Attributes:
        share: How much of the text is there, from 0 to 1; None once all of it is.
    """

    def __init__(
        self, screen: TokvizScreen, text: TextAtHand, show_status: Callable[[], object]
    ) -> None:
        """Take the text, and what shows how far it is."""
        super().__init__(screen)
        self._text, self._show_status = text, show_status
        self.share = 0.0 if text.live.has_rest else None

    def start(self, then: Callable[[], object]) -> None:
        """Read on, and call `then` once the whole text is there; the app ends if that fails."""
        live, state = self._text.live, self.session.state_read
        n_bytes = state.n_bytes if state else 0

        def read(task: Task) -> None:
            told = time.monotonic()
            for n_read in live.read_on():
                if task.cancelled:
                    break
                if time.monotonic() - told > SLICE_SECONDS:
                    task.tell(self._tell, min(n_read / max(n_bytes, n_read), 1.0))
                    told = time.monotonic()

        def done(nothing: None) -> None:
            live.append_rest()
            self.share = None
            self._text.editor.lay_out_anew()
            self._text.refresh()
            then()

        def failed(error: TokvizError) -> None:
            self.app.exit(return_code=1, message=Text(f"tokviz: {safe(str(error))}"))

        self.in_thread("open", read, done, failed=failed)

    def _tell(self, share: float) -> None:
        self.share = share
        self._show_status()
