"""Entry point of `tokviz`: runs a command and returns its exit code.

`tokviz.cli.output` defines the exit codes.
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

from tokviz.cli.opening import is_file_only, open_app
from tokviz.cli.output import ERROR, INTERRUPTED, PIPE_CLOSED, report
from tokviz.errors import TokvizError, UnknownTokenizerError, missing_package
from tokviz.formats.budget import before_large


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tokviz` with the given arguments, or those of the process.

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
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_stdout()
        return PIPE_CLOSED
    except UnknownTokenizerError as error:
        # Only this error needs the list of trainings.
        from tokviz.training.run_library import list_runs, with_runs

        report(with_runs(error, list_runs()))
        return ERROR
    except TokvizError as error:
        report(error)
        return ERROR
    except ModuleNotFoundError as error:
        report(missing_package(str(error.name)))
        return ERROR
    except OSError as error:
        _abandon_stdout()
        report(f"cannot write the output: {error.strerror or error}")
        return ERROR


def _run(arguments: Sequence[str]) -> int:
    # Imports create no garbage, and the collector would take a tenth of the startup time.
    gc.disable()
    try:
        with _deferred_warnings(), before_large(report):
            return open_app(*arguments) if is_file_only(arguments) else _run_command(arguments)
    except SystemExit as stop:  # argparse, after --help and mistakes
        return stop.code if isinstance(stop.code, int) else ERROR


def _run_command(arguments: Sequence[str]) -> int:
    # Opening the app does not need the argument parser.
    from tokviz.cli.command import APP, COMMANDS, command_parser, load_command, unknown_command

    if arguments[0:1] == [APP] and len(arguments) > 1 and not os.path.exists(APP):
        arguments = arguments[1:]  # `tokviz app FILE`, for people who expect a command
    is_command = bool(arguments) and arguments[0] in COMMANDS
    command = load_command(arguments[0] if is_command else APP)
    parser = command_parser(command)
    if not is_command and (unknown := unknown_command(arguments)):
        parser.error(unknown)
    parsed = parser.read(arguments[is_command:])
    if is_command:
        gc.enable()  # the app enables it after its first frame
    return command.run(parsed)


@contextlib.contextmanager
def _deferred_warnings() -> Iterator[None]:
    """Collect the warnings of libraries and report them when nothing is drawn any more."""
    with warnings.catch_warnings(record=True) as captured:
        try:
            yield
        finally:
            for warning in captured:
                report(warning.message)


def _survive_any_encoding(stream: TextIO) -> None:
    """Escape characters that the encoding of the locale lacks, instead of failing."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def _abandon_stdout() -> None:
    """Replace standard output, because flushing it when the interpreter exits would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
