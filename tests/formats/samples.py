"""Small tokenizers for tests, created once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import tokviz
from tokviz.tokenizer.encoding.packed import PackedRanks, pack

TEXT = (
    "The cats' 12345 naïve cats\n\n  sat, they'll say: 你好 👩‍👩‍👧 The end. "
    "def f(x):\n    return {x: 1}\r\n\t\taaaaaaaa  bbbb   été ÉTÉ " * 9
)


@cache
def trained(pattern: str = "gpt4", specials: tuple[str, ...] = ()) -> tokviz.Tokenizer:
    """Return a tokenizer of 400 tokens with ids in the order bytes, merges, special tokens."""
    return tokviz.train([TEXT], 400, split_pattern=pattern, special_tokens=list(specials)).tokenizer


def shuffled() -> tokviz.Tokenizer:
    """Return a tokenizer with shuffled ids and a gap."""
    tok = trained()
    ids = {token: (token_id * 7) % 401 for token_id, token in tok.vocab.items()}
    vocab = {token_id: token for token, token_id in ids.items()}
    return tokviz.Tokenizer(vocab, tok.merges, split_pattern="gpt4", name="shuffled")


@cache
def beginning(name: str, n_tokens: int = 16_000) -> tokviz.Tokenizer:
    """Return a built-in tokenizer with its first tokens only; all would take seconds to save."""
    whole = tokviz.load(name)
    ranks = PackedRanks.of(pack([whole.token_bytes(i) for i in range(n_tokens)]))
    pattern = whole.split_pattern
    return tokviz.Tokenizer.of(
        ranks, whole.special_tokens, split_pattern=pattern, normalizer=whole.normalizer
    )


@cache
def with_every_merge() -> tokviz.Tokenizer:
    """Return GPT-2's first tokens with every pair that makes a token, as in converted Llama 3."""
    gpt2 = beginning("gpt2")
    ids = {token: i for i, token in gpt2.vocab.items() if not gpt2.is_special(i)}
    merges: list[tuple[bytes, bytes]] = []
    for token in ids:
        pairs = [(token[:at], token[at:]) for at in range(1, len(token))]
        known = [(left, right) for left, right in pairs if left in ids and right in ids]
        merges += sorted(known, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
    vocab = {token_id: token for token, token_id in ids.items()}
    made = tokviz.Tokenizer(
        vocab, merges, gpt2.special_tokens, split_pattern="gpt2", ignore_merges=True
    )
    with TemporaryDirectory() as folder:
        made.save(Path(folder) / "tokenizer.json")
        return tokviz.load(Path(folder) / "tokenizer.json")
