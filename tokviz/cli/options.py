"""Options that several commands take."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tokviz.cli.inputs import STDIN, Given, Source
from tokviz.cli.opening import TOKENIZER_VARIABLE
from tokviz.cli.output import report
from tokviz.errors import OutputFileError, TokvizError, UnknownTokenizerError
from tokviz.share import ENDINGS, FORMS

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

DEFAULT_TOKENIZER = "cl100k_base"


def add_files(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the FILE arguments; `what` says in a few words what a file holds."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help=f"{what}; `-` or none is standard input",
    )


def add_text_files(parser: argparse.ArgumentParser, what: str) -> None:
    """Add FILE and `--text`; `what` says in a few words what a file holds."""
    add_files(parser, what)
    parser.add_argument(
        "--text", metavar="TEXT", action=_Once, help="the text itself, before that of any FILE"
    )


def add_texts(parser: argparse.ArgumentParser, what: str) -> None:
    """Add all that commands take which turn texts into tokens."""
    add_text_files(parser, what)
    add_tokenizer(parser)
    add_split_pattern(parser)
    add_specials(parser, _OWN_WAY, SPECIALS)
    add_json(parser)


class _Once(argparse.Action):
    """Takes an option that only makes sense once: the last one would win in silence."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Take the value.

        Raises:
            SystemExit: If there is one already.
        """
        if getattr(namespace, self.dest, None) is not None:
            several = "; `tokviz compare` takes several" if self.dest == "tokenizer" else ""
            parser.error(f"{option_string} is given twice{several}")
        setattr(namespace, self.dest, values)


def add_tokenizers(parser: argparse.ArgumentParser) -> None:
    """Add `-t` for commands that take several tokenizers."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        metavar="NAME",
        action="append",
        dest="tokenizers",
        help="as for `tokviz encode`; once for each tokenizer",
    )


def load_tokenizers(arguments: argparse.Namespace) -> list[Tokenizer]:
    """Load every tokenizer that was asked for, GPT-2's and GPT-4's if none was."""
    return [load_named(place_of(name)) for name in arguments.tokenizers or ("gpt2", "gpt-4")]


def add_tokenizer(parser: argparse.ArgumentParser, *, otherwise: str = DEFAULT_TOKENIZER) -> None:
    """Add `-t`; `otherwise` names what is used where neither it nor the environment says."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        metavar="NAME",
        action=_Once,
        help="a name from `tokviz tokenizers`, a file or folder that holds a tokenizer, or "
        f"hf:org/name (default: ${TOKENIZER_VARIABLE}, else {otherwise})",
    )


def add_split_pattern(parser: argparse.ArgumentParser) -> None:
    """Add `--split-pattern`."""
    parser.add_argument(
        "--split-pattern",
        metavar="P",
        help="a named split pattern or a regex, for a tokenizer file that holds none; it is "
        "guessed otherwise",
    )


SPECIALS: dict[str, bool | Literal["huggingface"]] = {
    "parsed": True,
    "text": False,
    "huggingface": "huggingface",
}
"""What `--specials` may say → what is recognised, as `Tokenizer.encode_byte_text` takes it."""

_SPECIALS = "text like <|endoftext|>: `parsed` as the special token (default), or ordinary `text`"
_OWN_WAY = (
    f"{_SPECIALS}; `huggingface` is text but for added tokens that are not called special, such as "
    "Qwen3's <think>, as that library has it"
)


def add_flag(options: argparse._ActionsContainer, name: str, help_text: str) -> None:
    """Add an option that is given or not."""
    options.add_argument(name, action="store_true", help=help_text)


def add_number(
    options: argparse._ActionsContainer, name: str, help_text: str, default: int | None = None
) -> None:
    """Add an option that takes a whole number above 0."""
    if default is not None:
        help_text += " (default: %(default)s)"
    options.add_argument(name, type=positive, default=default, metavar="N", help=help_text)


def add_specials(
    parser: argparse.ArgumentParser,
    help_text: str = _SPECIALS,
    choices: Iterable[str] = ("parsed", "text"),
) -> None:
    """Add `--specials`."""
    parser.add_argument("--specials", choices=choices, default="parsed", help=help_text)


def add_most(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--most`; `what` says what is listed."""
    add_number(parser, "--most", what, default=10)


def more_listed(n_more: int) -> str:
    """Say that a list goes on where it ends by `--most`."""
    return f"… and {n_more:,} more; --most says how many are listed"


def add_forms(parser: argparse.ArgumentParser, form: argparse._ActionsContainer) -> None:
    """Add an option for each form that a figure has, to others of a group, and `-o`."""
    for name, what in FORMS.items():
        if f"--{name}" not in parser._option_string_actions:
            form.add_argument(
                f"--{name}", dest="form", action="store_const", const=name, help=f"write {what}"
            )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write to this file, in the form its name ends in"
    )


