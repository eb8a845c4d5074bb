"""Loading of tokenizers by name, from a file or folder, or from the Hugging Face Hub."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from os import PathLike
from threading import Lock
from typing import TYPE_CHECKING

from tokviz.errors import ArgumentTypeError, InputFileError
from tokviz.formats.budget import before_large
from tokviz.formats.registry import HUB_PREFIX, is_path_of_file, resolve_name
from tokviz.storage.files import StrPath
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokviz.formats.hf_native import NeedsLibrary
    from tokviz.formats.recognize import RecognizedFile

AnyTokenizer = Tokenizer | StrPath
"""A tokenizer, or a name or path for `load`."""

_loaded: dict[str, Tokenizer] = {}
_lock = Lock()


def load(name: StrPath, *, split_pattern: str | SplitPattern | None = None) -> Tokenizer:
    """Load a tokenizer: by name, from a file or folder, or from the Hugging Face Hub.

    A built-in tokenizer is the same object every time; files are read again. The content of a file
    decides its kind; see `tokviz.formats.recognize`. For a folder with the name of a built-in
    tokenizer, write `./name`.

    The tokenizer encodes the text of special tokens, such as `<|endoftext|>`, as these tokens,
    unless `allowed_special` of `Tokenizer.encode` excludes them: do that for untrusted text.

    Args:
        name: A built-in name, a path, or `hf:org/name`, also with `@revision`.
        split_pattern: A named split pattern or a regex, for a file without one (a rank file, a
            vocabulary and its merges). If None, it is guessed, which `Tokenizer.source` notes.

    Raises:
        UnknownTokenizerError: If the name is unknown; it suggests the closest names.
        InputFileError: If a file cannot be read, holds no valid tokenizer, or has its own split
            pattern although one is given.
        PatternError: If the split pattern is not a valid regex.
    """
    # As in the app once the user agrees: the author of the program has chosen the file.
    with before_large(lambda sentence: None):
        return load_by(_read_here, name, split_pattern)


Read = Callable[["RecognizedFile", "str | SplitPattern | None", str], "Tokenizer | NeedsLibrary"]
"""A function that reads a recognized file, such as `tokviz.formats.files.read`."""


def load_by(read: Read, name: StrPath, split_pattern: str | SplitPattern | None) -> Tokenizer:
    """Load a tokenizer as `load` does, but read files with `read`."""
    if isinstance(name, str) and name.startswith(HUB_PREFIX):
        from tokviz.formats.hub import fetch  # only for names on the Hub

        path = fetch(name)
        tokenizer = _load_file(read, path, split_pattern)
        tokenizer.name = name
        tokenizer.source = tokenizer.source.replace(str(path), name, 1)
        return tokenizer
    if not isinstance(name, str) or is_path_of_file(name):
        return _load_file(read, name, split_pattern)
    if split_pattern is not None and resolve_name(name):
        raise InputFileError(name, "has its own split pattern: leave the other one out")
    return built_in(name)


def built_in(name: str) -> Tokenizer:
    """Return a built-in tokenizer, always the same object.

    Raises:
        UnknownTokenizerError: If there is none of this name.
    """
    builtin = resolve_name(name)
    with _lock:
        if builtin.name not in _loaded:
            _loaded[builtin.name] = builtin.load()
        return _loaded[builtin.name]


def is_shared(tokenizer: Tokenizer) -> bool:
    """Return whether `built_in` returns this object for its name."""
    return _loaded.get(tokenizer.name) is tokenizer


def as_tokenizer(tokenizer: AnyTokenizer) -> Tokenizer:
    """Return a tokenizer, loaded as by `load` if it is a name or a path.

    Raises:
        TokvizError: If it cannot be loaded.
    """
    return tokenizer if isinstance(tokenizer, Tokenizer) else load(tokenizer)


def as_tokenizers(tokenizers: Iterable[AnyTokenizer]) -> list[Tokenizer]:
    """Return several tokenizers; see `as_tokenizer`.

    Raises:
        TokvizError: If one cannot be loaded.
    """
    if isinstance(tokenizers, (str, PathLike, Tokenizer)):
        raise ArgumentTypeError("one tokenizer is not a list of tokenizers: put it in brackets")
    return [*map(as_tokenizer, tokenizers)]


def _load_file(read: Read, path: StrPath, split_pattern: str | SplitPattern | None) -> Tokenizer:
    # Imported here because a built-in tokenizer does not need it.
    from tokviz.formats.conversions import CONVERSIONS
    from tokviz.formats.hf_native import KIND
    from tokviz.formats.recognize import FILE_FORMATS, find

    found = find(os.path.expanduser(path))
    made = read(found, split_pattern, os.fspath(path))
    if not isinstance(made, Tokenizer):
        # Rarely needed, and it imports the library's process code.
        from tokviz.formats.huggingface_tokenizer import HuggingFaceTokenizer

        made = HuggingFaceTokenizer.checked(*made, name=os.fspath(path))
    if found.kind in CONVERSIONS:
        made.source = made.source.replace(KIND, FILE_FORMATS[found.kind].title, 1)
        notes = made.load_report.findings if made.load_report else ()
        made.pattern_doubt = next((note.message for note in notes if note.code == "guess"), "")
    made.folder = os.path.abspath(found.path if found.kind == "run" else found.path.parent)
    return made


def _read_here(
    found: RecognizedFile, split_pattern: str | SplitPattern | None, name: str
) -> Tokenizer | NeedsLibrary:
    from tokviz.formats.files import read  # all readers: only for files

    try:
        return read(found, split_pattern, name)
    except MemoryError:
        raise InputFileError(name, "needs more memory than there is") from None
