"""Print the first or the last N tokens of a text.

output: the start of the text, byte for byte. It ends between two tokens and between two characters,
and has at most N tokens. With --from-end, the end of the text instead. A text with at most N tokens
is printed whole. Without --from-end, the text is read only as far as necessary.

  tokviz truncate 8000 --from-end < log.txt
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Iterable, Iterator

from tokviz.cli import options
from tokviz.cli.inputs import STDIN, read_blocks
from tokviz.live.text_blocks import InputCounts, text_blocks
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.specials import AllowedSpecial
from tokviz.tokenizer.pretokenize.patterns import CUT_CONTEXT
from tokviz.tokenizer.tokenizer import Tokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz truncate`."""
    parser.add_argument("n_tokens", type=options.whole, metavar="N", help="the number of tokens")
    parser.add_argument(
        "file", nargs="?", default=STDIN, metavar="FILE", help="the text (default: standard input)"
    )
    options.add_flag(parser, "--from-end", "print the last tokens instead of the first ones")
    options.add_tokenizer(parser)
    options.add_split_pattern(parser)
    options.add_specials(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a part of the text."""
    tokenizer = options.load_tokenizer(arguments)
    specials = options.SPECIALS[arguments.specials]
    blocks = text_blocks(
        read_blocks(arguments.file), tokenizer, parse_specials=specials, counts=InputCounts()
    )
    cut = last_tokens if arguments.from_end else first_tokens
    for text in cut(blocks, arguments.n_tokens, tokenizer, specials):
        sys.stdout.buffer.write(bytetext.to_bytes(text))
    return 0


def first_tokens(
    blocks: Iterable[str], n_tokens: int, tokenizer: Tokenizer, specials: AllowedSpecial | bool
) -> Iterator[str]:
    """Yield the start of a text, which comes in blocks that are encoded independently."""
    for text in blocks:
        size = len(tokenizer.encode_to_array(text, specials))
        if size > n_tokens:
            data = bytetext.to_bytes(text)
            ends = tokenizer.tokenize_byte_text(text, specials).byte_spans[:n_tokens, 1]
            for end in reversed(ends.tolist()):
                part = bytetext.from_bytes(data[:end])
                # Without the text after it, a part may have more tokens.
                if text.startswith(part) and _fits(part, n_tokens, tokenizer, specials):
                    yield part
                    break
            return
        yield text
        n_tokens -= size


def last_tokens(
    blocks: Iterable[str], n_tokens: int, tokenizer: Tokenizer, specials: AllowedSpecial | bool
) -> Iterator[str]:
    """Yield the end of a text, which comes in blocks that are encoded independently."""
    kept, total = deque[tuple[str, int]](), 0
    for text in blocks:
        kept.append((text, len(tokenizer.encode_to_array(text, specials))))
        total += kept[-1][1]
        while kept and total - kept[0][1] >= n_tokens:
            total -= kept.popleft()[1]
    if total > n_tokens:
        text, size = kept.popleft()
        room = n_tokens - (total - size)
        data = bytetext.to_bytes(text)
        starts = tokenizer.tokenize_byte_text(text, specials).byte_spans[-room:, 0]
        after, after_size = kept[0] if kept else ("", 0)
        for start in starts.tolist():
            part = bytetext.from_bytes(data[start:])
            # The next block is separate only if enough characters precede it.
            more = after if len(part) < CUT_CONTEXT else ""
            most = room + after_size * bool(more)
            if text.endswith(part) and _fits(part + more, most, tokenizer, specials):
                yield part
                break
    yield from (text for text, _ in kept)


def _fits(text: str, most: int, tokenizer: Tokenizer, specials: AllowedSpecial | bool) -> bool:
    return len(tokenizer.encode_to_array(text, specials)) <= most
