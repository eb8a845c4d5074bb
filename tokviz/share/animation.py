"""Merges as an animated SVG for slides: each pair lights up and is joined, one after the other.

The SVG uses CSS keyframes, which also run in an `<img>`. With reduced motion, and in programs
without support for keyframes, it shows the final state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import TokvizError
from tokviz.live.hues import N_HUES
from tokviz.share.colours import LIGHT
from tokviz.share.replayed import step_words
from tokviz.share.svg import fill, opening, wrapped
from tokviz.text.glyphs import n_cells, safe, short_label, token_label
from tokviz.text.sentences import pluralize
from tokviz.training.replay import LADDER_BYTES

if TYPE_CHECKING:
    from tokviz.training.replay.replay import Replay
    from tokviz.training.replay.text import ReplayText

MOST_STEPS = 60
SECONDS = 2.0
_WIDTH, _HEIGHT, _MARGIN = 960, 540, 40
_CELLS = (22, 18, 14, 11, 8)
"""Widths of a letter in pixels, largest first; the first that fits everything is used."""
_LIT, _JOINED = 0.15, 0.55
"""Fractions of a step at which a pair lights up and becomes one token."""
_NOTE_COLUMNS = 90
_LONG_WORD = 40
"""A word of more bytes than this may continue in the next line."""
_NOTE_LINES = 3


class _Line(NamedTuple):
    """Bytes whose tokens are shown: a word of the corpus, or a part of a long word or of the text.

    Attributes:
        data: The bytes.
        ends: The ends of the tokens in every state.
        times: Label for how often the word occurs; empty if the line does not start the word.
        is_word: Whether it belongs to the corpus.
        gap: Number of empty columns after it.
    """

    data: bytes
    ends: list[list[int]]
    times: str = ""
    is_word: bool = False
    gap: int = 0


class _Life(NamedTuple):
    """A token: its byte span in a line, and the range of states that contain it."""

    start: int
    end: int
    born: int
    died: int


def animation(
    replay: Replay,
    first: int,
    last: int,
    text: ReplayText | None = None,
    *,
    seconds: float = SECONDS,
    say: Callable[[int], str] = lambda k: "",
) -> Iterator[bytes]:
    """Draw merges one after the other, in the corpus if it is tiny, and in a text.

    Args:
        replay: The replay to draw.
        first: The first merge.
        last: The last merge. If too many merges change the picture, the last ones are drawn, or
            the first ones if `first` is not 1.
        text: A text to show.
        seconds: Duration of each merge.
        say: Returns a caption for a merge, or for the start if it gets 0.

    Raises:
        TokvizError: If there is too much to show, or nothing.
    """
    is_drawn = replay.has_counts and replay.is_tiny and (replay.n_bytes or 0) <= LADDER_BYTES
    if text is None and not is_drawn:
        raise TokvizError("this corpus is too large to draw, or unknown: pass a text to show")
    steps: Sequence[int] = range(first, min(last, replay.n_merges) + 1)
    if text is not None and not is_drawn:
        steps = [k for k in _changes(text, first - 1) if k <= last]
    steps = steps[:MOST_STEPS] if first > 1 else steps[-MOST_STEPS:]
    if not steps:
        raise TokvizError("no merge changes what is shown")
    states = [steps[0] - 1, *steps]
    lines = _lines(replay if is_drawn else None, states, text)
    if sum(len(line.data) for line in lines) > 2 * LADDER_BYTES:
        raise TokvizError(f"too long to draw: use a text of at most {LADDER_BYTES:,} bytes")
    made = [short_label(replay.token(k)) for k in steps]
    size, places, bottom = _layout(lines, made)
    clock = _Clock(len(steps), seconds)
    drawn = [*_captions(replay, states, say, clock)]
    frames: list[str] = []
    for line, at in zip(lines, places[: len(lines)], strict=True):
        drawn += _line(line, at, size, replay, clock, frames)
    for number, (label, at) in enumerate(zip(made, places[len(lines) :], strict=True), 1):
        hue = replay.step(steps[number - 1]).new_id % N_HUES
        drawn.append(
            _shown(clock.during(number, None), _box(label, *at, n_cells(label), size, hue))
        )
    drawn += [_words("new tokens", _MARGIN, places[len(lines)][1] - 12, 8, fill("m")), *frames]
    parts = opening(
        f"{safe(replay.name.rpartition('/')[2])}: {made[0]} … {made[-1]}",
        _WIDTH,
        max(_HEIGHT, bottom + _MARGIN),
        clock.style(),
    )
    bar = f'<rect class="m bar" y="0" width="{_WIDTH}" height="5" fill="{LIGHT.muted}"/>'
    yield from (f"{line}\n".encode() for line in (*parts, *drawn, bar, "</svg>"))


def _changes(text: ReplayText, k: int) -> Iterator[int]:
    """Yield the merges after merge k that change a text."""
    while (following := text.next_change(k)) is not None:
        yield (k := following)


def _lines(replay: Replay | None, states: Sequence[int], text: ReplayText | None) -> list[_Line]:
    """Collect the lines to draw: the words of a tiny corpus, and the parts of a text."""
    lines: list[_Line] = []
    if replay is not None:
        for pre_token in replay.state(states[-1]).pre_tokens(0, LADDER_BYTES):
            if len(pre_token.data) > 1 or not pre_token.data.isspace():
                times = f"{pre_token.count:,}× " if pre_token.count > 1 else ""
                ends = [replay.pre_token(pre_token.index, k).byte_ends for k in states]
                parts = list(_parts(pre_token.data, ends, len(pre_token.data) > _LONG_WORD))
                lines += [part._replace(is_word=True) for part in parts]
                lines[-len(parts)] = lines[-len(parts)]._replace(times=times)
                lines[-1] = lines[-1]._replace(gap=2)
    if text is not None:
        lines += _parts(text.data, [text.at(k).byte_ends.tolist() for k in states], True)
    return lines


def _parts(data: bytes, ends: Sequence[Sequence[int]], is_long: bool) -> Iterator[_Line]:
    """Cut long data at the ends of its final tokens, because no merge joins bytes across them."""
    for start, end in pairwise([0, *(ends[-1] if is_long else [len(data)])]):
        own = [[at - start for at in state if start < at <= end] for state in ends]
        yield _Line(data[start:end], own)


def _width(line: _Line) -> int:
    return n_cells(line.times) + sum(_byte_cells(byte) for byte in line.data)


def _byte_cells(byte: int) -> int:
    return n_cells(token_label(bytes([byte])))


def _layout(lines: Sequence[_Line], made: Sequence[str]) -> tuple[int, list[tuple[int, int]], int]:
    """Return the largest letter width that fits everything, with all positions and the bottom."""
    for size in _CELLS:
        gaps = [line.gap for line in lines]
        n_words = sum(line.is_word for line in lines)
        widths = [_width(line) for line in lines]
        places, y = _flow(widths[:n_words], gaps, 150, size)
        own, y = _flow(widths[n_words:], gaps[n_words:], y + 10 * bool(n_words), size)
        places += own
        below, bottom = _flow([n_cells(label) for label in made], [1] * len(made), y + 40, size)
        if bottom <= _HEIGHT - _MARGIN and max(x for x, _ in places) < _WIDTH:
            break
    if any(_width(line) * size > _WIDTH - 2 * _MARGIN for line in lines):
        raise TokvizError("a token is too long to draw: it does not fit in a line")
    return size, [*places, *below], bottom


def _flow(
    widths: Sequence[int], gaps: Sequence[int], y: int, size: int
) -> tuple[list[tuple[int, int]], int]:
    """Arrange boxes in lines; return their positions and the bottom of the last line."""
    places, x, height = [], _MARGIN, 2 * size + 16
    for width, gap in zip(widths, gaps, strict=False):
        if x > _MARGIN and x + width * size > _WIDTH - _MARGIN:
            x, y = _MARGIN, y + height
        places.append((x, y))
        x += (width + gap) * size
    return places, y + height * bool(places)


def _line(
    line: _Line,
    at: tuple[int, int],
    size: int,
    replay: Replay,
    clock: _Clock,
    frames: list[str],
) -> Iterator[str]:
    """Draw the tokens of a line; add highlight frames to `frames`, to be drawn on top."""
    x, y = at
    if line.times:
        yield _words(line.times, x, y + 1.45 * size, size, fill("m"))
        x += n_cells(line.times) * size
    columns = [0]
    for byte in line.data:
        columns.append(columns[-1] + _byte_cells(byte))
    hues: dict[tuple[int, int], int] = {}
    for life in _lives(line):
        token, n_bytes = line.data[life.start : life.end], life.end - life.start
        near = {hue for (a, b), hue in hues.items() if b == life.start or a == life.end}
        first = replay.tokenizer.token_id(token) or 0
        hue = next(hue for hue in range(first, first + N_HUES) if hue % N_HUES not in near)
        hue = hue % N_HUES if n_bytes > 1 else N_HUES
        hues[life.start, life.end] = hue
        left, width = x + columns[life.start] * size, columns[life.end] - columns[life.start]
        shown = clock.during(life.born, life.died)
        yield _shown(shown, _box(token_label(token), left, y, width, size, hue))
        if life.born:
            frame = (
                f'<rect x="{left - 2}" y="{y - 3}" width="{width * size + 2}" '
                f'height="{2 * size + 6}" rx="6" fill="none" stroke="#c026d3" stroke-width="3"/>'
            )
            frames.append(_shown(clock.lit(life.born), frame))


def _lives(line: _Line) -> list[_Life]:
    """Return the tokens of a line with the states that contain them, oldest first."""
    seen: dict[tuple[int, int], list[int]] = {}
    for state, ends in enumerate(line.ends):
        for span in pairwise([0, *ends]):
            seen.setdefault(span, []).append(state)
    lives = (_Life(*span, states[0], states[-1] + 1) for span, states in seen.items())
    return sorted(lives, key=lambda life: (life.born, life.start))


def _captions(
    replay: Replay, states: Sequence[int], say: Callable[[int], str], clock: _Clock
) -> Iterator[str]:
    """Draw a caption for each step at the top."""
    for number, k in enumerate(states):
        head = f"before merge {k + 1:,}"
        if number:
            step = replay.step(k)
            times = "" if step.count is None else f", {pluralize(step.count, 'time')}"
            head = f"merge {k:,}: {step_words(step)}{times}"
        lines = wrapped(safe(say(k)), _NOTE_COLUMNS)[:_NOTE_LINES]
        rows = [_words(head, _MARGIN, 50, 11, 'font-weight="bold"')]
        rows += [_words(line, _MARGIN, 78 + 22 * n, 9, fill("m")) for n, line in enumerate(lines)]
        last = None if number == len(states) - 1 else number + 1
        yield _shown(clock.caption(number, last), "".join(rows))


def _box(label: str, x: float, y: float, width: int, size: int, hue: int) -> str:
    rect = (
        f'<rect x="{x}" y="{y}" width="{width * size - 2}" height="{2 * size}" rx="5" '
        f"{fill('h', hue)}/>"
    )
    left = x + (width - n_cells(label)) * size / 2
    return rect + _words(label, left, y + 1.45 * size, size, "")


def _words(label: str, x: float, y: float, size: int, attributes: str) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size / 0.6:.1f}" '
        f'textLength="{n_cells(label) * size}" lengthAdjust="spacingAndGlyphs" '
        f'xml:space="preserve" {attributes}>{escape(label)}</text>'
    )


def _shown(during: tuple[str, bool], what: str) -> str:
    name, stays = during
    return f'<g class="{name}" opacity="{int(stays)}">{what}</g>'


class _Clock:
    """Visibility of elements over time; each time span is a CSS class with its keyframes."""

    def __init__(self, n_steps: int, seconds: float) -> None:
        """Create a clock for `n_steps` steps, plus one step each for the first and final state."""
        self._n, self._seconds = n_steps + 2, seconds
        self._names: dict[tuple[float, float], str] = {}

    def _between(self, start: float, end: float) -> tuple[str, bool]:
        name = self._names.setdefault((start, end), f"a{len(self._names)}")
        return name, end >= self._n

    def during(self, born: int, died: int | None) -> tuple[str, bool]:
        """Show a token from the state that creates it until a merge joins it."""
        is_last = died is None or died > self._n - 2
        start = born + _JOINED if born else 0
        return self._between(start, self._n if is_last else (died or 0) + _JOINED)

    def lit(self, step: int) -> tuple[str, bool]:
        """Highlight the result of a step."""
        return self._between(step + _LIT, step + 1)

    def caption(self, first: int, last: int | None) -> tuple[str, bool]:
        """Show the caption of a state until the next one."""
        return self._between(first, self._n if last is None else last)

    def style(self) -> str:
        """Return the CSS keyframes."""
        total, rules = self._n * self._seconds, []
        for (start, end), name in self._names.items():
            on, off = 100 * start / self._n, 100 * end / self._n
            frames = f"0%{{opacity:{int(not start)}}}"
            if start:
                frames += f"{on:.2f}%{{opacity:0}}{on + 0.1:.2f}%{{opacity:1}}"
            if end < self._n:
                frames += f"{off:.2f}%{{opacity:1}}{off + 0.1:.2f}%{{opacity:0}}"
            frames += f"100%{{opacity:{int(end >= self._n)}}}"
            rules.append(f"@keyframes {name}{{{frames}}}.{name}{{animation-name:{name}}}")
        return (
            f"g,.bar{{animation:{total:g}s linear infinite}}{''.join(rules)}"
            "@keyframes bar{from{transform:scaleX(0)}}.bar{animation-name:bar}"
            "@media(prefers-reduced-motion:reduce){g,.bar{animation:none}}"
        )
