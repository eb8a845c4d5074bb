"""Reader for tokenizer files and folders of every known kind."""

from __future__ import annotations

from tokviz.errors import InputFileError, TokvizError
from tokviz.formats.conversions import CONVERSIONS
from tokviz.formats.draft import Draft, build
from tokviz.formats.hf_native import HAS_PATTERN, NeedsLibrary, read_tokenizer_json
from tokviz.formats.json_ranks import read_javascript, read_tekken
from tokviz.formats.merge_files import read_merges_tokenizer
from tokviz.formats.minbpe import read_minbpe
from tokviz.formats.recognize import FILE_FORMATS, RecognizedFile
from tokviz.formats.run import read_run_tokenizer
from tokviz.formats.self_check import check
from tokviz.formats.tiktoken import read_tiktoken
from tokviz.formats.vocab_files import DEFAULT_PATTERN, read_combined, read_vocab_and_merges
from tokviz.storage.files import read_file, read_unpacked
from tokviz.storage.json_file import located, read_json
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.tokenizer import Tokenizer

MAX_RANK_FILE_BYTES = 64_000_000
"""The largest rank file to read, twenty times the size of o200k's."""


def read(
    found: RecognizedFile, split_pattern: str | SplitPattern | None, name: str
) -> Tokenizer | NeedsLibrary:
    """Read and check the tokenizer of a file that was recognized, in this process.

    Args:
        found: The file or folder.
        split_pattern: See `tokviz.load`.
        name: A name to show.

    Raises:
        InputFileError: If it cannot be read, or holds no usable tokenizer.
        PatternError: If the split pattern is not a valid regex.
    """
    try:
        tokenizer = _read(found, split_pattern, name)
    except InputFileError as error:
        raise located(error) from None
    if isinstance(tokenizer, Tokenizer):
        check(tokenizer)
    return tokenizer


def _read(
    found: RecognizedFile, split_pattern: str | SplitPattern | None, name: str
) -> Tokenizer | NeedsLibrary:
    if found.kind == "merges":
        return read_merges_tokenizer(found.path, split_pattern or DEFAULT_PATTERN)
    draft = read_draft(found, split_pattern)
    if draft is not None:
        return build(draft, name)
    if found.kind == "run":
        return read_run_tokenizer(found.path)
    return read_tokenizer_json(found.path, name=name, confirmed=split_pattern)


_WITH_PATTERN = ("tekken", "bpe_ranks", "minbpe", "run")


def read_draft(
    found: RecognizedFile, split_pattern: str | SplitPattern | None = None
) -> Draft | None:
    """Read a file's draft; return None for `tokenizer.json`, which may need the library.

    Raises:
        InputFileError: If it cannot be read, or is damaged.
        PatternError: If the split pattern is not a valid regex.
    """
    path = found.path
    read_by_plugin = FILE_FORMATS[found.kind].read
    if split_pattern is not None and (
        read_by_plugin or found.kind in (*_WITH_PATTERN, *CONVERSIONS)
    ):
        raise InputFileError(path, HAS_PATTERN)
    if read_by_plugin is not None:
        try:
            return read_by_plugin(path)
        except TokvizError:
            raise
        except Exception as error:  # a plugin can raise anything
            reason = f"{type(error).__name__}: {error}"
            raise InputFileError(path, f"the plugin {found.kind!r} failed: {reason}") from error
    match found.kind:
        case "tiktoken":
            return read_tiktoken(
                read_unpacked(path, limit=MAX_RANK_FILE_BYTES), path, split_pattern
            )
        case "tekken":
            return read_tekken(read_json(path), path)
        case "bpe_ranks":
            return read_javascript(read_json(path), path)
        case "minbpe":
            return read_minbpe(read_file(path, limit=MAX_RANK_FILE_BYTES), path)
        case "vocab":
            assert found.other is not None
            return read_vocab_and_merges(path, found.other, split_pattern)
        case "combined":
            content = read_json(path)
            assert isinstance(content, dict)  # because it starts with a brace
            return read_combined(content, path, split_pattern)
    return None
