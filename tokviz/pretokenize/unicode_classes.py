r"""The character classes of tiktoken's Unicode version, for splitting exactly as tiktoken does.

tiktoken and the `regex` package follow different Unicode versions: thousands of code points are
letters in one and not in the other. The classes that split patterns ask for are stored in
`assets/unicode/tiktoken_classes.txt` (made by `python -m tokviz.pretokenize.probe`); a character
on which the two disagree is replaced, before `regex` sees it, by a stand-in of the right class.
"""

from __future__ import annotations

import re
from array import array
from functools import lru_cache

from tokviz.assets import asset_path

CLASSES: dict[str, str] = {
    "Lu": "Ж",
    "Ll": "ж",
    "Lt": "ǅ",
    "Lm": "ʰ",
    "Lo": "中",
    "M": "\u0301",
    "N": "٣",
    "White_Space": "\u2003",
}
"""The classes that the split patterns tell apart, each with a stand-in that no pattern names."""

OTHER = "§"
"""Stand-in for a character of none of the classes."""

N_CODE_POINTS = 0x110000

TABLE = "unicode/tiktoken_classes.txt"

# Blocks in which the two have agreed ever since (a test holds them against the installed
# versions), so that common text needs no table.
_AGREED = re.compile(
    "[\0-\u024f\u0300-\u0377\u0391-\u03a1\u03a3-\u052f\u05d0-\u05ea\u0621-\u064a\u0904-\u0939"
    "\u0e01-\u0e30\u1e00-\u1eff\u2000-\u2064\u20a0-\u20bf\u2190-\u23ff\u2500-\u2b73\u3000-\u303f"
    "\u3041-\u3096\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fef\uac00-\ud7a3\udc80-\udcff\ufe00-\ufe0f"
    "\ufeff\uff01-\uffbe\ufffd\U0001f1e6-\U0001f1ff\U0001f300-\U0001f6d2\U0001f900-\U0001f9ff]*"
)


def as_tiktoken_sees(text: str) -> str:
    """Replace the characters that `regex` would class otherwise than tiktoken does.

    The result has the same length, so that offsets carry over.
    """
    if text.isascii() or _AGREED.fullmatch(text) is not None:
        return text
    return text.translate(_stand_ins())


@lru_cache(maxsize=1)
def _stand_ins() -> dict[int, str]:
    names = ["", *CLASSES]
    stand_ins = [OTHER, *CLASSES.values()]
    theirs = stored_classes(names)
    ours = _classes_of_regex(names)
    return {
        code: stand_ins[theirs[code]]
        for code in range(0x80, N_CODE_POINTS)
        if theirs[code] != ours[code]
    }


def stored_classes(names: list[str]) -> bytearray:
    """Read tiktoken's classes: one index into `names` for each code point, 0 for none.

    Args:
        names: An empty string, then every name of `CLASSES`.
    """
    classes = bytearray(N_CODE_POINTS)
    for line in asset_path(TABLE).read_text("ascii").splitlines():
        if line.startswith("#"):
            continue
        span, name = line.split()
        first, _, last = span.partition("-")
        start, stop = int(first, 16), int(last or first, 16) + 1
        classes[start:stop] = bytes([names.index(name)]) * (stop - start)
    return classes


def _classes_of_regex(names: list[str]) -> bytearray:
    """Ask the installed `regex` package for its classes, in the same form."""
    import regex

    # Surrogates are left as they are in a str; they belong to no class in either.
    everything = array("I", range(N_CODE_POINTS)).tobytes().decode("utf-32", "surrogatepass")
    classes = bytearray(N_CODE_POINTS)
    for index, name in enumerate(names[1:], 1):
        for match in regex.finditer(rf"\p{{{name}}}+", everything):
            start, stop = match.span()
            classes[start:stop] = bytes([index]) * (stop - start)
    return classes
