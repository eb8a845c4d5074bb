"""Show the tokens of a text: in colour, as a web page, as a picture, or line by line.

output: one of the forms below. Without one of them, colours where a terminal shows them and a line
for each token everywhere else.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tokviz.cli import options
from tokviz.cli.inputs import Source, display_name, for_each_input, read_blocks, read_whole
from tokviz.errors import TokvizError
from tokviz.files import write_file
from tokviz.share import FORMS, writer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz show`."""
    options.add_text_files(parser, "a text to show")
    options.add_tokenizer(parser)
    options.add_split_pattern(parser)
    options.add_specials(parser)
    form = parser.add_mutually_exclusive_group()
    for name, what in FORMS.items():
        form.add_argument(
            f"--{name}", dest="form", action="store_const", const=name, help=f"write {what}"
        )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file")


def run(arguments: argparse.Namespace) -> int:
    """Show each input."""
    from tokviz.share.figure import figure_of

    tokenizer = options.load_tokenizer(arguments)
    is_terminal = sys.stdout.isatty() and not arguments.output and "NO_COLOR" not in os.environ
    sources = options.text_sources(arguments)
    if len(sources) > 1 and arguments.form in ("html", "svg"):
        raise TokvizError(f"--{arguments.form} shows one text: run it once for each")
    write = writer(arguments.form or ("ansi" if is_terminal else "table"))
    lines: list[str] = []

    def show(source: Source) -> None:
        data = read_whole(read_blocks(source), " are too many to show: take a part of them")
        specials = options.SPECIALS[arguments.specials]
        written = write(figure_of(tokenizer, display_name(source), data, specials))
        if arguments.output:
            lines.extend(written)
        else:
            print(*written, sep="\n")

    code = for_each_input(sources, show)
    if arguments.output:
        write_file(Path(arguments.output), "\n".join([*lines, ""]).encode())
    return code
