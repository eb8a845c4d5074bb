"""Rank vocabularies in JSON: Mistral's `tekken.json`, and those of tiktoken for JavaScript.

`tekken.json` lists more tokens than a model uses: `default_vocab_size` tells how many, and an id is
the rank plus the number of special tokens. Source: mistral-common
`src/mistral_common/tokens/tokenizers/tekken.py` (`Tekkenizer`).

`bpe_ranks` consists of lines `! first_rank token token …`, with the tokens in base64. Source:
dqbd/tiktoken `js/src/core.ts`.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Iterator
from typing import Any

from tokviz.errors import InputFileError, PatternError
from tokviz.formats.draft import MAX_TOKEN_ID, Draft
from tokviz.formats.registry import special_tokens
from tokviz.storage.files import StrPath
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern, get_split_pattern

Json = dict[str, Any]

_NAMED_UP_TO = "v7"
"""Files of later versions must list their special tokens."""


def read_tekken(content: Json, path: StrPath) -> Draft:
    """Read the content of a `tekken.json`.

    Raises:
        InputFileError: If it is damaged; it names the key.
    """
    config = _entry(content, "config", dict, path)
    sizes = ("default_vocab_size", "default_num_special_tokens")
    n_vocab, n_specials = (_entry(config, key, int, path, "config.") for key in sizes)
    vocab = _entry(content, "vocab", list, path)
    if not 0 <= n_specials <= n_vocab <= min(MAX_TOKEN_ID, len(vocab) + n_specials):
        reason = f"{n_vocab:,} tokens with {n_specials:,} special tokens do not fit {len(vocab):,}"
        raise InputFileError(path, f"config.default_vocab_size: {reason} in its vocab")
    tokens: list[tuple[int, bytes]] = []
    for number, entry in enumerate(vocab[: n_vocab - n_specials]):
        try:
            rank, token = entry["rank"], a2b_base64(entry["token_bytes"], strict_mode=True)
        except (KeyError, TypeError, ValueError):
            rank, token = -1, b""
        if rank != number or not token:
            raise InputFileError(path, f"vocab[{number}]: is not the token of rank {number}")
        tokens.append((number + n_specials, token))
    return Draft(
        "Mistral tekken file",
        path,
        tokens,
        None,
        list(_tekken_specials(content, n_specials, path)),
        _pattern(_entry(config, "pattern", str, path, "config."), "config.pattern", path),
        place_of_token="vocab[{}]".format,
        place_of_special="special_tokens[{}]".format,
    )


def _tekken_specials(content: Json, n: int, path: StrPath) -> Iterator[tuple[str, int]]:
    """Yield n special tokens: the listed ones, and fillers."""
    listed = content.get("special_tokens")
    version = str(content["config"].get("version"))[:20]
    if listed is None:
        if version[1:].partition("m")[0] not in map(str, range(int(_NAMED_UP_TO[1:]) + 1)):
            reason = f"its version {version!r} needs the key 'special_tokens': get a complete file"
            raise InputFileError(path, reason)
        known = ((text, i) for text, i in special_tokens("tekken").ids.items() if i < _N_NAMED)
        yield from known
        n_listed = _N_NAMED
    else:
        for number, entry in enumerate(_entry(content, "special_tokens", list, path)):
            text = entry.get("token_str") if isinstance(entry, dict) else None
            if not isinstance(text, str) or entry.get("rank") != number:
                reason = f"special_tokens[{number}]: is not the token of rank {number}"
                raise InputFileError(path, reason)
            yield text, number
        n_listed = len(listed)
    if n_listed > n:
        raise InputFileError(path, f"special_tokens: {n_listed} are more than {n}")
    for number in range(n_listed, n):
        yield f"<SPECIAL_{number}>", number


_N_NAMED = 20
"""Number of special tokens of files that do not list them."""


def read_javascript(content: Json, path: StrPath) -> Draft:
    """Read ranks as tiktoken for JavaScript has them, such as Anthropic's `claude.json`.

    Raises:
        InputFileError: If they are damaged; it names the key and line.
    """
    tokens: list[tuple[int, bytes]] = []
    for number, line in enumerate(_entry(content, "bpe_ranks", str, path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            _, first, *encoded = line.split(" ")
            ranks = range(int(first[:9]), MAX_TOKEN_ID + 1)
            listed = zip(ranks, encoded, strict=False)
            tokens += [(rank, a2b_base64(token, strict_mode=True)) for rank, token in listed]
        except ValueError:
            reason = f"bpe_ranks, line {number}: is not `! first_rank` and tokens in base64"
            raise InputFileError(path, reason) from None
    specials = _entry(content, "special_tokens", dict, path)
    for text, token_id in specials.items():
        if type(token_id) is not int:
            raise InputFileError(path, f"special_tokens[{text[:40]!r}]: is not a token id")
    pattern = _pattern(_entry(content, "pat_str", str, path), "pat_str", path)
    ranks_kind = "rank file of tiktoken for JavaScript"
    return Draft(ranks_kind, path, tokens, None, list(specials.items()), pattern)


def _pattern(regex: str, key: str, path: StrPath) -> SplitPattern:
    named = next((one for one in SPLIT_PATTERNS.values() if one.regex == regex), None)
    try:
        return named or get_split_pattern(regex)
    except PatternError as error:
        raise InputFileError(path, f"its key {key!r}: {error}") from None


def _entry(content: Json, key: str, kind: type, path: StrPath, place: str = "") -> Any:
    value = content.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        names = {dict: "an object", list: "a list", str: "a text", int: "a number"}
        raise InputFileError(path, f"its key '{place}{key}' is not {names[kind]}")
    return value
