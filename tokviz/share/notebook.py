"""Objects of tokviz as HTML for notebooks, and as facts for Rich.

The HTML has no scripts, style sheets or addresses, because notebooks remove them. The colors are
translucent and the text has the color of the page, so that both fit light and dark themes. Long
content is cut, with a note.

To display another class, write a function here that returns its `View`, and decorate the class
with `tokviz.text.notebooks.displayed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tokviz.share.colours import TRANSLUCENT
from tokviz.share.figure import (
    Chip,
    Figure,
    FigurePart,
    chips_of,
    comparison_figure,
    figure_of,
    mask_figure,
)
from tokviz.text import bytetext
from tokviz.text.glyphs import safe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.chat.rendering import Rendering
    from tokviz.compare.boundaries import Comparison
    from tokviz.tokenizer.encoding.tokenization import Tokenization
    from tokviz.tokenizer.tokenizer import Tokenizer
    from tokviz.training.history import TrainingHistory
    from tokviz.training.run import TrainingRun

MOST_TOKENS = 400
"""Maximum number of tokens shown of a text in one tokenizer, and of rows."""
_MOST_CHARS, _MOST_CHIP_CHARS = 300, 160
_MOST_NAMES, _MOST_NEW_TOKENS = 8, 20
_MOST_POINTS = 200
_SAMPLE = "Tokenizers split text into tokens: naïve, 12345, 🙂".encode()

_WIDTH, _HEIGHT, _MARGIN = 320, 120, 20
_LINE = "#3b82f6"
_CHIP = "border-radius:3px;box-shadow:inset 1px 0 #8888;unicode-bidi:isolate"
_TEXT = (
    "white-space:pre-wrap;overflow-wrap:anywhere;font-family:monospace;line-height:1.7;"
    "max-height:24em;overflow:auto"
)


class View(NamedTuple):
    """A description of an object.

    Attributes:
        title: Its class.
        facts: Facts about it by name; those that are "" are left out.
        body: Its content as HTML, created when it is needed.
    """

    title: str
    facts: Mapping[str, object]
    body: Iterable[str] = ()

    def present(self) -> Iterator[tuple[str, object]]:
        """Yield the facts that are not empty."""
        return ((name, value) for name, value in self.facts.items() if value != "")


def to_html(view: View) -> str:
    """Return a view as HTML."""
    lines = [f"<div><b>{escape(view.title)}</b>"]
    for name, value in view.present():
        words = ", ".join(map(_words, value if isinstance(value, tuple) else [value]))
        label = name.removeprefix("n_").replace("_", " ")
        lines.append(f'<div><span style="opacity:.7">{label}:</span> {_escaped(words)}</div>')
    return "\n".join([*lines, *view.body, "</div>"])


def _words(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


# -- one function per class


def tokenizer(shown: Tokenizer) -> View:
    """Describe a tokenizer, with a sample text unless a child process would have to encode it."""
    facts = {
        "name": shown.name,
        "n_vocab": shown.n_vocab,
        "split_pattern": shown.split_pattern.name,
        "special_tokens": _first_names(shown.special_tokens),
        "source": shown.source,
        "pattern_doubt": shown.pattern_doubt,
    }
    body = () if shown.in_child else _figure(lambda: figure_of(shown, "", _SAMPLE))
    return View("Tokenizer", facts, body)


def tokenization(shown: Tokenization) -> View:
    """Describe the tokens of a text."""

    def figure() -> Figure:
        data = bytetext.to_bytes(shown.text)
        chips = chips_of(
            shown.ids[:MOST_TOKENS],
            (data[start:end] for start, end in shown.byte_spans[:MOST_TOKENS].tolist()),
            special=shown.special[:MOST_TOKENS].tolist(),
            pre_tokens=shown.pre_tokens[:MOST_TOKENS, 0].tolist(),
        )
        return Figure("", (), [FigurePart("", chips)])

    n_tokens = len(shown.ids)
    n_bytes = int(shown.byte_spans[-1, 1]) if n_tokens else 0
    facts = {"n_tokens": n_tokens, "n_bytes": n_bytes, "n_pre_tokens": len(shown.pre_tokens)}
    return View("Tokenization", facts, _figure(figure, n_tokens))


def comparison(shown: Comparison) -> View:
    """Describe a text in several tokenizers: the tokens on which they disagree have a color."""
    facts = {
        "tokenizers": tuple(side.tokenizer.name for side in shown.sides),
        "n_bytes": len(shown.data),
        "n_tokens": shown.counts,
        "n_disagreements": len(shown.spans),
    }
    long = [side.ends for side in shown.sides if len(side.ends) > MOST_TOKENS]
    end = min((int(ends[MOST_TOKENS - 1]) for ends in long), default=len(shown.data))

    def body() -> Iterator[str]:
        yield from _figure(lambda: comparison_figure("", shown, end))
        if end < len(shown.data):
            yield _note(f"The first {end:,} bytes are shown.")

    return View("Comparison", facts, body())


def rendering(shown: Rendering) -> View:
    """Describe a conversation: the tokens in the loss have a color and are underlined."""
    facts = {
        "template": shown.template,
        "tokenizer": shown.tokenizer.name,
        "n_tokens": len(shown),
        "n_kept": shown.n_kept,
        "n_learned": shown.n_learned,
        "mask_source": shown.mask_source,
        "notes": " ".join(shown.notes),
    }
    return View(
        "Rendering", facts, _figure(lambda: mask_figure("", shown, MOST_TOKENS), shown.n_kept)
    )


def training_run(shown: TrainingRun) -> View:
    """Describe a training: its compression and counts over the merges, and the first tokens."""
    n_bytes, history = shown.pre_token_counts.n_bytes, shown.history
    facts = {
        "n_vocab": shown.tokenizer.n_vocab,
        "n_merges": len(history),
        "split_pattern": shown.settings.split_pattern.name,
        "tie_break": shown.settings.tie_break,
        "special_tokens": _first_names(shown.settings.special_tokens),
        "n_bytes": n_bytes,
        "n_tokens": shown.n_tokens,
        "seconds": round(sum(shown.timings), 3),
        "stopped_early": shown.stopped_early or "",
    }

    def first_tokens() -> Figure:
        ids = history.new_id[:_MOST_NEW_TOKENS].tolist()
        chips = chips_of(ids, map(shown.tokenizer.token_bytes, ids))
        return Figure("", (), [FigurePart("first new tokens", chips)])

    def body() -> Iterator[str]:
        ratios = [(k, n_bytes / n_tokens) for k, n_tokens in _points(history.n_tokens)]
        yield _chart("bytes per token after each merge", ratios)
        yield _count_chart(history)
        yield from _figure(first_tokens)

    return View("TrainingRun", facts, body())


def training_history(shown: TrainingHistory) -> View:
    """Describe the merges of a training: the tokens of the corpus, and the counts of the pairs."""

    def body() -> Iterator[str]:
        yield _chart("tokens of the corpus after each merge", _points(shown.n_tokens))
        yield _count_chart(shown)

    facts = {"n_merges": len(shown), "n_ties": int((shown.n_tied > 1).sum())}
    return View("TrainingHistory", facts, body())


def _first_names(names: Collection[str]) -> str:
    more = f", … ({len(names):,})" if len(names) > _MOST_NAMES else ""
    return ", ".join(islice(names, _MOST_NAMES)) + more


# -- HTML


def _escaped(text: str, most: int = _MOST_CHARS) -> str:
    """Return text without control characters, cut and escaped."""
    return escape(safe(text if len(text) <= most else f"{text[:most]}…"))


def _note(text: str) -> str:
    return f'<div style="opacity:.7">{_escaped(text)}</div>'


def _figure(figure: Callable[[], Figure], n_tokens: int = 0) -> Iterator[str]:
    """Yield the tokens of a figure, and a note if there are more than it shows.

    Args:
        figure: Creates the figure, with at most `MOST_TOKENS` in a part.
        n_tokens: The number of all tokens.
    """
    for part in figure().parts:
        yield _note(part.heading) if part.heading else ""
        shown = islice(part.rows(), MOST_TOKENS + 1)
        rows = ["".join(_item(*item) for item in row) for row in shown]
        rows[MOST_TOKENS:] = ["…"] * (len(rows) > MOST_TOKENS)
        yield f'<div style="{_TEXT}">{"<br>".join(rows)}</div>'
    if n_tokens > MOST_TOKENS:
        yield _note(f"The first {MOST_TOKENS:,} of {n_tokens:,} tokens are shown.")


def _item(chip: Chip | None, label: str) -> str:
    if chip is None:
        return _note(label)
    style = f"background:{TRANSLUCENT[chip.hue]};{_CHIP}"
    style += ";font-weight:700;font-style:italic" * chip.is_special
    style += ";font-weight:700;text-decoration:underline" * bool(chip.mark)
    about = _escaped(chip.about, _MOST_CHIP_CHARS)
    return f'<span style="{style}" title="{about}">{_escaped(label, _MOST_CHIP_CHARS)}</span>'


def _points(column: npt.NDArray[np.generic]) -> list[tuple[int, float]]:
    """Return some of the values of a history, each with the number of its merge."""
    step = max(1, len(column) // _MOST_POINTS)
    numbers = sorted({*range(0, len(column), step), *range(len(column))[-1:]})
    return [(number + 1, float(column[number])) for number in numbers]


def _count_chart(history: TrainingHistory) -> str:
    return _chart("occurrences of the merged pair", _points(history.count), is_log=True)


def _chart(title: str, points: Sequence[tuple[int, float]], *, is_log: bool = False) -> str:
    """Draw a curve over the merges, on a logarithmic scale if requested."""
    if not points:
        return ""
    values = [value for _, value in points]
    low, high, last = min(values), max(values), points[-1][0]
    scale = math.log if is_log else float
    height = scale(high) - scale(low) or 1.0

    def place(k: int, value: float) -> str:
        x = _MARGIN + (_WIDTH - 2 * _MARGIN) * k / last
        y = _HEIGHT - _MARGIN - (_HEIGHT - 2.5 * _MARGIN) * (scale(value) - scale(low)) / height
        return f"{x:.1f},{y:.1f}"

    def words(text: str, x: int, y: float, anchor: str = "start") -> str:
        return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'

    curve = " ".join(place(k, value) for k, value in points)
    labels = (
        words(f"{title}{' (log scale)' * is_log}", _MARGIN, 0.6 * _MARGIN),
        words(f"{high:,.5g}", _MARGIN, 1.4 * _MARGIN),
        words(f"{low:,.5g}", _MARGIN, _HEIGHT - 0.3 * _MARGIN),
        words(f"merge {last:,}", _WIDTH - _MARGIN, _HEIGHT - 0.3 * _MARGIN, "end"),
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" font-size="11" font-family="sans-serif" '
        f'fill="currentColor" role="img" aria-label="{escape(title)}">{"".join(labels)}'
        f'<polyline points="{place(*points[0])} {curve}" fill="none" stroke="{_LINE}" '
        f'stroke-width="2" stroke-linecap="round"/></svg>'
    )
