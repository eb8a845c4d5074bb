"""Opening the app on a file, on piped text or on the sample text."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tokviz import bytetext
from tokviz.assets import asset_path
from tokviz.errors import UnknownTokenizerError
from tokviz.files import looks_binary, read_file
from tokviz.formats.registry import load
from tokviz.tokenizer import Tokenizer

DEFAULT_TOKENIZER = "cl100k_base"


@dataclass(slots=True)
class Opening:
    """What the app begins with.

    Attributes:
        text: Byte text, until it is taken.
        path: The file it came from, None if from nowhere.
        tokenizer: The tokenizer, whose tables are built when first needed.
        parse_specials: Whether special-token text is read as special tokens.
        notes: Sentences for the user about what was opened.
        is_sample: Whether the text is the sample, which nobody would miss.
    """

    text: str
    tokenizer: Tokenizer
    path: Path | None = None
    parse_specials: bool = True
    notes: tuple[str, ...] = ()
    is_sample: bool = False

    def take_text(self) -> str:
        """Give the text away, so that it is not kept in memory twice."""
        text, self.text = self.text, ""
        return text


def run(
    path: str | None = None,
    piped: bytes | None = None,
    tokenizer: str | None = None,
    parse_specials: bool = True,
) -> NoReturn:
    """Run the app until the user quits.

    Args:
        path: A file to open.
        piped: Bytes that came through a pipe, shown if there is no file.
        tokenizer: Name of the tokenizer; by default the one used last.
        parse_specials: Whether special-token text is read as special tokens.

    Never returns: the process ends with the app, whatever its threads are still doing.

    Raises:
        TokvizError: If the file cannot be read, the tokenizer is unknown or there is no terminal;
            before the app starts.
    """
    # Nothing made from here to the first frame is garbage; looking for some takes a fifth of the
    # start. The app turns it on again.
    gc.disable()
    from tokviz.tui.settings import load_settings
    from tokviz.tui.terminal import watcher
    from tokviz.tui.terminal.stdin import reopen_terminal

    settings, complaint = load_settings()
    notes = [complaint] if complaint else []
    chosen = _tokenizer(tokenizer, settings.tokenizer, notes)
    opening = _opening(path, piped, chosen, parse_specials, notes)
    reopen_terminal()
    watcher.start()

    from tokviz.tui.app import TokvizApp
    from tokviz.tui.terminal.lifecycle import driver_class, exit_process, run_app

    code = run_app(TokvizApp(opening, settings, driver_class=driver_class()))
    exit_process(code)


def _tokenizer(asked: str | None, remembered: str, notes: list[str]) -> Tokenizer:
    if asked is not None:
        return load(asked)
    try:
        return load(remembered)
    except UnknownTokenizerError as error:
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


def sample_text() -> str:
    """Read the sample text that ships with tokviz."""
    return asset_path("samples/welcome.txt").read_text("utf-8")


def notes_about(data: bytes, text: str) -> list[str]:
    """Say what a user should know about bytes that were opened."""
    if looks_binary(data):
        return ["This looks like a binary file. Its bytes are shown and kept as they are."]
    n_raw = bytetext.n_raw_bytes(text)
    if n_raw:
        subject = "1 byte is" if n_raw == 1 else f"{n_raw:,} bytes are"
        return [f"{subject} not valid UTF-8: shown as ‹hex› and kept."]
    return []
