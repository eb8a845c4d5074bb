"""Cost of a text with the models in the user's price table.

tokviz itself knows no prices, because they change and depend on contracts. The table is
`models.toml` in the user's config folder; `TEMPLATE` explains it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.errors import InputFileError
from tokviz.storage.files import write_file
from tokviz.storage.toml_file import line_of, read_toml
from tokviz.workspace.settings import config_path

if TYPE_CHECKING:
    from decimal import Decimal

FILE_NAME = "models.toml"
_MILLION = 1_000_000
_LONGEST_NAME = 60

EXAMPLE = """\
[[model]]
name = "Example"            # any name
window = 128_000            # tokens of its context window
price = 1.00                # price of 1,000,000 input tokens
currency = "USD"            # the currency of the price; any word
# tokenizer = "o200k_base"  # show it only with this tokenizer
"""
"""An example entry of the table, with made-up numbers."""

TEMPLATE = f"""\
# The models you use: their prices and the sizes of their context windows.
# tokviz computes the cost of your text from this table; it does not know any prices itself.
#
# Every model is a [[model]] table. Only the name is required.
# The numbers of this example are made up: replace them with those of your models.

{EXAMPLE}"""
"""The initial table, with instructions."""


class ModelPrice(NamedTuple):
    """A model of the price table.

    Attributes:
        name: Its name.
        tokenizer: Its tokenizer; empty for any.
        window: Size of its context window in tokens; None if not given.
        price: Price of a million input tokens; None if not given.
        currency: The currency of the price.
    """

    name: str
    tokenizer: str = ""
    window: int | None = None
    price: Decimal | None = None
    currency: str = "USD"

    def cost(self, n_tokens: int) -> Decimal | None:
        """Return the cost of input tokens; None without a price."""
        return None if self.price is None else self.price * n_tokens / _MILLION

    def share(self, n_tokens: int) -> float | None:
        """Return the share of the context window that tokens take; None without a window."""
        return None if self.window is None else n_tokens / self.window


def prices_path() -> Path:
    """Return the path of the price table."""
    return config_path().with_name(FILE_NAME)


def load_prices(path: Path | None = None) -> tuple[ModelPrice, ...]:
    """Read the price table; a missing file is an empty table.

    Args:
        path: The file, by default the user's.

    Raises:
        InputFileError: If it cannot be read or is invalid; it names the line and the key.
    """
    path = prices_path() if path is None else path
    if not os.path.lexists(path):
        return ()
    return tuple(_models(path, *read_toml(path)))


def models_for(models: Sequence[ModelPrice], tokenizer: str) -> list[ModelPrice]:
    """Return the models that use a tokenizer, given by name."""
    return [model for model in models if model.tokenizer in ("", tokenizer)]


def model_for(models: Sequence[ModelPrice], tokenizer: str, wanted: str = "") -> ModelPrice | None:
    """Return the `wanted` model if it uses a tokenizer, or the first model that does."""
    matching = models_for(models, tokenizer)
    chosen = (model for model in matching if model.name == wanted)
    return next(chosen, matching[0] if matching else None)


def create_prices_file(path: Path | None = None) -> Path:
    """Write the template, unless the table exists.

    Returns:
        The path of the table.

    Raises:
        OutputFileError: If it cannot be written.
    """
    path = prices_path() if path is None else path
    if not os.path.lexists(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, TEMPLATE.encode())
    return path


def cost_text(model: ModelPrice, n_tokens: int) -> str:
    """Format the cost of tokens and their share of the window; empty if the table has neither.

    >>> from decimal import Decimal
    >>> cost_text(ModelPrice("m", "", 1000, Decimal("2.5")), 100)
    '0.00025 USD, 10 % of 1,000'
    """
    parts = []
    cost, share = model.cost(n_tokens), model.share(n_tokens)
    if cost is not None:
        parts.append(f"{short_cost(cost)} {model.currency}".rstrip())
    if share is not None:
        parts.append(f"{percent(share)} of {model.window:,}")
    return ", ".join(parts)


def short_cost(cost: Decimal) -> str:
    """Format a cost with cents, or below 1 with two significant digits.

    >>> from decimal import Decimal
    >>> short_cost(Decimal("1234.5")), short_cost(Decimal("0.000123")), short_cost(Decimal(0))
    ('1,234.50', '0.00012', '0')
    """
    if not cost:
        return "0"
    digits = 2 if cost >= 1 else min(12, 1 - cost.adjusted())
    return f"{cost:,.{digits}f}"


def percent(share: float) -> str:
    """Format a share: 0.03 %, 4.1 %, 250 %."""
    hundredths = share * 100
    if 0 < hundredths < 0.01:
        return "< 0.01 %"
    digits = 0 if hundredths >= 10 else 1 if hundredths >= 1 else 2
    return f"{hundredths:,.{digits}f} %".replace(".00 %", " %").replace(".0 %", " %")


def _is_word(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_NAME and value.isprintable()


def _is_window(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_price(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


_WORD = f"must be a string in quotes with at most {_LONGEST_NAME} characters"
_RULES: tuple[tuple[str, Callable[[Any], object], str], ...] = (
    ("name", _is_word, _WORD),
    ("name", str.strip, "is empty; give the model a name"),
    ("tokenizer", _is_word, _WORD),
    ("window", _is_window, "must be a number of tokens, such as 128000"),
    ("price", _is_price, "must be the price of 1,000,000 tokens, a number without quotes"),
    ("currency", _is_word, _WORD),
)
"""Checks of the keys of a model, in this order: key, check, error message."""


def _models(path: Path, table: dict[str, Any], text: str) -> Iterator[ModelPrice]:
    """Check a table and yield its models in order."""

    def error(key: str, reason: str, number: int | None = None) -> InputFileError:
        line = line_of(text, "", key) if number is None else line_of(text, "model", key, number)
        return InputFileError(path, f"line {line}: {key}: {reason}")

    for key in table:
        if key != "model":
            raise error(key, "use [[model]] tables only")
    tables = table.get("model", [])
    if not isinstance(tables, list) or not all(isinstance(model, dict) for model in tables):
        raise error("model", "write [[model]]")
    keys = dict.fromkeys(key for key, _, _ in _RULES)
    names = set[str]()
    for number, model in enumerate(tables):
        for key in model:
            if key not in keys:
                raise error(key, f"is not a key of a model; the keys are {', '.join(keys)}", number)
        if "name" not in model:
            raise error("name", "is missing; every model needs one", number)
        for key, is_valid, reason in _RULES:
            if key in model and not is_valid(model[key]):
                raise error(key, reason, number)
        fields: dict[str, Any] = {
            key: value.strip() if isinstance(value, str) else value for key, value in model.items()
        }
        if fields["name"] in names:
            raise error("name", f"two models are called {fields['name']!r}", number)
        names.add(fields["name"])
        if "price" in fields:
            from decimal import Decimal  # slow to import

            fields["price"] = Decimal(str(fields["price"]))
        yield ModelPrice(**fields)
