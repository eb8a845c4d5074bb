"""The recipes of .github/CONTRIBUTING.md: a member added to a registry works everywhere."""

from __future__ import annotations

import json

import pytest

from tokviz.chat import conversation as conversations
from tokviz.chat.conversation import Conversation, DatasetShape, Message
from tokviz.chat.dataset import Dataset

# -- a dataset shape


@pytest.fixture
def alpaca(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Rows in the shape of Stanford's Alpaca, which is added."""

    def read(value, byte_text):
        question, answer = value["instruction"], value["output"]
        extra = {key: value[key] for key in value if key not in ("instruction", "output")}
        return (Message("user", question), Message("assistant", answer)), extra

    def write(messages, extra):
        question, answer = messages
        return {"instruction": question.text, "output": answer.text, **extra}

    shape = DatasetShape(
        looks='{"instruction", "output"}',
        found_in="Stanford Alpaca",
        fits=lambda value: isinstance(value, dict) and "instruction" in value,
        read=read,
        write=write,
        text_keys=("instruction", "output"),
    )
    monkeypatch.setitem(conversations.SHAPES, "alpaca", shape)
    return [{"instruction": "[1]", "output": f"one {n}"} for n in range(2)]


def test_a_dataset_shape_is_one_entry(alpaca, tmp_path) -> None:
    conversation = Conversation.from_json(alpaca[0])
    assert [message.role for message in conversation.messages] == ["user", "assistant"]
    assert conversation.to_json() == alpaca[0]
    assert '{"instruction", "output"}' in conversations.describe_shapes()
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, alpaca)))
    (tmp_path / "rows.json").write_text(json.dumps(alpaca))
    (tmp_path / "row.json").write_text(json.dumps(alpaca[0], indent=1))
    for name, n_rows in (("rows.jsonl", 2), ("rows.json", 2), ("row.json", 1)):
        dataset = Dataset.open(tmp_path / name)
        dataset.index_all()
        assert [dataset.row(row).to_json() for row in range(dataset.n_rows)] == alpaca[:n_rows]


def test_a_dataset_shape_is_read_from_tables(alpaca, tmp_path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(alpaca), tmp_path / "rows.parquet")
    dataset = Dataset.open(tmp_path / "rows.parquet")
    assert [message.text for message in dataset.row(1).messages] == ["[1]", "one 1"]
