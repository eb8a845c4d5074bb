r"""Tokens at the end of a text that the next character can change, and the cost of that.

A model that receives the tokens of "once upon a " continues after the token of the space. But in
its training data, the space was part of the following word: " time" is one token, which can no
longer follow. Removing such tokens, so that the model generates them again, is token healing.

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
from functools import cache, lru_cache
from itertools import accumulate, chain, islice, product
from typing import TYPE_CHECKING, NamedTuple

from tokviz.explain.trace import encode_trace
from tokviz.text import bytetext
from tokviz.text.common_prefix import n_common
from tokviz.text.sentences import Sentence
from tokviz.tokenizer.encoding.byte_rows import ByteRows
from tokviz.tokenizer.pretokenize.guard import split_ahead

if TYPE_CHECKING:
    from tokviz.tokenizer.encoding.packed import Tables
    from tokviz.tokenizer.tokenizer import Tokenizer

MOST_TAIL = 512
"""Number of characters at the end of a text that are considered."""
_MOST_PRE_TOKENS = 4
"""Pre-tokens at the end that a further character can join: white space and line ends before it."""
_MOST_TRIED = 6000
"""Maximum number of characters tried."""
_MOST_EXAMPLES = 8
_MOST_VERIFIED = 64
_LIKELY = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789\n.,;:!?'-"
"""Characters that are tried first, so that they serve as examples."""


class Continuation(NamedTuple):
    """A token that starts with the unstable bytes and can no longer follow."""

    token: bytes
    id: int


class UnstableEnd(NamedTuple):
    """The tokens at the end of a text that a further character would change.

    Attributes:
        n_tokens: Number of these tokens, from the end; 0 for none.
        data: Their bytes.
        character: A character that changes them all.
        becomes: The tokens at their place after this character.
        n_longer: Number of longer tokens in the vocabulary that start with these bytes.
        examples: Some of these longer tokens, words first, then by id. Each was verified: encoding
            the text with it added yields this token, which cannot follow the text's own tokens.
        complete: Whether all possible changes were tried.
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

    A character can change tokens in two ways: the pattern cuts elsewhere, which depends on the
    character's category, or a token spans the old end. For the first, one character per category is
    tried; for the second, every character with which some token continues some of the last bytes.
    Each result is verified by encoding.

    Args:
        tok: The tokenizer; the result is empty for one that encodes elsewhere (`remote`).
        text: Byte text.
        parse_specials: Whether special tokens are recognized.
    """
    tail = _tail(tok, text, parse_specials)
    if not tail or tok.remote:
        return UnstableEnd(0, complete=not text)
    before = tok.byte_text.encode(tail, parse_specials).tolist()
    worst, character, becomes = len(before), "", before
    # Start of the pre-token that contains the old end, depending on the category of the next
    # character, with the tokens before it.
    fronts: dict[int, list[int]] = {}
    sorts = _one_of_each_sort()
    with split_ahead(tok.split_pattern, [tail + added for added in sorts]):
        tokens = [tok.byte_text.encode(tail + added, parse_specials).tolist() for added in sorts]
        pre_tokens = [tok.byte_text.split(tail + added, parse_specials) for added in sorts]
    for added, after, spans in zip(sorts, tokens, pre_tokens, strict=True):
        n_kept = n_common(before, after)
        if n_kept < worst:
            worst, character, becomes = n_kept, added, after
        start = next(start for start, end in spans if end > len(tail))
        if start not in fronts:
            fronts[start] = _tokens_before(tok, after, tail, start)
    # Encoding in a child takes a hundred times as long.
    most = _MOST_TRIED // 20 if tok.in_child else _MOST_TRIED
    n_tried = 0
    for n_left, suffix in sorted(_reaching_over(tok, tail, before, fronts)):
        if n_left >= worst:
            break
        for added in _going_on(tok, suffix, raw=bytetext.has_raw_bytes(tail[-1:])):
            n_tried += 1
            after = tok.byte_text.encode(tail + added, parse_specials).tolist()
            n_kept = n_common(before, after)
            if n_kept < worst:
                worst, character, becomes = n_kept, added, after
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
    """Yield the last bytes with which a token that spans the old end can start.

    The text before such a token merges as if the pre-token ended there, because no merge crosses
    the border of a final token. So the number of unchanged tokens is known in advance.

    Yields:
        The number of unchanged tokens, and the bytes.
    """
    for start, front in fronts.items():
        pre_token = bytetext.to_bytes(tail[start:])
        for at in range(len(pre_token)):
            left = [tok.token_id(token) for token in encode_trace(tok, pre_token[:at]).tokens]
            ids = [token_id for token_id in left if token_id is not None]
            yield n_common(before, [*front, *ids]), pre_token[at:]


def _tail(tok: Tokenizer, text: str, parse_specials: bool) -> str:
    """Return the last pre-tokens, as far as their tokens can depend on the next character.

    Returns:
        An empty string for an empty text, and for one that ends in a pre-token that is too long.
    """
    last = text[-MOST_TAIL:]
    spans = tok.byte_text.split(last, parse_specials) if last else []
    n_whole = len(spans) if len(text) == len(last) else len(spans) - 2
    if n_whole <= 0:
        return ""
    return last[spans[-min(n_whole, _MOST_PRE_TOKENS)][0] :]


def _tokens_before(tok: Tokenizer, ids: Sequence[int], tail: str, first: int) -> list[int]:
    """Return the tokens that end before a character."""
    n_bytes = len(bytetext.to_bytes(tail[:first]))
    ends = accumulate(len(tok.token_bytes(token_id)) for token_id in ids)
    return [token_id for token_id, end in zip(ids, ends, strict=True) if end <= n_bytes]


@cache
def _one_of_each_sort() -> tuple[str, ...]:
    """Return ASCII, and characters of every category, each from several blocks."""
    kinds: dict[tuple[str, bool], list[str]] = {}
    for code in range(0x80, 0x20000):
        character = chr(code)
        if 0xD800 <= code <= 0xDFFF:
            continue
        examples = kinds.setdefault((unicodedata.category(character), character.isspace()), [])
        if len(examples) < 2:
            examples.append(character)
    others = [character for examples in kinds.values() for character in examples]
    ascii_too = [*_LIKELY, *(char for char in map(chr, range(0x80)) if char not in _LIKELY)]
    # A case-insensitive pattern matches the first two as s and k.
    return (*ascii_too, *others, "\u017f", "\u212a", "\u4e16", "\u3042", "\U0001f600")


def _going_on(tok: Tokenizer, suffix: bytes, *, raw: bool) -> Iterator[str]:
    """Yield the characters with which some token continues the given bytes.

    Args:
        tok: The tokenizer.
        suffix: The bytes.
        raw: Whether bytes outside characters may come next.
    """
    listed = _tokens_of(tok.tables)
    at = bisect_left(listed, suffix)
    while at < len(listed) and listed[at].startswith(suffix):
        lead = _first_character(listed[at][len(suffix) :])
        if not lead:
            at += 1
            continue
        yield from _completions(lead, raw=raw)
        # Tokens that continue with the same character are adjacent.
        at = bisect_left(listed, suffix + lead + b"\xff" * 64, at + 1)


def _first_character(rest: bytes) -> bytes:
    """Return the bytes of the first character, or those present if it is cut."""
    if not rest or rest[0] < 0x80:
        return rest[:1]
    size = 2 if rest[0] < 0xE0 else 3 if rest[0] < 0xF0 else 4
    return rest[:size]


def _completions(lead: bytes, *, raw: bool) -> Iterator[str]:
    """Yield the characters whose bytes start with `lead`."""
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
    """Count the longer tokens that start with some bytes, and return the first unreachable ones."""
    listed = _tokens_of(tok.tables)
    first = bisect_left(listed, data)
    last = bisect_left(listed, data + b"\xff" * 64, first)
    longer = sorted(
        (tok.token_id(token) or 0, token) for token in listed[first:last] if len(token) > len(data)
    )
    head = bytetext.to_bytes(tail)[: -len(data)]
    examples: list[Continuation] = []
    words = (token for token in longer if _is_word(token[1]))
    others = (token for token in longer if not _is_word(token[1]))
    for token_id, token in islice(chain(words, others), _MOST_VERIFIED):
        text = bytetext.from_bytes(head + token)
        if tok.byte_text.encode(text, parse_specials).tolist() == [*kept, token_id]:
            examples.append(Continuation(token, token_id))
            if len(examples) == _MOST_EXAMPLES:
                break
    return len(longer), tuple(examples)


def _is_word(token: bytes) -> bool:
    word = bytetext.from_bytes(token).removeprefix(" ")
    return len(word) > 1 and word.isalpha()


@lru_cache(maxsize=1)
def _tokens_of(tables: Tables) -> ByteRows:
    """Return the ordinary tokens, sorted."""
    rows = ByteRows.of(tables)
    return rows.take(rows.order())


def sentences_of(unstable: UnstableEnd) -> Iterator[Sentence]:
    """Describe the unstable tokens, and the tokens that can no longer follow."""
    if not unstable.n_tokens:
        yield (
            "The tokens at the end stay the same, whatever character comes next."
            if unstable.complete
            else "Not every character was tried, because that would take too long: the next one "
            "may change the tokens at the end.",
        )
        return
    some = "The last token" if unstable.n_tokens == 1 else f"The last {unstable.n_tokens} tokens"
    change = "changes" if unstable.n_tokens == 1 else "change"
    made: list[str | bytes] = []
    for token in unstable.becomes:
        made += [" + " if made else "", token]
    shown = bytetext.to_bytes(unstable.character)
    yield (f"{some} ", unstable.data, f" {change} if, for example, ", shown,
           " comes next: the end then becomes ", *made, ".")  # fmt: skip
    if unstable.data.endswith(b" ") or unstable.data.endswith((b"\n", b"\t")):
        yield (
            "The text ends in white space. In most texts, a word and the space before it are one "
            "token, so a model has rarely seen a word after this space alone.",
        )
    if unstable.n_longer:
        tokens_start = "token starts" if unstable.n_longer == 1 else "tokens start"
        sentence: list[str | bytes] = [
            f"{unstable.n_longer:,} longer {tokens_start} with ",
            unstable.data,
        ]
        if unstable.examples:
            sentence.append(". Examples that can no longer follow: ")
            for number, (token, token_id) in enumerate(unstable.examples):
                sentence += [", " if number else "", token, f" ({token_id})"]
        yield (*sentence, ".")
        last = "token" if unstable.n_tokens == 1 else f"{unstable.n_tokens} tokens"
        yield (f"Token healing removes the last {last}: cut the prompt before ",
               unstable.data, ".")  # fmt: skip
