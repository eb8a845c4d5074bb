"""List the tokenizers that have a name, or check a tokenizer file.

output: the name, the number of tokens, the models, and the aliases. The tokenizers that you trained
in the app come first, each with its split pattern, tie-breaking rule, corpus and date. The last
lines tell where to get the tokenizers of some other models.

--json, one object per tokenizer:
  {"name", "family", "aliases", "title", "n_tokens", "n_vocab", "split_pattern", "special_tokens",
   "source"}
  "n_vocab" is one more than the largest id; it exceeds "n_tokens" if some ids have no token
 or, for a tokenizer that you trained:
  {"name", "folder", "n_vocab", "facts", "trained"}

--check loads a tokenizer and prints its errors, warnings and notes, and the checks that passed. The
exit code is 1 if the tokenizer has errors, 2 if there is no such file. With --json:
  {"tokenizer", "findings": [{"severity", "code", "where", "message", "remedy"}], "checks"}
"""

from __future__ import annotations

import argparse
import os

from tokviz.cli import options
from tokviz.cli.output import ERROR, FINDINGS, print_json
from tokviz.errors import TokvizError
from tokviz.formats.registry import BUILTIN_TOKENIZERS, OTHER_TOKENIZERS
from tokviz.formats.validate import validate
from tokviz.storage.listing import time_label
from tokviz.text.glyphs import safe
from tokviz.training.run_library import list_runs

_FIELDS = (
    "name", "family", "aliases", "title", "n_tokens", "n_vocab", "split_pattern",
    "special_tokens", "source",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz tokenizers`."""
    options.add_flag(parser, "--json", "print one JSON object per tokenizer")
    parser.add_argument(
        "--check", metavar="PATH", help="check the tokenizer of a file, a folder or hf:org/name"
    )
    options.add_split_pattern(parser)


def run(arguments: argparse.Namespace) -> int:
    """List the tokenizers, or check one."""
    if arguments.check is not None:
        source = options.resolve_tokenizer(arguments.check)
        return _check(source, arguments.split_pattern, as_json=arguments.json)
    if arguments.split_pattern is not None:
        raise TokvizError("--split-pattern needs --check: add it, or leave out --split-pattern")
    for run in list_runs():
        if arguments.json:
            record = {"name": run.name, "folder": run.folder, "n_vocab": run.n_vocab}
            print_json({**record, "facts": run.facts, "trained": time_label(run.when)})
        else:
            print(f"{safe(run.name):<16} {run.n_vocab or '–':>7}  {safe(run.words)}")
    for builtin in BUILTIN_TOKENIZERS:
        if arguments.json:
            print_json({field: getattr(builtin, field) for field in _FIELDS})
        else:
            names = ", ".join(builtin.aliases)
            print(f"{builtin.name:<16} {builtin.n_tokens:>7}  {builtin.title} (also: {names})")
    for other in () if arguments.json else OTHER_TOKENIZERS:
        print(f"{other.name:<16} {'–':>7}  {other.title}: {other.about}")
    return 0


def _check(source: str, split_pattern: str | None, *, as_json: bool) -> int:
    """Print the results of the checks of a tokenizer."""
    report = validate(source, split_pattern=split_pattern)
    if as_json:
        records = [finding._asdict() for finding in report.findings]
        print_json({"tokenizer": source, "findings": records, "checks": report.checks})
    else:
        findings = [(finding.severity, str(finding)) for finding in report.findings]
        for label, sentence in [*findings, *(("ok", check) for check in report.checks)]:
            print(f"{label:<8} {safe(sentence)}")
    is_unread = any(finding.code == "unreadable" for finding in report.findings)
    if is_unread and not os.path.exists(os.path.expanduser(source)):
        return ERROR
    return FINDINGS if report.worst == "error" else 0
