"""The command `tokviz`: picks the command and turns every ending into an exit code.

Exit codes: 0 all went well, 1 an input or an output failed, 2 the command line makes no sense,
130 interrupted, 141 the reader of a pipe went away.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from typing import TextIO

from tokviz.cli.opening import only_opens, open_app
from tokviz.cli.output import USAGE_ERROR, report
from tokviz.errors import TokvizError, UnknownTokenizerError, missing_package
from tokviz.formats.budget import before_large

_FAILED = 1
_INTERRUPTED = 130
_PIPE_CLOSED = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tokviz` with the given arguments (the process's own by default).

    Returns:
        The exit code.
    """
    try:
        if sys.stdout is None:
            raise TokvizError("standard output is closed")
        _survive_any_encoding(sys.stdout)
        code = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _abandon_stdout()
        return _PIPE_CLOSED
    except UnknownTokenizerError as error:
        from tokviz.training.run_library import list_runs, with_runs

        report(with_runs(error, list_runs()))
        return USAGE_ERROR
    except TokvizError as error:
        report(error)
        return _FAILED
    except ModuleNotFoundError as error:
        report(missing_package(str(error.name)))
        return _FAILED
    except OSError as error:
        _abandon_stdout()
        report(f"cannot write the output: {error.strerror or error}")
        return _FAILED


def _run(arguments: Sequence[str]) -> int:
    # Nothing that is imported is garbage, and looking for some takes a tenth of the start.
    gc.disable()
    try:
        with _warnings_at_the_end(), before_large(report):
            return open_app(*arguments) if only_opens(arguments) else _run_command(arguments)
    except SystemExit as stop:  # argparse, after --help and mistakes
        return stop.code if isinstance(stop.code, int) else _FAILED


def _run_command(arguments: Sequence[str]) -> int:
    from tokviz.cli.command import APP, COMMANDS, command_parser, load_command, unknown_command

    is_command = bool(arguments) and arguments[0] in COMMANDS
    command = load_command(arguments[0] if is_command else APP)
    parser = command_parser(command)
    if not is_command and (unknown := unknown_command(arguments)):
        parser.error(unknown)
    parsed = parser.read(arguments[is_command:])
    if is_command:
        gc.enable()  # the app does it itself, after its first frame
    return command.run(parsed)


@contextlib.contextmanager
def _warnings_at_the_end() -> Iterator[None]:
    """Keep what the libraries warn of until nothing is drawn on the terminal any more."""
    with warnings.catch_warnings(record=True) as told:
        try:
            yield
        finally:
            for warning in told:
                report(warning.message)


def _survive_any_encoding(stream: TextIO) -> None:
    """Let a character that the locale cannot write be escaped instead of ending in a traceback."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def _abandon_stdout() -> None:
    """Keep the interpreter from flushing, at its end, what nobody can take."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
