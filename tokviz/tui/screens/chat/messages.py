"""Changing the messages: every change is one step of undo, and none loses text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual import on

from tokviz.chat.dataset_shapes import SHAPES
from tokviz.chat.messages import PART_KINDS, ROLES
from tokviz.tui.actions import LEADER, action
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.chat import editing
from tokviz.tui.screens.chat.state import ConversationAtHand
from tokviz.tui.widgets.conversation.rows import PartPlace, end_of
from tokviz.tui.widgets.conversation.view import MessageList, PartEditor
from tokviz.tui.widgets.view_switcher import neighbour

_ROLE_HELP = {
    "system": "Instructions to the model before the conversation.",
    "developer": "Instructions of the developer; a newer role between system and user.",
    "user": "The user's text. The model reads it and is not trained to write it.",
    "assistant": "The model's text, which it is trained to write.",
    "tool": "The result of a tool call.",
    "function": "The result of a function call, in OpenAI's older format.",
    "ipython": "The output of code, in Llama's format.",
}
_KIND_HELP = {
    "text": "Text of the assistant. In the loss.",
    "python": "Python code written by the assistant. In the loss.",
    "python_output": "Output of the code. Masked, because the interpreter writes it.",
    "tool_call": 'A tool call as JSON: {"name": …, "arguments": {…}}. In the loss.',
    "reasoning_content": "Field: the assistant's reasoning before its answer.",
    "tool_call_id": "Field: the id of the call that this message answers.",
    "name": "Field: the name of the speaker or the tool.",
    "weight": "Field: 0 takes the message out of the loss.",
    "tools": "Field of the conversation: the tools that the model may call, as JSON.",
}


class Messages(Controller):
    """Adding, deleting and moving messages and parts."""

    _chat: ConversationAtHand

    def set_up(self) -> None:
        """Create the other fields."""
        self._clicks: dict[str, Callable[[PartPlace], object]] = {
            "delete": self._delete,
            "delete_part": self._delete_part,
            "up": partial(self._move, -1),
            "down": partial(self._move, 1),
            "role": self._ask_role,
            "kind": self._ask_kind,
        }

    @on(MessageList.ActionRequested)
    def _asked(self, message: MessageList.ActionRequested) -> None:
        """Run a clicked action of the list, unless a previous click removed its target."""
        name, _, role = message.action.partition(":")
        conversation, place = self._chat.conversation, message.place
        if name == "add":
            self._add(len(conversation.messages), role)
        elif editing.place_in(conversation, place) == place:
            self._clicks[name](place)

    def _at_cursor(self, change: Callable[[PartPlace], object]) -> None:
        if self._chat.place is not None:
            change(self._chat.place)

    # -- messages

    @action("Add a message", "alt+a", section="Messages", footer="add")
    def add_message(self) -> None:
        """Add an empty message after this one, with the next role."""
        place = self._chat.place
        behind = -1 if place is None else place.message
        self._add(behind + 1, editing.next_role(self._chat.conversation, behind))

    def _add(self, index: int, role: str) -> None:
        conversation = editing.with_new_message(self._chat.conversation, index, role)
        self._chat.change(conversation, PartPlace(index))
        self._chat.messages.focus(scroll_visible=False)

    @action("Role of the message…", f"{LEADER} a", section="Messages", words="author")
    def pick_role(self) -> None:
        """Choose who speaks: user, assistant, system, tool and others."""
        self._at_cursor(self._ask_role)

    def _ask_role(self, place: PartPlace) -> None:
        role = self._chat.conversation.messages[place.message].role

        def picked(name: str) -> None:
            if name != role:
                self._chat.change(editing.with_role(self._chat.conversation, place.message, name))

        following = neighbour(editing.OFFERED_ROLES, role)
        title = f"Role of message {place.message + 1}"
        self._ask_which(title, ROLES, _ROLE_HELP, role, following, picked)

    @action("Delete message", "shift+delete", f"{LEADER} x", section="Messages", footer="delete")
    def delete_message(self) -> None:
        """Remove the message at the cursor. Undo brings it back."""
        self._at_cursor(self._delete)

    def _delete(self, place: PartPlace) -> None:
        conversation, index = self._chat.conversation, place.message
        role = conversation.messages[index].role
        shorter = editing.without_message(conversation, index)
        self._chat.change(shorter, PartPlace(max(0, index - 1)))
        self.say(f"Message {index + 1} ({role}) is deleted. Ctrl+Z brings it back.")

    @action("Move the message up", "alt+up", section="Messages")
    def move_up(self) -> None:
        """Swap the message with the previous one."""
        self._at_cursor(partial(self._move, -1))

    @action("Move the message down", "alt+down", section="Messages")
    def move_down(self) -> None:
        """Swap the message with the next one."""
        self._at_cursor(partial(self._move, 1))

    def _move(self, step: int, place: PartPlace) -> None:
        conversation, live, index = self._chat.conversation, self._chat.place, place.message
        if 0 <= index + step < len(conversation.messages):
            part = live.part if live and live.message == index else 0
            self._chat.change(
                editing.moved(conversation, index, step),
                PartPlace(index + step, part),
                location=self._chat.messages.editor.cursor_location,
            )

    @action("Previous message", "ctrl+up", section="Messages")
    def previous_message(self) -> None:
        """Go to the message above."""
        self._go(-1)

    @action("Next message", "ctrl+down", section="Messages")
    def next_message(self) -> None:
        """Go to the message below."""
        self._go(1)

    def _go(self, step: int) -> None:
        place, messages = self._chat.place, self._chat.messages
        n_messages = len(self._chat.conversation.messages)
        if place is not None and 0 <= place.message + step < n_messages:
            messages.go_to(PartPlace(place.message + step), (0, 0))
            messages.focus(scroll_visible=False)

    # -- parts

    @action("Add a part or a field to the message…", "alt+p", section="Messages")
    def add_part(self) -> None:
        """Add text, Python code, its output or a tool call; or a field, such as reasoning."""
        self._at_cursor(self._ask_part)

    def _ask_part(self, place: PartPlace) -> None:
        def picked(name: str) -> None:
            here = self._chat.conversation
            if name in editing.NEW_FIELDS:
                self._chat.change(*editing.with_new_field(here, place, name))
                return
            part = min(place.part, len(here.messages[place.message].parts) - 1) + 1
            conversation = editing.with_new_part(here, place, name)
            self._chat.change(conversation, PartPlace(place.message, part))

        following = editing.kind_behind(self._kind_at(place))
        kinds = (*PART_KINDS, *editing.NEW_FIELDS)
        self._ask_which("Add a part or a field", kinds, _KIND_HELP, "", following, picked)

    @action("Kind of the part…", "alt+x", section="Messages")
    def pick_kind(self) -> None:
        """Make the part at the cursor a text, Python code, its output or a tool call."""
        self._at_cursor(self._ask_kind)

    def _ask_kind(self, place: PartPlace) -> None:
        if editing.field_at(self._chat.conversation, place) is not None:
            self.say("This is a field, not a part of the content. ✕ removes it.")
            return
        kind = self._kind_at(place)

        def picked(name: str) -> None:
            if name != kind:
                self._chat.change(editing.with_kind(self._chat.conversation, place, name))

        title = f"Part {place.part + 1} of message {place.message + 1}"
        following = neighbour(PART_KINDS, kind)
        self._ask_which(title, PART_KINDS, _KIND_HELP, kind, following, picked)

    def _kind_at(self, place: PartPlace) -> str:
        parts = self._chat.conversation.messages[place.message].parts
        return parts[place.part].kind if place.part < len(parts) else "text"

    def _ask_which(
        self,
        title: str,
        names: tuple[str, ...],
        helps: dict[str, str],
        current: str,
        following: str,
        picked: Callable[[str], object],
    ) -> None:
        options = [Option(name, name, "", helps.get(name, "")) for name in names]
        conversation = self._chat.conversation

        def answered(name: str) -> None:
            # A file or row with other messages may have replaced it.
            if self._chat.conversation is conversation:
                picked(name)

        self.ask(PickDialog(title, options, current=current, highlighted=following), answered)

    @action("Delete the part", section="Messages")
    def delete_part(self) -> None:
        """Remove the part at the cursor from its message. Undo brings it back."""
        self._at_cursor(self._delete_part)

    def _delete_part(self, place: PartPlace) -> None:
        conversation = self._chat.conversation
        field = editing.field_at(conversation, place)
        if field is None and len(conversation.messages[place.message].parts) < 2:
            self._delete(place)
            return
        shorter = editing.without_part(conversation, place)
        self._chat.change(shorter, PartPlace(place.message, max(0, place.part - 1)))
        self.say(f"The {'part' if field is None else 'field'} is deleted. Ctrl+Z brings it back.")

    @action("Join the parts of the message", section="Messages")
    def join_parts(self) -> None:
        """Join the parts to one text, for templates without support for parts."""
        place, conversation = self._chat.place, self._chat.conversation
        if place is None or isinstance(conversation.messages[place.message].content, str):
            self.say("This message has no parts.")
            return
        joined = editing.with_joined_parts(conversation, place.message)
        self._chat.change(joined, PartPlace(place.message))

    @on(PartEditor.Emptied)
    def _emptied(self) -> None:
        """Delete an empty message or part when Backspace is pressed again."""
        place, conversation = self._chat.place, self._chat.conversation
        if place is None or len(conversation.messages) < 2:
            return
        before = self._chat.messages.neighbour(-1)
        is_field = editing.field_at(conversation, place) is not None
        if is_field or len(conversation.messages[place.message].parts) > 1:
            conversation = editing.without_part(conversation, place)
        else:
            conversation = editing.without_message(conversation, place.message)
        target = before or PartPlace(0)
        text = editing.text_at(conversation, editing.place_in(conversation, target) or target)
        location = end_of(text) if before else (0, 0)
        self._chat.change(conversation, target, location=location)

    @action("Show the other answer", section="Messages", words="chosen rejected preference")
    def show_other_answer(self) -> None:
        """Switch between the chosen and the rejected answer of a preference row."""
        here = self._chat.state
        other = editing.with_other_answer(here.conversation)
        if other is None:
            self.say("This row does not have a chosen and a rejected answer.")
            return
        if not self._chat.is_unsaved(here):
            self._chat.mark_saved(other)
        self._chat.change(other, PartPlace(len(other.messages) - 1))
        self.say(SHAPES[other.shape].note)

    # -- undo

    @action("Undo", "ctrl+z", section="Messages")
    def undo(self) -> None:
        """Undo the last change of any kind."""
        self._chat.step_back()

    @action("Redo", "ctrl+y", section="Messages")
    def redo(self) -> None:
        """Redo the last undone change."""
        self._chat.step_forward()
