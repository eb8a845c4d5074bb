"""Choosing the template and the length, and changing the variables of the template."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on

from tokviz.chat import json_text
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import ConversationError
from tokviz.chat.spans import SPECIALS
from tokviz.chat.template_files import is_path, read_template
from tokviz.chat.templates import TEMPLATES
from tokviz.chat.variables import TemplateVariable
from tokviz.text import bytetext
from tokviz.text.glyphs import safe
from tokviz.text.sentences import sentence
from tokviz.tui.actions import LEADER, action
from tokviz.tui.dialogs.ask_text import AskDialog, Wrong
from tokviz.tui.dialogs.file_dialog import OpenFileDialog
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.chat.state import ConversationAtHand, State
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.rows_view import LinkRows, RowsView
from tokviz.tui.widgets.spans import ChangeVariable, Row, Span, Word, flow, words_of
from tokviz.tui.widgets.view_switcher import ViewSwitcher, neighbour

if TYPE_CHECKING:
    from tokviz.tui.tasks import Task


_FILE = "file…"
"""Prefix of a path among template names."""
_FILE_HELP = (
    "A chat_template.jinja, or a tokenizer_config.json with a chat_template. It runs in a sandbox, "
    "in a process of its own."
)
_MOST_TOKENS = 10_000_000


class Templates(Controller):
    """The template of a conversation."""

    _chat: ConversationAtHand
    _render: Callable[[], object]

    @action("Choose a template", "shift+f6", section="Rendering", footer="template", words="llama")
    def pick_template(self) -> None:
        """The way the messages are written for a model. Type the path of a Jinja file to use that.

        No text is lost.
        """
        options = [
            Option(name, name or own.name, "of the tokenizer", f"{own.title}. {own.help}")
            for name, own in self._own().items()
        ]
        options += [
            Option(t.name, t.name, t.title if t.title != t.name else "", f"{t.help} {t.source}")
            for t in TEMPLATES.values()
        ]
        options += [
            Option(name, name, "Jinja", f"{template.title}. {template.help}")
            for name, template in self._chat.jinja.items()
        ]
        options.append(Option(_FILE, "A Jinja file…", "or type its path", _FILE_HELP))

        def picked(name: str) -> None:
            if name.startswith(_FILE):
                self.open_template(name.removeprefix(_FILE))
            elif name != self._chat.state.template:
                self._chat.change(template=name)

        self.ask(PickDialog("Template", options, current=self._current(), typed=_typed), picked)

    @action("Next template", section="Rendering")
    def next_template(self) -> None:
        """See the same conversation in the next template of the list."""
        names = [*self._own(), *TEMPLATES, *self._chat.jinja]
        self._chat.change(template=neighbour(names, self._current()))

    def _own(self) -> dict[str, JinjaTemplate]:
        """Return the Jinja templates of the tokenizer's own files; see `own_templates`."""
        own = (self._chat.own or {}).items()
        return {name: each for name, each in own if isinstance(each, JinjaTemplate)}

    def _current(self) -> str:
        is_default = self._own() and not self._chat.state.template
        return "" if is_default else self._chat.template_name

    def forget_own(self) -> None:
        """Close the tokenizer's templates, because another tokenizer is used."""
        for template in self._own().values():
            template.close()
        self._chat.own = None

    @action("Open a Jinja template…", section="Rendering")
    def open_template(self, path: str = "") -> None:
        """Choose a chat_template.jinja, a tokenizer_config.json, or a folder with one of them."""

        def check(path: Path) -> bool:
            read_template(path)
            return True

        dialog = OpenFileDialog(
            self.session.folder,
            title="Open a Jinja template",
            verb="use or enter",
            folder_verb="use this folder",
            check=check,
            text=path,
        )
        self.ask(dialog, self.use_file)

    def use_file(self, path: Path) -> None:
        """Read a Jinja template in a thread, then use it."""

        def read(task: Task) -> JinjaTemplate:
            return read_template(path)

        self.in_thread("template", read, self._use)

    def _use(self, template: JinjaTemplate) -> None:
        # Most have the same name, so the folder name distinguishes them.
        jinja = self._chat.jinja
        known = jinja.get(template.name)
        name = template.name if known is None or known.title == template.title else template.title
        before = jinja.get(name)
        if template != before:
            if before is not None:
                before.close()
            jinja[name] = template
        self._chat.change(template=name)

    def end(self) -> None:
        """End the processes that render Jinja templates."""
        self.forget_own()
        for template in self._chat.jinja.values():
            template.close()

    @action("Special tokens: as transformers or as text", "f6", section="Rendering",
            words="policy sanitize control tokens injection both")  # fmt: skip
    def toggle_specials(self) -> None:
        """Recognize special tokens in contents, as transformers does, or encode them as text.

        The view Changes shows both side by side.
        """
        self._chat.specials = neighbour([*SPECIALS], self._chat.policy)
        self._render()

    @action("Maximum number of tokens…", section="Rendering")
    def set_max_tokens(self) -> None:
        """Truncate the rendering at the context size of the training."""

        def given(number: int) -> None:
            self._chat.max_tokens = number
            self._render()

        title, value = "Maximum number of tokens", str(self._chat.max_tokens)
        note = "The context size of the training: later tokens are not in the loss."
        dialog = AskDialog(title, note, _number, value=value, placeholder="2048", verb="set")
        self.ask(dialog, given)


def _typed(text: str) -> Option | None:
    """Offer the file that a typed text means."""
    return Option(_FILE + text, f"Open {text}", "Jinja", _FILE_HELP) if is_path(text) else None


def _number(text: str) -> int:
    digits = text.replace(",", "").replace("_", "").replace(" ", "")
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 9
    if not is_number or not 1 <= int(digits) <= _MOST_TOKENS:
        raise Wrong(f"Type a number from 1 to {_MOST_TOKENS:,}.")
    return int(digits)


_UNSET = object()
_NOTE = 'JSON, such as "text", 12 or true. Leave it empty to reset the variable.'


class Variables(Controller):
    """Lists the variables that the template reads, and changes them."""

    _chat: ConversationAtHand
    _left: ViewSwitcher
    _view: LinkRows
    _template: object = field(default=None, init=False)
    _found: Sequence[TemplateVariable] = field(default=(), init=False)

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
