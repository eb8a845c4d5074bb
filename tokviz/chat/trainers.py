"""Masks of trainers: the tokens that each of them puts in the loss for the same conversation.

The functions follow the code named in `Trainer.source`; no trainer is imported. To add a trainer,
add an entry to `TRAINERS`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import UNTRAINED_KEYS, ConversationError, Message
from tokviz.chat.render import render
from tokviz.chat.rendering import GENERATION_MARKS, Rendering
from tokviz.chat.spans import Reason
from tokviz.chat.templates import ChatTemplate
from tokviz.errors import TokvizError
from tokviz.storage.plugins import Registry
from tokviz.text.common_prefix import n_common


class TrainerRefusalError(TokvizError):
    """A conversation or a template that a trainer does not accept."""


@dataclass(frozen=True, slots=True, eq=False)
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
        given = self.rendering
        try:
            return render(given.tokenizer, other, self.template, specials=given.specials)
        except ConversationError as error:
            raise TrainerRefusalError(f"it renders other messages, too: {error}") from None


@dataclass(frozen=True, slots=True)
class Trainer:
    """A trainer with the options that decide which tokens are in the loss.

    Attributes:
        name: Its name in tokviz.
        title: The trainer and its options.
        source: The function that makes its labels, and the version that was read.
        mask: Returns 1 for each token in the loss and 0 for each other, or raises
            `TrainerRefusalError` with the reason why the trainer does not accept the example.
        keys: The effect of keys of a message such as `weight` and `train`.
    """

    name: str
    title: str
    source: str
    mask: Callable[[Example], bytes]
    keys: str = "ignored"


_QUESTION, _ANSWER = "QUESTION", "ANSWER"
_TURNS = [
    *(Message("user", "One?"), Message("assistant", "One.")),
    *(Message("user", _QUESTION), Message("assistant", _ANSWER)),
]
"""Two turns that show how the template starts and ends a turn."""


# -- TRL, NeMo and nanochat


def _everything(example: Example) -> bytes:
    return b"\1" * len(example.rendering)


def _within_marks(example: Example) -> bytes:
    if example.rendering.mask_source != GENERATION_MARKS:
        raise TrainerRefusalError("the template has no {% generation %} marks")
    if not example.rendering.n_learned:
        raise TrainerRefusalError("no token of the row is within {% generation %} marks")
    return example.rendering.mask


def _completion(example: Example) -> bytes:
    """Take the messages through the last one of the user for the prompt."""
    messages, rendering = example.conversation.messages, example.rendering
    split = max((i + 1 for i, it in enumerate(messages) if it.role == "user"), default=0)
    if not 0 < split < len(messages):
        raise TrainerRefusalError("no message after a message of the user can be the completion")
    if isinstance(example.template, JinjaTemplate):
        prompt = example.render(messages[:split], add_generation_prompt=True).ids
        n_prompt = n_common(prompt, rendering.ids)
    else:
        first, last = rendering.message_spans[split]
        n_prompt = next((i for i in range(first, last) if rendering.reasons[i]), last)
    return bytes(n_prompt) + b"\1" * (len(rendering) - n_prompt)


def _marks_or_everything(example: Example) -> bytes:
    has_marks = example.rendering.mask_source == GENERATION_MARKS
    return example.rendering.mask if has_marks else _everything(example)


def _nanochat(example: Example) -> bytes:
    if example.rendering.template != "nanochat":
        raise TrainerRefusalError("nanochat has its own template: use --template nanochat")
    learned = (Reason.ASSISTANT_TEXT, Reason.TOOL_CALL, Reason.END)
    return bytes(reason in learned for reason in example.rendering.reasons)


# -- axolotl

_CONTENTS = ("[[dummy_message]]", "zzdummymessagezz")
"""Contents that axolotl puts in place of a turn's."""

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
            mask[found] |= train_on_eos == "all" or (train_on_eos == "turn" and is_trained)
    if train_on_eos == "last" and last_eos >= 0:
        mask[last_eos] = 1
    return bytes(mask)


@lru_cache(maxsize=2)
def _char_spans(example: Example) -> tuple[list[int], list[int]]:
    rendering = example.rendering
    starts, ends = rendering.tokenizer.char_offsets(rendering.text, rendering.ids)
    return starts.tolist(), ends.tolist()


@lru_cache(maxsize=256)  # three of the trainers need the same turns
def _axolotl_turn(example: Example, number: int) -> tuple[int, int]:
    """Return the tokens of the text that differs if a turn has another content.

    (-1, -1) if there are none.
    """
    messages, rendering = example.conversation.messages, example.rendering
    starts, ends = _char_spans(example)
    first, last = len(rendering.text), 0
    for content in _CONTENTS:
        dummy = Message(messages[number].role, content)
        other = example.render([*messages[:number], dummy, *messages[number + 1 :]]).text
        n_before = n_common(rendering.text, other)
        n_after = n_common(rendering.text[n_before:][::-1], other[n_before:][::-1])
        first, last = min(first, n_before), max(last, len(rendering.text) - n_after)
    start, end = bisect_right(ends, first), bisect_left(starts, last)
    return (start, end) if first < last and start < end else (-1, -1)


