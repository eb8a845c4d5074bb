"""Figures: the content of every export."""

from __future__ import annotations

import tokviz
from tokviz.share.figure import comparison_figure, figure_of


def test_chips_of_a_comparison_have_the_same_pre_tokens_as_those_of_one_tokenizer() -> None:
    text, names = "unbelievable 1984, again", ["gpt2", "cl100k_base"]
    comparison = tokviz.compare(text, [tokviz.load(name) for name in names])
    compared = [
        [chip.pre_token for chip in part.items if not isinstance(chip, str)]
        for part in comparison_figure("text", comparison).parts
    ]
    alone = [
        [chip.pre_token for _, chip in figure_of(tokviz.load(name), name, text.encode()).chips]
        for name in names
    ]
    assert [part for part in compared if part] == alone
