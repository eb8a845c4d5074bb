"""Settings that people know by a name. To add one, add an entry to `PRESETS`."""

from __future__ import annotations

from typing import NamedTuple

from tokviz.chat.nanochat import SPECIAL_TOKENS


class Preset(NamedTuple):
    """The settings of a well-known training.

    Attributes:
        name: What people call it.
        about: What it is for, with its source.
        vocab_size: The tokens, bytes and special tokens included.
        split_pattern: How text is cut into pieces.
        tie_break: The rule for ties.
        special_tokens: The special tokens.
    """

    name: str
    about: str
    vocab_size: int
    split_pattern: str
    tie_break: str
    special_tokens: tuple[str, ...]


PRESETS = {
    preset.name: preset
    for preset in (
        Preset("nanochat", "as karpathy/nanochat trains: digits in twos, nine special tokens",
               65_536, "nanochat", "smallest_id", SPECIAL_TOKENS),
        Preset("CS336", "as assignment 1 of Stanford CS336 asks for, on TinyStories",
               10_000, "gpt2", "lexicographic", ("<|endoftext|>",)),
        Preset("GPT-2", "the pattern, size and special token of GPT-2",
               50_257, "gpt2", "smallest_id", ("<|endoftext|>",)),
        Preset("code", "for a folder of code: GPT-4's pattern keeps indentation together",
               32_000, "gpt4", "first", ("<|endoftext|>",)),
    )
}  # fmt: skip
