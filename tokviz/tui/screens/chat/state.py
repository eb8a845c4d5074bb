"""The current conversation of the Chat screen, with undo."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import ConversationError
from tokviz.chat.rendering import DEFAULT_MAX_TOKENS
from tokviz.chat.spans import TRANSFORMERS
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
    """Source of a conversation.

    Attributes:
        path: The file, or None if it was not saved.
        row: Its row in the file, from 0; None if the file is a single conversation.
        digest: The digest of the row when it was read; empty if it was saved since.
    """

    path: Path | None = None
    row: int | None = None
    digest: str = ""


class State(NamedTuple):
    """A state that undo restores.

    Attributes:
        conversation: The conversation.
        template: The name of the template; "" for the default of the tokenizer.
        origin: Source of the conversation.
        place: The edited part, or None in an empty conversation.
        location: Line and column of the cursor.
        variables: The user's values for variables of the template.
    """

    conversation: Conversation
    template: str
    origin: Origin = Origin()
    place: PartPlace | None = None
    location: tuple[int, int] = (0, 0)
    variables: Mapping[str, Any] = {}


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

    def relocate_row(self, old: Origin, new: Origin) -> None:
        """Change the origin of all versions of a row after one of them was saved."""
        for entry in self.entries:
            if entry.state.origin == old:
                entry.state = entry.state._replace(origin=new)

    def is_ahead(self, conversation: Conversation) -> bool:
        """Return whether a conversation is the current one, or one that redo leads to."""
        return any(entry.state.conversation is conversation for entry in self.entries[self.index :])


class ConversationAtHand:
    """The edited conversation and its rendering options.

    Attributes:
        history: The conversation with its undo states.
        messages: Shows the conversation and edits one part of it.
        jinja: Opened Jinja templates by name.
        own: The tokenizer's templates, see `own_templates`; None until they are read.
        max_tokens: Maximum number of tokens of a rendering.
        specials: The user's policy for special tokens; None for that of the template.
        file_states: State of files when they were last read or written.
        unreadable: Text of an unreadable row and the reason.
    """

    def __init__(
        self, messages: MessageList, show: Callable[[], object], say: Callable[[str], object]
    ) -> None:
        """Create an empty conversation.

        Args:
            messages: Shows the conversation.
            show: Shows the current state in every part of the screen.
            say: Shows a message.
        """
        self.messages = messages
        self._show, self._say = show, say
        self.history = History(State(editing.EMPTY, "", place=PartPlace(0)))
        self.jinja: dict[str, JinjaTemplate] = {}
        self.own: dict[str, ChatTemplate | JinjaTemplate] | None = None
        self.max_tokens = DEFAULT_MAX_TOKENS
        self.specials: str | None = None
        self.file_states: dict[Path, FileState | None] = {}
        self.unreadable: tuple[Conversation, ConversationError] | None = None
        self._saved: tuple[Conversation, ...] = (editing.EMPTY,)
        self._sample: Conversation | None = None
        """The sample, until the user replaces it."""
        self._left: tuple[State, ...] = ()
        """Unsaved conversations that were replaced, the last one first; undo can reach them."""

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
        """The edited part."""
        return self.messages.place

    @property
    def template(self) -> ChatTemplate | JinjaTemplate | None:
        """The current template; None if it is one of the tokenizer's that is not available."""
        name, own = self.state.template, self.own or {}
        return self.jinja.get(name) or TEMPLATES.get(name) or own.get(name) or own.get("")

    @property
    def template_name(self) -> str:
        """The name of the template to show; "" if it is not available."""
        name, template = self.state.template, self.template
        return name if name in self.jinja or template is None else template.name

    @property
    def policy(self) -> str:
        """The policy for special tokens in force, a key of `SPECIALS`."""
        it = self.template
        return self.specials or (TRANSFORMERS if it is None else it.specials)

    @property
    def modified(self) -> bool:
        """True if the conversation is not saved anywhere."""
        return self.is_unsaved(self.state)

    def is_unsaved(self, state: State) -> bool:
        """Return whether the conversation of a state is not saved anywhere."""
        return all(state.conversation is not known for known in self._saved)

    @property
    def unsaved(self) -> list[State]:
        """Unsaved work: this conversation, and earlier ones."""
        left = [it for it in self._left if not self.history.is_ahead(it.conversation)]
        return [self.state, *left] if self.modified else left

    def mark_saved(self, conversation: Conversation) -> None:
        """Mark a conversation as saved or expendable.

        Earlier ones are also marked, so that undo finds them unchanged.
        """
        self._saved = (conversation, *self._saved[: _SAVED_KEPT - 1])
        self._left = tuple(it for it in self._left if it.conversation is not conversation)

    # -- changes

    def begin(self, conversation: Conversation) -> None:
        """Start with an expendable conversation, without undo."""
        self.mark_saved(conversation)
        self._sample = conversation
        place = editing.place_in(conversation, None)
        self.history.restart(self.state._replace(conversation=conversation, place=place))

    @property
    def is_sample(self) -> bool:
        """True if it is the unchanged sample."""
        return self.conversation is self._sample

    def make_room(self) -> bool:
        """Replace the sample by text typed at its start; undo restores it."""
        if self.is_sample and self.place == PartPlace(0):
            self._sample = None
            self.load(editing.EMPTY, Origin())
        return False

    def prepare(self, conversation: Conversation) -> None:
        """Do the slow part of showing another conversation; thread-safe."""
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
        """Show another conversation; undo restores the current one.

        Args:
            conversation: The conversation.
            origin: Its source.
            instead: True if undo skips the current one, which was only viewed.
            is_there: True if it equals the content of its file.
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
        variables: Mapping[str, Any] | None = None,
        origin: Origin | None = None,
        location: tuple[int, int] = (0, 0),
        instead: bool = False,
    ) -> None:
        """Make an undoable change and show it.

        Args:
            conversation: The new conversation, or None to keep it.
            place: The part to edit, or None to keep it.
            template: The name of the new template, or None to keep it.
            variables: The new values of variables, or None to keep them.
            origin: Source of the new conversation, or None to keep it.
            location: Line and column of the cursor in another part.
            instead: True to replace the current state in the undo history.
        """
        old = self.remember_cursor()
        if conversation is None:
            conversation = old.conversation
        place = editing.place_in(conversation, old.place if place is None else place)
        if place == old.place and conversation is old.conversation:
            location = old.location
        template = old.template if template is None else template
        variables = old.variables if variables is None else variables
        state = State(conversation, template, origin or old.origin, place, location, variables)
        known = {id(message) for message in old.conversation.messages}
        new = (message for message in conversation.messages if id(message) not in known)
        n_chars = sum(len(message.text) for message in new)
        self._record(state, n_chars=n_chars, instead=instead)
        self._show()

    def take_typed(self) -> bool:
        """Apply typed text; return False if the part already has this text."""
        place, text, old = self.place, self.messages.editor.live.text, self.state
        if place is None or text == editing.text_at(old.conversation, place):
            return False
        conversation = editing.with_text(old.conversation, place, text)
        location = self.messages.editor.cursor_location
        state = old._replace(conversation=conversation, place=place, location=location)
        self._record(state, run=place, n_chars=len(text))
        return True

    def _record(self, state: State, **how: Any) -> None:
        # The redo states are discarded, and a changed state counts as edited.
        self._left = tuple(it for it in self._left if not self.history.is_ahead(it.conversation))
        self.history.record(state, **how)

    def repair(self) -> None:
        """Turn a repaired row into a conversation once its text is valid."""
        index = editing.raw_index(self.conversation)
        if index is None:
            return
        with contextlib.suppress(ConversationError):
            # Undo would restore the invalid text; this is the conversation.
            self.change(editing.repaired(self.conversation, index), PartPlace(index), instead=True)
            self._say("This repaired the row. Ctrl+Z goes back to its text.")

    def remember_cursor(self) -> State:
        """Store the cursor location for undo, and return the state."""
        self.history.move(self.place, self.messages.editor.cursor_location)
        return self.state

    def step_back(self) -> None:
        """Undo the last change."""
        if not self.history.undo():
            self._say("There is nothing to undo.")
        else:
            self._show()

    def step_forward(self) -> None:
        """Redo the last undone change."""
        if not self.history.redo():
            self._say("There is nothing to redo.")
        else:
            self._show()
