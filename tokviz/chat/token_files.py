"""Rows that were tokenized for a trainer: their tokens, mask, documents and problems.

They are the rows of a table or of JSON Lines with a column `input_ids`, or of files of numbers:
`.npy`, the `.npz` of `tokviz chat --export`, and `.bin`: Megatron's, whose `.idx` tells the ids'
type and the rows, or raw ids as written by nanoGPT. Numbers are mapped into memory, not read.

Sources: NVIDIA/Megatron-LM `megatron/core/datasets/indexed_dataset.py`; karpathy/nanoGPT
`data/openwebtext/prepare.py`; karpathy/llm.c `dev/data/data_common.py` (the header).
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any

import numpy as np
import numpy.typing as npt

from tokviz.chat.dataset import TOKEN_MASKS, Dataset
from tokviz.chat.dataset_lint import RowReport
from tokviz.chat.dataset_shapes import shape_of
from tokviz.chat.lint import UNREADABLE, Finding, error_finding
from tokviz.chat.messages import ConversationError
from tokviz.chat.model_files import model_files_of
from tokviz.chat.rendering import LABEL_OF_MASKED
from tokviz.errors import InputFileError
from tokviz.formats.run_arrays import read_arrays
from tokviz.storage.files import reading, refuse_pipe
from tokviz.tokenizer.report import Severity
from tokviz.tokenizer.tokenizer import Tokenizer

Integers = npt.NDArray[np.integer[Any]]

MEGATRON_MAGIC = b"MMIDIDX\x00\x00"
MEGATRON_HEADER = struct.Struct("<9sQBQQ")
"""Magic, version, code of the ids' type, number of rows, length of the list of documents."""
MEGATRON_DTYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}

_LLM_C_DTYPES = {20240520: "uint16", 20240801: "uint32"}
_LLM_C_HEADER_BYTES = 1024
_GUESSED_FROM = 1 << 14
_UNLIKELY_ID = 1 << 20

_DOCUMENT_STARTS = ("<|bos|>", "<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>",
                    "<｜begin▁of▁sentence｜>")  # fmt: skip
_DOCUMENT_ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>",
                  "<｜end▁of▁sentence｜>")  # fmt: skip
_TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<end_of_turn>", "<turn|>",
              "<|end|>", "<|return|>", "<|call|>", "<|assistant_end|>", "<|end_of_turn|>",
              "<|END_OF_TURN_TOKEN|>")  # fmt: skip


