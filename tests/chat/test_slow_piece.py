"""A conversation with a piece on which the split pattern takes too long."""

from __future__ import annotations

import json

import pytest

from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter
from tokviz.chat.lint import lint
from tokviz.chat.mask_text import mask_text
from tokviz.chat.render import render
from tokviz.chat.templates import TEMPLATES
from tokviz.errors import PatternError
from tokviz.pretokenize.patterns import get_split_pattern
from tokviz.pretokenize.tolerance import tolerant
from tokviz.tokenizer import Tokenizer

Z34 = "z" * 34
TOKENIZER = Tokenizer(
    {byte: bytes([byte]) for byte in range(256)},
    [],
    split_pattern=get_split_pattern(r"(?:z|z)*b| ?\p{L}+|\s+|[^\s]"),
)
CHAT = Conversation.from_json(
    {
        "messages": [
            {"role": "user", "content": f"say\n{Z34} please"},
            {"role": "assistant", "content": [{"type": "text", "text": "here"}]},
        ]
    }
)


def test_the_piece_is_named_every_time_and_the_rest_is_there() -> None:
    for _ in range(2):  # the second time its tokens are remembered
        with tolerant() as errors:
            rendering = render(TOKENIZER, CHAT)
        assert len(errors) == len(rendering.slow) == 1
        found = [f for f in lint(CHAT, rendering) if f.code == "slow-piece"]
        assert [(f.message_index, rendering.token_bytes(f.token_index or 0)) for f in found] == [
            (0, b"z")
        ]
        assert rendering.token_bytes((found[0].token_index or 0) - 1) == b"\n"
        assert "message 1: the split pattern takes too long for one piece: 'zzz" in (
            found[0].message
        )


def test_what_was_tolerated_once_is_an_error_for_who_does_not() -> None:
    with tolerant():
        render(TOKENIZER, CHAT)
    with pytest.raises(PatternError, match="takes too long"):
        render(TOKENIZER, CHAT)


def test_the_mask_of_a_text_names_it_every_time() -> None:
    text = json.dumps({"messages": [{"role": "user", "content": Z34}]})
    for _ in range(2):
        assert "takes too long" in str(mask_text(TOKENIZER, text).sentence)


def test_a_dataset_is_checked_all_the_same() -> None:
    slow = json.dumps([{"role": "user", "content": Z34}, {"role": "assistant", "content": "a"}])
    good = json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}])
    dataset = Dataset.from_bytes("a.jsonl", f"{good}\n{slow}\n{good}\n".encode())
    linter = DatasetLinter(TOKENIZER, TEMPLATES["nanochat"], 2048, with_lengths=True)
    codes = [[finding.code for finding in report.findings] for report in linter.reports(dataset)]
    assert codes == [[], ["slow-piece"], []]
