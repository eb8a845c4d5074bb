"""The page of the search language, and the page of what was checked when the tokenizer came."""

from __future__ import annotations

from collections.abc import Iterator

from tokviz.formats.report import FileFinding, Report
from tokviz.glyphs import safe
from tokviz.places import short_name
from tokviz.tokenizer import Tokenizer
from tokviz.tui.widgets.flow import Role, Row, Search, Span, flow, words_of
from tokviz.vocabulary.query import SYNTAX

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
    """Show where a tokenizer comes from, what was checked and what was found.

    Args:
        tok: The tokenizer.
        report: What was noticed; None while it is being checked.
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
    # What is checked at load and once more here may be found twice.
    findings = list(dict.fromkeys(report.findings))
    for finding in findings[:_FINDINGS_SHOWN]:
        rows += _finding_rows(finding, width)
    if len(findings) > _FINDINGS_SHOWN:
        rest = f"… {len(findings) - _FINDINGS_SHOWN:,} more"
        rows.append((Span(rest, "dim"),))
    if not findings:
        rows.append((Span("Nothing wrong was found.", "heading"),))
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
