"""Opening the app on a file, on piped text or on the sample text."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import NoReturn

from tokviz import bytetext
from tokviz.errors import TokvizError
from tokviz.files import read_file
from tokviz.formats.registry import load
from tokviz.opening import Opening, notes_about, sample_text
from tokviz.tokenizer import Tokenizer

DEFAULT_TOKENIZER = "cl100k_base"

LARGE_TEXT = 100_000
"""A text of more characters is worth building the tokenizer's tables before the first frame."""


def run(
    path: str | None = None,
    piped: bytes | None = None,
    tokenizer: str | None = None,
    parse_specials: bool = True,
    screen: str = "tokens",
    request: object = None,
) -> NoReturn:
    """Run the app until the user quits.

    Args:
        path: A file to open.
        piped: Bytes that came through a pipe, shown if there is no file.
        tokenizer: Name of the tokenizer; by default the one used last.
        parse_specials: Whether special-token text is read as special tokens.
        screen: The id of the screen to begin on.
        request: What that screen is asked to show first, see `Opening.request`.

    Never returns: the process ends with the app, whatever its threads are still doing.

    Raises:
        TokvizError: If the file cannot be read, the tokenizer is unknown or there is no terminal;
            before the app starts.
    """
    from tokviz.settings import load_settings
    from tokviz.tui.terminal import watcher
    from tokviz.tui.terminal.stdin import reopen_terminal

    settings, complaint = load_settings()
    notes = [complaint] if complaint else []
    chosen = _tokenizer(tokenizer, settings.tokenizer, notes)
    opening = _opening(path, piped, chosen, parse_specials, notes)
    opening.screen, opening.request = screen, request
    reopen_terminal()
    watcher.start()
    if len(opening.text) > LARGE_TEXT:
        # Its tokens need the tables soon. Building them stalls whoever types meanwhile, so it had
        # better happen before there is something to type into.
        Thread(target=chosen.prepare, name="tokenizer tables", daemon=True).start()

    from tokviz.tui.app import TokvizApp
    from tokviz.tui.terminal.lifecycle import driver_class, exit_process, run_app

    code = run_app(TokvizApp(opening, settings, driver_class=driver_class()))
    exit_process(code)


def _tokenizer(asked: str | None, remembered: str, notes: list[str]) -> Tokenizer:
    if asked is not None:
        return load(asked)
    try:
        return load(remembered)
    except TokvizError as error:
        notes.append(f"{error}. {DEFAULT_TOKENIZER} is used instead.")
        return load(DEFAULT_TOKENIZER)


def _opening(
    path: str | None,
    piped: bytes | None,
    tokenizer: Tokenizer,
    parse_specials: bool,
    notes: list[str],
) -> Opening:
    if path is not None:
        data = read_file(path)
        text = bytetext.from_bytes(data)
        notes.extend(notes_about(data, text))
        return Opening(text, tokenizer, Path(path), parse_specials, tuple(notes))
    if piped is not None:
        text = bytetext.from_bytes(piped)
        notes.extend(notes_about(piped, text))
        return Opening(text, tokenizer, None, parse_specials, tuple(notes))
    return Opening(sample_text(), tokenizer, None, parse_specials, tuple(notes), is_sample=True)
