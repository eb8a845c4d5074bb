"""The variables of a Jinja template: listed with their values, and changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from textual import on

from tokviz.chat import json_text
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import ConversationError
from tokviz.chat.variables import TemplateVariable
from tokviz.text import bytetext
from tokviz.text.glyphs import safe
from tokviz.text.sentences import sentence
from tokviz.tui.actions import LEADER, action
from tokviz.tui.dialogs.ask_text import AskDialog, Wrong
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.chat.state import ConversationAtHand, State
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.rows_view import LinkRows, RowsView
from tokviz.tui.widgets.spans import ChangeVariable, Row, Span, Word, flow, words_of
from tokviz.tui.widgets.view_switcher import ViewSwitcher, neighbour

_UNSET = object()
_NOTE = 'JSON, such as "text", 12 or true. Leave it empty to reset the variable.'


class Variables(Controller):
    """Lists the variables that the template reads, and changes them."""

    def __init__(
        self, screen: TokvizScreen, chat: ConversationAtHand, left: ViewSwitcher, view: LinkRows
    ) -> None:
        """Create the controller of the conversation, the left side, and the list on it."""
        super().__init__(screen)
        self._chat, self._left, self._view = chat, left, view
        self._template: object = None
        self._found: Sequence[TemplateVariable] = ()

    def follow(self) -> None:
        """Show the variables of the current template with their current values."""
        template = self._chat.template
        if template is not self._template:
            self._template, self._found = template, ()
            if isinstance(template, JinjaTemplate):
                # The rendering reports an error of the template, too.
                take, fail = partial(self._take, template), lambda error: None
                self.in_thread("variables", lambda task: template.parameters(), take, failed=fail)
        n_found = len(self._found)
        self._left.set_title("variables", f"Variables {n_found}" if n_found else "")
        self._view.show(partial(variable_rows, self._found, self._chat.state))

    def _take(self, template: JinjaTemplate, found: list[TemplateVariable]) -> None:
        if template is self._template:
            self._found = found
            self.follow()

    @action("Variables of the template", f"{LEADER} j", section="Rendering",
            words="enable_thinking reasoning_effort add_generation_prompt tools")  # fmt: skip
    def show_variables(self) -> None:
        """See and change what the Jinja template reads besides the messages.

        Enter changes a value, ← → reach “edit” and “reset”.
        """
        self._left.show("conversation" if self._left.shown == "variables" else "variables")
        self.follow()
        self._left.focus(scroll_visible=False)

    @on(RowsView.Picked)
    def _picked(self, message: RowsView.Picked) -> None:
        if isinstance(message.action, ChangeVariable):
            name, how = message.action
            variable = next(it for it in [*self._found, TemplateVariable(name)] if it.name == name)
            value = given(self._chat.state).get(name, variable.default)
            choices = choices_of(variable)
            if how == "reset":
                self._set(name, _UNSET)
            elif how == "next" and choices:
                self._set(name, neighbour(choices, value))
            else:
                self._edit(name, value)

    def _set(self, name: str, value: object) -> None:
        values = {**self._chat.state.variables, name: value}
        if value is _UNSET:
            del values[name]
        self._chat.change(variables=values)

    def _edit(self, name: str, value: object) -> None:
        def read(text: str) -> object:
            try:
                return json_text.loads(bytetext.to_bytes(text))[0] if text else _UNSET
            except ConversationError as error:
                raise Wrong(sentence(str(error))) from None

        shown, title = "" if value is None else _json(value), f"Variable {safe(name)}"
        dialog = AskDialog(title, _NOTE, read, value=shown, placeholder="not set", verb="set")
        self.ask(dialog, partial(self._set, name))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def choices_of(variable: TemplateVariable) -> list[Any]:
    """Return the values that Enter steps through; none if the variable is edited as JSON."""
    if variable.kind == "boolean":
        return [True, False]
    default = [variable.default] if variable.choices and variable.default is not None else []
    return default + [value for value in variable.choices if value not in default]


def given(state: State) -> Mapping[str, Any]:
    """Return the values of the row and of the user for variables of the template."""
    extra = state.conversation.extra
    beside = {key: extra[key] for key in ("tools", "documents") if extra.get(key) is not None}
    return {**beside, **state.conversation.variables, **state.variables}


def variable_rows(found: Sequence[TemplateVariable], state: State, width: int) -> list[Row]:
    """Draw variables with their values, kinds and defaults, and links that change them.

    Args:
        found: The variables that the template reads.
        state: The conversation with the values of its row and of the user.
        width: Columns of a row.
    """
    if not found:
        return flow(words_of("This template reads no variables.", "dim"), width)
    rows: list[Row] = []
    values = given(state)
    names = min(max(len(variable.name) for variable in found), max(12, width // 2))
    for variable in found:
        name, value = variable.name, values.get(variable.name, variable.default)
        source = "yours" if name in state.variables else "from the row" * (name in values)
        default = f"default {_json(variable.default)}" if source else "default"
        default *= variable.default is not None
        facts = "· " + (", ".join(filter(None, (variable.kind, source, default))) or "any kind")
        shown = "not set" if value is None else safe(_json(value))
        shown = fit(shown, max(12, width - names - len(facts) - 2))
        words: list[Word] = [[Span(shown, "link", ChangeVariable(name, "next"))]]
        words += words_of(safe(facts), "dim")
        hows = ["edit"] * bool(variable.choices) + ["reset"] * (name in state.variables)
        words += [[Span("· ", "dim"), Span(how, "link", ChangeVariable(name, how))] for how in hows]
        rows += flow(words, width, (Span(column(safe(name), names) + " ", "heading"),))
    return rows
