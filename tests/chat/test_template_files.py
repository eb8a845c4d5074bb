"""Templates from the files that models ship."""

from __future__ import annotations

import json

import pytest

from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.template_files import load_template
from tokviz.chat.templates import TEMPLATES, UnknownTemplateError
from tokviz.errors import InputFileError


def write(path, value) -> str:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def load_jinja(path: str) -> JinjaTemplate:
    template = load_template(path)
    assert isinstance(template, JinjaTemplate)
    return template


def test_a_name_is_a_built_in_template():
    assert load_template("Llama3 ") is TEMPLATES["llama3"]


def test_a_tokenizer_config_gives_template_variables_and_special_tokens(tmp_path):
    config = {
        "chat_template": "{{ bos_token }}",
        "bos_token": {"content": "<s>", "lstrip": False},
        "eos_token": "</s>",
        "pad_token": None,
        "added_tokens_decoder": {
            "2": {"content": "</s>", "special": True},
            "1": {"content": "<s>", "special": True},
            "3": {"content": "<think>", "special": False},
        },
    }
    template = load_jinja(write(tmp_path / "tokenizer_config.json", config))
    assert template.source == "{{ bos_token }}"
    assert template.variables == {"bos_token": "<s>", "eos_token": "</s>"}
    assert template.special_tokens == ("<s>", "</s>")
    assert template.specials_in_use() == ["<s>"]
    assert load_jinja(str(tmp_path)) == template


def test_a_jinja_file_takes_its_variables_from_the_config_beside_it(tmp_path):
    write(tmp_path / "tokenizer_config.json", {"eos_token": "</s>"})
    path = write(tmp_path / "chat_template.jinja", "{{ eos_token }}<|end|>")
    assert load_jinja(path).variables == {"eos_token": "</s>"}
    assert load_jinja(path).specials_in_use() == ["</s>", "<|end|>"]


def test_of_several_templates_the_default_is_taken(tmp_path):
    several = [{"name": "tool_use", "template": "a"}, {"name": "default", "template": "b"}]
    path = write(tmp_path / "tokenizer_config.json", {"chat_template": several})
    assert load_jinja(path).source == "b"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{\n "a" 1}', "line 2, column 6: is not JSON: a colon is missing here"),
        ("[]", "does not hold an object"),
        ("{}", "has no text under the key 'chat_template'"),
        ("[" * 100_000, "is nested too deeply"),
    ],
)
def test_files_without_a_template_are_refused_in_words(tmp_path, content, said):
    with pytest.raises(InputFileError) as caught:
        load_template(write(tmp_path / "tokenizer_config.json", content))
    assert said in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "a.jinja").write_bytes(b"a\xff")
    with pytest.raises(InputFileError, match="byte 1"):
        load_template(str(tmp_path / "a.jinja"))


def test_a_text_that_is_no_template_is_refused(tmp_path):
    path = write(tmp_path / "README.md", "# A model")
    with pytest.raises(InputFileError, match="is not a Jinja template"):
        load_template(path)


def test_missing_files_and_empty_folders_are_said(tmp_path):
    with pytest.raises(InputFileError, match="no such file"):
        load_template(str(tmp_path / "a.jinja"))
    with pytest.raises(InputFileError, match="this folder holds no chat template"):
        load_template(str(tmp_path))
    with pytest.raises(UnknownTemplateError, match="unknown chat template 'nothing'"):
        load_template("nothing")
    with pytest.raises(InputFileError, match="no such file"):
        load_template("models/nothing")


@pytest.mark.parametrize("name", ["~nobody_here/chat.jinja", "a" * 3000 + "/chat.jinja"])
def test_paths_that_nobody_can_have_are_said(name):
    with pytest.raises(InputFileError, match=r"there is no such file|File name too long"):
        load_template(name)
