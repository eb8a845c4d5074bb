"""Conversations for tests, and Hypothesis strategies that make them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.oracles.nanochat import SPECIALS
from tokviz.chat.rendering import virtual_specials
from tokviz.chat.templates import TEMPLATES
from tokviz.formats.loader import load
from tokviz.tokenizer.encoding.specials import SpecialTokens

_GPT2 = load("gpt2")
_CONTROL = [*dict.fromkeys(text for each in TEMPLATES.values() for text in each.special_tokens)]
WITH_SPECIALS = _GPT2.with_parts(
    _GPT2.split_pattern,
    SpecialTokens({**_GPT2.special_tokens, **virtual_specials(_GPT2, _CONTROL)}),
)
"""GPT-2 with the special tokens of all built-in templates."""

TEXTS = st.one_of(
    st.text(max_size=12),
    st.lists(
        st.sampled_from(
            [*SPECIALS, "<|im_end|>", " ", "\n", "\n\n", "a", "Hello", " wor", "1", "é"]
        ),
        max_size=6,
    ).map("".join),
)
PARTS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "python", "python_output"]), "text": TEXTS}
    ),
    max_size=4,
)


@st.composite
def nanochat_conversations(draw: st.DrawFn) -> dict[str, Any]:
    """Generate conversations that nanochat renders."""
    messages: list[dict[str, Any]] = []
    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(TEXTS)})
    messages.append({"role": "user", "content": draw(TEXTS)})
    for number in range(draw(st.integers(0, 4))):
        if number % 2:
            messages.append({"role": "user", "content": draw(TEXTS)})
        else:
            messages.append({"role": "assistant", "content": draw(st.one_of(TEXTS, PARTS))})
    return {"messages": messages}


@st.composite
def plain_conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Generate turns without special tokens' text, optionally with a system message."""
    words = st.lists(
        st.sampled_from([" ", "\n", "\n\n", "a", "Hello", " wor", "ld", "1", "é", "你", ".", "{"]),
        min_size=1,
        max_size=8,
    ).map("".join)
    messages = [{"role": "system", "content": draw(words)}] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(words)})
        messages.append({"role": "assistant", "content": draw(words)})
    return messages


def turns(*texts: str) -> list[dict[str, Any]]:
    """Return messages that alternate between user and assistant."""
    roles = ["user", "assistant"]
    return [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]
