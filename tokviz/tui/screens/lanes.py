"""Documents of the current text in the other tokenizers, for every screen that shows them."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.compare.compared_documents import MOST_OTHERS, ComparedDocument, ComparedTokenizer
from tokviz.errors import TokvizError
from tokviz.formats.subprocess_loader import load
from tokviz.live.document import LiveDocument
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.screens.base import Controller
from tokviz.tui.tasks import Task
from tokviz.workspace.session import OthersChanged

SLICE_SECONDS = 0.1
"""Seconds between progress reports to the screen."""


class Lanes(Controller):
    """Loads the other tokenizers of the session, and updates their documents."""

    _changed: Callable[[], object]
    """Shows changed tokenizers or text."""
    _progressed: Callable[[], object]
    """Shows more tokens."""

    def set_up(self) -> None:
        """Create the other fields."""
        self._others = self.session.others
        self._is_encoding = False
        self._is_visible = False
        self.session.subscribe(OthersChanged, lambda _: self._others_changed())

    def _others_changed(self) -> None:
        self._changed()
        for other in self._others:
            if not other.n_requests:
                self._make(other)
        self._encode()

    def begin(self) -> None:
        """Load the tokenizers that were compared last, unless another screen did."""
        sources = dict.fromkeys(map(self.session.where, self.settings.compared))
        own = self.session.tokenizer_source
        if not self._others:
            wanted = [source for source in sources if source != own]
            self._others += map(ComparedTokenizer, wanted[:MOST_OTHERS])
        self.session.tell(OthersChanged())

    def rest(self) -> None:
        """Stop encoding while the screen is hidden."""
        self._is_visible = False

    def end(self) -> None:
        """Stop encoding and close the tokenizers."""
        self._is_visible = False
        for other in self._others:
            if other.tokenizer is not None:
                other.tokenizer.close()

    def follow(self) -> None:
        """Update the documents, because the screen is visible."""
        self._is_visible = True
        for other in self._others:
            if other.lane is not None and not other.lane.follow(self.session.live):
                other.lane = None
                self._make(other)
        self._encode()

    def add(self, other: ComparedTokenizer) -> None:
        """Compare with another tokenizer, loaded in a thread."""
        self._others.append(other)
        self.session.tell(OthersChanged())

    def _make(self, other: ComparedTokenizer) -> None:
        """Load a tokenizer if necessary, and create its document, in a thread."""
        live = self.session.live
        parts, parse, revision = live.parts(), live.parse_specials, live.revision
        other.n_requests += 1
        asked = other.n_requests

        def work(task: Task) -> tuple[Tokenizer, ComparedDocument]:
            tokenizer = other.tokenizer or load(other.source)
            tokenizer.prepare()
            return tokenizer, ComparedDocument(parts, tokenizer, parse, revision)

        def is_wanted() -> bool:
            return other in self._others and other.n_requests == asked

        def done(made: tuple[Tokenizer, ComparedDocument]) -> None:
            other.tokenizer, lane = made
            if other not in self._others:
                other.tokenizer.close()
            elif is_wanted():
                if lane.follow(self.session.live):
                    other.lane = lane
                    self.session.tell(OthersChanged())
                else:
                    self._make(other)

        def failed(error: TokvizError) -> None:
            if is_wanted():
                other.error = str(error)
                self.session.tell(OthersChanged())

        # Esc stops loading a tokenizer, but not reading the text again with a loaded one.
        loading = f"Loading {other.name}" if other.tokenizer is None else ""
        self.in_thread("lane", work, done, failed=failed, exclusive=False, stoppable=loading)

    def _encode(self) -> None:
        """Encode pending text in a thread while the screen is visible."""
        found = [other.lane.document for other in self._others if other.lane is not None]
        documents = [document for document in found if not document.settled]
        if documents and self._is_visible and not self._is_encoding:
            self._is_encoding = True
            self.in_thread("encoding", lambda task: self._work(task, documents), exclusive=False)

    def _work(self, task: Task, documents: list[LiveDocument]) -> None:
        done = False
        while self._is_visible and not done and not task.cancelled:
            seconds = SLICE_SECONDS / len(documents)
            done = all([document.encode_pending(seconds) for document in documents])
            task.tell(self._progressed)
        task.tell(self._worked)

    def _worked(self) -> None:
        self._is_encoding = False
        if self._is_visible:
            self._encode()
