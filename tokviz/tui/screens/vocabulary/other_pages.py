"""Pages other than a token's: overview, search help, checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokviz.explain.vocabulary.query import SYNTAX, split_words
from tokviz.explain.vocabulary.search import LengthCount, Selection
from tokviz.formats.registry import short_name
from tokviz.text.glyphs import safe
from tokviz.tokenizer.report import FileFinding, Report
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.widgets.fit import bar_text
from tokviz.tui.widgets.spans import Filter, Role, Row, Search, Span, flow, words_of

_SIGNS: dict[str, tuple[str, Role]] = {
    "error": ("✗ ", "warning"),
    "warning": ("⚠ ", "warning"),
    "note": ("· ", "dim"),
}
_FINDINGS_SHOWN = 200


def syntax_rows(width: int) -> list[Row]:
    """Explain what can be typed into the search field; a click on an example searches for it."""
    rows: list[Row] = [(Span("What to type", "heading"),), ()]
    for examples, meaning in SYNTAX:
        first, *others = (Span(typed, "link", Search(typed)) for typed in examples.split("  "))
        rows.append((first, *(span for other in others for span in (Span("  "), other))))
        rows += flow(words_of(meaning), width, (Span("  "),))
    return rows


def check_rows(tok: Tokenizer, report: Report | None, width: int) -> list[Row]:
    """Draw the source of a tokenizer, its checks and its problems.

    Args:
        tok: The tokenizer.
        report: The report; None while it is being checked.
        width: Columns of a row.
    """
    rows: list[Row] = flow([(Span(short_name(tok.name), "heading"),)], width)
    rows += flow(words_of(safe(tok.source)), width)
    if tok.lossy:
        lossy = "lossy: it changes text before it encodes it, so decoding may give a different text"
        rows += flow([(Span("⚠", "warning"),), *words_of(lossy, "warning")], width)
    rows.append(())
    if report is None:
        return [*rows, (Span("Checking…", "dim"),)]
    # A check at load and here may report the same problem twice.
    findings = list(dict.fromkeys(report.findings))
    for finding in findings[:_FINDINGS_SHOWN]:
        rows += _finding_rows(finding, width)
    if len(findings) > _FINDINGS_SHOWN:
        rest = f"… {len(findings) - _FINDINGS_SHOWN:,} more"
        rows.append((Span(rest, "dim"),))
    if not findings:
        rows.append((Span("No problems found.", "heading"),))
    if report.checks:
        rows += [(), (Span("Checked", "heading"),)]
        for check in dict.fromkeys(report.checks):
            rows += flow(words_of(safe(check)), width, (Span("✓ ", "good"),))
    return rows


def _finding_rows(finding: FileFinding, width: int) -> Iterator[Row]:
    sign, role = _SIGNS[finding.severity]
    words = words_of(safe(finding.message))
    if finding.where:
        words = [*words_of(safe(finding.where) + ":", "label"), *words]
    yield from flow(words, width, (Span(sign, role),))
    if finding.remedy:
        yield from flow(words_of(safe(finding.remedy), "dim"), width, (Span("  → ", "dim"),))


_LABEL = 10
_NUMBER = 9
_EXPLAINED = {
    "Common": "no letters",
    "Mixed": "several scripts",
    "Bytes": "partial characters",
    "Other": "rare scripts",
}


def overview_rows(selection: Selection, query: str, width: int) -> list[Row]:
    """Draw both histograms.

    Args:
        selection: The search results.
        query: The query, to mark the active filters.
        width: Columns of a row.
    """
    if not any(count.n_tokens for count in selection.lengths):
        nothing = "No token matches. Esc shows all tokens again."
        return list(flow(words_of(nothing, "dim"), width))
    rows: list[Row] = [(Span("Length in bytes", "heading"),)]
    lengths = [(length_value(count), count.n_tokens) for count in selection.lengths]
    rows += _bars("len", [(value.rjust(5), value, n) for value, n in lengths], query, width)
    rows += [(), (Span("Script of the letters", "heading"),)]
    scripts = [(script, script.lower(), n) for script, n in selection.scripts]
    rows += _bars("script", scripts, query, width)
    hint = "Choose or click a row to see only its tokens, and once more to see all."
    return [*rows, (), *flow(words_of(hint, "dim"), width)]


def length_value(count: LengthCount) -> str:
    """Write a class of lengths as the search language does: 3, 9-12 or >64."""
    if count.first == count.last:
        return str(count.first)
    return f">{count.first - 1}" if count.last >= 2**32 else f"{count.first}-{count.last}"


def _bars(name: str, bars: Sequence[tuple[str, str, int]], query: str, width: int) -> Iterator[Row]:
    """Draw a histogram of a filter: of each of its values the label, the value, and the tokens."""
    words = (word for word in split_words(query) if word.name == name and not word.negated)
    active = {word.value.lower() for word in words}
    most = max((n_tokens for *_, n_tokens in bars), default=0)
    for label, value, n_tokens in bars:
        action = Filter(name, value)
        mark = "● " if value in active else "  "
        shown = label[:_LABEL].ljust(_LABEL)
        number = f"{n_tokens:>{_NUMBER},} "
        room = max(0, width - len(mark) - len(shown) - len(number))
        bar = bar_text(n_tokens, most, room)
        spans = [
            Span(mark, "link", action),
            Span(shown, "text", action),
            Span(number, "dim", action),
            Span(bar, "bar", action),
        ]
        note = _EXPLAINED.get(label, "")
        if note and len(bar) + len(note) + 1 <= room:
            spans.append(Span(f" {note}", "dim", action))
        yield tuple(spans)
