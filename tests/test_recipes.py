"""The recipes of .github/CONTRIBUTING.md: a member added by each recipe works everywhere."""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from types import ModuleType

import pytest

import tokviz
from tokviz.chat import dataset as datasets
from tokviz.chat import dataset_shapes
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset, JsonValues
from tokviz.chat.dataset_shapes import DatasetShape
from tokviz.chat.lint import RULES, ControlTokens, Problem, Rule, lint
from tokviz.chat.messages import Message
from tokviz.chat.render import render
from tokviz.chat.spans import Reason, TemplateSpan
from tokviz.chat.templates import TEMPLATES, ChatTemplate
from tokviz.cli import command as commands
from tokviz.cli.main import main
from tokviz.formats.save import FORMATS, SaveFormat, what_is_lost
from tokviz.kernels import kernels_of, store
from tokviz.kernels.memory import zeros
from tokviz.process import registry as jobs
from tokviz.process.runner import JobClient, RunHandlers
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern
from tokviz.training.corpus import readers
from tokviz.training.corpus.corpus import Corpus

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")
MESSAGES = [{"role": "user", "content": "HI"}, {"role": "assistant", "content": "Hello"}]


# -- the page


def test_every_path_on_the_page_exists() -> None:
    paths = re.findall(r"`((?:tokviz|assets|tests|\.ci)/[\w./]*)`", PAGE)
    assert len(paths) > 40
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_name_on_the_page_is_where_it_says() -> None:
    places = re.findall(r"`@?(?:\w+\.)?(\w+)`\s+\(`(tokviz/[\w/]+\.py)`\)", PAGE)
    assert len(places) > 25
    for name, path in places:
        defined = rf"^(?:class |def |async def )?{name}\b"
        assert re.search(defined, (ROOT / path).read_text("utf-8"), re.MULTILINE), (name, path)


def test_the_readme_leads_to_the_page() -> None:
    assert "(.github/CONTRIBUTING.md)" in (ROOT / "README.md").read_text("utf-8")


# -- a split pattern


@pytest.mark.parametrize("regex", [r"[^\n]*\n|[^\n]+", r"[\s\S&&[^\n]]*\n|[^\n]+"])
def test_a_split_pattern_is_one_entry(regex, monkeypatch, tmp_path, capsys) -> None:
    pattern = SplitPattern("lines", regex, "this test", gapless=True)
    monkeypatch.setitem(SPLIT_PATTERNS, "lines", pattern)
    (tmp_path / "text").write_text("a b\na b\nc")
    arguments = ["--vocab-size", "300", "--pattern", "lines", "-o", str(tmp_path / "run")]
    assert main(["train", str(tmp_path / "text"), *arguments]) == 0
    tokenizer = tokviz.load(tmp_path / "run")
    assert tokenizer.split_pattern == pattern
    assert b"a b\n" in tokenizer.vocab.values()
    assert tokenizer.tokenize("a b\nc").pre_tokens.tolist() == [[0, 4], [4, 5]]
    capsys.readouterr()
    assert main(["train", "--help"]) == 0
    assert "lines" in capsys.readouterr().out


# -- a format


def test_a_format_is_one_entry(monkeypatch, tmp_path) -> None:
    def write(tokenizer: tokviz.Tokenizer) -> dict[str, bytes]:
        return {"": b"\n".join(token.hex().encode() for token in tokenizer.vocab.values())}

    def losses(tokenizer: tokviz.Tokenizer) -> Iterator[str]:
        yield "the order of the merges"

    form = SaveFormat("hex", "Tokens in hexadecimal", False, "tokens.hex", write, losses)
    monkeypatch.setitem(FORMATS, "hex", form)
    tokenizer = tokviz.train(["ab ab"], 257).tokenizer
    assert what_is_lost(tokenizer, "hex") == ["the order of the merges"]
    tokenizer.save(tmp_path / "tokens.hex", format="hex")
    assert (tmp_path / "tokens.hex").read_bytes().endswith(b"fe\nff\n6162")


# -- a kind of corpus file


