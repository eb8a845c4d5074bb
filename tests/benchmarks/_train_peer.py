"""Another trainer as a whole process: `_train_peer.py NAME CORPUS OUTPUT VOCAB_SIZE REGEX`.

REGEX is empty for GPT-2's pattern where the trainer has its own code for it.

Each is used as its own documentation shows. Those that take an iterator get the lines of the
corpus, joined to texts of about 64 KB. All save what they have learned.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

_TEXT_BYTES = 1 << 16


def texts(corpus: str) -> Iterator[str]:
    """Yield the corpus in texts that end at line ends."""
    with open(corpus, encoding="utf-8", newline="") as file:
        while lines := file.readlines(_TEXT_BYTES):
            yield "".join(lines)


def train_gigabpe(corpus: str, output: str, vocab_size: int, regex: str) -> None:
    """Train with gigabpe, which knows GPT-2's pattern only."""
    import gigabpe

    gigabpe.train_tokenizer(
        [corpus], vocab_size, output, pretokenizer="bytelevel", special_tokens=[]
    )


def train_rustbpe(corpus: str, output: str, vocab_size: int, regex: str) -> None:
    """Train with rustbpe."""
    import rustbpe

    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(texts(corpus), vocab_size, pattern=regex)
    ranks = tokenizer.get_mergeable_ranks()
    lines = [base64.b64encode(bytes(token)) + b" %d\n" % rank for token, rank in ranks]
    Path(output).write_bytes(b"".join(lines))


def train_bpeasy(corpus: str, output: str, vocab_size: int, regex: str) -> None:
    """Train with bpeasy."""
    import bpeasy

    vocab = bpeasy.train_bpe(texts(corpus), regex, 1 << 16, vocab_size)
    bpeasy.save_vocab_to_tiktoken(vocab, output)


def train_tokenizers(corpus: str, output: str, vocab_size: int, regex: str) -> None:
    """Train with Hugging Face's tokenizers."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not regex)
    split = [pre_tokenizers.Split(Regex(regex), "isolated")] if regex else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*split, byte_level])
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        show_progress=False,
        special_tokens=[],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train([corpus], trainer)
    tokenizer.save(output)


WITH_OWN_GPT2 = {"gigabpe", "tokenizers"}
"""The peers that have their own code for GPT-2's pattern."""

PEERS: dict[str, Callable[[str, str, int, str], None]] = {
    "gigabpe": train_gigabpe,
    "rustbpe": train_rustbpe,
    "bpeasy": train_bpeasy,
    "tokenizers": train_tokenizers,
}
"""Every peer by the name of its package."""


if __name__ == "__main__":
    name, corpus, output, vocab_size, regex = sys.argv[1:]
    PEERS[name](corpus, output, int(vocab_size), regex)
