"""Look for a text that is not preserved: split pattern x text x tokenizer x edits.

    python tests/robustness/lossless.py 1000000
    python tests/robustness/lossless.py 100 --seed 7 --round 12

A round is a tokenizer, a text and some edits. Every state of the text is checked: its tokens
decode to its bytes, tokens and pre-tokens cover it, and the edited document has the same text,
tokens and positions as a new one. The figures are faults and checks; a fault is printed with its
round, which the second command repeats.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.oracles import edits  # noqa: E402
from tests.oracles.live import SlowDocument  # noqa: E402
from tokviz.errors import PatternError  # noqa: E402
from tokviz.live.backlog import LARGE  # noqa: E402
from tokviz.live.document import LiveDocument  # noqa: E402
from tokviz.text import bytetext  # noqa: E402
from tokviz.tokenizer.pretokenize.split import split  # noqa: E402
from tokviz.tokenizer.tokenizer import Tokenizer  # noqa: E402

EDITS = 12
ATOMS = (
    *(r"\p{L}", r"\p{N}", r"\s", r"[a-z]", r"[^\s]", ".", "a", " ", r"\n", r"\p{M}", r"\P{L}"),
    *(r"[^\r\n\p{L}]", "é", "(?i:s|ll)", "😀", r"\b", "^", "$", r"(?!\S)", "(?=a)"),
)
QUANTIFIERS = ("", "", "", "+", "*", "?", "{1,3}", "++", "+?")
"""Quantifiers, which are not applied to groups, so that no pattern is exponential."""


class Fault(NamedTuple):
    """A text that was not preserved: the round, the number of edits, and the difference."""

    round: int
    edit: int
    what: str


def custom_pattern(chance: random.Random) -> str:
    """Make an unusual split pattern, with gaps and empty matches."""

    def alternative() -> str:
        return "".join(
            atom + ("" if atom[0] in "^$" or atom.startswith(("(?!", "(?=", r"\b"))
                    else chance.choice(QUANTIFIERS))
            for atom in chance.choices(ATOMS, k=chance.randint(1, 3))
        )  # fmt: skip

    return "|".join(alternative() for _ in range(chance.randint(1, 4)))


@lru_cache(64)
def small(pattern: str) -> Tokenizer:
    """Return a small tokenizer with a pattern; the cache of custom patterns is bounded."""
    return edits.tokenizer.__wrapped__(f"small {pattern}")


def tokenizer(chance: random.Random) -> Tokenizer:
    """Return one of the vocabularies, or a small one with any pattern."""
    kind = chance.random()
    if kind < 0.4:
        return edits.tokenizer(chance.choice(edits.BUILTIN))
    if kind < 0.7:
        return edits.tokenizer(chance.choice(edits.SMALL))
    while True:
        try:
            return small(custom_pattern(chance))
        except PatternError:  # look-behind, which split patterns cannot use
            continue


def text(chance: random.Random) -> str:
    """Make byte text: known problems, arbitrary bytes, or one long run."""
    kind = chance.random()
    if kind < 0.8:
        parts = edits.random_text(chance, chance.choice((0, 1, 2, 3, 5, 8, 20, 40)))
    elif kind < 0.995:
        return bytetext.from_bytes(chance.randbytes(chance.choice((1, 4, 12, 30, 100))))
    else:
        parts = chance.choice(edits.ALPHABET) * chance.randint(200, 800)
    return bytetext.from_bytes(bytetext.to_bytes(parts))


def tiles(spans: Iterator[tuple[int, int]], end: int) -> bool:
    """Return whether spans cover 0 to the end without gaps, none of them empty."""
    at = 0
    for first, last in spans:
        if first != at or last <= first:
            return False
        at = last
    return at == end


def differences(live: LiveDocument, slow: SlowDocument) -> Iterator[str]:
    """List the faults in one state of a text."""
    tok, data = slow.tokenizer, bytetext.to_bytes(slow.text)
    if live.text != slow.text:
        yield "the edited text"
    expected = slow.spans()
    ids = [span[3] for span in expected]
    if tok.decode_bytes(ids) != data:
        yield "the bytes of the tokens"
    whole = tok.byte_text.tokenize(slow.text, slow.parse_specials)
    if whole.ids != ids:
        yield "the tokens of a tokenization"
    if not tiles(iter(whole.byte_spans.tolist()), len(data)):
        yield "the tokens' spans"
    if not tiles(iter(whole.pre_tokens.tolist()), len(data)):
        yield "the pre-tokens' spans"
    if not tiles(split(tok.split_pattern, slow.text).spans(), len(slow.text)):
        yield "the split"
    if live.n_chars > LARGE:
        live.ids()  # the document leaves a long chunk to a worker, which does not exist here
    spans = live.tokens_in(0, len(slow.text))
    if [(s.start, s.end, s.index, s.id, s.split) for s in spans] != expected:
        yield "the tokens of the edited document"
    if list(live.ids()) != ids or (live.n_bytes, live.n_tokens) != (len(data), len(ids)):
        yield "the counts of the edited document"


def do_round(seed: int, number: int) -> Iterator[Fault | None]:
    """Run a round: one result for every check."""
    chance = random.Random(f"{seed} {number}")
    tok, start = tokenizer(chance), text(chance)
    parse_specials = chance.random() < 0.7
    live = LiveDocument(
        start, tok, parse_specials=parse_specials, chunk_target=chance.choice((1, 4, 16, 64, 1000))
    )
    slow = SlowDocument(start, tok, parse_specials)
    for edit in range(EDITS + 1):
        if edit:
            change = edits.random_edit(chance, live.n_chars)
            live.edit(*change)
            slow.edit(*change)
        try:
            wrong = list(differences(live, slow))
        except Exception as error:
            wrong = [f"{type(error).__name__}: {error}"]
        where = f"{tok.name!r}, {slow.text[:200]!a}"
        yield Fault(number, edit, f"{', '.join(wrong)} of {where}") if wrong else None


def search(seed: int, n_checks: int, only: int | None = None) -> tuple[int, list[Fault]]:
    """Run rounds until there were enough checks; return their number and the faults."""
    faults: list[Fault] = []
    n_done, number = 0, 0 if only is None else only
    began = told = time.monotonic()
    while n_done < n_checks:
        for fault in do_round(seed, number):
            n_done += 1
            if fault is not None:
                faults.append(fault)
                print(f"FAULT  seed {seed}, round {fault.round}, edit {fault.edit}: {fault.what}")
                break
        if only is not None:
            break
        number += 1
        if time.monotonic() - told > 30:
            told = time.monotonic()
            print(f"{n_done:,} checks, {len(faults)} faults, {told - began:.0f} s", flush=True)
    return n_done, faults


def main(arguments: list[str] | None = None) -> int:
    """Search, print the figures, and return 1 if a text was not preserved."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("checks", type=int)
    parser.add_argument("--seed", type=int, help="the same one does the same (random)")
    parser.add_argument("--round", type=int, help="only this round")
    asked = parser.parse_args(arguments)
    seed = random.randrange(2**32) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    n_checks, faults = search(seed, asked.checks, asked.round)
    print(f"lossless: {len(faults)} faults in {n_checks:,} checks; must be 0")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
