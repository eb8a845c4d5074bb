"""`tokviz chat` with --prefix, --cost, --packing and --stats."""

from __future__ import annotations

import json
import os
import re

import pytest

from tests.chat.conversations import turns
from tests.chat.test_requests import ANTHROPIC
from tokviz.cli.main import main

ROWS = [{"messages": turns("Hi " * n, "Hello " * n), "source": "ab"[n % 2]} for n in range(1, 7)]
QWEN = ("-t", "qwen2", "--template", "qwen")


@pytest.fixture
def file(tmp_path):
    def write(name: str, *rows: object):
        path = tmp_path / name
        texts = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        path.write_text("".join(f"{text}\n" for text in texts))
        return path

    return write


@pytest.fixture
def prices(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "tokviz").mkdir()
    models = ('name = "m"\nprice = 2.5\ncurrency = "EUR"', 'name = "window"\nwindow = 9')
    text = "".join(f"[[model]]\n{model}\n" for model in models)
    (tmp_path / "tokviz" / "models.toml").write_text(text)


def test_a_request_with_more_messages_keeps_the_cache(tokviz, file):
    more = {**ANTHROPIC, "messages": [*ANTHROPIC["messages"], *turns("", "Two.")[1:]]}
    done = tokviz("chat", file("a.json", ANTHROPIC), file("b.json", more), "--prefix", *QWEN)
    assert (done.code, done.err) == (0, "")
    *_, explanation, counts = done.text.splitlines()
    assert explanation == "The shorter request is a prefix of the longer one."
    assert re.fullmatch(r"\d+ tokens in common, 0 lost from the cache", counts)


def test_the_first_difference_its_cause_and_its_cost(tokviz, file, prices):
    changed = {**ANTHROPIC, "tools": [{"name": "now", "input_schema": {}}, *ANTHROPIC["tools"]]}
    files = file("a.json", ANTHROPIC), file("b.json", changed)
    done = tokviz("chat", *files, "--prefix", *QWEN)
    assert done.code == 1
    lines = done.text.splitlines()
    assert lines[0].split() == ["file", "row", "tokens", "text"]
    assert lines[1].split()[1] == "1" and 'add", "description": "Add.",' in lines[1]
    assert lines[3] == "Cause: tools. These tools differ: now."
    n_common, n_lost = map(int, re.findall(r"\d+", lines[4]))
    assert lines[5] == f"m: {n_lost * 2.5e-6:.5f} EUR"
    record = json.loads(tokviz("chat", *files, "--prefix", "--json", *QWEN).text)
    assert (record["n_common"], record["n_lost"], record["cause"]) == (n_common, n_lost, "tools")
    assert [side["file"] for side in record["requests"]] == [str(path) for path in files]
    assert record["requests"][0]["n_tokens"] == n_common + n_lost
    assert record["message_index"] is None
    assert record["costs"][0] == {
        "model": "m",
        "cost": pytest.approx(n_lost * 2.5e-6),
        "currency": "EUR",
        "window": None,
        "window_share": None,
    }


def test_rows_of_one_file_are_compared(tokviz, file):
    rows = [turns("a"), turns("a", "b"), turns("a", "c"), turns("a", "c", "d")]
    path = file("rows.jsonl", *rows)

    def compared(*options: object) -> list[tuple[int, int, str | None]]:
        done = tokviz("chat", path, "--prefix", "--json", *QWEN, *options)
        records = [json.loads(line) for line in done.text.splitlines()]
        assert done.code == any(record["cause"] for record in records)
        return [(*(it["row"] for it in each["requests"]), each["cause"]) for each in records]

    assert compared() == [(1, 2, None), (2, 3, "history"), (3, 4, None)]
    assert compared("--row", 4, "--row", 1) == [(4, 1, None)]
    assert compared("--row", 4, "--row", 2) == [(4, 2, "history")]


