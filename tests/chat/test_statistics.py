"""Counts of rows by source, role and kind, and their lengths."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chat.conversations import nanochat_conversations, turns
from tests.profiles import examples
from tokviz.chat.dataset import Dataset
from tokviz.chat.render import render
from tokviz.chat.statistics import GROUPS, RowCounts, count_rows, length_bins, percentile
from tokviz.formats.loader import load

GPT2 = load("gpt2")
KINDS = {"template header": "template text", "tool call": "tool calls", "end token": "end tokens"}


def counts(rows: list[object], template: str = "nanochat", max_tokens: int = 2048, at=None):
    dataset = Dataset.from_bytes("a.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode())
    rendered = partial(render, GPT2, template=template, max_tokens=max_tokens)
    return count_rows(dataset, at or range(len(rows)), rendered)


@examples(60)
@given(
    rows=st.lists(nanochat_conversations(), max_size=4),
    max_tokens=st.integers(1, 60),
    data=st.data(),
)
def test_the_counts_are_those_of_the_tokens_one_by_one(rows, max_tokens, data):
    found = counts(rows, max_tokens=max_tokens)
    learned = Counter[tuple[str, str, str]]()
    answers: list[tuple[int, int, int]] = []
    lengths: list[int] = []
    for row, value in enumerate(rows):
        rendering = render(GPT2, value, "nanochat", max_tokens)
        lengths.append(len(rendering))
        for index in (i for i in range(len(rendering)) if rendering.mask[i]):
            role = value["messages"][rendering.message_of[index]]["role"]
            kind = {4: "tool calls", 6: "end tokens"}.get(rendering.reasons[index], "text")
            learned["", role, kind] += 1
        of_message = [
            (message, [i for i in group if rendering.mask[i]])
            for message, group in groupby(range(rendering.n_kept), rendering.message_of.__getitem__)
        ]
        for message in dict(of_message):
            tokens = [i for m, group in of_message if m == message for i in group]
            answers += [(row, tokens[0], tokens[-1] + 1)] if tokens else []
    assert +found.learned == learned
    assert found.lengths == lengths
    assert found.answers == answers
    assert found.errors == []
    cut = data.draw(st.integers(0, len(rows)))
    together = counts(rows, max_tokens=max_tokens, at=range(cut)) if cut else RowCounts()
    if cut < len(rows):
        together += counts(rows, max_tokens=max_tokens, at=range(cut, len(rows)))
    assert together == found


def test_tokens_are_counted_by_source_role_and_kind():
    thought = {"role": "assistant", "content": "Hello", "thinking": "Hm, so."}
    rows = [
        {"messages": [*turns("Hi"), thought], "source": "a"},
        {"messages": turns("Hi", "Hello there"), "dataset": "b"},
        {"messages": turns("Hi", "Hello there"), "source": 7},
    ]
    found = counts(rows, "gpt-oss")
    by = {group: found.learned_by(group) for group in GROUPS}
    assert {*by["source"]} == {"a", "b", ""}
    assert {*by["role"]} == {"assistant"}
    assert by["kind"]["reasoning"] == len(GPT2.encode("Hm, so."))
    assert by["kind"]["text"] == len(GPT2.encode("Hello")) + 2 * len(GPT2.encode("Hello there"))
    assert all(sum(values.values()) == found.learned.total() for values in by.values())


def test_parquet_keeps_the_source(tmp_path):
    table = pa.table({"messages": [turns("Hi", "Hello")], "source": ["wiki"], "other": ["x"]})
    pq.write_table(table, tmp_path / "a.parquet")
    found = count_rows(Dataset.open(tmp_path / "a.parquet"), range(1), partial(render, GPT2))
    assert [*found.learned_by("source")] == ["wiki"]


def test_rows_that_fail_are_named_and_left_out():
    found = counts([turns("a", "b"), {"x": 1}, [{"role": "tool", "content": ""}], turns("c", "d")])
    assert len(found.lengths) == 2
    assert [error.split(":")[0] for error in found.errors] == ["line 2", "line 3"]


@examples(60)
@given(
    st.lists(st.integers(0, 300), min_size=1),
    st.lists(st.integers(0, 10**9), max_size=2),
    st.integers(1, 20),
)
def test_every_length_is_in_the_bin_that_has_room_for_it(lengths, outliers, n_bins):
    every = np.array(lengths + outliers)
    bins = length_bins(every, n_bins)
    assert len(bins) <= n_bins + 1
    assert sum(each["n_rows"] for each in bins) == len(every)
    for each in bins:
        assert each["n_rows"] == ((every >= each["from"]) & (every <= each["to"])).sum()
    assert bins[0]["from"] == every.min()
    assert bins[-1]["to"] >= every.max()


@pytest.mark.parametrize("n_rows", [10, 1000])
def test_one_outlier_does_not_flatten_the_histogram(n_rows):
    lengths = np.random.default_rng(0).integers(50, 150, n_rows)
    usual = length_bins(lengths)
    bins = length_bins(np.append(lengths, 1_000_000))
    assert (
        sum(each["n_rows"] > 0 for each in bins[:-1])
        >= sum(each["n_rows"] > 0 for each in usual) / 4
    )
    assert max(each["n_rows"] for each in bins) <= n_rows / 2
    assert bins[-1]["n_rows"] == 1 and bins[-1]["to"] == 1_000_000


def test_percentiles_are_lengths_of_rows():
    assert [percentile(np.array([5, 1, 9, 3]), share) for share in (0, 50, 51, 100)] == [1, 3, 5, 9]