def _eos_id(example: Example) -> int:
    """Return the id of the EOS token: the tokenizer's, or else the one that ends an answer.

    Raises:
        TrainerRefusalError: If it is unknown, or the tokenizer lacks other special tokens.
    """
    if example.rendering.virtual_specials:
        raise TrainerRefusalError("the tokenizer lacks special tokens of the template")
    known = _special_id(example, "eos_token")
    if known is not None:
        return known
    probe = example.render(_TURNS)
    end = probe.reasons.find(Reason.END)
    if end < 0 or not probe.is_special(end):
        raise TrainerRefusalError("the EOS token is unknown")
    return probe.ids[end]


def _special_id(example: Example, name: str) -> int | None:
    template, tokenizer = example.template, example.rendering.tokenizer
    if isinstance(template, ChatTemplate):
        return None
    return tokenizer.special_tokens.get(template.variables_for(tokenizer).get(name, ""))


# -- unsloth


def response_parts(example: Example) -> tuple[str, str]:
    """Return the texts before a user's and before an assistant's content.

    They are the `instruction_part` and `response_part` that users of unsloth pass.
    """
    rendering, parts = example.render(_TURNS), []
    for message, before, content in ((2, "One.", _QUESTION), (3, _QUESTION, _ANSWER)):
        first, _ = rendering.message_spans[message]
        tokens = map(rendering.token_bytes, range(first, len(rendering)))
        written = b"".join(tokens).decode(errors="replace").partition(content)[0]
        between = rendering.text.partition(before)[2].partition(content)[0]
        parts.append((written or between).lstrip("\n"))
    return parts[0], rendering.generation_header or parts[1]


def _unsloth(example: Example) -> bytes:
    tokenizer, ids = example.rendering.tokenizer, example.rendering.ids.tolist()
    eos, bos = _eos_id(example), _special_id(example, "bos_token")
    question, answer = map(tokenizer.encode, response_parts(example))
    if not question or not answer:
        raise TrainerRefusalError("the template writes nothing before contents to search for")
    shared = question[: n_common(question, answer)]
    if not all(map(tokenizer.is_special, shared)):
        shared = []

    def starts_with(part: list[int]) -> bool:
        return bool(part) and ids[at : at + len(part)] == part

    stops = ([] if bos is None else [bos], shared, answer, question)
    mask, at = bytearray(len(ids)), 0
    while at < len(ids):
        if not starts_with(answer):
            at += 1
            continue
        first = at = at + len(answer)
        while at < len(ids) and not any(map(starts_with, stops)):
            at += 1
            if ids[at - 1] == eos:
                break
        mask[first:at] = b"\1" * (at - first)
    return bytes(mask)


_TRL = "trl/trainer/sft_trainer.py of TRL 1.16.0, SFTTrainer._prepare_dataset"
_MARKED = f"{_TRL}; TRL gives some known families its own template with marks"
_AXOLOTL = "axolotl/prompt_strategies/chat_template.py of axolotl 0.19.0, ChatTemplateStrategy"
_UNSLOTH = "unsloth_zoo/dataset_utils.py of unsloth_zoo 2026.10.9, train_on_responses_only"
_NEMO = "nemo/collections/llm/gpt/data/utils.py of NVIDIA/NeMo at 07109f9, _chat_preprocess"
_NANOCHAT = "nanochat/tokenizer.py of karpathy/nanochat, render_conversation"
_BY_KEY = "the first key that the row has decides, for every role"
_EOS_KINDS = ("turn", "last", "all")
_LIST = (
    Trainer("trl", "TRL without options", _TRL, _everything),
    Trainer("trl-assistant", "TRL, assistant_only_loss", _MARKED, _within_marks),
    Trainer("trl-completion", "TRL, prompt and completion", _TRL, _completion),
    *(
        Trainer(
            f"axolotl-{kind}",
            f"axolotl, train_on_eos: {kind}",
            _AXOLOTL,
            partial(_axolotl, train_on_eos=kind),
        )
        for kind in _EOS_KINDS
    ),
    Trainer(
        "axolotl-field",
        "axolotl, message_field_training: KEY",
        _AXOLOTL,
        partial(_axolotl, by_key=True),
        _BY_KEY,
    ),
    Trainer("unsloth", "unsloth, train_on_responses_only", _UNSLOTH, _unsloth),
    Trainer("nemo", "NeMo; it may also append the EOS token", _NEMO, _marks_or_everything),
    Trainer("nanochat", "nanochat, chat_sft", _NANOCHAT, _nanochat),
)
TRAINERS = Registry("tokviz.policies", Trainer, {trainer.name: trainer for trainer in _LIST})
"""The trainers by name, in display order."""
