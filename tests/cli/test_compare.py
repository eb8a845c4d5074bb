from __future__ import annotations

import json

from tokviz.cli.output import plain_table


def test_a_table_and_the_first_disagreements_with_their_causes(tokviz):
    done = tokviz("compare", "-t", "gpt2", "-t", "gpt-4", stdin=b"x.append(1)")
    table, _, found = done.text.partition("\n\n")
    _, first, second = table.splitlines()
    assert first.split() == ["gpt2", "6", "1.83", "1.83", "6.00"]
    assert second.split() == ["cl100k_base", "5", "2.20", "2.20", "5.00", "-16.7%"]
    assert found.splitlines()[:4] == [
        "1 disagreement (split 1)",
        "line 1, column 2: .append",
        "  gpt2         . append",
        "  cl100k_base  .append",
    ]
    assert "  split: gpt2 (pattern gpt2) has 2 pre-tokens . (punctuation" in found


def test_json_says_the_same(tokviz, tmp_path):
    (tmp_path / "a.txt").write_text("\u00e9 \nx.append(1)")
    done = tokviz("compare", "--json", "-t", "gpt2", "-t", "gpt-4", tmp_path / "a.txt")
    record = json.loads(done.out)
    assert [one["n_tokens"] for one in record["tokenizers"]] == [9, 7]
    _, found = record["disagreements"]
    assert (found["bytes"], found["text"], found["cause"]) == ([5, 12], ".append", "split")
    assert found["ids"][1] == [2102]
    assert record["causes"] == {"split": 2}


def test_scripts_are_told_apart_in_every_form(tokviz):
    asked = ("compare", "--text", "tea чай", "-t", "gpt2", "-t", "gpt-4o", "--by-script")
    rows = [line.split() for line in tokviz(*asked).text.splitlines()[4:7]]
    assert rows[0] == ["script", "chars", "gpt2", "o200k_base"]
    assert rows[1:] == [["Latin", "4", "1.33", "4.00"], ["Cyrillic", "3", "0.60", "3.00"]]
    assert "| Latin | 4 | 1.33 | 4.00 |" in tokviz(*asked, "--markdown").text
    scripts = json.loads(tokviz(*asked, "--json").out)["scripts"]
    assert [(one["script"], one["n_tokens"]) for one in scripts] == [
        ("Latin", [3, 1]),
        ("Cyrillic", [5, 1]),
    ]


def test_markdown_escapes_what_would_end_a_cell(tokviz, tmp_path):
    done = tokviz("compare", "--markdown", stdin=b"hello")
    assert done.text.splitlines()[1] == "|---|---:|---:|---:|---:|---:|"
    assert done.text.splitlines()[-2] == "All produce the same tokens."


def test_one_tokenizer_is_not_enough_and_two_are_too_many_elsewhere(tokviz):
    done = tokviz("compare", "-t", "gpt2", stdin=b"x")
    assert (done.code, done.out) == (2, b"")
    assert "a comparison needs two tokenizers" in done.err
    done = tokviz("encode", "-t", "gpt2", "-t", "gpt-4", stdin=b"x")
    assert (done.code, done.out) == (2, b"")
    assert "`tokviz compare` takes several" in done.err


def test_bytes_that_are_not_utf8_and_controls_are_shown_safely(tokviz):
    done = tokviz("compare", stdin=b"\x1b[31m\xff caf\xc3\xa9.x")
    assert done.code == 0
    assert b"\x1b" not in done.out


def test_a_text_may_be_given_itself(tokviz):
    shown = tokviz("compare", "--text", "x.append(1)")
    assert shown.out == tokviz("compare", stdin=b"x.append(1)").out
    assert json.loads(tokviz("compare", "--json", "--text", "x.append(1)").out)["file"] is None


def test_names_are_aligned_to_the_left_and_numbers_to_the_right():
    rows = [("", "tokens"), ("gpt2", "7"), ("你好", "1,000,000")]
    assert list(plain_table(rows)) == ["         tokens", "gpt2          7", "你好  1,000,000"]


def test_a_folder_is_one_text_and_several_get_a_total(tokviz, tmp_path):
    (tmp_path / "a.txt").write_text("x.append(1)")
    (tmp_path / "b.txt").write_text("Unbelievable")
    asked = ("compare", "-t", "gpt2", "-t", "gpt-4")
    lines = tokviz(*asked, tmp_path).text.splitlines()
    assert [line.split()[1] for line in lines[1:3]] == ["10", "8"]
    assert lines[4] == "2 disagreements (split 1, merges 1)"
    assert [line for line in lines if ", line 1" in line] == [
        f"{tmp_path}/a.txt, line 1, column 2: .append",
        f"{tmp_path}/b.txt, line 1, column 3: believable",
    ]
    lines = tokviz(*asked, tmp_path, tmp_path / "a.txt").text.splitlines()
    start = lines.index("total")
    assert [line.split()[1:3] for line in lines[start + 2 :]] == [["16", "2.12"], ["13", "2.62"]]


def test_documents_of_json_lines_are_compared_one_by_one(tokviz, tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"t": "x.append(1)"}\n{"t": "Unbelievable"}\n')
    asked = ("compare", "-t", "gpt2", "-t", "gpt-4", "--field", "t", file)
    assert [line.split()[1] for line in tokviz(*asked).text.splitlines()[1:3]] == ["10", "8"]
    records = [json.loads(line) for line in tokviz(*asked, "--json").text.splitlines()]
    assert [one["n_disagreements"] for one in records] == [1, 1]
