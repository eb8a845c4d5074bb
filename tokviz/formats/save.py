"""Saving of tokenizers in the formats of other libraries, and what each format loses.

To add a format, add one entry to `FORMATS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from os import fspath
from pathlib import Path
from typing import NamedTuple

from tokviz.errors import FormatError, OutputFileError, SpecialTokenError
from tokviz.formats.byte_level import to_characters
from tokviz.formats.huggingface import to_tokenizer_json
from tokviz.formats.loader import AnyTokenizer, as_tokenizer
from tokviz.formats.minbpe import to_minbpe
from tokviz.formats.rank_order import first_unmerged, listed_merges
from tokviz.formats.sidecar import SUFFIX, to_sidecar
from tokviz.formats.tiktoken import to_tiktoken
from tokviz.storage.files import StrPath, write_file
from tokviz.tokenizer.tokenizer import Tokenizer

Files = dict[str, bytes]
"""File name → content for a folder; otherwise suffix of the file's name → content."""


class SaveFormat(NamedTuple):
    """A format for saving tokenizers.

    Attributes:
        name: Its name for `Tokenizer.save`.
        title: Its common name.
        is_folder: Whether it is several files in a folder.
        default_name: The common name of the file or folder.
        write: Creates the content of the files.
        losses: Returns phrases for the properties of a tokenizer that the files cannot hold.
    """

    name: str
    title: str
    is_folder: bool
    default_name: str
    write: Callable[[Tokenizer], Files]
    losses: Callable[[Tokenizer], Iterator[str]]


def _lost_by_huggingface(tokenizer: Tokenizer) -> Iterator[str]:
    if tokenizer.split_pattern.name == "custom" and not tokenizer.split_pattern.unicode_of_tiktoken:
        yield (
            "the split regex is written unchanged, but Hugging Face's regex engine may match "
            "other text by it"
        )


_BESIDE = f": tokviz finds them in the {SUFFIX} file beside it, other readers do not"


def _lost_by_tiktoken(tokenizer: Tokenizer) -> Iterator[str]:
    if tokenizer.special_tokens:
        yield f"{_lost_pattern(tokenizer)} and {_lost_specials(tokenizer)}{_BESIDE}"
    else:
        yield _lost_pattern(tokenizer) + _BESIDE.replace("them", "it")


def _lost_by_gpt2(tokenizer: Tokenizer) -> Iterator[str]:
    if tokenizer.split_pattern.name != "gpt2":
        yield _lost_pattern(tokenizer) + ": readers of these files take GPT-2's"
    if tokenizer.special_tokens:
        yield f"{_lost_specials(tokenizer)}, as special: vocab.json only holds texts and ids"


def _lost_by_minbpe(tokenizer: Tokenizer) -> Iterator[str]:
    texts = sorted(tokenizer.special_tokens, key=len)
    if any(text in longer for text in texts for longer in texts if text != longer):
        yield "where special tokens overlap, the longest wins: minbpe takes the first listed"


def _lost_pattern(tokenizer: Tokenizer) -> str:
    pattern = tokenizer.split_pattern
    return f"the split pattern ({pattern.name if pattern.name != 'custom' else pattern.regex})"


def _lost_specials(tokenizer: Tokenizer) -> str:
    texts = list(tokenizer.special_tokens)
    shown = ", ".join(texts[:3]) + (", …" if len(texts) > 3 else "")
    return f"the {len(texts)} special tokens ({shown})" if len(texts) > 1 else f"{shown}"


def _gpt2_files(tokenizer: Tokenizer) -> Files:
    whole = tokenizer.by_ranks or tokenizer.ignore_merges
    unmerged = first_unmerged(tokenizer) if whole else None
    if unmerged is not None:
        raise FormatError(
            f"{tokenizer.name} cannot be vocab.json and merges.txt: no merge makes "
            f"{unmerged[:40]!r}, it is looked up as a whole"
        )
    vocab: dict[str, int] = {}
    tables = tokenizer.tables
    ordinary = zip(tables.ids(), map(to_characters, tables.tokens()), strict=True)
    special = ((token_id, text) for text, token_id in tokenizer.special_tokens.items())
    for token_id, text in sorted([*ordinary, *special]):
        if vocab.setdefault(text, token_id) != token_id:
            raise FormatError(
                f"{tokenizer.name} cannot be vocab.json: the tokens {vocab[text]} and {token_id} "
                f"are both spelled {text!r} there"
            )
    merges = "".join(
        f"{to_characters(left)} {to_characters(right)}\n"
        for left, right in listed_merges(tokenizer)
    )
    vocab_json = json.dumps(vocab, ensure_ascii=False).encode()
    return {
        "vocab.json": vocab_json,
        f"vocab.json{SUFFIX}": to_sidecar(tokenizer, vocab_json),
        "merges.txt": b"#version: 0.2\n" + merges.encode(),
    }


