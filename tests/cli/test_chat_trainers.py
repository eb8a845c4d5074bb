"""`tokviz chat --trainers` and `--injection`."""

from __future__ import annotations

import json

import pytest

from tests.chat import originals
from tests.chat.conversations import turns
from tokviz.chat.injection import FIELDS
from tokviz.chat.trainers import TRAINERS

ROW = {"messages": turns("Hi", "Hello")}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (ROW, ROW, {"messages": 1})))
    return path


@pytest.fixture
def marked(tmp_path):
    path = tmp_path / "marked.jinja"
    path.write_text(originals.GENERATION)
    return path


def test_each_trainer_has_a_line_with_the_first_difference(tokviz, file, marked):
    done = tokviz("chat", file, "--trainers", "--row", 1, "-t", "qwen2", "--template", marked)
    assert (done.code, done.err) == (0, "")
    head, *lines = done.text.splitlines()
    assert head.startswith("# line 1, 12 tokens, 2 in the loss (17%)")
    by_name = {line.split()[0]: " ".join(line.split()[1:]) for line in lines}
    assert [*by_name] == [*TRAINERS]
    first = "token #0 <|im_start|> is in the loss"
    assert by_name["trl"] == f"12 in the loss, first difference: {first}"
    assert by_name["trl-assistant"] == "2 in the loss, as shown"
    assert by_name["axolotl-field"].startswith("refused: no message has a key")
    assert by_name["axolotl-all"].endswith("first difference: token #4 <|im_end|> is in the loss")


def test_json_has_an_object_for_each_row_and_trainer(tokviz, file):
    options = ["--trainers", "--json", "--max-tokens", 11, "-t", "qwen2", "--template", "chatml"]
    done = tokviz("chat", file, *options)
    assert done.code == 2  # the third row is not a conversation
    *records, failed = map(json.loads, done.text.splitlines())
    assert [(it["row"], it["trainer"]) for it in records] == [
        (row, name) for row in (1, 2) for name in TRAINERS
    ]
    by_name = {it["trainer"]: it for it in records}
    assert by_name["axolotl-turn"]["mask"] == [0] * 9 + [1, 1]
    assert by_name["trl-completion"]["n_learned"] == 2  # the token after them is cut off
    assert by_name["trl-assistant"].keys() == {"file", "row", "place", "trainer", "error"}
    assert (failed["row"], "trainer" in failed) == (3, False)


def test_variables_are_set_for_trainers_too(tokviz, file, tmp_path):
    template = tmp_path / "prefix.jinja"
    template.write_text("{{ prefix | default('') }}" + originals.GENERATION)
    options = ["--trainers", "--json", "--row", 1, "-t", "qwen2", "--template", template]
    plain, longer = (
        json.loads(tokviz("chat", file, *options, *more).text.splitlines()[0])["n_learned"]
        for more in ([], ["--set", 'prefix="a b"'])
    )
    assert (plain, longer) == (12, 14)


def test_the_injection_test_needs_no_file_and_is_1_if_a_field_is_open(tokviz):
    options = ["chat", "--injection", "-t", "qwen2", "--template", "chatml"]
    done = tokviz(*options)
    assert (done.code, done.err) == (1, "")
    lines = done.text.splitlines()
    assert lines[0].split() == ["field", "transformers", "content-as-text"]
    assert lines[3].split() == ["user", "content", "3", "of", "3", "0", "of", "3"]
    assert any(line.startswith("refused: message 2, part 2") for line in lines)
    contents = "system content, developer content, user content, assistant content"
    assert lines[-1] == f"transformers is in force: control tokens from {contents}"
    closed = tokviz(*options, "--specials", "content-as-text")
    assert closed.code == 0
    assert closed.text.endswith("content-as-text is in force: control tokens from no field\n")


def test_the_injection_test_in_json_has_an_object_for_each_field_and_policy(tokviz):
    done = tokviz("chat", "--injection", "--json", "-t", "qwen2", "--template", "qwen")
    assert done.code == 1
    records = [json.loads(line) for line in done.text.splitlines()]
    assert [it["field"] for it in records if it["in_force"]] == [*FIELDS]
    assert [it["field"] for it in records if not it["in_force"]] == [*FIELDS]
    assert records[0]["injected"] == ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["rows.jsonl", "--trainers", "--lint"], "not allowed with argument"),
        (["rows.jsonl", "--trainers", "-o", "x.html"], "-o"),
        (["--injection", "--html"], "leave out FILE, the form"),
        (["rows.jsonl", "--injection"], "leave out FILE"),
        (["--injection", "--trainers"], "not allowed with argument"),
    ],
)
def test_options_that_contradict_are_refused(tokviz, options, words):
    done = tokviz("chat", *options)
    assert (done.code, done.out, done.err.count("\n")) == (2, b"", 1)
    assert words in done.err
