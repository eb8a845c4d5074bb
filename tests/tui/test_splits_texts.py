"""Texts of the Splits panel."""

from __future__ import annotations

import pytest

from tokviz.errors import JobError, PatternError
from tokviz.process.jobs.split_client import SplitResult
from tokviz.tui.widgets.splits.heads import head_text, pre_tokens_note
from tokviz.tui.widgets.splits.regex_field import RegexHistory, complaint, verdict


@pytest.mark.parametrize(
    ("n_gaps", "n_zero_width", "words"),
    [
        (0, 0, "✓ no gaps"),
        (1, 0, "⚠ 1 gap"),
        (3, 0, "⚠ 3 gaps"),
        (0, 2, "✓ no gaps · zero-width matches ignored"),
        (1200, 1, "⚠ 1,200 gaps · zero-width matches ignored"),
    ],
)
def test_the_verdict_names_what_was_mended(n_gaps: int, n_zero_width: int, words: str) -> None:
    result = SplitResult(n_pre_tokens=5, n_gaps=n_gaps, n_zero_width=n_zero_width, complete=True)
    assert verdict(result) == words


def test_a_complaint_counts_characters_from_one() -> None:
    error = PatternError("a(b", "missing )", 3)
    assert complaint(error, None) == "✗ missing ) at character 4"


def test_a_complaint_says_whose_pre_tokens_are_shown() -> None:
    assert complaint(JobError("gone"), r"\w+") == r"✗ gone · still showing /\w+/"


def test_counts_on_the_way_are_marked() -> None:
    assert pre_tokens_note(1, True) == "1 pre-token"
    assert pre_tokens_note(12_345, True) == "12,345 pre-tokens"
    assert pre_tokens_note(12, False) == "12… pre-tokens"


@pytest.mark.parametrize("width", [31, 36, 100])
def test_a_head_fills_its_line(width: int) -> None:
    text = head_text("GPT-4", "1,234 pre-tokens", width)
    assert len(text) == width
    assert text.startswith("◂ GPT-4")
    assert text.endswith("1,234" if width == 30 else "1,234 pre-tokens")


def test_history_goes_back_and_returns_to_what_was_being_written() -> None:
    history = RegexHistory(["one", "two"])
    assert [history.step(-1, "draft"), history.step(-1, "two"), history.step(-1, "one")] == [
        "two",
        "one",
        "one",
    ]
    assert [history.step(1, "one"), history.step(1, "two"), history.step(1, "draft")] == [
        "two",
        "draft",
        "draft",
    ]


def test_history_skips_the_entry_that_is_already_there() -> None:
    assert RegexHistory(["one", "two"]).step(-1, "two") == "one"


def test_an_entry_that_is_used_again_becomes_the_newest() -> None:
    history = RegexHistory(["one", "two"])
    history.add("one")
    assert [history.step(-1, "x"), history.step(-1, "one")] == ["one", "two"]
