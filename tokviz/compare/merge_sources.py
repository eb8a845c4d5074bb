"""Loading of anything with merges as a Replay, for comparison."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from tokviz.errors import InputFileError, VocabularyError
from tokviz.formats.merge_files import of_merges
from tokviz.formats.recognize import RecognizedFile, kind_of
from tokviz.formats.registry import is_builtin
from tokviz.formats.subprocess_loader import load, read
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.replay.replay import Replay
from tokviz.training.run import TrainingRun

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
    kind = kind_of(source)
    name = os.fspath(source)
    try:
        if kind == "tiktoken":
            return Replay(load(source, split_pattern=split_pattern), None, name)
        if kind != "merges":
            return Replay.open(source)
        tokenizer = read(RecognizedFile(kind, Path(source)), pattern, name)
    except VocabularyError as error:
        raise InputFileError(source, str(error)) from None
    assert isinstance(tokenizer, Tokenizer)  # a list of merges needs no library
    return Replay.open(tokenizer)
