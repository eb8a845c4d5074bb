"""Panels of the Replay screen: the corpus, the curves, and the user's text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from time import monotonic
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from tokviz.live.backlog import LARGE
from tokviz.live.document import LiveDocument
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import LEADER, action
from tokviz.tui.palette import TokenPalette, palette_of
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.replay.merge_frame import corpus_rows
from tokviz.tui.screens.replay.state import Opened, ReplayState
from tokviz.tui.screens.replay.transport import Transport
from tokviz.tui.screens.replay.views import Views
from tokviz.tui.screens.why import Asked, asked_at, asked_in
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.bar import Bar, BarItem, columns
from tokviz.tui.widgets.cursor_curve import CursorCurve
from tokviz.tui.widgets.editor import TokenEditor
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Row, Span
from tokviz.tui.widgets.token_text import TokenText


class CorpusSide(Vertical):
    """The corpus as tokens, below a line with their count."""

    def __init__(self, state: ReplayState, palette: TokenPalette, *, id: str) -> None:
        """Create an empty panel."""
        super().__init__(id=id)
        self._state = state
        self.head = Bar(id="corpus-head")
        self.tokens = RowsView(palette, id="corpus")

    def compose(self) -> ComposeResult:
        """Yield the line and the tokens."""
        yield self.head
        yield self.tokens

    def on_resize(self) -> None:
        """Keep the last rung of a ladder in view when a lesson grows."""
        self.show_frame()

    def show_frame(self) -> None:
        """Show the corpus before or after the merge of the current frame."""
        opened, frame, position = self._state.opened, self._state.frame, self._state.shown
        if opened is None or frame is None:
            self.tokens.show(lambda width: ())
            self.head.show([BarItem((Span("Corpus", "heading"),))])
            return
        replay, ladder = opened.replay, opened.ladder
        lit = self._state.lit_pre_token
        token, is_tiny = replay.tokenizer.token_bytes, replay.is_tiny

        def rows(width: int) -> Sequence[Row]:
            if ladder is not None:
                return ladder.rows(position, width, lit)
            return corpus_rows(frame, position, token, is_whole=is_tiny, width=width, lit=lit)

        self.tokens.show(rows, from_top=ladder is None and not is_tiny)
        if ladder is not None:
            last = len(self.tokens.rows) - 1
            self.tokens.show_row(last)
            # Scroll to the start of the last rung, which may be higher than the view. While the
            # view is hidden, its rows still belong to the previous replay.
            rungs = enumerate(self.tokens.rows)
            heads = (n for n, row in rungs if row and row[0].role == "heading")
            self.tokens.show_row(next(heads, last))
        n_tokens = replay.state(position.n_done).n_tokens
        self.head.show(
            [BarItem((Span("Corpus", "heading"),)), _counts(n_tokens, replay.n_bytes or 0)]
        )


def _counts(n_tokens: int | None, n_bytes: int) -> BarItem:
    if n_tokens is None:
        return BarItem((Span("not known"),))
    counts = pluralize(n_tokens, "token")
    ratio = f" · {n_bytes / max(n_tokens, 1):.2f} bytes/token"
    return BarItem((Span(counts + ratio),), "", (Span(counts),))


class Curves(Vertical):
    """Compression and counts over all merges."""

    def __init__(self, state: ReplayState, *, id: str) -> None:
        """Create empty curves."""
        super().__init__(id=id)
        self._state = state
        self.compression = CursorCurve(id="compression")
        self.counts = CursorCurve(id="counts")

    def compose(self) -> ComposeResult:
        """Yield both curves."""
        yield self.compression
        yield self.counts

    def show(self, opened: Opened) -> None:
        """Show the curves of another replay."""
        self.compression.show(opened.compression)
        self.counts.show(opened.counts)

    def set_scale(self, is_log: bool) -> None:
        """Draw both curves on a linear or a logarithmic scale."""
        self.compression.set_scale(is_log)
        self.counts.set_scale(is_log)

    def show_merge(self) -> None:
        """Move the cursors to the current merge."""
        state, number = self._state, self._state.position.n_done
        if state.replay is None:
            return
        ratio, text = state.replay.state(number).bytes_per_token, state.prepared
        if ratio is None and text is not None and text.data:
            ratio = len(text.data) / max(text.n_tokens(number), 1)
        self.compression.set_cursor(number, "" if ratio is None else f"{ratio:.2f}")
        count = None if state.step is None else state.step.count
        self.counts.set_cursor(number, "" if count is None else f"{count:,}")


REST_SECONDS = 0.25
"""Seconds at a merge before your text is scrolled to where it merges."""
_ROOMY_COLUMNS = 46
"""From this width on, all buttons fit."""


class _Tokens(TokenText):
    """The text outside of the editor."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "screen.edit_text", "edit")]


