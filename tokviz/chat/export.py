"""Whole datasets as token ids with their mask, in files that trainers read.

Columns are collected in unnamed files next to the output, which is written at the end, so that
canceling leaves no partial file. `.bin` is Megatron-LM's format with one document per row; its mask
is a second pair of such files. Rows of built-in templates are encoded many at a time: each token
gets its place in the text, and with it the mask and the reason of the span there.
"""

from __future__ import annotations

import json
import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, takewhile
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import ConversationError
from tokviz.chat.render import render
from tokviz.chat.rendering import (
    LABEL_OF_MASKED,
    ROLE_SPANS,
    TEMPLATE_MASK,
    encoding_runs,
    virtual_specials,
)
from tokviz.chat.spans import CONTENT_AS_TEXT, REASON_NAMES, TRANSFORMERS, TemplateSpan
from tokviz.chat.templates import ChatTemplate
from tokviz.chat.token_files import MEGATRON_DTYPES, MEGATRON_HEADER, MEGATRON_MAGIC
from tokviz.errors import OutputFileError, missing_package
from tokviz.formats.run_arrays import write_npz
from tokviz.storage.files import write_file, writing
from tokviz.text import bytetext
from tokviz.tokenizer.tokenizer import Tokenizer

_BATCH_ROWS = 128
_BLOCK = 1 << 20
_GROUP_ROWS = 10_000
_LAST_OF_16_BITS = 65_499  # Megatron-LM's `optimal_dtype`

_Array = npt.NDArray[Any]


@dataclass
class Rows:
    """Rendered rows.

    Attributes:
        numbers: The number of each row, from 1; rows that failed are missing.
        lengths: The number of tokens of each.
        parts: Their ids, mask and values of `Reason`, in parts of several rows.
        failures: The number of each row that cannot be rendered, and the reason.
        n_cut: The number of rows with more tokens than are kept.
        mask_sources: Keys of `MASK_SOURCES`.
    """

    numbers: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    parts: list[tuple[_Array, _Array, _Array]] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    n_cut: int = 0
    mask_sources: set[str] = field(default_factory=set)


