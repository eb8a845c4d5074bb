"""Options shared by several commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from tokviz.cli.inputs import STDIN
from tokviz.cli.opening import TOKENIZER_VARIABLE
from tokviz.cli.output import report
from tokviz.errors import OutputFileError, TokvizError, UnknownTokenizerError
from tokviz.formats.registry import HUB_PREFIX, is_builtin
from tokviz.formats.subprocess_loader import load
from tokviz.share import ENDINGS, FORMS
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.corpus.storage import is_url, urls_of

DEFAULT_TOKENIZER = "cl100k_base"
DEFAULT_TOKENIZERS = f"${TOKENIZER_VARIABLE}, else {DEFAULT_TOKENIZER}"


def add_files(parser: argparse.ArgumentParser, content: str) -> None:
    """Add the FILE arguments; `content` names the content of a file in a few words."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help=f"{content}; `-` or no FILE is standard input",
    )


def add_paths(parser: argparse.ArgumentParser, content: str, *, has_text: bool = True) -> None:
    """Add the arguments of `Inputs`; `content` names the content of a file in a few words."""
    help_text = f"{content}: a file, a folder, a glob or a URL; `-` or no PATH is standard input"
    parser.add_argument("files", nargs="*", metavar="PATH", help=help_text)
    if has_text:
        help_text = "the text to process, before any file"
        parser.add_argument("--text", metavar="TEXT", action=_Once, help=help_text)
    group = parser.add_argument_group("files")
    help_text = "read more paths from FILE, one per line; or from `-`"
    group.add_argument("--files-from", metavar="FILE", help=help_text)
    help_text = "the paths of --files-from end with a NUL byte"
    group.add_argument("-0", "--null", action="store_true", help=help_text)
    help_text = "read binary files, and files of folders that are hidden or in .gitignore"
    add_flag(group, "--all", help_text)
    add_exclude(group)
    help_text = "read the documents in this field of JSON lines or column of tables"
    group.add_argument("--field", metavar="NAME", help=f"{help_text}; by default, .jsonl is text")


def add_exclude(options: argparse._ActionsContainer) -> None:
    """Add `--exclude`."""
    options.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="FILE",
        help="leave out a file, given by its path, the end of its path, or a pattern like "
        "'*.min.js'; repeat it for several",
    )


def add_encoding(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that encode texts, except the tokenizer."""
    add_split_pattern(parser)
    add_specials(parser, _SPECIALS_WITH_HUGGINGFACE, SPECIALS)
    add_json(parser)


class _Once(argparse.Action):
    """Action that refuses an option given twice, because the last value would silently win."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Store the value.

        Raises:
            SystemExit: If the option already has a value.
        """
        if getattr(namespace, self.dest, None) is not None:
            several = "; `tokviz compare` takes several" if self.dest == "tokenizer" else ""
            parser.error(f"{option_string} is given twice{several}")
        setattr(namespace, self.dest, values)


def add_tokenizers(parser: argparse.ArgumentParser, default: str = "gpt2 and gpt-4") -> None:
    """Add `-t`, which may be repeated; `default` describes the tokenizers used without it."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        metavar="NAME",
        action="append",
        dest="tokenizers",
        help=f"as for `tokviz encode`; repeat it for several tokenizers (default: {default})",
    )


def load_tokenizers(arguments: argparse.Namespace) -> list[Tokenizer]:
    """Load the tokenizers given by `-t`; by default those of GPT-2 and GPT-4."""
    return [
        load_named(resolve_tokenizer(name)) for name in arguments.tokenizers or ("gpt2", "gpt-4")
    ]


def add_tokenizer(parser: argparse.ArgumentParser, *, default: str = DEFAULT_TOKENIZER) -> None:
    """Add `-t`; `default` describes the tokenizer used without it and without the variable."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        metavar="NAME",
        action=_Once,
        help="a name from `tokviz tokenizers`, a file or folder that contains a tokenizer, or "
        f"hf:org/name (default: ${TOKENIZER_VARIABLE}, else {default})",
    )


def add_split_pattern(parser: argparse.ArgumentParser) -> None:
    """Add `--split-pattern`."""
    parser.add_argument(
        "--split-pattern",
        metavar="P",
        help="a named split pattern or a regex, if the tokenizer file has none (default: guess it)",
    )


SPECIALS: dict[str, bool | Literal["huggingface"]] = {
    "parsed": True,
    "text": False,
    "huggingface": "huggingface",
}
"""Value of `--specials` → special tokens to recognize, as for `Tokenizer.byte_text.encode`."""

_SPECIALS = "read text like <|endoftext|> as the special token (`parsed`, the default) or as `text`"
_SPECIALS_WITH_HUGGINGFACE = (
    f"{_SPECIALS}; `huggingface` recognizes only added tokens that are not special, such as "
    "Qwen3's <think>, like transformers with split_special_tokens"
)


def add_flag(options: argparse._ActionsContainer, name: str, help_text: str) -> None:
    """Add an option without a value."""
    options.add_argument(name, action="store_true", help=help_text)


def add_number(
    options: argparse._ActionsContainer, name: str, help_text: str, default: int | None = None
) -> None:
    """Add an option whose value is a whole number above 0."""
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


def add_most(parser: argparse.ArgumentParser, items: str) -> None:
    """Add `--most`; `items` names the items of the list."""
    add_number(parser, "--most", f"{items} to list", default=10)


def more_listed(n_more: int) -> str:
    """Return the last line of a list that `--most` cuts off."""
    return f"… and {n_more:,} more; use --most to list more"


def add_forms(parser: argparse.ArgumentParser, form: argparse._ActionsContainer) -> None:
    """Add an option for each form of a figure to a group, and `-o`."""
    for name, description in FORMS.items():
        if f"--{name}" not in parser._option_string_actions:
            form.add_argument(
                f"--{name}",
                dest="form",
                action="store_const",
                const=name,
                help=f"write {description}",
            )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write to this file; its extension selects the form"
    )


def requested_form(arguments: argparse.Namespace) -> str | None:
    """Return the form requested by an option or by the extension of the output file.

    Raises:
        TokvizError: If `-o` does not fit another option, is empty, or has an unknown extension.
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
        raise TokvizError(f"{output}: unknown extension {ending}: use {known}, or a form option")
    return ENDINGS.get(ending[1:], "table")


