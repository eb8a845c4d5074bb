"""Text that has broken tokenizers before."""

from __future__ import annotations

from hypothesis import strategies as st

from tokviz.text import bytetext

EVERY_CODE_POINT = [
    *range(0x34000),
    *range(0x34000, 0xE0000, 89),  # planes that hold no character, and will not soon
    *range(0xE0000, 0xE1000),
    *range(0xE1000, 0x110000, 89),  # private-use characters are all of one kind
    *range(0xFFFF, 0x110000, 0x10000),
]

FRAGMENTS = [
    *" \n\t\r'a1S.,/!?-éÉ你。\u0301\u3000\u00a0\x85\u2028\x1c\x0b\x0c\0ſKıİ",
    "😀",
    "  ",
    "\n\n",
    " \n",
    "\r\n",
    "'s",
    "'LL",
    "'re",
    "'ſ",
    "ing",
    " the",
    "123",
    "...",
    "//",
    "\ufeff",
    "\u200b",
    "\u202e",
    "👩‍👩‍👧‍👦",
    "👍🏽",
    "1️⃣",
    "🇩🇪",
    "e\u0301",
    "שלום",
    "مرحبا",
    "한국어",
    "日本語",
    "ǅ",
    "\u0558",  # a symbol for tiktoken, a letter in newer Unicode versions
    "\U000323b0",
    "<|endoftext|>",
    "<|endof",
    "text|>",
    "<|im_start|>",
]

texts = st.one_of(
    st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join),
    st.text(max_size=80),
)
"""Valid text (no surrogates), mixed from nasty fragments or drawn from all of Unicode."""

raw_bytes = st.sampled_from([chr(0xDC80 + i) for i in (0, 0x3F, 0x44, 0x7F)])

byte_texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), raw_bytes), max_size=60).map(
    lambda parts: bytetext.from_bytes(bytetext.to_bytes("".join(parts)))
)
"""Byte text, with bytes that are not UTF-8."""
