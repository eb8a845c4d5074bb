"""The documents of the benchmarks: made from what is installed, the same on every run."""

from __future__ import annotations

import functools
import itertools
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import rich
import textual
from _terminal import PROJECT

PHRASES = (
    "你好,世界。分词器把文本切成片段,每个片段都有一个编号。",
    "日本語のテキストも、ひらがなとカタカナと漢字が混ざっています。",
    "한국어 문장은 띄어쓰기가 있지만 토큰은 글자를 나누기도 합니다.",
    "مرحبا بالعالم، هذا نص من اليمين إلى اليسار مع أرقام 12345.",
    "שלום עולם, זה טקסט בעברית עם English באמצע.",
    "Emoji: 🤖🎉 👩‍👩‍👧‍👦 👍🏽 🇩🇪 1️⃣ ❤️ and café, naïve, Ångström, ﬁ, e\u0301.",
    "Zażółć gęślą jaźń; съешь ещё этих мягких французских булок; ξεσκεπάζω την ψυχοφθόρα.",
    "ไทยไม่มีช่องว่างระหว่างคำ और हिन्दी में संयुक्ताक्षर होते हैं।",
)
SOURCE_LINES_PER_PHRASE = 30
_UNITS = {"K": 1_000, "M": 1_000_000}
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), 127])


def parse_size(label: str) -> int:
    """Return the bytes that a label such as `100K` or `1M` stands for."""
    unit = _UNITS.get(label[-1:].upper())
    return int(label) if unit is None else int(float(label[:-1]) * unit)


def mixed_text(n_bytes: int) -> str:
    """Return about `n_bytes` of UTF-8: program source, every 30 lines a line of another script.

    Ends with a newline. Holds no control character but tab and newline, no special token and no
    lone surrogate, so that a paste and a file of it are the same document.
    """
    parts: list[bytes] = []
    missing = n_bytes - 1
    for line in _mixed_lines():
        parts.append(line.encode()[:missing])
        missing -= len(parts[-1])
        if not missing:
            return b"".join(parts).decode(errors="ignore") + "\n"
    raise AssertionError("the lines have no end")


def word_line(n_bytes: int) -> str:
    """Return one line of ASCII words."""
    words = " ".join(word for line in _source_lines() for word in line.split() if word.isascii())
    return "".join(itertools.repeat(words + " ", n_bytes // len(words) + 1))[:n_bytes]


def cjk_line(n_bytes: int) -> str:
    """Return one line of Chinese and Japanese characters, three bytes each."""
    characters = [c for c in "".join(PHRASES[:2]) if len(c.encode()) == 3]
    return "".join(random.Random(2).choices(characters, k=n_bytes // 3))


def equal_line(n_bytes: int) -> str:
    """Return one line of the same letter."""
    return "a" * n_bytes


LINES = {"words": word_line, "CJK": cjk_line, "equal": equal_line}
"""Makers of single lines by name."""


def count_tokens(path: Path) -> int:
    """Return the tokens of a UTF-8 file in a process of its own, as the app must count them."""
    program = (
        "import sys, tokviz; text = open(sys.argv[1], encoding='utf-8', newline='').read();"
        "print(len(tokviz.load('cl100k_base').encode(text)))"
    )
    command = [sys.executable, "-c", program, str(path)]
    finished = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    return int(finished.stdout)


def _mixed_lines() -> Iterator[str]:
    """Yield lines without end."""
    phrases = itertools.cycle(PHRASES)
    for number, line in enumerate(itertools.cycle(_source_lines()), 1):
        yield line
        if number % SOURCE_LINES_PER_PHRASE == 5:
            yield next(phrases) + "\n"


@functools.cache
def _source_lines() -> list[str]:
    folders = [Path(module.__file__ or "").parent for module in (textual, rich)]
    folders.append(Path(os.__file__).parent)
    files = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    files[0:0] = sorted(folders[0].glob("widgets/*.py"))
    texts = (path.read_text(encoding="utf-8", errors="ignore") for path in files)
    lines = (line for text in texts for line in text.translate(_CONTROLS).split("\n"))
    return [line + "\n" for line in lines if "<|" not in line]
