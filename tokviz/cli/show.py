"""Show the tokens of a text: in color, as a web page, as a picture, or line by line.

With several tokenizers, tokens on which they disagree are highlighted.

output: one of the forms above. By default, colors on a terminal that supports them, and otherwise
one line per token.
"""

from __future__ import annotations

import argparse
import os
import sys

from tokviz.cli import options
from tokviz.cli.inputs import Inputs, InputSource, display_name, read_whole
from tokviz.cli.output import FigureOutput, report
from tokviz.live.text_blocks import nfc_note
from tokviz.share.figure import comparison_figure, figure_of
from tokviz.text import bytetext


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz show`."""
    options.add_paths(parser, "the texts to show")
    options.add_tokenizers(parser, options.DEFAULT_TOKENIZERS)
    options.add_split_pattern(parser)
    options.add_specials(parser)
    options.add_forms(parser, parser.add_mutually_exclusive_group())


def run(arguments: argparse.Namespace) -> int:
    """Show each input."""
    from tokviz.compare.boundaries import Comparison  # imports NumPy

    tokenizers = options.load_one_or_more(arguments)
    inputs = Inputs(arguments)
    is_colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    form = options.requested_form(arguments) or ("ansi" if is_colored else "table")
    figures = FigureOutput(form, arguments.output)

    def show(source: InputSource) -> None:
        for document in inputs.read(source):
            advice = " are too many to show: use a part of the text"
            show_text(display_name(source), read_whole(document, advice))

    def show_text(name: str, data: bytes) -> None:
        text = bytetext.from_bytes(data)
        for tokenizer in tokenizers:
            if tokenizer.byte_text.changes(text):
                report(nfc_note(tokenizer))
        specials = options.SPECIALS[arguments.specials]
        if len(tokenizers) == 1:
            figures.write(figure_of(tokenizers[0], name, data, specials))
        else:
            figures.write(comparison_figure(name, Comparison(text, tokenizers, specials)))

    inputs.each(show, inputs.sources)
    code = inputs.end()
    figures.end(has_failed=code != 0)
    return code
