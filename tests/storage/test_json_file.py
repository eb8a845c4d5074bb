"""JSON text from untrusted sources has typed errors and a limit on its number of values."""

from __future__ import annotations

import pytest

from tokviz.storage import json_file


def test_deep_text_is_an_error() -> None:
    with pytest.raises(RecursionError):
        json_file.loads("[" * 1_000_000)


def test_more_values_than_memory_should_hold_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_file, "MAX_JSON_VALUES", 100)
    assert json_file.loads("[" + "1," * 98 + "1]") == [1] * 99
    with pytest.raises(ValueError) as caught:
        json_file.loads("[" + "1," * 200 + "1]")
    assert json_file.in_words(caught.value) == "more than 100 values in one JSON text"
