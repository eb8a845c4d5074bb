"""Checking every row of a dataset.

Most rows have no findings, and this is known without their tokens: a template's spans tell what is
in the loss, and their length in bytes that nothing is cut off. Where the length is not enough, the
tokens of many rows are counted together. Only rows that are cut off or unusual are rendered. The
findings are those of `lint` for each row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from tokviz.chat.caching_encoder import encoder_of
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.lint import (
    RULES,
    UNREADABLE,
    UNSTABLE,
    Finding,
    control_tokens,
    error_finding,
    in_order,
    lint,
    lint_messages,
)
from tokviz.chat.messages import ConversationError
from tokviz.chat.plain_text import texts_to_encode
from tokviz.chat.render import render
from tokviz.chat.rendering import encoding_runs, virtual_specials
from tokviz.chat.spans import TRANSFORMERS, Reason, TemplateSpan
from tokviz.chat.stability import instabilities
from tokviz.chat.templates import ChatTemplate
from tokviz.errors import PatternError, TokvizError
from tokviz.text import bytetext
from tokviz.tokenizer.tokenizer import Tokenizer

_BATCH_ROWS = 128  # Larger batches are not faster, and a check stops only between batches.
_BATCH_BYTES = 1 << 18

STABILITY_ROWS = 100
"""The rows, from the first, that are also rendered turn by turn."""


@dataclass(frozen=True, slots=True)
class RowReport:
    """The findings and the length of a row.

    Attributes:
        row: The row, counted from 0.
        findings: Its problems.
        n_tokens: Its tokens before truncation; None if it cannot be rendered, or without
            `with_lengths`.
    """

    row: int
    findings: tuple[Finding, ...]
    n_tokens: int | None


@dataclass(slots=True)
class _Row:
    """A row that the template has written, with the texts whose tokens must be counted."""

    number: int
    conversation: Conversation | None = None
    findings: tuple[Finding, ...] = ()
    spans: Sequence[TemplateSpan] = ()
    texts: Sequence[str] = ()
    n_specials: int = 0
    n_tokens: int | None = None
    leaves_out: bool = False


class DatasetLinter:
    """A checker for rows, with one tokenizer and one template."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        template: ChatTemplate | JinjaTemplate,
        max_tokens: int,
        *,
        with_lengths: bool = False,
        variables: Mapping[str, Any] | None = None,
        specials: str | None = None,
    ) -> None:
        """Create a checker.

        Args:
            tokenizer: The tokenizer.
            template: The template; with a Jinja template the child renders every row.
            max_tokens: The number of tokens to keep of a rendering.
            with_lengths: Whether to count the tokens of every row.
            variables: See `render`.
            specials: See `render`.
        """
        self._tokenizer = tokenizer
        self._template = template
        self._max_tokens = max_tokens
        self._with_lengths = with_lengths
        self._variables = variables or {}
        needed = template.specials_in_use(tokenizer)
        self._policy = specials or template.specials
        lacks = not tokenizer.special_tokens.keys() >= {*needed}
        self._is_missing_specials = lacks and not template.makes_up_ids
        self._control = control_tokens(tokenizer, needed, self._policy)

    def reports(self, dataset: Dataset, first: int = 0) -> Iterator[RowReport]:
        """Check all rows from a first one on, lazily."""
        batch: list[int] = []
        n_bytes, row = 0, first
        while dataset.has_row(row):
            batch.append(row)
            n_bytes += dataset.n_bytes(row)
            row += 1
            if len(batch) == _BATCH_ROWS or n_bytes > _BATCH_BYTES:
                yield from self._check(dataset, batch)
                batch, n_bytes = [], 0
        yield from self._check(dataset, batch)

    def _check(self, dataset: Dataset, numbers: Sequence[int]) -> Iterator[RowReport]:
        rows = [self._read(dataset, number) for number in numbers]
        self._look_at([row for row in rows if row.conversation is not None])
        for row in rows:
            yield RowReport(row.number, row.findings, row.n_tokens)

    def _look_at(self, rows: Sequence[_Row]) -> None:
        """Add findings and lengths to the reports of rows."""
        plain = {row.number: row.conversation for row in rows
                 if row.conversation is not None and row.conversation.is_plain}  # fmt: skip
        texts = (text for it in plain.values() for text in texts_to_encode(it))
        encoder_of(self._tokenizer).learn(texts)
        for row in rows:
            if conversation := plain.get(row.number):
                try:
                    made = render(self._tokenizer, conversation, self._template, self._max_tokens)
                    row.findings, row.n_tokens = tuple(lint(conversation, made)), len(made)
                except ConversationError as error:
                    self._fail(row, conversation, error)
        rows = [row for row in rows if row.number not in plain]
        if isinstance(self._template, JinjaTemplate):
            self._render_remotely(self._template, rows)
            return
        for row in rows:
            self._write(self._template, row)
        self._count([row for row in rows if row.texts])
        for row in rows:
            self._judge(row)

    def _read(self, dataset: Dataset, number: int) -> _Row:
        try:
            return _Row(number, dataset.row(number).with_variables(self._variables))
        except ConversationError as error:
            return _Row(number, None, (error_finding(UNREADABLE, error),))

    # -- built-in templates

    def _write(self, template: ChatTemplate, row: _Row) -> None:
        """Write a row with the template, and decide whether its tokens must be counted."""
        assert row.conversation is not None
        try:
            row.spans = template.write(row.conversation)
        except ConversationError as error:
            self._fail(row, row.conversation, error)
            return
        row.leaves_out = not all(map(template.writes, row.conversation.extra_fields()))
        virtual = {}
        if template.makes_up_ids:
            virtual = virtual_specials(self._tokenizer, template.special_tokens)
        runs = encoding_runs(self._tokenizer, row.spans, virtual, self._policy)
        row.n_specials = sum(run.is_special for run in runs)
        texts = ["".join([span.text for span in run.spans]) for run in runs if not run.is_special]
        most = row.n_specials + sum(map(bytetext.n_bytes, texts))
        if self._with_lengths or most > self._max_tokens:
            row.texts = texts or ("",)

    def _count(self, rows: Sequence[_Row]) -> None:
        """Count the tokens of rows in one call.

        If the split pattern takes too long on a row, all are rendered to find that row.
        """
        texts = [text for row in rows for text in row.texts]
        try:
            is_parsed = self._policy == TRANSFORMERS and self._tokenizer.remote
            counts = map(len, [*self._tokenizer.byte_text.encode_all(texts, is_parsed)])
        except PatternError:
            return
        for row in rows:
            row.n_tokens = row.n_specials + sum(islice(counts, len(row.texts)))

    def _judge(self, row: _Row) -> None:
        """Check one row."""
        conversation = row.conversation
        if conversation is None:
            return
        findings = lint_messages(conversation, self._control)
        names_token = any(finding.code == "special-in-content" for finding in findings)
        is_cut = row.n_tokens is not None and row.n_tokens > self._max_tokens
        is_uncounted = row.n_tokens is None and bool(row.texts)
        untrained = bool(conversation.untrained())
        is_odd = is_cut or is_uncounted or row.leaves_out or names_token or untrained
        if self._is_missing_specials or is_odd or not _is_learned_well(conversation, row.spans):
            try:
                rendering = render(
                    self._tokenizer,
                    conversation,
                    self._template,
                    self._max_tokens,
                    specials=self._policy,
                )
            except ConversationError as error:
                self._fail(row, conversation, error)
                return
            findings, row.n_tokens = lint(conversation, rendering), len(rendering)
        row.findings = tuple(in_order(findings))
        if not self._with_lengths:
            row.n_tokens = None

    def _fail(self, row: _Row, conversation: Conversation, error: ConversationError) -> None:
        """Record the reason that a row cannot be rendered."""
        row.findings = tuple(lint(conversation, None, error, self._control))
        row.conversation = row.n_tokens = None

    # -- Jinja templates

    def _render_remotely(self, template: JinjaTemplate, rows: Sequence[_Row]) -> None:
        conversations = [row.conversation for row in rows if row.conversation is not None]
        results = template.marked_all(conversations, self._tokenizer, self._policy)
        for row, conversation, marked in zip(rows, conversations, results, strict=True):
            try:
                if isinstance(marked, ConversationError):
                    raise marked
                rendering = template.rendering(
                    self._tokenizer, conversation, marked, self._max_tokens, self._policy
                )
            except ConversationError as error:
                self._fail(row, conversation, error)
                continue
            findings = lint(conversation, rendering)
            if row.number < STABILITY_ROWS:
                findings += stability_findings(self._tokenizer, conversation, template)
            row.findings = tuple(in_order(findings))
            row.n_tokens = len(rendering) if self._with_lengths else None


