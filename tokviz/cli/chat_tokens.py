"""`tokviz chat` for tokenized files: the text of the ids with its mask, and its problems."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from itertools import count, pairwise, takewhile
from typing import TYPE_CHECKING

from tokviz.chat.lint import UNREADABLE, Finding, error_finding
from tokviz.chat.mask import marked_lines
from tokviz.chat.messages import ConversationError
from tokviz.cli.inputs import display_name
from tokviz.cli.output import report
from tokviz.errors import TokvizError
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokviz.chat.dataset import Dataset
    from tokviz.chat.token_files import TokenReader, TokenRow

_DTYPES = ("uint16", "uint32", "int32", "int64", "uint8")

Output = tuple[list[str], str, bool, int, list[str]]
"""Lines, an error message or "", whether the row failed, the number of findings, and the cause of
each line that is one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for tokenized files."""
    parser.add_argument(
        "--dtype", choices=_DTYPES, help="type of the ids in a raw .bin file (default: guess it)"
    )


def outputs(
    arguments: argparse.Namespace,
    tokenizer: Tokenizer,
    wanted: Callable[[Iterable[Finding]], list[Finding]],
    name: str,
    rows: Dataset,
    first: int,
) -> Iterator[Output]:
    """Yield the output for each row from `first` on.

    Args:
        arguments: The arguments of `tokviz chat`.
        tokenizer: The tokenizer of the ids.
        wanted: Selects the findings to report.
        name: The file.
        rows: Its rows.
        first: The first row, counted from 0.

    Raises:
        TokvizError: If a figure is requested.
    """
    if arguments.form or arguments.output:
        raise TokvizError("only conversations make a page or a picture: use --mask or --json")
    from tokviz.chat.token_files import TokenReader  # imports NumPy

    reader = TokenReader(tokenizer)
    if arguments.lint and not arguments.mask:
        for note in rows.notes:
            report(f"{display_name(name)}: {note}")
    for number in takewhile(rows.has_row, count(first)):
        place = rows.place(number)
        where = {"file": name, "row": number + 1, "place": place}
        try:
            row = reader.read(rows, number)
        except ConversationError as error:
            findings = [error_finding(UNREADABLE, error)]
            if arguments.json and not arguments.lint:
                yield [json.dumps({**where, "error": str(error)})], "", True, 0, []
                continue
            if not arguments.lint or arguments.mask:
                yield [], f"{display_name(name)}: {error}", True, 0, []
                continue
        else:
            findings = wanted(row.findings) if arguments.lint else []
        lines: list[str] = []
        if not arguments.lint or arguments.mask:
            lines = _shown(arguments, reader, rows, number, row, where)
            lines += [f"  ! {safe(finding.message)}" for finding in findings]
        elif arguments.json:
            lines = [json.dumps({**where, **_fields(finding)}) for finding in findings]
        else:
            lines = [_line(name, place, finding) for finding in findings]
        is_listed = arguments.lint and not (arguments.mask or arguments.json)
        yield lines, "", False, len(findings), [it.cause for it in findings] if is_listed else []


def _fields(finding: Finding) -> dict[str, object]:
    return {key: value for key, value in asdict(finding).items() if key != "cause"}


def _line(name: str, place: str, finding: Finding) -> str:
    text = finding.message if finding.message.startswith(place) else f"{place}: {finding.message}"
    return f"{safe(f'{display_name(name)}: {text}')} [{finding.severity}: {finding.code}]"


def _shown(
    arguments: argparse.Namespace,
    reader: TokenReader,
    rows: Dataset,
    number: int,
    row: TokenRow,
    where: dict[str, object],
) -> list[str]:
    """Return the lines of a row with its text, or its JSON object."""
    n_learned = int(row.mask.sum())
    tokens = [reader.text(token_id) for token_id in row.ids.tolist()]
    if arguments.json:
        facts = {
            "tokenizer": reader.tokenizer.name,
            "mask_source": row.mask_source,
            "n_tokens": len(row.ids),
            "n_learned": n_learned,
            "documents": row.documents,
            "notes": rows.notes,
            "text": b"".join(tokens).decode("utf-8", "replace"),
            "ids": row.ids.tolist(),
            "mask": row.mask.tolist(),
        }
        return [json.dumps({**where, **facts})]
    share = n_learned / len(row.ids) if len(row.ids) else 0
    facts_shown = (
        rows.place(number),
        pluralize(len(row.ids), "token"),
        f"{n_learned:,} in the loss ({share:.0%})",
        pluralize(len(row.documents), "document"),
        f"mask from {row.mask_source}",
    )
    lines = [safe(" ".join([f"# {', '.join(facts_shown)}.", *rows.notes]))]
    for document, (start, end) in enumerate(pairwise([*row.documents, len(row.ids)]), 1):
        if document > 1:
            lines.append(f"-- document {document:,}, token #{start:,}")
        some = tokens[start:end], row.mask[start:end].tolist()
        lines += marked_lines(*some, safe, colour=arguments.colored)
    return lines
