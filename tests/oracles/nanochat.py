"""nanochat's rendering, rewritten from its description: slow, short, obviously correct."""

from __future__ import annotations

from typing import Any

from tokviz.tokenizer.tokenizer import Tokenizer

SPECIALS = [
    "<|bos|>",
    "<|user_start|>",
    "<|user_end|>",
    "<|assistant_start|>",
    "<|assistant_end|>",
    "<|python_start|>",
    "<|python_end|>",
    "<|output_start|>",
    "<|output_end|>",
]


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    ids = dict(tokenizer.special_tokens)
    following = tokenizer.n_vocab
    for name in SPECIALS:
        if name not in ids:
            ids[name] = following
            following += 1
    return ids


def render_conversation(
    tokenizer: Tokenizer, conversation: dict[str, Any], max_tokens: int = 2048
) -> tuple[list[int], list[int]]:
    special = special_ids(tokenizer)
    messages = list(conversation["messages"])
    if messages[0]["role"] == "system":
        system, user, *rest = messages
        assert user["role"] == "user"
        merged = system["content"] + "\n\n" + user["content"]
        messages = [{"role": "user", "content": merged}, *rest]

    out: list[tuple[int, int]] = [(special["<|bos|>"], 0)]

    def name(token: str, mask: int) -> None:
        out.append((special[token], mask))

    def text(content: str, mask: int) -> None:
        out.extend((token, mask) for token in tokenizer.encode(content, "none"))

    for number, message in enumerate(messages):
        content = message["content"]
        if number % 2 == 0:
            assert message["role"] == "user"
            assert isinstance(content, str)
            name("<|user_start|>", 0)
            text(content, 0)
            name("<|user_end|>", 0)
            continue
        assert message["role"] == "assistant"
        name("<|assistant_start|>", 0)
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                text(part["text"], 1)
            elif part["type"] == "python":
                name("<|python_start|>", 1)
                text(part["text"], 1)
                name("<|python_end|>", 1)
            elif part["type"] == "python_output":
                name("<|output_start|>", 0)
                text(part["text"], 0)
                name("<|output_end|>", 0)
            else:
                raise AssertionError(part["type"])
        name("<|assistant_end|>", 1)
    out = out[:max_tokens]
    return [token for token, _ in out], [mask for _, mask in out]


def render_for_completion(tokenizer: Tokenizer, conversation: dict[str, Any]) -> list[int]:
    *before, last = conversation["messages"]
    assert last["role"] == "assistant"
    ids, _ = render_conversation(tokenizer, {"messages": before})
    return [*ids, special_ids(tokenizer)["<|assistant_start|>"]]
