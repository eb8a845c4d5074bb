"""Masks of trainers: the tokens that each of them puts in the loss for the same conversation.

To add a trainer, add an entry to `TRAINERS`. The functions follow the code of the trainers named
in `Trainer.source`; no trainer is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import UNTRAINED_KEYS, ConversationError, Message
from tokviz.chat.model_files import model_files_of
from tokviz.chat.render import render
from tokviz.chat.rendering import GENERATION_MARKS, Rendering
from tokviz.chat.spans import Reason
from tokviz.chat.templates import ChatTemplate
from tokviz.errors import TokvizError


class TrainerRefusalError(TokvizError):
    """A conversation or a template that a trainer does not accept."""


@dataclass(frozen=True, slots=True)
class Example:
    """A conversation as a trainer gets it.

    Attributes:
        conversation: The conversation.
        template: The template.
        rendering: The conversation rendered with it, without cutting off any tokens.
    """

    conversation: Conversation
    template: ChatTemplate | JinjaTemplate
    rendering: Rendering

    def render(self, messages: Sequence[Message], **variables: object) -> Rendering:
        """Render other messages in the same way; raise `TrainerRefusalError` if that fails."""
        other = replace(self.conversation, messages=tuple(messages)).with_variables(variables)
        specials = self.rendering.specials
        try:
            return render(self.rendering.tokenizer, other, self.template, specials=specials)
        except ConversationError as error:
            raise TrainerRefusalError(f"it renders other messages, too: {error}") from None


@dataclass(frozen=True, slots=True)
class Trainer:
    """A trainer with the options that decide which tokens are in the loss.

    Attributes:
        name: Its name in tokviz.
        title: The trainer and its options.
        source: The function that makes its labels. A claim that is not in it is marked
            "unverified".
        keys: What the trainer does with keys of a message such as `weight` and `train`.
        mask: Returns 1 for each token in the loss and 0 for each other, or raises
            `TrainerRefusalError`.
    """

    name: str
    title: str
    source: str
    keys: str
    mask: Callable[[Example], bytes]


def trainer_mask(trainer: Trainer, example: Example, n_kept: int | None = None) -> bytes:
    """Return the mask of the first `n_kept` tokens, by default of all.

    Raises:
        TrainerRefusalError: If the trainer does not accept the example; the message is the reason.
    """
    return trainer.mask(example)[:n_kept]


# -- TRL and NeMo


def _everything(example: Example) -> bytes:
    return b"\1" * len(example.rendering)


def _within_marks(example: Example) -> bytes:
    if example.rendering.mask_source != GENERATION_MARKS:
        raise TrainerRefusalError("the template has no {% generation %} marks")
    if 1 not in example.rendering.mask:
        raise TrainerRefusalError("no token of the row is within {% generation %} marks")
    return example.rendering.mask


def _completion(example: Example) -> bytes:
    """Return the mask of a prompt up to the last user message and a completion after it."""
    messages, rendering = example.conversation.messages, example.rendering
    split = max((i + 1 for i, it in enumerate(messages) if it.role == "user"), default=0)
    if not 0 < split < len(messages):
        raise TrainerRefusalError("the row has no answer after a user message to be the completion")
    if isinstance(example.template, JinjaTemplate):
        n_prompt = len(example.render(messages[:split], add_generation_prompt=True))
    else:
        first, last = rendering.message_spans[split]
        written = (i for i in range(first, last) if rendering.reasons[i] != Reason.HEADER)
        n_prompt = next(written, last)
    n_prompt = min(n_prompt, len(rendering))
    return bytes(n_prompt) + b"\1" * (len(rendering) - n_prompt)


def _marks_or_everything(example: Example) -> bytes:
    has_marks = example.rendering.mask_source == GENERATION_MARKS
    return example.rendering.mask if has_marks else _everything(example)


# -- axolotl

_MOST_PADDING = 3
"""Tokens that axolotl allows between a turn's content and the EOS token."""


