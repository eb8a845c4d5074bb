"""The form of the Train screen: the list of the corpus, and the settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NamedTuple, get_args

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from tokviz.chat.nanochat import SPECIAL_TOKENS
from tokviz.storage.listing import home_label, size_label
from tokviz.text.glyphs import safe
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.training.corpus.entries import EXCLUDE, CorpusEntry, full_source, inspect_source
from tokviz.training.settings import SpecialIds
from tokviz.training.ties import TIE_BREAKS
from tokviz.tui.actions import action, bindings_of, declared_in
from tokviz.tui.screens.train.plan import CUSTOM, FormValues, parse_count
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.field import Choice, Choices, Field, PushButton
from tokviz.tui.widgets.fit import fit, fit_end
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Role, Span

_REMOVE = " ✕ "
MOST_ROWS = 6
"""Maximum number of visible rows."""


class CorpusList(RowList[CorpusEntry], can_focus=True):
    """Files, folders and globs with their sizes. Delete or a click on ✕ removes one."""

    DEFAULT_CSS = """
    CorpusList {
        height: 1;
        &:blur > .row-list--highlighted { background: transparent; color: $foreground; }
        &:nocolor:blur > .row-list--highlighted { text-style: none; }
    }
    """

    class Removed(Message):
        """Posted after the user removed an entry."""

        def __init__(self, entry: CorpusEntry) -> None:
            """Create the message with the entry."""
            super().__init__()
            self.entry = entry

    def __init__(self) -> None:
        """Create an empty list."""
        super().__init__(paint_corpus_entry, id="corpus")

    def show_entries(self, entries: Sequence[CorpusEntry], highlighted: int) -> None:
        """Show entries, and fit the height of the list."""
        self.display = bool(entries)
        self.styles.height = min(max(len(entries), 1), MOST_ROWS)
        self.show(entries, min(max(highlighted, 0), len(entries) - 1) if entries else None)

    @action(
        "Remove it from the list",
        "delete",
        "backspace",
        section="In the list of the corpus",
        footer="remove",
        priority=False,
    )
    def action_remove(self) -> None:
        """Remove the highlighted file or folder from the corpus."""
        if self.row is not None:
            self.post_message(self.Removed(self.row))

    def on_click(self, event: events.Click) -> None:
        """Highlight an entry, or remove it."""
        event.prevent_default()
        offset = event.get_content_offset(self)
        remove_from = self.scrollable_content_region.width - len(_REMOVE)
        if self.take_click(event) is not None and offset is not None and offset.x >= remove_from:
            self.action_remove()

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(declared_in(locals()))]


def paint_corpus_entry(entry: CorpusEntry, width: int) -> list[Span]:
    """Draw a row: the name, the number of files, their size or error, and a ✕."""
    role: Role = "dim"
    if entry.error:
        about, role = f"! {entry.error}", "warning"
    elif entry.source.startswith(EXCLUDE):
        about = "left out"
    elif entry.n_files is None:
        about = "looking…"
    else:
        files = "" if entry.n_files == 1 else f"{entry.n_files:,} files"
        about = f"{files}  {size_label(entry.n_bytes):>7}"
    room = width - len(_REMOVE)
    about = fit(about, max(8, room * 2 // 3))
    name = fit_end(safe(home_label(Path(entry.source))), room - cell_len(about) - 2)
    gap = " " * max(1, room - cell_len(name) - cell_len(about))
    return [Span(name), Span(gap), Span(about, role), Span(_REMOVE, "dim")]


VOCABULARY_SIZES = (512, 1_000, 5_000, 10_000, 32_000, 50_257)
"""The presets: a toy, a lesson, a small model, TinyStories, a large lesson, GPT-2."""

_PATTERNS = [
    *(Choice(name, name) for name in SPLIT_PATTERNS),
    Choice(CUSTOM, "your own"),
]
_SPECIAL_IDS = [Choice(name, name.replace("-", " ")) for name in get_args(SpecialIds)]
_TIES = [Choice(name, name.replace("_", " ")) for name in TIE_BREAKS]
_FIELDS = (
    "vocab_size",
    "regex",
    "specials",
    "delimiter",
    "field",
    "min_count",
    "max_chars",
    "max_doc_chars",
    "workers",
)
_CHOICES = ("pattern", "special_ids", "tie_break")
_SLIM_COLUMNS = 60


class Preset(NamedTuple):
    """The settings of a well-known training.

    Attributes:
        name: Its common name.
        about: Its purpose and source.
        vocab_size: The number of tokens, including bytes and special tokens.
        split_pattern: The split pattern.
        tie_break: The tie-breaking rule.
        special_tokens: The special tokens.
    """

    name: str
    about: str
    vocab_size: int
    split_pattern: str
    tie_break: str
    special_tokens: tuple[str, ...]


PRESETS = {
    preset.name: preset
    for preset in (
        Preset("nanochat", "as in karpathy/nanochat: at most two digits, nine special tokens",
               65_536, "nanochat", "smallest_id", SPECIAL_TOKENS),
        Preset("CS336", "for assignment 1 of Stanford CS336, on TinyStories",
               10_000, "gpt2", "lexicographic", ("<|endoftext|>",)),
        Preset("GPT-2", "the pattern, size and special token of GPT-2",
               50_257, "gpt2", "smallest_id", ("<|endoftext|>",)),
        Preset("code", "for a folder of code: GPT-4's pattern keeps indentation together",
               32_000, "gpt4", "first", ("<|endoftext|>",)),
    )
}  # fmt: skip


class SourceField(Field):
    """The field for a path or glob. Files dropped on the terminal arrive as a paste."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "add")]

    class Dropped(Message):
        """Posted after a paste of several lines with one path each."""

        def __init__(self, lines: list[str]) -> None:
            """Create the message with the lines."""
            super().__init__()
            self.lines = lines

    def clean_paste(self, text: str) -> str:
        """Turn a paste of several lines into several sources."""
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            return super().clean_paste(text)
        self.post_message(self.Dropped(lines))
        return ""


