"""From a file or folder of any known kind to the tokenizer in it."""

from __future__ import annotations

import os
from os import fspath

from tokviz.errors import InputFileError
from tokviz.files import StrPath, read_file
from tokviz.formats.collecting import no_collecting
from tokviz.formats.draft import Draft, build
from tokviz.formats.huggingface import NeedsLibraryError, load_tokenizer_json
from tokviz.formats.minbpe import read_minbpe
from tokviz.formats.recognise import Found, find
from tokviz.formats.run import load_run_tokenizer
from tokviz.formats.self_check import check
from tokviz.formats.tiktoken import read_tiktoken
from tokviz.formats.vocab_files import read_combined, read_vocab_and_merges
from tokviz.json_file import located, read_json
from tokviz.pretokenize.patterns import SplitPattern
from tokviz.tokenizer import Tokenizer

MAX_RANK_FILE_BYTES = 64_000_000
"""Twenty times o200k's."""


def load_path(path: StrPath, split_pattern: str | SplitPattern | None = None) -> Tokenizer:
    """Load the tokenizer of a file or folder, and check it; see `tokviz.load`.

    Raises:
        InputFileError: If it cannot be read, or holds no tokenizer that can be used.
        PatternError: If the split pattern is no valid regex.
    """
    try:
        return load_here(path, split_pattern)
    except NeedsLibraryError as needed:
        from tokviz.formats.foreign import ForeignTokenizer

        name = fspath(path)
        return ForeignTokenizer.checked(needed.path, needed.content, needed.reason, name=name)
    except MemoryError:
        raise InputFileError(path, "needs more memory than there is") from None


def load_here(path: StrPath, split_pattern: str | SplitPattern | None = None) -> Tokenizer:
    """Do what `load_path` does, but for what Hugging Face's library must do.

    Raises:
        NeedsLibraryError: If only the library does it exactly.
        InputFileError: See `load_path`.
        PatternError: See `load_path`.
    """
    found = find(os.path.expanduser(path))
    try:
        with no_collecting():
            tokenizer = _load(found, split_pattern, fspath(path))
    except NeedsLibraryError:
        raise
    except InputFileError as error:
        raise located(error) from None
    check(tokenizer)
    return tokenizer


def _load(found: Found, split_pattern: str | SplitPattern | None, name: str) -> Tokenizer:
    draft = read_draft(found, split_pattern)
    if draft is not None:
        return build(draft, name)
    if found.kind == "run":
        return load_run_tokenizer(found.path)
    return load_tokenizer_json(found.path, name=name)


def read_draft(found: Found, split_pattern: str | SplitPattern | None = None) -> Draft | None:
    """Read what a file says; None for `tokenizer.json`, which the library may have to read.

    Raises:
        InputFileError: If it cannot be read, or is damaged.
        PatternError: If the split pattern is no valid regex.
    """
    path = found.path
    if split_pattern is not None and found.kind not in ("tiktoken", "vocab", "combined"):
        raise InputFileError(path, "has its own split pattern: leave the other one out")
    match found.kind:
        case "tiktoken":
            return read_tiktoken(read_file(path, limit=MAX_RANK_FILE_BYTES), path, split_pattern)
        case "minbpe":
            return read_minbpe(read_file(path, limit=MAX_RANK_FILE_BYTES), path)
        case "vocab":
            assert found.other is not None
            return read_vocab_and_merges(path, found.other, split_pattern)
        case "combined":
            content = read_json(path)
            assert isinstance(content, dict)  # as it begins with a brace
            return read_combined(content, path, split_pattern)
    return None