def test_a_kind_of_corpus_file_is_one_entry(monkeypatch, tmp_path) -> None:
    def read(file, path: str, field: str) -> Iterator[tuple[bytes, bool]]:
        for row in csv.DictReader(io.TextIOWrapper(file)):
            yield row[field].encode(), True

    monkeypatch.setitem(readers.READERS, ".csv", read)
    (tmp_path / "rows.csv").write_text("n,body\n1,abab\n2,ab\n")
    run = tokviz.train(Corpus(tmp_path / "rows.csv", field="body"), 257)
    assert run.tokenizer.merges == [(b"a", b"b")]
    assert run.pre_token_counts.n_documents == 2


# -- a chat template, a rule for conversations


@pytest.fixture
def conversation_file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(MESSAGES))
    return path


def test_a_chat_template_is_one_entry(monkeypatch, conversation_file, capsys) -> None:
    def write(conversation: Conversation) -> list[TemplateSpan]:
        spans = []
        for number, message in enumerate(conversation.messages):
            learned = message.role == "assistant"
            reason = Reason.ASSISTANT_TEXT if learned else Reason.USER_TEXT
            spans.append(TemplateSpan("<turn>", Reason.HEADER, special=True, message=number))
            spans.append(TemplateSpan(message.text, reason, learned, False, False, number, 0))
        return spans

    template = ChatTemplate(
        "turns", "Turns", "A turn.", "this test", ("<turn>",), write, makes_up_ids=True
    )
    monkeypatch.setitem(TEMPLATES, "turns", template)
    rendering = render(tokviz.load("gpt2"), Conversation.from_json(MESSAGES), "turns")
    assert rendering.virtual_specials == {"<turn>": 50257}
    assert list(rendering.mask) == [0, 0, 0, 1]
    assert main(["chat", str(conversation_file), "--mask", "--template", "turns"]) == 0
    assert "<turn>|HI|<turn>[Hello]" in capsys.readouterr().out


def test_a_rule_for_conversations_is_one_entry(monkeypatch, conversation_file, capsys) -> None:
    def find(conversation: Conversation, control: ControlTokens) -> Iterator[Problem]:
        for number, message in enumerate(conversation.messages):
            if message.text.isupper():
                yield Problem(f"message {number + 1}: shouts", number)

    monkeypatch.setitem(RULES, "shouts", Rule("shouts", "loud", "note", of_messages=find))
    conversation = Conversation.from_json(MESSAGES)
    (found,) = lint(conversation, render(tokviz.load("gpt2"), conversation))
    assert (found.code, found.severity, found.message_index) == ("shouts", "note", 0)
    assert main(["chat", str(conversation_file), "--lint", "--fail-on", "note"]) == 1
    assert "message 1: shouts [note: shouts]" in capsys.readouterr().out
    assert main(["chat", str(conversation_file), "--lint", "--ignore", "shouts"]) == 0
    assert "shouts" not in capsys.readouterr().out


# -- a dataset shape, a kind of file that holds rows


@pytest.fixture
def quizzes(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """A dataset shape added by the test."""

    def read(value, byte_text):
        question, answer = value["question"], value["answer"]
        extra = {key: value[key] for key in value if key not in ("question", "answer")}
        return (Message("user", question), Message("assistant", answer)), extra

    def write(messages, extra):
        question, answer = messages
        return {"question": question.text, "answer": answer.text, **extra}

    shape = DatasetShape(
        looks='{"question", "answer"}',
        found_in="nobody",
        fits=lambda value: isinstance(value, dict) and "question" in value,
        read=read,
        write=write,
        text_keys=("question", "answer"),
    )
    monkeypatch.setitem(dataset_shapes.SHAPES, "quiz", shape)
    return [{"question": "[1]", "answer": f"one {n}"} for n in range(2)]


def test_a_dataset_shape_is_one_entry(quizzes, tmp_path) -> None:
    conversation = Conversation.from_json(quizzes[0])
    assert [message.role for message in conversation.messages] == ["user", "assistant"]
    assert conversation.to_json() == quizzes[0]
    assert '{"question", "answer"}' in dataset_shapes.describe_shapes()
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, quizzes)))
    (tmp_path / "rows.json").write_text(json.dumps(quizzes))
    (tmp_path / "row.json").write_text(json.dumps(quizzes[0], indent=1))
    for name, n_rows in (("rows.jsonl", 2), ("rows.json", 2), ("row.json", 1)):
        dataset = Dataset.open(tmp_path / name)
        dataset.index_all()
        assert [dataset.row(row).to_json() for row in range(dataset.n_rows)] == quizzes[:n_rows]


