"""Settings of a training, and their validation."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

from tokviz.errors import SpecialTokenError, TokvizError, VocabularyError, missing_package
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern
from tokviz.training.ties import get_tie_break

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SpecialIds = Literal["last", "first", "after-bytes"]
N_BYTES = 256
LARGEST_VOCABULARY = 2**31 - 1


_Ints = TypeVar("_Ints", int, "npt.NDArray[np.int32]")


class IdLayout(NamedTuple):
    """The ids of ordinary tokens, which training numbers from 0: bytes, then merged tokens.

    Attributes:
        first_byte: The id of the byte 0; the other bytes follow.
        first_merged: The id of the first merged token; the others follow.
    """

    first_byte: int
    first_merged: int

    @classmethod
    def of(cls, special_ids: SpecialIds, n_special: int) -> IdLayout:
        """Create the layout for a number of special tokens.

        >>> IdLayout.of("after-bytes", 2).id_of(256)
        258
        """
        first_byte = n_special if special_ids == "first" else 0
        return cls(first_byte, N_BYTES if special_ids == "last" else N_BYTES + n_special)

    def id_of(self, number: _Ints) -> _Ints:
        """Convert a token number, or an array of them, to ids."""
        gap = self.first_merged - self.first_byte - N_BYTES
        return number + self.first_byte + (number >= N_BYTES) * gap

    def numbers_of(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Convert ids to token numbers, which are negative for ids of no ordinary token."""
        numbers = ids - self.first_merged + N_BYTES
        below = ids < self.first_merged
        numbers[below] = ids[below] - self.first_byte
        numbers[below & (numbers >= N_BYTES)] = -1
        return numbers


class TrainSettings(NamedTuple):
    """The settings of a training.

    Attributes:
        vocab_size: The requested number of bytes, merged tokens and special tokens together.
        split_pattern: The regex that cuts text into pre-tokens.
        special_tokens: The special tokens; they are cut out of the corpus first.
        special_ids: The position of their ids: after all others ("last"), before them ("first"),
            or between bytes and merged tokens ("after-bytes").
        tie_break: The name of the tie-breaking rule.
        min_count: The lowest count at which a pair is merged.
    """

    vocab_size: int
    split_pattern: SplitPattern
    special_tokens: tuple[str, ...]
    special_ids: SpecialIds
    tie_break: str
    min_count: int

    @classmethod
    def checked(
        cls,
        vocab_size: int,
        *,
        split_pattern: str | SplitPattern,
        special_tokens: Sequence[str],
        special_ids: SpecialIds,
        tie_break: str,
        min_count: int,
    ) -> TrainSettings:
        """Create settings from the user's values.

        Raises:
            VocabularyError: If the vocabulary cannot hold the bytes and the special tokens.
            SpecialTokenError: If a special token is empty, listed twice, or a single byte.
            PatternError: If the split pattern is not a valid regex.
            TokvizError: If a rule is unknown, or a number is out of range.
        """
        if special_ids not in get_args(SpecialIds):
            choices = "'first', 'last' or 'after-bytes'"
            raise TokvizError(f"special_ids is {special_ids!r}: choose {choices}")
        get_tie_break(tie_break)
        if not _is_integer(min_count) or min_count < 1:
            raise TokvizError(f"min_count is {min_count!r}: give a whole number above 0")
        specials = _checked_specials(special_tokens)
        _check_size(vocab_size, len(specials))
        pattern = get_split_pattern(split_pattern)
        return cls(int(vocab_size), pattern, specials, special_ids, tie_break, int(min_count))

    @property
    def n_merges(self) -> int:
        """The requested number of merges."""
        return self.vocab_size - N_BYTES - len(self.special_tokens)

    @property
    def layout(self) -> IdLayout:
        """The ids of bytes and merged tokens."""
        return IdLayout.of(self.special_ids, len(self.special_tokens))

    def special_token_ids(self, n_merges: int) -> dict[str, int]:
        """Return the ids of the special tokens after a number of merges."""
        first = {"first": 0, "after-bytes": N_BYTES, "last": N_BYTES + n_merges}[self.special_ids]
        return {text: first + index for index, text in enumerate(self.special_tokens)}

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        pattern = self.split_pattern
        return {
            **self._asdict(),
            "split_pattern": pattern.regex if pattern.name == "custom" else pattern.name,
            "special_tokens": list(self.special_tokens),
        }


def _is_integer(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _check_size(vocab_size: int, n_special: int) -> None:
    if not _is_integer(vocab_size):
        raise VocabularyError(f"the vocabulary size is {vocab_size!r}: give a whole number")
    least = N_BYTES + n_special
    if vocab_size < least:
        specials = f" and {n_special:,} special tokens" if n_special else ""
        raise VocabularyError(
            f"a vocabulary of {vocab_size:,} tokens is too small: "
            f"the {N_BYTES} bytes{specials} need at least {least:,}"
        )
    if vocab_size > LARGEST_VOCABULARY:
        raise VocabularyError(f"{vocab_size:,} tokens are too many: ids end at 2,147,483,646")


def _checked_specials(special_tokens: Sequence[str]) -> tuple[str, ...]:
    if isinstance(special_tokens, str):
        raise SpecialTokenError(f"special_tokens is the text {special_tokens!r}: give a list")
    seen: dict[str, None] = {}
    for text in special_tokens:
        if not isinstance(text, str):
            raise SpecialTokenError(f"special token {text!r} is not text")
        if not text:
            raise SpecialTokenError("a special token is empty: give it a text or leave it out")
        if text in seen:
            raise SpecialTokenError(f"special token {text!r} is listed twice")
        try:
            n_bytes = len(text.encode())
        except UnicodeEncodeError:
            raise SpecialTokenError(
                f"special token {text!r} holds half a surrogate pair, which is not a character"
            ) from None
        if n_bytes == 1:
            raise SpecialTokenError(
                f"special token {text!r} is a single byte, which already has a token: "
                "choose a longer text"
            )
        seen[text] = None
    return tuple(seen)


def why_no_workers() -> str:
    """Return the reason why workers cannot be used; empty if they can."""
    if find_spec("distributed") is None:
        return f"training with workers {missing_package('distributed')}"
    return ""
