from __future__ import annotations

import random
import subprocess
import sys

import pytest

import tokviz as package
from tokviz.cli import truncate
from tokviz.cli.main import main

PARTS = [
    *(
        "a",
        " ",
        "\n",
        "\r\n",
        "你好",
        "🙂",
        "👩\u200d👩",
        "e\u0301",
        "<|endoftext|>",
        "123",
        "\udcff",
    ),
    *("\udcff", "hello", "   ", "_", "'s", "\0", "unbelievable", "ﬁ", "\u2028"),
]


def test_the_first_and_the_last_tokens(tokviz):
    text = b"one two three four"
    assert tokviz("truncate", "2", stdin=text).out == b"one two"
    assert tokviz("truncate", "2", "--from-end", stdin=text).out == b" three four"
    assert tokviz("truncate", "0", stdin=text).out == b""
    assert tokviz("truncate", "99", "--from-end", stdin=text).out == text


def test_a_character_is_never_cut(tokviz, tmp_path):
    file = tmp_path / "a"
    file.write_text("世界")  # 世 has two tokens
    assert tokviz("truncate", "1", file).out == b""
    assert tokviz("truncate", "2", file).text == "世"
    assert tokviz("truncate", "--from-end", "2", file).text == "界"


@pytest.mark.parametrize("from_end", [False, True])
@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base", "qwen2"])
def test_a_part_of_any_text_fits(name, from_end):
    tokenizer, chance = package.load(name), random.Random(name)
    for _ in range(400):
        text = "".join(chance.choices(PARTS, k=chance.randrange(1, 40)))
        if tokenizer.byte_text.changes(text):
            continue
        n_tokens = len(tokenizer.byte_text.encode(text, True))
        most = chance.randrange(n_tokens + 1)
        part = truncate.part_of(text, most, tokenizer, True, from_end)
        assert len(tokenizer.byte_text.encode(part, True)) <= most
        assert text.endswith(part) if from_end else text.startswith(part)
        assert part == text or most < n_tokens


@pytest.mark.parametrize("options", [(), ("--from-end",)])
def test_a_long_text_is_cut_in_blocks(options, tmp_path, capfdbinary):
    words = [f"word{number} " for number in range(120_000)]
    (tmp_path / "a").write_text("".join(words))
    tokenizer = package.load("gpt2")
    n_all = len(tokenizer.encode("".join(words)))
    assert main(["truncate", str(n_all - 5), "-t", "gpt2", *options, str(tmp_path / "a")]) == 0
    part = capfdbinary.readouterr().out.decode()
    assert n_all - 8 <= len(tokenizer.encode(part)) <= n_all - 5
    assert "".join(words).endswith(part) if options else "".join(words).startswith(part)


def test_an_endless_pipe_is_read_only_as_far_as_necessary():
    command = f"yes | {sys.executable} -m tokviz truncate 4"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"y\ny\n", b"")


def test_a_missing_file_is_an_error(tokviz):
    assert tokviz("truncate", "2", "no.txt").code == 2
    assert tokviz("truncate", "many").code == 2
