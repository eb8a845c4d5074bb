"""`tokviz chat --export`: a dataset as token ids with their mask."""

from __future__ import annotations

import argparse
import os
from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.template_files import load_template
from tokviz.chat.templates import ChatTemplate
from tokviz.cli import chat_variables, options, workers
from tokviz.cli.inputs import STDIN, display_name, open_dataset
from tokviz.cli.output import ERROR, report
from tokviz.cli.progress import StatusLine
from tokviz.errors import OutputFileError, TokvizError
from tokviz.storage.files import is_pipe
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokviz.chat.dataset import Dataset
    from tokviz.chat.export import RowEncoder, Rows

_ENDINGS = ".jsonl, .parquet, .npz or .bin"
_ROWS_PER_TASK = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the export."""
    parser.add_argument(
        "--export", metavar="OUT", help=f"write the tokens of all rows to OUT: {_ENDINGS}"
    )
    options.add_flag(parser, "--reasons", "export the reason of each token's mask too")


def run(
    arguments: argparse.Namespace,
    names: list[str],
    tokenizer: Tokenizer,
    template: ChatTemplate | JinjaTemplate,
) -> int:
    """Export a file.

    Returns:
        The exit code: 0, or 2 if a row cannot be rendered.

    Raises:
        TokvizError: If the arguments do not fit, or the file cannot be read or written.
    """
    from tokviz.chat.export import EXPORT_FORMATS, write_export  # imports NumPy

    path: str = arguments.export
    if os.path.splitext(path)[1].lower() not in EXPORT_FORMATS:
        raise OutputFileError(path, f"its extension selects the format: use {_ENDINGS}")
    keys = ("mask", "json", "lint", "row", "form", "output", "stability", "matrix", "trainers")
    if any(getattr(arguments, key) for key in keys) or len(names) != 1:
        raise TokvizError("--export writes all rows of one file: leave out other forms and files")
    options.refuse_input(arguments, path)
    [name] = names
    dataset = open_dataset(name)
    dataset.index_all()
    encoder = _encoder(arguments, tokenizer, template)
    with StatusLine() as status, workers.submitter(arguments) as submit:

        def progress(n_done: int) -> None:
            if status.is_due:
                status.draw(f"{n_done:,} of {pluralize(dataset.n_rows, 'row')}")

        spans = range(0, dataset.n_rows, _ROWS_PER_TASK)
        chunks: Iterable[Rows] = (encoder.encode(dataset, it, _ROWS_PER_TASK) for it in spans)
        if workers.uses_cluster(arguments) and name != STDIN and not is_pipe(name):
            results = deque(submit(partial(_encode, arguments, name), spans))
            chunks = (results.popleft()() for _ in spans)  # keeps no written rows in memory
        about = write_export(
            path, chunks, encoder.about(), with_reasons=arguments.reasons, progress=progress
        )
    if about["missing_specials"]:
        missing = ", ".join(about["missing_specials"])
        report(f"{tokenizer.name} lacks special tokens of the template: {missing}")
    for failure in about["failed"]:
        report(f"{display_name(name)}: {failure['error']}")
    facts = [
        pluralize(about["n_rows"], "row"),
        pluralize(about["n_tokens"], "token"),
        f"{about['n_learned']:,} in the loss",
        *(f"mask from {source}" for source in about["mask_sources"]),
        f"{pluralize(about['n_cut'], 'row')} cut off at {arguments.max_tokens:,} tokens",
        f"{pluralize(len(about['failed']), 'row')} failed and missing",
    ]
    print(f"{path}: {', '.join(facts[:3] + [it for it in facts[3:] if not it.startswith('0 ')])}")
    return ERROR if about["failed"] else 0


def _encode(arguments: argparse.Namespace, name: str, first: int) -> Rows:
    """Encode rows in a worker, which loads the tokenizer and the template once."""
    key = name, options.tokenizer_name(arguments), arguments.template
    if key not in _loaded:
        tokenizer = workers.cached_tokenizer(key[1], arguments.split_pattern)
        template = load_template(arguments.template, tokenizer)
        _loaded[key] = _encoder(arguments, tokenizer, template), open_dataset(name)
    encoder, dataset = _loaded[key]
    return encoder.encode(dataset, first, _ROWS_PER_TASK)


_loaded: dict[tuple[str, str, str | None], tuple[RowEncoder, Dataset]] = {}


def _encoder(
    arguments: argparse.Namespace, tokenizer: Tokenizer, template: ChatTemplate | JinjaTemplate
) -> RowEncoder:
    from tokviz.chat.export import RowEncoder  # imports NumPy

    variables, specials = arguments.template_variables, chat_variables.specials_of(arguments)
    return RowEncoder(tokenizer, template, arguments.max_tokens, variables, specials)
