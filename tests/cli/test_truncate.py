from __future__ import annotations

import random
import subprocess
import sys

import pytest

import tokviz as package
from tokviz.cli import truncate
from tokviz.live import text_blocks
from tokviz.text import bytetext

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


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base", "qwen2"])
@pytest.mark.parametrize("block_chars", [7, 1 << 18])
def test_the_result_is_a_part_of_the_text_that_fits(name, block_chars):
    tokenizer, chance = package.load(name), random.Random(name)
    for _ in range(150):
        text = "".join(chance.choices(PARTS, k=chance.randrange(1, 40)))
        if tokenizer.changes(text):
            continue
        n_tokens = len(tokenizer.encode_byte_text(text, True))
        most = chance.randrange(n_tokens + 2)
        for cut in (truncate.first_tokens, truncate.last_tokens):
            blocks = text_blocks.text_blocks(
                [bytetext.to_bytes(text)],
                tokenizer,
                parse_specials=True,
                counts=text_blocks.InputCounts(),
                block_chars=block_chars,
            )
            part = "".join(cut(blocks, most, tokenizer, True))
            assert len(tokenizer.encode_byte_text(part, True)) <= most
            assert text.startswith(part) if cut is truncate.first_tokens else text.endswith(part)
            assert part == text or most < n_tokens


def test_an_endless_pipe_is_read_only_as_far_as_necessary():
    command = f"yes | {sys.executable} -m tokviz truncate 4"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"y\ny\n", b"")


def test_a_missing_file_is_an_error(tokviz):
    assert tokviz("truncate", "2", "no.txt").code == 2
    assert tokviz("truncate", "many").code == 2
