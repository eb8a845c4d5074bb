"""A conversation with a pre-token on which the split pattern takes too long."""

from __future__ import annotations

import json

import pytest

from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter
from tokviz.chat.messages import ConversationError
from tokviz.chat.render import render
from tokviz.chat.templates import TEMPLATES
from tokviz.errors import PatternError
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
from tokviz.tokenizer.tokenizer import Tokenizer

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


def test_the_error_names_the_message_and_the_pre_token() -> None:
    with pytest.raises(ConversationError, match=r"message 1: .* takes longer than \S+ s") as caught:
        render(TOKENIZER, CHAT)
    assert caught.value.message_index == 0
    assert isinstance(caught.value.__cause__, PatternError)
    assert "'zzz" in caught.value.__cause__.pre_token


def test_a_dataset_is_checked_all_the_same() -> None:
    slow = json.dumps([{"role": "user", "content": Z34}, {"role": "assistant", "content": "a"}])
    good = json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}])
    dataset = Dataset.from_bytes("a.jsonl", f"{good}\n{slow}\n{good}\n".encode())
    linter = DatasetLinter(TOKENIZER, TEMPLATES["nanochat"], 2048, with_lengths=True)
    reports = [*linter.reports(dataset)]
    assert [[one.code for one in report.findings] for report in reports] == [
        [],
        ["not-rendered"],
        [],
    ]
    assert [report.n_tokens is None for report in reports] == [False, True, False]