class ArrayRows(Dataset):
    """Rows of a file of numbers."""

    def __init__(
        self,
        columns: Mapping[str, Integers],
        ends: Integers,
        starts: Integers | None = None,
        *,
        documents: Integers | None = None,
        is_stream: bool = False,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Create rows.

        Args:
            columns: The columns of all rows, each shape (n,).
            ends: The end of each row, shape (rows,).
            starts: The start of each row; None if the previous one ends there.
            documents: The first row of each document, and the number of rows.
            is_stream: Whether the rows are parts of one long row.
            notes: Guesses about the file, in sentences.
        """
        self.notes = notes
        self._columns, self._ends = columns, ends
        self._starts = np.concatenate((ends[:0], [0], ends[:-1])) if starts is None else starts
        self._documents, self._is_stream = documents, is_stream
        self.n_rows = len(ends)

    def value(self, row: int) -> tuple[Any, bool]:
        """Return the arrays of a row."""
        start, end = int(self._starts[row]), int(self._ends[row])
        return {name: column[start:end] for name, column in self._columns.items()}, False

    def place(self, row: int) -> str:
        """Name the row and its document, or its tokens, all counted from 1."""
        if self._is_stream:
            return f"tokens {int(self._starts[row]) + 1:,} to {int(self._ends[row]):,}"
        if self._documents is None:
            return super().place(row)
        return f"document {bisect_right(self._documents, row):,}, sequence {row + 1:,}"

    def is_whole(self, row: int) -> bool:
        """Return whether a row ends where a document does, as far as the file tells."""
        if self._documents is not None:
            return bisect_right(self._documents, row) != bisect_right(self._documents, row + 1)
        return not self._is_stream or row == self.n_rows - 1


def open_rows(path: str, dtype: str | None = None, window: int = 2048) -> Dataset:
    """Open a file of conversations or of tokenized rows.

    Args:
        path: The file.
        dtype: The type of raw ids, such as "uint16"; None to guess it.
        window: The number of tokens in a row of a file without rows.

    Raises:
        InputFileError: If the file cannot be read.
        ConversationError: See `Dataset.open`.
    """
    read = _READERS.get(os.path.splitext(path)[1].lower())
    if read is None:
        return Dataset.open(path)
    refuse_pipe(path)
    try:
        with reading(path):
            rows = read(path, dtype, window)
    except (EOFError, struct.error, SyntaxError) as error:
        raise InputFileError(path, f"is damaged: {error}") from None
    rows.path = path
    return rows


def is_tokenized(rows: Dataset) -> bool:
    """Return whether the first row holds token ids and no conversation."""
    try:
        value = rows.value(0)[0] if rows.has_row(0) else None
    except ConversationError:
        return False
    return isinstance(value, Mapping) and "input_ids" in value and shape_of(value) is None


def _read_npy(path: str, dtype: str | None, window: int) -> ArrayRows:
    array = np.lib.format.open_memmap(path, mode="r")
    if array.dtype.kind not in "iu" or array.ndim not in (1, 2):
        found = f"{array.ndim} dimensions of {array.dtype}"
        raise InputFileError(path, f"holds {found}, not one or two of integers")
    if array.ndim == 1:
        return _stream(array, window)
    ends = np.arange(1, len(array) + 1) * array.shape[1]
    return ArrayRows({"input_ids": array.reshape(-1)}, ends)


def _read_npz(path: str, dtype: str | None, window: int) -> ArrayRows:
    arrays = read_arrays(*os.path.split(path))
    ends = arrays.pop("ends", None)
    columns = {key: arrays[key] for key in ("input_ids", "labels", *TOKEN_MASKS) if key in arrays}
    ids = columns.get("input_ids")
    if ids is None or ends is None or any(len(it) != len(ids) for it in columns.values()):
        raise InputFileError(path, "is not an .npz file of tokviz chat --export")
    if len(ends) and (np.diff(ends.astype(np.int64), prepend=0).min() < 0 or ends[-1] != len(ids)):
        raise InputFileError(path, "is damaged: the ends of its rows are not in order")
    return ArrayRows(columns, ends.astype(np.int64))  # type: ignore[arg-type]


def _read_bin(path: str, dtype: str | None, window: int) -> ArrayRows:
    stem = os.path.splitext(path)[0]
    data = _mapped(f"{stem}.bin")
    if os.path.exists(f"{stem}.idx"):
        return _read_megatron(f"{stem}.idx", data)
    magic = int(data[:4].view("<u4")[0]) if len(data) >= _LLM_C_HEADER_BYTES else 0
    if magic in _LLM_C_DTYPES:
        kind = np.dtype(dtype or _LLM_C_DTYPES[magic])
        return _stream(_numbers(path, data[_LLM_C_HEADER_BYTES:], kind), window)
    guess = _guess(data)
    note = f"The ids are read as {guess}, which is a guess: set their type with --dtype."
    ids = _numbers(path, data, np.dtype(dtype or guess))
    return _stream(ids, window, () if dtype else (note,))


def _guess(data: npt.NDArray[np.uint8]) -> str:
    """Guess the type of raw ids: two of 16 bits are rarely a likely id of 32 bits."""
    some = data[: min(len(data), _GUESSED_FROM) // 4 * 4].view("<u4")
    is_wide = len(data) % 4 == 0 and len(some) > 0 and np.mean(some < _UNLIKELY_ID) > 0.99
    return "uint32" if is_wide else "uint16"


def _numbers(path: str, data: npt.NDArray[np.uint8], dtype: np.dtype[Any]) -> Integers:
    if len(data) % dtype.itemsize:
        raise InputFileError(path, f"has {len(data):,} bytes, not a multiple of {dtype.itemsize}")
    return data.view(dtype.newbyteorder("<"))


def _stream(ids: Integers, window: int, notes: tuple[str, ...] = ()) -> ArrayRows:
    ends = np.append(np.arange(window, len(ids), window), [len(ids)] if len(ids) else [])
    return ArrayRows({"input_ids": ids}, ends.astype(np.int64), is_stream=True, notes=notes)


def _read_megatron(path: str, data: npt.NDArray[np.uint8]) -> ArrayRows:
    index = _mapped(path)
    magic, version, code, n_rows, n_documents = MEGATRON_HEADER.unpack(
        index[: MEGATRON_HEADER.size].tobytes()
    )
    if magic != MEGATRON_MAGIC or version != 1 or code not in MEGATRON_DTYPES:
        raise InputFileError(path, "is not an index of Megatron-LM, version 1, for integers")
    dtype = np.dtype(MEGATRON_DTYPES[code])
    at, parts = MEGATRON_HEADER.size, []
    for kind, n in (("<i4", n_rows), ("<i8", n_rows), ("<i8", n_documents)):
        n_bytes = n * np.dtype(kind).itemsize
        if at + n_bytes > len(index):
            raise InputFileError(path, "is damaged: it ends before its last row")
        parts.append(np.frombuffer(index, kind, n, at))
        at += n_bytes
    lengths, pointers, documents = parts
    starts = pointers // dtype.itemsize
    ends, n_ids = starts + lengths, len(data) // dtype.itemsize
    is_odd = bool((pointers % dtype.itemsize).any())
    if n_rows and (is_odd or min(pointers.min(), lengths.min()) < 0 or ends.max() > n_ids):
        raise InputFileError(path, f"names tokens beyond the {n_ids:,} of the .bin file beside it")
    columns: dict[str, Integers] = {
        "input_ids": data[: n_ids * dtype.itemsize].view(dtype.newbyteorder("<"))
    }
    mask = f"{os.path.splitext(path)[0]}.assistant_masks.bin"
    if os.path.exists(mask) and os.path.getsize(mask) == n_ids:
        columns["assistant_masks"] = _mapped(mask)
    return ArrayRows(columns, ends, starts, documents=documents)


def _mapped(path: str) -> npt.NDArray[np.uint8]:
    if os.path.getsize(path) == 0:
        return np.zeros(0, np.uint8)
    return np.memmap(path, np.uint8, "r")


_READERS: dict[str, Callable[[str, str | None, int], ArrayRows]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".bin": _read_bin,
    ".idx": _read_bin,
}


# -- rows


@dataclass(frozen=True)
class TokenRow:
    """A tokenized row.

    Attributes:
        ids: The ids, shape (n,), int64.
        mask: 1 where a token is in the loss, shape (n,), uint8.
        mask_source: The column of the mask; "input_ids" if there is none, so that all tokens are in
            the loss that are not padding.
        documents: The first token of each document.
        findings: Its problems.
    """

    ids: Integers
    mask: npt.NDArray[np.uint8]
    mask_source: str
    documents: list[int]
    findings: list[Finding]


class TokenReader:
    """A reader of tokenized rows.

    Attributes:
        tokenizer: The tokenizer of their ids.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Look up the tokenizer's ids."""
        self.tokenizer = tokenizer
        self._known = tokenizer.token_sizes > 0
        files = model_files_of(tokenizer)
        names = files.variables if files is not None else {}
        bos, eos = names.get("bos_token", ""), names.get("eos_token", "")
        turns = {*_TURN_ENDS}
        ends = {*_DOCUMENT_ENDS, eos} - turns
        self._turns = self._ids_of(turns)
        self._document_ends = self._ids_of(ends)
        self._ends = self._ids_of(turns | ends)
        self._starts = self._ids_of({*_DOCUMENT_STARTS, bos} - ends - turns)

    def _ids_of(self, texts: set[str]) -> Integers:
        specials = self.tokenizer.special_tokens
        return np.array([specials[text] for text in texts if text in specials], np.int64)

    def text(self, token_id: int) -> bytes:
        """Return the bytes of a token, or its id in words if the tokenizer lacks it."""
        found = self.tokenizer.bytes_of(token_id) if token_id >= 0 else None
        return f"<id {token_id}>".encode() if found is None else found

    def read(self, rows: Dataset, row: int) -> TokenRow:
        """Read and check a row, counted from 0.

        Raises:
            ConversationError: If it holds no ids.
            IndexError: If there is no such row.
        """
        if not rows.has_row(row):
            raise IndexError(f"row {row + 1:,} of {rows.n_rows:,}")
        with rows.located(row):
            value = rows.value(row)[0]
            if not isinstance(value, Mapping) or "input_ids" not in value:
                raise ConversationError("there is no key 'input_ids'")
            ids = _integers(value, "input_ids")
            beside = {
                key: _integers(value, key)
                for key in ("attention_mask", "labels", "position_ids", *TOKEN_MASKS)
                if value.get(key) is not None
            }
        findings = [
            _error("lengths-differ", f"{key!r} has {len(it):,} values for {len(ids):,} input_ids")
            for key, it in beside.items()
            if len(it) != len(ids)
        ]
        columns = {key: it for key, it in beside.items() if len(it) == len(ids)}
        attended = columns.get("attention_mask", np.ones(len(ids), np.int64)) != 0
        source = next((key for key in ("labels", *TOKEN_MASKS) if key in columns), "input_ids")
        masked = LABEL_OF_MASKED if source == "labels" else 0
        mask = attended if source == "input_ids" else columns[source] != masked
        findings += self._outside(ids)
        if source == "labels":
            findings += self._labels(ids, columns["labels"], attended)
        elif len(ids) and not mask.any():
            findings.append(
                _error("all-masked", f"all of {source!r} is 0: no token is in the loss")
            )
        documents = self._documents(ids, columns.get("position_ids"), attended)
        if not isinstance(rows, ArrayRows) or rows.is_whole(row):
            findings += self._end(ids[attended], len(documents))
        return TokenRow(ids, mask.astype(np.uint8), source, documents, findings)

    def reports(self, rows: Dataset, first: int = 0) -> Iterator[RowReport]:
        """Check all rows from a first one on, lazily."""
        for number in takewhile(rows.has_row, count(first)):
            try:
                findings = self.read(rows, number).findings
            except ConversationError as error:
                findings = [error_finding(UNREADABLE, error)]
            yield RowReport(number, tuple(findings), None)

    def _outside(self, ids: Integers) -> Iterator[Finding]:
        is_outside = (ids < 0) | (ids >= len(self._known))
        is_outside |= ~self._known[np.where(is_outside, 0, ids)]
        if is_outside.any():
            first = int(is_outside.argmax())
            n, name = int(is_outside.sum()), self.tokenizer.name
            text = f"{n:,} of {len(ids):,} ids are not in {name}, first {ids[first]} at #{first}"
            yield _error("ids-outside-vocabulary", text, first)

    def _labels(self, ids: Integers, labels: Integers, attended: Any) -> Iterator[Finding]:
        learned = labels != LABEL_OF_MASKED
        wrong = learned & (labels != ids)
        if len(ids) and not learned.any():
            yield _error("all-masked", "all labels are -100: no token is in the loss")
        elif wrong.any():
            first = int(wrong.argmax())
            text = f"{int(wrong.sum()):,} labels are neither -100 nor the id, first {labels[first]}"
            text += f" for {ids[first]} at #{first}"
            if (labels[:-1] == ids[1:])[learned[:-1]].all():
                text += ": they are shifted by one, and a trainer that shifts labels does so again"
            yield _error("labels-differ", text, first)
        elif learned[attended].all() and len(ids):
            is_chat = bool(np.isin(ids, self._turns).any())
            text = "labels equal input_ids everywhere: the prompt is in the loss too"
            severity: Severity = "error" if is_chat else "warning"
            yield Finding("labels-everywhere", severity, text, cause="labels-everywhere")

    def _documents(self, ids: Integers, positions: Integers | None, attended: Any) -> list[int]:
        """Return the first token of each document: by positions, else by BOS, else by EOS."""
        if positions is not None:
            borders = np.flatnonzero((positions[1:] <= positions[:-1]) & attended[1:]) + 1
        elif np.isin(ids, self._starts).any():
            borders = np.flatnonzero(np.isin(ids, self._starts))
        else:
            borders = np.flatnonzero(np.isin(ids[:-1], self._document_ends) & attended[1:]) + 1
        return [0, *borders[borders > 0].tolist()] if len(ids) else []

    def _end(self, ids: Integers, n_documents: int) -> Iterator[Finding]:
        at = len(ids) - 1
        while at > 0 and self.text(int(ids[at])).isspace():
            at -= 1
        if len(self._ends) and at >= 0 and ids[at] not in self._ends:
            last = self.text(int(ids[-1])).decode("utf-8", "replace")
            severity: Severity = "warning" if n_documents == 1 else "note"
            text = f"the last token, {last!r}, does not end a turn or a document: is it truncated?"
            yield Finding("truncated-end", severity, text, None, len(ids) - 1, "truncated-end")


def _error(code: str, text: str, token: int | None = None) -> Finding:
    return Finding(code, "error", text, None, token)


def _integers(value: Mapping[str, Any], key: str) -> Integers:
    try:
        array = np.asarray(value[key])
    except ValueError:  # lists of different lengths
        array = np.zeros((1, 1))
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iub"):
        raise ConversationError("must be a list of integers", key=key)
    return array.astype(np.int64)
