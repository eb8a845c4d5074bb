"""Ids and masks of Jinja templates are those of `apply_chat_template` in transformers."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.chat.family_templates import (
    TEMPLATES,
    byte_level,
    random_conversation,
    sentencepiece_like,
    write_model,
)
from tokviz.chat.conversation import Conversation
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.messages import ConversationError
from tokviz.chat.render import render
from tokviz.chat.rendering import GENERATION_MARKS
from tokviz.chat.spans import CONTENT_AS_TEXT, SPECIALS, TRANSFORMERS
from tokviz.chat.template_files import load_template
from tokviz.formats.loader import load

transformers = pytest.importorskip("transformers")

TOKENIZERS = {
    "byte level": byte_level,
    "byte level, offsets trimmed": lambda: byte_level(trim_offsets=True),
    "byte level, NFC": lambda: byte_level(nfc=True),
    "like SentencePiece": sentencepiece_like,
}
AS_JSON = """{# A comment does not make <tool_call> a control token. #}
{%- for m in messages %}
{{- '<|im_start|>' + m.role + '\\n' + m.content | tojson }}
{%- if m.tool_calls is defined %}{{ m.tool_calls | tojson }}{% endif %}
{{- '<|im_end|>' }}
{%- endfor %}"""
N_CONVERSATIONS = 4


def expected(theirs: Any, row: dict[str, Any], specials: str) -> tuple[list[int], list[int]] | str:
    """Return the ids and the mask of transformers, or the kind of its error.

    It refuses to make a mask together with `sanitize_control_tokens`.
    """
    is_sanitized = specials == CONTENT_AS_TEXT
    has_marks = re.search(r"\{%-?\s*generation\b", theirs.chat_template) is not None
    try:
        found = theirs.apply_chat_template(
            row["messages"],
            tools=row.get("tools"),
            return_dict=True,
            return_assistant_tokens_mask=has_marks and not is_sanitized,
            sanitize_control_tokens=is_sanitized,
            **row.get("chat_template_kwargs", {}),
        )
    except Exception as error:
        return type(error).__name__
    return found["input_ids"], found.get("assistant_masks", [])


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_ids_and_masks_are_those_of_transformers(kind: str, tmp_path: Path) -> None:
    generator = random.Random(kind)
    made = TOKENIZERS[kind]()
    for number, (style, source) in enumerate([*TEMPLATES.items(), ("JSON", AS_JSON)]):
        folder = tmp_path / str(number)
        write_model(folder, made, source)
        theirs = transformers.AutoTokenizer.from_pretrained(folder)
        ours = load(str(folder))
        template = load_template(None, ours)
        assert isinstance(template, JinjaTemplate)
        for _ in range(N_CONVERSATIONS):
            row = random_conversation(generator)
            for specials in SPECIALS:
                wanted = expected(theirs, row, specials)
                try:
                    rendering = render(
                        ours, Conversation.from_json(row), template, specials=specials
                    )
                except ConversationError:
                    assert isinstance(wanted, str), (style, row, wanted)
                    continue
                assert not isinstance(wanted, str), (style, row, wanted)
                assert rendering.ids.tolist() == wanted[0], (style, specials, row)
                if rendering.mask_source == GENERATION_MARKS and specials == TRANSFORMERS:
                    assert list(rendering.mask) == wanted[1], (style, specials, row)
        template.close()


def test_a_variable_reaches_the_template_as_in_transformers(tmp_path: Path) -> None:
    write_model(tmp_path, byte_level(), TEMPLATES["thinking"])
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = load(str(tmp_path))
    messages = [{"role": "user", "content": "Hello"}]
    for variables in (
        {"add_generation_prompt": True},
        {"add_generation_prompt": True, "enable_thinking": False},
    ):
        row = {"messages": messages, "chat_template_kwargs": variables}
        rendering = render(
            ours, Conversation.from_json({"messages": messages}), variables=variables
        )
        assert rendering.ids.tolist() == expected(theirs, row, "transformers")[0]
        assert render(ours, Conversation.from_json(row)).ids == rendering.ids


def test_marks_that_transformers_miscounts_are_shown_as_it_sees_them(tmp_path: Path) -> None:
    write_model(tmp_path, byte_level(), TEMPLATES["miscounted"])
    row = {
        "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes"}]
    }
    rendering = render(load(str(tmp_path)), Conversation.from_json(row))
    assert rendering.miscounted == "Yes<|im_end|>"
