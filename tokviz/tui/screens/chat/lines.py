"""Status line of the Chat screen: tokens, findings and row, by pure functions."""

from __future__ import annotations

from tokviz.chat.rendering import Rendering
from tokviz.chat.rendering_diff import RenderingDiff
from tokviz.tui.screens.chat.rendering import POLICY_WORDS
from tokviz.tui.widgets.bar import BarItem
from tokviz.tui.widgets.mask.counts import percent
from tokviz.tui.widgets.spans import Span

_SOURCES = {
    "template": "the template",
    "generation marks": "generation marks",
    "role spans": "the roles",
    "plain text": "the prompt's length",
}


def status_items(
    rendering: Rendering | None, n_findings: int, change: RenderingDiff | None, *, is_waiting: bool
) -> list[BarItem]:
    """Sum a rendering up.

    Args:
        rendering: The tokens, None for none.
        n_findings: How much was found.
        change: What the last change of a variable or of the policy changed; None for none.
        is_waiting: Whether newer tokens are on their way.
    """
    if rendering is None:
        words = "rendering…" if is_waiting else "no tokens"
        return [_item(words, "", "show_view('findings')"), *_findings(n_findings)]
    n_kept, cut = rendering.n_kept, len(rendering) - rendering.n_kept
    share = percent(rendering.supervised_share)
    source = _SOURCES[rendering.mask_source]
    items = [
        _item(f"{n_kept:,}", f" token{'s' * (n_kept != 1)}", "show_view('tokens')"),
        _item(
            f"● {rendering.n_learned:,}", f" learned ({share})", "show_view('roles')", " learned"
        ),
        *_findings(n_findings),
    ]
    if change is not None:
        items.insert(1, _item(f"{change.cause}: {change}", "", "show_view('changes')"))
    if cut:
        items.append(
            _item(f"✂ {cut:,}", f" truncated after {rendering.max_tokens:,}", "set_max_tokens")
        )
    items.append(BarItem((Span(POLICY_WORDS[rendering.specials]),), "screen.toggle_specials"))
    items.append(_note(f"mask from {source}", f"mask: {rendering.mask_source}"))
    missing = len(rendering.virtual_specials) + len(rendering.missing_specials)
    if missing:
        lacking = f"{missing} special token{'s' * (missing != 1)} not in the vocabulary"
        items.append(_note(lacking, f"{missing} not in the vocabulary"))
    return items


def row_items(
    row: int, n_rows: int, progress: str, n_listed: int | None, *, complete: bool
) -> list[BarItem]:
    """Describe the current row of a dataset and the progress of checking.

    Args:
        row: The row, from 0.
        n_rows: Number of rows found so far.
        progress: Progress of checking, "" if it was not requested.
        n_listed: Number of rows that match the filter, None without a filter.
        complete: True once all rows are found.
    """
    more = "" if complete else "+"
    items = [_item(f"row {row + 1:,}", f" of {n_rows:,}{more}", "show_rows")]
    if n_listed is not None:
        items.append(BarItem((Span(f"filter: {n_listed:,}", "heading"),), "screen.filter_rows"))
    if progress:
        items.insert(0, BarItem((Span(progress),), "screen.filter_rows"))
    return items


def _item(strong: str, plain: str, action: str, shorter: str = "") -> BarItem:
    def words(after: str) -> tuple[Span, ...]:
        return (Span(strong, "heading"), Span(after)) if after else (Span(strong, "heading"),)

    return BarItem(words(plain), f"screen.{action}", words(shorter))


def _note(text: str, shorter: str) -> BarItem:
    return BarItem((Span(text),), "screen.show_view('roles')", (Span(shorter),))


def _findings(n: int) -> list[BarItem]:
    return [_item(f"! {n}", f" finding{'s' * (n != 1)}", "show_view('findings')")] if n else []