def asked_form(arguments: argparse.Namespace) -> str | None:
    """The form that was asked for, by its option or by the end of the file's name.

    Raises:
        TokvizError: If something else is to be written to that file, it has no name, or its name
            ends in another form.
    """
    output: str | None = arguments.output
    for other in ("json", "markdown", "animate"):
        if output is not None and getattr(arguments, other, None):
            where = "its own file" if other == "animate" else "standard output"
            raise TokvizError(f"--{other} writes to {where}: leave out -o")
    refuse_input(arguments, output)
    form: str | None = arguments.form
    if form or output is None:
        return form
    ending = Path(output).suffix.lower()
    if ending and ending[1:] not in ENDINGS:
        known = ", ".join(f".{name}" for name in ENDINGS)
        raise TokvizError(f"{output}: no form ends in {ending}: there are {known}, and options")
    return ENDINGS.get(ending[1:], "table")


def refuse_input(arguments: argparse.Namespace, output: str | None) -> None:
    """Make sure that writing the output replaces nothing that the command reads.

    Raises:
        OutputFileError: If the output has no name, or a file that is also an input.
    """
    if output == "":
        raise OutputFileError(output, "a file needs a name")
    for values in ("/dev/stdin", *(getattr(arguments, name, None) or () for name in _INPUTS)):
        for value in [values] if isinstance(values, str) else values:
            with suppress(OSError):
                path = value.removeprefix("@")
                if output and os.path.samefile(path, output) and os.path.isfile(path):
                    raise OutputFileError(output, "is also an input: choose another file")


_INPUTS = ("files", "source", "tokenizer", "tokenizers", "template", "text", "diff")
"""The arguments that may name a file to read."""


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    add_flag(parser, "--json", "print one JSON object per input, one a line")


def positive(text: str) -> int:
    """Read a whole number from 1 on.

    Raises:
        argparse.ArgumentTypeError: If it is none.
    """
    if not text.strip("0"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return whole(text, "above 0")


def whole(text: str, which: str = "from 0 up") -> int:
    """Read a whole number; `which` says in words what may be given.

    Raises:
        argparse.ArgumentTypeError: If it is none.
    """
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {which}")
    if len(text) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"a number of {len(text):,} digits is too large")
    return int(text)


_MOST_DIGITS = 40


def asked_tokenizer(arguments: argparse.Namespace) -> str | None:
    """The tokenizer that the user asked for, by `-t` or by the environment, as `load` takes it.

    Raises:
        UnknownTokenizerError: If `-t` has no name.
    """
    asked = getattr(arguments, "tokenizer", None)
    if asked == "":  # of a variable that is not set
        raise UnknownTokenizerError(asked)
    asked = asked or os.environ.get(TOKENIZER_VARIABLE)
    return place_of(asked) if asked else None


def tokenizer_name(arguments: argparse.Namespace) -> str:
    """The tokenizer that the user asked for, or the default."""
    return asked_tokenizer(arguments) or DEFAULT_TOKENIZER


def place_of(name: str) -> str:
    """Give what `tokviz.load` takes for a name: the folder, if it is that of a training.

    Somebody who looks on hears of an address on the Hub, which may keep them waiting.
    """
    from tokviz.formats.registry import HUB_PREFIX, is_builtin

    if is_builtin(name):
        return name
    if name.startswith(HUB_PREFIX):
        if sys.stderr is not None and sys.stderr.isatty():
            report(f"asking the Hugging Face Hub for {name.removeprefix(HUB_PREFIX)}…")
        return name
    from tokviz.training import run_library

    return run_library.place_of(name)


def input_names(files: Sequence[str]) -> list[str]:
    """The inputs to read: standard input, as `-`, where no file is given; the files of a URL."""
    from tokviz.training.corpus.storage import is_url, urls_of

    found = [urls_of(file) if is_url(file) else [file] for file in files]
    return [*chain.from_iterable(found)] or [STDIN]


def text_sources(arguments: argparse.Namespace) -> list[Source]:
    """The inputs to read: the text itself, then the files; standard input if neither is given."""
    if arguments.text is None:
        return [*input_names(arguments.files)]
    given = Given("--text", os.fsencode(arguments.text))
    return [given, *(input_names(arguments.files) if arguments.files else ())]


def load_tokenizer(arguments: argparse.Namespace, name: str | None = None) -> Tokenizer:
    """Load the tokenizer that was asked for, or another by its name.

    One from a file or folder gets its path for a name, so that whoever reads the name in the output
    can load it again.
    """
    asked = tokenizer_name(arguments) if name is None else place_of(name)
    return load_named(asked, arguments.split_pattern, "; --split-pattern says another")


def load_named(asked: str, split_pattern: str | None = None, advice: str = "") -> Tokenizer:
    """Load a tokenizer by what `load` takes, and say what there is to know about it.

    Args:
        asked: What to load.
        split_pattern: Its split pattern, if that is said.
        advice: What to do, in words, where the split pattern is a guess.
    """
    from tokviz.formats.registry import is_builtin
    from tokviz.formats.subprocess_loader import load

    tokenizer = load(asked, split_pattern=split_pattern)
    if not is_builtin(asked):
        tokenizer.name = asked
    if tokenizer.lossy and not tokenizer.nfc:
        report(f"note: {asked} normalizes text: decoding its ids may give a different text")
    note_doubt(tokenizer, advice)
    return tokenizer


def note_doubt(tokenizer: Tokenizer, advice: str = "") -> None:
    """Say that the split pattern is a guess, where it is one, and what to do."""
    if tokenizer.pattern_doubt:
        report(f"note: {tokenizer.name}: {tokenizer.pattern_doubt}{advice}")
