"""Workers count the same as one process, for any cuts of the corpus and deaths of workers."""

from __future__ import annotations

import gzip
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tokviz.errors import InputFileError, JobError, PatternError, TokvizError
from tokviz.process.limits import HAS_CPU_LIMITS
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
from tokviz.training.cluster import client as client_module
from tokviz.training.cluster import tasks
from tokviz.training.cluster.client import count_on_cluster
from tokviz.training.cluster.parts import Rules, parts_of
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.counting import count_pre_tokens
from tokviz.training.dask_cluster import connected, local_cluster
from tokviz.training.pre_token_counts import PreTokenCounts

if TYPE_CHECKING:
    from distributed import Client

    from tokviz.training.run import TrainingRun

WORDS = "low |new|est\n\n| wid|er|\r\n|   |12|34|don't|ab |<|e|>|é|你|a| |b c|\n|\0|\u2028"
SNIPPETS = [*WORDS.split("|"), "<|e|>", "<|endoftext|>", "<|endoftext|>x"]
PATTERNS = ("gpt2", "gpt4", "gpt4o", "llama3", "nanochat", "whitespace", "none", r"\w+|\W+")
SPECIALS = ("<|e|>", "<|endoftext|>x", "b c", "w n", "a ")

texts = st.lists(st.sampled_from(SNIPPETS), max_size=120).map("".join)
files = st.tuples(st.sampled_from([".txt", ".jsonl"]), st.lists(texts, max_size=4))


def all_of(pre_tokens: PreTokenCounts) -> tuple[list[tuple[bytes, int]], tuple[int, ...]]:
    sums = (pre_tokens.n_bytes, pre_tokens.n_chars, pre_tokens.n_invalid, pre_tokens.n_documents)
    return list(pre_tokens.pre_tokens()), sums