def test_errors_of_prefix_name_file_and_row(tokviz, file):
    good, bad = file("good.json", turns("a")), file("bad.jsonl", turns("a"), '{"messages": 1}')
    for arguments, message in [
        ([good], "compares two files, or two rows of one file"),
        ([good, bad, "--row", 3], "good.json: there is no row 3; it has 1 row"),
        ([bad], "bad.jsonl: line 2: key 'messages': must be a list"),
        ([good, "missing.json"], "missing.json: there is no such file"),
    ]:
        done = tokviz("chat", *arguments, "--prefix", *QWEN)
        assert (done.code, done.text) == (2, "")
        assert message in done.err and done.err.count("\n") == 1


def test_the_cost_of_each_part(tokviz, file, prices):
    path = file("a.json", ANTHROPIC)
    done = tokviz("chat", path, "--cost", *QWEN)
    assert done.code == 0
    rows = [line.split() for line in done.text.splitlines()]
    assert rows[0] == ["tokens", "share", "m", "window"]
    names = [" ".join(row[:-5]) for row in rows[1:]]
    assert names[1:] == [
        *("system", "tools", "add", "other", "description", "parameters", "not attributed"),
        *("messages", "user", "assistant", "text", "tool calls", "tool", "template text"),
    ]
    record = json.loads(tokviz("chat", path, "--cost", "--json", *QWEN).text)
    parts = {tuple(part["path"]): part for part in record["parts"]}
    assert str(parts[()]["n_tokens"]) == rows[1][-5]
    assert parts[()]["share"] == 1
    n_tokens = parts["tools", "add", "parameters"]["n_tokens"]
    assert n_tokens > 10
    assert parts["tools", "add", "parameters"]["costs"][0]["cost"] == pytest.approx(
        n_tokens * 2.5e-6
    )


def test_the_cost_of_all_rows_is_the_sum(tokviz, file):
    path = file("rows.jsonl", *ROWS)

    def total(*options: object) -> int:
        done = tokviz("chat", path, "--cost", "--json", *QWEN, *options)
        return json.loads(done.text)["parts"][0]["n_tokens"]

    assert total() == sum(total("--row", row) for row in range(1, 7))
    bad = tokviz("chat", file("bad.json", [{"role": "function", "content": ""}]), "--cost", *QWEN)
    assert bad.code == 2 and "bad.json: row 1: message 1, key 'role'" in bad.err


def test_packing_compares_strategies(tokviz, tokviz_on_terminal, file):
    path = file("rows.jsonl", *ROWS, {"messages": turns("Hi " * 90, "Hello " * 90)})
    done = tokviz("chat", path, "--packing", 128, *QWEN)
    lines = done.text.splitlines()
    firsts = [line.split()[0] for line in lines[1:]]
    assert firsts == ["strategy", "none", "greedy", "bfd", "wrapped"]
    assert "█" not in done.text
    record = json.loads(tokviz("chat", path, "--packing", 128, "--json", *QWEN).text)
    none, _, best, wrapped = record["strategies"]
    assert (record["n_rows"], record["n_answers"], record["context"]) == (7, 7, 128)
    assert (none["n_windows"], none["n_cut_answers"], none["n_shared_windows"]) == (7, 1, 0)
    assert best["n_windows"] < 7 and best["n_lost_tokens"] == none["n_lost_tokens"] > 50
    assert wrapped["n_lost_tokens"] == 0 and wrapped["n_shared_windows"] > 0
    shown = tokviz_on_terminal("chat", path, "--packing", 128, *QWEN).decode().splitlines()
    assert re.fullmatch(r"bfd +█{60}", shown[-6])
    assert re.fullmatch(r"none +█+·+", shown[-12]) and len(shown[-12]) == 68


