"""Exit codes, errors and the selection of the command."""

from __future__ import annotations

import os
import subprocess
import warnings

import pytest

from tests.cli.conftest import COMMAND
from tokviz import __version__
from tokviz.cli import count
from tokviz.cli.command import COMMANDS, unknown_command
from tokviz.cli.main import main
from tokviz.errors import missing_package


def test_help_names_every_command(tokviz):
    help_text = tokviz("--help").text
    for name, summary in COMMANDS.items():
        assert name in help_text
        assert summary in help_text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(tokviz, name):
    result = tokviz(name, "--help")
    assert (result.code, result.err) == (0, "")
    assert result.text.startswith(f"usage: tokviz {name} ")


def test_version_is_the_one_of_the_package(tokviz):
    assert tokviz("--version").text == f"tokviz {__version__}\n"


def test_what_is_needed_for_one_thing_is_asked_for_by_name_when_that_is_done(tokviz, tmp_path):
    for name in ("jinja2", "shtab", "tokenizers"):
        gone = f"raise ModuleNotFoundError('gone', name={name!r})"
        (tmp_path / f"{name}.py").write_text(gone)
    (tmp_path / "own.jinja").write_text("{{ messages }}")
    (tmp_path / "unigram.json").write_text('{"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}')
    chat = b'[{"role": "user", "content": "a"}]'
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", os.getcwd())])
    options = {"env": {**os.environ, "PYTHONPATH": path}, "cwd": tmp_path}

    assert tokviz("count", "--text", "hello world", "-t", "gpt2", **options).code == 0
    for arguments, name in (
        (["completion", "bash"], "shtab"),
        (["chat", "-", "--mask", "--template", "own.jinja"], "jinja2"),
        (["encode", "--text", "a", "-t", "unigram.json"], "tokenizers"),
    ):
        said = tokviz(*arguments, stdin=chat, **options)
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert missing_package(name) in said.err


def test_options_may_stand_behind_files(tokviz, tmp_path):
    (tmp_path / "a").write_text("hello")
    (tmp_path / "b").write_text("hello")
    result = tokviz("encode", tmp_path / "a", "-t", "gpt2", tmp_path / "b")
    assert result.text == "31373\n31373\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["count", "--jsno"],
        ["count", "--specials", "maybe"],
        ["encode", "-t"],
        ["a", "b"],
        ["completion"],
        ["completion", "fish\x1b[31m"],
        ["count", "-t", "\x1b[31m"],
    ],
)
def test_a_wrong_command_line_is_one_safe_line_and_code_2(tokviz, arguments):
    result = tokviz(*arguments)
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith("tokviz: ")
    assert len(result.err.splitlines()) == 1
    assert "\x1b" not in result.err


