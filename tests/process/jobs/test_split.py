from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tokviz.errors import PatternError
from tokviz.process.jobs import split
from tokviz.process.protocol import pack_numbers, unpack_numbers
from tokviz.tokenizer.pretokenize.step_limit import StepLimit

ROWS = {"do": "rows", "regex": "b", "flags": 0, "seconds": 9, "most_seconds": 9}


@pytest.mark.parametrize("n_rows_until", [1, 2])
def test_the_time_may_end_behind_the_last_row(
    n_rows_until: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal can arrive at any point of a step, even after the last row."""
    n_steps = 0

    @contextmanager
    def step(limit: StepLimit) -> Iterator[None]:
        nonlocal n_steps
        n_steps += 1
        yield
        if n_steps == n_rows_until:
            raise TimeoutError

    monkeypatch.setattr(StepLimit, "step", step)
    monkeypatch.setattr(split, "STEP_ROWS", 1)
    request = {**ROWS, "ends": pack_numbers(array("I", [1, 3]))}
    answers = split.answer(request, {"text": "abb"})
    if n_rows_until == 1:
        with pytest.raises(PatternError, match="on a text of 2 characters"):
            list(answers)
    else:
        assert [unpack_numbers(answer["rows"]).tolist() for answer in answers] == [[1]]
