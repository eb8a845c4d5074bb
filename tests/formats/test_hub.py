"""hf:org/name through huggingface_hub, against a server on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.formats.samples import trained
from tokviz.formats.huggingface import to_tokenizer_json
from tokviz.formats.save import FORMATS

pytest.importorskip("huggingface_hub")

OURS = trained("gpt2", ("<|endoftext|>",))
COMMIT = {"main": "a" * 40, "v2": "b" * 40}
FILES = {
    "org/json": {"tokenizer.json": to_tokenizer_json(OURS)},
    "org/pair": FORMATS["gpt2"].write(OURS),
    "org/ranks": {"original/tokenizer.model": FORMATS["tiktoken"].write(OURS)[""]},
    "org/nothing": {"README.md": b"# nothing"},
    "org/secret": {"tokenizer.json": to_tokenizer_json(OURS)},
    "org/gated": {},
}


class Hub(BaseHTTPRequestHandler):
    """Answers what `hf_hub_download` asks."""

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        owner, name, _, revision, file = self.path.lstrip("/").split("/", 4)
        repository = f"{owner}/{name}"
        files = FILES.get(repository)
        token = self.headers.get("authorization")
        if files is None or (repository == "org/secret" and token != "Bearer right"):
            return self.fail(401, "RepoNotFound")
        if repository == "org/gated":
            return self.fail(403, "GatedRepo")
        if revision not in (*COMMIT, *COMMIT.values()):
            return self.fail(404, "RevisionNotFound")
        if file not in files:
            return self.fail(404, "EntryNotFound")
        content = files[file]
        self.send_response(200)
        self.send_header("X-Repo-Commit", COMMIT.get(revision, revision))
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)
        return None

    def fail(self, code: int, name: str) -> None:
        self.send_response(code)
        self.send_header("X-Error-Code", name)
        self.send_header("X-Repo-Commit", COMMIT["main"])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    hub = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{hub.server_address[1]}"
    hub.shutdown()
    hub.server_close()


SCRIPT = """
import json, sys, time, tokviz
time.sleep = lambda seconds: sys.exit("it waits to try again")
for address in sys.argv[1:]:
    try:
        tok = tokviz.load(address)
        print(json.dumps([tok.name, tok.encode("The cats<|endoftext|>", "none"), tok.source]))
    except tokviz.TokvizError as error:
        print(json.dumps(str(error)))
"""


@pytest.fixture
def load(server, tmp_path):
    def load(*addresses, **environment):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *addresses],
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith("HF_")},
                "HF_ENDPOINT": server,
                "HF_HOME": str(tmp_path / "home"),
                "HF_HUB_DISABLE_XET": "1",
                "HF_HUB_DISABLE_TELEMETRY": "1",
                "NO_PROXY": "*",
                "PYTHONPATH": str(Path(__file__).parents[2]),
                **environment,
            },
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, ""), "nothing but what tokviz says is written"
        return [json.loads(line) for line in done.stdout.splitlines()]

    return load


IDS = OURS.encode("The cats<|endoftext|>", "none")


def test_every_kind_of_repository_is_loaded(load):
    answers = load("hf:org/json", "hf:org/json@v2", "hf:org/pair", "hf:org/ranks")
    assert [answer[0] for answer in answers] == [
        "hf:org/json", "hf:org/json@v2", "hf:org/pair", "hf:org/ranks"
    ]  # fmt: skip
    assert [answer[1] for answer in answers[:3]] == [IDS] * 3
    assert "hf:org/json" in answers[0][2]


def test_what_is_wrong_is_said(load):
    addresses = ["hf:org/no", "hf:org/json@v9", "hf:org/nothing", "hf:org/gated", "hf:org/secret",
                 "hf:a/b/c", "hf:", "hf:../..", "hf:org/json@v2/../../x"]  # fmt: skip
    words = ["no such repository", "no such revision", "holds no tokenizer.json", "is gated",
             "or it is private", *["is not an address"] * 4]  # fmt: skip
    answers = load(*addresses)
    for address, word, answer in zip(addresses, words, answers, strict=True):
        assert answer.startswith(f"{address}: ")
        assert word in answer


def test_the_users_token_opens_private_repositories(load):
    assert load("hf:org/secret", HF_TOKEN="right")[0][1] == IDS


def test_offline_mode_uses_the_cache_and_nothing_else(load):
    assert load("hf:org/json")[0][1] == IDS
    cached, missing = load("hf:org/json", "hf:org/pair", HF_HUB_OFFLINE="1")
    assert cached[1] == IDS
    assert "offline mode is on" in missing


def test_a_hub_that_cannot_be_reached_is_an_error(load):
    assert load("hf:org/json")[0][1] == IDS
    cached, missing = load("hf:org/json", "hf:org/pair", HF_ENDPOINT="http://127.0.0.1:1")
    assert cached[1] == IDS
    assert "cannot be reached" in missing
