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

from tokviz.cli import options
from tokviz.cli.inputs import STDIN, read_blocks
from tokviz.live.text_blocks import InputCounts, text_blocks
from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize.patterns import CUT_CONTEXT
from tokviz.tokenizer.tokenizer import Tokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz truncate`."""
    parser.add_argument("n_tokens", type=options.whole, metavar="N", help="the number of tokens")
    parser.add_argument("file", nargs="?", default=STDIN, metavar="FILE", help="the text")
    options.add_flag(parser, "--from-end", "print the last tokens instead of the first ones")
    options.add_tokenizer(parser)
    options.add_split_pattern(parser)
    options.add_specials(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a part of the text."""
    tokenizer, from_end = options.load_tokenizer(arguments), arguments.from_end
    specials = arguments.specials == "parsed"
    kept, total = deque[tuple[str, int]](), 0
    data = read_blocks(arguments.file)
    for text in text_blocks(data, tokenizer, parse_specials=specials, counts=InputCounts()):
        kept.append((text, len(tokenizer.byte_text.encode(text, specials))))
        total += kept[-1][1]
        while from_end and kept and total - kept[0][1] >= arguments.n_tokens:
            total -= kept.popleft()[1]
        if total > arguments.n_tokens and not from_end:
            break
    if total > arguments.n_tokens:
        text, size = kept.popleft() if from_end else kept.pop()
        # A block is separate from the next one only if enough characters precede it.
        shortest = CUT_CONTEXT if from_end and kept else 0
        part = part_of(text, arguments.n_tokens - total + size, tokenizer, specials, from_end)
        add = kept.appendleft if from_end else kept.append
        add((part if len(part) >= shortest else "", 0))
    sys.stdout.buffer.writelines(bytetext.to_bytes(text) for text, _ in kept)
    return 0


def part_of(text: str, n_tokens: int, tokenizer: Tokenizer, specials: bool, from_end: bool) -> str:
    """Return the longest start or end of byte text that has at most some of its tokens."""
    data, spans = bytetext.to_bytes(text), tokenizer.byte_text.tokenize(text, specials).byte_spans
    cuts = spans[len(spans) - n_tokens :, 0] if from_end else spans[:n_tokens, 1][::-1]
    for cut in cuts.tolist():
        part = bytetext.from_bytes(data[cut:] if from_end else data[:cut])
        is_whole = text.endswith(part) if from_end else text.startswith(part)
        # Without the text around it, a part may have more tokens.
        if is_whole and len(tokenizer.byte_text.encode(part, specials)) <= n_tokens:
            return part
    return ""
