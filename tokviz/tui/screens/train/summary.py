"""The summary of a finished training."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import wrap

from textual.content import Content

from tokviz.process.jobs.train_messages import HeldOut, TrainSummary
from tokviz.storage.listing import home_label, size_label
from tokviz.text.glyphs import safe, token_label
from tokviz.text.sentences import pluralize
from tokviz.training.attribution import N_FILES, folder_of
from tokviz.tui.screens.train.learning import clock
from tokviz.tui.screens.train.plan import labelled
from tokviz.tui.widgets.fit import fit, fit_end

NEW = "new"
_NAMES = {NEW: "this one", "gpt2": "GPT-2", "cl100k_base": "GPT-4", "o200k_base": "GPT-4o"}
_LABEL = 12
_LEAST_COMPARED = 1_000  # bytes; a comparison on less text is noise


def summary_content(summary: TrainSummary, width: int) -> Content:
    """Draw a summary."""
    width = max(8, width)
    total = clock(summary.seconds)
    title = Content.assemble(
        ("✓ ", "$text-success bold"), (f"{summary.n_vocab:,} tokens in {total}", "bold")
    )
    lines = [title]
    if summary.stopped_early:
        fewer = f"{summary.n_merges:,} of {summary.n_merges_wanted:,} merges: "
        early = safe(fewer + summary.stopped_early)
        lines.append(Content.assemble(("! ", "$text-warning bold"), early))
    lines += [Content(""), *_facts(summary, width)]
    if summary.held_out is not None and summary.held_out.n_bytes >= _LEAST_COMPARED:
        size = size_label(summary.held_out.n_bytes)
        text = f"Bytes per token on {size} of unseen text"
        if summary.is_comparing:
            text = f"Comparing on {size} of unseen text… Esc skips"
        lines += [Content(""), Content(text).stylize("$text-muted")]
        lines += _comparison(summary.held_out, width)
        advice = summary.held_out.advice
        if advice is not None:
            lines += [
                Content(""),
                Content("Bytes per token by vocabulary size").stylize("$text-muted"),
            ]
            lines += [Content(line) for text in advice.lines() for line in wrap(text, width)]
    return Content("\n").join(lines)


def _facts(summary: TrainSummary, width: int) -> list[Content]:
    spent = summary.seconds_by_phase.items()
    seconds = ", ".join(f"{name} {clock(value)}" for name, value in spent if value >= 0.05)
    documents = pluralize(summary.n_documents, "document")
    facts = [
        ("Time", seconds),
        ("Corpus", f"{size_label(summary.n_bytes)}, {documents}"),
        ("Pre-tokens", f"{summary.n_pre_tokens:,} distinct"),
    ]
    if summary.peak_memory_bytes is not None:
        facts.append(("Memory", f"{size_label(summary.peak_memory_bytes)} at most"))
    if summary.n_invalid:
        facts.append(("Not UTF-8", f"{summary.n_invalid:,} bytes, kept unchanged"))
    if summary.longest_token:
        ending = f"  {pluralize(len(summary.longest_token), 'byte')}"
        shown = fit(token_label(summary.longest_token), max(8, width - _LABEL - len(ending)))
        facts.append(("Longest", shown + ending))
    if summary.bytes_per_token is not None:
        facts.append(("Compression", f"{summary.bytes_per_token:.2f} bytes/token on the corpus"))
    files = [str(part.file) for part in summary.files]
    labels = ("Merges from", *[""] * N_FILES)
    for label, part, file in zip(labels, summary.files, files, strict=False):
        room = max(8, width - _LABEL - len("100% "))
        name = safe(os.path.relpath(file, folder_of(files)))
        facts.append((label, f"{part.share:4.0%} {fit_end(name, room)}"))
    facts.append(("Written to", home_label(Path(summary.run_folder))))
    return [line for label, text in facts if text for line in labelled(label, text, width, _LABEL)]


def _comparison(held_out: HeldOut, width: int) -> list[Content]:
    lines = []
    best = max(held_out.bytes_per_token.values(), default=1.0)
    columns = max(4, min(width - _LABEL - 8, 48))
    for name, ratio in held_out.bytes_per_token.items():
        filled = max(1, round(columns * ratio / best))
        is_new = name == NEW
        lines.append(
            Content.assemble(
                (f"{safe(_NAMES.get(name, name)):<{_LABEL}}", "bold" if is_new else ""),
                ("━" * filled, "$text-accent" if is_new else "$text-muted"),
                " " * (columns - filled),
                (f"  {ratio:.2f}", "bold" if is_new else ""),
            )
        )
    return lines
