"""The user's text: shown as tokens, or edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from tokviz.live.document import LiveDocument
from tokviz.tui.screens.replay.frames import Frame
from tokviz.tui.screens.replay.position import Position
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.editor import TokenEditor
from tokviz.tui.widgets.token_text import TokenText

if TYPE_CHECKING:
    from tokviz.replay.text import ReplayText
    from tokviz.tui.palette import TokenPalette

_ROOMY_COLUMNS = 46
"""From this width on there is room for every button."""
MOST_CHARS = 1_000_000
"""A longer text is cut."""


class OwnText(Vertical):
    """A text with its tokens after any merge; an editor takes its place while it is edited."""

    DEFAULT_CSS = """
    OwnText {
        #own-head { height: 1; }
        #own-tokens { height: 1fr; }
        TokenEditor, TokenEditor:focus { height: 1fr; border: none; }
        &.-editing #own-tokens { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.edit_text", show=False),
    ]

    class Changed(Message):
        """There is another text now."""

    def __init__(self, palette: TokenPalette, *, show_invisibles: bool, id: str) -> None:
        """Begin with an empty text.

        Args:
            palette: How tokens look.
            show_invisibles: Whether spaces, line ends and the like are drawn as glyphs.
            id: The widget's id.
        """
        super().__init__(id=id)
        self.text = ""
        """The text, as byte text."""
        self.revision = 0
        """Grows with every other text."""
        self.is_own = False
        """Whether the user has typed or given it, so that no other text may take its place."""
        self.prepared: ReplayText | None = None
        """The text prepared for the replay, None until it is."""
        self._palette = palette
        self._show_invisibles = show_invisibles
        self._specials: frozenset[int] = frozenset()
        self._editor: TokenEditor | None = None
        self._counts = ""

    def compose(self) -> ComposeResult:
        """Yield the heading and the tokens."""
        self.head = Bar(id="own-head")
        self.tokens = TokenText(
            self._palette, show_invisibles=self._show_invisibles, id="own-tokens"
        )
        yield self.head
        yield self.tokens

    def on_mount(self) -> None:
        """Fill the heading."""
        self._show_head("")

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        self._palette = palette
        self.tokens.set_palette(palette)
        if self._editor is not None:
            self._editor.set_palette(palette)

    def set_text(self, text: str, *, is_own: bool) -> None:
        """Show another byte text; its tokens come with the next frame."""
        self.text = text[:MOST_CHARS]
        self.is_own = is_own
        self.revision += 1
        self.prepared = None
        self.tokens.show_text(self.text, self._specials)
        self._show_head("")
        self.post_message(self.Changed())

    def set_specials(self, specials: frozenset[int]) -> None:
        """Tell which ids are special tokens'."""
        if specials != self._specials:
            self._specials = specials
            self.tokens.show_text(self.text, specials)

    def show_frame(self, frame: Frame, position: Position, *, follow: bool) -> None:
        """Show the tokens before or after a merge.

        Args:
            frame: What has been worked out.
            position: Which of the two is shown.
            follow: Whether to scroll to the first place where the merge happens.
        """
        if frame.revision != self.revision or frame.own is None:
            return
        tokens = frame.own.after if position.merged else frame.own.before
        self.tokens.show_tokens(tokens)
        n_tokens = len(tokens.ids)
        if not n_tokens:
            self._show_head("empty: Enter or a click on edit begins one")
            return
        n_bytes = int(tokens.byte_ends[-1])
        n_lit = len(tokens.lit_starts)
        here = f" · {n_lit:,}× here" if n_lit else " · not here" if position.number else ""
        self._show_head(f"{n_tokens:,} tokens · {n_bytes / n_tokens:.2f} bytes/token{here}")
        if follow:
            self.tokens.reveal_lit()

    def on_resize(self) -> None:
        """Show the buttons that there is room for."""
        self._show_head(self._counts)

    def _show_head(self, counts: str) -> None:
        self._counts = counts
        left = [
            BarItem((("Your text", "active"),), "", (("Yours", "active"),)),
            BarItem(((counts, "plain"),), "", ((counts.split(" · ")[0], "plain"),)),
        ]
        if self.is_editing:
            buttons = [BarItem((("done", "key"),), "screen.leave")]
        else:
            buttons = [
                BarItem((("edit", "key"),), "screen.edit_text"),
                BarItem((("from Tokens", "key"),), "screen.text_at_hand"),
            ][: 2 if self.size.width >= _ROOMY_COLUMNS else 1]
        self.head.show(left, buttons)

    # -- editing

    @property
    def is_editing(self) -> bool:
        """Whether the editor is there."""
        return self._editor is not None

    def edit(self) -> None:
        """Put an editor in the place of the tokens."""
        if self._editor is None:
            self._editor = TokenEditor(
                LiveDocument(self.text, None),
                self._palette,
                show_invisibles=self._show_invisibles,
                id="own-editor",
            )
            self.add_class("-editing")
            self.mount(self._editor)
            self._show_head("type or paste")
        self._editor.focus()

    def end_edit(self) -> None:
        """Show the tokens of what was typed."""
        editor = self._editor
        if editor is None:
            return
        text = editor.live.text
        self._editor = None
        editor.remove()
        self.remove_class("-editing")
        if text != self.text:
            self.set_text(text, is_own=True)
        else:
            self._show_head("")
            self.post_message(self.Changed())
        self.tokens.focus()
