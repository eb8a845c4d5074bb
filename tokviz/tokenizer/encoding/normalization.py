r"""Changes to a text before it is encoded, with positions in the original.

Hugging Face's library has its own Unicode tables, which are older than Python's. A normalized form
of an assigned character never changes, and a code point that the tables do not have stays as it is
and ends a sequence of marks. So such code points (`_UNKNOWN`) are kept, and only the text between
them is normalized.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from tokviz.text import bytetext

Form = Literal["", "NFC", "NFKC", "NFD", "NFKD"]
NEVER_IN_UTF8 = (0xC0, 0xC1, *range(0xF5, 0x100))
"""The bytes that valid UTF-8 never contains."""

FORMS: tuple[Form, ...] = ("NFC", "NFKC", "NFD", "NFKD")

# Only some following characters can combine or be reordered with a character: marks, the vowels and
# final consonants of Korean syllables, and their compatibility forms. (For NFKC's sake, also the
# initial consonants among these, which other characters of their block may follow.)
_CLUSTER = (
    r"([\s\S][\p{M}\u1160-\u11FF\uD7B0-\uD7FF\u3131-\u318E\uFF9E-\uFFDC\U00016D67\U00016D68]++)"
)

_UNKNOWN = (
    "[\u0558\u058b\u058c\u05c8\u05c9\u07fd\u0897-\u08d3\u09fe\u0c3c\u0d3b\u0d3c\u0eba\u1715"
    "\u1abf-\u1af0\u1df6-\u1dfa\u209d-\u209f\u32ff\ua7f1-\ua7f4\ua82c\uab69\U000105c9"
    "\U000105e4-\U000107bf\U00010d24-\U00010f85\U00011070\U0001133b\U00011383\U00011385\U0001138e"
    "\U00011391\U000113c5-\U000113c8\U000113ce-\U000113d0\U0001145e\U00011839\U0001183a"
    "\U00011938-\U00011a99\U00011d42-\U00011f42\U00016121-\U00016128\U0001612f"
    "\U00016d68-\U0001b126\U0001ccd6-\U0001d128\U0001d250-\U0001d281\U0001d6a6"
    "\U0001df95-\U0001dfff\U0001e030-\U0001e6f5\U0001f16c\U0001fbf0-\U0001fbf9]+"
)
"""Code points with a decomposition or a combining class, but not in the library's tables. Ranges
include others, which neither change nor combine."""


class Normalizer(NamedTuple):
    """The changes to a text between special tokens; False if it never changes.

    Attributes:
        form: The Unicode normalization form; "" for none.
        adds_space: Whether a space is put before a text that does not start with one.
        replaces_bytes: Whether a byte that is not UTF-8 becomes U+FFFD, as some vocabularies have
            no token for it.
    """

    form: Form = ""
    adds_space: bool = False
    replaces_bytes: bool = False

    def __bool__(self) -> bool:
        """Return whether it changes any text."""
        return self.form != "" or self.adds_space or self.replaces_bytes

    @property
    def keeps_cuts(self) -> bool:
        """Whether text may be divided at safe cuts of the split pattern, and normalized in parts.

        A decomposed form may put a mark before a cut.
        """
        return self.form in ("", "NFC", "NFKC") and not self.adds_space

    @property
    def name(self) -> str:
        """The names of the changes."""
        return " + ".join(filter(None, (self.form, "prefix space" if self.adds_space else "")))

    def changes(self, text: str) -> bool:
        """Return whether a text changes."""
        return self.apply(text) != text

    def apply(self, text: str) -> str:
        """Normalize byte text (see `tokviz.text.bytetext`)."""
        normalized = self._normalized(text)
        return self._space(normalized) + normalized

    def _space(self, text: str) -> str:
        return " " if self.adds_space and text and text[0] != " " else ""

    def _normalized(self, text: str) -> str:
        form = self.form
        if self.replaces_bytes:
            text = bytetext.RAW_BYTES.sub("\ufffd", text)
        if not form or text.isascii() or unicodedata.is_normalized(form, text):
            return text
        parts = _unknown().split(text)
        parts[::2] = [unicodedata.normalize(form, part) for part in parts[::2]]
        return "".join(parts)

    def origins(self, text: str, size: Callable[[str], int]) -> list[int]:
        r"""Return the position in the original text of every position in the normalized text.

        Positions inside a sequence that normalization changes map to its end.

        Args:
            text: The original text.
            size: The size of a stretch of text: `len` for characters, or its number of bytes.

        Returns:
            One number per unit of the normalized text and one for its end, ascending.

        >>> Normalizer("NFC").origins("ae\u0301o", len)
        [0, 1, 3, 4]
        >>> Normalizer(adds_space=True).origins("a", len)
        [0, 0, 1]
        """
        composed = self._normalized(text)
        pairs = [(text, text)]
        if composed != text:
            pairs = [(cluster, self._normalized(cluster)) for cluster in self._clusters(text)]
            if "".join([made for _, made in pairs]) != composed:
                pairs = [(text, composed)]
        places = [0] * len(self._space(composed))
        at = 0
        for cluster, made in pairs:
            own = size(cluster)
            if made == cluster:
                places += range(at, at + own)
            elif made:
                places += [at, *[at + own] * (size(made) - 1)]
            at += own
        return [*places, at]

    def _clusters(self, text: str) -> Iterator[str]:
        import regex  # normalized texts do not need it

        for number, part in enumerate(regex.split(_CLUSTER, text)):
            if number % 2 or self._normalized(part) == part:
                yield part
            else:
                yield from part


UNCHANGED = Normalizer()
"""Changes no text."""


def is_combining(char: str) -> bool:
    """Return whether a character may combine with the one before it."""
    is_jamo = "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7ff"
    return is_jamo or unicodedata.category(char)[0] == "M"


@lru_cache(maxsize=1)
def _unknown() -> re.Pattern[str]:
    return re.compile(f"({_UNKNOWN})")
