"""Show the tokens of a text: in colour, as a web page, as a picture, or line by line.

With several tokenizers, tokens on which they disagree stand out.

output: one of the forms below. Without one of them, colours where a terminal shows them and a line
for each token everywhere else.
"""

from __future__ import annotations

import argparse
import os
import sys

from tokviz.cli import options
from tokviz.cli.inputs import Source, display_name, for_each_input, read_blocks, read_whole
from tokviz.cli.output import FigureOutput, report_note
from tokviz.cli.text_blocks import composes
from tokviz.text import bytetext


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz show`."""
    options.add_text_files(parser, "a text to show")
    options.add_tokenizers(parser)
    options.add_split_pattern(parser)
    options.add_specials(parser)
    options.add_forms(parser, parser.add_mutually_exclusive_group())


def run(arguments: argparse.Namespace) -> int:
    """Show each input."""
    from tokviz.compare.boundaries import Comparison
    from tokviz.share.figure import comparison_figure, figure_of

    names = arguments.tokenizers or [None]
    tokenizers = [options.load_tokenizer(arguments, name) for name in names]
    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    form = options.asked_form(arguments) or ("ansi" if is_coloured else "table")
    figures = FigureOutput(form, arguments.output)

    def show(source: Source) -> None:
        data = read_whole(read_blocks(source), " are too many to show: take a part of them")
        text = bytetext.from_bytes(data)
        for tokenizer in tokenizers:
            if tokenizer.changes(text):
                report_note(composes(tokenizer))
        name, specials = display_name(source), options.SPECIALS[arguments.specials]
        if len(tokenizers) == 1:
            figures.write(figure_of(tokenizers[0], name, data, specials))
        else:
            comparison = Comparison(text, tokenizers, specials)
            figures.write(comparison_figure(name, comparison))

    code = for_each_input(options.text_sources(arguments), show)
    figures.end(has_failed=code != 0)
    return code