class TrainForm(VerticalScroll, can_focus=False):
    """Form for a training, which keeps its values."""

    DEFAULT_CSS = """
    TrainForm {
        scrollbar-size-vertical: 1;
        padding: 0 1;
        .row { height: auto; }
        .label { width: 14; color: $text-muted; }
        .label.-wide { width: 20; }
        &.-slim #add .label { width: 4; }
        .about { color: $text-muted; height: auto; margin: 0 0 1 14; }
        .gap { margin-bottom: 1; }
        Field, Field:focus { background: $panel; width: 1fr; padding: 0 1; }
        Field:focus { background: $block-cursor-background; }
        Field:nocolor { text-style: underline; }
        .number { width: 12; margin-right: 2; }
        .number:focus { width: 12; }
        #vocab_size, #vocab_size:focus { width: 10; }
        #corpus { margin-bottom: 0; }
        #browse { margin-left: 2; }
        #regex-row { display: none; }
        &.-custom #regex-row { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
    ]

    class Changed(Message):
        """Posted after a value has changed."""

    def __init__(self, values: FormValues) -> None:
        """Take the initial values."""
        super().__init__(id="form")
        self.border_title = "Corpus and settings"
        self._first = values
        self._entries: list[CorpusEntry] = list(values.corpus)

    def compose(self) -> ComposeResult:
        """Yield the rows of the form."""
        first = self._first
        yield CorpusList()
        with Horizontal(id="add", classes="row gap"):
            yield _label("Add")
            yield SourceField(placeholder="file, folder or *.txt", id="source")
            yield PushButton("text…", "screen.type_corpus")
            yield PushButton("browse…", "screen.add_corpus", id="browse")
        like = Choices([Choice(name, name) for name in PRESETS], "", id="like")
        with Vertical(id="like-row", classes="row"):
            yield _row("Settings as", like)
        yield Static(classes="about", id="about-like")
        yield _row(
            "Vocabulary",
            Field(first.vocab_size, id="vocab_size", classes="number", select_on_focus=False),
            Choices(
                [Choice(str(size), _short(size)) for size in VOCABULARY_SIZES],
                str(parse_count(first.vocab_size)),
                id="presets",
            ),
            classes="row gap",
        )
        yield _row("Split by", Choices(_PATTERNS, first.pattern, id="pattern"))
        with Vertical(id="regex-row", classes="row"):
            yield _row("Regex", Field(first.regex, placeholder=r"\w+|\s+|[^\w\s]+", id="regex"))
        yield Static(classes="about", id="about-pattern")
        yield _row("Specials", Field(first.specials, placeholder="none", id="specials"))
        yield _row(
            "Their ids",
            Choices(_SPECIAL_IDS, first.special_ids, id="special_ids"),
            classes="row gap",
        )
        yield _row("On a tie", Choices(_TIES, first.tie_break, id="tie_break"))
        yield Static(classes="about", id="about-tie")
        yield _row(
            "Documents end", Field(first.delimiter, placeholder="with the file", id="delimiter")
        )
        yield _row("Field, column", Field(first.field, placeholder="text", id="field"))
        yield _row(
            "Read at most",
            Field(first.max_chars, placeholder="all", id="max_chars", classes="number"),
            Static("characters", classes="label"),
        )
        yield _row(
            "",
            Field(first.max_doc_chars, placeholder="all", id="max_doc_chars", classes="number"),
            Static("of each document", classes="label -wide"),
        )
        yield _row(
            "Lowest count",
            Field(first.min_count, id="min_count", classes="number"),
            Static("to merge a pair", classes="label -wide"),
        )
        yield _row(
            "Workers",
            Field(first.workers, placeholder="none, or 4, or tcp://host:8786", id="workers"),
        )

    def on_mount(self) -> None:
        """Show the corpus and the explanations."""
        self._show_corpus(0)
        self._explain()

    def on_resize(self, event: events.Resize) -> None:
        """Shorten the label of the path field in a narrow form."""
        self.set_class(event.size.width < _SLIM_COLUMNS, "-slim")

    # -- values

    @property
    def values(self) -> FormValues:
        """The current values."""
        fields = {name: self.query_one(f"#{name}", Input).value for name in _FIELDS}
        choices = {name: self.query_one(f"#{name}", Choices).chosen for name in _CHOICES}
        return FormValues(corpus=tuple(self._entries), **fields, **choices)

    @property
    def typed(self) -> object:
        """The values that the user has typed and chosen, without facts about the files."""
        return [entry.source for entry in self._entries], replace(self.values, corpus=())

    @property
    def typed_source(self) -> str:
        """The typed path that is not added yet."""
        return self.query_one("#source", Input).value.strip()

    @on(Input.Changed)
    def _field_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input.id == "vocab_size":
            self.query_one("#presets", Choices).chosen = str(parse_count(event.value))
        self._changed()

    @on(Choices.Chosen)
    def _choice_changed(self, event: Choices.Chosen) -> None:
        event.stop()
        if event.choices.id == "like":
            self._take_preset(PRESETS[event.value])
        if event.choices.id == "presets":
            self.query_one("#vocab_size", Input).value = f"{int(event.value):,}"
        self._explain()
        if event.clicked and event.value == CUSTOM:
            # The arrow keys pass through other choices.
            self.call_after_refresh(self.query_one("#regex").focus)
        self._changed()

    def _take_preset(self, preset: Preset) -> None:
        """Fill in the settings of a well-known training, as a start."""
        self.query_one("#vocab_size", Input).value = f"{preset.vocab_size:,}"
        self.query_one("#specials", Input).value = " ".join(preset.special_tokens)
        taken = {"pattern": preset.split_pattern, "tie_break": preset.tie_break}
        for name, value in (taken | {"special_ids": "last"}).items():
            self.query_one(f"#{name}", Choices).chosen = value

    def _changed(self) -> None:
        self.post_message(self.Changed())

    def _explain(self) -> None:
        pattern = self.query_one("#pattern", Choices).chosen
        self.set_class(pattern == CUSTOM, "-custom")
        about = (
            "a regular expression, slower than a named pattern"
            if pattern == CUSTOM
            else f"{SPLIT_PATTERNS[pattern].about} ({SPLIT_PATTERNS[pattern].source})"
        )
        self.query_one("#about-pattern", Static).update(Content(safe(about)))
        like = PRESETS.get(self.query_one("#like", Choices).chosen)
        about_like = self.query_one("#about-like", Static)
        about_like.update(Content(safe(like.about if like else "")))
        about_like.display = like is not None
        self.query_one("#like-row").set_class(like is None, "gap")
        rule = TIE_BREAKS[self.query_one("#tie_break", Choices).chosen]
        self.query_one("#about-tie", Static).update(
            Content(safe(f"{rule.title}, like {rule.source}"))
        )

    def use_pattern(self, pattern: str) -> None:
        """Choose a split pattern by name, or use a custom regex."""
        is_named = pattern in SPLIT_PATTERNS
        if not is_named:
            self.query_one("#regex", Field).put(pattern)
        self.query_one("#pattern", Choices).chosen = pattern if is_named else CUSTOM
        self._explain()
        self._changed()

    # -- the corpus

    @on(Input.Submitted, "#source")
    def _add_typed(self, event: Input.Submitted) -> None:
        event.stop()
        self.take_typed()

    @on(SourceField.Dropped)
    def _add_dropped(self, event: SourceField.Dropped) -> None:
        event.stop()
        self.add_sources(event.lines)

    def take_typed(self) -> None:
        """Add the typed path, as Enter does."""
        typed = self.typed_source
        if typed:
            self.query_one("#source", Input).value = ""
            self.add_sources([typed])

    def add_sources(self, typed: Iterable[str]) -> None:
        """Add files, folders or globs, and measure them."""
        known = {entry.source for entry in self._entries}
        sources = list(dict.fromkeys(map(full_source, typed)))
        new = [source for source in sources if source not in known]
        if new:
            self._entries += [CorpusEntry(source) for source in new]
            self._show_corpus(len(self._entries) - 1)
            self._changed()
        # Sources already in the list may have changed.
        self._look(sources)

    def clear_corpus(self) -> None:
        """Remove all sources."""
        self._entries.clear()
        self._show_corpus(0)
        self._changed()

    def _look(self, sources: Sequence[str]) -> None:
        def look(task: Task) -> None:
            for source in sources:
                entry = inspect_source(source, lambda: task.cancelled)
                if task.cancelled:
                    return
                task.tell(self._show_looked, entry)

        in_thread(self, "corpus", look, exclusive=False)

    def _show_looked(self, entry: CorpusEntry) -> None:
        sources = [known.source for known in self._entries]
        if entry.source in sources:
            self._entries[sources.index(entry.source)] = entry
            self._show_corpus(self.query_one(CorpusList).highlighted or 0)
            self._changed()

    @on(CorpusList.Removed)
    def _remove(self, event: CorpusList.Removed) -> None:
        event.stop()
        sources = [known.source for known in self._entries]
        if event.entry.source not in sources:
            return
        index = sources.index(event.entry.source)
        del self._entries[index]
        self._show_corpus(index)
        if not self._entries:
            self.query_one("#source").focus()
        self._changed()

    def _show_corpus(self, highlighted: int) -> None:
        self.query_one(CorpusList).show_entries(self._entries, highlighted)


def _label(text: str) -> Static:
    return Static(Content(text), classes="label")


def _row(label: str, *widgets: Widget, classes: str = "row") -> Horizontal:
    return Horizontal(_label(label), *widgets, classes=classes)


def _short(size: int) -> str:
    return f"{size // 1000}k" if size % 1000 == 0 else f"{size:,}"
