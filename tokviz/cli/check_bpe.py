"""Find the first wrong merge of a BPE trainer that you wrote, and the mistake that explains it.

Examples:
  tokviz check-bpe merges.txt --corpus corpus.txt
  tokviz check-bpe vocab.pkl merges.pkl --corpus corpus.txt --special '<|endoftext|>'
  tokviz check-bpe bpe.model --corpus corpus.txt --ties first

MINE: merges.txt, GPT-2's vocab.json and merges.txt, a minbpe .model, tokenizer.json, a rank file,
or a JSON or pickle of `vocab: dict[int, bytes]` and `merges: list[tuple[bytes, bytes]]`. Nothing in
a pickle is executed.

output: the first merge that differs from the reference, the known mistakes that reproduce your
merges, and the most frequent pairs before that merge in the reference and in yours.

--json, one object:
  {"n_merges", "n_equal", "is_correct", "tie_break", "mistakes", "n_reproduced", "complete",
   "problems", "report"}

exit code: 0 if all merges are equal, 1 if one differs, 2 after an error.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tokviz.cli import options
from tokviz.cli.output import FINDINGS, print_json
from tokviz.cli.progress import StatusLine
from tokviz.errors import TokvizError
from tokviz.text.glyphs import short_label
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.training.ties import TIE_BREAKS

if TYPE_CHECKING:
    from tokviz.compare.check_bpe.check import BpeCheck


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
    options.add_flag(parser, "--json", "print a JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Check the merges and print the report."""
    from tokviz.compare.check_bpe.check import check_bpe  # imports the trainers
    from tokviz.formats.learned import read_learned

    if len(arguments.files) > 2:
        raise TokvizError("name at most two files: a vocabulary and its merges")
    mine = read_learned(*arguments.files)
    specials = mine.special_tokens if arguments.special is None else arguments.special
    with StatusLine() as line:
        check = check_bpe(
            mine.vocab,
            mine.merges,
            corpus=arguments.corpus,
            split_pattern=arguments.pattern or mine.split_pattern or "gpt2",
            special_tokens=specials,
            tie_break=arguments.ties,
            vocab_size=arguments.vocab_size,
            on_progress=lambda name: line.draw(f"trying {name}") if line.is_due else None,
        )
    if arguments.json:
        print_json(_record(check))
    else:
        print("\n".join(check.lines(short_label)))
    return 0 if check.is_correct else FINDINGS


def _record(check: BpeCheck) -> dict[str, object]:
    return {
        "n_merges": len(check.merges),
        "n_equal": check.n_equal,
        "is_correct": check.is_correct,
        "tie_break": check.tie_break,
        "mistakes": [[it.name for it in one.mistakes] for one in check.explanations],
        "n_reproduced": check.explanations[0].n_equal if check.explanations else None,
        "complete": check.complete,
        "problems": check.problems,
        "report": str(check),
    }
