"""tiktoken's rank files: `base64(token) rank` per line; Llama 3's `tokenizer.model` is one too.

A rank is a token's id and the priority of merging any two neighbors whose concatenation it is. The
split pattern and the special tokens are not in the file. Those of known vocabularies, which are
recognized by their tokens, are in `assets/vocab/tokenizers.json`, those of files saved by tokviz in
a sidecar file (`tokviz.formats.sidecar`).
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Iterable
from os import fspath
from typing import Any

from tokviz.errors import FormatError, InputFileError
from tokviz.formats.draft import Draft, guessed_pattern
from tokviz.formats.rank_order import ranks_of, why_no_ranks
from tokviz.formats.registry import TABLE, special_tokens
from tokviz.formats.sidecar import SUFFIX, read_sidecar
from tokviz.storage.files import StrPath
from tokviz.tokenizer.encoding.normalization import Normalizer
from tokviz.tokenizer.encoding.specials import SpecialTokens
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern
from tokviz.tokenizer.report import FileFinding
from tokviz.tokenizer.tokenizer import Tokenizer

KIND = "tiktoken rank file"

Json = dict[str, Any]

_MOST_DIGITS = 20

DEFAULT_PATTERN = "gpt4"
"""The split pattern for an unknown vocabulary."""


def digest(tokens: Iterable[tuple[int, bytes]]) -> str:
    """Return the SHA-256 of the rank file of tokens, as tiktoken writes it."""
    lines = (b"%s %d\n" % (b64encode(token), rank) for rank, token in tokens)
    return hashlib.sha256(b"".join(lines)).hexdigest()


def _known_by_content(tokens: list[tuple[int, bytes]]) -> Json:
    """Return the entry of a vocabulary in `assets/vocab/tokenizers.json`, {} if it is unknown.

    The tokens, sorted by rank, identify it; its file may be formatted otherwise.
    """
    alike = [known for known in TABLE["rank_files"] if known["n_tokens"] == len(tokens)]
    found = digest(tokens) if alike else ""
    return next((known for known in alike if known["sha256"] == found), {})


def read_tiktoken(
    data: bytes, path: StrPath, split_pattern: str | SplitPattern | None = None
) -> Draft:
    """Read the content of a rank file.

    Args:
        data: The content.
        path: The file, for messages.
        split_pattern: The split pattern; None to guess it.

    Raises:
        InputFileError: If a line is invalid.
        PatternError: If the split pattern is not a valid regex.
    """
    tokens, lines = _parse(data, path)
    sidecar = read_sidecar(path)
    notes = list[FileFinding]()
    if tokens and tokens[-1][1] == b"":
        token_id, _ = tokens.pop()
        message = f"the id {token_id} has no bytes, as in Whisper's file: it is left out"
        notes.append(FileFinding("note", "empty-token", f"line {lines[-1]}", message))
    known = _known_by_content(sorted(tokens))
    specials = special_tokens(known["special_tokens"]) if known else SpecialTokens()
    if sidecar is not None:
        specials = SpecialTokens(sidecar.special_tokens)
    elif note := known.get("note"):
        notes.append(FileFinding("note", "special-tokens", "", note))
    if sidecar is not None and split_pattern is None:
        pattern = sidecar.split_pattern
        about = f"split pattern and special tokens from {fspath(path)}{SUFFIX}"
        notes += sidecar.notes
    else:
        pattern, about, guesses = _pattern(known, split_pattern)
        notes += guesses
    return Draft(
        KIND,
        path,
        tokens,
        None,
        list(specials.ids.items()),
        pattern,
        about,
        non_special=specials.non_special,
        place_of_token=lambda number: f"line {lines[number]}",
        notes=notes,
        normalizer=Normalizer("NFC" if known.get("nfc") else ""),
    )


def _parse(data: bytes, path: StrPath) -> tuple[list[tuple[int, bytes]], list[int]]:
    """Return the tokens, and the number of each token's line."""
    tokens: list[tuple[int, bytes]] = []
    lines: list[int] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            encoded, rank = line.split()
            # int() is slow for many digits.
            if len(rank) > _MOST_DIGITS:
                reason = f"line {number}: a rank of {len(rank):,} digits is too large"
                raise InputFileError(path, f"{reason}: renumber the tokens")
            token_id = int(rank)
            # Whisper writes the token without bytes as the padding alone.
            token = b"" if encoded == b"=" else a2b_base64(encoded, strict_mode=True)
            tokens.append((token_id, token))
        except ValueError:
            shown = repr(line[:40])[1:]
            reason = f"line {number}: {shown} is not a token in base64, a space and its rank"
            reason += ": the file is damaged or cut off"
            raise InputFileError(path, reason) from None
        lines.append(number)
    return tokens, lines


def _pattern(
    known: Json, requested: str | SplitPattern | None
) -> tuple[SplitPattern, str, list[FileFinding]]:
    """Choose the split pattern; return its origin in words too, and a note if it is a guess."""
    if requested is not None:
        pattern = get_split_pattern(requested)
        title = f"{known['title']}'s vocabulary, " if known else ""
        return pattern, f"{title}split pattern {pattern.name} as requested for", []
    if known:
        return get_split_pattern(known["split_pattern"]), f"{known['title']} by its content", []
    about = f"of an unknown vocabulary, split pattern {DEFAULT_PATTERN} is a guess"
    note = guessed_pattern(DEFAULT_PATTERN, "a rank file holds")
    return get_split_pattern(DEFAULT_PATTERN), about, [note]


def to_tiktoken(tokenizer: Tokenizer) -> bytes:
    """Write the ordinary tokens as a rank file.

    Raises:
        FormatError: If ranks would not give the same tokens as the tokenizer's merges.
    """
    reason = why_no_ranks(tokenizer)
    if reason is not None:
        raise FormatError(f"{tokenizer.name} cannot be a rank file: {reason}")
    return b"".join(
        b"%s %d\n" % (b64encode(token), token_id) for token, token_id in ranks_of(tokenizer).items()
    )
