"""Find the first wrong merge of a BPE trainer that you wrote, and the mistake that explains it.

Examples:
  tokviz check-bpe merges.txt --corpus corpus.txt
  tokviz check-bpe vocab.pkl merges.pkl --corpus corpus.txt --special '<|endoftext|>'
  tokviz check-bpe bpe.model --corpus corpus.txt --ties first
  tokviz check-bpe bpe.json --corpus corpus.txt --encode ids.json --timing 214

MINE: merges.txt, GPT-2's vocab.json and merges.txt, a minbpe .model, tokenizer.json, a rank file,
or a JSON or pickle of `vocab: dict[int, bytes]` and `merges: list[tuple[bytes, bytes]]`. Nothing in
a pickle is executed.

--encode: a JSON object of text and ids, {"low lower": [102, 103]}, that your encoder returned. Ours
encodes with your merges. With {"ids": [102, 103], "decoded": "low lower"} instead of the ids, your
decoder is checked, too; null if it failed.

--timing: times four textbook trainers in plain Python on a part of the corpus.

output: the first merge that differs from the reference, the known mistakes that reproduce your
merges, and the most frequent pairs before that merge in the reference and in yours. Ctrl+C ends the
search; the report then has the results so far.

--json, one object:
  {"n_equal", "is_correct", "first_difference", "tie_break", "complete", "problems", "text",
   "n_merges", "mistakes", "n_reproduced", "encoding"}
  "encoding" is null or {"n_equal", "n_texts", "mistakes"}, of texts and the encoder.

exit code: 0 if all merges and ids are equal, 1 if one differs, 2 after an error, 130 after Ctrl+C.
"""

from __future__ import annotations

import argparse
from contextlib import closing

from tokviz.cli import options
from tokviz.cli.output import FINDINGS, INTERRUPTED, print_json, report
from tokviz.cli.progress import StatusLine, first_ctrl_c
from tokviz.errors import JobError, TokvizError
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.training.ties import TIE_BREAKS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz check-bpe`."""
    parser.add_argument("files", nargs="+", metavar="MINE", help="the files that your code wrote")
    parser.add_argument(
        "--corpus", required=True, nargs="+", metavar="FILE", help="the texts you trained on"
    )
    parser.add_argument(
        "--pattern",
        help=f"the split pattern: {', '.join(SPLIT_PATTERNS)}, or a regex (default: that of MINE, "
        "otherwise gpt2)",
    )
    parser.add_argument(
        "--special",
        action="append",
        metavar="TEXT",
        help="a special token; repeat it for several (default: those of MINE)",
    )
    parser.add_argument(
        "--ties",
        choices=tuple(TIE_BREAKS),
        help="the tie-breaking rule that you should use (default: the one that fits best)",
    )
    options.add_number(parser, "--vocab-size", "the requested vocabulary size")
    parser.add_argument("--encode", metavar="FILE", help="a JSON file of the ids of texts")
    parser.add_argument(
        "--timing",
        type=float,
        nargs="?",
        const=0.0,
        metavar="SECONDS",
        help="time textbook trainers; SECONDS that yours took are printed with them",
    )
    options.add_flag(parser, "--json", "print a JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Check the merges and print the report."""
    from tokviz.process.jobs.check_client import CheckRequest, check_client, run_check
    from tokviz.process.jobs.train_messages import TrainRequest

    reference = TrainRequest(
        tuple(arguments.corpus),
        "",
        arguments.vocab_size or 0,
        split_pattern=arguments.pattern or "",
        special_tokens=tuple(arguments.special or ()),
        tie_break=arguments.ties or "",
    )
    if len(arguments.files) > 2:
        raise TokvizError("name at most two files: a vocabulary and its merges")
    request = CheckRequest(arguments.files, reference, arguments.encode, arguments.timing)
    with (
        StatusLine() as line,
        closing(check_client(request)) as jobs,
        first_ctrl_c(jobs.finish) as interrupted,
    ):
        try:
            check = run_check(
                jobs,
                request,
                lambda name: line.draw(f"trying {name}") if line.is_due else None,
            )
        except JobError as error:
            if not interrupted.is_set():
                raise
            report(f"interrupted: {error}")
            return INTERRUPTED
    if arguments.json:
        print_json(check.record)
    else:
        print("\n".join(check.lines))
    if interrupted.is_set():
        return INTERRUPTED
    return 0 if check.record["is_correct"] else FINDINGS
