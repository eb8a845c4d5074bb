"""Mask panel: the tokens of the current text that a model would learn from, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.timer import Timer
from textual.widgets import Static

from tokviz.chat.conversation import Conversation
from tokviz.chat.mask_text import EXAMPLE, MaskedText, mask_text
from tokviz.live.document import LiveDocument
from tokviz.text.glyphs import safe
from tokviz.tui.actions import action, bindings_of, declared_in
from tokviz.tui.messages import TextWanted, TokenPicked
from tokviz.tui.palette import TokenPalette
from tokviz.tui.tasks import in_thread
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.mask.base import MARKS, MaskTokenPicked, kept_pin, known_pin
from tokviz.tui.widgets.mask.counts import percent
from tokviz.tui.widgets.mask.flow import MaskFlow
from tokviz.tui.widgets.mask.why import why_content

PAUSE_SECONDS = 0.15
"""Seconds without a change after which the mask is computed again."""
MOST_CHARS = 1_000_000
"""The most characters of a text with a mask."""
_LOW_ROWS = 14
"""A panel with fewer rows describes a token briefly."""
_MOST_ROWS = {False: 5, True: 3}
"""The most rows of the description of the text, by whether the panel is low."""
_CUT = 8
"""Columns by which the description of the text is shortened until it fits."""


class _About(Static):
    """The description of the text, with links to actions of the panel."""

    async def action_of_panel(self, action: str) -> None:
        """Run the action of a link."""
        if isinstance(self.parent, MaskPanel):
            await self.parent.run_action(action)


class MaskPanel(Vertical):
    """The mask of the document's text, read as a conversation.

    A text in a template's format keeps its tokens, so they are marked in the editor too; a
    conversation as JSON is rendered first.
    """

    DEFAULT_CSS = """
    MaskPanel {
        #mask-about { height: auto; max-height: 5; padding: 0 1; color: $text-muted; }
        #mask-flow { height: 1fr; }
        #mask-why { height: 8; padding: 0 1; border-top: solid $border-quiet; }
        &.-low #mask-why { height: 3; border-top: none; }
        &.-low #mask-about { max-height: 3; }
        #mask-about:nocolor { link-style: underline; }
    }
    """

    @dataclass
    class ChatWanted(Message):
        """The user wants to see the conversation on the Chat screen."""

        conversation: Conversation

    def __init__(self, live: LiveDocument, palette: TokenPalette) -> None:
        """Take the document."""
        super().__init__()
        self.live = live
        self.masked: MaskedText | None = None
        self._problem = ""
        self.flow = MaskFlow(palette, id="mask-flow")
        self._about = _About(id="mask-about")
        self._why = Static(id="mask-why")
        self._at_cursor: int | None = None
        self._mask_state: tuple[int, object, bool] | None = None
        self._timer: Timer | None = None
        self.can_focus = False

    def compose(self) -> ComposeResult:
        """Yield the description of the text, its tokens, and the explanation of one of them."""
        yield self._about
        yield self.flow
        yield self._why

    def on_mount(self) -> None:
        """Show the mask."""
        self.sync()

    def on_resize(self, event: events.Resize) -> None:
        """Shorten the texts if there are few rows."""
        self.set_class(event.size.height < _LOW_ROWS, "-low")
        self.call_after_refresh(self._update_text)

    def _update_text(self) -> None:
        self._show_about()
        self._set_pin(self.flow.pinned)

    def focus(self, scroll_visible: bool = True, from_app_focus: bool = False) -> MaskPanel:
        """Focus the tokens."""
        self.flow.focus(scroll_visible)
        return self

    # -- called by the screen

    def sync(self) -> None:
        """Compute the mask again soon if the document has changed."""
        if self.is_up_to_date:
            return
        if self._timer is not None:
            self._timer.stop()
        delay = PAUSE_SECONDS if self.masked is not None else 0.001
        self._timer = self.set_timer(delay, self._start_masking)

    def set_marks(self, hover: int | None, pin: int | None, *, scroll: bool = False) -> None:
        """Mark the token at the cursor if the tokens are those of the document."""
        self._at_cursor = pin
        if self.masked is not None and self.is_of_text and self.is_up_to_date:
            self._set_pin(pin, scroll=scroll)

    @property
    def is_up_to_date(self) -> bool:
        """Whether the mask is that of the current text."""
        return self._mask_state == self._state()

    @property
    def is_of_text(self) -> bool:
        """Whether the tokens are those of the text, so that the editor can mark them too."""
        return self.masked is None or self.masked.aligned

    # -- computing the mask

    def _state(self) -> tuple[int, object, bool]:
        return self.live.revision, self.live.tokenizer, self.live.parse_specials

    def _start_masking(self) -> None:
        self._timer = None
        self.workers.cancel_group(self, "mask")
        tokenizer = self.live.tokenizer
        if tokenizer is None:
            return
        if not self.live.n_chars:
            self._mask_state = self._state()
            self._show(None, "The mask shows which tokens of a conversation a model learns from.")
            return
        if self.live.n_chars > MOST_CHARS:
            self._mask_state = self._state()
            self._show(None, f"Texts of more than {MOST_CHARS:,} characters are not masked here.")
            return
        state, text = self._state(), self.live.text
        in_thread(
            self,
            "mask",
            lambda task: mask_text(tokenizer, text, parse_specials=state[2]),
            lambda masked: self._take(state, masked, ""),
            failed=lambda error: self._take(state, None, str(error)),
        )

    def _take(
        self, state: tuple[int, object, bool], masked: MaskedText | None, problem: str
    ) -> None:
        self._mask_state = state
        self._show(masked, problem)
        if state != self._state():
            self.sync()

    def _show(self, masked: MaskedText | None, problem: str) -> None:
        self.masked, self._problem = masked, problem
        rendering = None if masked is None else masked.rendering
        kept = kept_pin(self.flow.pinned, self.flow.tokens, rendering)
        pin = self._at_cursor if masked is not None and masked.aligned else kept
        pin = known_pin(pin, rendering)
        self.flow.show(rendering, pin=pin)
        self._show_about()
        self._set_pin(pin)

    def _show_about(self) -> None:
        """Show the description of the text, shortened so that the links after it are visible."""
        masked, width = self.masked, self._about.content_size.width
        sentence = safe(self._problem if masked is None else masked.sentence)
        most = _MOST_ROWS[self.has_class("-low")]
        about = self._about_content(masked, sentence)
        while width and sentence and about.get_height({}, width) > most:
            sentence = fit(sentence, cell_len(sentence) - _CUT)
            about = self._about_content(masked, sentence)
        self._about.update(about)

    def _about_content(self, masked: MaskedText | None, sentence: str) -> Content:
        if masked is None:
            return Content.assemble(sentence, self._link("See an example", "e", "show_example"))
        rendering = masked.rendering
        share = percent(rendering.supervised_share)
        parts: list[Content | str | tuple[str, str]] = [
            (f"{MARKS[1]} {rendering.n_learned:,} learned", "bold $foreground"),
            (f" of {rendering.n_kept:,} tokens ({share}). ", ""),
            (sentence, ""),
        ]
        n_missing = len(rendering.virtual_specials) + len(rendering.missing_specials)
        if n_missing:
            tokens = "special token is" if n_missing == 1 else "special tokens are"
            parts.append((f" {n_missing} {tokens} not in the vocabulary.", ""))
        if not rendering.n_learned:
            parts += [self._link("See an example", "e", "show_example"), " ·"]
        if masked.conversation is not None:
            parts.append(self._link("Edit it on the Chat screen", "c", "show_in_chat"))
        return Content.assemble(*parts)

    def _link(self, title: str, key: str, action: str) -> Content:
        """Return a link, with its key if the tokens have the focus, when it works."""
        shown = f"{title} ({key})" if self.flow.has_focus else title
        link = Content.styled(shown, "$text-accent").stylize(
            Style.from_meta({"@click": f"of_panel('{action}')"})
        )
        return Content.assemble(" ", link)

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def _focus_moved(self) -> None:
        self._show_about()

    @action("Edit it on the Chat screen", "c", section="In the Mask panel")
    def action_show_in_chat(self) -> None:
        """Show the conversation on the Chat screen, where it can be changed."""
        if self.masked is not None and self.masked.conversation is not None:
            self.post_message(self.ChatWanted(self.masked.conversation))

    @action("Show an example of a conversation", "e", section="In the Mask panel")
    def action_show_example(self) -> None:
        """Replace the text with a short conversation. Undo restores the text."""
        self.post_message(TextWanted(EXAMPLE))

    # -- tokens

    def _set_pin(self, index: int | None, *, scroll: bool = False) -> None:
        index = known_pin(index, self.flow.tokens)
        self.flow.set_pin(index, scroll=scroll)
        conversation = None if self.masked is None else self.masked.conversation
        roles = [] if conversation is None else [m.role for m in conversation.messages]
        width = self._why.content_size.width or 40
        brief = self.has_class("-low")
        self._why.update(why_content(self.flow.tokens, index, roles, width, brief=brief))

    def on_mask_token_picked(self, event: MaskTokenPicked) -> None:
        """Explain a token, and go to it in the text if it is one of the text's tokens."""
        event.stop()
        self._set_pin(event.index)
        if self.is_of_text and self.is_up_to_date:
            self.post_message(TokenPicked(event.index))

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(declared_in(locals()))]