def _axolotl(example: Example, train_on_eos: str = "turn", by_key: bool = False) -> bytes:
    ids, eos = example.rendering.ids, _eos_id(example)
    messages = example.conversation.messages
    key = next((key for key in UNTRAINED_KEYS if any(key in it.extra for it in messages)), "")
    if by_key and not key:
        raise TrainerRefusalError(f"no message has a key such as {UNTRAINED_KEYS[1]!r}")
    mask, last_eos = bytearray(len(ids)), -1
    for number, message in enumerate(messages):
        value = message.extra.get(key) if by_key else None
        is_trained = message.role == "assistant" if value is None else bool(value)
        if not is_trained and train_on_eos != "all":
            continue
        start, end = _axolotl_turn(example, number)
        if is_trained and start >= 0:
            mask[start:end] = b"\1" * len(mask[start:end])
        # As in axolotl, -1 stands for a turn that was not found, and is used as an index.
        found = next((i for i in range(end, len(ids)) if ids[i] == eos), -1)
        if found >= 0 and found - end <= _MOST_PADDING:
            last_eos = found
            if train_on_eos == "all" or (train_on_eos == "turn" and is_trained):
                mask[found] = 1
    if train_on_eos == "last" and last_eos >= 0:
        mask[last_eos] = 1
    return bytes(mask)


def _axolotl_turn(example: Example, number: int) -> tuple[int, int]:
    """Return the tokens of a turn that differ if its content is another; (-1, -1) if none do.

    The turn is rendered as the last one, so the numbers are wrong for a template that changes
    earlier turns.
    """
    messages = example.conversation.messages
    dummy = Message(messages[number].role, "[[dummy_message]]")
    n_before = len(messages) - 1
    given = {"real_last_index": n_before} if n_before else {}
    other = example.render([*messages[:number], dummy], **given).ids
    full = example.render(messages[: number + 1], **given).ids
    shorter = min(len(other), len(full))
    start = next((i for i in range(shorter) if other[i] != full[i]), None)
    n_after = next((i for i in range(shorter) if other[-1 - i] != full[-1 - i]), None)
    if start is None or n_after is None or len(full) - n_after <= start:
        return -1, -1
    return start, len(full) - n_after


def _eos_id(example: Example) -> int:
    """Return the id of the EOS token: the tokenizer's, or else the one that ends the first turn."""
    rendering, template = example.rendering, example.template
    known = rendering.tokenizer.special_tokens
    if isinstance(template, JinjaTemplate):
        text = template.variables_for(rendering.tokenizer).get("eos_token")
    else:
        files = model_files_of(rendering.tokenizer)
        text = None if files is None else files.variables.get("eos_token")
    if text in known:
        return known[text]
    end = rendering.reasons.find(Reason.END)
    if end < 0 or not rendering.is_special(end):
        raise TrainerRefusalError("the EOS token is unknown: the files of the tokenizer name none")
    return rendering.ids[end]


# -- unsloth

_QUESTION = "QUESTION"
_ANSWER = "ANSWER"
_TURNS = (
    *(Message("user", "One?"), Message("assistant", "One.")),
    *(Message("user", _QUESTION), Message("assistant", _ANSWER)),
)


def response_parts(example: Example) -> tuple[str, str]:
    """Return the texts before a user's and before an assistant's content.

    They are the `instruction_part` and `response_part` that unsloth's user passes.
    """
    rendering = example.render(_TURNS)
    text, parts = rendering.text, []
    for message, before, content in ((2, _TURNS[1].text, _QUESTION), (3, _QUESTION, _ANSWER)):
        first, _ = rendering.message_spans[message]
        written = b"".join(map(rendering.token_bytes, range(first, len(rendering)))).decode()
        between = text.partition(before)[2].partition(content)[0]
        parts.append(written.partition(content)[0] or between.lstrip())
    return parts[0], rendering.generation_header or parts[1]


