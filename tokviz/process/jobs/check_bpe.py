"""The job `check_bpe`: read the files that a learner's trainer wrote, and check them.

The request has the fields of `tokviz.process.jobs.check_client.CheckRequest`. The answers are
`{"trying": name}` every `REPORT_SECONDS`, and at the end the fields of `CheckReport`. If the parent
requests to finish (`enough`), the report has the results so far. Only reading the files has the
limits of this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event
from typing import Any

from tokviz.compare.check_bpe.check import check_bpe
from tokviz.compare.check_bpe.timing import SAMPLE_CHARS, time_trainers, timing_lines
from tokviz.errors import InputFileError
from tokviz.formats.learned import read_learned
from tokviz.process.jobs.train_messages import TrainRequest
from tokviz.process.jobs.training import Training, open_corpus
from tokviz.process.limits import lift_limits
from tokviz.process.protocol import Body
from tokviz.process.registry import ENOUGH
from tokviz.storage.json_file import read_json
from tokviz.text.glyphs import short_label
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
from tokviz.training.counting import count_pre_tokens
from tokviz.training.settings import N_BYTES

REPORT_SECONDS = 0.1


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer the request of this job.

    Raises:
        TokvizError: If a file, the corpus or a setting is wrong.
    """
    trying, canceled = ["the files"], Event()
    with ThreadPoolExecutor(1, "check") as pool:
        running = pool.submit(
            _check, request, trying.append, lambda: ENOUGH in state or canceled.is_set()
        )
        try:
            while wait([running], REPORT_SECONDS).not_done:
                yield {"trying": trying[-1]}
            yield running.result()
        finally:
            # A canceled run ends here, in the middle of the loop.
            canceled.set()


def _check(
    request: Body, on_progress: Callable[[str], object], should_stop: Callable[[], bool]
) -> Body:
    mine = read_learned(*request["files"])
    encoded = request["encode"] and read_json(request["encode"])
    if encoded is not None and not isinstance(encoded, dict):
        raise InputFileError(request["encode"], 'is not a JSON object like {"text": [ids]}')
    lift_limits()
    wanted = TrainRequest.from_json(request["train"])
    wanted = wanted._replace(
        split_pattern=wanted.split_pattern or mine.split_pattern or "gpt2",
        special_tokens=wanted.special_tokens or mine.special_tokens,
        delimiter="",
        compare=False,
    )
    check = check_bpe(
        mine.vocab,
        mine.merges,
        corpus=open_corpus(wanted),
        split_pattern=wanted.split_pattern,
        special_tokens=wanted.special_tokens,
        tie_break=wanted.tie_break or None,
        encoded=encoded,
        vocab_size=wanted.vocab_size or None,
        on_progress=on_progress,
        should_stop=should_stop,
    )
    lines = [*check.lines(short_label)]
    if request["timing"] is not None:
        on_progress("textbook trainers")
        sample = open_corpus(wanted._replace(max_chars=SAMPLE_CHARS))
        pattern = get_split_pattern(wanted.split_pattern)
        counts = count_pre_tokens(sample, pattern, wanted.special_tokens, should_stop=should_stop)
        timings = time_trainers(counts, len(mine.merges), should_stop)
        lines += timing_lines(timings, request["timing"])
    if wanted.run_folder and check.first_difference:
        n_vocab = N_BYTES + len(wanted.special_tokens) + len(check.reference)
        wanted = wanted._replace(vocab_size=n_vocab, tie_break=check.tie_break)
        training = Training(wanted, lambda _: None, should_stop)
        training.learn()
        training.save()
    encoding = check.encoding
    names = "n_equal is_correct first_difference tie_break complete problems text"
    record = {name: getattr(check, name) for name in names.split()} | {
        "n_merges": len(check.merges),
        "mistakes": [[it.name for it in one.mistakes] for one in check.explanations],
        "n_reproduced": check.explanations[0].n_equal if check.explanations else None,
        "encoding": encoding
        and {name: getattr(encoding, name) for name in ("n_equal", "n_texts", "mistakes")},
    }
    merges = [[token.decode("latin-1") for token in merge] for merge in mine.merges]
    return {"lines": lines, "record": record, "merges": merges}
