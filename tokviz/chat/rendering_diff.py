"""Differences between two renderings of a conversation."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

from tokviz.chat.rendering import Rendering
from tokviz.text.common_prefix import n_common
from tokviz.text.sentences import pluralize

_MOST_ALIGNED = 2_000
"""Number of tokens up to which the tokens from the first to the last difference are aligned."""


class RenderingDiff(NamedTuple):
    """The tokens that differ between two renderings.

    Attributes:
        cause: The change in words, such as "enable_thinking = true".
        before: The first rendering.
        after: The second rendering.
        places: In order, neighboring tokens of the first and those of the second in their place.
            If very many may differ, they are one place.
    """

    cause: str
    before: Rendering
    after: Rendering
    places: list[tuple[range, range]]

    @classmethod
    def of(cls, cause: str, before: Rendering, after: Rendering) -> RenderingDiff:
        """Compare two renderings."""
        ids, others = before.ids, after.ids
        first = n_common(ids, others)
        last = n_common(ids[first:][::-1], others[first:][::-1])
        ids, others = ids[first : len(ids) - last], others[first : len(others) - last]
        codes = [("replace", 0, len(ids), 0, len(others))]
        if len(ids) + len(others) <= _MOST_ALIGNED:
            codes = [*SequenceMatcher(None, ids, others).get_opcodes()]
        places = [(range(first + a, first + a_end), range(first + b, first + b_end))
                  for code, a, a_end, b, b_end in codes if code != "equal"]  # fmt: skip
        return cls(cause, before, after, places)

    @property
    def first(self) -> int | None:
        """The first differing token of the second rendering, or its last one; None for none."""
        return min(self.places[0][1].start, len(self.after) - 1) if self.places else None

    def __str__(self) -> str:
        """Describe the change in a few words."""
        if self.first is None:
            return "no token changed"
        n_tokens = pluralize(sum(max(map(len, place)) for place in self.places), "token")
        return f"{n_tokens} changed from #{self.first} on"
