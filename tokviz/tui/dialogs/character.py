"""Explanation of a character: its code points, its forms, and their tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType

from tokviz.errors import TokvizError
from tokviz.explain.character import Inspected, char_at, clusters, inspect
from tokviz.explain.places import Place
from tokviz.text.bytetext import has_raw_bytes
from tokviz.text.glyphs import safe
from tokviz.text.sentences import failure_message, pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.page import PageDialog
from tokviz.tui.palette import palette_of
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.card_rows import label_of, sentence_words
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.spans import Row, Span, Word, flow, words_of


class CharacterDialog(PageDialog):
    """Shows the character at a place, and its neighbors. The tokenizer may be a child process."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i,shift+f7", "cancel", show=False),
        Binding("left", "step(-1)", show=False),
        Binding("right", "step(1)", show=False),
        Binding("c", "copy", show=False),
        Binding("f1", "app.guide('tokens', 'What is this character?')", show=False),
    ]
    dialog_title = "What is this character?"

    def __init__(
        self,
        tokenizer: Tokenizer,
        place: Place | Callable[[], Place],
        copy: Callable[[str, str], object],
    ) -> None:
        """Create the dialog of a place, or of a function that finds it in a thread."""
        super().__init__()
        self._tokenizer, self._place, self._copy = tokenizer, place, copy
        self._starts: list[int] = []
        """Offsets of the characters around."""
        self._text, self._at = "", 0
        self.found: Inspected | None = None

    def hints(self) -> list[Hint]:
        """Return the hints of the last line."""
        return [
            ("Esc", "close", "cancel"),
            ("→", "next", "step(1)"),
            ("←", "previous", "step(-1)"),
            ("C", "copy", "copy"),
            ("↑↓", "scroll", "scroll(1)"),
        ]

    def wanted_height(self) -> int:
        """Use all available rows."""
        return max(12, len(self.view.rows) + 1)

    def on_mount(self) -> None:
        """Load the place."""
        self.view.set_palette(palette_of(self.app))
        self.view.show(self._rows)
        found = self._place

        def work(task: Task) -> tuple[str, int, list[int]]:
            place = found if isinstance(found, Place) else found()
            byte = place.start if place.cursor is None else place.cursor
            return place.text, char_at(place.text, byte), [a for a, _ in clusters(place.text)]

        def take(known: tuple[str, int, list[int]]) -> None:
            self._text, self._at, self._starts = known
            self._look()

        in_thread(self, "place", work, take, failed=self._give_up)

    def _look(self) -> None:
        text, at, tokenizer = self._text, self._at, self._tokenizer
        if at < len(text):
            in_thread(
                self,
                "character",
                lambda task: inspect(text, at, tokenizer),
                self._take,
                failed=self._give_up,
            )

    def _take(self, found: Inspected) -> None:
        self.found, self._at = found, found.start
        self.show_error("")
        self.view.show(self._rows, from_top=True)
        self.fit_height(self.app.size)
        self.call_after_refresh(self.view.lay_out)

    def _give_up(self, error: TokvizError) -> None:
        self.show_error(failure_message("The character cannot be shown", error))

    def _rows(self, width: int) -> list[Row]:
        if self.found is None:
            return flow(words_of("One moment…", "dim"), width)
        return character_rows(self.found, self._tokenizer.name, width)

    def action_step(self, step: int) -> None:
        """Go to the next character of the text, or to the one before."""
        if self.found is not None:
            number = self._starts.index(self._at) + step  # it may still be looked up
            if 0 <= number < len(self._starts):
                self._at = self._starts[number]
                self._look()

    def action_copy(self) -> None:
        """Copy the explanation as text."""
        if self.found is not None:
            self._copy(as_text(self.found, self._tokenizer.name), "what the character is")


_LEFT = 10
"""Columns of the numbers of code points."""
_MOST_CHIPS = 40
_ENCODINGS = {"UTF-8": "utf-8", "UTF-16": "utf-16-be", "UTF-32": "utf-32-be"}


def character_rows(found: Inspected, tokenizer: str, width: int) -> list[Row]:
    """Draw a character: warnings, code points with their bytes, normal forms with their tokens."""
    data = found.forms[0].data
    is_valid = not has_raw_bytes(found.text)
    size = "1 byte of invalid UTF-8, no code point"
    if is_valid:
        sizes = (f"{len(found.text.encode(it))} in {name}" for name, it in _ENCODINGS.items())
        size = f"{pluralize(found.n_points, 'code point')}; bytes: {', '.join(sizes)} (big-endian)"
    label = fit(label_of(data), max(1, width // 3))
    rows = flow([(Span(label, "made"),), *words_of(size, "dim")], width)
    for note in found.notes:
        rows += flow([_warning(word) for word in sentence_words(note)], width)
    rows.append(())
    for point, char in zip(found.points, found.text, strict=False):
        lead = (Span(f"{point.label:<{_LEFT}}", "heading"),)
        rows += flow(words_of(safe(point.name)), width, lead)
        lines = [f"{point.category} · {point.script}"]
        if is_valid:
            encoded = (f"{name} {char.encode(it).hex(' ')}" for name, it in _ENCODINGS.items())
            lines.append(" · ".join(encoded))
        for line in lines:
            rows += flow(words_of(line, "dim"), width, (Span(" " * _LEFT),))
    if found.n_points > len(found.points):
        rows.append((Span(f"… {found.n_points - len(found.points):,} more", "dim"),))
    rows += [(), (Span(fit(f"Its tokens alone, {safe(tokenizer)}", width), "heading"),)]
    for form in found.forms:
        about = f"{form.name}: {pluralize(len(form.tokens), 'token')}"
        rows += flow(words_of(about, "label"), width)
        chips: list[Word] = [
            (Span(label_of(token), "made"), Span(f" {token_id}", "dim"))
            for token, token_id in form.tokens[:_MOST_CHIPS]
        ]
        if len(form.tokens) > len(chips):
            chips += words_of(f"… {len(form.tokens) - len(chips):,} more", "dim")
        rows += flow(chips, width, (Span("  "),))
    return rows


def _warning(word: Word) -> Word:
    return [span._replace(role="warning") for span in word]


def as_text(found: Inspected, tokenizer: str) -> str:
    """Return the rows as plain text."""
    rows = character_rows(found, tokenizer, 100)
    return "\n".join("".join(span.text for span in row).rstrip() for row in rows) + "\n"
