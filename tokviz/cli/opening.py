"""Opening the app, without the slow import of the argument parser."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tokviz.errors import InputFileError
from tokviz.storage.files import is_pipe

TOKENIZER_VARIABLE = "TOKVIZ_TOKENIZER"


def is_file_only(arguments: Sequence[str]) -> bool:
    """Return whether a command line can only be empty or a file name."""
    if len(arguments) > 1 or TOKENIZER_VARIABLE in os.environ:
        return False
    return not any(word.startswith("-") or may_be_command(word) for word in arguments)


def may_be_command(word: str) -> bool:
    """Return whether a word may be meant as a command: it has only letters and dashes."""
    return not word.startswith("-") and word.replace("-", "").isalpha()


def open_app(
    path: str | None = None,
    *,
    tokenizer: str | None = None,
    parse_specials: bool = True,
    profile: str = "",
) -> int:
    """Open the app on a file, on piped text, or on a sample.

    Args:
        path: The file; None for piped text or the sample.
        tokenizer: A name or path as for `tokviz.load`; by default the last one used.
        parse_specials: Whether text like <|endoftext|> is read as the special token.
        profile: The profile of the settings to use; empty for none.

    Returns:
        The exit code.

    Raises:
        TokvizError: If the file cannot be read or the tokenizer is unknown.
    """
    # The other commands do not need the app.
    from tokviz.tui.run import run
    from tokviz.tui.terminal.stdin import read_piped_stdin

    if path == "":
        raise InputFileError(path, "there is no such file")
    piped = None
    if path is None:
        piped = read_piped_stdin()
    elif is_pipe(path):
        from tokviz.cli.inputs import read_blocks, read_whole

        piped, path = read_whole(read_blocks(path), " are too many for the app"), None
    return run(
        path=path,
        piped=piped,
        tokenizer=tokenizer,
        parse_specials=parse_specials,
        profile=profile,
    )
