"""Arguments that `tokviz [FILE]` passes to the app."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any

import pytest

import tokviz
from tokviz.cli.main import _run_command, main
from tokviz.cli.opening import is_file_only
from tokviz.tui.run import _session

NOT_GIVEN = {"path": None, "piped": None, "tokenizer": None, "parse_specials": True, "profile": ""}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Record the arguments of every call that opens the app; standard input is a terminal."""
    calls: list[dict[str, Any]] = []

    def run(**arguments: Any) -> int:
        calls.append(arguments)
        return 7

    monkeypatch.setattr("tokviz.tui.run.run", run)
    monkeypatch.setattr("tokviz.tui.terminal.stdin.read_piped_stdin", lambda: None)
    return calls


def test_alone_it_opens_the_app_and_gives_its_exit_code_on(opened):
    assert main([]) == 7
    assert opened == [NOT_GIVEN]


@pytest.mark.parametrize("arguments", [[], ["notes.md"], ["./count"], ["/"], ["1"]])
def test_what_is_file_only_is_read_as_any_command_line_is(opened, arguments):
    assert is_file_only(arguments)
    assert main(arguments) == _run_command(arguments) == 7
    assert opened[0] == opened[1]


@pytest.mark.parametrize(
    "arguments", [["count"], ["-"], ["notes"], ["--version"], ["a.md", "b.md"]]
)
def test_anything_else_is_read_as_a_command_line(arguments):
    assert not is_file_only(arguments)


def test_opening_a_file_waits_for_nothing_that_reads_command_lines():
    code = """
import sys, tokviz.tui.run as app
app.run = lambda **given: print("argparse" in sys.modules, given["path"]) or 0
from tokviz.cli.main import main
main(["notes.md"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False notes.md\n"


def test_a_file_and_options_are_handed_over(opened):
    assert main(["notes.md", "-t", "gpt2", "--specials", "text", "--profile", "work"]) == 7
    given = {"tokenizer": "gpt2", "parse_specials": False, "profile": "work"}
    assert opened == [{"path": "notes.md", "piped": None, **given}]


def test_the_environment_names_the_tokenizer(opened, monkeypatch):
    monkeypatch.setenv("TOKVIZ_TOKENIZER", "qwen2")
    main([])
    assert opened[0]["tokenizer"] == "qwen2"


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_a_pipe_is_read(opened, monkeypatch, arguments):
    monkeypatch.setattr("tokviz.tui.terminal.stdin.read_piped_stdin", lambda: b"a\xff")
    main(arguments)
    assert opened == [{**NOT_GIVEN, "piped": b"a\xff"}]


def test_with_a_file_standard_input_is_left_alone(opened, monkeypatch):
    monkeypatch.setattr("tokviz.tui.terminal.stdin.read_piped_stdin", lambda: 1 / 0)
    main(["notes.md"])
    assert opened[0]["piped"] is None


@pytest.mark.parametrize("arguments", [["./count"], ["--", "count"]])
def test_a_file_may_have_the_name_of_a_command(opened, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "count").touch()
    main(arguments)
    assert os.path.samefile(opened[0]["path"], tmp_path / "count")


def test_a_command_behind_an_option_is_no_file(opened, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["-t", "gpt2", "count"]) == 2
    assert opened == []
    assert "write the command first: tokviz count" in capsys.readouterr().err


def test_a_missing_file_is_an_error_before_the_app_starts(tokviz, tmp_path):
    result = tokviz(tmp_path / "none")
    assert result.code == 2
    assert result.err == f"tokviz: {tmp_path}/none: there is no such file\n"


def test_without_a_terminal_it_says_what_to_use_instead(tokviz):
    result = tokviz(stdin=b"hello")
    assert result.code == 2
    assert result.out == b""
    assert result.err.startswith("tokviz: the app needs a terminal")
    assert len(result.err.splitlines()) == 1


def test_what_the_first_frame_waits_for_is_said_on_a_terminal_and_taken_back(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stderr, said in ((Terminal(), "Loading gpt2…\r\x1b[K"), (io.StringIO(), "")):
        monkeypatch.setattr("sys.stderr", stderr)
        _session(None, b"text", "gpt2", True, None, "", "")
        assert stderr.getvalue() == said


def test_the_tokenizer_of_the_command_line_is_current_and_remembered(tmp_path, monkeypatch):
    own = tokviz.Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
    monkeypatch.setattr("tokviz.tui.run.load", lambda name: own)
    monkeypatch.chdir(tmp_path)
    session = _session(None, b"text", "./own.json", True, None, "", "")
    path = str(tmp_path / "own.json")
    assert session.tokenizer_source == path
    assert session.settings.recent_tokenizers == (path,)
    assert session.settings.tokenizer == "cl100k_base", "the next start begins as before"


def test_the_app_starts_where_standard_error_is_closed(monkeypatch):
    from tokviz.tui import run

    monkeypatch.setattr("sys.stderr", None)
    with run._show_progress("Loading gpt2…"):
        pass
