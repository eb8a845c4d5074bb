"""Base classes of dialogs: frame, search field, hints, and results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual import events, messages
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Static

from tokviz.text.glyphs import safe
from tokviz.tui.base_screen import BaseScreen
from tokviz.tui.sizes import TINY_COLUMNS, set_classes
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import MOVES, RowList
from tokviz.tui.widgets.spans import Span

ResultT = TypeVar("ResultT")
RowT = TypeVar("RowT")

Hint = tuple[str, str, str]
"""A key as displayed, its effect, and the dialog's action that a click runs."""


def field_row(field: Field) -> Horizontal:
    """Return a row with a prompt and a field."""
    return Horizontal(Static("›", classes="prompt"), field, classes="field-row")


def rule(*, id: str | None = None) -> Static:
    """Return a horizontal line."""
    return Static("─" * 200, classes="rule", id=id)


class HintBar(Static):
    """The last line of a dialog: its keys, which the user can also click."""

    DEFAULT_CSS = """
    HintBar {
        height: 1;
        color: $text-muted;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, hints: Sequence[Hint]) -> None:
        """Create the bar; a narrow dialog hides the last hints."""
        super().__init__()
        self.auto_links = False
        self._hints = hints

    def show(self, hints: Sequence[Hint]) -> None:
        """Replace the hints."""
        self._hints = hints
        self.update(hint_content(hints, self.size.width))

    def on_resize(self, event: events.Resize) -> None:
        """Show the hints that fit."""
        self.update(hint_content(self._hints, event.size.width))


def hint_content(hints: Sequence[Hint], width: int) -> Content:
    """Return the hints that fit in a row, each one clickable.

    If even the first two do not fit, show their keys only.
    """
    while len(hints) > 2 and _width(hints) > width:
        hints = hints[:-1]
    if _width(hints) > width:
        hints = [(key, "", action) for key, _, action in hints]
    parts: list[Content | str] = []
    for key, verb, action in hints:
        hint = Content.assemble((key, "bold $text-accent"), f" {verb}" if verb else "")
        if action:
            hint = hint.stylize(Style.from_meta({"@click": f"screen.{action}"}))
        parts += [_GAP, hint] if parts else [hint]
    return Content.assemble(*parts)


def _width(hints: Sequence[Hint]) -> int:
    return len(_GAP.join(f"{key} {verb}" for key, verb, _ in hints))


_GAP = "   "

WIDE_COLUMNS, HIGH_LINES = 44, 12
"""In a smaller terminal, dialogs have no frame and fill the screen."""


class Modal(ModalScreen[ResultT], BaseScreen[ResultT], Generic[ResultT]):
    """A screen on top of another one that returns one result.

    Two keys can arrive in one read. The second one is then on its way to a dialog that the first
    one closes, so a closing dialog ignores it.
    """

    _ENDING = (
        events.Callback,
        events.ScreenSuspend,
        events.Unmount,
        messages.CloseMessages,
        messages.Prune,
    )
    """Messages that a closing dialog needs."""

    _is_over = False
    _late: tuple[ResultT | None] | None = None

    def dismiss(self, result: ResultT | None = None) -> AwaitComplete:
        """Close with a result; only the first result counts.

        If another dialog is on top, close once that one has closed.
        """
        if self._is_over or self._late is not None:
            return AwaitComplete()
        if self.app.screen is not self:
            self._late = (result,)
            return AwaitComplete()
        self._is_over = True
        return super().dismiss(result)

    def on_screen_resume(self) -> None:
        """Take input, or close with a result that arrived while another dialog was on top."""
        # Before the first layout, a click would hit another row than the displayed one.
        self.call_after_refresh(self.set_ready)
        if self._late is not None:
            (result,), self._late = self._late, None
            self.dismiss(result)

    def give_up(self) -> None:
        """Close without a result, because the user switches to another screen."""
        self.dismiss(None)

    def accepts(self, message: Message) -> bool:
        """Ignore input once the dialog is closing."""
        return not self._is_over or isinstance(message, self._ENDING)


class Dialog(Modal[ResultT], Generic[ResultT]):
    """A modal dialog in the middle of the screen, or on all of a small screen.

    A subclass yields its content in `compose_body` and closes with `dismiss(result)`. Esc, a click
    outside or a click on the Esc hint close it with None.
    """

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $veil;

        #dialog {
            width: 76;
            max-width: 100%;
            height: auto;
            max-height: 100%;
            padding: 0 1;
            background: $surface;
            border: round $border-quiet;
            border-title-color: $foreground;
            border-title-style: bold;
        }
        .rule { height: 1; color: $border-quiet; }
        .error { height: auto; max-height: 3; color: $error; display: none; }
        .note { height: auto; color: $text-muted; }
        .field-row { height: 1; }
        .field-row Field { width: 1fr; }
        .prompt { width: auto; color: $text-accent; padding: 0 1 0 0; }

        &.-tiny #dialog, &.-narrow #dialog, &.-short #dialog { border: none; width: 100%; }
        &.-short .rule { display: none; }
        &.-short .error { max-height: 2; }
        &.-short .note { display: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", show=False)]

    dialog_title = ""
    """The title in the frame."""
    verb = "choose"
    """The effect of Enter, as shown in the hints."""
    rows_wanted: ClassVar[int | None] = None
    """Rows between the frame's borders, None for as many as needed."""

    def compose(self) -> ComposeResult:
        """Yield the frame with the body and the hints."""
        with Vertical(id="dialog") as frame:
            frame.border_title = self.dialog_title
            yield from self.compose_body()
            yield HintBar(self.hints())

    @abstractmethod
    def compose_body(self) -> ComposeResult:
        """Yield the widgets inside the frame, above the hints."""

    def hints(self) -> Sequence[Hint]:
        """Return the hints of the last line."""
        return [("Enter", self.verb, "choose"), ("Esc", "cancel", "cancel")]

    def show_hints(self) -> None:
        """Update the displayed hints."""
        self.query_one(HintBar).show(self.hints())

    def wanted_height(self) -> int | None:
        """Return the preferred number of rows between the frame's borders, None for automatic."""
        return self.rows_wanted

    def on_mount(self) -> None:
        """Fit the frame before the first resize event, which arrives after the first drawing."""
        self._fit(self.app.size)

    def on_resize(self, event: events.Resize) -> None:
        """Keep the frame inside the screen."""
        self._fit(event.size)

    def _fit(self, size: Size) -> None:
        is_wide, is_high = size.width >= WIDE_COLUMNS, size.height >= HIGH_LINES
        is_tiny = size.width < TINY_COLUMNS
        classes = {
            "-tiny": is_tiny,
            "-narrow": not is_tiny and not is_wide,
            "-framed": is_wide and is_high,
            "-short": not is_high,
        }
        set_classes(self, classes)
        self.fit_height(size)

    def fit_height(self, size: Size) -> None:
        """Set the preferred height, limited to the screen."""
        wanted = self.wanted_height()
        if wanted is not None:
            frame = self.query_one("#dialog")
            rows = wanted + 2 if self.has_class("-framed") else size.height
            frame.styles.height = min(rows, size.height)

    def on_click(self, event: events.Click) -> None:
        """Close on a click outside the frame."""
        if not self.query_one("#dialog").region.contains(event.screen_x, event.screen_y):
            self.action_cancel()

    def action_cancel(self) -> None:
        """Close without a result."""
        self.dismiss(None)

    def give_up(self) -> None:
        """Close as Esc does, even if the first Esc only stops work."""
        self.action_cancel()
        self.dismiss(None)

    def show_error(self, message: str) -> None:
        """Show an error, or hide it if it is empty. The dialog must contain an `.error` widget."""
        line = self.query_one(".error", Static)
        line.update(Content(safe(message)))
        line.display = bool(message)


