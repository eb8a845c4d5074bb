r"""The character classes of tiktoken's Unicode version, for splitting exactly as tiktoken does.

tiktoken and the `regex` package follow different Unicode versions: thousands of code points are
letters in only one of them. The classes that split patterns use are stored in
`assets/unicode/tiktoken_classes.txt` (made by `python -m tests.tokenizer.pretokenize.tables`). A
character with different classes is replaced by a substitute of tiktoken's class before `regex` sees
it.
"""

from __future__ import annotations

import re
from array import array
from functools import lru_cache
from itertools import pairwise

from tokviz.storage.assets import asset_path

CLASSES: dict[str, str] = {
    "Lu": "Ж",
    "Ll": "ж",
    "Lt": "ǅ",
    "Lm": "ʰ",
    "Lo": "ก",
    "M": "\u0301",
    "N": "٣",
    "White_Space": "\u2003",
    "P": "§",
    "S": "¤",
}
"""The classes that split patterns distinguish, each with a substitute that no pattern names."""

OTHER = "\ue000"
"""Substitute for a character in none of the classes."""

N_CODE_POINTS = 0x110000

TABLE = "unicode/tiktoken_classes.txt"

AGREED: tuple[tuple[int, int], ...] = (
    (0, 0x24F), (0x300, 0x377), (0x391, 0x3A1), (0x3A3, 0x52F), (0x5D0, 0x5EA), (0x621, 0x64A),
    (0x904, 0x939), (0xE01, 0xE30), (0x1E00, 0x1EFF), (0x2000, 0x2064), (0x20A0, 0x20BF),
    (0x2190, 0x23FF), (0x2500, 0x2B73), (0x3000, 0x303F), (0x3041, 0x3096), (0x30A1, 0x30FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FEF), (0xAC00, 0xD7A3), (0xDC80, 0xDCFF), (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF), (0xFF01, 0xFFBE), (0xFFFD, 0xFFFD), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1F6D2),
    (0x1F900, 0x1F9FF),
)  # fmt: skip
"""Blocks, as first and last code point, whose characters are in the same classes in all recent
Unicode versions (a test compares them with the installed ones), so that common text needs no
table."""

_SETTLED = 0x40000
"""Code points from here on are in the same classes too: only old marks are in any class."""


def as_tiktoken_sees(text: str) -> str:
    """Replace the characters that `regex` and tiktoken classify differently.

    The result has the same length, so offsets stay valid.
    """
    return text if _is_agreed_on(text) else text.translate(substitutes())


def as_rust_sees_numbers(text: str) -> str:
    """Like `as_tiktoken_sees`, with the numbers of the pre-tokenizer `Digits`, which has more."""
    return as_tiktoken_sees(text if text.isascii() else text.translate(_NUMBERS_OF_RUST))


_NUMBERS_OF_RUST = dict.fromkeys((*range(0x11DE0, 0x11DEA), *range(0x16FF4, 0x16FF7)), "٣")


def prepare(text: str) -> None:
    """Build the table that a text needs now. Callable from any thread."""
    if not _is_agreed_on(text):
        substitutes()


def _is_agreed_on(text: str) -> bool:
    return text.isascii() or _agreed_only().fullmatch(text) is not None


@lru_cache(maxsize=1)
def _agreed_only() -> re.Pattern[str]:
    return re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in AGREED)}]*")


@lru_cache(maxsize=1)
def substitutes() -> dict[int, str]:
    """Return the substitutes for characters with contested classes, built on first use."""
    contested = array("I")
    for (_, last), (first, _) in pairwise((*AGREED, (_SETTLED, N_CODE_POINTS))):
        contested.extend(range(last + 1, first))
    return _substitutes_of(contested)


def _substitutes_of(codes: array[int]) -> dict[int, str]:
    """Return the substitute for each of the code points that `regex` classifies differently."""
    by_class = [OTHER, *CLASSES.values()]
    stored = stored_classes()
    theirs, ours = bytes(map(stored.__getitem__, codes)), _classes_of_regex(codes)
    return {
        codes[index]: by_class[theirs[index]]
        for block in range(0, len(codes), 0x80)
        if theirs[block : block + 0x80] != ours[block : block + 0x80]
        for index in range(block, min(block + 0x80, len(codes)))
        if theirs[index] != ours[index]
    }


def stored_classes() -> bytearray:
    """Return tiktoken's classes: by code point, the 1-based index in `CLASSES`, or 0."""
    number_of = {name: number for number, name in enumerate(CLASSES, 1)}
    classes = bytearray(N_CODE_POINTS)
    for line in asset_path(TABLE).read_text("ascii").splitlines():
        if line.startswith("#"):
            continue
        span, name = line.split()
        first, _, last = span.partition("-")
        start, stop = int(first, 16), int(last or first, 16) + 1
        classes[start:stop] = bytes([number_of[name]]) * (stop - start)
    return classes


def _classes_of_regex(codes: array[int]) -> bytearray:
    """Return the classes of code points in the installed `regex` package, in the same form."""
    import regex  # common text needs no table

    # Surrogates stay in the text; they belong to no class in either version.
    text = codes.tobytes().decode("utf-32", "surrogatepass")
    classes = bytearray(len(codes))
    for index, name in enumerate(CLASSES, 1):
        for match in regex.finditer(rf"\p{{{name}}}+", text):
            start, stop = match.span()
            classes[start:stop] = bytes([index]) * (stop - start)
    return classes
