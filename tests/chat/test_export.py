"""Exports: the tokens of `render` in every format, and no file if it fails."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import tokviz
from tests.chat import originals
from tests.chat.conversations import nanochat_conversations, plain_conversations, turns
from tests.profiles import examples
from tokviz.chat.dataset import Dataset
from tokviz.chat.export import EXPORT_FORMATS, RowEncoder, write_export
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.render import render
from tokviz.chat.rendering import LABEL_OF_MASKED
from tokviz.chat.templates import TEMPLATES
from tokviz.chat.token_files import TokenReader, open_rows
from tokviz.errors import OutputFileError

QWEN = tokviz.load("qwen2")
GPT2 = tokviz.load("gpt2")
ROWS = [turns("Hi", "Hello"), turns("1+1?", "2", "Sure? é", "Yes\n"), turns("", "")]
BAD = [{"role": "assistant", "content": "first"}]


def dataset(rows):
    lines = (json.dumps({"messages": row}) + "\n" for row in rows)
    return Dataset.from_bytes("rows.jsonl", "".join(lines).encode())


def encoded(tokenizer, template, rows, max_tokens=10_000, **more):
    return RowEncoder(tokenizer, template, max_tokens, **more).encode(dataset(rows), 0, 1000)


def same_as_rendered(tokenizer, template, rows, max_tokens=10_000, specials=None):
    found = encoded(tokenizer, template, rows, max_tokens, specials=specials)
    columns = [np.concatenate([part[n] for part in found.parts]) for n in range(3)]
    ends = np.cumsum(found.lengths)
    for row, end, length in zip(rows, ends, found.lengths, strict=True):
        rendering = render(tokenizer, {"messages": row}, template, max_tokens, specials=specials)
        kept = rendering.n_kept
        assert length == kept
        wanted = (rendering.ids[:kept], rendering.mask[:kept], rendering.reasons[:kept])
        for column, values in zip(columns, wanted, strict=True):
            assert column[end - length : end].tolist() == list(values)


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("tokenizer", [QWEN, GPT2], ids=["qwen2", "gpt2"])
@examples(25)
@given(messages=plain_conversations())
def test_rows_are_encoded_together_as_one_by_one(name, tokenizer, messages):
    for specials in (None, "content_as_text", "transformers"):
        same_as_rendered(tokenizer, TEMPLATES[name], [messages, *ROWS[:2]], specials=specials)


@examples(50)
@given(conversation=nanochat_conversations())
def test_nanochat_with_special_tokens_in_contents(conversation):
    same_as_rendered(GPT2, TEMPLATES["nanochat"], [conversation["messages"]], max_tokens=9)


def test_messages_that_are_not_trained_on_are_masked():
    rows = [[*turns("Hi"), {"role": "assistant", "content": "Hello", "weight": 0}], ROWS[0]]
    same_as_rendered(QWEN, TEMPLATES["chatml"], rows)


def test_a_jinja_template_gives_what_it_renders():
    template = JinjaTemplate("t", originals.GENERATION)
    same_as_rendered(QWEN, template, ROWS)
    template.close()


def lines_of(path):
    return [*map(json.loads, Path(path).read_text().splitlines())]


@pytest.fixture
def export(tmp_path):
    def write(ending, rows=ROWS, template=TEMPLATES["chatml"], max_tokens=10_000, **more):
        encoder = RowEncoder(QWEN, template, max_tokens)
        path = str(tmp_path / f"out{ending}")
        chunks = (encoder.encode(dataset(rows), first, 2) for first in range(0, len(rows), 2))
        return path, write_export(path, chunks, encoder.about(), **more)

    return write


@pytest.mark.parametrize("ending", EXPORT_FORMATS)
def test_every_format_is_read_back(export, ending):
    path, about = export(ending)
    assert (about["n_rows"], about["n_cut"], about["mask_is_guess"]) == (3, 0, False)
    rows = open_rows(path)
    rows.index_all()
    assert rows.n_rows == 3
    n_tokens = 0
    for number, messages in enumerate(ROWS):
        rendering = render(QWEN, {"messages": messages}, "chatml")
        row = TokenReader(QWEN).read(rows, number)
        assert row.ids.tolist() == rendering.ids.tolist()
        assert bytes(row.mask) == rendering.mask
        n_tokens += len(row.ids)
        assert row.findings == []
    assert about["n_tokens"] == n_tokens


def test_json_lines_have_labels_and_reasons_and_a_description(export):
    path, about = export(".jsonl", with_reasons=True)
    rows = lines_of(path)
    rendering = render(QWEN, {"messages": ROWS[1]}, "chatml")
    assert [row["row"] for row in rows] == [1, 2, 3]
    assert rows[1]["labels"] == rendering.labels
    assert LABEL_OF_MASKED in rows[1]["labels"]
    assert rows[1]["assistant_masks"] == list(rendering.mask)
    assert rows[1]["reasons"] == list(rendering.reasons)
    described = json.loads(Path(f"{path}.json").read_text())
    assert described == json.loads(json.dumps(about))
    facts = (described["tokenizer"], described["template"], described["specials"])
    assert facts == ("qwen2", "chatml", "transformers")
    assert described["mask_sources"] == ["template"]


def test_a_parquet_file_describes_itself(export):
    parquet = pytest.importorskip("pyarrow.parquet")
    path, about = export(".parquet", with_reasons=True)
    table = parquet.read_table(path)
    assert table.column_names == ["row", "input_ids", "assistant_masks", "labels", "reasons"]
    assert json.loads(table.schema.metadata[b"tokviz"])["n_tokens"] == about["n_tokens"]


def test_an_npz_file_describes_itself(export):
    path, about = export(".npz")
    with np.load(path) as arrays:
        assert json.loads(arrays["about"].tobytes())["template"] == "chatml"
        assert arrays["ends"][-1] == len(arrays["labels"]) == about["n_tokens"]


def test_a_mask_from_roles_is_a_guess(export):
    template = JinjaTemplate("t", originals.CHATML)
    _, about = export(".npz", template=template)
    template.close()
    assert (about["mask_is_guess"], about["mask_sources"]) == (True, ["role spans"])


def test_rows_that_fail_are_listed_with_their_place(export):
    path, about = export(".jsonl", [ROWS[0], BAD, ROWS[1]], TEMPLATES["nanochat"])
    assert [row["row"] for row in lines_of(path)] == [1, 3]
    [failed] = about["failed"]
    assert failed["row"] == 2
    assert failed["error"].startswith("line 2: message 1")


def test_rows_that_are_cut_off_are_counted(export):
    _, about = export(".bin", max_tokens=12)
    assert (about["n_cut"], about["n_tokens"]) == (1, 12 + 12 + 10)


def test_an_empty_dataset_is_written(export):
    for ending in EXPORT_FORMATS:
        path, about = export(ending, [BAD], TEMPLATES["nanochat"])
        assert (about["n_rows"], len(about["failed"])) == (0, 1)
        assert open_rows(path).n_rows == 0 or not open_rows(path).has_row(0)


@pytest.mark.parametrize("ending", EXPORT_FORMATS)
def test_an_interrupted_export_leaves_what_was_there(tmp_path, ending):
    path = tmp_path / f"out{ending}"
    path.write_text("old")
    encoder = RowEncoder(QWEN, TEMPLATES["chatml"], 100)

    def chunks():
        yield encoder.encode(dataset(ROWS), 0, 3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_export(str(path), chunks(), encoder.about())
    assert [it.name for it in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "old"


def test_a_missing_folder_is_an_error_that_names_the_file(tmp_path):
    encoder = RowEncoder(QWEN, TEMPLATES["chatml"], 100)
    with pytest.raises(OutputFileError, match="its folder does not exist"):
        write_export(str(tmp_path / "no" / "out.jsonl"), [], encoder.about())
