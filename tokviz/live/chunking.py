"""Cutting of a text into chunks at safe cuts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tokviz.live.chunks import Chunk
from tokviz.live.cuts import cut_rule
from tokviz.text.snapshots import TextPart, parts_of
from tokviz.tokenizer.tokenizer import Tokenizer

COARSE_TARGETS = 16
"""Size of a coarse chunk, in usual chunks. Long texts start as coarse chunks, which are cut into
usual ones when they are shown or edited: most of a large file never is."""

_COARSE_CHUNKS = 4
"""A text that fills at least this many coarse chunks is cut into coarse chunks."""

_TARGETS_PER_PART = 4
"""Size of the parts of a chunk without a safe cut, in usual chunks."""


class Chunker:
    """Cutting of texts into chunks for one tokenizer.

    Attributes:
        cuts: The tokenizer's cut rule.
        target: Usual number of characters per chunk.
    """

    def __init__(self, tokenizer: Tokenizer | None, parse_specials: bool, target: int) -> None:
        """Create a chunker; without a tokenizer, every cut is safe."""
        self.cuts = cut_rule(tokenizer, parse_specials)
        self.target = target

    @property
    def long(self) -> int:
        """Number of characters from which a text is cut into coarse chunks."""
        return _COARSE_CHUNKS * COARSE_TARGETS * self.target

    def chunks_of_stream(self, texts: Iterable[str]) -> Iterator[list[Chunk]]:
        """Cut a text that arrives in parts; cut each place once its surroundings are known."""
        cuts, reach, rest = self.cuts, self.cuts.reach, ""
        for text in self._gathered(texts):
            searched = len(rest) - reach
            rest += text
            target = self._target_for(rest)
            first = max(target, reach, searched)
            *stretches, rest = cuts.split(rest, target, first, len(rest) - reach)
            yield self._as_chunks(stretches, target)
        target = self._target_for(rest)
        stretches = cuts.split(rest, target, max(target, reach, len(rest) - reach))
        yield self._as_chunks(stretches, target)

    def _gathered(self, texts: Iterable[str]) -> Iterator[str]:
        """Join short texts until they fill several coarse chunks."""
        few: list[str] = []
        n_chars = 0
        for text in texts:
            few.append(text)
            n_chars += len(text)
            if n_chars >= self.long:
                yield few.pop() if len(few) == 1 else "".join(few)
                few, n_chars = [], 0
        yield "".join(few)

    def cut(
        self, text: str, before: Sequence[TextPart] = (), after: Sequence[TextPart] = ()
    ) -> list[Chunk]:
        """Cut a text into chunks; the first and last one include the parts before and after."""
        reach = self.cuts.reach
        target = self._target_for(text)
        stretches = self.cuts.split(
            text,
            target,
            reach if before else None,
            len(text) - reach if after else None,
        )
        if after:
            # Keep the last chunk as short as possible, because a long text follows.
            last = stretches[-1]
            if cut := self.cuts.last_cut(last, reach, len(last) - reach):
                stretches[-1:] = last[:cut], last[cut:]
        chunks = self._as_chunks(stretches, target)
        if before:
            chunks[0] = Chunk([*before, *chunks[0].parts])
        if after:
            chunks[-1] = Chunk([*chunks[-1].parts, *after])
        return chunks

    def cut_around(
        self,
        left: str,
        prepared: Sequence[Chunk],
        right: str,
        before: Sequence[TextPart] = (),
        after: Sequence[TextPart] = (),
    ) -> list[Chunk]:
        """Cut a text whose middle was prepared into chunks; see `cut`.

        Only the first and last part of the middle are searched for cuts again.
        """
        (first, *rest), (*begun, last) = prepared[0].parts, prepared[-1].parts
        if len(prepared) > 1:
            start = self.cut(left + first.text, before, rest)
            return [*start, *prepared[1:-1], *self.cut(last.text + right, begun, after)]
        if len(rest) < 2:
            return self.cut(left + prepared[0].text + right, before, after)
        *start, open_chunk = self.cut(left + first.text, before, rest[:-1])
        return [*start, *self.cut(last.text + right, open_chunk.parts, after)]

    def prepare(self, text: str) -> list[Chunk]:
        """Do the slow part of inserting a text: cut it, except near its ends.

        A cut depends on `reach` characters on either side.
        """
        reach, target = self.cuts.reach, self._target_for(text)
        stretches = self.cuts.split(text, target, max(reach, self.target), len(text) - reach)
        if len(stretches) == 1:
            return [Chunk(self.parts(text))]
        first, *inner, last = stretches
        # The user may type at the ends, so they are not coarse.
        start, end = (
            [Chunk(self.parts(part)) for part in self.split_finely(text)] for text in (first, last)
        )
        return [*start, *self._as_chunks(inner, target), *end]

    def _target_for(self, text: str) -> int:
        return self.target * (COARSE_TARGETS if len(text) > self.long else 1)

    def _as_chunks(self, stretches: Iterable[str], target: int) -> list[Chunk]:
        """Make chunks of texts that were cut for a target size."""
        chunks: list[Chunk] = []
        for text in stretches:
            if self.target < target and len(text) <= 2 * target:
                chunks.append(Chunk([TextPart(text, packed=True)], is_coarse=True))
            elif len(text) <= 2 * self.target:
                chunks.append(Chunk(self.parts(text)))
            else:  # a stretch without cuts, which should have little text around it
                chunks += [Chunk(self.parts(part)) for part in self.split_finely(text)]
        return chunks

    def split_finely(self, text: str) -> list[str]:
        """Cut the text of a chunk, except near its ends, where cuts depend on its neighbors."""
        target, reach = self.target, self.cuts.reach
        return self.cuts.split(
            text, target, max(target, reach), len(text) - max(target // 2, reach)
        )

    def parts(self, text: str) -> list[TextPart]:
        """Divide the text of a chunk into parts."""
        return parts_of(text, _TARGETS_PER_PART * self.target)
