"""Dialog with the cost of the text for each model of the user's price table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tokviz.errors import TokvizError
from tokviz.text.glyphs import safe
from tokviz.text.sentences import failure_message
from tokviz.tui.dialogs.base import Hint, ListDialog, rule
from tokviz.tui.tasks import in_thread
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Span
from tokviz.workspace.prices import (
    EXAMPLE,
    ModelPrice,
    cost_text,
    create_prices_file,
    load_prices,
    models_for,
    prices_path,
)

_MOST_ROWS = 12
_EXPLANATION = (
    "tokviz knows no prices: they change, and contracts differ. It reads them from a table of your "
    "own."
)
_EXAMPLE = f" A model looks like this:\n\n{EXAMPLE}\n"
_EXAMPLE_LINES = 20
"""A terminal of fewer lines has no room for it."""


class PricesAnswer(NamedTuple):
    """The user's choice: the model whose cost to show, or to edit the table."""

    models: tuple[ModelPrice, ...]
    """The table as it was read last."""
    chosen: str = ""
    """The name of the model whose cost is shown."""
    edit: bool = False
    """True to open the table on the Tokens screen."""


class PricesDialog(ListDialog[PricesAnswer, ModelPrice]):
    """Lists the models that go with the tokenizer, with the cost of the text."""

    DEFAULT_CSS = """
    PricesDialog {
        #dialog { width: 92; }
        #models { height: 1; margin-bottom: 1; }
        #about { height: auto; max-height: 13; color: $text-muted; }
        &.-empty #models { display: none; }
        .error { max-height: 6; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", show=False),
        Binding("e", "edit", show=False),
        Binding("c", "create", show=False),
        Binding("r", "reload", show=False),
    ]
    dialog_title = "What the text costs"

    def __init__(self, tokenizer: str, n_tokens: int, chosen: str = "") -> None:
        """Create the dialog with a tokenizer's name, a number of tokens, and the last model."""
        super().__init__(self._paint, "models")
        self._tokenizer = tokenizer
        self._n_tokens = n_tokens
        self._chosen = chosen
        self._models: tuple[ModelPrice, ...] = ()
        self._exists = False

    def compose_body(self) -> ComposeResult:
        """Yield the models and a message about the table."""
        yield Static(classes="error")
        yield self.rows
        yield Static(id="about")
        yield rule()

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        if not self._exists:
            create = "create an example"
            return [("C", create, "create"), ("Esc", "close", "cancel")]
        hints = [("Esc", "close", "cancel"), ("E", "edit it here", "edit")]
        if self._models:
            hints.insert(0, ("Enter", "show this one", "choose"))
        return [*hints, ("R", "read it again", "reload")]

    def on_mount(self) -> None:
        """Read the table."""
        self.action_reload()

    def _take(self, models: tuple[ModelPrice, ...], error: str) -> None:
        self._models, self._exists = models, prices_path().exists()
        shown = models_for(models, self._tokenizer)
        names = [model.name for model in shown]
        at = names.index(self._chosen) if self._chosen in names else 0
        self.rows.show(shown, at if shown else None)
        self.rows.styles.height = min(max(len(shown), 1), _MOST_ROWS)
        self.set_class(not shown, "-empty")
        self.show_error(error)
        about = self._about(len(shown), error).split("\n")
        self.query_one("#about", Static).update(Content("\n").join(map(Content, map(safe, about))))
        self.show_hints()

    def _about(self, n_shown: int, error: str) -> str:
        path = prices_path()
        example = _EXAMPLE if self.app.size.height >= _EXAMPLE_LINES else " "
        if error:
            return "Correct the file here (E) or with any editor, then press R."
        if not self._exists:
            return f"{_EXPLANATION}{example}The table does not exist yet. Its path: {path}"
        if not self._models:
            return f"The table contains no model.{example}The table is {path}"
        if not n_shown:
            return (
                f"No model in the table uses {self._tokenizer}: write this name as its "
                f"`tokenizer`, or leave that out. The table is {path}"
            )
        return f"{self._n_tokens:,} tokens with {self._tokenizer}. The table is {path}"

    def _paint(self, model: ModelPrice, width: int) -> list[Span]:
        mark = "● " if model.name == self._chosen else "  "
        cost = cost_text(model, self._n_tokens) or "no price and no context window in the table"
        room = max(8, width - len(mark) - len(cost) - 3)
        name = fit(safe(model.name), room)
        return [
            Span(mark, "accent"),
            Span(name.ljust(room), "heading"),
            Span(f" {fit(cost, width)} "),
        ]

    def action_reload(self) -> None:
        """Read the table again."""
        in_thread(
            self,
            "prices",
            lambda task: load_prices(),
            lambda models: self._take(models, ""),
            failed=lambda error: self._take((), str(error)),
        )

    def action_create(self) -> None:
        """Create a table with an explained example."""
        if self._exists:
            return
        try:
            create_prices_file()
        except (OSError, TokvizError) as error:
            self.show_error(failure_message("The table is not written", error))
            return
        self.action_reload()

    def action_edit(self) -> None:
        """Open the table on the Tokens screen."""
        if self._exists:
            self.dismiss(PricesAnswer(self._models, self._chosen, edit=True))

    @on(RowList.Picked)
    def action_choose(self) -> None:
        """Show the cost of the highlighted model from now on."""
        model = self.rows.row
        if model is not None:
            self.dismiss(PricesAnswer(self._models, model.name))

    def action_cancel(self) -> None:
        """Close; the table that was read counts."""
        self.dismiss(PricesAnswer(self._models, self._chosen))