class RowEncoder:
    """An encoder for the rows of a dataset, with one tokenizer and one template."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        template: ChatTemplate | JinjaTemplate,
        max_tokens: int,
        variables: Mapping[str, Any] | None = None,
        specials: str | None = None,
    ) -> None:
        """Create an encoder; see `render` for the arguments."""
        self._tokenizer, self._template, self._max_tokens = tokenizer, template, max_tokens
        self._variables = variables or {}
        needed = template.specials_in_use(tokenizer)
        self._specials = specials or template.specials
        self._virtual = virtual_specials(tokenizer, needed if template.makes_up_ids else ())
        known = tokenizer.special_tokens.keys() | self._virtual.keys()
        self._missing = [text for text in needed if text not in known]
        made_up = [len(text.encode()) for text in self._virtual]  # ids after the last one, in order
        self._sizes = np.append(tokenizer.token_sizes, np.array(made_up, np.int64))
        self._batch: list[list[TemplateSpan]] = []
        """The spans of rows that are encoded together."""

    def about(self) -> dict[str, Any]:
        """Return the description of the rendering that an export contains."""
        return {
            "tokenizer": self._tokenizer.name,
            "template": self._template.name,
            "specials": self._specials,
            "max_tokens": self._max_tokens,
            "virtual_specials": self._virtual,
            "missing_specials": self._missing,
            "last_id": len(self._sizes) - 1,
            "reasons": {int(reason): name for reason, name in REASON_NAMES.items()},
        }

    def encode(self, dataset: Dataset, first: int, n_rows: int) -> Rows:
        """Render rows from a first one on, counted from 0."""
        rows = Rows()
        for number in takewhile(dataset.has_row, range(first, first + n_rows)):
            try:
                with dataset.located(number):
                    self._add(dataset.row(number).with_variables(self._variables), rows)
            except ConversationError as error:
                rows.failures.append((number + 1, str(error)))
            else:
                rows.numbers.append(number + 1)
            if len(self._batch) == _BATCH_ROWS:
                self._end_batch(rows)
        self._end_batch(rows)
        return rows

    def _add(self, conversation: Conversation, rows: Rows) -> None:
        spans = self._spans(conversation)
        if spans is None:
            self._end_batch(rows)
            self._render(conversation, rows)
        else:
            self._batch.append(spans)

    def _spans(self, conversation: Conversation) -> list[TemplateSpan] | None:
        """Return the spans of a row, or None if it must be rendered on its own."""
        template, tokenizer = self._template, self._tokenizer
        is_alone = tokenizer.remote or tokenizer.split_pattern.guarded
        if is_alone or not isinstance(template, ChatTemplate):
            return None
        spans, untrained = template.write(conversation), conversation.untrained()
        if untrained:
            spans = [it._replace(learned=it.learned and it.message not in untrained)
                     for it in spans]  # fmt: skip
        # Normalization moves the ends of spans.
        return (
            None if tokenizer.byte_text.changes("".join([span.text for span in spans])) else spans
        )

    def _render(self, conversation: Conversation, rows: Rows) -> None:
        most, policy = self._max_tokens, self._specials
        made = render(self._tokenizer, conversation, self._template, most, specials=policy)
        ids = np.frombuffer(made.ids, np.uint32, made.n_kept)
        mask, reasons = (np.frombuffer(it[: len(ids)], np.uint8)
                         for it in (made.mask, made.reasons))  # fmt: skip
        rows.parts.append((ids, mask, reasons))
        rows.lengths.append(made.n_kept)
        rows.n_cut += len(made) > made.n_kept
        rows.mask_sources.add(made.mask_source)

    def _end_batch(self, rows: Rows) -> None:
        """Encode the spans of several rows together, with the result of `render_spans`."""
        if not self._batch:
            return
        ids, lengths = self._ids(self._batch)
        spans = [*chain(*self._batch)]
        self._batch.clear()
        sizes = np.array([bytetext.n_bytes(span.text) for span in spans], np.int64)
        borders = np.append(0, np.cumsum(sizes))
        n_learned = np.append(0, np.cumsum(sizes * [span.learned for span in spans]))
        ends = np.cumsum(self._sizes[ids])
        starts = ends - self._sizes[ids]
        span_of = np.searchsorted(borders, starts, "right") - 1
        mask = np.interp(ends, borders, n_learned) > np.interp(starts, borders, n_learned)
        place = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        kept = place < self._max_tokens
        reasons = np.array([span.reason for span in spans], np.uint8)[span_of]
        rows.parts.append((ids[kept], mask[kept].astype(np.uint8), reasons[kept]))
        rows.lengths += np.minimum(lengths, self._max_tokens).tolist()
        rows.n_cut += int((lengths > self._max_tokens).sum())
        rows.mask_sources.add(TEMPLATE_MASK)

    def _ids(self, rows: Sequence[list[TemplateSpan]]) -> tuple[_Array, _Array]:
        """Return the ids of all rows, and the number of ids of each row."""
        ids, lengths = array("I"), []
        if self._specials == TRANSFORMERS:
            texts = ["".join([span.text for span in row]) for row in rows]
            for encoded in self._tokenizer.byte_text.encode_all(texts, True):
                ids.extend(encoded)
                lengths.append(len(encoded))
        else:
            special_ids = {**self._virtual, **self._tokenizer.special_tokens}
            runs = [encoding_runs(self._tokenizer, row, self._virtual, CONTENT_AS_TEXT)
                    for row in rows]  # fmt: skip
            texts = ["".join([span.text for span in run.spans])
                     for row in runs for run in row if not run.is_special]  # fmt: skip
            plain = self._tokenizer.byte_text.encode_all(texts, False)
            for row in runs:
                before = len(ids)
                for run in row:
                    ids.extend([special_ids[run.spans[0].text]] if run.is_special else next(plain))
                lengths.append(len(ids) - before)
        return np.frombuffer(ids, np.uint32), np.array(lengths)


# -- writing


class _Columns(dict[str, IO[bytes]]):
    """Columns in unnamed files of a folder; they vanish with the process."""

    def __init__(self, folder: str, files: ExitStack, names: Iterable[str]) -> None:
        self._folder, self._files = folder or ".", files
        super().__init__((name, self.new()) for name in names)

    def new(self) -> IO[bytes]:
        return self._files.enter_context(tempfile.TemporaryFile(dir=self._folder))

    def add(self, name: str, items: Any) -> None:
        self[name].write(np.asarray(items, _DTYPES[name]).tobytes())

    def arrays(self) -> dict[str, _Array]:
        arrays = {}
        for name, file in self.items():
            file.flush()
            dtype = _DTYPES[name]
            arrays[name] = np.memmap(file, dtype, "r") if file.tell() else np.zeros(0, dtype)
        return arrays


_DTYPES = {
    "row": "<i8",
    "lengths": "<i8",
    "input_ids": "<u4",
    "assistant_masks": "u1",
    "labels": "<i4",
    "reasons": "u1",
}


def write_export(
    path: str,
    chunks: Iterable[Rows],
    about: dict[str, Any],
    *,
    with_reasons: bool = False,
    progress: Callable[[int], object] = lambda n_rows: None,
) -> dict[str, Any]:
    """Write rows to a file, whose extension is one of `EXPORT_FORMATS`.

    If this fails or is interrupted, no file is written.

    Args:
        path: The file.
        chunks: The rows.
        about: See `RowEncoder.about`.
        with_reasons: Whether to write the reason of each token.
        progress: Called with the number of rows done after each chunk.

    Returns:
        The description that the file contains: `about`, the counts, the origin of the mask and
        whether it is a guess, and the rows that failed.

    Raises:
        OutputFileError: If the file cannot be written, or a package is missing.
    """
    sources: set[str] = set()
    failed: list[dict[str, object]] = []
    about |= {"n_rows": 0, "n_tokens": 0, "n_learned": 0, "n_cut": 0, "failed": failed}
    with ExitStack() as files, writing(path):
        names = (name for name in _DTYPES if with_reasons or name != "reasons")
        columns = _Columns(os.path.dirname(path), files, names)
        for rows in chunks:
            columns.add("row", rows.numbers)
            columns.add("lengths", rows.lengths)
            for ids, mask, reasons in rows.parts:
                columns.add("input_ids", ids)
                columns.add("assistant_masks", mask)
                columns.add("labels", np.where(mask, ids.astype(np.int32), LABEL_OF_MASKED))
                if with_reasons:
                    columns.add("reasons", reasons)
                about["n_tokens"] += len(ids)
                about["n_learned"] += int(mask.sum())
            about["n_rows"] += len(rows.numbers)
            about["n_cut"] += rows.n_cut
            sources |= rows.mask_sources
            failed += [{"row": number, "error": error} for number, error in rows.failures]
            progress(about["n_rows"] + len(failed))
        about |= {"mask_sources": sorted(sources), "mask_is_guess": ROLE_SPANS in sources}
        EXPORT_FORMATS[os.path.splitext(path)[1].lower()](path, columns, about)
    return about


def _write_jsonl(path: str, columns: _Columns, about: Mapping[str, Any]) -> None:
    arrays = columns.arrays()
    numbers, lengths = arrays.pop("row"), arrays.pop("lengths")
    # JSON allows spaces, so that numbers of one width are looked up. Index -100 gives -100.
    values = [*range(about["last_id"] + 1), *[LABEL_OF_MASKED] * -LABEL_OF_MASKED]
    words = np.array([f"{value:{len(str(len(values)))}}," for value in values], "S")
    digits = np.array([f"{value}," for value in range(10)], "S")

    def lines() -> Iterator[bytes]:
        end = 0
        for number, length in zip(numbers, lengths, strict=True):
            start, end = end, end + int(length)
            tables = ((digits if it.itemsize == 1 else words)[it[start:end]]
                      for it in arrays.values())  # fmt: skip
            lists = (b'"%s": [%s]' % (name.encode(), table.tobytes()[:-1])
                     for name, table in zip(arrays, tables, strict=True))  # fmt: skip
            yield b'{"row": %d, %s}\n' % (number, b", ".join(lists))

    _write_about(path, about)
    write_file(path, lines())


def _write_parquet(path: str, columns: _Columns, about: Mapping[str, Any]) -> None:
    try:
        # Most commands do without this large library.
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise OutputFileError(path, missing_package("pyarrow")) from None
    arrays = columns.arrays()
    numbers, ends = arrays.pop("row"), np.append(0, np.cumsum(arrays.pop("lengths")))
    kinds = {name: pyarrow.list_(pyarrow.from_numpy_dtype(it.dtype)) for name, it in arrays.items()}
    schema = pyarrow.schema(
        {"row": pyarrow.int64(), **kinds}, metadata={"tokviz": json.dumps(about)}
    )
    file = columns.new()
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for first in range(0, len(numbers), _GROUP_ROWS):
            some = ends[first : first + _GROUP_ROWS + 1]
            borders = pyarrow.array(some - some[0], pyarrow.int32())
            lists = [pyarrow.ListArray.from_arrays(borders, it[some[0] : some[-1]])
                     for it in arrays.values()]  # fmt: skip
            group = [pyarrow.array(numbers[first : first + _GROUP_ROWS]), *lists]
            writer.write_table(pyarrow.table(group, schema=schema))
    write_file(path, _blocks(file))


def _write_npz(path: str, columns: _Columns, about: Mapping[str, Any]) -> None:
    arrays = columns.arrays()
    arrays["ends"] = np.cumsum(arrays.pop("lengths"))
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    file = columns.new()
    write_npz(file, arrays)
    write_file(path, _blocks(file))


def _write_megatron(path: str, columns: _Columns, about: Mapping[str, Any]) -> None:
    arrays, stem = columns.arrays(), os.path.splitext(path)[0]
    lengths = arrays["lengths"]
    _write_about(path, about)
    for name in ("reasons", "assistant_masks", "input_ids"):
        if name in arrays:
            code = 1 if name != "input_ids" else 8 if about["last_id"] <= _LAST_OF_16_BITS else 4
            dtype = np.dtype(MEGATRON_DTYPES[code]).newbyteorder("<")
            header = MEGATRON_HEADER.pack(MEGATRON_MAGIC, 1, code, len(lengths), len(lengths) + 1)
            pointers = (np.cumsum(lengths) - lengths) * dtype.itemsize
            documents = np.arange(len(lengths) + 1)
            place = stem if name == "input_ids" else f"{stem}.{name}"
            index = [header, lengths.astype("<i4"), pointers.astype("<i8"), documents.astype("<i8")]
            write_file(f"{place}.idx", b"".join(map(bytes, index)))
            write_file(f"{place}.bin", map(bytes, _cast(arrays[name], dtype)))


def _cast(items: _Array, dtype: Any) -> Iterator[_Array]:
    return (items[at : at + _BLOCK].astype(dtype) for at in range(0, len(items), _BLOCK))


def _write_about(path: str, about: Mapping[str, Any]) -> None:
    write_file(f"{path}.json", json.dumps(about, indent=1).encode())


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while block := file.read(_BLOCK):
        yield block


EXPORT_FORMATS: dict[str, Callable[[str, _Columns, Mapping[str, Any]], None]] = {
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
    ".npz": _write_npz,
    ".bin": _write_megatron,
}
"""The file formats of exports, by extension."""
