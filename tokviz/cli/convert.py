"""Save a tokenizer in the format of another library.

TOKENIZER is a name from `tokviz tokenizers`, a file or folder that contains a tokenizer, or
hf:org/name. OUT is a file; with `--format gpt2` it is a folder for vocab.json and merges.txt.

Before anything is written, standard error lists what the format cannot hold. A format that would
change the ids of ordinary text is refused.

exit code: 0 if OUT was written, 2 if not.
"""

from __future__ import annotations

import argparse
import os

from tokviz.cli import options
from tokviz.cli.output import report
from tokviz.errors import OutputFileError
from tokviz.formats.save import FORMATS, save, what_is_lost


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz convert`."""
    parser.add_argument("tokenizer", metavar="TOKENIZER", help="the tokenizer to save")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="the file or folder to write"
    )
    titles = ", ".join(f"{name} ({form.title})" for name, form in FORMATS.items())
    parser.add_argument(
        "--format", required=True, choices=FORMATS, help=f"the format to write: {titles}"
    )
    options.add_split_pattern(parser)
    options.add_flag(parser, "--force", "replace OUT if it exists")


def run(arguments: argparse.Namespace) -> int:
    """Report what the format cannot hold, and save the tokenizer."""
    output: str = arguments.output
    if os.path.lexists(output) and not arguments.force:
        raise OutputFileError(output, "exists: choose another name, or add --force to replace it")
    tokenizer = options.load_tokenizer(arguments, arguments.tokenizer)
    for loss in what_is_lost(tokenizer, arguments.format):
        report(f"lost: {loss}")
    save(tokenizer, output, arguments.format)
    report(f"{output}: {FORMATS[arguments.format].title}, {len(tokenizer.vocab):,} tokens")
    return 0
