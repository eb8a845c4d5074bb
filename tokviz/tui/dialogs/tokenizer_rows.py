"""Rows of the tokenizer picker: matching, drawing and description."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len

from tokviz.errors import UnknownTokenizerError
from tokviz.formats.recognize import recognize
from tokviz.formats.registry import (
    BUILTIN_TOKENIZERS,
    HUB_PREFIX,
    BuiltinTokenizer,
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


@dataclass(frozen=True, slots=True)
class Match:
    """A matching tokenizer and its best matching name."""

    tokenizer: BuiltinTokenizer
    name: str
    """Its own name, or the alias that was meant."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A tokenizer from a file, a folder, or the Hub."""

    source: str
    """Argument of `tokviz.load`."""
    recent: bool
    """True if it was used before, False if it was typed."""


PickerRow = Run | Match | SourceRow


def rank(
    query: str, tokenizers: Sequence[BuiltinTokenizer], runs: Sequence[Run] = ()
) -> list[Run | Match]:
    """Return the matching tokenizers, best first, and the user's trainings before equal ones.

    An equal name comes before one that starts with the query, then one that contains it, then one
    that contains its characters in order if no other name is closer. Last come trainings that
    contain its words elsewhere. Case, spaces, dots, hyphens and underscores are
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
        names = (tokenizer.name, *tokenizer.aliases, *tokenizer.title.split(", "))
        fits = [(how, len(name), name) for name in names if (how := _fit(wanted, _folded(name)))]
        if fits:
            how, length, name = min(fits)
            found.append((how, length, Match(tokenizer, name)))
    if any(how == _SCATTERED for how, *_ in found) and (near := _unknown(query, runs).suggestions):
        found = [it for it in found if it[0] != _SCATTERED or {*near} & {*_names(it[2])}]
    return [row for _, _, row in sorted(found, key=lambda item: item[:2])]


def picker_rows(
    query: str,
    tokenizers: Sequence[BuiltinTokenizer],
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
    return [*first, *matches, *places]


def source_of_row(row: PickerRow) -> str:
    """Return the argument of `tokviz.load` for a row."""
    match row:
        case Run():
            return row.folder
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
    characters = iter(name)
    return _SCATTERED if all(char in characters for char in wanted) else 0


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


def paint_match(match: Match, width: int, *, current: bool) -> list[Span]:
    """Draw a row: mark, name, models or the alias that fits, and size."""
    tokenizer = match.tokenizer
    title = tokenizer.title
    shown_names = {_folded(name) for name in (tokenizer.name, *title.split(", "))}
    if _folded(match.name) not in shown_names:
        title = f"{match.name} · {title}"
    cells: list[Span] = [
        Span("● " if current else "  ", "accent"),
        Span(f"{tokenizer.name:<13}", "heading"),
    ]
    size = f"{tokenizer.n_tokens:>8,} tokens"
    room = width - 17
    ending: list[Span] = []
    if room >= 46:
        ending = [Span(size + " ", "dim")]
    elif room >= 30:
        ending = [Span(size.removesuffix("tokens"), "dim")]
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
            names = ", ".join(tokenizer.aliases)
            also = f" Also called {names}." if names else ""
            return f"Split pattern {tokenizer.split_pattern}.{also}"
        case Run(folder, _, None):
            return f"It is damaged and cannot be used: {home_label(Path(folder))}"
        case Run(folder, _, n_vocab):
            return f"Trained: {n_vocab:,} tokens · pattern {row.words}. {home_label(Path(folder))}"
        case SourceRow():
            return ""


_MOST_NAMED = 3
"""Maximum number of trainings named if there are no matches."""


def _names(row: Run | Match) -> Sequence[str]:
    return (row.name,) if isinstance(row, Run) else (row.tokenizer.name, *row.tokenizer.aliases)


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
    known = [*(run.name for run in runs[:_MOST_NAMED]), *(one.name for one in BUILTIN_TOKENIZERS)]
    names = ", ".join(map(safe, known))
    return (
        f"No tokenizer matches “{query.strip()}”{': ' if hint else '.'}{hint} There are {names}; "
        "names of models work too, such as gpt-4o, gpt-3.5-turbo or qwen2.5. For a tokenizer of "
        "your own, type or drop its path, or a name on the Hugging Face hub: hf:org/name."
    )
