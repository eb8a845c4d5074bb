"""What the parts of the Chat screen share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Static

from tokviz.chat.conversation import Conversation
from tokviz.chat.render import Rendering
from tokviz.chat.templates import TEMPLATES, ChatTemplate
from tokviz.errors import TokvizError
from tokviz.live.document import LiveDocument
from tokviz.tokenizer import Tokenizer
from tokviz.tui.screens.chat.editing import place_in
from tokviz.tui.screens.chat.history import History, Origin, State
from tokviz.tui.screens.legacy import LegacyScreen
from tokviz.tui.widgets.conversation.rows import PartPlace
from tokviz.tui.widgets.conversation.view import MessageList
from tokviz.tui.widgets.mask.counts import PartCounts

if TYPE_CHECKING:
    from tokviz.chat.jinja_template import JinjaTemplate

_SAVED_KEPT = 64


class ChatBase(LegacyScreen):
    """The state of the Chat screen, on which its groups of actions work."""

    history: History
    """The conversation, and what undo brings back."""
    saved: tuple[Conversation, ...] = ()
    """The conversations that were opened or saved last, so that undo finds them unchanged."""
    tokenizer: Tokenizer
    live: LiveDocument
    """The text of the part that is edited, with its tokens."""
    messages: MessageList
    why: Static
    jinja: dict[str, JinjaTemplate]
    """The Jinja templates that were opened, by name."""
    rendering: Rendering | None
    """The newest tokens; None before there are any."""
    counts: PartCounts
    """How many tokens each message and each part has."""
    problem: TokvizError | None
    """Why the present conversation cannot be rendered, None if it can."""
    max_tokens: int
    broken: tuple[Conversation, TokvizError] | None = None
    """A conversation that stands for a row that cannot be read, and why it cannot."""

    # -- the state

    @property
    def conversation(self) -> Conversation:
        """The conversation."""
        return self.history.state.conversation

    @property
    def place(self) -> PartPlace | None:
        """The part that is edited."""
        return self.messages.place

    @property
    def modified(self) -> bool:
        """Whether the conversation is to be found nowhere else."""
        return all(self.conversation is not known for known in self.saved)

    def mark_saved(self, conversation: Conversation) -> None:
        """Note that a conversation can be had from a file, or is none to be missed."""
        self.saved = (conversation, *self.saved[: _SAVED_KEPT - 1])

    @property
    def template(self) -> ChatTemplate | JinjaTemplate:
        """The template in force."""
        name = self.history.state.template
        return self.jinja.get(name) or TEMPLATES[name]

    @property
    def roles(self) -> list[str]:
        """The role of each message."""
        return [message.role for message in self.conversation.messages]

    def change(
        self,
        conversation: Conversation | None = None,
        place: PartPlace | None = None,
        *,
        template: str | None = None,
        origin: Origin | None = None,
        location: tuple[int, int] = (0, 0),
        instead: bool = False,
    ) -> None:
        """Make a change that undo takes back, and show it everywhere.

        Args:
            conversation: The new conversation, None for the same.
            place: The part to edit, None for the same.
            template: The name of the new template, None for the same.
            origin: Where the new conversation comes from, None for the same.
            location: The line and column of the cursor in another part.
            instead: Whether undo goes back to what was before the present state.
        """
        old = self.remember_cursor()
        if conversation is None:
            conversation = old.conversation
        place = place_in(conversation, old.place if place is None else place)
        if place == old.place and conversation is old.conversation:
            location = old.location
        state = State(conversation, template or old.template, origin or old.origin, place, location)
        n_chars = 0
        if conversation is not old.conversation:
            known = {id(message) for message in old.conversation.messages}
            n_chars = sum(
                len(message.text) for message in conversation.messages if id(message) not in known
            )
        self.history.record(state, n_chars=n_chars, instead=instead)
        self.show_state()

    def remember_cursor(self) -> State:
        """Note where the cursor is, so that undo comes back to it, and give the state."""
        self.history.move(self.messages.place, self.messages.editor.cursor_location)
        return self.history.state

    def show_state(self) -> None:
        """Show the present state everywhere."""
        raise NotImplementedError

    def refresh_rendering(self, *, typed: bool = False) -> None:
        """Render the conversation, now or in a thread, and show what comes of it."""
        raise NotImplementedError

    def show_rendering(self) -> None:
        """Show the newest tokens everywhere."""
        raise NotImplementedError

    def pick_token(self, index: int | None, *, scroll: bool = True) -> None:
        """Choose the token that is explained."""
        raise NotImplementedError
