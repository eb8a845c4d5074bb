"""Long JSON text is parsed in many short calls: the values and the errors are those of `json`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokviz import json_file

_TEXTS = st.lists(
    st.sampled_from([*"ab du8/\x00\x7f\u2028é中😀", '"', "\\", "\n", "\ud83d", "\ude00", "\udc80"])
).map("".join)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture(scope="module", autouse=True)
def nearly_all_is_long() -> Any:
    patch = pytest.MonkeyPatch()
    for name, value in {"_STEP": 40, "_PART": 40, "_SOON": (20, 30), "_CUT": 16}.items():
        patch.setattr(json_file, name, value)
    yield
    patch.undo()


def outcome(load: Any, text: str) -> str:
    """Say what comes of a text: a value, which JSON tells from any other, or an error."""
    try:
        return json.dumps(load(text))
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


@given(_VALUES, st.booleans(), st.sampled_from([None, 1]))
@example("\U0001f600" * 50, True, None)
@example("\\" * 200, True, None)
@example(["x" * 100, {"a" * 100: ["\n" * 100]}], True, 1)
def test_long_text_has_the_same_values(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert json_file._PartwiseDecoder().decode(text) == json.loads(text)
    assert outcome(json_file.loads, text) == outcome(json.loads, text)


@given(_VALUES, st.data())
def test_damaged_text_has_the_same_error(value: Any, data: st.DataObject) -> None:
    text = json.dumps([value, "x" * 50])
    place = data.draw(st.integers(0, len(text) - 1))
    damage = data.draw(st.sampled_from(["", '"', "\\", "}", "]", ",", "\\u12", "\n", "9" * 5000]))
    n_gone = data.draw(st.integers(0, 3))
    text = text[:place] + damage + text[place + n_gone :]
    assert outcome(json_file.loads, text) == outcome(json.loads, text)
    if outcome(json.loads, text).startswith("JSONDecodeError"):
        with pytest.raises((ValueError, StopIteration)):
            json_file._PartwiseDecoder().decode(text)


def test_deep_text_is_an_error() -> None:
    with pytest.raises(RecursionError):
        json_file.loads("[" * 1_000_000)


def test_no_call_takes_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = list[int]()
    scan = json.decoder.scanstring  # type: ignore[attr-defined]

    def scanstring(text: str, *how: Any) -> Any:
        if how[0] == 0:  # not a key, which is read in the whole text
            lengths.append(len(text))
        return scan(text, *how)

    monkeypatch.setattr(json_file._DECODER, "scanstring", scanstring)
    value = {"messages": [{"role": "user", "content": "\u4e2d\n😀 a" * 10_000}]}
    for ascii_only in (True, False):
        assert json_file.loads(json.dumps(value, ensure_ascii=ascii_only)) == value
    assert len(lengths) > 1_000
    assert max(lengths) <= json_file._PART + 1