class OwnText(Vertical):
    """A text with its tokens after any merge, or an editor of the text."""

    def __init__(
        self, state: ReplayState, palette: TokenPalette, *, show_invisibles: bool, id: str
    ) -> None:
        """Create the widget.

        Args:
            state: Holds the text.
            palette: The styles of tokens.
            show_invisibles: Whether to draw spaces and line ends as glyphs.
            id: The widget's id.
        """
        super().__init__(id=id)
        self._state = state
        self._show_invisibles = show_invisibles
        self._editor: TokenEditor | None = None
        self._facts: tuple[str, ...] = ()
        self._shown_at = 0.0
        self.head = Bar(id="own-head")
        self.tokens = _Tokens(palette, show_invisibles=show_invisibles, id="own-tokens")

    def compose(self) -> ComposeResult:
        """Yield the heading and the tokens."""
        yield self.head
        yield self.tokens

    def on_mount(self) -> None:
        """Fill the heading."""
        # A text that jumps while the user scrubs cannot be read.
        self._rest = self.set_interval(REST_SECONDS, self._come_to_rest, pause=True)
        self._show_head()

    def show_text(self) -> None:
        """Show the text of the state; its tokens come with the next frame."""
        replay = self._state.replay
        specials = () if replay is None else replay.tokenizer.special_tokens.values()
        self.tokens.show_text(self._state.text, frozenset(specials))
        self._show_head()

    def show_frame(self) -> None:
        """Show the tokens before or after the merge of the current frame."""
        state = self._state
        frame, position = state.frame, state.shown
        if frame is None or frame.own is None or frame.revision != state.revision:
            return
        tokens = frame.own.after if position.merged else frame.own.before
        self.tokens.show_tokens(tokens)
        n_tokens = len(tokens.ids)
        if not n_tokens:
            self._show_head("empty: press Enter or click “edit” to type")
            return
        n_bytes = int(tokens.byte_ends[-1])
        n_lit = len(tokens.highlight_starts)
        places = pluralize(n_lit, "place") if n_lit else "no place"
        here = [f"merged in {places}"] if position.number else []
        specials = [] if state.parse_specials else ["specials: text"]
        ratio = f"{n_bytes / n_tokens:.2f} bytes/token"
        self._show_head(pluralize(n_tokens, "token"), *here, *specials, ratio)
        before, self._shown_at = self._shown_at, monotonic()
        self._rest.pause()
        if self._shown_at - before > REST_SECONDS and not state.player.playing:
            self.tokens.reveal_highlight()
        elif not state.player.playing:
            self._rest.reset()
            self._rest.resume()

    def _come_to_rest(self) -> None:
        self._rest.pause()
        if not self._state.player.playing:
            self.tokens.reveal_highlight()

    def on_resize(self) -> None:
        """Show the buttons that fit."""
        self._show_head(*self._facts)

    def _show_head(self, *facts: str) -> None:
        """Show as many facts as fit, the most important first."""
        self._facts = facts
        if self.is_editing:
            buttons = [BarItem((Span("done", "key"), Span(" F5")), "screen.edit_text")]
        else:
            buttons = [
                BarItem((Span("edit", "key"),), "screen.edit_text"),
                BarItem((Span("from Tokens", "key"),), "screen.text_at_hand"),
            ][: 2 if self.size.width >= _ROOMY_COLUMNS else 1]
        title = BarItem((Span("Your text", "heading"),), "", (Span("Yours", "heading"),))
        counts = BarItem((Span(" · ".join(facts)),))
        while len(facts) > 1 and columns([title, counts, *buttons]) > self.size.width:
            facts = facts[:-1]
            counts = BarItem((Span(" · ".join(facts)),))
        self.head.show([title, counts], buttons)

    # -- editing

    @property
    def is_editing(self) -> bool:
        """True while the text is edited."""
        return self._editor is not None

    @property
    def is_edited(self) -> bool:
        """True if the editor holds unsaved changes of the text."""
        return self._editor is not None and self._editor.live.text != self._state.text

    def edit(self, *, is_sample: bool) -> None:
        """Open the editor, in which typing replaces a sample text."""
        if self._editor is None:
            state = self._state
            live = LiveDocument(state.text, self._now(), parse_specials=state.parse_specials)
            self._editor = editor = TokenEditor(
                live,
                palette_of(self.app),
                show_invisibles=self._show_invisibles,
            )
            editor.should_replace_all = lambda: is_sample and editor.history.version is None
            editor.on_edited = self._encode_long
            self._encode_long()
            self.add_class("-editing")
            self.mount(self._editor)
            self._show_head("type or paste")
        self._editor.focus()

    def show_merge(self) -> None:
        """Color the edited text by its tokens after the current merge."""
        if self._editor is not None:
            self._editor.live.set_tokenizer(self._now())
            self._editor.refresh()
            self._encode_long()

    def _encode_long(self) -> None:
        """Encode long chunks in a thread; drawing encodes the others."""
        editor = self._editor
        if editor is None or all(chunk.n_chars <= LARGE for chunk in editor.live.chunks()):
            return

        def work(task: Task) -> None:
            while self._editor is editor and not task.cancelled:
                if editor.live.encode_pending(0.1):
                    return

        in_thread(self, "own text", work, lambda _: editor.refresh())

    def _now(self) -> Tokenizer | None:
        """Return the tokenizer after the current position's merges."""
        replay = self._state.replay
        return None if replay is None else replay.tokenizer_after(self._state.position.n_done)

    def asked(self, tokenizer: Tokenizer) -> Asked | str | None:
        """Return the token for "Why?" at the cursor or the last click, otherwise None."""
        editor, tokens = self._editor, self.tokens
        if editor is not None and editor.has_focus:
            return asked_in(editor, tokenizer)
        if tokens.asked is not None and tokens.has_focus:
            return asked_at(tokens.live, tokens.asked, tokenizer)
        return None

    def end_edit(self) -> str:
        """Close the editor, and return the edited text."""
        editor, self._editor = self._editor, None
        if editor is None:
            return self._state.text
        editor.remove()
        self.remove_class("-editing")
        self._show_head()
        self.tokens.focus()
        return editor.live.text


