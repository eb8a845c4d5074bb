"""Contents of a `tokenizer.json` that are equivalent to the tokenizers of other files.

With them, all formats share the readers, checks and child processes of `tokenizer.json`. The parts
that are the same for every file of a kind are in `assets/words/equivalents.json`. Sources: the
converters in transformers 5.24 `convert_slow_tokenizer.py`, and openai/CLIP
`clip/simple_tokenizer.py` for "clip".
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from tokviz.storage.assets import asset_path
from tokviz.tokenizer.pretokenize.patterns import SplitPattern

Json = dict[str, Any]

LONGEST_MATCH = "RWKV"
"""The model type of RWKV's greedy longest match, which Hugging Face's library does not have."""


def equivalent(kind: str, **model: Any) -> Json:
    """Return the content for a kind in `equivalents.json` with more fields of its model."""
    content: Json = json.loads(asset_path("words/equivalents.json").read_bytes())[kind]
    content["model"] |= model
    return content


def byte_level(patterns: Iterable[SplitPattern], **model: Any) -> Json:
    """Return byte-level BPE that splits by one pattern after another."""
    content = equivalent("byte_level", **model)
    splits = [split for pattern in patterns for split in pattern.hf_splits()]
    steps = [*splits, content["decoder"]]
    return content | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}


def added_token(text: str, token_id: int, *, special: bool = True, **options: bool) -> Json:
    """Return an entry of `added_tokens`."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": token_id, "content": text, **flags, "special": special, **options}


def sentencepiece(
    pieces: Mapping[str, float], vocab: Mapping[str, int], unknown: str, *, is_bpe: bool = True,
    prefix: bool = True, squeeze: bool = False, charsmap: bytes = b"", merges: Any = None,
) -> Json:  # fmt: skip
    """Return SentencePiece's BPE or Unigram.

    Args:
        pieces: Texts and scores; of BPE only of those that merges can make.
        vocab: Texts and ids of all pieces.
        unknown: The piece for unknown characters.
        is_bpe: Whether it is BPE, which merges the whole text with `▁` for spaces.
        prefix: Whether a text gets a space before it.
        squeeze: Whether runs of spaces become one.
        charsmap: The compiled normalization rules.
        merges: The merges, if scores do not give them.
    """
    rules = b64encode(charsmap).decode()
    steps: list[Json] = [{"type": "Precompiled", "precompiled_charsmap": rules}] if rules else []
    if squeeze:
        steps.append({"type": "Strip", "strip_left": True, "strip_right": True})
        steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    has_bytes = "<0x00>" in vocab
    if is_bpe:
        steps += [{"type": "Prepend", "prepend": "▁"}] if prefix else []
        steps.append({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})
        merges = _merges_by_score(pieces) if merges is None else merges
        content = equivalent("sentencepiece_bpe", vocab=vocab, merges=merges, unk_token=unknown,
                             byte_fallback=has_bytes)  # fmt: skip
        if not prefix:
            del content["decoder"]["decoders"][-1]
    else:
        content = equivalent("unigram", vocab=[*pieces.items()], unk_id=vocab.get(unknown, 0),
                             byte_fallback=has_bytes)  # fmt: skip
    return content | {"normalizer": {"type": "Sequence", "normalizers": steps} if steps else None}


def _merges_by_score(scores: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return the merges of SentencePiece's BPE: every way to build a token, best score first.

    Of merges with equal results, the one with the longer left side is first, because
    SentencePiece applies the leftmost one.
    """
    found: list[tuple[float, int, tuple[str, str]]] = []
    for token, score in scores.items():
        for at in range(len(token) - 1, 0, -1):
            if token[:at] in scores and token[at:] in scores:
                found.append((-score, len(found), (token[:at], token[at:])))
    return [merge for _, _, merge in sorted(found)]
