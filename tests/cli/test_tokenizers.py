from __future__ import annotations

import json

from tokviz.formats.registry import builtin_names


def test_every_tokenizer_is_a_line_that_begins_with_its_name(tokviz):
    lines = tokviz("tokenizers").text.splitlines()
    assert [line.split()[:2] for line in lines] == [
        [builtin.name, str(builtin.n_vocab)] for builtin in builtin_names()
    ]
    assert all(
        alias in line
        for line, builtin in zip(lines, builtin_names(), strict=True)
        for alias in builtin.aliases
    )


def test_json_says_everything_about_each(tokviz):
    records = [json.loads(line) for line in tokviz("tokenizers", "--json").text.splitlines()]
    gpt2 = next(record for record in records if record["name"] == "gpt2")
    assert gpt2["special_tokens"] == {"<|endoftext|>": 50256}
    assert gpt2["n_vocab"] == 50257
    assert gpt2["split_pattern"] == "gpt2"
    assert "r50k_base" in gpt2["aliases"]
    assert len(records) == len(builtin_names())


def test_every_name_listed_is_taken(tokviz):
    for builtin in builtin_names():
        for name in (builtin.name, *builtin.aliases[:1]):
            assert tokviz("count", "-t", name, stdin=b"hello").code == 0
