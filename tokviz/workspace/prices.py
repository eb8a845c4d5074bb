"""What a text costs with the models that the user pays for, by a table of their own.

tokviz knows no prices: they change, and every contract has others. The table is `models.toml` in
the user's config folder; `TEMPLATE` explains it.
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
name = "Example"            # what to call it
window = 128_000            # tokens of its context window
price = 1.00                # price of 1,000,000 input tokens
currency = "USD"            # what that price is in; any word
# tokenizer = "o200k_base"  # show it with this tokenizer only
"""
"""A model as the table holds it. Its numbers are made up."""

TEMPLATE = f"""\
# The models you use: what a token costs, and how many a model takes at once.
# tokviz shows the cost of your text from this table, and knows no prices of its own.
#
# Every model is a [[model]] table. Only its name is required; leave out what you do not know.
# The numbers of this example are made up: put those of your models in their place.

{EXAMPLE}"""
"""A table that says how to write one."""


class ModelPrice(NamedTuple):
    """A model of the user's table.

    Attributes:
        name: What the user calls it.
        tokenizer: The tokenizer it goes with, empty for any.
        window: Tokens of its context window, None if not given.
        price: Price of a million input tokens, None if not given.
        currency: What the price is in.
    """

    name: str
    tokenizer: str = ""
    window: int | None = None
    price: Decimal | None = None
    currency: str = "USD"

    def cost(self, n_tokens: int) -> Decimal | None:
        """Work out what so many input tokens cost, None without a price."""
        return None if self.price is None else self.price * n_tokens / _MILLION

    def share(self, n_tokens: int) -> float | None:
        """Give the share of the context window that so many tokens take, None without one."""
        return None if self.window is None else n_tokens / self.window


def prices_path() -> Path:
    """Name the user's table."""
    return config_path().with_name(FILE_NAME)


def load_prices(path: Path | None = None) -> tuple[ModelPrice, ...]:
    """Read the table; a missing file is an empty one.

    Args:
        path: The file, the user's own if not given.

    Raises:
        InputFileError: If it cannot be read or followed; it names the line and the key.
    """
    path = prices_path() if path is None else path
    if not os.path.lexists(path):
        return ()
    return tuple(_models(path, *read_toml(path)))


def models_for(models: Sequence[ModelPrice], tokenizer: str) -> list[ModelPrice]:
    """List the models that go with a tokenizer, given by name."""
    return [model for model in models if model.tokenizer in ("", tokenizer)]


def model_for(models: Sequence[ModelPrice], tokenizer: str, wanted: str = "") -> ModelPrice | None:
    """Give the model of a name if it goes with a tokenizer, else the first that does."""
    fitting = models_for(models, tokenizer)
    chosen = (model for model in fitting if model.name == wanted)
    return next(chosen, fitting[0] if fitting else None)


def make_prices_file(path: Path | None = None) -> Path:
    """Write the template, unless there is a table already.

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
    """Say what a text costs and how much of the window it takes; empty if the table knows neither.

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
    """Write a cost with cents, a smaller one with two digits that count.

    >>> from decimal import Decimal
    >>> short_cost(Decimal("1234.5")), short_cost(Decimal("0.000123")), short_cost(Decimal(0))
    ('1,234.50', '0.00012', '0')
    """
    if not cost:
        return "0"
    digits = 2 if cost >= 1 else min(12, 1 - cost.adjusted())
    return f"{cost:,.{digits}f}"


def percent(share: float) -> str:
    """Write a share: 0.03 %, 4.1 %, 250 %."""
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


_WORD = f"must be text in quotes, of at most {_LONGEST_NAME} characters"
_RULES: tuple[tuple[str, Callable[[Any], object], str], ...] = (
    ("name", _is_word, _WORD),
    ("name", str.strip, "is empty; give the model a name"),
    ("tokenizer", _is_word, _WORD),
    ("window", _is_window, "must be a number of tokens, such as 128000"),
    ("price", _is_price, "must be the price of 1,000,000 tokens, a number without quotes"),
    ("currency", _is_word, _WORD),
)
"""What is checked of a model's keys, in this order: key, check, what it should be."""


def _models(path: Path, table: dict[str, Any], text: str) -> Iterator[ModelPrice]:
    """Check a table, and give its models in order."""

    def wrong(key: str, what: str, number: int | None = None) -> InputFileError:
        line = line_of(text, "", key) if number is None else line_of(text, "model", key, number)
        return InputFileError(path, f"line {line}: {key}: {what}")

    for key in table:
        if key != "model":
            raise wrong(key, "use [[model]] tables only")
    tables = table.get("model", [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise wrong("model", "write [[model]]")
    keys = dict.fromkeys(key for key, _, _ in _RULES)
    names = set[str]()
    for number, one in enumerate(tables):
        for key in one:
            if key not in keys:
                raise wrong(key, f"is not a key of a model; the keys are {', '.join(keys)}", number)
        if "name" not in one:
            raise wrong("name", "is missing; every model needs one", number)
        for key, is_right, wish in _RULES:
            if key in one and not is_right(one[key]):
                raise wrong(key, wish, number)
        fields: dict[str, Any] = {
            k: value.strip() if isinstance(value, str) else value for k, value in one.items()
        }
        if fields["name"] in names:
            raise wrong("name", f"two models are called {fields['name']!r}", number)
        names.add(fields["name"])
        if "price" in fields:
            from decimal import Decimal

            fields["price"] = Decimal(str(fields["price"]))
        yield ModelPrice(**fields)