def _rank_file(tokenizer: Tokenizer) -> Files:
    content = to_tiktoken(tokenizer)
    return {"": content, SUFFIX: to_sidecar(tokenizer, content)}


def _huggingface_file(tokenizer: Tokenizer) -> Files:
    try:
        return {"": to_tokenizer_json(tokenizer)}
    except SpecialTokenError as error:
        raise FormatError(str(error)) from None


def _minbpe_file(tokenizer: Tokenizer) -> Files:
    content = to_minbpe(tokenizer)
    # The file holds all but the mark of a guess.
    marks = {SUFFIX: to_sidecar(tokenizer, content)} if tokenizer.pattern_doubt else {}
    return {"": content, **marks}


FORMATS: dict[str, SaveFormat] = {
    form.name: form
    for form in (
        SaveFormat("huggingface", "Hugging Face tokenizer.json", False, "tokenizer.json",
                   _huggingface_file, _lost_by_huggingface),
        SaveFormat("tiktoken", "tiktoken rank file", False, "vocabulary.tiktoken",
                   _rank_file, _lost_by_tiktoken),
        SaveFormat("gpt2", "GPT-2's vocab.json and merges.txt", True, "gpt2-files",
                   _gpt2_files, _lost_by_gpt2),
        SaveFormat("minbpe", "minbpe model", False, "tokenizer.model",
                   _minbpe_file, _lost_by_minbpe),
    )
}  # fmt: skip
"""Every format by name."""


def what_is_lost(tokenizer: AnyTokenizer, format: str = "huggingface") -> list[str]:
    """Return phrases for the properties of a tokenizer that a format cannot hold.

    Ids of ordinary text are never lost: if they would be, `save` raises an error.

    Args:
        tokenizer: The tokenizer, or a name or path as for `tokviz.load`.
        format: See `Tokenizer.save`.

    Raises:
        FormatError: If the format is unknown, or cannot hold the tokenizer at all.
    """
    tokenizer, found = as_tokenizer(tokenizer), _format(format)
    found.write(_saveable(tokenizer))
    lost = [*found.losses(tokenizer)]
    if tokenizer.normalizer and format != "huggingface":
        lost.append(f"that text is normalized ({tokenizer.normalizer.name}) before it is encoded")
    if tokenizer.pattern_doubt:
        name = tokenizer.split_pattern.name
        lost.append(f"that the split pattern {name} is a guess: only tokviz shows its mark again")
    post = tokenizer.post_processor
    if post.problem or (post.json and format != "huggingface"):
        lost.append("the special tokens that its post-processor adds around a text")
    return lost


def save(tokenizer: Tokenizer, path: StrPath, format: str = "huggingface") -> None:
    """Write a tokenizer; see `Tokenizer.save`."""
    found = _format(format)
    files = found.write(_saveable(tokenizer))
    if not found.is_folder:
        for ending, content in files.items():
            write_file(fspath(path) + ending, content)
        return
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputFileError(path, f"is not a folder: {error.strerror or error}") from None
    for name, content in files.items():
        write_file(folder / name, content)


def _format(name: str) -> SaveFormat:
    found = FORMATS.get(name)
    if found is None:
        raise FormatError(f"no format is called {name!r}: there are {', '.join(FORMATS)}")
    return found


def why_not_saved(tokenizer: Tokenizer) -> str:
    """Explain why no format can hold a tokenizer that the library encodes."""
    return (
        f"{tokenizer.name} cannot be written: only byte-level BPE can, and Hugging Face's "
        "library encodes this one; copy its tokenizer.json instead"
    )


def _saveable(tokenizer: Tokenizer) -> Tokenizer:
    if tokenizer.remote:
        raise FormatError(why_not_saved(tokenizer))
    return tokenizer
