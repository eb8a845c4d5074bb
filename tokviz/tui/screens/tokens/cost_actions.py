"""What the text costs, by the user's own table of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work

from tokviz.errors import TokvizError
from tokviz.prices import ModelPrice, cost_text, load_prices, models_for, prices_path
from tokviz.tui.messages import PricesAsked
from tokviz.tui.screens.tokens.file_actions import FileActions
from tokviz.tui.widgets.status_line import CostNote

if TYPE_CHECKING:
    from tokviz.tui.dialogs.prices import PricesAnswer


class CostActions(FileActions):
    """Reads the table, and tells the cost of the text with the model chosen."""

    prices: tuple[ModelPrice, ...] = ()
    """The user's table; empty where there is none."""

    @work(thread=True, exclusive=True, group="prices", exit_on_error=False)
    def read_prices(self) -> None:
        """Read the table in a thread; what is wrong with it is said, and nothing else happens."""
        if not self.tokviz.remember:
            return
        try:
            models = load_prices()
        except TokvizError as error:
            self.call_here(self.say, f"Your price table is not used. {error}", "warning")
            models = ()
        self.call_here(self._take_prices, models)

    def _take_prices(self, models: tuple[ModelPrice, ...]) -> None:
        if models != self.prices:
            self.prices = models
            self.show_numbers()

    def cost_note(self) -> CostNote | None:
        """Give what the status line says of the cost, None where the table says nothing."""
        model, n_tokens = self._price_model(), self.live.n_tokens
        text = "" if model is None else cost_text(model, n_tokens)
        if model is None or not text:
            return None
        share = model.share(n_tokens)
        return CostNote(model.name, text, text.partition(", ")[0], share is not None and share > 1)

    def _price_model(self) -> ModelPrice | None:
        """Give the model that was chosen, else the first that goes with the tokenizer."""
        tokenizer = self.live.tokenizer
        if not self.prices or tokenizer is None:
            return None
        models = models_for(self.prices, tokenizer.name)
        wanted = self.settings.price_model
        chosen = (model for model in models if model.name == wanted)
        return next(chosen, models[0] if models else None)

    def on_prices_asked(self, message: PricesAsked) -> None:
        """Answer a click on the cost."""
        message.stop()
        self.action_prices()

    def action_prices(self) -> None:
        """List the models with what the text costs, and say where the table is."""
        from tokviz.tui.dialogs.prices import PricesDialog

        tokenizer = self.live.tokenizer
        if tokenizer is None:
            return
        model = self._price_model()
        chosen = self.settings.price_model if model is None else model.name
        dialog = PricesDialog(tokenizer.name, self.live.n_tokens, chosen)
        self.app.push_screen(dialog, self._prices_answered)

    def _prices_answered(self, answer: PricesAnswer | None) -> None:
        if answer is None:
            return
        self.tokviz.change_settings(price_model=answer.chosen)
        self.prices = answer.models
        self.show_numbers()
        if answer.edit:
            self._unless_unsaved(lambda: self.open_path(prices_path()))

    def file_saved(self) -> None:
        """Read the table again if it is what was saved."""
        if self.path is not None and self.path.resolve() == prices_path().resolve():
            self.read_prices()

    def show_numbers(self) -> None:
        """Show the numbers of the status line again."""
        raise NotImplementedError
