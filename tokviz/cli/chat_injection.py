"""`tokviz chat --injection`: the fields of a conversation that can write control tokens."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from tokviz.chat.injection import FIELDS, InjectionResult, injection_results, policy_in_force
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.spans import SPECIALS
from tokviz.chat.templates import ChatTemplate
from tokviz.cli import options
from tokviz.cli.output import FINDINGS, plain_table, print_json
from tokviz.text.glyphs import safe
from tokviz.tokenizer.tokenizer import Tokenizer

HELP = """
--injection needs no FILE: it puts all control tokens, spelled out, in each field of a conversation.
  The exit code is 1 if some become control tokens; see --specials. With --json, one object per
  field and policy:
  {"field", "specials", "in_force", "injected", "n_tried", "is_written", "error"}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--injection`."""
    options.add_flag(
        parser, "--injection", "test which fields of a conversation can write control tokens"
    )


def run_test(
    tokenizer: Tokenizer,
    template: ChatTemplate | JinjaTemplate,
    specials: str | None,
    variables: Mapping[str, Any],
    *,
    as_json: bool,
) -> int:
    """Test every field and print the results; return the exit code."""
    in_force = policy_in_force(template, specials)
    results = list(injection_results(tokenizer, template, variables=variables))
    failing = [result for result in results if result.specials == in_force and result.injected]
    if as_json:
        for result in results:
            print_json({**asdict(result), "in_force": result.specials == in_force})
        return FINDINGS if failing else 0
    rows = [("field", *(policy.replace("_", "-") for policy in SPECIALS))]
    for field in FIELDS:
        by_policy = {it.specials: _outcome(it) for it in results if it.field == field}
        rows.append((field, *(by_policy[policy] for policy in SPECIALS)))
    print(*plain_table(rows), sep="\n")
    refused: dict[str, dict[str, None]] = {}
    for result in filter(attrgetter("error"), results):
        refused.setdefault(result.error, {})[result.field] = None
    for error, names in refused.items():
        print(f"refused: {', '.join(names)}: {safe(error)}")
    fields = ", ".join(result.field for result in failing) or "no field"
    print(f"{in_force.replace('_', '-')} is in force: {fields} can write control tokens")
    return FINDINGS if failing else 0


def _outcome(result: InjectionResult) -> str:
    if result.error:
        return "refused"
    if not result.is_written and not result.injected:
        return "not written"
    return f"{len(result.injected):,} of {result.n_tried:,}"
