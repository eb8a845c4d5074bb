r"""minbpe's `.model` files. Source: karpathy/minbpe `minbpe/base.py` (`Tokenizer.save`, `load`).

| line | content |
|---|---|
| 1 | `minbpe v1` |
| 2 | the split pattern; empty where the text is not split (`BasicTokenizer`) |
| 3 | the number of special tokens |
| … | a special token and its id, a space between them |
| … | a merge: the ids of its two tokens |

The ids 0 to 255 are the bytes, and the n-th merge makes the id 256 + n.
"""

from __future__ import annotations

from tokviz.errors import FormatError, InputFileError, PatternError
from tokviz.formats.draft import MAX_TOKEN_BYTES, MAX_TOKEN_ID, Draft
from tokviz.formats.rank_order import first_unmerged, listed_merges, ranks_of
from tokviz.formats.sidecar import read_sidecar
from tokviz.storage.files import StrPath, decode_utf8
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern
from tokviz.tokenizer.tokenizer import Tokenizer

KIND = "minbpe model"

MAGIC = "minbpe v1"

_BYTES_OF_TOKENS = 8_000_000
"""The most bytes of all tokens beyond the file's size; needed because a line can double a token."""


def read_minbpe(data: bytes, path: StrPath) -> Draft:
    """Read the content of a `.model` file.

    Raises:
        InputFileError: If a line is invalid; it names the line.
        PatternError: If the split pattern is not a valid regex.
    """
    lines = decode_utf8(data, path).replace("\r\n", "\n").split("\n")
    if lines[0] != MAGIC:
        raise InputFileError(path, f"line 1: is not {MAGIC!r}: no other version is known")
    if len(lines) < 3 or not lines[2].strip().isdecimal() or len(lines[2]) > 9:
        wrong = f"{lines[2][:40]!r} is not" if lines[2:] and lines[2] else "is cut off, or lacks"
        raise InputFileError(path, f"line 3: {wrong} the number of special tokens")
    n_specials = int(lines[2])
    first_merge = 3 + n_specials
    if len(lines) < first_merge:
        raise InputFileError(path, f"is cut off: {n_specials} special tokens should follow line 3")
    specials = [_special(line, number, path) for number, line in enumerate(lines[3:first_merge], 4)]
    tokens = [(byte, bytes([byte])) for byte in range(256)]
    merges = _merges(lines, first_merge, tokens, path)
    sidecar = read_sidecar(path)
    return Draft(
        KIND,
        path,
        tokens,
        merges,
        specials,
        _pattern(lines[1], path),
        place_of_token=lambda number: f"line {first_merge + 1 + number - 256}",
        place_of_merge=lambda number: f"line {first_merge + 1 + number}",
        place_of_special=lambda number: f"line {4 + number}",
        notes=sidecar.notes if sidecar else [],
    )


def _pattern(text: str, path: StrPath) -> SplitPattern:
    try:
        return get_split_pattern(text or "none")
    except PatternError as error:
        raise InputFileError(path, f"line 2: {error}") from None


def _special(line: str, number: int, path: StrPath) -> tuple[str, int]:
    text, _, token_id = line.rpartition(" ")
    if not text or not token_id.isdecimal() or len(token_id) > 9:
        reason = f"line {number}: {line[:40]!r} is not a special token, a space and its id"
        raise InputFileError(path, reason)
    return text, int(token_id)


def _merges(
    lines: list[str], first: int, tokens: list[tuple[int, bytes]], path: StrPath
) -> list[Merge]:
    """Read the merges and add their tokens."""
    merges: list[Merge] = []
    n_bytes = 0
    most_bytes = _BYTES_OF_TOKENS + sum(map(len, lines))
    while lines and not lines[-1].strip():
        del lines[-1]
    for number, line in enumerate(lines[first:], first + 1):
        try:
            left, right = (int(part) if len(part) < 10 else MAX_TOKEN_ID for part in line.split())
        except ValueError:
            reason = f"line {number}: {line[:40]!r} is not the ids of two tokens"
            raise InputFileError(path, reason) from None
        low, high = sorted((left, right))
        if low < 0 or high >= len(tokens):
            missing = low if low < 0 else high
            reason = f"no token has the id {missing} yet: the merges are out of order"
            raise InputFileError(path, f"line {number}: {reason}")
        merge = tokens[left][1], tokens[right][1]
        product = merge[0] + merge[1]
        n_bytes += len(product)
        if n_bytes > most_bytes:
            reason = f"line {number}: its tokens have more than {most_bytes:,} bytes by here"
            raise InputFileError(path, reason)
        if len(product) > MAX_TOKEN_BYTES:
            reason = f"line {number}: makes a token of more than {MAX_TOKEN_BYTES:,} bytes"
            raise InputFileError(path, reason)
        if len(tokens) > MAX_TOKEN_ID:
            raise InputFileError(path, f"line {number}: more than {MAX_TOKEN_ID:,} tokens")
        merges.append(merge)
        tokens.append((len(tokens), product))
    return merges


def to_minbpe(tokenizer: Tokenizer) -> bytes:
    """Write a `.model` file.

    Raises:
        FormatError: If the ids are not numbered as minbpe numbers them, or a text would break a
            line.
    """
    cannot = f"{tokenizer.name} cannot be a minbpe model"
    id_of = {bytes([byte]): byte for byte in range(256)}
    pairs = []
    for number, (left, right) in enumerate(listed_merges(tokenizer)):
        if left not in id_of or right not in id_of:
            raise FormatError(f"{cannot}: merge {number + 1} comes before its parts")
        pairs.append(f"{id_of[left]} {id_of[right]}\n")
        id_of.setdefault(left + right, 256 + number)
    ordinary = ranks_of(tokenizer)
    if ordinary != id_of:
        wrong = next(token for token in ordinary if id_of.get(token) != ordinary[token])
        raise FormatError(
            f"{cannot}: bytes have the ids 0-255 there and merges the next, but {wrong[:40]!r} has "
            "another"
        )
    if (tokenizer.by_ranks or tokenizer.ignore_merges) and first_unmerged(tokenizer) is not None:
        raise FormatError(f"{cannot}: it looks pre-tokens up as a whole")
    pattern = "" if tokenizer.split_pattern.name == "none" else tokenizer.split_pattern.regex
    head = [MAGIC, pattern, str(len(tokenizer.special_tokens))]
    for text, token_id in tokenizer.special_tokens.items():
        if len(text.split()) != 1 or text.split()[0] != text:
            raise FormatError(f"{cannot}: white space in the special token {text!r}")
        head.append(f"{text} {token_id}")
    if tokenizer.split_pattern.in_steps or "\n" in pattern or pattern != pattern.strip():
        raise FormatError(f"{cannot}: its split pattern does not fit in a line")
    return ("\n".join(head) + "\n" + "".join(pairs)).encode()
