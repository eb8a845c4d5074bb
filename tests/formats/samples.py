"""Small tokenizers to write and read, made once."""

from __future__ import annotations

from functools import cache

import tokviz

TEXT = (
    "The cats' 12345 naïve cats\n\n  sat, they'll say: 你好 👩‍👩‍👧 The end. "
    "def f(x):\n    return {x: 1}\r\n\t\taaaaaaaa  bbbb   été ÉTÉ " * 9
)


@cache
def trained(pattern: str = "gpt4", specials: tuple[str, ...] = ()) -> tokviz.Tokenizer:
    """A tokenizer of 400 tokens whose ids are bytes, merges, special tokens."""
    return tokviz.train([TEXT], 400, split_pattern=pattern, special_tokens=list(specials)).tokenizer


def shuffled() -> tokviz.Tokenizer:
    """A tokenizer whose ids are in no order, with a gap."""
    tok = trained()
    ids = {token: (token_id * 7) % 401 for token_id, token in tok.vocab.items()}
    vocab = {token_id: token for token, token_id in ids.items()}
    return tokviz.Tokenizer(vocab, tok.merges, split_pattern="gpt4", name="shuffled")
