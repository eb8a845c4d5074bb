"""A vocabulary and its merges in two files or one: GPT-2's, and formats that students write.

| form | content |
|---|---|
| GPT-2 | `vocab.json` (or `encoder.json`) `{"Ġthe": 262, …}` and `merges.txt` (or `vocab.bpe`) |
| CS336 | a vocabulary as JSON, token → id, id → token or id → list of bytes; merges in any format of `tokviz.formats.merge_files` |
| one file | JSON with the keys `vocab` and `merges` |

None of them holds the split pattern. Text like `<|endoftext|>` in the vocabulary that no merge
makes is treated as a special token unless the caller lists them.
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from os import fspath

from tokviz.errors import InputFileError
from tokviz.formats.byte_level import from_characters
from tokviz.formats.draft import Draft, build, guessed_pattern
from tokviz.formats.merge_files import SPELLINGS, in_bytes, in_spelling, merges_of_list, read_merges
from tokviz.formats.sidecar import SUFFIX, Sidecar, read_sidecar
from tokviz.storage.files import StrPath
from tokviz.storage.json_file import read_json
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern
from tokviz.tokenizer.report import FileFinding
from tokviz.tokenizer.tokenizer import Tokenizer

KIND = "vocabulary and merges"

DEFAULT_PATTERN = "gpt2"
"""The split pattern of GPT-2's and CS336's files."""

LIKE_SPECIAL = re.compile(r"<[^<>\s]{1,100}>|\[[A-Z]{2,20}\]")

Json = Mapping[str, object]


def from_files(
    vocab_path: StrPath,
    merges_path: StrPath,
    special_tokens: Sequence[str] | Mapping[str, int] | None,
    split_pattern: str | SplitPattern,
) -> Tokenizer:
    """Do the work of `Tokenizer.from_files`."""
    draft = read_vocab_and_merges(vocab_path, merges_path, split_pattern, find_specials=False)
    tokenizer = build(draft, fspath(vocab_path))
    if not special_tokens:
        return tokenizer
    made = Tokenizer(
        tokenizer.vocab, tokenizer.merges, special_tokens, split_pattern=tokenizer.split_pattern
    )
    made.name, made.source = tokenizer.name, tokenizer.source
    made.load_report = tokenizer.load_report
    return made


def read_vocab_and_merges(
    vocab_path: StrPath,
    merges_path: StrPath,
    split_pattern: str | SplitPattern | None = None,
    *,
    find_specials: bool = True,
) -> Draft:
    """Read a vocabulary and its merges.

    Raises:
        InputFileError: If one of the files is invalid; it names the file.
        PatternError: If the split pattern is not a valid regex.
    """
    content = read_json(vocab_path)
    if not isinstance(content, dict):
        raise InputFileError(vocab_path, "is not a JSON object of tokens and ids")
    merges = read_merges(merges_path)
    if not merges and len(content) > 256:
        raise InputFileError(merges_path, "holds no merges, yet the vocabulary has longer tokens")
    if merges and not any(len(left) == len(right) == 1 for left, right in merges):
        first = " + ".join(repr(side)[:40] for side in merges[0])
        reason = f"is not a list of merges: none joins two single bytes, the first {first}"
        raise InputFileError(merges_path, reason)
    sidecar = read_sidecar(vocab_path) if find_specials else None
    return _draft(
        content,
        merges,
        vocab_path,
        merges_path,
        split_pattern,
        find_specials=find_specials,
        sidecar=sidecar,
    )


def read_combined(
    content: Json, path: StrPath, split_pattern: str | SplitPattern | None = None
) -> Draft:
    """Read one JSON object with the keys `vocab` and `merges`.

    Raises:
        InputFileError: If they are invalid.
        PatternError: If the split pattern is not a valid regex.
    """
    vocab, merges = content.get("vocab"), content.get("merges")
    if not isinstance(vocab, dict) or not isinstance(merges, list):
        wrong = (
            "`vocab` is not an object" if not isinstance(vocab, dict) else "`merges` is not a list"
        )
        raise InputFileError(path, f"its key {wrong}: write an object with both")
    try:
        pairs = in_spelling(merges_of_list(merges, path, "merges"))
    except ValueError as error:
        raise InputFileError(path, f"merges: {error}") from None
    return _draft(vocab, pairs, path, path, split_pattern)


def _draft(
    vocab: Json,
    merges: list[Merge],
    vocab_path: StrPath,
    merges_path: StrPath,
    split_pattern: str | SplitPattern | None,
    *,
    find_specials: bool = True,
    sidecar: Sidecar | None = None,
) -> Draft:
    entries = list(_entries(vocab, vocab_path))
    tokens = _spelled(entries, merges)
    texts = [
        text if isinstance(text, str) else text.decode("utf-8", "replace") for _, text in entries
    ]
    specials: list[tuple[str, int]] = []
    if sidecar is not None:
        specials = list(sidecar.special_tokens.items())
    elif find_specials:
        made = {left + right for left, right in merges}
        specials = [
            (text, token_id)
            for (token_id, token), text in zip(tokens, texts, strict=True)
            if len(token) > 1 and token not in made and LIKE_SPECIAL.fullmatch(text)
        ]
    taken = set(specials)
    pairs = zip(tokens, texts, strict=True)
    tokens = [token for token, text in pairs if (text, token[0]) not in taken]
    about = f"merges from {fspath(merges_path)}; " if merges_path != vocab_path else ""
    notes = list[FileFinding]()
    if split_pattern is None and sidecar is not None:
        split_pattern = sidecar.split_pattern
        about += f"split pattern and special tokens from {fspath(vocab_path)}{SUFFIX}"
        notes += sidecar.notes
    elif split_pattern is None:
        about += f"split pattern {DEFAULT_PATTERN} is a guess"
        notes.append(guessed_pattern(DEFAULT_PATTERN, "the files hold"))
    else:
        about += "split pattern as requested"
    if specials and sidecar is None:
        shown = ", ".join(text for text, _ in specials[:4]) + (", …" if len(specials) > 4 else "")
        message = f"{shown} in the vocabulary: taken for special tokens, as no merge makes them"
        notes.append(FileFinding("note", "found-specials", "", message))
    return Draft(
        KIND,
        vocab_path,
        tokens,
        merges,
        specials,
        get_split_pattern(split_pattern or DEFAULT_PATTERN),
        about,
        place_of_token=lambda number: f"token {tokens[number][0]}",
        merges_path=merges_path,
        notes=notes,
    )


def _entries(vocab: Json, path: StrPath) -> Iterable[tuple[int, str | bytes]]:
    """Return every token's id, and its text or bytes."""
    for key, value in vocab.items():
        if isinstance(value, int) and not isinstance(value, bool):
            yield value, key
        elif key.isdecimal() and len(key) < 10 and isinstance(value, str):
            yield int(key), value
        elif key.isdecimal() and len(key) < 10 and isinstance(value, list):
            try:
                yield int(key), bytes(value)
            except (TypeError, ValueError):
                raise InputFileError(path, f"key {key!r}: is not a list of bytes") from None
        else:
            shown = repr(value)[:40]
            raise InputFileError(path, f"key {key!r}: {shown} is not a token id, nor is the key")


def _spelled(
    entries: list[tuple[int, str | bytes]], merges: list[Merge]
) -> list[tuple[int, bytes]]:
    """Decode texts with the spelling that makes them contain the merges' tokens.

    A text that is invalid in it, such as a special token, is encoded as UTF-8.
    """
    wanted = {token for left, right in merges for token in (left, right, left + right)}
    wanted |= {bytes([byte]) for byte in range(256)}
    best: list[tuple[int, bytes]] = []
    most = -1
    for spelling in SPELLINGS:
        tokens = []
        for token_id, text in entries:
            try:
                tokens.append((token_id, in_bytes(text, spelling)))
            except ValueError:
                tokens.append((token_id, str(text).encode("utf-8", "replace")))
        n_found = len(wanted.intersection(token for _, token in tokens))
        if n_found > most:
            best, most = tokens, n_found
        if spelling is from_characters and n_found == len(wanted):
            break
    return best
