"""Rows of the tokenizer picker: matching, drawing and description."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from rich.cells import cell_len

from tokviz.errors import UnknownTokenizerError
from tokviz.formats.recognize import recognize
from tokviz.formats.registry import (
    BUILTIN_TOKENIZERS,
    HUB_PREFIX,
    BuiltinTokenizer,
    OtherTokenizer,
    place_words,
    resolve_name,
)
from tokviz.storage.files import absolute
from tokviz.storage.listing import cleaned_path, home_label
from tokviz.text.glyphs import safe
from tokviz.training.run_library import Run, with_runs
from tokviz.tui.widgets.fit import column, fit, fit_end, fit_name
from tokviz.tui.widgets.spans import Span, width_of

_SEPARATORS = re.compile(r"[\s._-]+")
_ENDINGS = (".json", ".tiktoken", ".model", ".bpe", ".txt", ".pkl", ".pickle")


KnownTokenizer = BuiltinTokenizer | OtherTokenizer


@dataclass(frozen=True, slots=True)
class Match:
    """A matching tokenizer and its best matching name."""

    tokenizer: KnownTokenizer
    name: str
    """Its own name, or the alias that was meant."""
    family: str = ""
    """The family, in its first row."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A tokenizer from a file, a folder, or the Hub."""

    source: str
    """Argument of `tokviz.load`."""
    recent: bool
    """True if it was used before, False if it was typed."""


PickerRow = Run | Match | SourceRow


def rank(
    query: str, tokenizers: Sequence[KnownTokenizer], runs: Sequence[Run] = ()
) -> list[Run | Match]:
    """Return the matching tokenizers, best first, and the user's trainings before equal ones.

    An equal name comes before one that starts with the query, then one that contains it, then one
    that contains its characters in order, close together, if no other name is closer. Last come
    trainings that contain its words elsewhere. Case, spaces, dots, hyphens and underscores are
    ignored: "gpt 4o" finds "gpt-4o".
    """
    wanted = _folded(query)
    if not wanted:
        return [*runs, *(Match(tokenizer, tokenizer.name) for tokenizer in tokenizers)]
    words = query.casefold().split()
    found: list[tuple[int, int, Run | Match]] = []
    for run in runs:
        told = all(word in f"{run.name} {run.words}".casefold() for word in words)
        if how := _fit(wanted, _folded(run.name)) or 5 * told:
            found.append((how, 0, run))
    for tokenizer in tokenizers:
        names = (*_names_of(tokenizer), *tokenizer.title.split(", "))
        fits = [(how, len(name), name) for name in names if (how := _fit(wanted, _folded(name)))]
        if _folded(tokenizer.family).startswith(wanted):
            fits.append((3, len(tokenizer.name), tokenizer.name))
        if fits:
            how, length, name = min(fits)
            found.append((how, length, Match(tokenizer, name)))
    if any(how == _SCATTERED for how, *_ in found) and (near := _unknown(query, runs).suggestions):
        found = [it for it in found if it[0] != _SCATTERED or {*near} & {*_names(it[2])}]
    return [row for _, _, row in sorted(found, key=lambda item: item[:2])]


def picker_rows(
    query: str,
    tokenizers: Sequence[KnownTokenizer],
    recent: Sequence[str],
    runs: Sequence[Run] = (),
) -> list[PickerRow]:
    """List all that fit: a place that was typed, the user's own, built-in ones, recent ones."""
    typed = typed_source(query)
    listed = {run.folder for run in runs}
    matches = [] if typed and query.strip() != typed else rank(query, tokenizers, runs)
    wanted = query.strip().casefold()
    places = [
        SourceRow(source, True)
        for source in recent
        if wanted in source.casefold() and source not in listed
    ]
    first = (
        [SourceRow(typed, False)] if typed is not None and typed not in {*recent, *listed} else []
    )
    return [*first, *_with_families(matches), *places]


def _with_families(rows: Sequence[Run | Match]) -> list[Run | Match]:
    """Name the family in the first of its rows."""
    families = ["", *(row.tokenizer.family if isinstance(row, Match) else "" for row in rows)]
    return [
        replace(row, family=family) if isinstance(row, Match) and family != before else row
        for row, (before, family) in zip(rows, pairwise(families), strict=True)
    ]


def source_of_row(row: PickerRow) -> str:
    """Return the argument of `tokviz.load` for a row."""
    match row:
        case Run():
            return row.folder
        case Match(OtherTokenizer() as other):
            return other.source or other.name
        case Match():
            return row.tokenizer.name
        case SourceRow():
            return row.source


def typed_source(text: str) -> str | None:
    """Return the path or Hub name in a text, or None.

    Quotes, `file://` and `~` are supported, as terminals and file managers write paths.
    """
    cleaned = cleaned_path(text.strip())
    if cleaned.startswith(HUB_PREFIX):
        return cleaned if len(cleaned) > len(HUB_PREFIX) else None
    looks_so = os.sep in cleaned or cleaned.startswith(("~", ".")) or cleaned.endswith(_ENDINGS)
    if not cleaned or not (looks_so or os.path.exists(cleaned)):
        return None
    return absolute(cleaned)


def _folded(text: str) -> str:
    return _SEPARATORS.sub("", text).casefold()


def _fit(wanted: str, name: str) -> int:
    """Return how well a name matches: 1 is best, 0 is no match."""
    if name == wanted:
        return 1
    if name.startswith(wanted):
        return 2
    if wanted in name:
        return 3
    return _SCATTERED if re.search(".{0,3}".join(map(re.escape, wanted)), name) else 0


_SCATTERED = 4
"""Score of a name that only contains the characters in order."""


