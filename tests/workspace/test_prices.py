from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tokviz.errors import InputFileError
from tokviz.workspace.prices import (
    TEMPLATE,
    ModelPrice,
    cost_text,
    create_prices_file,
    load_prices,
    models_for,
    percent,
    short_cost,
)


def read(tmp_path: Path, text: str | bytes) -> tuple[ModelPrice, ...]:
    path = tmp_path / "models.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_prices(path)


def test_no_table_is_an_empty_one(tmp_path: Path) -> None:
    assert load_prices(tmp_path / "none.toml") == ()


def test_template_is_a_table_with_an_example_that_uses_every_key(tmp_path: Path) -> None:
    example = ModelPrice("Example", "", 128_000, Decimal("1.0"), "USD")
    assert read(tmp_path, TEMPLATE) == (example,)
    assert read(tmp_path, TEMPLATE.replace("# tokenizer", "tokenizer"))[0].tokenizer == "o200k_base"


def test_template_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "models.toml"
    assert create_prices_file(path) == path and path.read_text() == TEMPLATE
    path.write_text("mine")
    create_prices_file(path)
    assert path.read_text() == "mine"


def test_models_are_read_with_what_the_table_says(tmp_path: Path) -> None:
    models = read(
        tmp_path,
        '[[model]]\nname = "a"\nprice = 0.15\n[[model]]\nname="b"\nwindow=1_000\ntokenizer="gpt2"',
    )
    assert models == (ModelPrice("a", price=Decimal("0.15")), ModelPrice("b", "gpt2", 1000))
    assert [model.name for model in models_for(models, "gpt2")] == ["a", "b"]
    assert [model.name for model in models_for(models, "o200k_base")] == ["a"]


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('x = 1\n[[model]]\nname = "a"', 1, "x: "),
        ('[model]\nname = "a"', 1, "[[model]]"),
        ("[[model]]\nprice = 1", 1, "name: is missing"),
        ('[[model]]\nname = ""', 2, "name: is empty"),
        ("[[model]]\nname = 3", 2, "name: must be a string"),
        ('[[model]]\nname = "a"\n\n[[model]]\nname = "b"\nwindow = 0', 6, "window: "),
        ('[[model]]\nname = "a"\nwindow = 1.5', 3, "window: "),
        ('[[model]]\nname = "a"\nwindow = true', 3, "window: "),
        ('[[model]]\nname = "a"\nprice = "3"', 3, "price: "),
        ('[[model]]\nname = "a"\nprice = -1', 3, "price: "),
        ('[[model]]\nname = "a"\nprice = nan', 3, "price: "),
        ('[[model]]\nname = "a"\nprice = inf', 3, "price: "),
        ('[[model]]\nname = "a"\ncost = 3', 3, "cost: is not a key"),
        ('[[model]]\nname = "a"\n[[model]]\nname = "a"', 4, "two models"),
        ('[[model]]\nname = "a\\nb"', 2, "name: "),
        ("\n[[model]]\nname = oops", 3, "not valid TOML"),
        (b'[[model]]\nname = "\xff"', 2, "UTF-8"),
    ],
)
def test_a_malformed_table_is_told_with_file_line_and_key(
    tmp_path: Path, text: str | bytes, line: int, told: str
) -> None:
    with pytest.raises(InputFileError) as error:
        read(tmp_path, text)
    assert "models.toml" in str(error.value)
    assert f"line {line}" in str(error.value) and told in str(error.value)


def test_cost_and_share_are_what_the_table_says_and_nothing_else() -> None:
    model = ModelPrice("m", window=1000, price=Decimal("2.5"), currency="EUR")
    assert model.cost(400_000) == 1 and model.share(250) == 0.25
    assert cost_text(model, 250) == "0.00062 EUR, 25 % of 1,000"
    assert cost_text(ModelPrice("m"), 250) == ""
    assert cost_text(ModelPrice("m", window=8), 16) == "200 % of 8"
    assert cost_text(ModelPrice("m", price=Decimal(0)), 16) == "0 USD"


@pytest.mark.parametrize(
    ("cost", "shown"),
    [("0", "0"), ("12345.678", "12,345.68"), ("0.5", "0.50"), ("0.0123", "0.012"), ("1", "1.00"),
     ("0.0000004567", "0.00000046"), ("0.99999", "1.00")],
)  # fmt: skip
def test_small_costs_keep_two_digits_that_count(cost: str, shown: str) -> None:
    assert short_cost(Decimal(cost)) == shown


def test_shares_are_short() -> None:
    assert [percent(share) for share in (0, 0.00001, 0.0012, 0.034, 0.5, 1, 12.5)] == [
        "0 %", "< 0.01 %", "0.12 %", "3.4 %", "50 %", "100 %", "1,250 %",
    ]  # fmt: skip
