"""`tokviz chat --write-generation-marks`: add the marks that trainers need to a template."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import islice

from tokviz.chat.conversation import Conversation
from tokviz.chat.generation_marks import SAMPLES, with_generation_marks
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.mask import mask_lines
from tokviz.chat.messages import ConversationError
from tokviz.chat.template_files import load_template
from tokviz.cli import options
from tokviz.cli.output import report
from tokviz.errors import OutputFileError, TokvizError
from tokviz.storage.files import write_file
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize

MOST_ROWS = 1000
"""The most rows of a dataset to check a template with."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--write-generation-marks",
        metavar="TEMPLATE",
        help="add {%% generation %%} marks to a Jinja template, written to -o OUT",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the template with marks, and show the mask that it gives."""
    output = arguments.output
    if output is None:
        raise TokvizError("--write-generation-marks needs -o OUT for the new template")
    if os.path.lexists(output):
        raise OutputFileError(output, "exists: choose another name")
    tokenizer = options.load_tokenizer(arguments)
    template = load_template(arguments.write_generation_marks, tokenizer)
    if not isinstance(template, JinjaTemplate):
        raise TokvizError(f"{template.name} is built in: it has its own mask")
    rows = [*islice(_conversations(arguments.files), MOST_ROWS)] if arguments.files else SAMPLES
    if not rows:
        raise TokvizError("no row can be read, so the template cannot be checked")
    made = with_generation_marks(template, tokenizer, rows)
    write_file(output, made.source.encode())
    kind = "row" if arguments.files else "sample conversation"
    refused = f", {made.n_refused:,} more are refused" if made.n_refused else ""
    print(f"{safe(output)}: the text of {pluralize(made.n_checked, kind)} is unchanged{refused}")
    inferred = pluralize(made.n_same_mask, "mask")
    print(f"{inferred} of {made.n_checked:,} as inferred from the roles; the first:")
    print(*mask_lines(made.example, safe, colour=sys.stdout.isatty()), sep="\n")
    return 0


def _conversations(names: Sequence[str]) -> Iterator[Conversation]:
    from tokviz.chat.dataset import Dataset  # imports NumPy

    for name in names:
        dataset, row = Dataset.open(name), 0
        while dataset.has_row(row):
            try:
                yield dataset.row(row)
            except ConversationError as error:
                report(f"{name}: {dataset.place(row)}: {error}")
            row += 1
