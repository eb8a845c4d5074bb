"""`tokviz chat`: the mask, JSON and the checks."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.chat import originals
from tests.chat.conversations import turns
from tokviz.chat.dataset_shapes import SHAPES
from tokviz.chat.lint import RULES
from tokviz.chat.templates import TEMPLATES
from tokviz.cli.main import main

GOOD = {"messages": turns("Hi", "Hello")}
BAD = {"messages": turns("Hi <|endoftext|>")}


@pytest.fixture
def file(tmp_path):
    def write(*rows: object, name: str = "rows.jsonl"):
        path = tmp_path / name
        texts = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        path.write_text("".join(f"{text}\n" for text in texts))
        return path

    return write


def test_a_pipe_gets_the_mask_in_brackets(tokviz, file):
    done = tokviz("chat", file(GOOD), "-t", "gpt2")
    assert done.code == 0
    assert done.text.splitlines() == [
        "# line 1, 7 tokens, 2 in the loss (29%), 9 missing special tokens",
        "<|bos|>|<|user_start|>|Hi|<|user_end|>|<|assistant_start|>[Hello][<|assistant_end|>]",
    ]


def test_a_terminal_gets_colours_too(tokviz_on_terminal, file, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = tokviz_on_terminal("chat", file(GOOD), "--mask", "-t", "gpt2")
    assert b"\x1b[92m[Hello]\x1b[0m" in shown
    assert b"\x1b[91mHi\x1b[0m" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    plain = tokviz_on_terminal("chat", file(GOOD), "--mask", "-t", "gpt2")
    assert b"\x1b" not in plain
    assert b"[Hello]" in plain


def test_controls_in_messages_never_reach_the_terminal(tokviz_on_terminal, file):
    row = {"messages": turns("a\x1b[31mb\u202e", "c\x07")}
    template = "{{ raise_exception('\x1b[31m') }}"
    path = file(template, name="chat_template.jinja")
    for options in (["--mask"], ["--lint"], ["--json"], ["--mask", "--template", path]):
        shown = tokviz_on_terminal("chat", file(row), *options)
        assert b"\x1b[31m" not in shown
        assert b"\x07" not in shown
        assert "\u202e".encode() not in shown


def test_json_is_one_object_for_each_row(tokviz, file):
    done = tokviz("chat", file(GOOD, "{", BAD), "--json", "-t", "gpt2")
    assert done.code == 2
    first, second, third = map(json.loads, done.text.splitlines())
    assert first["ids"] == [50257, 50258, 17250, 50259, 50260, 15496, 50261]
    assert first["mask"] == [0, 0, 0, 0, 0, 1, 1]
    assert (first["row"], first["place"], first["template"]) == (1, "line 1", "nanochat")
    assert second["error"].startswith("line 2, column 2: this is not JSON")
    assert third["n_learned"] == 0
    only = tokviz("chat", file(GOOD, GOOD, GOOD), "--json", "-t", "gpt2", "--row", 2)
    assert [json.loads(line)["row"] for line in only.text.splitlines()] == [2]


def test_lint_is_silent_and_0_on_good_rows(tokviz, file):
    done = tokviz("chat", file(GOOD, GOOD), "--lint")
    assert done.code == 0
    assert re.fullmatch(r".*rows\.jsonl: 2 rows, no findings\n", done.text)


def test_lint_is_1_on_findings_and_says_where(tokviz, file):
    done = tokviz("chat", file(GOOD, BAD, "{"), "--lint")
    assert done.code == 1
    lines = done.text.splitlines()
    assert len(lines) == 4
    assert "rows.jsonl: line 2: no token is learned" in lines[0]
    assert lines[0].endswith("[error: nothing-supervised]")
    assert "rows.jsonl: line 2: message 1 (user): the content holds '<|endoftext|>'" in lines[1]
    assert "rows.jsonl: line 3, column 2: this is not JSON" in lines[2]
    assert lines[3].endswith("3 rows, 3 findings in 2 rows")


def test_lint_in_json_is_one_object_for_each_finding(tokviz, file):
    done = tokviz("chat", file(GOOD, BAD), "--lint", "--json")
    assert done.code == 1
    first, second = map(json.loads, done.text.splitlines())
    assert (first["code"], first["row"], first["place"]) == ("nothing-supervised", 2, "line 2")
    assert (second["code"], second["message_index"], second["token_index"]) == (
        "special-in-content",
        0,
        3,
    )


def test_rules_can_be_ignored(tokviz, file):
    options = ["--lint", "--ignore", "nothing-supervised", "--ignore", "special-in-content"]
    assert tokviz("chat", file(BAD), *options).code == 0
    drawn = tokviz("chat", file(BAD), "--lint", "--html")
    assert (drawn.code, drawn.text) == (2, "")
    assert "leave out the other form and -o" in drawn.err
    both = tokviz("chat", file(GOOD, GOOD), "--html")
    assert both.code == 2 and "--html holds only one figure: select a row with --row" in both.err
    wrong = tokviz("chat", file(BAD), "--lint", "--ignore", "nothing")
    assert wrong.code == 2
    assert "there is no rule 'nothing'" in wrong.err


def test_mask_and_lint_together_show_both(tokviz, file):
    done = tokviz("chat", file(BAD), "--mask", "--lint", "-t", "gpt2")
    assert done.code == 1
    assert "  ! no token is learned: the mask is 0 everywhere" in done.text.splitlines()


def test_a_split_pattern_is_not_forgotten_by_the_app(file, monkeypatch, capsys):
    monkeypatch.setattr("tokviz.tui.run.run", lambda **_: 0)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["chat", str(file(GOOD)), "--split-pattern", "gpt2"]) == 2
    assert "the app does not use --split-pattern" in capsys.readouterr().err


@pytest.mark.parametrize("fail_on", ["error", "warning", "note"])
def test_lint_fails_on_findings_of_a_severity_or_worse(tokviz, file, fail_on):
    warned = tokviz("chat", file({"messages": turns("Hi", " ")}), "--lint", "--fail-on", fail_on)
    assert "[warning: empty-turn]" in warned.text and "error:" not in warned.text
    assert warned.code == (0 if fail_on == "error" else 1)
    wrong = tokviz("chat", file(BAD), "--lint", "--json", "--fail-on", fail_on)
    assert wrong.code == 1


@pytest.mark.parametrize(
    ("name", "text"), [("a.jsonl", ""), ("a.jsonl", "\n \n"), ("a.json", "[]")]
)
@pytest.mark.parametrize("options", [["--lint"], ["--mask"], ["--json", "--row", "1"]])
def test_a_dataset_without_rows_is_an_error(tokviz, tmp_path, name, text, options):
    (tmp_path / name).write_text(text)
    done = tokviz("chat", tmp_path / name, *options)
    assert (done.code, done.text) == (2, "")
    assert f"{name}: there are no rows in it" in done.err


def test_standard_input_is_read(tokviz):
    rows = "".join(json.dumps(GOOD) + "\n" for _ in range(3)).encode()
    done = tokviz("chat", "-", "--lint", stdin=rows)
    assert done.text == "standard input: 3 rows, no findings\n"
    assert tokviz("chat", "--json", stdin=json.dumps(turns("Hi")).encode()).code == 0


def test_one_row_can_be_asked_for(tokviz, file):
    done = tokviz("chat", file(GOOD, BAD), "--row", "2", "--json", "-t", "gpt2")
    assert [json.loads(line)["row"] for line in done.text.splitlines()] == [2]
    missing = tokviz("chat", file(GOOD), "--row", "2")
    assert missing.code == 2
    assert "there is no row 2; it has 1" in missing.err
    assert tokviz("chat", file(BAD, GOOD), "--row", "2", "--lint").code == 0


def test_max_tokens_cuts(tokviz, file):
    done = tokviz("chat", file(GOOD), "--max-tokens", "6", "--json", "-t", "gpt2")
    record = json.loads(done.text)
    assert (record["n_tokens"], record["n_kept"], len(record["ids"])) == (7, 6, 6)
    assert tokviz("chat", file(GOOD), "--max-tokens", "6", "--lint").code == 0


def test_a_template_may_be_a_file(tokviz, file):
    path = file(originals.GENERATION, name="chat_template.jinja")
    done = tokviz("chat", file(GOOD), "--template", path, "--json", "-t", "qwen2")
    record = json.loads(done.text)
    assert (record["mask_source"], record["template"]) == (
        "generation marks",
        "chat_template.jinja",
    )
    assert record["n_learned"] == 2


def test_templates_that_loop_or_are_unknown_end_in_one_line(tokviz, file):
    loop = file("{% for i in range(99999) %}" * 5 + "{% endfor %}" * 5, name="loop.jinja")
    done = tokviz("chat", file(GOOD), "--template", loop, "--mask")
    assert done.code == 2
    assert "took longer than 2 s" in done.err
    unknown = tokviz("chat", file(GOOD), "--template", "chatlm", "--lint")
    assert unknown.code == 2
    assert "did you mean chatml?" in unknown.err
    assert done.err.count("\n") == unknown.err.count("\n") == 1


def test_files_that_cannot_be_read_do_not_stop_the_others(tokviz, file, tmp_path):
    done = tokviz("chat", tmp_path / "none.jsonl", file(GOOD), "--lint")
    assert done.code == 2
    assert "there is no such file" in done.err
    assert "1 row, no findings" in done.text


def test_json_and_mask_exclude_each_other(tokviz, file):
    assert tokviz("chat", file(GOOD), "--json", "--mask").code == 2


def test_the_help_lists_every_shape_template_and_rule(tokviz):
    words = tokviz("chat", "--help").text
    assert all(f"{shape.looks}  " in words for shape in SHAPES.values())
    assert f"templates: {', '.join(TEMPLATES)};" in words
    rules = re.search(r"rules: ([a-z0-9,\s-]+)", words)
    assert rules is not None
    assert re.split(r",\s+", rules[1].strip()) == list(RULES)
    assert max(map(len, words.splitlines())) <= 100
