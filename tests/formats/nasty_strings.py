"""2,000 strings on which built-in tokenizers are compared with reference libraries.

The expected ids are in `reference_ids.json`, as checksums; `tests/robustness/reference_ids.py`
makes them. Changing anything here means making them again.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Sequence

_WORDS = (
    "😀 \ufeff \u200b \u202e \u200d 👩‍👩‍👧‍👦 👍🏽 1️⃣ 🇩🇪 🏳️‍🌈 "
    "caf\u00e9 cafe\u0301 e\u0301\u0323 \u212b ﬁ \u1100\u1161 "
    "日本語テスト 中文，标点。 안녕하세요 مرحبا हिन्दी ไทย Tiếng Việt ｶﾞ 〇々 𠀀𪛟 \U000323af "
    "the Hello world 's 'LL 're DON'T it's ing camelCaseWord snake_case HTTPServer "
    "12345678 3.14 2026-11-28 ... // !!!??? https://x.y/z?a=b <b> [x] (y) $1 50% #tag @me"
)
PARTS = [
    *" \n\t\r'a1S.,/!?-éÉ你。\u0301\u3000\u00a0\x85\u2028\x1c\x0b\x0c\0ſKıİ½²①_`|<>{}",
    *_WORDS.split(" "),
    *[" the", "  ", "\n\n", " \n", "\r\n", "\r\n\r\n", "1234 567", " " * 40, "\t\t\n\n", "a" * 300],
    *["def f(x):\n    return x", "<think>ok</think>", "<|nothing|>user\n", '{"a": [1, 2]}'],
]


def strings(special_tokens: Sequence[str], n: int = 2000) -> list[str]:
    """Return n strings, which contain some of the special tokens."""
    # Only the method `random` gives the same numbers in every version of Python.
    rnd = random.Random(49)

    def below(n: int) -> int:
        return int(rnd.random() * n)

    def part() -> str:
        kind = rnd.random()
        if kind < 0.06 and special_tokens:
            return special_tokens[below(len(special_tokens))]
        if kind < 0.12:
            code = below(0x11000) if rnd.random() < 0.7 else below(0x33000)
            return "" if 0xD800 <= code < 0xE000 else chr(code)
        return " " * (kind < 0.3) + PARTS[below(len(PARTS))]

    return ["".join(part() for _ in range(1 + below(12))) for _ in range(n)]


def checksum(encode: Callable[[str], Iterable[int]], texts: Sequence[str]) -> str:
    """Return a checksum of the ids of texts."""
    return hashlib.sha256(json.dumps([[*encode(text)] for text in texts]).encode()).hexdigest()
