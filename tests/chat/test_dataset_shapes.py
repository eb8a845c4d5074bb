"""Dataset shapes of TRL and Dolly, read, rendered and written back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import tokviz
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter
from tokviz.chat.dataset_shapes import SHAPES, describe_shapes
from tokviz.chat.lint import lint
from tokviz.chat.messages import Message
from tokviz.chat.render import render
from tokviz.chat.rendering import PLAIN_TEXT, Rendering
from tokviz.chat.templates import TEMPLATES
from tokviz.tokenizer.tokenizer import Tokenizer

USER = {"role": "user", "content": "2 + 2?"}
FOUR = {"role": "assistant", "content": "4"}
FIVE = {"role": "assistant", "content": "5"}
ROWS: dict[str, Any] = {
    "prompt_messages": {"id": 1, "prompt": [USER, FOUR, USER], "completion": [FOUR], "k": None},
    "prompt": {"prompt": "2 + 2 =", "completion": " 4", "label": True},
    "chosen": {"prompt": [USER], "chosen": [FOUR], "rejected": [FIVE], "score": 0.5},
    "chosen_text": {"chosen": "2 + 2 = 4", "rejected": "2 + 2 = 5"},
    "dolly": {"instruction": "Add", "context": "2 2", "response": "4", "category": "math"},
    "text": {"text": "2 + 2 = 4", "meta": {"source": "x"}},
}
IMPLICIT = {"chosen": [USER, FOUR], "rejected": [USER, FIVE]}
ULTRAFEEDBACK = {**IMPLICIT, "prompt": "2 + 2?"}


@pytest.fixture(scope="module")
def gpt2() -> Tokenizer:
    return tokviz.load("gpt2")


def learned(rendering: Rendering) -> str:
    ids = zip(rendering.ids, rendering.mask, strict=True)
    return rendering.tokenizer.decode([token for token, mask in ids if mask])


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_recognized_and_written_back(name: str) -> None:
    conversation = Conversation.from_json(ROWS[name])
    assert conversation.shape == name
    assert conversation.to_json() == ROWS[name]


@pytest.mark.parametrize("row", [IMPLICIT, ULTRAFEEDBACK, ROWS["chosen"], ROWS["chosen_text"]])
def test_both_answers_of_a_preference_row_can_be_read_and_edited(row: dict[str, Any]) -> None:
    chosen = Conversation.from_json(row)
    other = Conversation.from_json(row, shape=SHAPES[chosen.shape].other)
    assert [chosen.messages[-1].text, other.messages[-1].text] == ["4", "5"]
    assert other.to_json() == row
    assert SHAPES[other.shape].other == chosen.shape
    edited = replace(other, messages=(*other.messages[:-1], Message("assistant", "6")))
    last = edited.to_json()["rejected"]
    assert (last if isinstance(last, str) else last[-1]["content"]).endswith("6")
    assert edited.to_json()["chosen"] == row["chosen"]


def test_an_edit_of_a_shared_prompt_changes_both_answers() -> None:
    conversation = Conversation.from_json(IMPLICIT)
    asked = replace(conversation.messages[0], content="Add!")
    row = replace(conversation, messages=(asked, *conversation.messages[1:])).to_json()
    assert row["chosen"][0] == row["rejected"][0] == {"role": "user", "content": "Add!"}


def test_only_the_completion_of_a_conversation_is_in_the_loss(gpt2: Tokenizer) -> None:
    rendering = render(gpt2, Conversation.from_json(ROWS["prompt_messages"]), "nanochat")
    assert rendering.untrained == {1: "prompt"}
    assert rendering.mask.count(1) == 2
    preference = render(gpt2, Conversation.from_json(ROWS["chosen"]), "nanochat")
    assert "'rejected'" in preference.notes[0]


def test_a_prompt_and_its_completion_are_plain_text_with_eos(gpt2: Tokenizer) -> None:
    rendering = render(gpt2, ROWS["prompt"], "chatml")
    assert rendering.template == PLAIN_TEXT
    assert [*rendering.ids] == gpt2.encode("2 + 2 = 4<|endoftext|>")
    assert learned(rendering) == " 4<|endoftext|>"
    assert lint(Conversation.from_json(ROWS["prompt"]), rendering) == []
    whole = render(gpt2, ROWS["text"], "chatml")
    assert learned(whole) == "2 + 2 = 4<|endoftext|>"
    assert lint(Conversation.from_json(ROWS["text"]), whole) == []
    ended = render(gpt2, {"text": "a<|endoftext|>"}, "chatml")
    assert [*ended.ids] == gpt2.encode("a<|endoftext|>")


def test_as_many_tokens_are_masked_as_the_prompt_has_alone(gpt2: Tokenizer) -> None:
    """TRL warns about this mismatch and masks by the number of tokens."""
    rendering = render(gpt2, {"prompt": "Hel", "completion": "lo there"}, "nanochat")
    n_prompt = len(gpt2.encode("Hel"))
    assert [*rendering.mask] == [0] * n_prompt + [1] * (len(rendering) - n_prompt)
    assert "tokenized differently" in rendering.notes[0]


def test_a_plain_row_with_more_messages_is_a_conversation(gpt2: Tokenizer) -> None:
    conversation = Conversation.from_json(ROWS["prompt"])
    longer = replace(conversation, messages=(*conversation.messages, Message("user", "?")))
    assert not longer.is_plain
    assert render(gpt2, longer, "nanochat").template == "nanochat"
    assert [*longer.to_json()] == ["messages", "label"]


def test_the_context_of_a_dolly_row_is_part_of_the_question() -> None:
    messages = Conversation.from_json(ROWS["dolly"]).messages
    assert [message.text for message in messages] == ["Add\n\n2 2", "4"]


def test_all_rows_are_checked_as_they_are_rendered_alone(gpt2: Tokenizer) -> None:
    rows = [*ROWS.values(), IMPLICIT, {"prompt": "", "completion": "x"}, {"text": ""}]
    dataset = Dataset.from_bytes("rows.jsonl", "\n".join(map(json.dumps, rows)).encode())
    linter = DatasetLinter(gpt2, TEMPLATES["nanochat"], 2048, with_lengths=True)
    reports = [*linter.reports(dataset)]
    assert [report.n_tokens for report in reports] == [
        len(render(gpt2, row, "nanochat")) for row in rows
    ]
    assert [[finding.code for finding in report.findings] for report in reports[6:]] == [
        [], ["empty-turn"], ["empty-turn"],
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["rejected", "rejected_text"])
def test_a_second_way_to_read_a_row_is_not_listed(name: str) -> None:
    assert SHAPES[name].looks == ""
    assert "" not in describe_shapes().splitlines()
