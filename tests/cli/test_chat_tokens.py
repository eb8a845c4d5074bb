"""`tokviz chat` for files of token ids."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tokviz as library
from tokviz.cli.main import main

GPT2 = library.load("gpt2")
END = 50256
ROW = {"input_ids": [*GPT2.encode("Hi you"), END], "labels": [-100, *GPT2.encode(" you"), END]}


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    broken = {**ROW, "labels": [-100, -100, -100]}
    path.write_text("".join(json.dumps(row) + "\n" for row in (ROW, broken, {"input_ids": "?"})))
    return path


def test_the_mask_of_ids_is_shown_as_text(tokviz, rows):
    done = tokviz("chat", rows, "-t", "gpt2", "--row", 1)
    assert done.code == 0
    assert done.text.splitlines() == [
        "# line 1, 3 tokens, 2 in the loss (67%), 1 document, mask from labels.",
        "Hi[ you][<|endoftext|>]",
    ]


def test_each_row_of_ids_is_one_object(tokviz, rows):
    first, _, third = map(
        json.loads, tokviz("chat", rows, "--json", "-t", "gpt2").text.split("\n")[:-1]
    )
    assert first["ids"] == ROW["input_ids"]
    assert (first["text"], first["mask"]) == ("Hi you<|endoftext|>", [0, 1, 1])
    assert (first["documents"], first["mask_source"], first["row"]) == ([0], "labels", 1)
    assert "must be a list of integers" in third["error"]


def test_rows_of_ids_are_checked(tokviz, rows):
    done = tokviz("chat", rows, "--lint", "-t", "gpt2")
    assert done.code
    assert [line.rsplit("[", 1)[-1] for line in done.text.splitlines()[:-1]] == [
        "error: all-masked]",
        "error: unreadable]",
    ]
    assert done.text.endswith("3 rows, 2 findings in 2 rows\n")
    ignored = tokviz("chat", rows, "--lint", "-t", "gpt2", "--ignore", "all-masked", "--row", 2)
    assert ignored.code == 0
    [finding] = map(
        json.loads,
        tokviz("chat", rows, "--lint", "--json", "-t", "gpt2", "--row", 2).text.splitlines(),
    )
    assert (finding["code"], finding["row"]) == ("all-masked", 2)


def test_documents_of_raw_ids_are_separated_and_a_guess_is_said(tokviz, tmp_path):
    path = tmp_path / "train.bin"
    path.write_bytes(np.array(ROW["input_ids"] * 20, np.uint16).tobytes())
    shown = tokviz("chat", path, "-t", "gpt2", "--max-tokens", 6, "--row", 1).text.splitlines()
    assert shown[0].startswith("# tokens 1 to 6, 6 tokens, 6 in the loss (100%), 2 documents")
    assert shown[0].endswith("read as uint16, which is a guess: set their type with --dtype.")
    assert shown[1:] == [
        "[Hi][ you][<|endoftext|>]",
        "-- document 2, token #3",
        "[Hi][ you][<|endoftext|>]",
    ]
    set_type = tokviz("chat", path, "-t", "gpt2", "--dtype", "uint16", "--row", 1)
    assert "guess" not in set_type.text
    assert "which is a guess" in tokviz("chat", path, "-t", "gpt2", "--lint").err


def test_ids_make_no_page(tokviz, rows):
    done = tokviz("chat", rows, "-t", "gpt2", "--html")
    assert done.code and "only conversations make a page" in done.err


def test_controls_in_ids_never_reach_the_terminal(tokviz_on_terminal, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"input_ids": GPT2.encode("a\x1b[31mb\x07")}) + "\n")
    for options in (["--mask"], ["--lint"], ["--json"]):
        shown = tokviz_on_terminal("chat", path, "-t", "gpt2", *options)
        assert b"\x1b[31m" not in shown and b"\x07" not in shown


def test_workers_print_the_same(rows, capfd):
    texts = []
    for more in ([], ["--workers", "1"]):
        main(["chat", str(rows), "-t", "gpt2", "--mask", *more])
        texts.append(capfd.readouterr().out)
    assert texts[0] == texts[1] != ""
