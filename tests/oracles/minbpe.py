"""minbpe's `RegexTokenizer`: loading and encoding as in karpathy/minbpe, shortened."""

from __future__ import annotations

from itertools import pairwise

import regex


class MinBpe:
    """Encodes by a `.model` file; see minbpe/base.py and minbpe/regex.py."""

    def __init__(self, model: str) -> None:
        lines = iter(model.split("\n"))
        assert next(lines) == "minbpe v1"
        self.pattern = next(lines)
        self.specials: dict[str, int] = {}
        for _ in range(int(next(lines))):
            text, token_id = next(lines).split()
            self.specials[text] = int(token_id)
        pairs = [tuple(map(int, line.split())) for line in lines if line]
        self.merges = {pair: 256 + number for number, pair in enumerate(pairs)}

    def _encode_chunk(self, data: bytes) -> list[int]:
        ids = list(data)
        while len(ids) >= 2:
            pair = min(pairwise(ids), key=lambda p: self.merges.get(p, float("inf")))
            if pair not in self.merges:
                break
            merged, at = [], 0
            while at < len(ids):
                if tuple(ids[at : at + 2]) == pair:
                    merged.append(self.merges[pair])
                    at += 2
                else:
                    merged.append(ids[at])
                    at += 1
            ids = merged
        return ids

    def _encode_ordinary(self, text: str) -> list[int]:
        chunks = regex.findall(self.pattern, text) if self.pattern else [text]
        return [i for chunk in chunks for i in self._encode_chunk(chunk.encode())]

    def encode(self, text: str) -> list[int]:
        """Encode with all special tokens allowed."""
        if not self.specials:
            return self._encode_ordinary(text)
        pattern = "(" + "|".join(regex.escape(special) for special in self.specials) + ")"
        return [
            i
            for part in regex.split(pattern, text)
            for i in (
                [self.specials[part]] if part in self.specials else self._encode_ordinary(part)
            )
        ]
