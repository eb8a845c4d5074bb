"""Built-in chat templates by name. To add one, add an entry to `TEMPLATES`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import ClassVar

from tokviz.chat import harmony, nanochat, turns
from tokviz.chat.conversation import Conversation, ExtraField
from tokviz.chat.spans import CONTENT_AS_TEXT, TRANSFORMERS, TemplateSpan
from tokviz.errors import TokvizError
from tokviz.storage.plugins import Registry
from tokviz.tokenizer.tokenizer import Tokenizer


class UnknownTemplateError(TokvizError):
    """A template name that is neither built in nor a file."""


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A format of conversations for a model.

    Attributes:
        name: Its name.
        title: The models known for it.
        help: A description in a sentence.
        source: The file or page that defines it.
        special_tokens: The special tokens it needs.
        write: Returns the spans of a conversation, or raises `ConversationError`.
        writes: Returns whether it writes a field outside the contents.
        specials: The policy for special tokens in contents, a key of
            `tokviz.chat.spans.SPECIALS`, that its source has.
        makes_up_ids: Whether special tokens that a tokenizer lacks get ids after its last, as in
            nanochat's contract; otherwise they are encoded as text.
    """

    name: str
    title: str
    help: str
    source: str
    special_tokens: tuple[str, ...]
    write: Callable[[Conversation], list[TemplateSpan]]
    writes: Callable[[ExtraField], bool] = lambda aside: False
    specials: str = CONTENT_AS_TEXT
    makes_up_ids: bool = False

    is_remote: ClassVar[bool] = False
    """Whether rendering waits for a child process."""

    def specials_in_use(self, tokenizer: Tokenizer | None = None) -> list[str]:
        """Return the special tokens it needs; those of a Jinja template depend on the tokenizer."""
        return [*self.special_tokens]


def template_for(special_tokens: Collection[str]) -> str:
    """Return the name of the first template that needs only these special tokens, or ""."""
    known = (name for name, template in TEMPLATES.items()
             if set(template.special_tokens) <= set(special_tokens))  # fmt: skip
    return next(known, "")


_TEMPLATES = {
    template.name: template
    for template in (
        ChatTemplate(
            "nanochat",
            "nanochat",
            "User and assistant alternate, each turn between its own special tokens; a system "
            "message goes into the first user message; Python calls are learned, outputs are not.",
            "karpathy/nanochat nanochat/tokenizer.py",
            nanochat.SPECIAL_TOKENS,
            nanochat.write,
            makes_up_ids=True,
        ),
        ChatTemplate(
            "chatml",
            "ChatML",
            "Every message is a role, a new line and its text between <|im_start|> and <|im_end|>.",
            "openai/openai-python chatml.md; transformers, Templates for chat models",
            (turns.IM_START, turns.IM_END),
            turns.write_chatml,
            specials=TRANSFORMERS,
        ),
        ChatTemplate(
            "llama3",
            "Llama 3",
            "A header with the role, then the text without white space around it, then <|eot_id|>.",
            "meta-llama/llama3 llama/tokenizer.py; chat_template of Meta-Llama-3-8B-Instruct",
            (turns.BEGIN_OF_TEXT, turns.HEADER_START, turns.HEADER_END, turns.EOT),
            turns.write_llama3,
        ),
        ChatTemplate(
            "qwen",
            "Qwen2.5",
            "ChatML that always has a system message, with tool calls in the assistant's turn and "
            "tool answers in the user's.",
            "tokenizer_config.json of Qwen/Qwen2.5-7B-Instruct",
            (turns.IM_START, turns.IM_END),
            turns.write_qwen,
            lambda aside: aside.key == "tools",
            specials=TRANSFORMERS,
        ),
        ChatTemplate(
            "gpt-oss",
            "Harmony",
            "Channels for reasoning, calls and answers; the system message describes the model "
            "(without a date), your own goes into the developer message.",
            "openai/harmony src/encoding.rs, docs/format.md",
            harmony.SPECIAL_TOKENS,
            harmony.write,
            harmony.writes,
        ),
    )
}
TEMPLATES = Registry("tokviz.templates", ChatTemplate, _TEMPLATES)
"""The built-in templates and those of plugins, in display order."""


def get_template(name: str) -> ChatTemplate:
    """Find a built-in template.

    Raises:
        UnknownTemplateError: If the name is unknown; it suggests the closest.
    """
    template = TEMPLATES.get(name.strip().lower())
    if template is None:
        near = difflib.get_close_matches(name.lower(), TEMPLATES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(TEMPLATES)}."
        raise UnknownTemplateError(
            f"unknown chat template {name!r}: {hint} A file works too, such as a "
            "chat_template.jinja or a tokenizer_config.json."
        )
    return template
