from __future__ import annotations

import ast
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

import pytest

import tokviz
from tokviz.chat.templates import TEMPLATES
from tokviz.guide.glossary import glossary, word_at, words_in
from tokviz.guide.lessons import Lesson, lessons
from tokviz.training.replay.replay import Replay
from tokviz.training.settings import N_BYTES

GPT4, GPT2 = tokviz.load("cl100k_base"), tokviz.load("gpt2")


def texts(tokenizer: tokviz.Tokenizer, text: str) -> str:
    return ", ".join(tokenizer.decode([token]) for token in tokenizer.encode(text))


def n_pre_tokens(tokenizer: tokviz.Tokenizer, text: str) -> int:
    return len(tokenizer.tokenize(text).pre_tokens)


def first_step(lesson: Lesson):
    return Replay.open(lesson.ready()).step(1)


def examples() -> dict[str, str]:
    """Return every example that has a number, written with the numbers that the code computes."""
    cs336, minbpe = lessons()["cs336"], lessons()["minbpe"]
    first, newest = first_step(cs336), "newest"
    sizes = [len(character.encode()) for character in "eé漢🎉"]
    year = "It's 1984!"
    river, end, kinds = "the river and the rain", "<|endoftext|>", "é漢🎉"
    assert GPT2.decode(GPT2.encode(kinds)) == kinds
    assert GPT2.merges[0] == (b" ", b"t") and first.token == b"st"
    assert Replay.open(minbpe.ready()).tokenizer.merges[0] == (b"a", b"a")
    pair = ", ".join(" ".join(both) for both in pairwise(newest))
    return {
        "token": f"cl100k_base reads “unbelievable” as {len(GPT4.encode('unbelievable'))} tokens: "
        f"{texts(GPT4, 'unbelievable')}. With a leading space, it is "
        f"{len(GPT4.encode(' unbelievable'))}.",
        "id": f"The id of “ the” is {GPT4.encode(' the')[0]} in cl100k_base and "
        f"{GPT2.encode(' the')[0]} in gpt2.",
        "vocabulary": f"gpt2 has {GPT2.n_vocab:,} tokens: {N_BYTES} single bytes, "
        f"{len(GPT2.merges):,} merges and {len(GPT2.special_tokens)} special token.",
        "byte": "“e” is {} byte, “é” {}, “漢” {}, “🎉” {}.".format(*sizes),
        "character": f"“漢” is {len('漢')} character and {len(GPT4.encode('漢'))} tokens in "
        "cl100k_base.",
        "pre-token": f"cl100k_base cuts “{year}” into {n_pre_tokens(GPT4, year)} pre-tokens: It, "
        "'s, the space, 198, 4, !",
        "split pattern": f"“1984” is {n_pre_tokens(GPT2, '1984')} pre-token for gpt2's pattern, "
        f"and {n_pre_tokens(GPT4, '1984')} for that of cl100k_base, which takes at most 3 digits.",
        "byte pair encoding": f"The lesson “{cs336.title}” does it {len(cs336.merges)} times, "
        "until each word is 1 token.",
        "byte fallback": "Llama 2 has no token for “𓀀”, so it encodes it as "
        f"{' '.join(f'<0x{byte:02X}>' for byte in '𓀀'.encode())}.",
        "log-probability": "“▁un” −7.2 and “able” −6.3 together have "
        f"−{7.2 + 6.3:.1f}.",
        "pair": f"The bytes of “newest” form {len(newest) - 1} pairs: {pair}.",
        "merge": "Merge 1 of gpt2 makes “ t” from a space and “t”.",
        "rank": f"In cl100k_base, “ the” has rank {GPT4.rank(GPT4.encode(' the')[0])} and is made "
        f"by merge {Replay.open(GPT4).tokenizer.merge_number(GPT4.encode(' the')[0])}, because the "
        f"{N_BYTES} single bytes have ranks too.",
        "position": f"In “{river}”, #{len(GPT4.encode(river)) - 1} is the last of "
        f"{len(GPT4.encode(river))} tokens in cl100k_base.",
        "count": f"In the lesson “{cs336.title}” the first merge has the count {first.count} = "
        "6 × newest + 3 × widest.",
        "tie": f"The lesson “{cs336.title}” starts with a tie of {first.n_tied} pairs: “e s” "
        f"and “s t” both occur {first.count} times.",
        "replaced": "In aaab “a a” has the count 2, and is replaced once.",
        "candidate": "One of the 10 candidates on the Replay screen is marked: it is merged next.",
        "corpus": f"The lesson “{minbpe.title}” has a corpus of {len(minbpe.corpus)} bytes.",
        "bytes per token": f"“{river}” is {len(river)} bytes and {len(GPT4.encode(river))} tokens "
        f"in cl100k_base: {len(river) / len(GPT4.encode(river)):.2f} bytes per token.",
        "special token": f"“{end}” is {len(GPT4.encode(end))} token, {GPT4.encode(end)[0]} in "
        f"cl100k_base; as plain text it is {len(GPT4.encode(end, 'none'))}.",
        "lossless": f"gpt2 decodes the {len(GPT2.encode(kinds))} tokens of “{kinds}” to the same "
        f"{len(kinds.encode())} bytes.",
        "normalization": f"“é” may be {len(normalize('NFC', 'é'))} character or "
        f"{len(normalize('NFD', 'é'))}; NFC makes it {len(normalize('NFC', 'é'))}.",
        "lineage": "“est” of the lesson “low, lower, widest, newest” is e + st, and st is s + t.",
        "loss mask": "In a chat, answers have mask 1 and questions have mask 0.",
        "template": "ChatML begins a message with “<|im_start|>” and the role.",
        "disagreement": f"On “1984” gpt2 and cl100k_base disagree: {len(GPT2.encode('1984'))} "
        f"token and {len(GPT4.encode('1984'))}.",
    }  # fmt: skip


def test_every_number_of_an_example_is_what_the_code_says() -> None:
    known = examples()
    for entry in glossary().values():
        assert entry.say.endswith(".") and entry.example, entry.name
        if entry.name in known or re.search(r"\d", entry.example):
            assert entry.example == known[entry.name]
    assert "<|im_start|>" in TEMPLATES["chatml"].special_tokens


@cache
def shown_words() -> set[str]:
    """Return the glossary terms in the strings of the screens."""
    house = Path(tokviz.__file__).parent
    found: set[str] = set()
    for path in [
        *house.glob("tui/**/*.py"),
        *house.glob("explain/**/*.py"),
        *house.glob("replay/*.py"),
    ]:
        module = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(module):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {name for _, _, name in words_in(node.value)}
    return found


@pytest.mark.parametrize("name", glossary())
def test_a_word_of_the_glossary_is_used_on_a_screen(name: str) -> None:
    assert name in shown_words()


def test_the_longest_word_at_a_place_is_found_in_any_case_and_form() -> None:
    assert word_at("Split patterns", 3) == "split pattern"
    assert word_at("1.9 bytes/token", 5) == "bytes per token"
    assert word_at("a byte of it", 3) == "byte"
    assert word_at("tokenizer", 2) == word_at("pair_rank", 6) == word_at("no", 5) == ""
