"""Marks that are added to templates: the text stays, and transformers sees the mask."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.chat.family_templates import TEMPLATES, byte_level, write_model
from tokviz.chat.generation_marks import SAMPLES, UnmarkableError, with_generation_marks
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.formats.loader import load
from tokviz.tokenizer.tokenizer import Tokenizer

transformers = pytest.importorskip("transformers")

MARKS = re.compile(r"\{%-? ?(end)?generation ?-?%\}")
WITHOUT_END = "no special tokens"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("model")
    write_model(folder, byte_level(), TEMPLATES["llama 3"])
    return load(str(folder))


@pytest.mark.parametrize("style", [name for name in TEMPLATES if name != WITHOUT_END])
def test_the_mask_of_the_new_template_is_what_transformers_returns(
    style: str, tokenizer: Tokenizer
) -> None:
    template = JinjaTemplate("t", MARKS.sub("", TEMPLATES[style]))
    made = with_generation_marks(template, tokenizer)
    template.close()
    theirs = transformers.AutoTokenizer.from_pretrained(tokenizer.folder)
    messages = [{"role": m.role, "content": m.text} for m in SAMPLES[0].messages]
    encoded = theirs.apply_chat_template(
        messages,
        chat_template=made.source,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    assert encoded["input_ids"] == made.example.ids.tolist()
    assert encoded["assistant_masks"] == [*made.example.mask]
    assert 0 < made.example.n_learned < len(made.example)
    assert made.n_same_mask == made.n_checked
    assert made.n_checked + made.n_refused == len(SAMPLES)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (TEMPLATES["llama 3, marked"], "has generation marks already"),
        (TEMPLATES[WITHOUT_END], "no token ends"),
        ("{{ raise_exception('no') }}", "refuses every conversation"),
        ("{{ messages[0].content }}{{ messages[1].content }}<|im_end|>", "has no loop"),
    ],
)
def test_what_cannot_be_marked_is_refused(
    source: str, words: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    template = JinjaTemplate("t", source)
    with pytest.raises(UnmarkableError, match=words):
        with_generation_marks(template, tokenizer)
    template.close()
