"""Serialization of a tokenizer for another process: a head as JSON, and tables as bytes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from tokviz.process.protocol import Body, pack, unpack
from tokviz.tokenizer.encoding.normalization import Normalizer
from tokviz.tokenizer.encoding.packed import PackedMerges, PackedRanks, Tables
from tokviz.tokenizer.encoding.specials import PostProcessor, SpecialTokens
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, SplitStep
from tokviz.tokenizer.report import Report
from tokviz.tokenizer.tokenizer import Tokenizer

Json = dict[str, Any]

_MERGE_TABLES: tuple[Literal["I", "Q"], ...] = "I", "I", "Q", "I"
"""The typecodes of `pairs`, `firsts` and the two arrays of `by_key`."""

_PART_BYTES = 1 << 18
_ATTRIBUTES = "name", "source", "lossy", "pattern_doubt", "config"


def of_ranks(tokens: PackedRanks) -> list[memoryview]:
    """Return the tables of tokens; that of their ids is empty if they have no gaps."""
    sparse = tokens.sparse_ids
    ids = memoryview(array("I") if sparse is None else sparse)
    return [memoryview(tokens.data), ids.cast("B")]


def to_ranks(data: bytes, ids: bytes) -> PackedRanks:
    """Restore tokens from the tables of `of_ranks`."""
    return PackedRanks.of(data, array("I", ids) if ids else None)


def messages(parts: Iterable[memoryview]) -> Iterator[Body]:
    """Yield tables as messages of a job, one table after another."""
    for part in parts:
        for start in range(0, len(part), _PART_BYTES):
            yield {"part": pack(bytes(part[start : start + _PART_BYTES]))}


def received(sizes: Sequence[int], answers: list[Any]) -> list[bytes]:
    """Restore the tables of these sizes from `messages`; this empties `answers`."""
    answers.reverse()
    parts = []
    rest = b""
    for size in sizes:
        part = bytearray(rest[:size])
        rest = rest[size:]
        while len(part) < size:
            more = unpack(answers.pop()["part"])
            missing = size - len(part)
            part += more[:missing]
            rest = more[missing:]
        parts.append(bytes(part))
    return parts


def to_parts(tokenizer: Tokenizer) -> tuple[Json, list[memoryview]]:
    """Split a tokenizer that is not `remote` into a head and tables."""
    source = tokenizer.tables
    tokens = source.packed if isinstance(source, PackedMerges) else source
    assert isinstance(tokens, PackedRanks)
    specials, report = tokenizer.specials, tokenizer.load_report
    parts = of_ranks(tokens)
    if isinstance(source, PackedMerges):
        columns = source.pairs, source.firsts, *source.by_key
        parts += [memoryview(column).cast("B") for column in columns]
    head: Json = {
        "sizes": [len(part) for part in parts],
        "pattern": tuple(tokenizer.split_pattern),
        "ignore_merges": tokenizer.ignore_merges,
        "specials": (dict(specials.ids), [*specials.normalized], [*specials.non_special]),
        "normalizer": tokenizer.normalizer,
        "attributes": {name: getattr(tokenizer, name) for name in _ATTRIBUTES},
        "post_processor": tokenizer.post_processor,
        "report": report,
    }
    return head, parts


def from_parts(head: Mapping[str, Any], parts: Sequence[bytes]) -> Tokenizer:
    """Restore a tokenizer from the result of `to_parts`."""
    data, ids, *tables = parts
    packed = to_ranks(data, ids)
    made: Tables = packed
    if tables:
        pairs, firsts, keys, ranks = map(array, _MERGE_TABLES, tables)
        made = PackedMerges(packed, pairs, firsts, (keys, ranks))
    pattern = SplitPattern(*head["pattern"])
    tokenizer = Tokenizer.of(
        made,
        SpecialTokens(*head["specials"]),
        split_pattern=pattern._replace(steps=tuple(SplitStep(*step) for step in pattern.steps)),
        ignore_merges=head["ignore_merges"],
        normalizer=Normalizer(*head["normalizer"]),
    )
    vars(tokenizer).update(head["attributes"])
    before, after, *rest = head["post_processor"]
    tokenizer.post_processor = PostProcessor(tuple(before), tuple(after), *rest)
    if head["report"] is not None:
        tokenizer.load_report = Report.of(head["report"])
    return tokenizer