def test_a_reader_that_goes_away_ends_the_command_quietly(tmp_path):
    (tmp_path / "long").write_text("hello world " * 500_000)
    process = subprocess.Popen(
        [*COMMAND, "encode", str(tmp_path / "long")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141


def test_a_reader_that_is_gone_before_a_short_answer_is_noticed_too():
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([*COMMAND, "tokenizers"], stdout=write_end, stderr=subprocess.PIPE)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_output_that_is_full_is_an_error():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "tokenizers"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("tokviz: cannot write the output: ")
    assert len(done.stderr.splitlines()) == 1


def test_closed_standard_streams_are_errors_without_a_traceback():
    def run(redirection: str) -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            ["sh", "-c", f'echo 15339 x | "$@" {redirection}', "sh", *COMMAND, "decode"],
            capture_output=True,
        )
        return done.returncode, done.stdout, done.stderr

    assert run("<&-") == (2, b"", b"tokviz: standard input: it is closed\n")
    assert run(">&-") == (2, b"", b"tokviz: standard output is closed\n")
    assert run("2>&-") == (2, b"", b"")


def test_standard_input_that_cannot_be_read_is_an_error_of_the_input(tmp_path):
    train = [*COMMAND, "train", "-", "-o", str(tmp_path / "run"), "--vocab-size", "300"]
    for redirection, words in (("<&-", "it is closed"), (f"0>{tmp_path}/x", "Bad file descriptor")):
        line = ["sh", "-c", f'exec "$@" {redirection}', "sh", *train]
        done = subprocess.run(line, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (2, f"tokviz: standard input: {words}\n")


def test_ctrl_c_is_code_130(monkeypatch, capsys):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(count, "count_blocks", interrupt)
    assert main(["count", "--text", "x"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_what_a_library_warns_of_is_a_line_at_the_end_whatever_the_end(monkeypatch, capsys):
    def warn(*_args, **_options):
        warnings.warn("compiled code cannot be kept\x1b[31m", RuntimeWarning, stacklevel=1)
        assert capsys.readouterr().err == ""
        raise KeyboardInterrupt

    monkeypatch.setattr(count, "count_blocks", warn)
    assert main(["count", "--text", "x"]) == 130
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tokviz: compiled code cannot be kept")
    assert "\x1b" not in line


def test_a_terminal_of_another_encoding_gets_escapes_instead_of_a_traceback(tokviz, tmp_path):
    (tmp_path / "\u4f60.txt").write_text("hello")
    result = tokviz(
        "count",
        tmp_path / "\u4f60.txt",
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert result.code == 0
    assert b"\\u4f60.txt" in result.out


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["tokenise", "x"], "encode"),
        (["encod", "-"], "encode"),
        (["tokenizer"], "tokenizers"),
        (["Count", "--json", "x"], "count"),
        (["foobar", "x"], None),
        (["manual"], "help"),
    ],
)
def test_an_unknown_command_is_named_with_the_nearest_one(tokviz, tmp_path, arguments, nearest):
    result = tokviz(*arguments, cwd=tmp_path)
    hint = f"; did you mean `tokviz {nearest}`?" if nearest else ""
    assert result.code == 2
    assert result.err == (
        f"tokviz: no such command or file: '{arguments[0]}'{hint} (see tokviz --help)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["web", "--port", "abc"], "argument --port: a port is a number from 0 to 65535"),
        (["web", "--port", "-1"], "argument --port: a port is a number from 0 to 65535"),
        (["encode", "--json=x"], "argument --json: takes no value, but got 'x'"),
        (
            ["compare", "--most", "9" * 5000],
            "argument --most: a number of 5,000 digits is too large",
        ),
        (["replay", "--at", "9" * 5000], "argument --at: a number of 5,000 digits is too large"),
        (["web", "--idle", "x"], "argument --idle: 'x' is not a number of minutes above 0"),
        (["web", "--idle", "nan"], "argument --idle: 'nan' is not a number of minutes above 0"),
        (["web", "--idle", "0"], "argument --idle: '0' is not a number of minutes above 0"),
    ],
)
def test_a_wrong_value_is_told_in_words_of_ours(tokviz, arguments, words):
    result = tokviz(*arguments)
    assert result.code == 2
    assert result.err == f"tokviz: {words} (see tokviz {arguments[0]} --help)\n"


def test_a_long_mistake_is_cut(tokviz):
    result = tokviz("encode", "--" + "x" * 100_000)
    assert result.code == 2
    assert "unrecognized arguments: --xxx" in result.err
    assert len(result.err) < 700


@pytest.mark.parametrize(
    "words", [["--", "--json"], ["--", "-t", "-x"], ["a", "--", "-x"], ["a", "--", "--", "-t"]]
)
def test_what_stands_behind_two_dashes_is_no_option(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before, after = words[: words.index("--")], words[words.index("--") + 1 :]
    for name in (*before, *after):
        (tmp_path / name).write_text("hello world")
    assert main(["count", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines][: len(words) - 1] == [*before, *after]


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode", "-t", ""],
        ["count", "-t", ""],
        ["show", "-t", ""],
        ["compare", "-t", "gpt2", "-t", ""],
        ["replay", "", "--print"],
        ["-t", ""],
    ],
)
def test_an_empty_name_is_no_tokenizer(tokviz, arguments):
    result = tokviz(*arguments)
    assert (result.code, result.out) == (2, b"")
    assert result.err.startswith("tokviz: unknown tokenizer '': ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["replay", "gpt2", "--diff", "gpt-4", "--animate", "x"], "leave out --animate"),
        (["replay", "gpt2", "--diff", "gpt-4", "--svg"], "leave out --svg"),
        (["replay", "gpt2", "--diff", "gpt-4", "-o", "x.svg"], "leave out --output"),
        (["replay", "gpt2", "--diff", "gpt-4", "--steps", "3"], "leave out --steps"),
        (["replay", "gpt2", "--animate", "x", "-o", "y.svg"], "leave out -o"),
        (["replay", "gpt2", "-t", "gpt-4", "--print"], "RUN and -t are the same"),
        (["replay", "gpt2", "--seconds", "3", "--print"], "--seconds needs --animate"),
        (["replay", "gpt2", "--diff", "gpt2", "--at", "3", "--print"], "leave out --at"),
        (["help", "--man", "train"], "leave out TOPIC"),
        (["replay", "gpt2", "--text", "of", "--animate", "x", "--at", "60000"], "there are only"),
        (["lesson", "--print"], "name a lesson: hugs, cs336"),
        (["lesson", "--animate", "x"], "name a lesson: hugs, cs336"),
        (["lesson", "cs336", "--animate", ""], "is a folder"),
        (["compare", "--markdown", "-o", "x.svg", "--text", "a"], "leave out -o"),
        (["compare", "--svg", "--by-script", "--text", "a"], "--by-script adds lines"),
        (["compare", "-o", "", "--text", "a"], "'': the file name is empty"),
        (["tokenizers", "--split-pattern", "gpt2"], "--split-pattern needs --check"),
        (["chat", "x.json", "--ignore", "no-tokens"], "--ignore needs --lint"),
        (["chat", "x.json", "--fail-on", "note"], "--fail-on needs --lint"),
        (["web", "--folder", ""], "'': is not a folder"),
    ],
)
def test_what_nothing_would_come_of_is_refused(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err
    assert not (tmp_path / "x").exists() and not [*tmp_path.glob("*.svg")]


@pytest.mark.parametrize("arguments", [["count", ""], [""]])
def test_an_empty_name_is_shown(tokviz, arguments):
    assert tokviz(*arguments).err.startswith("tokviz: '': there is no such file")


def test_a_file_called_nearly_like_a_command_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert unknown_command(["counts"]) is not None
    (tmp_path / "counts").touch()
    assert unknown_command(["counts"]) is None