class About(Static):
    """Description of the highlighted row, cut to the available rows."""

    _text = ""

    def tell(self, text: str) -> None:
        """Replace the description."""
        self._text = safe(text)
        self.on_resize()

    def on_resize(self) -> None:
        """Show the words that fit, followed by an ellipsis."""
        width, height = self.size
        rows = [row.plain for row in Content(self._text).wrap(width)] if width else []
        if len(rows) > height > 0:
            rows[height - 1 :] = [fit(" ".join(rows[height - 1 :]), width)]
        self.update(Content("\n".join(rows)))


class ListDialog(Dialog[ResultT], Generic[ResultT, RowT]):
    """A dialog with a list, which the subclass yields in its body."""

    DEFAULT_CSS = """
    ListDialog {
        #about { color: $text-muted; }
        &.-short #about { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]

    nothing = ""
    """Text displayed instead of the rows if there are none."""

    def __init__(
        self,
        paint: Callable[[RowT, int], Sequence[Span]],
        id: str,
        *,
        classes: str | None = None,
    ) -> None:
        """Create the dialog.

        Args:
            paint: Draws a row in a width.
            id: The id of the list.
            classes: The dialog's classes.
        """
        super().__init__(classes=classes)
        self.rows: RowList[RowT] = RowList(paint, id=id)
        self.rows.empty_text = self.nothing

    def compose_search(self, field: Field) -> ComposeResult:
        """Yield a search field, an error line, and the list between two rules."""
        yield field_row(field)
        yield Static(classes="error")
        yield rule()
        yield self.rows
        yield rule(id="below")

    def hints(self) -> Sequence[Hint]:
        """Return the hints of the last line."""
        return [*super().hints(), ("↑↓", "move", "")]

    def action_move(self, step: int) -> None:
        """Move the highlight."""
        self.rows.move(step)

    def action_page(self, step: int) -> None:
        """Move the highlight by a page."""
        self.action_move(step * self.rows.page)
