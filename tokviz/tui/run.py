"""Open the app on a file, on piped text or on the sample text."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from tokviz.formats.registry import is_path_of_file
from tokviz.formats.subprocess_loader import load
from tokviz.storage.files import absolute
from tokviz.text.glyphs import safe
from tokviz.workspace.session import (
    SESSION_ENDING,
    Opened,
    OpenPath,
    Request,
    Session,
    UseTokenizer,
    load_remembered,
    opened_bytes,
    read_text,
    sample_text,
)


def run(
    path: str | None = None,
    piped: bytes | None = None,
    tokenizer: str | None = None,
    parse_specials: bool = True,
    first: Request | None = None,
    profile: str = "",
    shade: str = "",
) -> NoReturn:
    """Run the app until the user quits.

    Args:
        path: A file to open, or a folder whose files are counted.
        piped: Bytes from a pipe, shown if there is no file.
        tokenizer: Name of the tokenizer; by default the one used last.
        parse_specials: Whether special-token text is read as special tokens.
        first: The first request to a screen, by default to show the text.
        profile: The profile of the settings to use, empty for none.
        shade: "light" or "dark" version of the last theme; by default the one used last.

    Never returns: the process ends with the app, even if threads are still running.

    Raises:
        TokvizError: If the file cannot be read, the tokenizer is unknown or there is no terminal;
            before the app starts.
    """
    from tokviz.tui.terminal import watcher
    from tokviz.tui.terminal.stdin import reopen_terminal

    session = _session(path, piped, tokenizer, parse_specials, first, profile, shade)
    reopen_terminal()
    watcher.start()
    from tokviz.tui.actions import remap

    remap(session.settings.keys)
    from tokviz.tui.app import TokvizApp
    from tokviz.tui.terminal.lifecycle import driver_class, exit_process, run_app
    from tokviz.tui.textual_private.handler_errors import survive_handler_errors
    from tokviz.workspace.error_log import ErrorLog

    survive_handler_errors()
    app = TokvizApp(session, driver_class=driver_class(), errors=ErrorLog())
    exit_process(run_app(app))


def _session(
    path: str | None,
    piped: bytes | None,
    tokenizer: str | None,
    parse_specials: bool,
    first: Request | None,
    profile: str,
    shade: str,
) -> Session:
    from tokviz.workspace.settings import load_settings

    settings, complaint = load_settings(profile=profile)
    if shade:
        settings = settings._replace(theme=f"{settings.theme.rpartition('-')[0]}-{shade}")
    notes = [complaint] if complaint else []
    if path is not None and path.endswith(SESSION_ENDING):
        from tokviz.workspace.session_file import load_session, read_session, restore

        with _show_progress(f"Opening {path}…"):
            found = load_session(read_session(path), settings)
            _, chosen = found.tokenizer or ("", load_remembered(settings.tokenizer)[0])
        opened = Opened(found.saved.text, notes=(*notes, *found.missing))
        session = Session(opened, chosen, settings, parse_specials=found.saved.parse_specials)
        restore(session, found)
        if tokenizer is not None:
            session.ask(UseTokenizer(tokenizer))
        return session
    with _show_progress(f"Loading {tokenizer or settings.tokenizer}…"):
        if tokenizer is not None:
            chosen = load(tokenizer)
        else:
            chosen, note = load_remembered(settings.tokenizer)
            notes += [note] if note else []
    opened = _opened(path, piped)
    opened = opened._replace(notes=(*notes, *opened.notes))
    source = tokenizer or ""
    if path is not None and os.path.isdir(path):
        first = OpenPath(Path(absolute(path)))
    return Session(
        opened,
        chosen,
        settings,
        parse_specials=parse_specials,
        first=first,
        source=absolute(source) if is_path_of_file(source) else source,
        head_first=first is None,
    )


@contextmanager
def _show_progress(words: str) -> Iterator[None]:
    """Show a message until the first frame, because a large tokenizer takes seconds to load."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()  # it may be closed
    if is_terminal:
        print(safe(words), end="\r", file=sys.stderr, flush=True)
    yield
    if is_terminal:
        print(end="\x1b[K", file=sys.stderr, flush=True)


def _opened(path: str | None, piped: bytes | None) -> Opened:
    if path is not None and not os.path.isdir(path):
        return read_text(Path(path))
    if piped is not None:
        return opened_bytes(piped)
    return Opened(sample_text(), is_sample=True)