def test_statistics_in_text_and_json(tokviz, tokviz_on_terminal, file):
    path = file("rows.jsonl", *ROWS, {"messages": turns("Hi " * 900, "Hello")})
    done = tokviz("chat", path, "--stats", *QWEN)
    assert (done.code, done.err) == (0, "")
    record = json.loads(tokviz("chat", path, "--stats", "--json", *QWEN).text)
    assert record["learned"]["role"] == {"assistant": record["n_learned"]}
    assert {*record["learned"]["source"]} == {"a", "b", ""}
    assert record["learned"]["kind"]["end tokens"] == 7
    assert record["lengths"]["max"] == record["histogram"][-1]["to"] > 900
    assert sum(each["n_rows"] for each in record["histogram"]) == record["n_rows"] == 7
    assert f"{record['n_tokens']:,} tokens, {record['n_learned']:,} in the loss" in done.text
    assert f"source b {' ' * 9}" in done.text
    shown = tokviz_on_terminal("chat", path, "--stats", *QWEN).decode()
    assert "█" in shown and "█" not in done.text
    cut = json.loads(tokviz("chat", path, "--stats", "--json", "--max-tokens", 40, *QWEN).text)
    assert cut["n_tokens"] == record["n_tokens"] and cut["n_learned"] < record["n_learned"]
    one = json.loads(tokviz("chat", path, "--stats", "--json", "--row", 7, *QWEN).text)
    assert (one["n_rows"], one["lengths"]["p50"]) == (1, record["lengths"]["max"])


def test_rows_that_fail_are_reported_and_the_rest_is_counted(tokviz, file):
    done = tokviz("chat", file("a.jsonl", ROWS[0], "{", ROWS[1]), "--stats", "--json", *QWEN)
    assert done.code == 2
    assert json.loads(done.text)["n_rows"] == 2
    first, second = done.err.splitlines()
    assert "a.jsonl: line 2, column 2: this is not JSON" in first
    assert second.endswith("a.jsonl: 1 row not counted")
    empty = tokviz("chat", file("empty.jsonl"), "--packing", 9, *QWEN)
    assert empty.code == 2 and empty.text == "" and empty.err.count("\n") == 1


def test_nothing_in_the_loss_has_statistics_too(tokviz, file):
    done = tokviz("chat", file("a.json", turns("Hi")), "--stats", *QWEN)
    assert done.code == 0 and "0 in the loss" in done.text


def test_standard_input_is_read(tokviz):
    rows = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    assert "standard input: 6 rows" in tokviz("chat", "-", "--stats", *QWEN, stdin=rows).text
    assert tokviz("chat", "--packing", 50, "--workers", 1, *QWEN, stdin=rows).code == 0
    assert tokviz("chat", "--prefix", *QWEN, stdin=rows).code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stats", "--mask"], "print one report at a time, as text or JSON"),
        (["--cost", "--html"], "print one report at a time, as text or JSON"),
        (["--stats", "--lint"], "print one report at a time, as text or JSON"),
        (["--mask", "--row", "1", "--row", "2"], "--row is given twice"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message, file, capsys):
    assert main(["chat", str(file("a.json", turns("a"))), *options]) == 2
    assert message in capsys.readouterr().err


def test_controls_never_reach_the_terminal(tokviz_on_terminal, file):
    evil = "\x1b[31m\u202e\x07"
    tool = {"type": "function", "function": {"name": evil, "description": evil, "parameters": {}}}
    rows = [
        {"messages": turns(f"{evil}{n}", evil), "tools": [tool], "source": evil} for n in (1, 2)
    ]
    path = file("a.jsonl", *rows)
    for options in (["--prefix"], ["--cost"], ["--packing", "9"], ["--stats"]):
        shown = tokviz_on_terminal("chat", path, *options, "-t", "qwen2", "--template", "qwen")
        assert b"\x1b[31m" not in shown and b"\x07" not in shown
        assert os.linesep.encode() in shown and "\u202e".encode() not in shown


def test_variables_and_special_tokens_are_chosen_as_for_the_mask(tokviz, file):
    template = file("t.jinja", "{{ style }}{% for m in messages %}{{ m.content }}{% endfor %}")
    rows = file("a.jsonl", turns("Hi <|im_end|>", "Hello"), turns("Hi <|im_end|>", "Hello"))

    def n_tokens(*options: object) -> int:
        done = tokviz(
            "chat", rows, "--stats", "--json", "-t", "qwen2", "--template", template, *options
        )
        assert (done.code, done.err) == (0, "")
        return json.loads(done.text)["n_tokens"]

    assert n_tokens("--specials", "content-as-text") > n_tokens()
    assert n_tokens("--set", 'style="Be brief."') > n_tokens()
    unread = tokviz("chat", rows, "--cost", "--template", template, "--set", "other=1")
    assert unread.code == 2 and "does not read the variable 'other'" in unread.err
