"""The schemas that `tokviz help --schema` prints describe the output of every command."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.chat.conversations import turns
from tests.cli.test_chat_stability import THINKING
from tests.json_schema import Validator
from tokviz.cli.command import COMMANDS, command_parser, load_command
from tokviz.training.run_library import runs_folder

CASES = {
    "encode": ("text.txt --json", "--text hi --spans"),
    "decode": ("15339 1917 --json", "ids.json --json", "15339 1917 --stream --json"),
    "count": ("text.txt --json", "--text hi --json --cost", "--tree . --json -t gpt2 -t gpt-4"),
    "compare": (
        "text.txt other.txt -t gpt2 -t gpt-4 --json",
        "--text '' -t gpt2 -t gpt-4 --by-script --json",
    ),
    "diff": ("gpt2 gpt-4 --seconds 1 --json",),
    "eval": ("text.txt other.txt -t gpt2 --by-script --json", "-t gpt2 --json"),
    "drift": ("71 4896 1917 --json",),
    "chat": (
        *("rows.jsonl --json --max-tokens 9", "wrong.jsonl --json", "tokens.jsonl --json"),
        *("wrong.jsonl --lint --json", "tokens.jsonl --lint --json", "--injection --json"),
        "rows.jsonl --stability --json -t qwen2 --template t.jinja --set enable_thinking=true",
        "rows.jsonl --matrix --json -t qwen2 --template t.jinja",
        "rows.jsonl --matrix --json -t qwen2 --template refuses.jinja",
        *("wrong.jsonl --trainers --json", "rows.jsonl --prefix --json"),
        *("rows.jsonl --cost --json", "rows.jsonl --packing 64 --json"),
        "rows.jsonl --stats --json",
    ),
    "train": ("text.txt other.txt -o again --vocab-size 300 --compare --advise --json",),
    "check-bpe": ("merges.txt --corpus text.txt --json",),
    "replay": (
        *("run --json --text low", "gpt2 --at 300 --steps 2 --json"),
        "run --diff merges.txt --diff run --text low --json",
    ),
    "tokenizers": ("--json", "--check run --json", "--check text.txt --json"),
}
"""Command lines that print every kind of output."""


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the files of the command lines into the working folder."""
    rows = [{"messages": turns("Hi", "Hello", "Why?", "So"), "source": "a"}, turns("Hi", "Ho")]
    ids = [{"input_ids": [15339, 1917], "labels": [-100, 1917]}, {"input_ids": [10**6]}]
    wrong = [{"messages": 1}, {"messages": turns("Hi", "")}]
    refusal = "{% if enable_thinking %}{{ raise_exception('no') }}{% endif %}"
    texts = {
        "rows.jsonl": "\n".join(map(json.dumps, rows)),
        "tokens.jsonl": "\n".join(map(json.dumps, ids)),
        "wrong.jsonl": "\n".join(map(json.dumps, wrong)),
        "text.txt": "low low low lower newest newest widest naïve\n" * 3000,
        "other.txt": "I paid 12345 for an unbelievable lunch, нет\n",
        "ids.json": '{"tokenizer": "gpt2", "ids": [1, 2]}',
        "merges.txt": "#version: 0.2\nl o\nlo w\nn e\n",
        "t.jinja": THINKING,
        "refuses.jinja": refusal + THINKING,
        "config/tokviz/models.toml": '[[model]]\nname = "m"\nprice = 2\n[[model]]\nname = "n"\n',
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.mark.parametrize("command", CASES)
def test_output_agrees_with_the_schema(tokviz, inputs: None, command: str) -> None:
    for folder in ("run", runs_folder() / "mine") if command in ("replay", "tokenizers") else ():
        tokviz("train", "text.txt", "other.txt", "-o", folder, "--vocab-size", 262)
    schema = json.loads(tokviz("help", "--schema", command).text)
    kinds = [{"$defs": schema.get("$defs"), **kind} for kind in schema.get("anyOf", [schema])]
    unseen = [*kinds]
    for line in CASES[command]:
        done = tokviz(command, *shlex.split(line))
        records = [json.loads(record) for record in done.text.splitlines()]
        assert records, (line, done.err)
        for record in records:
            assert Validator(schema).problems(record) == [], line
            unseen = [kind for kind in unseen if Validator(kind).problems(record)]
    assert unseen == [], "kinds that no command line prints"
    text = load_command(command).help
    assert [key for kind in kinds for key in kind["properties"] if f'"{key}"' not in text] == []


def test_every_command_with_json_has_a_schema(tokviz) -> None:
    for name in COMMANDS:
        has_json = "--json" in command_parser(load_command(name))._option_string_actions
        assert has_json == (name in CASES), name
    done = tokviz("help", "--schema", "cuont")
    assert (done.code, done.err.endswith("not 'cuont': did you mean 'count'?\n")) == (2, True)
    done = tokviz("help", "--schema", "convert")
    assert (done.code, done.err) == (2, "tokviz: tokviz convert has no option --json\n")