def stability_findings(
    tokenizer: Tokenizer, conversation: Conversation, template: JinjaTemplate
) -> Iterator[Finding]:
    """Yield a finding for each cause that changes earlier tokens; none if this takes too long."""
    causes = set()
    try:
        unstable = instabilities(tokenizer, conversation, template)
    except TokvizError:
        return  # many messages can take too long, and the template may be closed
    for found in unstable:
        if found.cause not in causes:
            causes.add(found.cause)
            severity, cause = RULES[UNSTABLE].severity, f"{UNSTABLE}: {found.cause}"
            yield Finding(UNSTABLE, severity, found.sentence, found.n_messages, cause=cause)


def _is_learned_well(conversation: Conversation, spans: Iterable[TemplateSpan]) -> bool:
    """Return whether the rules for tokens find nothing, provided that nothing is cut off.

    They find nothing if a token in the loss ends every assistant message, and some template text
    and the whole input are masked.
    """
    speaking = {i for i, m in enumerate(conversation.messages) if m.role == "assistant"}
    ended = set()
    is_given = False
    for span in spans:
        if span.reason is Reason.END and span.learned:
            ended.add(span.message)
        elif span.reason is Reason.HEADER and span.special and not span.learned:
            is_given = True
        elif span.learned and span.reason in _TOLD:
            return False
    return bool(speaking) and speaking <= ended and is_given


