"""The result of a learner's BPE trainer: merges, and a vocabulary if it is known.

Any tokenizer file is read, but its merges may be wrong. A pickle is read without executing
anything: only opcodes that make ints, bytes, text, lists, tuples and dicts are accepted.
"""

from __future__ import annotations

import io
import os
import pickle
import pickletools
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from tokviz.errors import InputFileError
from tokviz.formats.draft import Draft
from tokviz.formats.files import MAX_RANK_FILE_BYTES, read_draft
from tokviz.formats.loader import load
from tokviz.formats.merge_files import read_merges
from tokviz.formats.minbpe import KIND as MINBPE
from tokviz.formats.recognize import find, kind_of
from tokviz.formats.vocab_files import read_vocab_and_merges
from tokviz.storage.files import StrPath, read_file
from tokviz.tokenizer.encoding.merging import Merge

SAVE_AS_JSON = (
    'json.dump({"vocab": {i: list(b) for i, b in vocab.items()}, "merges": [[list(a), list(b)] '
    'for a, b in merges]}, open("bpe.json", "w"))'
)
"""A line of Python that saves a result in a file that `read_learned` reads."""

_OPCODES = """PROTO FRAME STOP MARK POP_MARK NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG1
SHORT_BINBYTES BINBYTES SHORT_BINUNICODE BINUNICODE BINPUT LONG_BINPUT MEMOIZE BINGET LONG_BINGET
EMPTY_LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT SETITEM SETITEMS"""


class Learned(NamedTuple):
    """A learner's result.

    Attributes:
        merges: The merges in order.
        vocab: Every token by id; None if only merges are known.
        special_tokens: The special tokens of the file.
        split_pattern: The split pattern of the file; empty if it has none.
    """

    merges: Sequence[Merge]
    vocab: dict[int, bytes] | None = None
    special_tokens: tuple[str, ...] = ()
    split_pattern: str = ""


def read_learned(path: StrPath, other: StrPath | None = None) -> Learned:
    """Read a result from a file, or from a vocabulary and a file of merges in either order.

    Raises:
        InputFileError: If a file cannot be read, or holds no merges.
    """
    paths = [it for it in (path, other) if it is not None]
    if other is not None and not any(map(_is_pickle, paths)):
        paths.sort(key=lambda it: kind_of(it) == "merges")
        return _from_draft(read_vocab_and_merges(paths[0], paths[1]))
    parts = [_read(it) for it in paths]
    vocab = next((part.vocab for part in parts if part.vocab is not None), None)
    with_merges = next((part for part in parts if part.merges), None)
    if with_merges is None:
        raise InputFileError(path, "holds no merges: name the file of the merges too")
    return with_merges._replace(vocab=vocab)


def _is_pickle(path: StrPath) -> bool:
    return os.path.isfile(path) and read_file(path, limit=MAX_RANK_FILE_BYTES)[:1] == b"\x80"


def _read(path: StrPath) -> Learned:
    if _is_pickle(path):
        return _from_values(unpickle(path), path)
    if os.path.isfile(path) and kind_of(path) == "merges":
        return Learned(read_merges(path))
    found = find(path)
    draft = None if found.kind == "tiktoken" else read_draft(found)
    if draft is not None:
        return _from_draft(draft)
    tokenizer = load(path)
    specials = tuple(tokenizer.special_tokens)
    return Learned(tokenizer.merges, tokenizer.vocab, specials, tokenizer.split_pattern.regex)


def _from_draft(draft: Draft) -> Learned:
    vocab = dict(draft.tokens) | {token_id: text.encode() for text, token_id in draft.specials}
    pattern = draft.split_pattern.regex if draft.kind == MINBPE else ""
    return Learned(draft.merges or [], vocab, tuple(text for text, _ in draft.specials), pattern)


def unpickle(path: StrPath) -> Any:
    """Read a pickle of plain values.

    Raises:
        InputFileError: If it contains anything else, or is damaged.
    """
    data = read_file(path, limit=MAX_RANK_FILE_BYTES)
    try:
        for opcode, argument, place in pickletools.genops(data):
            index = argument if opcode.name == "LONG_BINPUT" else 0
            if (
                opcode.name not in _OPCODES.split()
                or not isinstance(index, int)
                or index > len(data)
            ):
                raise InputFileError(path, f"byte {place}: {opcode.name}: {_PICKLE}")
        return _Unpickler(io.BytesIO(data)).load()
    except (ValueError, pickle.UnpicklingError, EOFError, IndexError, TypeError) as error:
        raise InputFileError(path, f"is a damaged pickle: {error}") from None


_PICKLE = (
    "a pickle is read only if it has a vocabulary of type dict[int, bytes] and merges of type "
    f"list[tuple[bytes, bytes]]. In the program that made it, save JSON: {SAVE_AS_JSON}"
)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"names {module}.{name}")


def _from_values(value: Any, path: StrPath) -> Learned:
    """Find the vocabulary and the merges in a value, or in a tuple or dict of both."""
    values = [value]
    if isinstance(value, dict) and {*value} >= {"vocab", "merges"}:
        values = [value["vocab"], value["merges"]]
    elif isinstance(value, tuple):
        values = [*value]
    vocab, merges = None, []
    for it in values:
        if isinstance(it, dict) and all(type(k) is int and type(v) is bytes for k, v in it.items()):
            vocab = it
        elif isinstance(it, list) and all(map(_is_merge, it)):
            merges = it
        else:
            raise InputFileError(path, _PICKLE)
    return Learned(merges, vocab)


def _is_merge(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and all(type(it) is bytes for it in item)
