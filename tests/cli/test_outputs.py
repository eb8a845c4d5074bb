"""Every command that writes a file writes it completely or leaves the old one unchanged."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND
from tokviz.cli.command import COMMANDS, command_parser, load_command

TEXT = "the theory of everything\n"
CHAT = '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]'

WRITING = {
    "show": ["show", "in.txt", "-o"],
    "compare": ["compare", "in.txt", "-o"],
    "chat": ["chat", "in.json", "-o"],
    "replay": ["replay", "gpt2", "--at", "300", "--text", "@in.txt", "--html", "-o"],
    "replay --animate": ["replay", "gpt2", "--steps", "2", "--text", "@in.txt", "--animate"],
    "lesson --animate": ["lesson", "cs336", "--animate"],
    "convert": ["convert", "tiny.model", "--format", "huggingface", "--force", "-o"],
}
"""Command lines that write a file, without its name."""

FAILING = {
    "a second input is missing": ["show", "in.txt", "missing.txt", "-o", "out.md"],
    "a second page": ["show", "in.txt", "in.txt", "-o", "out.html"],
    "too large": ["show", "long.txt", "-o", "out.png"],
    "no tokenizer": ["show", "in.txt", "-t", "missing.json", "-o", "out.md"],
    "comparing a missing input": ["compare", "in.txt", "missing.txt", "-o", "out.md"],
    "comparing too much": ["compare", "long.txt", "-o", "out.png"],
    "a row that cannot be read": ["chat", "rows.jsonl", "-o", "out.md"],
    "a missing row": ["chat", "in.json", "--row", "9", "-o", "out.html"],
    "no template": ["chat", "in.json", "--template", "missing.jinja", "-o", "out.md"],
    "several merges": ["replay", "gpt2", "--at", "1", "--steps", "2", "-o", "out.svg"],
    "a merge too far": ["replay", "gpt2", "--at", "999999", "-o", "out.svg"],
    "an animation too far": ["replay", "gpt2", "--at", "999999", "--animate", "out.svg"],
    "no text": ["replay", "gpt2", "--text", "@missing.txt", "--animate", "out.svg"],
    "no lesson": ["lesson", "missing", "--animate", "out.svg"],
    "no corpus": ["train", "missing.txt", "--vocab-size", "300", "-o", "out.run"],
    "converting nothing": ["convert", "missing.json", "--format", "tiktoken", "--force", "-o", "o"],
    "no pattern": ["train", "in.txt", "--vocab-size", "300", "--pattern", "(", "-o", "out.run"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    Path("in.txt").write_text(TEXT)
    Path("tiny.model").write_text("minbpe v1\n\n0\n116 104\n")
    Path("in.json").write_text(CHAT)
    Path("rows.jsonl").write_text(f'{{"messages": {CHAT}}}\n{{"messages": 7}}\n')
    Path("long.txt").write_text("a\n" * 2_002)


@pytest.fixture(params=WRITING)
def writing(request: pytest.FixtureRequest) -> list[str]:
    return WRITING[request.param]


def test_every_command_that_writes_a_file_is_tested_here():
    tested = {words[0] for words in (*WRITING.values(), *FAILING.values())}
    writing = {
        name
        for name in COMMANDS
        if re.search("--output|--animate", command_parser(load_command(name)).format_help())
    }
    assert writing == tested


@pytest.mark.parametrize("words", FAILING.values(), ids=FAILING)
def test_a_command_that_fails_changes_and_creates_nothing(tokviz, words):
    before = sorted(os.listdir())
    assert tokviz(*words).code not in (0, 130)
    assert sorted(os.listdir()) == before
    output = Path(words[-1])
    output.write_text("precious")
    assert tokviz(*words).code not in (0, 130)
    assert output.read_text() == "precious"
    assert sorted(os.listdir()) == sorted([*before, output.name])


@pytest.mark.parametrize("name", ["show", "compare", "chat", "replay", "replay --animate"])
def test_an_interrupt_changes_nothing(name):
    words = [word.replace("in.", "pipe.") for word in WRITING[name]]
    pipe = next(word.removeprefix("@") for word in words if "pipe." in word)
    os.mkfifo(pipe)
    Path("out.html").write_text("precious")
    before = sorted(os.listdir())
    process = subprocess.Popen(
        [*COMMAND, *words, "out.html"],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # CI may ignore it
    )
    with process, open(pipe, "wb"):  # opens when the command reads
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert Path("out.html").read_text() == "precious"
    assert sorted(os.listdir()) == before


def test_links_are_kept_and_get_the_new_content(tokviz, writing):
    for name in ("target.html", "first.html"):
        Path(name).write_text("old")
    Path("link.html").symlink_to("target.html")
    os.link("first.html", "second.html")
    assert tokviz(*writing, "link.html").code == 0
    assert Path("link.html").is_symlink()
    assert tokviz(*writing, "first.html").code == 0
    assert Path("first.html").samefile("second.html")
    assert Path("second.html").read_bytes() == Path("target.html").read_bytes() != b"old"


def test_owner_and_permissions_are_kept(tokviz, writing):
    Path("out.html").write_text("old")
    owner = (1234, 2345) if os.geteuid() == 0 else (os.getuid(), os.getgid())
    os.chown("out.html", *owner)
    os.chmod("out.html", 0o660)
    assert tokviz(*writing, "out.html").code == 0
    found = os.stat("out.html")
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (*owner, 0o660)
    assert found.st_size > len("old")


def test_a_read_only_file_and_a_folder_are_refused(tokviz, writing):
    Path("out.html").write_text("precious")
    os.chmod("out.html", 0o444)  # root could write it anyway
    Path("folder.html").mkdir()
    before = sorted(os.listdir())
    for name, reason in (("out.html", "is read-only"), ("folder.html", "is a folder")):
        refused = tokviz(*writing, name)
        assert refused.code not in (0, 130)
        assert reason in refused.err
    assert Path("out.html").read_text() == "precious"
    assert sorted(os.listdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_a_read_only_folder_is_refused(tokviz, writing):
    Path("locked").mkdir(mode=0o555)
    refused = tokviz(*writing, "locked/out.html")
    assert refused.code not in (0, 130)
    assert "no permission" in refused.err


def test_a_named_pipe_gets_the_output_and_stays(tokviz, writing):
    os.mkfifo("pipe.html")
    keeper = os.open("pipe.html", os.O_RDWR)  # so that opening the pipe does not block
    with ThreadPoolExecutor(1) as threads, open("pipe.html", "rb") as pipe:
        received = threads.submit(pipe.read)
        written = tokviz(*writing, "pipe.html")
        os.close(keeper)
    assert written.code == 0
    assert tokviz(*writing, "file.html").code == 0
    assert received.result() == Path("file.html").read_bytes() != b""
    assert stat.S_ISFIFO(os.stat("pipe.html").st_mode)


def test_a_device_is_written_to_and_stays(tokviz, writing):
    full = os.makedev(1, 7)
    try:
        os.mknod("full.html", stat.S_IFCHR | 0o666, full)
        os.close(os.open("full.html", os.O_WRONLY))
    except OSError:
        pytest.skip("devices can be made and opened here only by root")
    refused = tokviz(*writing, "full.html")
    assert refused.code not in (0, 130)
    assert "No space left" in refused.err
    assert os.stat("full.html").st_rdev == full


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="has no /dev/stdout")
def test_standard_output_by_name_is_not_replaced(tokviz, writing):
    has_form = {"--html", "--animate", "--format"} & {*writing}
    form = [] if has_form else ["--html"]
    command = [*writing[:-1], *form, writing[-1]]
    assert tokviz(*command, "file.html").code == 0
    expected = Path("file.html").read_bytes()
    assert tokviz(*command, "/dev/stdout").out == expected
    Path("link").symlink_to("/dev/stdout")
    for name in ("/dev/stdout", "/dev/fd/1", "link"):
        Path("log").write_bytes(b"before\n")
        with open("log", "ab") as log:
            subprocess.run([*COMMAND, *command, name], stdout=log, check=True)
        assert Path("log").read_bytes() == b"before\n" + expected


@pytest.mark.parametrize(
    "words",
    [
        ["show", "in.txt", "-o", "in.txt"],
        ["show", "-o", "in.txt"],
        ["show", "in.txt", "-o", "link.txt"],
        ["compare", "in.txt", "-o", "in.txt"],
        ["chat", "in.json", "--html", "-o", "in.json"],
        ["replay", "gpt2", "--text", "@in.txt", "-o", "in.txt"],
        ["replay", "gpt2", "--text", "@in.txt", "--animate", "in.txt"],
        ["train", "in.txt", "--vocab-size", "300", "-o", "in.txt"],
    ],
)
def test_an_input_is_never_the_output(tokviz, words):
    Path("link.txt").symlink_to("in.txt")
    with open("in.txt" if words[1] == "-o" else os.devnull, "rb") as stdin:
        command = [*COMMAND, *words]
        refused = subprocess.run(command, stdin=stdin, capture_output=True, check=False)
    assert refused.returncode not in (0, 130)
    assert b"is also an input" in refused.stderr or b"is a file" in refused.stderr
    assert (Path("in.txt").read_text(), Path("in.json").read_text()) == (TEXT, CHAT)


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_training_replaces_no_file_through_a_link(tokviz, force):
    Path("precious").write_text("precious")
    Path("link").symlink_to("precious")
    before = sorted(os.listdir())
    refused = tokviz("train", "in.txt", "-o", "link", "--vocab-size", "260", *force)
    assert refused.code not in (0, 130)
    assert "is a file, not a folder" in refused.err
    assert Path("precious").read_text() == "precious"
    assert Path("link").is_symlink()
    assert sorted(os.listdir()) == before


def test_a_setting_is_not_written_to_a_read_only_file(tokviz):
    path = Path(tokviz("config", "path").text.strip())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('theme = "dark"\n')
    path.chmod(0o444)
    refused = tokviz("config", "set", "theme", "light")
    assert refused.code not in (0, 130)
    assert "is read-only" in refused.err
    assert path.read_text() == 'theme = "dark"\n'
