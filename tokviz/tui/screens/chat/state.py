"""The conversation at hand, for the parts of the Chat screen, and undo for all that changes it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import ConversationError
from tokviz.chat.rendering import DEFAULT_MAX_TOKENS
from tokviz.chat.templates import TEMPLATES, ChatTemplate
from tokviz.storage.files import FileState
from tokviz.tui.screens.chat import editing
from tokviz.tui.undo import UndoHistory
from tokviz.tui.widgets.conversation.rows import PartPlace
from tokviz.tui.widgets.conversation.view import MessageList

if TYPE_CHECKING:
    from tokviz.chat.jinja_template import JinjaTemplate

_SAVED_KEPT = 64
_LEFT_KEPT = 16


class Origin(NamedTuple):
    """Where a conversation comes from.

    Attributes:
        path: The file, None for one that has not been saved.
        row: Its row in the file, from 0; None where the file is one conversation.
    """

    path: Path | None = None
    row: int | None = None


class State(NamedTuple):
    """What undo brings back.

    Attributes:
        conversation: The conversation.
        template: The name of the template.
        origin: Where the conversation comes from.
        place: The part that was edited, None in an empty conversation.
        location: The line and column of the cursor in it.
    """

    conversation: Conversation
    template: str
    origin: Origin = Origin()
    place: PartPlace | None = None
    location: tuple[int, int] = (0, 0)


class History(UndoHistory[State]):
    """Undo history of the conversation."""

    def move(self, place: PartPlace | None, location: tuple[int, int]) -> None:
        """Remember the position of the cursor in the current state."""
        self.state = self.state._replace(place=place, location=location)

    def relocate(self, conversation: Conversation, origin: Origin) -> None:
        """Change the origin of a conversation after it was saved."""
        for entry in self.entries:
            if entry.state.conversation is conversation:
                entry.state = entry.state._replace(origin=origin)

    def is_ahead(self, conversation: Conversation) -> bool:
        """Return whether a conversation is the current one, or one that redo leads to."""
        return any(entry.state.conversation is conversation for entry in self.entries[self.index :])


class ConversationAtHand:
    """The conversation with its changes, and how it is to be rendered.

    Attributes:
        history: The conversation, and what undo brings back.
        messages: Shows the conversation, and edits one part of it.
        jinja: The Jinja templates that were opened, by name.
        max_tokens: Where a rendering is cut off.
        file_states: How files were when they were read or written last.
        unreadable: A row that cannot be read, as it is in the file, and why it cannot.
    """

    def __init__(
        self, messages: MessageList, show: Callable[[], object], say: Callable[[str], object]
    ) -> None:
        """Begin with an empty one.

        Args:
            messages: Shows the conversation.
            show: Shows the present state in every part of the screen.
            say: Shows the user a sentence.
        """
        self.messages = messages
        self._show, self._say = show, say
        self.history = History(State(editing.EMPTY, "nanochat", place=PartPlace(0)))
        self.jinja: dict[str, JinjaTemplate] = {}
        self.max_tokens = DEFAULT_MAX_TOKENS
        self.file_states: dict[Path, FileState | None] = {}
        self.unreadable: tuple[Conversation, ConversationError] | None = None
        self._saved: tuple[Conversation, ...] = (editing.EMPTY,)
        self._sample: Conversation | None = None
        """What it began with, as long as nobody has typed in its place."""
        self._left: tuple[State, ...] = ()
        """What others took the place of before it was saved, the last first; undo leads to it."""

    @property
    def state(self) -> State:
        """The present state."""
        return self.history.state

    @property
    def conversation(self) -> Conversation:
        """The conversation."""
        return self.history.state.conversation

    @property
    def place(self) -> PartPlace | None:
        """The part that is edited."""
        return self.messages.place

    @property
    def template(self) -> ChatTemplate | JinjaTemplate:
        """The template in force."""
        return self.jinja.get(self.state.template) or TEMPLATES[self.state.template]

    @property
    def modified(self) -> bool:
        """Whether the conversation is to be found nowhere else."""
        return all(self.conversation is not known for known in self._saved)

    @property
    def unsaved(self) -> list[State]:
        """What would be lost at the end: this conversation, and those that were here before."""
        left = [it for it in self._left if not self.history.is_ahead(it.conversation)]
        return [self.state, *left] if self.modified else left

    def mark_saved(self, conversation: Conversation) -> None:
        """Note that a conversation can be had from a file, or is none to be missed.

        Those before it are known too, so that undo finds them unchanged.
        """
        self._saved = (conversation, *self._saved[: _SAVED_KEPT - 1])
        self._left = tuple(it for it in self._left if it.conversation is not conversation)

    # -- changes

    def begin(self, conversation: Conversation) -> None:
        """Begin with a conversation that nobody would miss; there is nothing to undo."""
        self.mark_saved(conversation)
        self._sample = conversation
        place = editing.place_in(conversation, None)
        self.history.restart(self.state._replace(conversation=conversation, place=place))

    @property
    def is_sample(self) -> bool:
        """Whether it is the sample, untouched."""
        return self.conversation is self._sample

    def make_room(self) -> bool:
        """Let what is typed where the sample begins take its place; undo brings it back."""
        if self.is_sample and self.place == PartPlace(0):
            self._sample = None
            self.load(editing.EMPTY, Origin())
        return False

    def prepare(self, conversation: Conversation) -> None:
        """Do what is long about showing another conversation. For any thread."""
        place = editing.place_in(conversation, None)
        if place is not None:
            self.messages.editor.prepare(editing.text_at(conversation, place))
        self.messages.prepare(editing.blocks_of(conversation, None, ()))

    def load(
        self,
        conversation: Conversation,
        origin: Origin,
        *,
        instead: bool = False,
        is_there: bool = True,
    ) -> None:
        """Show another conversation instead of this one; undo brings this one back.

        Args:
            conversation: The conversation.
            origin: Where it comes from.
            instead: Whether undo passes over the present one, which was only looked at.
            is_there: Whether it is in the file it comes from.
        """
        left = self.state if self.modified else None
        if left is not None:
            self._say(
                "The changes to the previous conversation are not saved. Ctrl+Z goes back to it."
            )
        if (is_there and origin.path is not None) or conversation is editing.EMPTY:
            self.mark_saved(conversation)
        self.change(conversation, PartPlace(0), origin=origin, instead=instead)
        if left is not None:
            self._left = (left, *self._left[: _LEFT_KEPT - 1])

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
        place = editing.place_in(conversation, old.place if place is None else place)
        if place == old.place and conversation is old.conversation:
            location = old.location
        state = State(conversation, template or old.template, origin or old.origin, place, location)
        known = {id(message) for message in old.conversation.messages}
        new = (message for message in conversation.messages if id(message) not in known)
        n_chars = sum(len(message.text) for message in new)
        self._record(state, n_chars=n_chars, instead=instead)
        self._show()

    def take_typed(self) -> bool:
        """Take over what was typed; False if that is what the part holds already."""
        place, text, old = self.place, self.messages.editor.live.text, self.state
        if place is None or text == editing.text_at(old.conversation, place):
            return False
        conversation = editing.with_text(old.conversation, place, text)
        location = self.messages.editor.cursor_location
        state = old._replace(conversation=conversation, place=place, location=location)
        self._record(state, run=place, n_chars=len(text))
        return True

    def _record(self, state: State, **how: Any) -> None:
        # What was taken back is given up, and what is changed again is left no more.
        self._left = tuple(it for it in self._left if not self.history.is_ahead(it.conversation))
        self.history.record(state, **how)

    def repair(self) -> None:
        """Let a row that could not be read become the conversation, once its text is one."""
        index = editing.raw_index(self.conversation)
        if index is None:
            return
        with contextlib.suppress(ConversationError):
            # Undo goes back to a text that is none: this one is the conversation.
            self.change(editing.repaired(self.conversation, index), PartPlace(index), instead=True)
            self._say("This repaired the row. Ctrl+Z goes back to its text.")

    def remember_cursor(self) -> State:
        """Note where the cursor is, so that undo comes back to it, and give the state."""
        self.history.move(self.place, self.messages.editor.cursor_location)
        return self.state

    def step_back(self) -> None:
        """Take back the last change."""
        if not self.history.undo():
            self._say("There is nothing to undo.")
        else:
            self._show()

    def step_forward(self) -> None:
        """Do again what was taken back."""
        if not self.history.redo():
            self._say("There is nothing to redo.")
        else:
            self._show()
