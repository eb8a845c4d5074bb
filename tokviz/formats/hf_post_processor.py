"""The special tokens that the post-processor of a `tokenizer.json` adds around a text.

Source: huggingface/tokenizers `tokenizers/src/processors/` (`template.rs`, `bert.rs`,
`roberta.rs`, `sequence.rs`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from typing import Any

from tokviz.formats.hf_pattern import flat
from tokviz.tokenizer.encoding.specials import PostProcessor

_MOST_CHARS = 100_000


def read_post_processor(content: Mapping[str, Any]) -> PostProcessor:
    """Read the post-processor of a `tokenizer.json`; an unsupported one has a `problem`."""
    part = content.get("post_processor")
    every = flat(part)
    trims = any(step.get("trim_offsets") is True for step in every)
    # The kind ByteLevel only changes offsets.
    steps = [step for step in every if step.get("type") != "ByteLevel"]
    if not steps:
        return PostProcessor(trims_offsets=trims)
    text = json.dumps(part)
    try:
        (step,) = steps
        before, after = (tuple(chain.from_iterable(parts)) for parts in _around_text(step))
        are_ids = all(type(one) is int and 0 <= one < 1 << 32 for one in (*before, *after))
        if are_ids and len(text) <= _MOST_CHARS:
            return PostProcessor(before, after, json=text, trims_offsets=trims)
    except (KeyError, IndexError, TypeError, ValueError):
        pass
    kinds = " + ".join(str(step.get("type"))[:60] for step in steps[:4])
    problem = f"tokviz cannot add what its post-processor ({kinds}) adds around a text"
    return PostProcessor(problem=problem, trims_offsets=trims)


def _around_text(step: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return the lists of ids before and after a text."""
    if step["type"] in ("BertProcessing", "RobertaProcessing"):
        return [[step["cls"][1]]], [[step["sep"][1]]]
    if step["type"] != "TemplateProcessing":
        raise ValueError
    parts = [
        part["Sequence"]["id"]
        if "Sequence" in part
        else step["special_tokens"][part["SpecialToken"]["id"]]["ids"]
        for part in step["single"]
    ]
    place = parts.index("A")  # a second "A" stays among the ids, and the caller rejects it
    return parts[:place], parts[place + 1 :]
