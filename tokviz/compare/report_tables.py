"""Formats of the compression report: cells, Markdown, JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokviz.compare.figures import TableRow, markdown_table, percent, ratio
from tokviz.compare.report import PARALLEL_TITLE, Group, best_of
from tokviz.text.glyphs import safe


def cells_of(group: Group, base: int = 0) -> Iterator[TableRow]:
    """Format the rows of a text: name, tokens, bytes/token, difference to the base, best."""
    best = best_of(group)
    for number, row in enumerate(group):
        yield (
            safe(row.tokenizer), f"{row.n_tokens:,}{'' if row.lossless else '*'}",
            ratio(row.bytes_per_token),
            percent(row.difference(group[base])) if number != base else "",
            "best" if row in best else "",
        )  # fmt: skip


def languages_title(languages: Sequence[Group]) -> TableRow:
    """Return the title of the table of languages, in two lines."""
    english = ", ".join(f"{safe(row.tokenizer)} {row.n_tokens:,}" for row in languages[0])
    title = f"{PARALLEL_TITLE}, in {len(languages)} languages:"
    return title, f"tokens relative to English ({english})"


def by_cost(languages: Sequence[Group]) -> list[Group]:
    """Sort languages by their number of tokens in the first tokenizer."""
    return sorted(languages, key=lambda group: group[0].n_tokens)


ORDERS = ("as listed", "name", "bytes")
"""Sort orders of a report, besides the number of tokens in each tokenizer."""


def ordered(groups: Sequence[Group], order: int, *, backwards: bool, per_byte: bool) -> list[Group]:
    """Sort texts or languages.

    Args:
        groups: The groups in their listed order.
        order: An index into `ORDERS`; higher numbers sort by the tokens in each tokenizer.
        backwards: Whether to reverse the order.
        per_byte: Whether to sort by tokens per byte, for texts with different content.
    """

    def key(group: Group) -> object:
        if order < len(ORDERS):
            return (0, group[0].text.casefold(), group[0].n_bytes)[order]
        row = group[order - len(ORDERS)]
        return row.n_tokens / (row.n_bytes or 1 if per_byte else 1)

    in_order = sorted(groups, key=key)  # type: ignore[arg-type]
    return in_order[::-1] if backwards else in_order


def language_rows(languages: Sequence[Group], base: Group) -> Iterator[TableRow]:
    """Format the tokens of languages per token of `base`, heads first, the mean last."""
    yield ("", "bytes", *(safe(row.tokenizer) for row in base))
    relatives = [[row.relative(one) for row, one in zip(group, base, strict=True)]
                 for group in languages]  # fmt: skip
    for group, own in zip(languages, relatives, strict=True):
        yield (group[0].text, f"{group[0].n_bytes:,}", *map(ratio, own))
    means = (sum(value or 0.0 for value in own) / len(own) for own in zip(*relatives, strict=True))
    yield ("mean", "", *map(ratio, means))


def markdown(groups: Sequence[Group], languages: Sequence[Group]) -> Iterator[str]:
    """Format the report as two Markdown tables."""
    rows: list[TableRow] = [("text", "bytes", *(safe(row.tokenizer) for row in groups[0]), "best")]
    for group in groups:
        cells = [
            f"{tokens} ({', '.join(filter(None, (per_token, difference)))})"
            for _, tokens, per_token, difference, _ in cells_of(group)
        ]
        best = ", ".join(name for name, *_, mark in cells_of(group) if mark)
        rows.append((safe(group[0].text), f"{group[0].n_bytes:,}", *cells, best))
    yield from markdown_table(rows)
    if not languages:
        return
    yield from ("", *languages_title(languages), "")
    yield from markdown_table(list(language_rows(by_cost(languages), languages[0])))


def nanochat_rows(groups: Sequence[Group], base: int) -> Iterator[TableRow]:
    """Compare the first tokenizer with another one, as karpathy/nanochat `scripts/tok_eval.py`.

    The difference is the share of the other one's tokens that the first one saves.
    """
    theirs, ours = safe(groups[0][base].tokenizer), safe(groups[0][0].tokenizer)
    yield ("Text type", "Bytes", theirs, "", ours, "", "Relative", "Better")
    yield ("", "", "Tokens", "Ratio", "Tokens", "Ratio", "Diff %", "")
    for group in groups:
        more, cells = group[0].difference(group[base]) or 0.0, [*cells_of(group)]
        better = "Tie" if not more else theirs if more > 0 else ours
        counts = (f"{group[0].n_bytes:,}", *cells[base][1:3], *cells[0][1:3])
        yield (safe(group[0].text), *counts, percent(0.0 - more), better)


def record(groups: Sequence[Group], languages: Sequence[Group]) -> dict[str, object]:
    """Return the report for JSON; `tokviz eval --help` describes its content."""

    def text_record(group: Group) -> dict[str, object]:
        best = [row.tokenizer for row in best_of(group)]
        rows = [
            {
                "name": row.tokenizer,
                "n_tokens": row.n_tokens,
                "bytes_per_token": row.bytes_per_token,
                "difference": row.difference(group[0]),
                "lossless": row.lossless,
            }
            for row in group
        ]
        first = group[0]
        return {"text": first.text, "n_bytes": first.n_bytes, "tokenizers": rows, "best": best}

    def language_record(group: Group) -> dict[str, object]:
        rows = [
            {"name": row.tokenizer, "n_tokens": row.n_tokens, "relative": row.relative(base)}
            for row, base in zip(group, languages[0], strict=True)
        ]
        return {"language": group[0].text, "n_bytes": group[0].n_bytes, "tokenizers": rows}

    return {
        "texts": [text_record(group) for group in groups],
        "languages": [language_record(group) for group in languages],
    }
