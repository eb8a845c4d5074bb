"""`tokviz chat` for tokenized files: the text of the ids with its mask."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tokviz.chat.mask import marked_lines
from tokviz.errors import TokvizError
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokviz.chat.dataset import Dataset
    from tokviz.chat.lint import Finding
    from tokviz.chat.token_files import TokenReader, TokenRow

_DTYPES = ("uint16", "uint32", "int32", "int64", "uint8")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for tokenized files."""
    parser.add_argument(
        "--dtype", choices=_DTYPES, help="type of the ids in a raw .bin file (default: guess it)"
    )


def reader_of(tokenizer: Tokenizer, rows: Dataset) -> TokenReader | None:
    """Return a reader for tokenized rows, or None for conversations."""
    from tokviz.chat.token_files import TokenReader, is_tokenized  # imports NumPy

    return TokenReader(tokenizer) if is_tokenized(rows) else None


def show_row(
    arguments: argparse.Namespace, reader: TokenReader, name: str, rows: Dataset, number: int
) -> tuple[list[str], list[Finding]]:
    """Return the lines of a row, counted from 0: its text or its JSON object; and its findings.

    Raises:
        ConversationError: If it holds no ids.
        TokvizError: If a figure is requested.
    """
    if arguments.form or arguments.output:
        raise TokvizError("only conversations make a page or a picture: use --mask or --json")
    row, place = reader.read(rows, number), rows.place(number)
    tokens = [reader.text(token_id) for token_id in row.ids.tolist()]
    if not arguments.json:
        lines = _text_lines(arguments, rows.notes, place, row, tokens)
        return [*lines], row.findings
    record = {
        "file": name,
        "row": number + 1,
        "place": place,
        "tokenizer": reader.tokenizer.name,
        "mask_source": row.mask_source,
        "n_tokens": len(row.ids),
        "n_learned": int(row.mask.sum()),
        "documents": row.documents,
        "notes": rows.notes,
        "text": b"".join(tokens).decode("utf-8", "replace"),
        "ids": row.ids.tolist(),
        "mask": row.mask.tolist(),
    }
    return [json.dumps(record)], row.findings


def _text_lines(
    arguments: argparse.Namespace,
    notes: tuple[str, ...],
    place: str,
    row: TokenRow,
    tokens: list[bytes],
) -> Iterator[str]:
    n_tokens, n_learned = len(row.ids), int(row.mask.sum())
    facts = (
        place,
        pluralize(n_tokens, "token"),
        f"{n_learned:,} in the loss ({n_learned / max(1, n_tokens):.0%})",
        pluralize(len(row.documents), "document"),
        f"mask from {row.mask_source}",
    )
    yield safe(" ".join([f"# {', '.join(facts)}.", *notes]))
    for document, (start, end) in enumerate(pairwise([*row.documents, n_tokens]), 1):
        if document > 1:
            yield f"-- document {document:,}, token #{start:,}"
        mask = row.mask[start:end].tolist()
        yield from marked_lines(tokens[start:end], mask, safe, colour=arguments.colored)
