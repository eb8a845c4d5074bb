"""Cost of the text by the user's price table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.price_table import read_prices
from tokviz.tui.widgets.status_line import CostNote
from tokviz.workspace.prices import cost_text, model_for, prices_path
from tokviz.workspace.session import TextSaved

if TYPE_CHECKING:
    from tokviz.tui.dialogs.prices import PricesAnswer
    from tokviz.workspace.prices import ModelPrice


class Costs(Controller):
    """Read the price table, and compute the cost of the text with the chosen model."""

    def __init__(
        self,
        screen: TokvizScreen,
        changed: Callable[[], object],
        edit_table: Callable[[Path], object],
    ) -> None:
        """Take the callbacks that show the cost and open the table for editing."""
        super().__init__(screen)
        self._changed, self._edit_table = changed, edit_table
        self.models: tuple[ModelPrice, ...] = ()
        """The price table, empty if the user has none."""
        self.session.subscribe(TextSaved, self._text_saved)

    def read(self) -> None:
        """Read the table in a thread, and report its errors."""
        read_prices(self, self._take)

    def _take(self, models: tuple[ModelPrice, ...]) -> None:
        if models != self.models:
            self.models = models
            self._changed()

    def _text_saved(self, change: TextSaved) -> None:
        if change.path.resolve() == prices_path().resolve():
            self.read()

    def note(self) -> CostNote | None:
        """Return the cost for the status line, None if the table has no price."""
        model, n_tokens = self._model(), self.session.live.n_tokens
        if model is None:
            return None
        text = cost_text(model, n_tokens)
        if not text:
            return None
        share = model.share(n_tokens)
        return CostNote(model.name, text, text.partition(", ")[0], share is not None and share > 1)

    def _model(self) -> ModelPrice | None:
        """Return the chosen model, otherwise the first one that uses the tokenizer."""
        if not self.models:
            return None
        name, wanted = self.session.tokenizer.name, self.settings.price_model
        return model_for(self.models, name, wanted)

    @action("Costs and context windows…", section="Tokenizer", words="prices settings")
    def prices(self) -> None:
        """Show the cost of the text by your own price table, and the path of that table."""
        from tokviz.tui.dialogs.prices import PricesDialog

        model, live = self._model(), self.session.live
        chosen = self.settings.price_model if model is None else model.name
        self.ask(PricesDialog(self.session.tokenizer.name, live.n_tokens, chosen), self._answered)

    def _answered(self, answer: PricesAnswer) -> None:
        self.session.change_settings(price_model=answer.chosen)
        self.models = answer.models
        self._changed()
        if answer.edit:
            self._edit_table(prices_path())
