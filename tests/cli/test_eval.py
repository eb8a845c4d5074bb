from __future__ import annotations

import json

import tokviz as package
from tokviz.compare.report import SAMPLES, parallel_texts


def test_each_text_has_a_line_for_each_tokenizer_and_the_references(tokviz):
    done = tokviz("eval", "-t", "gpt-4o")
    assert (done.code, done.err) == (0, "")
    lines = done.text.splitlines()
    start = lines.index("news, Korean (1,270 bytes)")
    own, gpt2, gpt4 = (line.split() for line in lines[start + 1 : start + 4])
    assert own == ["o200k_base", "326", "3.90", "best"]
    assert gpt2 == ["gpt2", "1,101", "1.15", "+237.7%"]
    assert gpt4[0] == "cl100k_base"
    english = next(line for line in lines if line.startswith("English"))
    assert english.split()[2:] == ["1.00"] * 3
    assert lines[-1].startswith("mean")
    first_language = next(n for n, line in enumerate(lines) if "relative to English" in line) + 2
    costs = [float(line.split()[-3]) for line in lines[first_language:-1]]
    assert len(costs) == 32 and costs == sorted(costs)
    assert "█" not in done.text


def test_a_reference_that_is_asked_for_stands_once_and_where_it_was_asked(tokviz):
    record = json.loads(tokviz("eval", "-t", "gpt-4", "-t", "qwen2", "--json").out)
    names = [one["name"] for one in record["texts"][0]["tokenizers"]]
    assert names == ["cl100k_base", "qwen2", "gpt2"]


def test_files_stand_beside_the_texts_and_in_the_sum(tokviz, tmp_path):
    own = tmp_path / "own.txt"
    own.write_bytes(b"caf\xff <|endoftext|>" * 50)
    done = tokviz("eval", "--samples", "--json", own, tmp_path / "no.txt", "-", stdin=b"hello")
    assert done.code == 2
    assert "no.txt: there is no such file" in done.err
    record = json.loads(done.out)
    texts = [one["text"] for one in record["texts"]]
    assert texts == [*SAMPLES, str(own), "standard input", "all texts"]
    assert record["texts"][-3]["n_bytes"] == 18 * 50
    for number in (0, 1):
        *each, all_texts = (one["tokenizers"][number]["n_tokens"] for one in record["texts"])
        assert all_texts == sum(each)
    assert [one["language"] for one in record["languages"]] == list(parallel_texts())
    english = record["languages"][0]["tokenizers"]
    hindi = next(one for one in record["languages"] if one["language"] == "Hindi")["tokenizers"]
    assert hindi[0]["relative"] == hindi[0]["n_tokens"] / english[0]["n_tokens"]


def test_scripts_add_up_to_the_sum_of_all_texts(tokviz, tmp_path):
    own = tmp_path / "own.txt"
    own.write_bytes("чай <|endoftext|> 茶".encode() + b"\xff")
    record = json.loads(tokviz("eval", "--samples", "--by-script", "--json", own).out)
    everything, scripts = record["texts"][-1], record["scripts"]
    n_chars = [one["n_chars"] for one in scripts]
    assert scripts[0]["script"] == "Latin" and n_chars == sorted(n_chars, reverse=True)
    assert sum(one["n_bytes"] for one in scripts) == everything["n_bytes"]
    for number, tokenizer in enumerate(everything["tokenizers"]):
        assert sum(one["n_tokens"][number] for one in scripts) == tokenizer["n_tokens"]
    lines = tokviz("eval", "--by-script").text.splitlines()
    heads = lines.index("")
    assert any(line.split()[:2] == ["script", "chars"] for line in lines[heads:])


def test_bars_are_drawn_on_a_terminal_only(tokviz_on_terminal):
    drawn = tokviz_on_terminal("eval").decode()
    korean = drawn[drawn.index("news, Korean") :].splitlines()
    assert 1.9 < korean[1].count("█") / korean[2].count("█") < 2.1, "1,101 tokens and 541"


def test_markdown_is_two_tables(tokviz):
    lines = tokviz("eval", "--markdown").text.splitlines()
    assert lines[:2] == [
        "| text | bytes | gpt2 | cl100k_base | best |",
        "|---|---:|---:|---:|---:|",
    ]
    assert "| English | 1,043 | 1.00 | 1.00 |" in lines


def test_a_trained_tokenizer_is_measured_and_one_that_changes_text_said(tokviz, tmp_path):
    package.train(["abab" * 9], 258).save(tmp_path / "mine")
    (tmp_path / "n.txt").write_text("e\u0301")
    done = tokviz("eval", "-t", "qwen2", "-t", tmp_path / "mine", tmp_path / "n.txt")
    assert done.code == 0
    assert "note: qwen2 changes the texts marked *" in done.err
    assert f"  {tmp_path / 'mine'} " in done.text


def test_the_nanochat_table_compares_the_first_tokenizer_with_each_other(tokviz, tmp_path):
    (tmp_path / "own.txt").write_text("the " * 30)
    files = (tmp_path / "own.txt",)
    done = tokviz("eval", "-t", "gpt-4o", "--table", "nanochat", "--samples", *files)
    assert (done.code, done.err) == (0, "")
    gpt2, gpt4 = done.text.removesuffix("\n").split("\n\n", 1)
    for table, name in ((gpt2, "gpt2"), (gpt4, "cl100k_base")):
        title, heads, columns, *rows = table.strip().splitlines()
        assert title == f"Comparison with {name}:"
        assert heads.split() == ["Text", "type", "Bytes", name, "o200k_base", "Relative", "Better"]
        assert columns.split() == ["Tokens", "Ratio", "Tokens", "Ratio", "Diff", "%"]
        assert len(rows) == len(SAMPLES) + 2
    korean = next(line for line in gpt2.splitlines() if line.startswith("news, Korean"))
    # (1,101 - 326) / 1,101, as in tok_eval: the share of the other's tokens that ours saves.
    assert korean.split()[2:] == ["1,270", "1,101", "1.15", "326", "3.90", "+70.4%", "o200k_base"]
    python = next(line for line in gpt4.splitlines() if line.startswith("code, Python"))
    assert python.split()[-2:] == ["-1.2%", "cl100k_base"]
    own = next(line for line in gpt4.splitlines() if line.startswith(str(files[0])))
    assert own.split()[-2:] == ["+0.0%", "Tie"]
    assert tokviz("eval", "--table", "nanochat", "--json").code == 2


def test_a_folder_is_one_text_and_the_samples_are_left_out(tokviz, tmp_path):
    (tmp_path / "a.txt").write_text("hello world")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/b.txt").write_text(" hello")
    (tmp_path / "c.bin").write_bytes(b"\0\xff" * 9)
    done = tokviz("eval", "--json", tmp_path)
    assert done.code == 0 and "1 binary file skipped" in done.err
    (text,) = json.loads(done.out)["texts"]
    assert (text["text"], text["n_bytes"]) == (str(tmp_path), 17)
    assert text["tokenizers"][0]["n_tokens"] == 3
    assert not json.loads(done.out)["languages"]
    lines = tokviz("eval", tmp_path, tmp_path / "a.txt").text.splitlines()
    heads = [line for line in lines if line.endswith("bytes)")]
    sizes = [(tmp_path, 17), (tmp_path / "a.txt", 11), ("all texts", 28)]
    assert heads == [f"{name} ({size} bytes)" for name, size in sizes]
    assert "Declaration" not in tokviz("eval", "--markdown", tmp_path).text
