"""A confined process can access only its own folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tokviz.process.confinement import Confinement

ROOT = Path(__file__).parents[2]

REFUSED = {
    "read a file": "open(outside)",
    "read its bytes": "Path(outside).read_bytes()",
    "read as root would": "os.open(outside, os.O_RDONLY)",
    "read by a path that climbs": "open(own + '/../outside.txt')",
    "read through a link": "open(own + '/link.txt')",
    "read through a linked folder": "open(own + '/folder/outside.txt')",
    "read by a relative path": "os.chdir(own) or open('../outside.txt')",
    "read by bytes": "open(os.fsencode(outside))",
    "read the environment": "open('/proc/self/environ')",
    "read the passwords": "open('/etc/passwd')",
    "map into memory": "np.memmap(outside)",
    "list a folder": "os.scandir(beyond)",
    "list the names": "os.listdir(beyond)",
    "list the root": "list(Path('/').iterdir())",
    "list the program": "os.scandir(os.path.dirname(tokviz.__file__))",
    "write a file": "open(beyond + '/new.txt', 'w')",
    "write through a link": "open(own + '/link.txt', 'a')",
    "write as the app does": "write_file(outside, b'')",
    "write into a linked folder": "write_file(own + '/folder/new.txt', b'')",
    "write to an open file": "write_file('/dev/stdout', b'x')",
    "write to an open file by its number": "write_file('/dev/fd/2', b'x')",
    "write to an open file by a link": "write_file(own + '/stdout', b'x')",
    "write the program": "open(tokviz.__file__, 'a')",
    "write compiled code": "open(str(user_cache_path('tokviz')) + '/kernels/x.so', 'wb')",
    "make a folder": "os.mkdir(beyond + '/new')",
    "remove": "os.remove(outside)",
    "move out": "os.rename(own + '/text.txt', beyond + '/new.txt')",
    "move in": "os.rename(outside, own + '/new.txt')",
    "link": "os.link(outside, own + '/new.txt')",
    "make readable": "os.chmod(outside, 0o777)",
    "cut": "os.truncate(outside, 0)",
    "open by a tokenizer's name": "tokviz.load(outside)",
    "open by the app": "read_text(Path(outside))",
    "list as a dialog": "read_folder(Path(beyond))",
    "look at a file as a dialog": "check_readable(Path(outside))",
    "train on it": "tokviz.train([outside], 300)",
    "a run folder": "Replay.open(beyond)",
    "start a program": "subprocess.run(['true'])",
    "start a shell": "os.system('true')",
    "start Python": "subprocess.run([sys.executable, '-c', ''])",
    "become a program": "os.execv('/bin/true', ['true'])",
    "train": "JobClient('train').call(lambda memory: [{}])",
    "look a name up": "socket.getaddrinfo('example.org', 80)",
    "look up an address": "socket.getaddrinfo('127.0.0.1', 80)",
    "connect": "socket.create_connection(('127.0.0.1', 9))",
    "connect unasked": "socket.socket().connect(('93.184.215.14', 80))",
    "serve": "socket.socket().bind(('127.0.0.1', 0))",
    "the Hub": "tokviz.load('hf:org/name')",
    "a corpus at a URL": "tokviz.train(['https://example.org/a.txt'], 300)",
}

ALLOWED = {
    "read its own": "open(own + '/text.txt').read()",
    "write its own": "write_file(own + '/new.txt', b'x')",
    "list its own": "read_folder(Path(own))",
    "load a file in a child": "subprocess_loader.load(saved(own + '/tokenizer'))",
    "learn": "tokviz.train([own + '/text.txt'], 260).save(own + '/run')",
    "list the samples": "list(asset_path('conversations').iterdir())",
    "read the lessons": "tokviz.guide.lessons.lessons()",
    "tokenize": "tokviz.load('gpt2').encode('hello ' * 10_000)",
    "ask a child": "JobClient('split').call(lambda memory: [])",
    "import where names have changed": "importlib.invalidate_caches() or __import__('colorsys')",
    "keep its journal": "RecoveryJournal(Path(own)).recoverable_texts()",
}

SCRIPT = """
import importlib, json, os, socket, subprocess, sys
from pathlib import Path
import numpy as np
import tokviz, tokviz.guide.lessons
from platformdirs import user_cache_path
from tokviz.storage.assets import asset_path
from tokviz.workspace.recovery_journal import RecoveryJournal
from tokviz.process.runner import JobClient
from tokviz.storage.files import write_file
from tokviz.formats import subprocess_loader
from tokviz.storage.listing import check_readable, read_folder
from tokviz.training.replay.replay import Replay
from tokviz.workspace.session import read_text
own, beyond, cases = json.loads(sys.argv[1])
outside = beyond + '/outside.txt'
def saved(path):
    tokviz.train(['a b'], 258).tokenizer.save(path, format='huggingface')
    return path
