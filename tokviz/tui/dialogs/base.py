"""What all dialogs share: the frame, the field, the line of hints, and how they end."""

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
from tokviz.tui.widgets.lists import MOVES, Cell, RowList

ResultT = TypeVar("ResultT")
RowT = TypeVar("RowT")

Hint = tuple[str, str, str]
"""A key as people read it, what it does, and the dialog's action that a click on it runs."""


def field_row(field: Field) -> Horizontal:
    """Put a prompt before a field."""
    return Horizontal(Static("›", classes="prompt"), field, classes="field-row")


def rule(*, id: str | None = None) -> Static:
    """Give a line from side to side."""
    return Static("─" * 200, classes="rule", id=id)


class HintBar(Static):
    """The last line of a dialog: its keys, each of them a button for the mouse."""

    DEFAULT_CSS = """
    HintBar {
        height: 1;
        color: $text-muted;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, hints: Sequence[Hint]) -> None:
        """Take the hints, the most important first: a narrow dialog cuts the last ones."""
        super().__init__()
        self.auto_links = False
        self._hints = hints

    def show(self, hints: Sequence[Hint]) -> None:
        """Show other hints."""
        self._hints = hints
        self.update(hint_content(hints, self.size.width))

    def on_resize(self, event: events.Resize) -> None:
        """Show the hints that fit."""
        self.update(hint_content(self._hints, event.size.width))


def hint_content(hints: Sequence[Hint], width: int) -> Content:
    """Draw the hints that fit in a row, each one clickable.

    Where even the first two do not fit, the keys stand alone.
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
"""In a smaller terminal a dialog has no frame and all of the screen."""


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
        """Close with a result; only the first one counts.

        One that comes while something lies above, such as from a thread, waits until that is gone.
        """
        if self._is_over or self._late is not None:
            return AwaitComplete()
        if self.app.screen is not self:
            self._late = (result,)
            return AwaitComplete()
        self._is_over = True
        return super().dismiss(result)

    def on_screen_resume(self) -> None:
        """Take input; close now with a result that came while something lay above."""
        # Once it is laid out: before, a click would meet another row than the one that is seen.
        self.call_after_refresh(self.set_ready)
        if self._late is not None:
            (result,), self._late = self._late, None
            self.dismiss(result)

    def give_up(self) -> None:
        """Close without an answer, as where the user goes to another screen."""
        self.dismiss(None)

    def accepts(self, message: Message) -> bool:
        """Ignore input once the dialog is closing."""
        return not self._is_over or isinstance(message, self._ENDING)


class Dialog(Modal[ResultT], Generic[ResultT]):
    """A modal dialog in the middle of the screen, the whole screen where that is small.

    A subclass says what is inside with `compose_body`. It ends by `dismiss(result)`, or with None
    by Esc, by a click outside, or by a click on its Esc hint.
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
    """What stands in the frame."""
    verb = "choose"
    """What Enter does."""
    rows_wanted: ClassVar[int | None] = None
    """Rows between the frame's borders; None for as many as needed."""

    def compose(self) -> ComposeResult:
        """Put the body into the frame."""
        with Vertical(id="dialog") as frame:
            frame.border_title = self.dialog_title
            yield from self.compose_body()
            yield HintBar(self.hints())

    @abstractmethod
    def compose_body(self) -> ComposeResult:
        """Yield what is inside the frame, above the hints."""

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [("Enter", self.verb, "choose"), ("Esc", "cancel", "cancel")]

    def show_hints(self) -> None:
        """Show the hints again, which have become others."""
        self.query_one(HintBar).show(self.hints())

    def wanted_height(self) -> int | None:
        """Say how many rows are wanted between the frame's borders."""
        return self.rows_wanted

    def on_mount(self) -> None:
        """Have the right looks in the first frame too: a resize is heard behind it."""
        self._fit(self.app.size)

    def on_resize(self, event: events.Resize) -> None:
        """Keep the frame inside the screen. Its lists then share what is left."""
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
        """Take the rows that are wanted, as far as a screen of that size has them."""
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
        """Close by Esc, also where that only stops something at first."""
        self.action_cancel()
        self.dismiss(None)

    def show_error(self, message: str) -> None:
        """Show a sentence beside the field, or nothing. The dialog must hold a `.error` widget."""
        line = self.query_one(".error", Static)
        line.update(Content(safe(message)))
        line.display = bool(message)


class About(Static):
    """What there is to say about the highlighted row, as far as there are rows for it."""

    _text = ""

    def tell(self, text: str) -> None:
        """Say something else."""
        self._text = safe(text)
        self.on_resize()

    def on_resize(self) -> None:
        """Show the words that fit; an ellipsis stands for the others."""
        width, height = self.size
        rows = [row.plain for row in Content(self._text).wrap(width)] if width else []
        if len(rows) > height > 0:
            rows[height - 1 :] = [fit(" ".join(rows[height - 1 :]), width)]
        self.update(Content("\n".join(rows)))


class ListDialog(Dialog[ResultT], Generic[ResultT, RowT]):
    """A dialog about the rows of one list, which a subclass yields somewhere in its body."""

    DEFAULT_CSS = """
    ListDialog {
        #about { color: $text-muted; }
        &.-short #about { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]

    nothing = ""
    """What stands in the place of the rows where nothing is found."""

    def __init__(
        self,
        paint: Callable[[RowT, int], Sequence[Cell]],
        id: str,
        *,
        classes: str | None = None,
    ) -> None:
        """Take the function that draws a row, and the id of the list."""
        super().__init__(classes=classes)
        self.rows: RowList[RowT] = RowList(paint, id=id)
        self.rows.nothing = self.nothing

    def compose_search(self, field: Field) -> ComposeResult:
        """Yield the list between two rules, below a field that searches it and what is wrong."""
        yield field_row(field)
        yield Static(classes="error")
        yield rule()
        yield self.rows
        yield rule(id="below")

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [*super().hints(), ("↑↓", "move", "")]

    def action_move(self, step: int) -> None:
        """Move the highlight."""
        self.rows.move(step)

    def action_page(self, step: int) -> None:
        """Move the highlight by a page."""
        self.action_move(step * self.rows.page)
