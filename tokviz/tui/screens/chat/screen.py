"""The Chat screen: messages, their tokens with the mask, and the lines above and below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.containers import Container
from textual.widget import Widget

from tokviz.chat.dataset import ChatRequest
from tokviz.chat.dataset_shapes import SHAPES
from tokviz.chat.messages import ConversationError
from tokviz.chat.template_files import is_path
from tokviz.chat.templates import TEMPLATES
from tokviz.live.document import LiveDocument
from tokviz.text.glyphs import safe
from tokviz.text.sentences import failure_message
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import Gesture, action
from tokviz.tui.palette import palette_of
from tokviz.tui.screens.bars import tokenizer_item
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.chat import editing
from tokviz.tui.screens.chat.dataset import Rows
from tokviz.tui.screens.chat.dataset_view import DatasetRows
from tokviz.tui.screens.chat.files import Files, sample_conversation
from tokviz.tui.screens.chat.lines import row_items, status_items
from tokviz.tui.screens.chat.messages import Messages
from tokviz.tui.screens.chat.navigation import Looking
from tokviz.tui.screens.chat.rendering import CopyConversation, RenderedConversation
from tokviz.tui.screens.chat.state import ConversationAtHand, Origin
from tokviz.tui.screens.chat.templates import Templates, Variables
from tokviz.tui.screens.chat.views import ChatViews
from tokviz.tui.screens.choosing import TokenizerChoice
from tokviz.tui.screens.exporting import Exporting
from tokviz.tui.screens.safekeeping import CONVERSATIONS, Recovery
from tokviz.tui.screens.single_pane import OnePart
from tokviz.tui.screens.why import (
    NO_TOKEN,
    RIGHT_CLICK,
    Asked,
    Explaining,
    asked_in,
    asked_of,
)
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.conversation.rows import MessageBlocks
from tokviz.tui.widgets.conversation.view import MessageList
from tokviz.tui.widgets.mask.base import MaskView
from tokviz.tui.widgets.rows_view import LinkRows, RowsView
from tokviz.tui.widgets.spans import Span
from tokviz.tui.widgets.view_switcher import SwitcherView, ViewSwitcher
from tokviz.workspace.session import Request, ShowConversation, UseTokenizer


class ChatScreen(TokvizScreen):
    """Screen for the tokens of a conversation that a model learns from, with reasons."""

    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#message-editor"
    SCREEN_ID = "chat"
    CONTROLLERS = (
        Explaining,
        Looking,
        Files,
        Messages,
        Templates,
        Variables,
        TokenizerChoice,
        Rows,
        CopyConversation,
        Exporting,
        Recovery,
    )
    GESTURES = (
        Gesture("Click a text", "Edits it, with the cursor where you clicked."),
        Gesture("Click a role", "Lets you choose another one. ↑ ↓ ✕ move and delete the message."),
        Gesture("Click + user", "Adds a message at the end; the next role comes first."),
        Gesture(
            "Click a token",
            "Explains why it is in the loss or masked. Double-click: goes to its message.",
        ),
        RIGHT_CLICK,
        Gesture("Click a finding", "Goes to its message and its token."),
        Gesture("Click a row", "Shows that conversation of the dataset."),
    )

    @classmethod
    def parts(cls) -> Sequence[type[Widget]]:
        """Name what shows tokens."""
        return (MaskView,)

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self.fit(self.app.size)
        self.messages = MessageList(
            LiveDocument("", self.session.tokenizer, parse_specials=False),
            palette_of(self.app),
            show_invisibles=self.session.settings.show_invisibles,
            id="messages",
        )
        editor = self.messages.editor
        editor.on_edited = self._edited
        editor.tab_behavior = "focus"
        editor.placeholder = "an empty message"
        listed = DatasetRows(id="rows")
        lengths = RowsView(id="lengths")
        variables = LinkRows(id="variables")
        self.left = left = ViewSwitcher(
            (
                SwitcherView("conversation", "", "show_conversation", lambda: self.messages),
                SwitcherView("rows", "", "show_list('rows')", lambda: listed),
                SwitcherView("lengths", "", "show_list('lengths')", lambda: lengths),
                SwitcherView("variables", "", "show_list('variables')", lambda: variables),
            ),
            id="left",
        )
        self.views = ChatViews()
        self.status = Bar(id="status")
        self.chat = chat = ConversationAtHand(self.messages, self._show_state, self.say)
        editor.should_replace_all = chat.make_room
        self.rendered = RenderedConversation(self, chat, self._show_rendering)
        self.rows = Rows(self, chat, left, listed, lengths, self._show_lines)
        self.files = Files(self, chat, self.rows.open_path, self.rows.reopen, self._show_lines)
        self.recovery = Recovery(self, self.files.safe, CONVERSATIONS.noun, self.files.restore)
        self.templates = Templates(self, chat, self.rendered.refresh)
        self.variables = Variables(self, chat, left, variables)
        one_part = OnePart(self, self.views, "-short")
        self.looking = Looking(self, chat, self.rendered, left, self.views, self.rows, one_part)
        Messages(self, chat)
        self.choice = TokenizerChoice(self)
        Exporting(self, CopyConversation(self, chat, self.rendered).shown)
        Explaining(self, self._asked_why)
        yield self.title_bar
        with Container(id="work"):
            with left:
                yield self.messages
            yield self.views
        yield self.status
        yield self.keys

    def on_mount(self) -> None:
        """Show the state of the messages in view."""
        self.watch(self.messages.list, "scroll_y", lambda: self.messages.follow_scroll())

    def started(self) -> None:
        """Show the sample once the size of the screen is known."""
        self.left.show("conversation")
        self.chat.begin(sample_conversation())
        self._show_state()
        self.files.safe.begin()
        self.recovery.begin()
        super().started()

    def answer(self, request: Request) -> None:
        """Show what another part of the app, or the command line, asks for."""
        match request:
            case ChatRequest(path, template, max_tokens, variables, specials):
                self.chat.max_tokens, self.chat.specials = max_tokens, specials
                is_file = template not in TEMPLATES and is_path(template)
                state = self.chat.state._replace(variables=variables or {})
                self.chat.history.restart(state if is_file else state._replace(template=template))
                if is_file:
                    self.templates.use_file(Path(template))
                self.rows.open_path(Path(path))
            case UseTokenizer(source, template=template):
                self.choice.use(source)
                if template:
                    self.chat.change(template=template)
            case ShowConversation(conversation, _, template, variables, specials):
                self.rows.leave("The conversation")
                self.chat.load(conversation, Origin())
                if variables is not None:  # from a session file
                    self.chat.mark_saved(conversation)
                    self.chat.specials = specials or None
                    self.chat.change(template=template, variables=variables)

    def saved(self) -> dict[str, Any]:
        """Return the conversation, unless it is the sample or an unreadable row."""
        chat = self.chat
        if chat.is_sample or editing.raw_index(chat.conversation) is not None:
            return {}
        names = {"template": chat.state.template, "specials": chat.specials or ""}
        variables = {**chat.state.variables}
        return {"conversation": chat.conversation.to_json(), "variables": variables, **names}

    def tokenizer_changed(self, tokenizer: Tokenizer) -> None:
        """Tokenize by another tokenizer."""
        self.messages.editor.live.set_tokenizer(tokenizer)
        self.messages.editor.refresh()
        self.templates.forget_own()
        self.rendered.refresh()

    def _asked_why(self) -> Asked | str:
        """Return the selection in a message, or else the explained token."""
        editor = self.messages.editor
        if editor.has_focus and not editor.selection.is_empty:
            return asked_in(editor)
        if self.views.pin is None or self.rendered.rendering is None:
            return NO_TOKEN
        return asked_of(self.rendered.rendering, self.views.pin)

    # -- the conversation has changed

    def _edited(self) -> None:
        """Show an edit everywhere, in the same frame as the editor does."""
        if self.chat.take_typed():
            self.rendered.refresh(typed=True)
            # Later, because the editor is still at the edit.
            self.call_later(self.chat.repair)
        self.messages.show_cursor()
        self.looking.follow_cursor()

    def _show_state(self) -> None:
        """Show the present state everywhere."""
        state = self.chat.state
        place = editing.place_in(state.conversation, state.place)
        self.messages.show(self._blocks(), place, editing.roles_to_add(state.conversation))
        if place is not None:
            self.messages.editor.move_cursor(state.location)
        self.rendered.refresh()
        self.messages.show_cursor()
        if place is not None:
            self.views.show_message(place.message)

    def _show_rendering(self) -> None:
        """Show the newest tokens and findings everywhere."""
        rendered, conversation = self.rendered, self.chat.conversation
        self.messages.edited(self._blocks(), editing.roles_to_add(conversation))
        self.views.show(
            rendered.rendering,
            [message.role for message in conversation.messages],
            rendered.counts,
            self._problem_text(),
            f"Rendering with {self.chat.template_name}…" if rendered.is_gone else "",
            rendered.findings,
            self.looking.wanted_pin(),
            rendered.change,
        )
        self.looking.mark_change()
        self.variables.follow()
        self.rows.follow()
        self._show_lines()

    def _problem_text(self) -> str:
        problem = self.rendered.problem
        if problem is None:
            return ""
        hint = ""
        if editing.raw_index(self.chat.conversation) is not None:
            hint = " Correct its text to turn it into a conversation."
        elif isinstance(problem, ConversationError) and problem.part_index is not None:
            hint = " “Join the parts” in the command palette makes the message one text."
        return failure_message("✗ No tokens", problem) + hint

    def _blocks(self) -> MessageBlocks:
        counts = None if self.rendered.rendering is None else self.rendered.counts
        warned = {finding.message_index for finding in self.rendered.findings}
        return editing.blocks_of(self.chat.conversation, counts, warned)

    # -- the lines above and below

    def _show_lines(self) -> None:
        self.show_title()
        self._show_tabs()
        rendered, dataset, row = self.rendered, self.rows.dataset, self.rows.row
        tokens, n_findings = rendered.rendering, len(rendered.findings)
        items = status_items(tokens, n_findings, rendered.change, is_waiting=rendered.is_waiting)
        where: list[BarItem] = []
        if dataset is not None and row is not None:
            scan = self.rows.checks.scan
            progress = "" if scan is None else scan.progress(dataset)
            n_listed = len(self.rows.listed.rows) if self.rows.filter else None
            where = row_items(row, dataset.n_rows, progress, n_listed, complete=dataset.complete)
        self.status.show(items, where)

    def title_items(self) -> list[BarItem]:
        """Name the template and the tokenizer."""
        template, own = self.chat.template_name, self.chat.state.template not in self.chat.jinja
        if self.chat.conversation.is_plain:
            no_template = (Span("no template", "heading"), Span(" ▾", "key"))
            return [
                BarItem(no_template, "screen.pick_template"),
                tokenizer_item(self.session.tokenizer),
            ]
        title = "own" if own else "Jinja"
        title = TEMPLATES[template].title if template in TEMPLATES else title
        models = f" ({title})" if title.lower() != template else ""
        return [
            BarItem(
                (Span(safe(template), "heading"), Span(models), Span(" ▾", "key")),
                "screen.pick_template",
                (Span(f"{safe(template)} ▾", "heading"),),
            ),
            tokenizer_item(self.session.tokenizer),
        ]

    def _show_tabs(self) -> None:
        origin, dataset = self.chat.state.origin, self.rows.dataset
        unnamed = "sample" if self.chat.is_sample else "conversation"
        name = safe(origin.path.name) if origin.path else unnamed
        name += " •" if self.chat.modified else ""
        rows = lengths = ""
        if self.rows.row is not None:
            shape = self.chat.conversation.shape
            answer = f" {shape.removesuffix('_text')}" if SHAPES[shape].other else ""
            name += f" {self.rows.row + 1:,}{answer}"
        if dataset is not None:
            rows, lengths = f"Rows {dataset.n_rows:,}", "Lengths"
        self.left.set_title("conversation", name)
        self.left.set_title("rows", rows)
        self.left.set_title("lengths", lengths)

    # -- routing

    def action_show_conversation(self) -> None:
        """Show the messages again."""
        self.left.show("conversation")

    def action_show_list(self, shown: str) -> None:
        """Show the rows, the lengths or the variables, even if their tab is clicked again."""
        if self.left.shown != shown:
            shows = {"rows": self.rows.show_rows, "lengths": self.rows.show_lengths}
            shows.get(shown, self.variables.show_variables)()

    @action("Back", "escape", section="View", priority=False)
    def action_escape(self) -> None:
        """Stop checking the rows of a dataset, or go back to the messages."""
        if self.rows.checks.stop():
            return
        if self.left.shown != "conversation":
            self.left.show("conversation")
        elif self.views.has_focus_within:
            self.looking.focus_left()
