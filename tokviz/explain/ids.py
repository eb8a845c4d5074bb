"""Token ids as people paste them, and what they stand for.

>>> ids_in("[15339, 1917]")
[15339, 1917]
>>> ids_in("15339 1917 oranges") is None
True
"""

from __future__ import annotations

import re

_SEPARATORS = r"[\s,;\[\]()]"
_IDS = re.compile(
    rf"{_SEPARATORS}*[0-9]{{1,18}}(?:{_SEPARATORS}+[0-9]{{1,18}})*{_SEPARATORS}*", re.A
)
_NUMBER = re.compile("[0-9]+")


def ids_in(text: str) -> list[int] | None:
    """Read a text that is nothing but numbers, with or without commas and brackets.

    Returns:
        The numbers; None if the text holds anything else, or no number.
    """
    if _IDS.fullmatch(text) is None:
        return None
    return list(map(int, _NUMBER.findall(text)))