_TOLD = frozenset({Reason.SYSTEM_TEXT, Reason.USER_TEXT, Reason.TOOL_OUTPUT})


# -- lengths


@dataclass(frozen=True, slots=True)
class Lengths:
    """A histogram of rows' tokens against a context size.

    Attributes:
        edges: The n + 1 edges of the bins, in tokens.
        counts: Rows in each bin; n of them.
        context: The context size; it is an edge.
        n_fitting: Rows that fit into it.
        n_longer: Rows that do not.
        longest: Tokens of the longest row.
        median: Tokens of the median row.
    """

    edges: tuple[int, ...]
    counts: tuple[int, ...]
    context: int
    n_fitting: int
    n_longer: int
    longest: int
    median: int


def histogram(lengths: Sequence[int], context: int, n_bins: int = 16) -> Lengths | None:
    """Sort lengths into bins, three quarters of them up to the context size if rows are longer.

    Args:
        lengths: Tokens of the rows.
        context: The context size, at least 1.
        n_bins: The approximate number of bins.

    Returns:
        The histogram; None if there are no lengths.
    """
    if not lengths:
        return None
    ordered = sorted(lengths)
    longest = ordered[-1]
    n_fitting = bisect_right(ordered, context)
    n_below = n_bins if longest <= context else max(1, n_bins * 3 // 4)
    width = max(1, -(-context // n_below))
    # Length n is in the bin that ends at or above n: rows that fit are left of the context's edge.
    edges = [*range(0, context, width), context]
    if longest > context:
        n_above = max(1, n_bins - n_below)
        step = max(1, -(-(longest - context) // n_above))
        edges += [*range(context + step, longest, step), longest]
    ends = [0, *(bisect_right(ordered, edge) for edge in edges[1:])]
    counts = tuple(after - before for before, after in pairwise(ends))
    median = ordered[len(ordered) // 2]
    n_longer = len(ordered) - n_fitting
    return Lengths(tuple(edges), counts, context, n_fitting, n_longer, longest, median)
