"""Loading of anything with merges as a Replay, for comparison."""

from __future__ import annotations

import binascii
import os
from base64 import b64decode
from collections.abc import Sequence
from os import PathLike

from tokviz.bpe.run import TrainingRun
from tokviz.encoding.merging import Merge
from tokviz.errors import InputFileError, VocabularyError
from tokviz.files import read_file
from tokviz.formats.apart import load, load_merges_apart
from tokviz.formats.merge_files import of_merges
from tokviz.formats.minbpe import MAGIC as MINBPE
from tokviz.formats.registry import is_builtin
from tokviz.pretokenize.patterns import SplitPattern
from tokviz.replay.replay import Replay
from tokviz.tokenizer import Tokenizer

Source = str | PathLike[str] | Replay | TrainingRun | Tokenizer | Sequence[Merge]


def open_merges(source: Source, split_pattern: SplitPattern | None = None) -> Replay:
    """Load merges from any source.

    Args:
        source: A run folder, the name of a built-in tokenizer, a tokenizer file, a file of merges
            or ranks (see `tokviz.formats.merge_files`), or the content of any of these.
        split_pattern: The split pattern for merges without one; None for that of GPT-2, or for
            ranks the one that their number suggests.

    Raises:
        InputFileError: If a file cannot be read, or its merges are inconsistent.
        VocabularyError: If merges given as a list are inconsistent.
        UnknownTokenizerError: If there is neither a file nor a tokenizer with this name.
    """
    if isinstance(source, Replay):
        return source
    if isinstance(source, (TrainingRun, Tokenizer)):
        return Replay.open(source)
    pattern: str | SplitPattern = split_pattern or "gpt2"
    if not isinstance(source, (str, PathLike)):
        return Replay.open(of_merges(source, pattern, "merges"))
    named = isinstance(source, str) and is_builtin(source)
    if named or not os.path.isfile(source):
        return Replay.open(source)
    data = read_file(source)
    if data.lstrip()[:1] == b"{" or data.startswith(MINBPE.encode()):
        return Replay.open(source)
    name = os.fspath(source)
    try:
        if _is_ranks(data):
            return Replay(load(source, split_pattern=split_pattern), None, name)
        return Replay.open(load_merges_apart(source, pattern))
    except VocabularyError as error:
        raise InputFileError(source, str(error)) from None


def _is_ranks(data: bytes) -> bool:
    """Return whether a file starts with a line `base64 rank`, as tiktoken's do."""
    fields = data[: data.find(b"\n") if b"\n" in data else len(data)].split()
    if len(fields) != 2 or not fields[1].isdigit():
        return False
    try:
        return bool(b64decode(fields[0], validate=True))
    except binascii.Error:
        return False