class YourText(Controller):
    """Use the text of the Tokens screen, or one typed here."""

    _state: ReplayState
    _own: OwnText
    _transport: Transport
    _views: Views
    _changed: Callable[[], object]
    _taken: tuple[int, str] | None = field(default=None, init=False)
    """Revision and content of the last text taken from the Tokens screen."""

    def show(self, text: str, *, is_own: bool) -> None:
        """Show another byte text.

        Args:
            text: The text.
            is_own: Whether the user typed or chose it, so that it must not be replaced.
        """
        self._own.end_edit()
        parse_specials = self.session.live.parse_specials
        self._state.take_text(text, is_own=is_own, parse_specials=parse_specials)
        self._own.show_text()
        self._changed()

    @action("Edit your text, or stop editing", "f5", section="Your text", footer="your text")
    def edit_text(self) -> None:
        """Type or paste your own text. The same key shows its tokens again."""
        if self._own.is_editing:
            self.end_edit()
            return
        self._transport.pause()
        self._views.show_view("texts", focus=False)
        self._own.edit(is_sample=self.session.is_sample and not self._state.is_own)

    def end_edit(self) -> None:
        """Close the editor, and show the tokens of the new text."""
        text = self._own.end_edit()
        if text != self._state.text:
            self.show(text, is_own=True)
        else:
            self._changed()

    @action("Use the text of the Tokens screen", f"{LEADER} u", section="Your text")
    def text_at_hand(self) -> None:
        """Replace your text with the text of the Tokens screen."""
        live = self.session.live
        self._taken = (live.revision, live.text)
        self.show(live.text, is_own=False)

    def take_text_at_hand(self) -> None:
        """Use the text of the Tokens screen, unless the user has chosen another one here.

        Special tokens are read the same way on both screens.
        """
        live, state = self.session.live, self._state
        if self._own.is_edited:
            return
        if not state.is_own and self._taken != (live.revision, live.text):
            self.text_at_hand()
        elif state.parse_specials != live.parse_specials:
            self.show(state.text, is_own=state.is_own)