def paint_row(row: PickerRow, width: int, *, current: str | None) -> list[Span]:
    """Draw a row of the list."""
    is_current = source_of_row(row) == current
    match row:
        case Run():
            return paint_run(row, width, current=is_current)
        case Match():
            return paint_match(row, width, current=is_current)
        case SourceRow():
            return paint_place(row, width, current=is_current)


def paint_run(run: Run, width: int, *, current: bool) -> list[Span]:
    """Draw a row: mark, name, training, and size."""
    name_width = min(32, max(10, width // 2))
    size = "" if run.n_vocab is None else f"{run.n_vocab:,} tokens "
    size = size if width >= 60 else ""
    room = max(0, width - name_width - len(size) - 6)
    return [
        Span("● " if current else "  ", "accent"),
        Span(column(fit_name(safe(run.name), name_width), name_width), "heading"),
        Span("  "),
        Span(column(safe(run.words), room), "text" if run.n_vocab else "dim"),
        Span("  "),
        Span(size, "dim"),
    ]


_WIDE = 60
"""Least columns of a row with a column for the family."""
_FAMILY, _NAME = 10, 17
"""Columns of a family and of a tokenizer's name."""


def paint_match(match: Match, width: int, *, current: bool) -> list[Span]:
    """Draw a row: family, mark, name, models or the alias that fits, and size."""
    tokenizer = match.tokenizer
    title = tokenizer.title
    shown_names = {_folded(name) for name in (tokenizer.name, *title.split(", "))}
    if _folded(match.name) not in shown_names:
        title = f"{match.name} · {title}"
    cells: list[Span] = [
        Span(f"{match.family:<{_FAMILY}}" if width >= _WIDE else "", "dim"),
        Span("● " if current else "  ", "accent"),
        Span(f"{tokenizer.name:<{_NAME}}", "heading"),
    ]
    match tokenizer:
        case BuiltinTokenizer():
            size = f"{tokenizer.n_tokens:>8,} tokens"
        case OtherTokenizer():
            size = f"{'download' if tokenizer.source else 'not public':>15}"
    room = width - width_of(cells) - 2
    ending: list[Span] = []
    if room >= 46:
        ending = [Span(size + " ", "dim")]
    elif room >= 30:
        ending = [Span(size.removesuffix("tokens").removesuffix("download"), "dim")]
    room -= width_of(ending)
    if room > 4:
        cells += [Span("  "), Span(fit(title, room).ljust(room)), *ending]
    return cells


def paint_place(place: SourceRow, width: int, *, current: bool) -> list[Span]:
    """Draw a row: mark, name and location."""
    mark = "● " if current else "  " if place.recent else "→ "
    name, where = place_words(place.source)
    cells: list[Span] = [Span(mark, "accent")]
    if place.recent and width >= 40:
        shown = fit(name, width // 2)
        room = width - len(mark) - cell_len(shown) - 3
        return [*cells, Span(shown, "heading"), Span("  "), Span(fit_end(where, room), "dim")]
    verb = "" if place.recent else "load "
    return [*cells, Span(verb, "dim"), Span(fit_end(where, width - 3 - len(verb)), "heading")]


def about_place(place: SourceRow) -> str:
    """Describe the content of a location."""
    if place.source.startswith(HUB_PREFIX):
        return "Its files are downloaded from the Hugging Face Hub and kept in its cache."
    where = place_words(place.source)[1]
    kind = recognize(place.source)
    return where if kind is None else f"{where}: {kind}"


def about_row(row: PickerRow) -> str:
    """Describe the highlighted entry; a location has no description before it is inspected."""
    match row:
        case Match(tokenizer):
            if isinstance(tokenizer, OtherTokenizer):
                return "Enter downloads it. " * bool(tokenizer.source) + f"{tokenizer.about}."
            names = ", ".join(tokenizer.aliases)
            also = f" Also called {names}." if names else ""
            note = f" {tokenizer.note}." if tokenizer.note else ""
            return f"Split pattern {tokenizer.split_pattern}.{note}{also}"
        case Run(folder, _, None):
            return f"It is damaged and cannot be used: {home_label(Path(folder))}"
        case Run(folder, _, n_vocab):
            return f"Trained: {n_vocab:,} tokens · pattern {row.words}. {home_label(Path(folder))}"
        case SourceRow():
            return ""


_MOST_NAMED = 3
"""Maximum number of trainings named if there are no matches."""


def _names(row: Run | Match) -> Sequence[str]:
    return (row.name,) if isinstance(row, Run) else _names_of(row.tokenizer)


def _names_of(tokenizer: KnownTokenizer) -> Sequence[str]:
    return (tokenizer.name, *tokenizer.aliases)


def _unknown(query: str, runs: Sequence[Run]) -> UnknownTokenizerError:
    """Return the command line's message about an unknown name, with similar ones."""
    try:
        resolve_name(query)
    except UnknownTokenizerError as error:
        return with_runs(error, runs)
    return UnknownTokenizerError(query)


def nothing_found(query: str, runs: Sequence[Run]) -> str:
    """Return a message that there are no matches, with suggestions."""
    hint = _unknown(query, runs).hint
    known = [*(run.name for run in runs[:_MOST_NAMED]), *(one.family for one in BUILTIN_TOKENIZERS)]
    names = ", ".join(map(safe, dict.fromkeys(known)))
    return (
        f"No tokenizer matches “{query.strip()}”{': ' if hint else '.'}{hint} There are {names}; "
        "names of models work too, such as gpt-5, r1 or qwen2.5. For a tokenizer of "
        "your own, type or drop its path, or a name on the Hugging Face hub: hf:org/name."
    )
