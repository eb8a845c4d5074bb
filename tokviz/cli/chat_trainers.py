"""`--trainers` and `--injection` of `tokviz chat`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from tokviz.chat.injection import FIELDS, InjectionResult, injection_results
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.rendering import Rendering
from tokviz.chat.spans import SPECIALS
from tokviz.chat.templates import ChatTemplate
from tokviz.chat.trainers import TRAINERS, Example, TrainerRefusalError
from tokviz.cli import chat_variables, options
from tokviz.cli.output import FINDINGS, plain_table, print_json
from tokviz.text.glyphs import safe, token_label
from tokviz.tokenizer.tokenizer import Tokenizer


def add_arguments(parser: argparse._ActionsContainer) -> None:
    """Add the options."""
    names = ", ".join(TRAINERS)
    options.add_flag(parser, "--trainers", f"compare the mask with those of trainers: {names}")
    help_text = "test which fields of a conversation can write control tokens; needs no FILE"
    options.add_flag(parser, "--injection", help_text)


def trainer_records(example: Example, n_kept: int) -> Iterator[dict[str, Any]]:
    """Yield the JSON record of each trainer, with the mask of the first tokens."""
    for trainer in TRAINERS.values():
        try:
            mask = trainer.mask(example)[:n_kept]
        except TrainerRefusalError as error:
            yield {"trainer": trainer.name, "error": str(error)}
        else:
            yield {"trainer": trainer.name, "n_learned": mask.count(1), "mask": [*mask]}


def trainer_lines(example: Example, shown: Rendering) -> Iterator[str]:
    """Yield a line for each trainer: its difference from the mask shown."""
    width = max(map(len, TRAINERS))
    for record in trainer_records(example, shown.n_kept):
        name = f"  {record['trainer']:<{width}}  "
        if "error" in record:
            yield f"{name}refused: {safe(record['error'])}"
            continue
        pairs = enumerate(zip(record["mask"], shown.mask, strict=False))
        first = next((token for token, (theirs, ours) in pairs if theirs != ours), None)
        difference = "as shown"
        if first is not None:
            state = "in the loss" if record["mask"][first] else "masked"
            label = token_label(shown.token_bytes(first))
            difference = f"first difference: token #{first:,} {label} is {state}"
        yield f"{name}{record['n_learned']:>7,} in the loss, {difference}"


def run_injection(
    arguments: argparse.Namespace, tokenizer: Tokenizer, template: ChatTemplate | JinjaTemplate
) -> int:
    """Print the results of the injection test; return the exit code."""
    in_force = chat_variables.specials_of(arguments) or template.specials
    results = [*injection_results(tokenizer, template, arguments.template_variables)]
    failing = [it.field for it in results if it.specials == in_force and it.injected]
    if arguments.json:
        for result in results:
            print_json({**asdict(result), "in_force": result.specials == in_force})
    else:
        _print_results(results)
        fields = ", ".join(failing) or "no field"
        print(f"{in_force.replace('_', '-')} is in force: control tokens from {fields}")
    return FINDINGS if failing else 0


def _print_results(results: Sequence[InjectionResult]) -> None:
    cells = {(result.field, result.specials): _outcome(result) for result in results}
    heads = ("field", *(policy.replace("_", "-") for policy in SPECIALS))
    rows = [(field, *(cells[field, policy] for policy in SPECIALS)) for field in FIELDS]
    print(*plain_table([heads, *rows]), sep="\n")
    for error in dict.fromkeys(result.error for result in results if result.error):
        print(f"refused: {safe(error)}")


def _outcome(result: InjectionResult) -> str:
    if result.error:
        return "refused"
    return f"{len(result.injected):,} of {result.n_tried:,}" if result.n_tried else "not written"
