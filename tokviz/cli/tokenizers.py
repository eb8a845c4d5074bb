"""List the tokenizers that have a name, or check a tokenizer file.

output: the name, the number of tokens, the models, and other names it goes by. The tokenizers that
you trained in the app come first, each with its split pattern, its rule for ties, its corpus, and
when it was trained.

--json, one object per tokenizer:
  {"name", "aliases", "title", "n_tokens", "n_vocab", "split_pattern", "special_tokens", "source"}
  "n_vocab" is one more than the largest id, which is more where ids have no token
 or, for one of your own:
  {"name", "folder", "n_vocab", "facts", "trained"}

--check loads a tokenizer and prints what is wrong with it, what is worth knowing, and what was
found to be in order. The exit code is 1 if it cannot be used. With --json:
  {"tokenizer", "findings": [{"severity", "code", "where", "message", "remedy"}], "checks"}
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from tokviz.cli import options
from tokviz.cli.output import print_json
from tokviz.errors import TokvizError
from tokviz.storage.listing import time_label
from tokviz.text.glyphs import safe

_FIELDS = (
    "name", "aliases", "title", "n_tokens", "n_vocab", "split_pattern", "special_tokens", "source",
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
        place = options.place_of(arguments.check)
        return _check(place, arguments.split_pattern, as_json=arguments.json)
    if arguments.split_pattern is not None:
        raise TokvizError("--split-pattern is for the file of --check: name one, or leave it out")
    from tokviz.formats.registry import BUILTIN_TOKENIZERS
    from tokviz.training.run_library import list_runs

    for run in list_runs():
        if arguments.json:
            record = {"name": run.name, "folder": run.folder, "n_vocab": run.n_vocab}
            print_json({**record, "facts": run.facts, "trained": time_label(run.when)})
        else:
            print(f"{safe(run.name):<12} {run.n_vocab or '–':>7}  {safe(run.words)}")
    for builtin in BUILTIN_TOKENIZERS:
        if arguments.json:
            print_json({field: getattr(builtin, field) for field in _FIELDS})
        else:
            names = ", ".join(builtin.aliases)
            print(f"{builtin.name:<12} {builtin.n_tokens:>7}  {builtin.title} (also: {names})")
    return 0


def _check(path: str, split_pattern: str | None, *, as_json: bool) -> int:
    """Print the report about a tokenizer."""
    from tokviz.formats.validate import validate

    report = validate(path, split_pattern=split_pattern)
    if as_json:
        records = [asdict(finding) for finding in report.findings]
        print_json({"tokenizer": path, "findings": records, "checks": report.checks})
    else:
        findings = [(finding.severity, str(finding)) for finding in report.findings]
        for label, sentence in [*findings, *(("ok", check) for check in report.checks)]:
            print(f"{label:<8} {safe(sentence)}")
    return 1 if report.worst == "error" else 0
