"""Choosing the template, the tokenizer and the length."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from tokviz.chat.templates import TEMPLATES
from tokviz.errors import TokvizError
from tokviz.tokenizer import Tokenizer
from tokviz.tui.dialogs.ask_text import AskDialog
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.chat.base import ChatBase
from tokviz.tui.screens.choosing import TokenizerChoice

if TYPE_CHECKING:
    from tokviz.chat.jinja_template import JinjaTemplate

_FILE = "file…"
_MOST_TOKENS = 10_000_000


class TemplateActions(ChatBase):
    """What a conversation is rendered with."""

    def action_pick_template(self) -> None:
        """Choose a template from the list, or a file."""
        options = [
            Option(t.name, t.name, t.title if t.title != t.name else "", f"{t.help} {t.source}")
            for t in TEMPLATES.values()
        ]
        options += [
            Option(name, name, "Jinja", f"{template.title}. {template.help}")
            for name, template in self.jinja.items()
        ]
        options.append(
            Option(
                _FILE,
                "A Jinja file…",
                "",
                "A chat_template.jinja, or a tokenizer_config.json with a chat_template. It runs "
                "in a sandbox, in a process of its own.",
            )
        )
        current = self.history.state.template
        self.app.push_screen(PickDialog("Template", options, current=current), self._picked)

    def _picked(self, name: str | None) -> None:
        if name == _FILE:
            self.action_open_template()
        elif name is not None and name != self.history.state.template:
            self.change(template=name)

    def action_next_template(self) -> None:
        """Take the next template of the list."""
        names = [*TEMPLATES, *self.jinja]
        at = names.index(self.history.state.template)
        self.change(template=names[(at + 1) % len(names)])

    def action_open_template(self) -> None:
        """Choose a file with a Jinja template."""
        from tokviz.tui.dialogs.open_file import OpenFileDialog

        folder = Path(self.settings.folder) if self.settings.folder else None
        dialog = OpenFileDialog(folder, title="Open a Jinja template", takes_any=True)
        self.app.push_screen(dialog, self._template_chosen)

    def _template_chosen(self, path: Path | None) -> None:
        if path is not None:
            self.open_template(str(path))

    @work(thread=True, exclusive=True, group="template", exit_on_error=False)
    def open_template(self, path: str) -> None:
        """Read a Jinja template in a thread, then use it."""
        from tokviz.chat.template_files import read_template

        try:
            template = read_template(Path(path))
        except TokvizError as error:
            self.call_here(self.say, str(error), "error")
            return
        self.call_here(self._use_template, template)

    def _use_template(self, template: JinjaTemplate) -> None:
        # Most are called the same, so the name of the folder tells them apart.
        known = self.jinja.get(template.name)
        name = template.name if known is None or known.title == template.title else template.title
        if name in self.jinja:
            self.jinja[name].close()
        self.jinja[name] = template
        self.change(template=name)

    # -- tokenizer

    def action_pick_tokenizer(self) -> None:
        """Choose a tokenizer, for all screens."""
        TokenizerChoice(self).pick()

    def set_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Tokenize by another tokenizer."""
        if tokenizer is not self.tokenizer:
            self.tokenizer = tokenizer
            self.live.set_tokenizer(tokenizer)
            self.messages.editor.sync()
            self.refresh_rendering()

    # -- length

    def action_set_max_tokens(self) -> None:
        """Ask where a rendering is cut off."""
        dialog = AskDialog(
            "Cut off after so many tokens",
            "The context size of the training. What is behind it is not learned from.",
            _wrong_number,
            value=str(self.max_tokens),
            placeholder="2048",
        )
        self.app.push_screen(dialog, self._max_tokens_given)

    def _max_tokens_given(self, text: str | None) -> None:
        if text is not None:
            self.max_tokens = _number(text)
            self.refresh_rendering()


def _number(text: str) -> int:
    digits = text.replace(",", "").replace("_", "").replace(" ", "")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 9 else 0


def _wrong_number(text: str) -> str:
    if 1 <= _number(text) <= _MOST_TOKENS:
        return ""
    return f"Type a number from 1 to {_MOST_TOKENS:,}."
