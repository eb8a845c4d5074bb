"""A tokenizer is the same after it is sent to another process."""

from __future__ import annotations

import json

from tokviz.formats.tokenizer_ipc import from_parts, to_parts
from tokviz.tokenizer.encoding.normalization import Normalizer
from tokviz.tokenizer.encoding.packed import pack_ranks
from tokviz.tokenizer.encoding.specials import SpecialTokens
from tokviz.tokenizer.tokenizer import Tokenizer


def handed_over(tokenizer: Tokenizer) -> Tokenizer:
    head, parts = to_parts(tokenizer)
    return from_parts(json.loads(json.dumps(head)), [bytes(part) for part in parts])


def test_a_tokenizer_that_composes_text_still_does() -> None:
    tokens = [(byte, bytes([byte])) for byte in range(256)] + [(256, "é".encode())]
    tokenizer = Tokenizer.of(
        pack_ranks(tokens),
        {"<|end|>": 300},
        split_pattern="qwen2",
        normalizer=Normalizer("NFC"),
        name="q",
    )
    again = handed_over(tokenizer)
    assert again.encode("e\u0301<|end|>") == tokenizer.encode("e\u0301<|end|>") == [256, 300]
    assert (again.normalizer, again.lossy, again.name) == (Normalizer("NFC"), True, "q")


def test_special_tokens_are_handed_over_with_all_that_is_known_of_them() -> None:
    ids = {"<a>": 300, "\0": 301, "  ": 302, "é😀": 303, "<b>\n": 299}
    specials = SpecialTokens(ids, normalized=["<b>\n", "é😀"], non_special=["  ", "<a>"])
    tokens = pack_ranks((byte, bytes([byte])) for byte in range(256))
    again = handed_over(Tokenizer.of(tokens, specials, split_pattern="gpt2")).specials
    assert list(again.ids.items()) == list(ids.items())
    assert (again.normalized, again.non_special) == (specials.normalized, specials.non_special)
