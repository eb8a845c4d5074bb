"""Which tokenizers are compared: loading them, and keeping their documents at the text at hand."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.compare.lanes import Lane
from tokviz.errors import TokvizError
from tokviz.formats.apart import load
from tokviz.live.document import LiveDocument
from tokviz.session import source_of
from tokviz.tokenizer import Tokenizer
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.choosing import TOKENIZER_WORDS, tokenizer_picker
from tokviz.tui.screens.compare.state import MOST_OTHERS, CompareState, Other
from tokviz.tui.tasks import Task

SLICE_SECONDS = 0.1
"""How often the screen hears of progress."""


class Compared(Controller):
    """The other tokenizers: chosen by the user, loaded and encoded in threads, remembered."""

    def __init__(
        self,
        screen: TokvizScreen,
        state: CompareState,
        changed: Callable[[], object],
        progressed: Callable[[], object],
    ) -> None:
        """Take the state, what shows other tokenizers or text, and what shows more tokens."""
        super().__init__(screen)
        self._state, self._changed, self._progressed = state, changed, progressed
        self._is_encoding = False
        self._is_seen = False

    def begin(self) -> None:
        """Load what was compared last."""
        sources = dict.fromkeys(map(self.session.where, self.settings.compared))
        own = self.session.tokenizer_source
        for source in [source for source in sources if source != own][:MOST_OTHERS]:
            self._add(Other(source))

    def rest(self) -> None:
        """Encode nothing while the screen is not seen."""
        self._is_seen = False

    def end(self) -> None:
        """End with the app."""
        self._is_seen = False
        for other in self._state.others:
            if other.tokenizer is not None:
                other.tokenizer.close()

    def follow(self) -> None:
        """Take up what has become of the text; the screen is seen."""
        self._is_seen = True
        for other in self._state.others:
            if other.lane is not None and not other.lane.follow(self.session.live):
                other.lane = None
                self._make(other)
        self._encode()

    # -- what the user does

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
            self._add(Other(source, tokenizer))
            self._remember()

        self.ask(picker, picked)

    @action("Remove the last tokenizer", "x", "delete", section="Tokenizers",
            when=lambda self: bool(self._state.others), call="remove_tokenizer(0)")  # fmt: skip
    def remove_tokenizer(self, number: int) -> None:
        """Compare with one less. The × in the table removes another one."""
        other = self._state.others.pop(number - 1)
        if other.tokenizer is not None:
            other.tokenizer.close()
        base = self._state.base
        gone = number or len(self._state.others) + 1
        self._state.base = 0 if base == gone else base - (base > gone)
        self._remember()
        self._changed()

    def _remember(self) -> None:
        self.session.change_settings(compared=tuple(one.source for one in self._state.others))

    # -- loading and encoding

    def _add(self, other: Other) -> None:
        self._state.others.append(other)
        self._changed()
        self._make(other)

    def _make(self, other: Other) -> None:
        """Load a tokenizer if need be, and make the document, in a thread."""
        live = self.session.live
        texts, parse, revision = live.chunk_texts(), live.parse_specials, live.revision
        other.asked += 1
        asked = other.asked

        def work(task: Task) -> tuple[Tokenizer, Lane]:
            tokenizer = other.tokenizer or load(other.source)
            tokenizer.prepare()
            return tokenizer, Lane(texts, tokenizer, parse, revision)

        def is_wanted() -> bool:
            return other in self._state.others and other.asked == asked

        def done(made: tuple[Tokenizer, Lane]) -> None:
            other.tokenizer, lane = made
            if other not in self._state.others:
                other.tokenizer.close()
            elif is_wanted():
                if lane.follow(self.session.live):
                    other.lane = lane
                    self._changed()
                    self._encode()
                else:
                    self._make(other)

        def failed(error: TokvizError) -> None:
            if is_wanted():
                other.error = str(error)
                self._changed()

        self.in_thread(
            "lane", work, done, failed=failed, exclusive=False, stoppable=f"Loading {other.name}"
        )

    def _encode(self) -> None:
        """See to it that what waits is encoded, while the screen is seen."""
        documents = [one for one in self._state.documents[1:] if one and not one.settled]
        if documents and not self._is_encoding:
            self._is_encoding = True
            self.in_thread("encoding", lambda task: self._work(task, documents), exclusive=False)

    def _work(self, task: Task, documents: list[LiveDocument]) -> None:
        done = False
        while self._is_seen and not done and not task.cancelled:
            seconds = SLICE_SECONDS / len(documents)
            done = all([document.encode_pending(seconds) for document in documents])
            task.tell(self._progressed)
        task.tell(self._worked)

    def _worked(self) -> None:
        self._is_encoding = False
        if self._is_seen:
            self._encode()
