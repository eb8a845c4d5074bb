"""Script of the letters of a token.

Source: the Script property of Unicode (UAX #24), from the `regex` package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

COMMON = 0
"""No letters of a script: digits, punctuation, symbols, white space, and lone combining marks."""
MIXED = 1
"""Letters of more than one script."""
BYTES = 2
"""Contains bytes outside whole characters."""
OTHER = 3
"""A script not listed here, or unassigned characters."""

_NAMED = (
    "Latin", "Han", "Cyrillic", "Arabic", "Hangul", "Hiragana", "Katakana", "Greek", "Hebrew",
    "Devanagari", "Thai", "Bengali", "Tamil", "Telugu", "Georgian", "Armenian", "Malayalam",
    "Kannada", "Gujarati", "Gurmukhi", "Sinhala", "Khmer", "Myanmar", "Lao", "Ethiopic",
    "Tibetan", "Oriya", "Mongolian", "Bopomofo", "Syriac", "Thaana", "Cherokee",
    "Canadian_Aboriginal", "Tifinagh", "Nko", "Yi", "Javanese", "Balinese", "Sundanese",
    "Ol_Chiki", "Meetei_Mayek", "Vai", "Braille", "Coptic", "Gothic", "Runic", "Ogham",
    "Egyptian_Hieroglyphs", "Cuneiform", "Tangut", "Glagolitic", "Limbu", "Tai_Le",
    "New_Tai_Lue", "Tai_Tham", "Tai_Viet", "Cham", "Buginese", "Batak", "Lepcha", "Saurashtra",
    "Tagalog", "Bamum", "Lisu", "Adlam", "Deseret", "Osage", "Phags_Pa",
)  # fmt: skip

SCRIPTS: tuple[str, ...] = (
    "Common",
    "Mixed",
    "Bytes",
    "Other",
    *(name.replace("_", "-") for name in _NAMED),
)
"""Script names by number; the first four are the special cases above."""


def scripts_of(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """Return the script number of every code point.

    Args:
        codes: Code points, shape (n,). Surrogates represent raw bytes or nothing at all.

    Returns:
        Shape (n,), uint8; combining marks used with any script count as `COMMON`.
    """
    # The manual page is built without dependencies.
    import numpy as np
    import regex

    distinct, places = np.unique(codes, return_inverse=True)
    number_of = np.full(len(distinct), OTHER, np.uint8)
    number_of[(distinct >= 0xD800) & (distinct <= 0xDFFF)] = COMMON
    rest = "".join(chr(code) for code in distinct.tolist() if not 0xD800 <= code <= 0xDFFF)
    for number, name in ((COMMON, "Common"), (COMMON, "Inherited"), *enumerate(_NAMED, OTHER + 1)):
        if not rest:
            break
        try:
            members = regex.compile(rf"\p{{Script={name}}}+")
        except regex.error:  # an older `regex` than the script
            continue
        chars = "".join(members.findall(rest))
        if chars:
            rest = members.sub("", rest)
            number_of[np.searchsorted(distinct, [ord(char) for char in chars])] = number
    return number_of[places]


def find_scripts(typed: str) -> list[int]:
    """Return the scripts that a typed name matches: the exact match, or all with that prefix.

    >>> [SCRIPTS[number] for number in find_scripts("cyr")]
    ['Cyrillic']
    """
    wanted = _folded(typed)
    names = [_folded(name) for name in SCRIPTS]
    if wanted in names:
        return [names.index(wanted)]
    return [number for number, name in enumerate(names) if wanted and name.startswith(wanted)]


def _folded(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")
