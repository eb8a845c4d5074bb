"""Compare two tokenizers: whether all texts have the same ids, and if not, why.

output: a verdict
  same ids              the parts of both that encode text are equal
  no difference found   the texts of a search have the same ids, but the parts do not prove it
  other special tokens  the vocabulary is the same, only texts with special tokens have other ids
  different             other texts have other ids, too
  Then one line per part: vocabulary, merges, special tokens, split pattern, normalizer, chat
  template, and the rows of the model's embedding (vocab_size in config.json beside the file). A
  part is the same, differs, or is unknown. Then texts whose ids differ, with the cause; see
  `tokviz compare --help`. The cause ids means the same tokens with other ids.

The search tries the same texts every time: special tokens, tokens and merges of only one of the
two, digits, contractions, white space, combining marks, texts in many languages, and so on.

--json, one object:
  {"a", "b", "verdict", "summary", "parts": {name: {"same", "texts", "note"}}, "n_same",
   "complete", "examples": [{"text", "ids": [of A, of B], "cause", "why"}]}
  "same" is null if it is unknown. "n_same" counts the texts with the same ids; "complete" is false
  if --seconds stopped the search. "text" may contain U+FFFD. All texts are listed.

exit code: 0 if no text was found whose ids differ, 1 if one was, 2 after an error.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokviz.cli import options
from tokviz.cli.output import FINDINGS, print_json
from tokviz.cli.progress import StatusLine
from tokviz.text import bytetext
from tokviz.text.glyphs import n_cells, safe, short_label
from tokviz.text.sentences import format_sentences

if TYPE_CHECKING:
    from tokviz.compare.difference import TokenizerDiff

_MOST_IDS = 12
_RESULTS = {True: "same", False: "differs", None: "unknown"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz diff`."""
    for name in "ab":
        parser.add_argument(name, metavar=name.upper(), help="as -t of `tokviz encode`")
    options.add_most(parser, "texts")
    options.add_number(parser, "--seconds", "longest search for texts", default=60)
    options.add_flag(parser, "--json", "print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Compare the two."""
    from tokviz.compare.difference import diff  # imports NumPy

    names = [options.resolve_tokenizer(name) for name in (arguments.a, arguments.b)]
    a, b = map(options.load_named, names)
    with StatusLine() as line:

        def draw(share: float, _: TokenizerDiff) -> None:
            if line.is_due:
                line.draw(f"searching for texts whose ids differ, {share:.0%}")

        found = diff(a, b, seconds=arguments.seconds, on_progress=draw)
    if arguments.json:
        print_json(_record(found))
    else:
        print(*_lines(found, arguments.most), sep="\n")
    return FINDINGS if found.examples else 0


def _lines(found: TokenizerDiff, most: int) -> Iterator[str]:
    yield from (f"{name}  {safe(one.name)}" for name, one in (("A", found.a), ("B", found.b)))
    yield from (found.summary, "")
    width = max(n_cells(safe(part.texts[0])) for part in found.parts)
    yield f"{'part':<16}{'result':<9}{'A':<{width}}  B"
    for part in found.parts:
        a, b = map(safe, part.texts)
        gap = " " * (width - n_cells(a))
        yield f"{part.name:<16}{_RESULTS[part.same]:<9}{a}{gap}  {b}".rstrip()
        if part.note:
            yield f"{'':<25}{safe(part.note)}"
    if found.examples:
        yield from ("", "texts whose ids differ")
    for example in found.examples[:most]:
        yield short_label(bytetext.to_bytes(example.text))
        for name, ids in zip("AB", example.ids, strict=True):
            more = " …" if len(ids) > _MOST_IDS else ""
            yield f"  {name}  {' '.join(map(str, ids[:_MOST_IDS]))}{more}"
        yield f"  {example.cause}: {format_sentences(example.why, short_label)}"
    if len(found.examples) > most:
        yield options.more_listed(len(found.examples) - most)


def _record(found: TokenizerDiff) -> dict[str, object]:
    examples = [
        {"text": bytetext.to_bytes(example.text).decode("utf-8", "replace"), "ids": example.ids,
         "cause": example.cause, "why": format_sentences(example.why)}
        for example in found.examples
    ]  # fmt: skip
    parts = {part.name: {"same": part.same, "texts": part.texts, "note": part.note}
             for part in found.parts}  # fmt: skip
    names = ("verdict", "summary", "n_same", "complete")
    record = {"a": found.a.name, "b": found.b.name, "parts": parts, "examples": examples}
    return {**record, **{name: getattr(found, name) for name in names}}