def _unsloth(example: Example) -> bytes:
    if example.rendering.virtual_specials:
        raise TrainerRefusalError("the tokenizer lacks special tokens of the template")
    tokenizer = example.rendering.tokenizer
    question, answer = (tokenizer.encode(part) for part in response_parts(example))
    if not question or not answer:
        raise TrainerRefusalError("the template writes nothing before contents to search for")
    ids = example.rendering.ids.tolist()
    n, at = len(ids), 0
    mask = bytearray(n)
    while at < n:
        if ids[at : at + len(answer)] != answer:
            at += 1
            continue
        first = at + len(answer)
        asked = (i for i in range(first, n - 1) if ids[i : i + len(question)] == question)
        last = next(asked, n)
        mask[first:last] = b"\1" * len(mask[first:last])
        at = last + len(question) + 1
    return bytes(mask)


# -- nanochat


def _nanochat(example: Example) -> bytes:
    if example.rendering.template != "nanochat":
        raise TrainerRefusalError("nanochat writes its own template: use --template nanochat")
    messages = (
        replace(it, extra={key: it.extra[key] for key in it.extra if key not in UNTRAINED_KEYS})
        for it in example.conversation.messages
    )
    return example.render([*messages]).mask


_IGNORED = "Ignored."
_TRL = "huggingface/trl trl/trainer/sft_trainer.py, SFTTrainer._prepare_dataset (2026, TRL 1)"
_AXOLOTL = (
    "axolotl-ai-cloud/axolotl src/axolotl/prompt_strategies/chat_template.py, "
    "ChatTemplateStrategy._tokenize_single_prompt and find_turn (2025)"
)
_AXOLOTL_KEYS = "Ignored, unless message_field_training names the key."

TRAINERS: dict[str, Trainer] = {
    trainer.name: trainer
    for trainer in (
        Trainer("trl", "TRL without options, rows of messages", _TRL, _IGNORED, _everything),
        Trainer(
            "trl-assistant",
            "TRL, assistant_only_loss",
            f"{_TRL}; TRL replaces the templates of known families by its own with marks",
            _IGNORED,
            _within_marks,
        ),
        Trainer(
            "trl-completion",
            "TRL, rows of prompt and completion, split after the last user message",
            _TRL,
            _IGNORED,
            _completion,
        ),
        Trainer("axolotl", "axolotl, train_on_eos: turn", _AXOLOTL, _AXOLOTL_KEYS, _axolotl),
        Trainer(
            "axolotl-last",
            "axolotl, train_on_eos: last",
            _AXOLOTL,
            _AXOLOTL_KEYS,
            partial(_axolotl, train_on_eos="last"),
        ),
        Trainer(
            "axolotl-all",
            "axolotl, train_on_eos: all",
            _AXOLOTL,
            _AXOLOTL_KEYS,
            partial(_axolotl, train_on_eos="all"),
        ),
        Trainer(
            "axolotl-field",
            "axolotl, message_field_training: the key that the row has",
            _AXOLOTL,
            "A message is trained if the value of its key is true or not 0, whatever its role.",
            partial(_axolotl, by_key=True),
        ),
        Trainer(
            "unsloth",
            "unsloth, train_on_responses_only with the parts of the template",
            "unslothai/unsloth-zoo unsloth_zoo/dataset_utils.py, train_on_responses_only (2026)",
            _IGNORED,
            _unsloth,
        ),
        Trainer(
            "nemo",
            "NeMo, chat template of the tokenizer (it may append the EOS token, in the loss)",
            "NVIDIA/NeMo nemo/collections/llm/gpt/data/utils.py, _chat_preprocess (2025)",
            _IGNORED,
            _marks_or_everything,
        ),
        Trainer(
            "nanochat",
            "nanochat, chat_sft",
            "karpathy/nanochat nanochat/tokenizer.py, render_conversation; scripts/chat_sft.py",
            _IGNORED,
            _nanochat,
        ),
    )
}
"""The trainers by name, in display order."""
