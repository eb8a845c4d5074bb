"""Changing the messages: every change is one step of undo, and none loses text."""

from __future__ import annotations

from tokviz.chat.conversation import PART_KINDS, ROLES
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.chat import editing
from tokviz.tui.screens.chat.base import ChatBase
from tokviz.tui.widgets.conversation.editor import PartEditor
from tokviz.tui.widgets.conversation.rows import PartPlace
from tokviz.tui.widgets.conversation.view import MessageList

_ROLE_HELP = {
    "system": "What the model is told before the conversation begins.",
    "developer": "What the developer tells the model; newer than system, between it and the user.",
    "user": "What the user says. The model reads it and does not learn to say it.",
    "assistant": "What the model says: this is what it learns.",
    "tool": "What a tool answers to a call.",
    "function": "What a function answers, in OpenAI's older way.",
    "ipython": "What code answers, in Llama's way.",
}
_KIND_HELP = {
    "text": "What the assistant says. Learned.",
    "python": "Python code that the assistant writes to be run. Learned.",
    "python_output": "What the code printed. Not learned: the interpreter says it.",
    "tool_call": 'A call of a tool as JSON: {"name": …, "arguments": {…}}. Learned.',
}


class EditActions(ChatBase):
    """Typing, and adding, deleting and moving messages and parts."""

    # -- typing

    def text_edited(self) -> None:
        """Take over what was typed, in the same frame."""
        place = self.place
        if place is None:
            return
        text = self.live.text
        old = self.history.state
        if text == editing.text_at(old.conversation, place):
            return
        conversation = editing.with_text(old.conversation, place, text)
        state = old._replace(
            conversation=conversation, place=place, location=self.messages.editor.cursor_location
        )
        self.history.record(state, typed_in=place, n_chars=len(text))
        self.refresh_rendering(typed=True)

    def action_undo(self) -> None:
        """Take back the last change."""
        self._step_back(self.history.undo() is not None, "There is nothing to undo.")

    def action_redo(self) -> None:
        """Do again what was taken back."""
        self._step_back(self.history.redo() is not None, "There is nothing to do again.")

    def _step_back(self, changed: bool, refusal: str) -> None:
        if changed:
            self.show_state()
        else:
            self.say(refusal)

    # -- messages

    def on_message_list_asked(self, event: MessageList.Asked) -> None:
        """Do what was clicked in the list."""
        event.stop()
        action, _, role = event.action.partition(":")
        index = event.place.message
        if action == "add":
            self._add(len(self.conversation.messages), role)
        elif action == "delete":
            self._delete(index)
        elif action == "delete_part":
            self._delete_part(event.place)
        elif action in ("up", "down"):
            self._move(index, -1 if action == "up" else 1)
        elif action == "role":
            self._ask_role(index)
        elif action == "kind":
            self._ask_kind(event.place)

    def action_add_message(self) -> None:
        """Add a message behind this one."""
        place = self.place
        behind = -1 if place is None else place.message
        self._add(behind + 1, editing.next_role(self.conversation, behind))

    def _add(self, index: int, role: str) -> None:
        self.change(editing.with_new_message(self.conversation, index, role), PartPlace(index))
        self.messages.editor.focus(scroll_visible=False)

    def action_delete_message(self) -> None:
        """Delete the message at the cursor."""
        if self.place is not None:
            self._delete(self.place.message)

    def _delete(self, index: int) -> None:
        role = self.conversation.messages[index].role
        self.change(editing.without_message(self.conversation, index), PartPlace(max(0, index - 1)))
        self.say(f"Message {index + 1} ({role}) is deleted. Ctrl+Z brings it back.")

    def action_move_up(self) -> None:
        """Let the message change places with the one above."""
        if self.place is not None:
            self._move(self.place.message, -1)

    def action_move_down(self) -> None:
        """Let the message change places with the one below."""
        if self.place is not None:
            self._move(self.place.message, 1)

    def _move(self, index: int, step: int) -> None:
        if not 0 <= index + step < len(self.conversation.messages):
            return
        part = self.place.part if self.place and self.place.message == index else 0
        location = self.messages.editor.cursor_location
        self.change(
            editing.moved(self.conversation, index, step),
            PartPlace(index + step, part),
            location=location,
        )

    def action_previous_message(self) -> None:
        """Go to the message above."""
        self._go(-1)

    def action_next_message(self) -> None:
        """Go to the message below."""
        self._go(1)

    def _go(self, step: int) -> None:
        place = self.place
        if place is not None and 0 <= place.message + step < len(self.conversation.messages):
            self.messages.go_to(PartPlace(place.message + step), (0, 0))
            self.messages.editor.focus(scroll_visible=False)

    def action_pick_role(self) -> None:
        """Choose who speaks in the message at the cursor."""
        if self.place is not None:
            self._ask_role(self.place.message)

    def _ask_role(self, index: int) -> None:
        role = self.conversation.messages[index].role
        options = [Option(name, name, "", _ROLE_HELP.get(name, "")) for name in ROLES]
        dialog = PickDialog(
            f"Role of message {index + 1}",
            options,
            current=role,
            highlighted=editing.other_role(role),
        )

        def picked(name: str | None) -> None:
            if name is not None and name != role:
                self.change(editing.with_role(self.conversation, index, name))

        self.app.push_screen(dialog, picked)

    # -- parts

    def action_add_part(self) -> None:
        """Add a part behind the one at the cursor."""
        place = self.place
        if place is None:
            return
        kind = editing.kind_behind(self._kind_at(place))

        def picked(name: str | None) -> None:
            if name is not None:
                conversation = editing.with_new_part(self.conversation, place, name)
                self.change(conversation, PartPlace(place.message, place.part + 1))

        self.app.push_screen(_kinds_dialog("Add a part", "", kind), picked)

    def action_pick_kind(self) -> None:
        """Choose the kind of the part at the cursor."""
        if self.place is not None:
            self._ask_kind(self.place)

    def _ask_kind(self, place: PartPlace) -> None:
        kind = self._kind_at(place)

        def picked(name: str | None) -> None:
            if name is not None and name != kind:
                self.change(editing.with_kind(self.conversation, place, name))

        title = f"Part {place.part + 1} of message {place.message + 1}"
        self.app.push_screen(_kinds_dialog(title, kind, editing.other_kind(kind)), picked)

    def _kind_at(self, place: PartPlace) -> str:
        parts = self.conversation.messages[place.message].parts
        return parts[place.part].kind if parts else "text"

    def action_join_parts(self) -> None:
        """Make the parts of the message at the cursor one text."""
        place = self.place
        if place is None or isinstance(self.conversation.messages[place.message].content, str):
            self.say("This message has no parts: it is one text.")
            return
        conversation = editing.with_joined_parts(self.conversation, place.message)
        self.change(conversation, PartPlace(place.message))

    def action_delete_part(self) -> None:
        """Delete the part at the cursor; the only one goes with its message."""
        if self.place is not None:
            self._delete_part(self.place)

    def _delete_part(self, place: PartPlace) -> None:
        if len(self.conversation.messages[place.message].parts) < 2:
            self._delete(place.message)
            return
        conversation = editing.without_part(self.conversation, place)
        self.change(conversation, PartPlace(place.message, max(0, place.part - 1)))
        self.say("The part is deleted. Ctrl+Z brings it back.")

    def on_part_editor_emptied(self, event: PartEditor.Emptied) -> None:
        """Delete what is empty already, at a further press of Backspace."""
        event.stop()
        place = self.place
        if place is None or len(self.conversation.messages) < 2:
            return
        before = self.messages.neighbour(-1)
        if len(self.conversation.messages[place.message].parts) > 1:
            conversation = editing.without_part(self.conversation, place)
        else:
            conversation = editing.without_message(self.conversation, place.message)
        target = before or PartPlace(0)
        text = editing.text_at(conversation, editing.place_in(conversation, target) or target)
        end = (text.count("\n"), len(text) - (text.rfind("\n") + 1))
        self.change(conversation, target, location=end if before else (0, 0))


def _kinds_dialog(title: str, current: str, highlighted: str) -> PickDialog:
    options = [Option(kind, kind, "", _KIND_HELP.get(kind, "")) for kind in PART_KINDS]
    return PickDialog(title, options, current=current, highlighted=highlighted)