@given(
    st.lists(
        st.tuples(st.sampled_from([".txt", ".jsonl"]), st.lists(texts, max_size=4)), max_size=3
    ),
    st.sampled_from(PATTERNS),
    st.lists(st.sampled_from(SPECIALS), max_size=3, unique=True),
    st.sampled_from(["<|endoftext|>", "", "\n\n", "a a"]),
    st.sampled_from([7, 50, 300]),
    st.sampled_from([None, 3, 30]),
)
def test_parts_together_give_what_the_whole_gives(
    tmp_path_factory: pytest.TempPathFactory,
    corpus: list[tuple[str, list[str]]],
    name: str,
    specials: list[str],
    delimiter: str,
    part_bytes: int,
    max_doc_chars: int | None,
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    for number, (kind, documents) in enumerate(corpus):
        lines = [json.dumps({"text": text}) + "\n" for text in documents]
        data = "".join(lines if kind == ".jsonl" else documents).encode()
        (folder / f"{number}{kind}").write_bytes(data)
    paths = sorted(folder.iterdir())
    pattern = get_split_pattern(name, guarded=False)
    cut_out = tuple(text.encode() for text in specials)
    rules = Rules(pattern, cut_out, delimiter.encode(), "text", max_doc_chars=max_doc_chars)
    parts = list(parts_of(Corpus(paths, delimiter=delimiter), rules, part_bytes))
    sums = [tasks.count_part(part, rules, 3, str(folder)) for part in parts]
    numbers = [part.number for part in parts]
    assert numbers == list(range(len(parts)))
    named = [(part.number, part.file) for part in parts]
    n_unique = [tasks.join_bucket(number, named, str(folder)) for number in range(3)]
    pre_tokens, _ = tasks.read_buckets([0, 1, 2], str(folder))
    read_by_one = Corpus(paths, delimiter=delimiter, max_doc_chars=max_doc_chars)
    whole = count_pre_tokens(read_by_one, pattern, specials)
    together = PreTokenCounts(
        pre_tokens.data,
        pre_tokens.offsets(),
        pre_tokens.counts,
        n_bytes=sum(part.n_bytes for part in sums),
        n_chars=sum(part.n_chars for part in sums),
        n_invalid=sum(part.n_invalid for part in sums),
        n_documents=tasks.n_documents(sums),
    )
    assert all_of(together) == all_of(whole)
    assert sum(n_unique) == len(whole)


def test_a_large_file_is_cut_and_a_table_by_its_rows(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some words in a row " * 200)
    rows = pa.table({"text": [f"row {number} of a table\n" for number in range(400)]})
    pq.write_table(rows, tmp_path / "b.parquet", row_group_size=50, compression="none")
    rules = Rules(get_split_pattern("gpt2"), (), b"", "text")
    parts = list(parts_of(Corpus(tmp_path), rules, 1000))
    assert sum(part.spans[0].path.endswith("a.txt") for part in parts) == 4
    assert sum(part.spans[0].path.endswith("b.parquet") for part in parts) > 4
    for part in parts:
        tasks.count_part(part, rules, 1, str(tmp_path))
    tasks.join_bucket(0, [(part.number, part.file) for part in parts], str(tmp_path))
    (tmp_path / "part-000000").unlink()
    pre_tokens, _ = tasks.read_buckets([0], str(tmp_path))
    paths = [tmp_path / "a.txt", tmp_path / "b.parquet"]
    whole = dict(
        count_pre_tokens(Corpus(paths, delimiter=None), get_split_pattern("gpt2")).pre_tokens()
    )
    assert pre_tokens.counts.tolist() == [*whole.values()]
    assert bytes(pre_tokens.data) == b"".join(whole)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Client]:
    with local_cluster(2) as client:
        yield client


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(6):
        text = "".join(f"the {word} of {number} and {word + number}\n" for word in range(3000))
        (folder / f"{number}.txt").write_text(text)
    return folder


@pytest.mark.parametrize("rule", ["first", "lexicographic", "smallest_id"])
def test_a_training_with_workers_is_the_training(rule: str, corpus: Path, cluster: Client) -> None:
    alone = tokviz.train(corpus, 330, tie_break=rule)
    together = tokviz.train(corpus, 330, tie_break=rule, client=cluster)
    is_same(together, alone)


def is_same(together: TrainingRun, alone: TrainingRun) -> None:
    assert together.tokenizer.merges == alone.tokenizer.merges
    assert all_of(together.pre_token_counts) == all_of(alone.pre_token_counts)
    for name, column in alone.history.memory.items():
        assert bytes(together.history.memory[name]) == bytes(column)
    assert together.attribution is not None
    assert alone.attribution is not None
    for name, column in alone.attribution.memory.items():
        assert bytes(together.attribution.memory[name]) == bytes(column)


@pytest.mark.skipif(not HAS_CPU_LIMITS, reason="such a system has no such timers")
def test_a_custom_regex_of_workers_is_watched(corpus: Path, cluster: Client) -> None:
    pattern = r"(?:z|z)*b|\w+|\s+"
    together = tokviz.train(corpus, 330, split_pattern=pattern, client=cluster)
    is_same(together, tokviz.train(corpus, 330, split_pattern=pattern))
    (corpus / "7.txt").write_text(f"one {'z' * 34}")
    with pytest.raises(PatternError, match=r"character 4 of the text, 'z{24}'…, in .*7\.txt"):
        pattern = r"(?:z|z)*b|[a-y0-9]+|\s+"
        tokviz.train(corpus, 330, split_pattern=pattern, client=cluster)


def test_texts_from_python_are_counted_too(cluster: Client) -> None:
    documents = ["low low lower", "newest newest", "widest"] * 3
    together = tokviz.train(documents, 262, split_pattern="whitespace", client=cluster)
    alone = tokviz.train(documents, 262, split_pattern="whitespace")
    assert together.tokenizer.merges == alone.tokenizer.merges


def test_a_worker_that_is_killed_changes_nothing(
    corpus: Path, tmp_path: Path, cluster: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "MOST_PART_BYTES", 30_000)
    pids: list[int] = list(cluster.run(os.getpid).values())  # type: ignore[no-untyped-call]

    def kill(*_: object) -> None:
        if pids:
            os.kill(pids.pop(), signal.SIGKILL)
            pids.clear()

    pattern = get_split_pattern("gpt4")
    counter = partial(count_on_cluster, client=cluster, folder=tmp_path / "kept")
    assert all_of(counter(Corpus(corpus), pattern, on_progress=kill)) == all_of(
        count_pre_tokens(Corpus(corpus), pattern)
    )
    assert not pids


def test_what_was_counted_is_not_counted_again_unless_a_file_has_changed(
    corpus: Path, tmp_path: Path, cluster: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, pattern = tmp_path / "kept", get_split_pattern("gpt4")
    monkeypatch.setattr(client_module, "MOST_PART_BYTES", 100_000)

    def counted(should_stop: Callable[[], bool] = lambda: False) -> PreTokenCounts:
        counter = partial(count_on_cluster, client=cluster, folder=folder)
        return counter(Corpus(corpus), pattern, should_stop=should_stop)

    stopped = counted(lambda: len([*folder.glob("part-*")]) > 2)
    assert not stopped.complete
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("part-*")}
    whole = counted()
    assert all_of(whole) == all_of(count_pre_tokens(Corpus(corpus), pattern))
    assert len(kept) > 2
    assert all(path.stat().st_mtime_ns == then for path, then in kept.items())
    (corpus / "0.txt").write_text("another text")
    assert all_of(counted()) == all_of(count_pre_tokens(Corpus(corpus), pattern))


def test_what_cannot_be_read_is_named_or_left_out_as_chosen(
    corpus: Path, tmp_path: Path, cluster: Client
) -> None:
    whole = gzip.compress(b"some text\n" * 1000)
    (corpus / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputFileError, match=r"cut\.gz: is damaged"):
        tokviz.train(corpus, 300, client=cluster)
    sources = [corpus, tmp_path / "missing.txt"]
    run = tokviz.train(sources, 300, client=cluster, skip_unreadable=True)
    left_out = {Path(file).name: reason for file, reason in run.left_out}
    assert left_out["missing.txt"] == "there is no such file"
    assert left_out["cut.gz"].startswith("is damaged")
    run.save(tmp_path / "run")
    assert type(run).load(tmp_path / "run").left_out == run.left_out


class Storage(SimpleHTTPRequestHandler):
    """Serves files and ranges of them, with their tags; some are forbidden."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = Path(self.directory, self.path[1:])
        if not path.is_file() or path.name.startswith("secret"):
            self.send_error(403 if path.is_file() else 404)
            return
        data = path.read_bytes()
        first, last = 0, len(data) - 1
        if span := self.headers.get("Range"):
            first, last = (int(end) for end in span.removeprefix("bytes=").split("-"))
        last = min(last, len(data) - 1)
        self.send_response(206 if span else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.send_header("ETag", f'"{len(data)}-tag"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[first : last + 1])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def storage(corpus: Path) -> Iterator[str]:
    rows = pa.table({"text": [f"row {number}\n" * 40 for number in range(2000)]})
    pq.write_table(rows, corpus / "cut.parquet", row_group_size=100, compression="none")
    data = (corpus / "cut.parquet").read_bytes()
    (corpus / "cut.parquet").write_bytes(data[: len(data) // 2])
    (corpus / "secret.txt").write_text("nobody may read this")
    handler = partial(Storage, directory=str(corpus))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing.txt", "there is no such file"),
        ("cut.parquet", "is not a readable Parquet file"),
        ("secret.txt", "no permission to read it"),
    ],
)
def test_what_a_storage_does_not_give_is_named_or_left_out_as_chosen(
    name: str, reason: str, storage: str, tmp_path: Path, cluster: Client
) -> None:
    sources = [f"{storage}/0.txt", f"{storage}/{name}"]
    with pytest.raises(InputFileError, match=f"{name}: .*{reason}"):
        tokviz.train(sources, 300, client=cluster)
    run = tokviz.train(sources, 300, client=cluster, skip_unreadable=True)
    assert [file for file, _ in run.left_out] == [f"{storage}/{name}"]
    alone = tokviz.train(sources[:1], 300)
    assert run.tokenizer.merges == alone.tokenizer.merges
    run.save(tmp_path / "run")
    about = json.loads((tmp_path / "run" / "run.json").read_text())["corpus"]
    assert about["files"][0] == sources[0]
    assert about["stored"][0]["stamp"].endswith('-tag"')
    assert type(run).load(tmp_path / "run").stored == run.stored


def test_a_line_that_is_not_json_is_named_by_its_number_in_the_file(
    tmp_path: Path, cluster: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "MOST_PART_BYTES", 500)
    lines = [json.dumps({"text": f"line {number}"}) for number in range(200)]
    lines[150] = "{"
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    counter = partial(count_on_cluster, client=cluster, folder=tmp_path / "kept")
    with pytest.raises(InputFileError, match="line 151 is not JSON"):
        counter(Corpus(path), get_split_pattern("gpt4"))


def test_workers_take_so_many_characters_of_a_document(
    tmp_path: Path, cluster: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "MOST_PART_BYTES", 500)
    documents = [f"low lower number {number} " + "newest " * (number % 30) for number in range(99)]
    (tmp_path / "a.txt").write_text("<|endoftext|>".join(documents))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": d}) + "\n" for d in documents))
    alone, shared = (
        tokviz.train(tmp_path, 290, max_doc_chars=40, client=client) for client in (None, cluster)
    )
    assert shared.tokenizer.merges == alone.tokenizer.merges
    assert shared.history == alone.history
    assert all_of(shared.pre_token_counts) == all_of(alone.pre_token_counts)
    assert alone.pre_token_counts.n_chars < sum(map(len, documents)) * 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_chars": 10}, "a limit of all characters needs"),
        ({"workers": 0}, "0 workers cannot count"),
        ({"workers": 1}, "not both"),
    ],
)
def test_what_workers_cannot_do_is_said(
    options: dict[str, Any], reason: str, corpus: Path, cluster: Client
) -> None:
    client = None if options.get("workers") == 0 else cluster
    with pytest.raises(TokvizError, match=reason):
        tokviz.train(corpus, 300, client=client, **options)


@pytest.mark.parametrize("address", ["nowhere://", "tls://127.0.0.1:1"])
def test_a_cluster_that_is_not_there_is_an_error_and_leaves_nothing(address: str) -> None:
    before = threading.enumerate()
    with pytest.raises(TokvizError, match=f"no scheduler answers at {address}"):
        tokviz.train(["text"], 300, client=address)
    assert {*threading.enumerate()} <= {*before}


def test_nobody_waits_for_workers_that_ended_before_they_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho no such option >&2\nexit 2\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    looks = iter(range(500))
    with (
        pytest.raises(JobError, match="the workers do not start: no such option"),
        local_cluster(1, lambda: next(looks) < 0),
    ):
        pass


def test_nobody_waits_for_workers_to_begin_once_it_is_enough(corpus: Path) -> None:
    before = psutil.Process().children()
    run = tokviz.train(corpus, 300, workers=1, should_stop=lambda: True)
    assert run.stopped_early == "stopped while reading, at 256 of 300 tokens"
    assert psutil.Process().children() == before


def test_nobody_waits_for_workers_that_will_not_come_back(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "MOST_PART_BYTES", 30_000)
    before = psutil.Process().children()

    def kill(*_: object) -> None:
        for starter in psutil.Process().children():
            if starter not in before:
                starter.kill()

    with local_cluster(1) as client, pytest.raises(JobError, match="the workers failed"):
        counter = partial(count_on_cluster, client=client, folder=tmp_path / "kept")
        counter(Corpus(corpus), get_split_pattern("gpt4"), on_progress=kill)


def test_what_a_cluster_says_while_it_ends_stands_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed.utils import LoopRunner

    log, told = logging.getLogger("distributed"), StringIO()
    handler = logging.StreamHandler(told)
    stop = LoopRunner.stop

    def late(runner: LoopRunner) -> None:
        log.error("a comm is closed")
        stop(runner)

    monkeypatch.setattr(LoopRunner, "stop", late)
    log.addHandler(handler)
    try:
        with local_cluster(1) as client, connected(client.scheduler_info()["address"]):
            pass
        log.error("after it")
    finally:
        log.removeHandler(handler)
    assert told.getvalue() == "after it\n"


def test_no_worker_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal\n"
        "from tokviz.training.dask_cluster import local_cluster\n"
        "with local_cluster(1) as client:\n"
        "    print(*client.run(os.getpid).values(), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == -signal.SIGKILL
    for pid in map(int, ended.stdout.split()):
        # The output ends when all processes that hold it have ended.
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
