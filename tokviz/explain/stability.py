r"""Which tokens at the end of a text would change with the next character, and what that costs.

A model that is given the tokens of "once upon a " goes on behind the token of the space. But where
it learned from, the space was a part of the word behind it: " time" is one token, which can no
longer come. Leaving such tokens to the model is called token healing.

>>> import tokviz
>>> found = unstable_end(tokviz.load("gpt2"), "once upon a ")
>>> found.n_tokens, found.data
(1, b' ')
>>> found.examples[0]
Continuation(token=b' the', id=262)
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import accumulate, chain, islice, product
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from tokviz import bytetext
from tokviz.encoding.byte_rows import ByteRows
from tokviz.explain.trace import encode_trace
from tokviz.pretokenize.guard import split_ahead
from tokviz.sentences import Sentence
from tokviz.snapshots import n_same

if TYPE_CHECKING:
    from tokviz.tokenizer import Tokenizer

MOST_TAIL = 512
"""Characters at the end of a text that are looked at."""
_MOST_PIECES = 4
"""Pieces at the end that a further character can join: white space and line ends before it."""
_MOST_TRIED = 6000
"""Characters that are tried at most."""
_MOST_EXAMPLES = 8
_MOST_VERIFIED = 64
_LIKELY = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789\n.,;:!?'-"
"""The characters that are tried first, and named as examples."""


class Continuation(NamedTuple):
    """A token that begins with the unstable bytes and cannot come any more."""

    token: bytes
    id: int


class UnstableEnd(NamedTuple):
    """The tokens at the end of a text that a further character would change.

    Attributes:
        n_tokens: How many tokens that are, from the end; 0 for none.
        data: Their bytes.
        character: A character that changes them all.
        becomes: What stands in their place with it.
        n_longer: How many tokens of the vocabulary begin with these bytes and are longer.
        examples: Some of those, words first, then by id, each tried: encoding the text that goes on
            with it gives this token, which never follows the tokens of the text as it is.
        complete: Whether all that can change was tried.
    """

    n_tokens: int
    data: bytes = b""
    character: str = ""
    becomes: tuple[bytes, ...] = ()
    n_longer: int = 0
    examples: tuple[Continuation, ...] = ()
    complete: bool = True


def unstable_end(tok: Tokenizer, text: str, parse_specials: bool = True) -> UnstableEnd:
    """Find the tokens at the end of a text that some next character would change.

    A character can change tokens in two ways: it lets the pattern cut elsewhere, which depends on
    what sort of character it is, or a token reaches over the old end. Of the first kind one of each
    sort is tried, and of the second every one with which a token of the vocabulary goes on behind
    some of the last bytes. Whatever is found has been encoded.

    Args:
        tok: The tokenizer; one that encodes elsewhere (`remote`) is not asked.
        text: Byte text.
        parse_specials: Whether special tokens are recognised.
    """
    tail = _tail(tok, text, parse_specials)
    if not tail or tok.remote:
        return UnstableEnd(0, complete=not text)
    before = tok.encode_byte_text(tail, parse_specials)
    worst, character, becomes = len(before), "", before
    # Where the piece begins that holds the old end, by the sort of the next character, and the
    # tokens in front of it.
    fronts: dict[int, list[int]] = {}
    sorts = _one_of_each_sort()
    with split_ahead(tok.split_pattern, [tail + one for one in sorts]):
        tokens = [tok.encode_byte_text(tail + one, parse_specials) for one in sorts]
        pieces = [tok.split_byte_text(tail + one, parse_specials) for one in sorts]
    for one, after, spans in zip(sorts, tokens, pieces, strict=True):
        n_kept = n_same(before, after)
        if n_kept < worst:
            worst, character, becomes = n_kept, one, after
        start = next(start for start, end in spans if end > len(tail))
        if start not in fronts:
            fronts[start] = _tokens_before(tok, after, tail, start)
    # In a child every one takes a hundred times as long.
    most = _MOST_TRIED // 20 if tok.in_child else _MOST_TRIED
    n_tried = 0
    for n_left, suffix in sorted(_reaching_over(tok, tail, before, fronts)):
        if n_left >= worst:
            break
        for one in _going_on(tok, suffix, raw=bytetext.has_raw_bytes(tail[-1:])):
            n_tried += 1
            after = tok.encode_byte_text(tail + one, parse_specials)
            n_kept = n_same(before, after)
            if n_kept < worst:
                worst, character, becomes = n_kept, one, after
            if worst <= n_left or n_tried >= most:
                break
    n_tokens, complete = len(before) - worst, n_tried < most
    if not n_tokens:
        return UnstableEnd(0, complete=complete)
    data = b"".join(tok.token_bytes(token_id) for token_id in before[worst:])
    n_longer, examples = _unreachable(tok, tail, before[:worst], data, parse_specials)
    shown = tuple(tok.token_bytes(token_id) for token_id in becomes[worst:])
    return UnstableEnd(n_tokens, data, character, shown, n_longer, examples, complete)


def _reaching_over(
    tok: Tokenizer, tail: str, before: Sequence[int], fronts: dict[int, list[int]]
) -> Iterator[tuple[int, bytes]]:
    """Give the last bytes with which a token over the old end can begin.

    What stands in front of such a token merges as if the piece ended there: no merge crosses the
    border of a token that is left in the end. So it is known beforehand how many tokens stay.

    Yields:
        How many of the tokens stay, and the bytes.
    """
    for start, front in fronts.items():
        piece = bytetext.to_bytes(tail[start:])
        for at in range(len(piece)):
            left = [tok.token_id(token) for token in encode_trace(tok, piece[:at]).tokens]
            ids = [token_id for token_id in left if token_id is not None]
            yield n_same(before, [*front, *ids]), piece[at:]


def _tail(tok: Tokenizer, text: str, parse_specials: bool) -> str:
    """Give the last pieces, as far as their tokens can depend on what comes next.

    Returns:
        Nothing for an empty text, and for one that ends in a piece too long to look at.
    """
    last = text[-MOST_TAIL:]
    spans = tok.split_byte_text(last, parse_specials) if last else []
    n_whole = len(spans) if len(text) == len(last) else len(spans) - 2
    if n_whole <= 0:
        return ""
    return last[spans[-min(n_whole, _MOST_PIECES)][0] :]


def _tokens_before(tok: Tokenizer, ids: Sequence[int], tail: str, first: int) -> list[int]:
    """Give the tokens that end before a character."""
    n_bytes = len(bytetext.to_bytes(tail[:first]))
    ends = accumulate(len(tok.token_bytes(token_id)) for token_id in ids)
    return [token_id for token_id, end in zip(ids, ends, strict=True) if end <= n_bytes]


@cache
def _one_of_each_sort() -> tuple[str, ...]:
    """List ASCII, and characters of every category, each from several blocks."""
    kinds: dict[tuple[str, bool], list[str]] = {}
    for code in range(0x80, 0x20000):
        character = chr(code)
        if 0xD800 <= code <= 0xDFFF:
            continue
        found = kinds.setdefault((unicodedata.category(character), character.isspace()), [])
        if len(found) < 2:
            found.append(character)
    others = [character for found in kinds.values() for character in found]
    ascii_too = [*_LIKELY, *(one for one in map(chr, range(0x80)) if one not in _LIKELY)]
    # The first two are s and k to a pattern that takes small and capital letters for the same.
    return (*ascii_too, *others, "\u017f", "\u212a", "\u4e16", "\u3042", "\U0001f600")


def _going_on(tok: Tokenizer, suffix: bytes, *, raw: bool) -> Iterator[str]:
    """Give the characters with which some token goes on behind some bytes.

    Args:
        tok: The tokenizer.
        suffix: The bytes.
        raw: Whether bytes that are no character may come next.
    """
    listed = _tokens_of(tok)
    at = bisect_left(listed, suffix)
    while at < len(listed) and listed[at].startswith(suffix):
        lead = _first_character(listed[at][len(suffix) :])
        if not lead:
            at += 1
            continue
        yield from _completions(lead, raw=raw)
        # Tokens that go on with the same character are side by side.
        at = bisect_left(listed, suffix + lead + b"\xff" * 64, at + 1)


def _first_character(rest: bytes) -> bytes:
    """Give the bytes of the first character, or what there is of it."""
    if not rest or rest[0] < 0x80:
        return rest[:1]
    size = 2 if rest[0] < 0xE0 else 3 if rest[0] < 0xF0 else 4
    return rest[:size]


def _completions(lead: bytes, *, raw: bool) -> Iterator[str]:
    """Give the characters that begin with some bytes."""
    if lead[0] < 0x80:
        yield lead.decode()
        return
    size = 2 if lead[0] < 0xE0 else 3 if lead[0] < 0xF0 else 4
    n_open = size - len(lead)
    if 0xC2 <= lead[0] <= 0xF4:
        for rest in product(range(0x80, 0xC0), repeat=n_open):
            with suppress(UnicodeDecodeError):
                yield (lead + bytes(rest)).decode()
    if raw:
        yield from bytetext.from_bytes(lead)[:1]


def _unreachable(
    tok: Tokenizer, tail: str, kept: list[int], data: bytes, parse_specials: bool
) -> tuple[int, tuple[Continuation, ...]]:
    """Count the longer tokens that begin with some bytes, and give the first that cannot come."""
    listed = _tokens_of(tok)
    first = bisect_left(listed, data)
    last = bisect_left(listed, data + b"\xff" * 64, first)
    longer = sorted(
        (tok.token_id(token) or 0, token) for token in listed[first:last] if len(token) > len(data)
    )
    head = bytetext.to_bytes(tail)[: -len(data)]
    examples: list[Continuation] = []
    words = (found for found in longer if _is_word(found[1]))
    others = (found for found in longer if not _is_word(found[1]))
    for token_id, token in islice(chain(words, others), _MOST_VERIFIED):
        text = bytetext.from_bytes(head + token)
        if tok.encode_byte_text(text, parse_specials) == [*kept, token_id]:
            examples.append(Continuation(token, token_id))
            if len(examples) == _MOST_EXAMPLES:
                break
    return len(longer), tuple(examples)


def _is_word(token: bytes) -> bool:
    word = bytetext.from_bytes(token).removeprefix(" ")
    return len(word) > 1 and word.isalpha()


_sorted: WeakKeyDictionary[Tokenizer, ByteRows] = WeakKeyDictionary()
_lock = Lock()


def _tokens_of(tok: Tokenizer) -> ByteRows:
    """List the ordinary tokens, sorted."""
    with _lock:
        if tok not in _sorted:
            _sorted.clear()  # the text is read by one tokenizer at a time
            rows = ByteRows.of(tok.tables)
            _sorted[tok] = rows.take(rows.order())
        return _sorted[tok]


def sentences_of(found: UnstableEnd) -> Iterator[Sentence]:
    """Say which tokens are not stable, and what a model that goes on behind them cannot say."""
    if not found.n_tokens:
        yield (
            "The tokens at the end stay as they are, whatever character comes next."
            if found.complete
            else "It was not tried with every character whether the next one changes the tokens at "
            "the end: that would take too long.",
        )
        return
    some = "The last token" if found.n_tokens == 1 else f"The last {found.n_tokens} tokens"
    change = "changes" if found.n_tokens == 1 else "change"
    made: list[str | bytes] = []
    for token in found.becomes:
        made += [" + " if made else "", token]
    shown = bytetext.to_bytes(found.character)
    yield (f"{some} ", found.data, f" {change} if, for example, ", shown,
           " comes next: with it, the end is ", *made, ".")  # fmt: skip
    if found.data.endswith(b" ") or found.data.endswith((b"\n", b"\t")):
        yield (
            "The text ends in white space. In most texts a word and the space before it are one "
            "token, so a model has rarely seen a word behind this space alone.",
        )
    if found.n_longer:
        begin = "token begins" if found.n_longer == 1 else "tokens begin"
        sentence: list[str | bytes] = [f"{found.n_longer:,} longer {begin} with ", found.data]
        if found.examples:
            sentence.append(". What can no longer come in their place, tried: ")
            for number, (token, token_id) in enumerate(found.examples):
                sentence += [", " if number else "", token, f" ({token_id})"]
        yield (*sentence, ".")
        last = "token" if found.n_tokens == 1 else f"{found.n_tokens} tokens"
        yield (f"Token healing leaves the last {last} to the model: cut the prompt before ",
               found.data, ".")  # fmt: skip