def refuse_input(arguments: argparse.Namespace, output: str | None) -> None:
    """Check that the output file is not an input of the command.

    Raises:
        OutputFileError: If it is one, or if its name is empty.
    """
    if output == "":
        raise OutputFileError(output, "the file name is empty")
    for values in ("/dev/stdin", *(getattr(arguments, name, None) or () for name in _INPUTS)):
        for value in [values] if isinstance(values, str) else values:
            with suppress(OSError):
                path = value.removeprefix("@")
                if output and os.path.samefile(path, output) and os.path.isfile(path):
                    raise OutputFileError(output, "is also an input: choose another file")


_INPUTS = ("files", "source", "tokenizer", "tokenizers", "template", "text", "diff")
"""Arguments that may name a file to read."""


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    add_flag(parser, "--json", "print one JSON object per input, one per line")


def positive(text: str) -> int:
    """Parse a whole number above 0.

    Raises:
        argparse.ArgumentTypeError: If it is not one.
    """
    if not text.strip("0"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return whole(text, "above 0")


def whole(text: str, allowed: str = "of 0 or more") -> int:
    """Parse a whole number of 0 or more; `allowed` describes the range in the error message.

    Raises:
        argparse.ArgumentTypeError: If it is not one.
    """
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {allowed}")
    if len(text) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"a number of {len(text):,} digits is too large")
    return int(text)


_MOST_DIGITS = 40


def requested_tokenizer(arguments: argparse.Namespace) -> str | None:
    """Return the tokenizer given by `-t` or by the environment, as `load` takes it.

    Raises:
        UnknownTokenizerError: If the value of `-t` is empty.
    """
    name = getattr(arguments, "tokenizer", None)
    if name == "":  # from a variable that is not set
        raise UnknownTokenizerError(name)
    name = name or os.environ.get(TOKENIZER_VARIABLE)
    return resolve_tokenizer(name) if name else None


def tokenizer_name(arguments: argparse.Namespace) -> str:
    """Return the requested tokenizer, or the default."""
    return requested_tokenizer(arguments) or DEFAULT_TOKENIZER


def resolve_tokenizer(name: str) -> str:
    """Return the name, path or folder to load a tokenizer from; a training's name is its folder.

    On a terminal, report that the Hub is contacted, because this can take a while.
    """
    if is_builtin(name):
        return name
    if name.startswith(HUB_PREFIX):
        if sys.stderr is not None and sys.stderr.isatty():
            report(f"loading {name.removeprefix(HUB_PREFIX)} from the Hugging Face Hub…")
        return name
    from tokviz.training import run_library  # dataclasses are slow to import

    return run_library.place_of(name)


def input_names(files: Sequence[str]) -> list[str]:
    """Return the inputs to read, with patterns in URLs expanded; `-` if there is no file."""
    names = [urls_of(file) if is_url(file) else [file] for file in files]
    return [*chain.from_iterable(names)] or [STDIN]


def load_one_or_more(arguments: argparse.Namespace) -> list[Tokenizer]:
    """Load the tokenizers given by `-t`; by default the one of `load_tokenizer`."""
    if not arguments.tokenizers:
        return [load_tokenizer(arguments)]
    if "" in arguments.tokenizers:  # from a variable that is not set
        raise UnknownTokenizerError("")
    return [load_tokenizer(arguments, name) for name in dict.fromkeys(arguments.tokenizers)]


def load_tokenizer(arguments: argparse.Namespace, name: str | None = None) -> Tokenizer:
    """Load the requested tokenizer, or another one by its name."""
    source = tokenizer_name(arguments) if name is None else resolve_tokenizer(name)
    return load_named(source, arguments.split_pattern, "; set another with --split-pattern")


def load_named(source: str, split_pattern: str | None = None, advice: str = "") -> Tokenizer:
    """Load a tokenizer and report what users of its ids should know.

    Args:
        source: A name or path as for `load`. The tokenizer gets a path as its name, so that the
            name in the output can be used to load it again.
        split_pattern: Its split pattern, None for the one of the file.
        advice: Appended to the note that the split pattern is a guess.
    """
    tokenizer = load(source, split_pattern=split_pattern)
    if not is_builtin(source):
        tokenizer.name = source
    if tokenizer.lossy and not tokenizer.normalizer:
        report(f"note: {source} normalizes text: decoding its ids may give a different text")
    warn_guessed_pattern(tokenizer, advice)
    return tokenizer


def warn_guessed_pattern(tokenizer: Tokenizer, advice: str = "") -> None:
    """Report that the split pattern is a guess, if it is one."""
    if tokenizer.pattern_doubt:
        report(f"note: {tokenizer.name}: {tokenizer.pattern_doubt}{advice}")
