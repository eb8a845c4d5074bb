"""The list of what may be wrong with a conversation: rows of words, by a pure function."""

from __future__ import annotations

from collections.abc import Sequence

from tokviz.chat.lint import RULES, Finding
from tokviz.glyphs import safe
from tokviz.tui.widgets.flow import Role, Row, Span, ToFinding, flow, words_of

_SIGNS: dict[str, tuple[str, Role]] = {
    "error": ("✗ ", "error"),
    "warning": ("! ", "warning"),
    "note": ("i ", "link"),
}


def finding_rows(findings: Sequence[Finding], waiting: str, width: int) -> list[Row]:
    """Draw findings, each of which leads to where it is.

    Args:
        findings: What was found.
        waiting: What is to be waited for before there can be any, empty for nothing.
        width: Columns of a row.
    """
    if not findings:
        sign = Span("… ", "dim") if waiting else Span("✓ ", "good")
        return flow(words_of(waiting or "Nothing was found."), width, (sign,))
    rows: list[Row] = []
    for number, finding in enumerate(findings):
        sign, go = Span(*_SIGNS[finding.severity]), ToFinding(number)
        text = safe(f"{RULES[finding.code].title}: {finding.message}")
        rows += flow(words_of(text, "text", go), width, (sign._replace(action=go),))
    return rows
