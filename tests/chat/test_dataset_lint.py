"""Checks of datasets: the fast path has the same findings as `lint` of each row."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chat import originals
from tests.chat.conversations import (
    WITH_SPECIALS,
    nanochat_conversations,
    plain_conversations,
    turns,
)
from tests.profiles import examples
from tokviz.chat import dataset_lint
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset, JsonValues
from tokviz.chat.dataset_lint import DatasetLinter, RowReport, histogram
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.lint import UNREADABLE, control_tokens, error_finding, lint
from tokviz.chat.messages import ConversationError
from tokviz.chat.render import render
from tokviz.chat.templates import TEMPLATES
from tokviz.formats.loader import load
from tokviz.tokenizer.tokenizer import Tokenizer

GPT2 = load("gpt2")
ANY_ROLES = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["system", "user", "assistant", "tool", "usr"]),
            "content": st.sampled_from(["", "Hi", "<|im_end|>", "a b c d e f g", " \n"]),
        }
    ),
    max_size=5,
)
THOUGHT = {"role": "assistant", "content": "Hello", "thinking": "a b c"}
TOOLS = [{"type": "function", "function": {"name": "add"}}]
ODD = st.sampled_from(
    [{"x": 1}, [*turns("Hi"), THOUGHT], {"messages": turns("Hi", "Hello"), "tools": TOOLS}]
)
ROWS = st.lists(
    st.one_of(nanochat_conversations(), plain_conversations(), ANY_ROLES, ODD),
    max_size=6,
)


def dataset_of(rows: list[object]) -> Dataset:
    return Dataset.from_bytes("a.jsonl", b"".join(json.dumps(r).encode() + b"\n" for r in rows))


def one_by_one(
    dataset: Dataset, tokenizer: Tokenizer, template, max_tokens: int, with_lengths: bool
) -> list[RowReport]:
    control = control_tokens(tokenizer, template.special_tokens, template.specials)
    reports = []
    for row in range(dataset.n_rows):
        n_tokens = None
        try:
            conversation = dataset.row(row)
        except ConversationError as error:
            reports.append(RowReport(row, (error_finding(UNREADABLE, error),), None))
            continue
        try:
            rendering = render(tokenizer, conversation, template, max_tokens)
            found = lint(conversation, rendering)
            n_tokens = len(rendering) if with_lengths else None
        except ConversationError as error:
            found = lint(conversation, None, error, control)
        reports.append(RowReport(row, tuple(found), n_tokens))
    return reports


@examples(150)
@given(
    rows=ROWS,
    tokenizer=st.sampled_from([GPT2, WITH_SPECIALS]),
    template=st.sampled_from(list(TEMPLATES.values())),
    max_tokens=st.sampled_from([5, 12, 30, 2048]),
    with_lengths=st.booleans(),
)
def test_the_fast_way_finds_the_same(rows, tokenizer, template, max_tokens, with_lengths):
    dataset = dataset_of(rows * 2)
    linter = DatasetLinter(tokenizer, template, max_tokens, with_lengths=with_lengths)
    expected = one_by_one(dataset, tokenizer, template, max_tokens, with_lengths)
    assert list(linter.reports(dataset)) == expected


@pytest.mark.parametrize(("template", "n_found"), [("chatml", 1), ("gpt-oss", 0)])
def test_a_row_with_reasoning_is_not_taken_for_one_without(template, n_found):
    linter = DatasetLinter(WITH_SPECIALS, TEMPLATES[template], 2048)
    plain, thought = linter.reports(dataset_of([turns("Hi", "Hello"), [*turns("Hi"), THOUGHT]]))
    assert plain.findings == ()
    assert [finding.code for finding in thought.findings] == ["left-out"] * n_found


def test_a_row_that_is_not_learned_is_not_taken_for_one_that_is() -> None:
    unlearned = [{**message, "weight": 0} for message in turns("Hi", "Hello")]
    dataset = dataset_of([turns("Hi", "Hello"), unlearned])
    reports = list(DatasetLinter(WITH_SPECIALS, TEMPLATES["chatml"], 100).reports(dataset))
    codes = [[finding.code for finding in report.findings] for report in reports]
    assert codes == [[], ["nothing-supervised"]]


def test_batches_are_no_matter(monkeypatch):
    rows = [turns("Hi", "x " * n) for n in range(20)]
    whole = list(DatasetLinter(GPT2, TEMPLATES["nanochat"], 12).reports(dataset_of(rows)))
    monkeypatch.setattr(dataset_lint, "_BATCH_ROWS", 3)
    linter = DatasetLinter(GPT2, TEMPLATES["nanochat"], 12)
    assert list(linter.reports(dataset_of(rows))) == whole
    assert list(linter.reports(dataset_of(rows), first=7)) == whole[7:]
    assert any(report.findings for report in whole)


def test_a_jinja_template_is_checked_too():
    template = JinjaTemplate(
        "mistral", originals.MISTRAL, variables={"bos_token": "", "eos_token": "<|endoftext|>"}
    )
    bad = [*turns("a", "b"), {"role": "system", "content": "c"}]
    linter = DatasetLinter(GPT2, template, 2048, with_lengths=True)
    first, second, third = linter.reports(dataset_of([turns("Hi", "Hello"), bad, {"x": 1}]))
    template.close()
    assert [finding.code for finding in first.findings] == ["no-generation-marks"]
    assert first.n_tokens is not None
    assert {"not-rendered", "roles-out-of-order"} == {f.code for f in second.findings}
    assert [finding.code for finding in third.findings] == [UNREADABLE]


def test_rows_are_checked_lazily():
    class Endless(JsonValues):
        def has_row(self, row: int) -> bool:
            return True

        def row(self, row: int) -> Conversation:
            return Conversation.from_json(turns("Hi"))

        def n_bytes(self, row: int) -> int:
            return 100

    endless = Endless([], False)
    reports = DatasetLinter(GPT2, TEMPLATES["nanochat"], 10).reports(endless)
    assert next(reports).findings[0].code == "nothing-supervised"


# -- lengths


@given(lengths=st.lists(st.integers(0, 5000), min_size=1), context=st.integers(1, 4000))
def test_the_histogram_counts_every_row_once(lengths, context):
    result = histogram(lengths, context)
    assert result is not None
    assert sum(result.counts) == len(lengths)
    assert list(result.edges) == sorted(set(result.edges))
    assert len(result.edges) == len(result.counts) + 1
    assert context in result.edges
    at = result.edges.index(context)
    assert sum(result.counts[:at]) == result.n_fitting == sum(n <= context for n in lengths)
    assert result.n_longer == len(lengths) - result.n_fitting
    assert result.longest == max(lengths)
    for low, high, n in zip(result.edges, result.edges[1:], result.counts, strict=False):
        first = low == result.edges[0]
        assert n == sum((low < length or first) and length <= high for length in lengths)


def test_no_rows_have_no_histogram():
    assert histogram([], 100) is None


@pytest.mark.parametrize("n_bins", [1, 2, 16])
def test_bins_are_about_as_many_as_wanted(n_bins):
    result = histogram([10, 100, 5000], 2048, n_bins)
    assert result is not None
    assert 1 <= len(result.counts) <= n_bins + 2
