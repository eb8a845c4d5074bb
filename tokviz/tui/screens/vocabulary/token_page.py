"""Rows of the pages: one token, the overview, the search help, the checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tokviz.explain.facts import Entry
from tokviz.explain.vocabulary.query import SYNTAX, split_words
from tokviz.explain.vocabulary.search import LengthCount, Selection
from tokviz.formats.registry import short_name
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.report import FileFinding, Report
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.widgets.card_rows import (
    field_rows,
    hex_words,
    label_of,
    lineage_rows,
    look_alike_rows,
    merge_rows,
    named_word,
    neighbour_rows,
    token_copies,
)
from tokviz.tui.widgets.fit import bar_text, fit
from tokviz.tui.widgets.spans import (
    Filter,
    GoTo,
    Role,
    Row,
    Search,
    Span,
    ToToken,
    Word,
    flow,
    words_of,
)

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


PLACES_LISTED = 30
_CHILDREN_SHOWN = 120


@dataclass(frozen=True, slots=True)
class TokenPage:
    """Content of the page.

    Attributes:
        entry: The vocabulary's entry of the token.
        script: The script of its letters.
        unreachable: True if encoding never produces it, None while unknown.
        n_uses: Its count in the current text.
        places: Its first indexes among the tokens of the text.
        children: Tokens that a merge makes from it, with their ids; None while they are searched.
        all_children: True if these are all.
        origin: The files of a training that it came from; "" if unknown or not a training.
    """

    entry: Entry
    script: str
    unreachable: bool | None
    n_uses: int
    places: tuple[int, ...]
    children: tuple[tuple[bytes, int], ...] | None = None
    all_children: bool = True
    origin: str = ""


def page_rows(page: TokenPage, width: int) -> list[Row]:
    """Draw the page of a token."""
    entry = page.entry
    copies = token_copies(entry)
    role: Role = "special" if entry.special else "made"
    return [
        (Span(fit(label_of(entry.token), width), role, copies[-1]),),
        (),
        *_facts(page, width),
        *_use_rows(page, width),
        (),
        *lineage_rows(entry.lineage, width, ToToken),
        *_child_rows(page, width),
        *look_alike_rows(entry, width, ToToken),
        *neighbour_rows(entry, width, ToToken),
    ]


def _facts(page: TokenPage, width: int) -> Iterator[Row]:
    entry = page.entry
    copies = token_copies(entry)
    yield from field_rows("id", words_of(copies[0].text, "link", copies[0]), width)
    if len(copies) > 2:
        copy = [(Span("copy", "link", copies[2]),)]
        yield from field_rows("text", [*copy, *words_of("it as it is", "dim")], width)
    yield from field_rows("bytes", hex_words(entry.token), width)
    yield from field_rows("length", _length_words(entry), width)
    yield from field_rows("kind", words_of(entry.kind), width)
    yield from field_rows("script", words_of(page.script.replace("-", " ")), width)
    yield from merge_rows(entry, width)
    if page.origin:
        yield from field_rows("files", words_of(page.origin), width)
    if page.unreachable:
        sentence = "unreachable: encoding its bytes gives other tokens"
        yield from field_rows("note", words_of(sentence, "warning"), width)


def _length_words(entry: Entry) -> list[Word]:
    words = words_of(pluralize(len(entry.token), "byte"))
    if entry.n_chars is None:
        return [*words, *words_of("· part of a character", "warning")]
    return [*words, *words_of(f"· {pluralize(entry.n_chars, 'character')}", "dim")]


def _use_rows(page: TokenPage, width: int) -> Iterator[Row]:
    if not page.n_uses:
        yield from field_rows("in text", words_of("not in your text", "dim"), width)
        return
    words = words_of(f"{pluralize(page.n_uses, 'time')} in your text")
    yield from field_rows("in text", words, width)
    if page.places:
        links: list[Word] = [(Span("go to", "dim"),)]
        links += [(Span(f"#{index:,}", "link", GoTo(index)),) for index in page.places]
        if page.n_uses > len(page.places):
            links.append((Span("…", "dim"),))
        yield from flow(links, width, (Span(" " * 9),))


def _child_rows(page: TokenPage, width: int) -> Iterator[Row]:
    if page.children is None:
        yield (Span("Merged into", "heading"), Span(" …", "dim"))
        yield ()
        return
    n = len(page.children)
    if not n:
        if not page.entry.special:
            yield (Span("Merged into", "heading"), Span(" no other token", "dim"))
            yield ()
        return
    more = "" if page.all_children else " or more"
    yield (Span("Merged into", "heading"), Span(f" {pluralize(n, 'token')}{more}", "dim"))
    words = [named_word(token, i, ToToken) for token, i in page.children[:_CHILDREN_SHOWN]]
    if n > _CHILDREN_SHOWN:
        words += words_of(f"… {n - _CHILDREN_SHOWN:,} more", "dim")
    yield from flow(words, width)
    yield ()
