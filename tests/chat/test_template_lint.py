"""Findings of templates: each has a case that triggers it and one that does not."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.chat.conversations import WITH_SPECIALS, turns
from tests.chat.family_templates import TEMPLATES as FAMILIES
from tests.chat.family_templates import byte_level, write_model
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.lint import lint
from tokviz.chat.render import render
from tokviz.chat.template_files import load_template
from tokviz.chat.templates import TEMPLATES
from tokviz.formats.loader import load

GOOD = """{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}

{% else %}{{ m.content }}{{ eos_token }}
{% endif %}{% endfor %}"""
ROW = turns("Hello", "42")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_model(folder, byte_level(), GOOD)
    return folder


def codes(folder: Path, source: str, messages: Any = ROW) -> set[str]:
    tokenizer = load(str(folder))
    template = JinjaTemplate("t", source)
    conversation = Conversation.from_json(messages)
    found = lint(conversation, render(tokenizer, conversation, template))
    template.close()
    return {finding.code for finding in found}


def test_a_good_template_has_no_findings(folder: Path) -> None:
    assert codes(folder, GOOD) == set()
    assert codes(folder, GOOD, turns("Hello", "")) == {"empty-turn"}


MARKED_HEADER = GOOD.replace("<|im_start|>{{ m.role }}\n{% if", "{% if").replace(
    "{% generation %}", "{% generation %}<|im_start|>assistant\n"
)


@pytest.mark.parametrize(
    ("code", "source"),
    [
        ("bos-missing", GOOD.replace("{{ bos_token }}", "")),
        ("bos-doubled", GOOD.replace("{{ bos_token }}", "{{ bos_token }}<s>")),
        ("eos-missing", GOOD.replace("{{ eos_token }}", "<|im_end|>")),
        ("header-supervised", MARKED_HEADER),
        ("missing-special", GOOD.replace("<|im_start|>", "<|turn|>")),
        ("generation-miscounted", FAMILIES["miscounted"]),
        ("no-generation-marks", FAMILIES["llama 3"]),
    ],
)
def test_a_template_with_the_fault_is_found(folder: Path, code: str, source: str) -> None:
    found = codes(folder, source)
    assert code in found
    follows = {"bos-missing", "eos-missing", "end-unsupervised"}
    if code == "generation-miscounted":
        follows.add("header-supervised")
    assert found <= {code, *follows}


def test_a_special_token_in_a_comment_is_not_missing(folder: Path) -> None:
    assert codes(folder, "{# <|turn|> was here #}" + GOOD) == set()


def test_marks_are_not_miscounted_where_contents_are_text(folder: Path) -> None:
    tokenizer, template = load(str(folder)), JinjaTemplate("t", GOOD)
    conversation = Conversation.from_json(turns("Hello <|im_end|>", "42"))
    rendering = render(tokenizer, conversation, template, specials="content_as_text")
    template.close()
    assert {finding.code for finding in lint(conversation, rendering)} == {"special-in-content"}


def test_a_weight_that_marks_ignore_is_found(folder: Path) -> None:
    user, answer = ROW
    assert codes(folder, GOOD, [user, {**answer, "weight": 0}]) == {"weight-ignored"}
    assert codes(folder, GOOD, [user, {**answer, "weight": 1}]) == set()


def test_a_mask_of_the_last_turn_only_is_no_error(folder: Path) -> None:
    last = GOOD.replace("m.role == 'assistant'", "m.role == 'assistant' and loop.last")
    assert codes(folder, last, turns("Hello", "42", "x", "y")) == set()


def test_the_end_of_an_empty_answer_must_be_learned(folder: Path) -> None:
    source = GOOD.replace(
        "{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}",
        "{% if m.content %}{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}"
        "{% else %}{{ eos_token }}{% endif %}",
    )
    messages = turns("Hello", "42", "x", "")
    assert codes(folder, source, messages) == {"empty-turn", "end-unsupervised"}


def test_a_fault_of_the_template_has_one_cause(folder: Path) -> None:
    rows = b"".join(json.dumps(turns("Hello", str(n))).encode() + b"\n" for n in range(20))
    tokenizer = load(str(folder))
    template = JinjaTemplate("t", GOOD.replace("{{ bos_token }}", ""))
    reports = [*DatasetLinter(tokenizer, template, 99).reports(Dataset.from_bytes("a.jsonl", rows))]
    template.close()
    causes = {finding.cause for report in reports for finding in report.findings}
    assert (causes, len(reports)) == ({"bos-missing"}, 20)


@pytest.mark.parametrize("name", TEMPLATES)
def test_clean_rows_have_no_findings(name: str) -> None:
    generator = random.Random(name)
    words = ["Hello", "world", "42", "é", "你好", "x=y", "<b>", "|", "end", "start", "\n\n"]
    rows = []
    for _ in range(1000):
        n = 2 * generator.randint(1, 4)
        texts = (" ".join(generator.choices(words, k=generator.randint(1, 9))) for _ in range(n))
        rows.append(turns(*(f"{text}." for text in texts)))
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    dataset = Dataset.from_bytes("a.jsonl", data)
    reports = [*DatasetLinter(WITH_SPECIALS, TEMPLATES[name], 10_000).reports(dataset)]
    assert len(reports) == 1000
    assert [report for report in reports if report.findings] == []


def test_the_default_template_is_that_of_the_folder(folder: Path) -> None:
    template = load_template(None, load(str(folder)))
    assert isinstance(template, JinjaTemplate)
    assert template.source == GOOD
