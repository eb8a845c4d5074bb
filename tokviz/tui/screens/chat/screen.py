"""The Chat screen: messages, their tokens with the mask, and the lines above and below."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.geometry import Size
from textual.widgets import Static

from tokviz.chat.conversation import ConversationError
from tokviz.chat.lint import Finding
from tokviz.chat.render import Rendering
from tokviz.chat.request import DEFAULT_MAX_TOKENS, ChatRequest
from tokviz.chat.templates import TEMPLATES
from tokviz.errors import TokvizError
from tokviz.glyphs import safe
from tokviz.live.document import LiveDocument
from tokviz.session import Request, Session, ShowConversation
from tokviz.tokenizer import Tokenizer
from tokviz.tui.palette import palette_of
from tokviz.tui.screens.bars import tab_items, tokenizer_item
from tokviz.tui.screens.chat import editing
from tokviz.tui.screens.chat.copy_actions import CopyActions
from tokviz.tui.screens.chat.dataset_view import RowsView
from tokviz.tui.screens.chat.edit_actions import EditActions
from tokviz.tui.screens.chat.goto_actions import GotoActions
from tokviz.tui.screens.chat.history import History, Origin, State
from tokviz.tui.screens.chat.lines import row_items, status_items
from tokviz.tui.screens.chat.rendering import RenderActions
from tokviz.tui.screens.chat.scan_actions import ScanActions
from tokviz.tui.screens.chat.template_actions import TemplateActions
from tokviz.tui.screens.chat.view_actions import ViewActions
from tokviz.tui.screens.chat.views import ChatViews
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.conversation.rows import PartPlace
from tokviz.tui.widgets.conversation.view import MessageList
from tokviz.tui.widgets.mask.counts import NOTHING, message_note, part_counts
from tokviz.tui.widgets.turns import border_tabs

NARROW_COLUMNS = 110
"""A narrower terminal has the tokens below the messages."""
SHORT_LINES = 16
"""A terminal of fewer lines goes without the key bar and without the tokens."""
LOW_LINES = 30
"""A terminal of fewer lines gives the explanation of a token fewer of them."""


class ChatScreen(
    ScanActions,
    GotoActions,
    EditActions,
    TemplateActions,
    ViewActions,
    CopyActions,
    RenderActions,
):
    """See which tokens of a conversation a model learns from, and why."""

    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#message-editor"
    SCREEN_ID = "chat"

    def __init__(self, session: Session) -> None:
        """Begin with a sample; what was asked for is opened when the screen is there."""
        super().__init__(session)
        first = editing.EMPTY
        self.mark_saved(first)
        self.history = History(State(first, "nanochat", place=PartPlace(0)))
        self.jinja = {}
        self.rendering: Rendering | None = None
        self.problem: TokvizError | None = None
        self.findings: list[Finding] = []
        self.max_tokens = DEFAULT_MAX_TOKENS
        self._previews = OrderedDict()
        self.counts = NOTHING
        self._counted: Rendering | None = None
        self._fitted: Size | None = None
        self._drawn_tabs: object = None

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self._fit(self.app.size)
        palette = palette_of(self.app)
        self.tokenizer = self.session.tokenizer
        self.live = LiveDocument("", self.tokenizer, parse_specials=False)
        self.messages = MessageList(
            self.live, palette, show_invisibles=self.settings.show_invisibles, id="messages"
        )
        self.messages.editor.on_edited = self._edited
        self.messages.editor.tab_behavior = "focus"
        self.messages.editor.placeholder = "an empty message"
        self.left = Container(id="left")
        self.rows_view = RowsView(self.describe_row, id="rows")
        self.lengths_table = Static(id="lengths-table")
        self.views = ChatViews(palette)
        self.status = Bar(id="status")
        yield self.title_bar
        with Container(id="work"):
            with self.left:
                yield self.messages
                yield self.rows_view
                with VerticalScroll(id="lengths"):
                    yield self.lengths_table
            yield self.views
        yield self.status
        yield self.keys

    def on_mount(self) -> None:
        """Fill the lines, and show what was asked for."""
        self.watch(self.messages.list, "scroll_y", lambda: self.messages.follow_scroll())
        self.call_after_refresh(self._started)

    def _started(self) -> None:
        self.show_sample()
        self.show_left("conversation")
        self.show_state()
        self.start_autosave()
        self.begin_answering()

    def answer(self, request: Request) -> None:
        """Show what another part of the app, or the command line, asks for."""
        if isinstance(request, ChatRequest):
            self.max_tokens = request.max_tokens
            if request.template in TEMPLATES:
                self.history.restart(self.history.state._replace(template=request.template))
            else:
                self.open_template(request.template)
            self.open_path(Path(request.path))
        elif isinstance(request, ShowConversation):
            self.leave_dataset()
            self.load(request.conversation, Origin())

    def on_unmount(self) -> None:
        """Keep what was not saved, and end what runs in the background."""
        self.end_autosave()
        for template in self.jinja.values():
            template.close()

    def tokenizer_changed(self, tokenizer: Tokenizer) -> None:
        """Take up the tokenizer that was chosen."""
        self.set_tokenizer(tokenizer)

    # -- the conversation has changed

    def _edited(self) -> None:
        """Show an edit everywhere, in the same frame as the editor does."""
        self.text_edited()
        self.messages.show_cursor()
        self.follow_cursor()

    def show_state(self) -> None:
        """Show the present state everywhere."""
        state = self.history.state
        place = editing.place_in(state.conversation, state.place)
        self.messages.show(self._blocks(), place, editing.roles_to_add(state.conversation))
        if place is not None:
            self.messages.editor.move_cursor(state.location)
        self.refresh_rendering()
        self.messages.show_cursor()
        if place is not None:
            self.views.show_message(place.message)

    def show_rendering(self) -> None:
        """Show the newest tokens everywhere."""
        rendering = self.rendering
        if rendering is not self._counted:
            self.counts = NOTHING if rendering is None else part_counts(rendering)
            self._counted = rendering
        self.messages.edited(self._blocks(), editing.roles_to_add(self.conversation))
        self.views.show_rendering(
            rendering, self.roles, self.counts, self._problem_text(), self.wanted_pin()
        )
        self._show_lines()

    def _problem_text(self) -> str:
        problem = self.problem
        if problem is None:
            return ""
        hint = ""
        if isinstance(problem, ConversationError) and problem.part_index is not None:
            hint = " (“Join the parts” in the command palette makes the message one text.)"
        return f"✗ No tokens. {problem}{hint}"

    def _blocks(self) -> list[Any]:
        counts = self.counts
        warned = {finding.message_index for finding in self.findings}
        learned = [
            [
                bool((count := counts.by_part.get((index, part))) and count.learned)
                for part in range(len(message.parts))
            ]
            for index, message in enumerate(self.conversation.messages)
        ]
        known = self.rendering is not None
        notes = [
            (
                ("! " if index in warned else "") + (message_note(counts, index) if known else ""),
                index in warned,
            )
            for index in range(len(self.conversation.messages))
        ]
        return editing.blocks_of(self.conversation, learned, notes)

    # -- the lines above and below

    def _show_lines(self) -> None:
        self._show_title()
        self._show_status()

    def _show_title(self) -> None:
        self._draw_left_tabs()
        template = self.history.state.template
        title = TEMPLATES[template].title if template in TEMPLATES else "Jinja"
        models = f" ({title})" if title.lower() != template else ""
        self.title_bar.show(
            tab_items("chat"),
            [
                BarItem(
                    ((safe(template), "chip"), (models, "plain"), (" ▾", "key")),
                    "screen.pick_template",
                    ((f"{safe(template)} ▾", "chip"),),
                ),
                tokenizer_item(self.tokenizer),
            ],
        )

    def _show_status(self) -> None:
        items = status_items(self.rendering, len(self.findings), is_waiting=self.is_waiting)
        self.status.show(items, self._row_items())

    def _row_items(self) -> list[BarItem]:
        dataset, row = self.dataset, self.history.state.origin.row
        if dataset is None or row is None:
            return []
        listed = len(self.listed()) if self.filter_codes else None
        return row_items(
            row, dataset.n_rows, self.scan_progress(), listed, complete=dataset.complete
        )

    # -- the left side

    def show_left(self, view: str) -> None:
        """Show the conversation, the rows of the dataset or their lengths."""
        self.left_view = view
        for name in ("conversation", "rows", "lengths"):
            self.set_class(name == view, f"-{name}")
        self._draw_left_tabs()
        if view == "lengths":
            self.call_after_refresh(self.show_lengths)
        if not self.views.has_focus_within:
            self.call_after_refresh(self.focus_left)

    def focus_left(self) -> None:
        """Move the keyboard to what is in sight on the left."""
        widgets = {"rows": self.rows_view, "lengths": self.query_one("#lengths")}
        widgets.get(self.left_view, self.messages.editor).focus(scroll_visible=False)

    def _draw_left_tabs(self) -> None:
        origin = self.history.state.origin
        name = safe(origin.path.name) if origin.path else "conversation"
        name += " •" if self.modified else ""
        tabs = [("conversation", name, "show_conversation")]
        if self.dataset is not None and origin.row is not None:
            tabs = [
                ("conversation", f"{name} {origin.row + 1:,}", "show_conversation"),
                ("rows", f"Rows {self.dataset.n_rows:,}", "show_rows"),
                ("lengths", "Lengths", "show_lengths"),
            ]
        drawn = (tabs, self.left_view)
        if drawn == self._drawn_tabs:
            # A new title would draw all of the side again, at every key.
            return
        self._drawn_tabs = drawn
        self.left.border_title = border_tabs(
            (title, action, view == self.left_view) for view, title, action in tabs
        )

    def action_escape(self) -> None:
        """Stop checking rows, or go back to the messages."""
        if self._scanning is not None:
            self.action_cancel_scan()
        elif self.left_view != "conversation":
            self.show_left("conversation")
        elif self.views.has_focus_within:
            self.focus_left()

    # -- layout

    def on_resize(self, event: events.Resize) -> None:
        """Show what there is room for."""
        if not self.drop_if_outdated(event) and event.size != self._fitted:
            self._fit(event.size)

    def _fit(self, size: Size) -> None:
        self._fitted = size
        self.set_class(size.width < NARROW_COLUMNS, "-narrow")
        self.set_class(size.height < SHORT_LINES, "-short")
        self.set_class(size.height < LOW_LINES, "-low")