found = {}
for name, case in cases.items():
    try:
        eval(case)
        found[name] = ''
    except (OSError, tokviz.TokvizError) as error:
        found[name] = str(error)
print(json.dumps(found))
"""


@pytest.fixture
def beyond(tmp_path) -> Path:
    """A folder that only the test uses; `tmp_path` itself may contain settings and runs."""
    folder = tmp_path / "beyond"
    folder.mkdir()
    return folder


def done(beyond: Path, cases: dict[str, str], **allowed) -> dict[str, str]:
    own = beyond / "own"
    own.mkdir()
    (own / "text.txt").write_text("mine")
    (own / "link.txt").symlink_to(beyond / "outside.txt")
    (own / "folder").symlink_to(beyond)
    (own / "stdout").symlink_to("/dev/stdout")
    (beyond / "outside.txt").write_text("not mine")
    environment = {**os.environ, **Confinement(**{"folders": (str(own),), **allowed}).environment()}
    result = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, json.dumps([str(own), str(beyond), cases])],
        env={**environment, "PYTHONPATH": str(ROOT), "TMPDIR": str(own)},
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr.decode()
    found: dict[str, str] = json.loads(result.stdout.splitlines()[-1])
    return found


def test_a_confined_process_reaches_nothing_but_its_own(beyond):
    found = done(beyond, REFUSED | ALLOWED)
    assert {name: found[name] for name in ALLOWED if found[name]} == {}
    assert {
        name: found[name] for name in REFUSED if "this session may not" not in found[name]
    } == {}
    assert (beyond / "outside.txt").read_text() == "not mine"
    assert {path.name for path in beyond.iterdir()} == {"own", "outside.txt"}


def test_a_program_in_a_named_folder_cannot_be_changed(beyond):
    cases = {"write": "open(tokviz.__file__, 'a')", "read": "open(tokviz.__file__)"}
    found = done(beyond, cases, folders=(str(ROOT),))
    assert (found["read"], found["write"]) == ("", "this session may not write there")


def test_what_the_user_allows_is_allowed_and_no_more(beyond):
    cases = {
        "train": "JobClient('train').call(lambda memory: [])",
        "look the Hub up": "socket.getaddrinfo('nothing.huggingface.co', 80)",
        "look another up": "socket.getaddrinfo('huggingface.co.example.org', 80)",
        "connect to this machine": "socket.socket().connect(('127.0.0.1', 9))",
        "read a file": "open(outside)",
    }
    found = done(beyond, cases, training=True, hub=True)
    refused = {name for name in cases if "this session may not" in found[name]}
    assert refused == {"look another up", "connect to this machine", "read a file"}


@pytest.mark.parametrize("told", ["", "{}", "[]", "null", '{"folders": 1}', '{"all": true}'])
def test_a_process_that_is_told_nonsense_does_nothing(told):
    ended = subprocess.run(
        [sys.executable, "-P", "-c", "import tokviz, os; os.listdir('/')"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TOKVIZ_CONFINED": told},
        capture_output=True,
        check=False,
    )
    assert ended.returncode != 0
