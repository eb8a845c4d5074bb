"""From the conversation to its tokens: at once where that is quick, else in a thread."""

from __future__ import annotations

from typing import NamedTuple

from textual import work
from textual.timer import Timer
from textual.worker import get_current_worker

from tokviz.chat.conversation import Conversation, ConversationError
from tokviz.chat.lint import UNREADABLE, Finding, error_finding, lint
from tokviz.chat.render import Rendering, render
from tokviz.errors import TokvizError
from tokviz.tokenizer import Tokenizer
from tokviz.tui.screens.chat.base import ChatBase
from tokviz.tui.screens.chat.editing import text_at

QUICK_CHARS = 20_000
"""Text of at most so many characters is encoded within a key's time."""
KNOWN_CHARS = 1_000_000
"""A conversation of at most so many characters, all but the live part known, is quick too."""
LINT_SECONDS = 0.2
"""How long nothing must have changed before the findings are looked for."""


class Wanted(NamedTuple):
    """What is to be rendered."""

    conversation: Conversation
    template: str
    tokenizer: Tokenizer
    max_tokens: int


class RenderActions(ChatBase):
    """Renders, and looks for findings, whenever something changed."""

    findings: list[Finding]
    _wanted: Wanted | None = None
    _rendered: Wanted | None = None
    _lint_timer: Timer | None = None
    _prepared: Tokenizer | None = None
    """The tokenizer whose tables are known to be built: the first text then takes no longer."""

    def refresh_rendering(self, *, typed: bool = False) -> None:
        """Render the conversation, now or in a thread, and show what comes of it."""
        state = self.history.state
        wanted = Wanted(state.conversation, state.template, self.tokenizer, self.max_tokens)
        self._wanted = wanted
        if self._is_quick(wanted, typed):
            self._take(wanted, *self._make(wanted))
        else:
            self.show_rendering()
            self._render_in_thread(wanted)

    def _is_quick(self, wanted: Wanted, typed: bool) -> bool:
        is_remote = self.template.is_remote or wanted.tokenizer.remote
        if is_remote or wanted.tokenizer is not self._prepared:
            return False
        n_chars = sum(len(message.text) for message in wanted.conversation.messages)
        if n_chars <= QUICK_CHARS:
            return True
        known = self._rendered
        place = self.place
        return (
            typed
            and place is not None
            and known is not None
            and known[1:] == wanted[1:]
            and n_chars <= KNOWN_CHARS
            and len(text_at(wanted.conversation, place)) <= QUICK_CHARS
        )

    def _make(self, wanted: Wanted) -> tuple[Rendering | None, TokvizError | None]:
        if self.broken is not None and wanted.conversation is self.broken[0]:
            return None, self.broken[1]
        template = self.jinja.get(wanted.template) or wanted.template
        try:
            made = render(wanted.tokenizer, wanted.conversation, template, wanted.max_tokens)
        except TokvizError as error:
            return None, error
        return made, None

    @work(thread=True, exclusive=True, group="render", description="render", exit_on_error=False)
    def _render_in_thread(self, wanted: Wanted) -> None:
        worker = get_current_worker()
        wanted.tokenizer.prepare()
        made = self._make(wanted)
        if not worker.is_cancelled:
            self.call_here(self._take, wanted, *made)

    def _take(self, wanted: Wanted, rendering: Rendering | None, error: TokvizError | None) -> None:
        if wanted is not self._wanted:
            # Something else is wanted by now, and on its way.
            return
        self._rendered = wanted
        self._prepared = wanted.tokenizer
        self.rendering = rendering
        self.problem = error
        self.show_rendering()
        self._lint_soon()

    @property
    def is_waiting(self) -> bool:
        """Whether the tokens shown are not those of the present conversation yet."""
        return self._wanted is not self._rendered

    # -- findings

    def _lint_soon(self) -> None:
        """Look for findings once the user pauses: they need not follow every key."""
        if self._lint_timer is not None:
            self._lint_timer.stop()
        self._lint_timer = self.set_timer(LINT_SECONDS, self._lint_now)

    def _lint_now(self) -> None:
        self._lint_timer = None
        if self._rendered is not None and not self.is_waiting:
            self._lint_in_thread(self._rendered, self.rendering, self.problem)

    @work(thread=True, exclusive=True, group="lint", description="lint", exit_on_error=False)
    def _lint_in_thread(
        self, wanted: Wanted, rendering: Rendering | None, error: TokvizError | None
    ) -> None:
        worker = get_current_worker()
        if error is not None and not isinstance(error, ConversationError):
            error = ConversationError(str(error))
        if self.broken is not None and error is self.broken[1] and error is not None:
            found = [error_finding(UNREADABLE, error)]
        else:
            found = lint(wanted.conversation, rendering, error)
        if not worker.is_cancelled:
            self.call_here(self._take_findings, wanted, found)

    def _take_findings(self, wanted: Wanted, found: list[Finding]) -> None:
        if wanted is self._rendered:
            self.findings = found
            self.show_findings()

    def show_findings(self) -> None:
        """Show the newest findings everywhere."""
        raise NotImplementedError
