"""Choosing the template and the length."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.spans import SPECIALS
from tokviz.chat.template_files import is_path, read_template
from tokviz.chat.templates import TEMPLATES
from tokviz.tui.actions import action
from tokviz.tui.dialogs.ask_text import AskDialog, Wrong
from tokviz.tui.dialogs.file_dialog import OpenFileDialog
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.chat.state import ConversationAtHand
from tokviz.tui.widgets.view_switcher import neighbour

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

    def __init__(
        self, screen: TokvizScreen, chat: ConversationAtHand, render: Callable[[], object]
    ) -> None:
        """Create the controller with the conversation and a function that renders it again."""
        super().__init__(screen)
        self._chat, self._render = chat, render

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
