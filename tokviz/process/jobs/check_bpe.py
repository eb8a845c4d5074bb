"""The job `check_bpe`: read the files that a learner's trainer wrote, and check them.

- `{"files": paths, "encode": path or null}` reads files from outside, within the limits of this
  process. Answers with `{"learned": …, "encoded": …}`, see `tokviz.formats.learned.Learned` and
  `tokviz.compare.check_bpe.encoder.Encoded`; or with `{"refused": [path, reason]}`.
- The fields of `tokviz.process.jobs.check_client.CheckRequest`, with that answer, check them.
  Answers with `{"trying": name}` every `REPORT_SECONDS`, and at the end with the fields of
  `CheckReport`. If the parent requests to finish (`enough`), the report has what is known so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import Any

from tokviz.compare.check_bpe.check import BpeCheck, check_bpe
from tokviz.compare.check_bpe.timing import SAMPLE_BYTES, time_trainers, timing_lines
from tokviz.compare.check_bpe.trainer import Table
from tokviz.errors import InputFileError
from tokviz.formats.learned import Learned, read_learned
from tokviz.process.jobs.train_messages import TrainRequest
from tokviz.process.jobs.training import Training, open_corpus
from tokviz.process.protocol import Body
from tokviz.process.registry import ENOUGH
from tokviz.storage.json_file import read_json
from tokviz.text.glyphs import short_label
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
from tokviz.training.counting import count_pre_tokens
from tokviz.training.settings import N_BYTES

REPORT_SECONDS = 0.1


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer one request of this job.

    Raises:
        TokvizError: If the corpus or a setting is wrong.
    """
    if "files" in request:
        yield _read(request)
        return
    trying, canceled = ["the reference"], Event()

    def should_stop() -> bool:
        return ENOUGH in state or canceled.is_set()

    with ThreadPoolExecutor(1, "check") as pool:
        running = pool.submit(_check, request, trying.append, should_stop)
        try:
            while wait([running], REPORT_SECONDS).not_done:
                yield {"trying": trying[-1]}
            yield running.result()
        finally:
            # A canceled run ends here, in the middle of the loop.
            canceled.set()


def _read(request: Body) -> Body:
    try:
        learned = read_learned(*request["files"])
        encoded = request["encode"] and read_json(request["encode"])
        if encoded is not None and not isinstance(encoded, dict):
            raise InputFileError(request["encode"], 'is not a JSON object like {"text": [ids]}')
        return {"learned": learned.to_json(), "encoded": encoded}
    except InputFileError as error:
        return {"refused": [error.path, error.reason]}


def _check(
    request: Body, on_progress: Callable[[str], object], should_stop: Callable[[], bool]
) -> Body:
    mine, wanted = Learned.from_json(request["learned"]), TrainRequest.from_json(request["train"])
    check = check_bpe(
        mine.vocab,
        mine.merges,
        corpus=open_corpus(wanted),
        split_pattern=wanted.split_pattern,
        special_tokens=wanted.special_tokens,
        tie_break=wanted.tie_break or None,
        encoded=request["encoded"],
        vocab_size=wanted.vocab_size or None,
        on_progress=on_progress,
        should_stop=should_stop,
    )
    lines = [*check.lines(short_label)]
    if request["timing"] is not None:
        on_progress("textbook trainers")
        sample = open_corpus(wanted._replace(max_chars=SAMPLE_BYTES))
        pattern = get_split_pattern(wanted.split_pattern)
        counts = count_pre_tokens(sample, pattern, wanted.special_tokens, should_stop=should_stop)
        timings = time_trainers(counts, len(mine.merges), should_stop)
        lines += timing_lines(timings, request["timing"])
    if wanted.run_folder and check.first_difference and not should_stop():
        on_progress("the reference")
        n_vocab = N_BYTES + len(wanted.special_tokens) + len(check.reference)
        training = Training(
            wanted._replace(vocab_size=n_vocab, tie_break=check.tie_break),
            lambda _: None,
            should_stop,
        )
        training.learn()
        training.save()
    return {
        "lines": lines,
        "record": _record(check),
        "tables": [_plain(check.table), _plain(check.their_table)],
    }


def _plain(table: Table) -> list[object]:
    return [[left.decode("latin-1"), right.decode("latin-1"), n] for (left, right), n in table]


def _record(check: BpeCheck) -> dict[str, object]:
    encoding = check.encoding
    return {
        "n_merges": len(check.merges),
        "n_equal": check.n_equal,
        "is_correct": check.is_correct,
        "first_difference": check.first_difference,
        "tie_break": check.tie_break,
        "mistakes": [[it.name for it in one.mistakes] for one in check.explanations],
        "n_reproduced": check.explanations[0].n_equal if check.explanations else None,
        "complete": check.complete,
        "problems": check.problems,
        "n_texts": encoding and encoding.n_texts,
        "n_texts_equal": encoding and encoding.n_equal,
        "encoder_mistakes": encoding and encoding.mistakes,
        "report": check.text,
    }