def test_a_dataset_shape_is_read_from_tables(quizzes, tmp_path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(quizzes), tmp_path / "rows.parquet")
    dataset = Dataset.open(tmp_path / "rows.parquet")
    assert [message.text for message in dataset.row(1).messages] == ["[1]", "one 1"]


def test_a_kind_of_file_that_holds_rows_is_one_entry(monkeypatch, tmp_path) -> None:
    def rows_of_chat_log(path: str) -> JsonValues:
        turns = [line.split(": ", 1) for line in Path(path).read_text().splitlines()]
        return JsonValues([[{"role": who, "content": text} for who, text in turns]], False)

    monkeypatch.setitem(datasets.SOURCES, ".log", rows_of_chat_log)
    (tmp_path / "chat.log").write_text("user: HI\nassistant: Hello\n")
    dataset = Dataset.open(tmp_path / "chat.log")
    assert (dataset.n_rows, dataset.row(0).to_json()) == (1, MESSAGES)


# -- a job

JOB = """
def answer(request, state):
    state["n"] = state.get("n", 0) + 1
    yield {"shouted": request["text"].upper(), "n": state["n"]}
"""
ENTRY = "from tokviz.process.registry import JOBS; JOBS['shout'] = 'shout_job:answer'"


def test_a_job_is_a_module_and_one_entry(monkeypatch, tmp_path) -> None:
    (tmp_path / "shout_job.py").write_text(JOB)
    (tmp_path / "sitecustomize.py").write_text(ENTRY)  # the entry for the child process
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(jobs.JOBS, "shout", "shout_job:answer")
    assert next(jobs.load_job("shout")({"text": "hi"}, {})) == {"shouted": "HI", "n": 1}
    heard: Queue[object] = Queue()
    client = JobClient("shout")
    handlers = RunHandlers(
        lambda run, body: heard.put(body), lambda run: None, lambda run, error: heard.put(error)
    )
    for n in (1, 2):
        client.run(lambda memory: [{"text": "hi"}], handlers)
        assert heard.get(timeout=60) == {"shouted": "HI", "n": n}
    client.close()


# -- a kernel


def test_a_kernel_is_a_function_of_a_module_of_its_own(monkeypatch, tmp_path) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(store, "cache_path", lambda: tmp_path / "cache")
    (tmp_path / "doubling_kernels.py").write_text(
        "from __future__ import annotations\n"
        "from tokviz.kernels import Int64s, kernel\n\n"
        "@kernel\n"
        "def double(numbers: Int64s, n: int) -> int:\n"
        "    for i in range(n):\n"
        "        numbers[i] *= 2\n"
        "    return n\n"
    )
    import doubling_kernels  # type: ignore[import-not-found]

    (double,) = kernels_of(doubling_kernels)
    numbers = zeros(3, "q")
    numbers[0], numbers[2] = 4, -1
    assert double(numbers, 3) == 3
    assert numbers.tolist() == [8, 0, -2]


# -- a command


def test_a_command_is_a_module_and_one_entry(monkeypatch, capsys) -> None:
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("who")

    def run(arguments: argparse.Namespace) -> int:
        print(f"hello {arguments.who}")
        return 0

    module = ModuleType("tokviz.cli.greet", "Say hello.")
    module.add_arguments, module.run = add_arguments, run
    monkeypatch.setitem(sys.modules, "tokviz.cli.greet", module)
    monkeypatch.setitem(commands.COMMANDS, "greet", "say hello")
    assert main(["greet", "you"]) == 0
    assert capsys.readouterr().out == "hello you\n"
    assert main(["greet", "--help"]) == 0
    assert "Say hello." in capsys.readouterr().out
    assert main(["completion", "bash"]) == 0
    assert "greet" in capsys.readouterr().out
