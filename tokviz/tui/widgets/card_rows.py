"""The rows of the token card and their links, made by pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice

from rich.cells import cell_len

from tokviz.explain.algorithms.story import StoryRow
from tokviz.explain.describe import CutCharacter
from tokviz.explain.facts import Entry, Occurrences, SelectedTokens, TokenPlace
from tokviz.explain.trace import EncodeTrace, Explanation, LineageNode, render_lineage
from tokviz.text.glyphs import safe, token_label
from tokviz.text.sentences import pluralize
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.spans import Action, Copy, GoTo, Role, Row, Span, Step, Word, flow, words_of

LABEL_COLUMNS = 8
HINT = "Move the cursor to a token, or point at one."
_MAX_LABEL_BYTES = 512
_MAX_HEX_BYTES = 32
_MAX_CHIPS = 200
_MAX_STEPS = 200


Link = Callable[[int], Action]
"""Returns the action of a click on a token, given its id."""


def label_of(token: bytes) -> str:
    """Return the label of a token; of a very long one, of its first bytes."""
    if len(token) <= _MAX_LABEL_BYTES:
        return token_label(token)
    return token_label(token[:_MAX_LABEL_BYTES]) + "…"


def field_rows(label: str, words: Iterable[Word], width: int) -> list[Row]:
    """Arrange words after a label."""
    return flow(words, width, (Span(f"{label:<{LABEL_COLUMNS}} ", "label"),))


def report_rows(lines: Iterable[str], width: int) -> list[Row]:
    """Draw the lines of a report; indented lines that fit keep their columns."""
    rows: list[Row] = []
    for line in lines:
        role: Role = "warning" if line.startswith("mistake: ") else "text"
        is_table = line.startswith("  ") and cell_len(line) <= width
        indent = (Span("  "),) if line.startswith("  ") else ()
        rows += [(Span(line),)] if is_table else flow(words_of(line.strip(), role), width, indent)
    return rows


def token_copies(entry: Entry) -> list[Copy]:
    """List the copies of a token: its id, its bytes, and its text if they are valid UTF-8."""
    copies = [Copy(str(entry.id), "the token id"), Copy(entry.token.hex(" "), "the token bytes")]
    if entry.n_chars is not None:
        copies.append(Copy(entry.token.decode(), "the token text"))
    return copies


def token_rows(
    place: TokenPlace, entry: Entry, occurrences: Occurrences | None, width: int
) -> list[Row]:
    """Draw the details of a token.

    Args:
        place: Its place in the document.
        entry: Its entry in the vocabulary.
        occurrences: Its other occurrences, None while they are not known.
        width: Columns of a row.
    """
    index = f"#{place.index:,}"
    of_all = fit(f" · {place.n_tokens:,} tokens", max(0, width - len(index)))
    copy = token_copies(entry)[-1]
    role: Role = "special" if entry.special else "token"
    return [
        (Span(fit(index, width), "heading"), Span(of_all, "dim")),
        (Span(fit(label_of(entry.token), width), role, copy, place.hue),),
        (),
        *_facts(place, entry, width),
        *_occurrence_rows(place, occurrences, width),
        (),
        *lineage_rows(entry.lineage, width),
        *look_alike_rows(entry, width),
        *neighbour_rows(entry, width),
    ]


def _facts(place: TokenPlace, entry: Entry, width: int) -> Iterator[Row]:
    copy_id, *_ = token_copies(entry)
    yield from field_rows("id", words_of(copy_id.text, "link", copy_id), width)
    yield from field_rows("bytes", hex_words(entry.token), width)
    yield from field_rows("length", _length_words(entry, place), width)
    yield from field_rows("kind", words_of(entry.kind), width)
    for cut in place.cut:
        yield from field_rows("holds", _cut_words(cut), width)
    yield from merge_rows(entry, width)
    where = f"line {place.row + 1:,}, column {place.column + 1:,}"
    yield from field_rows("where", words_of(where), width)
    yield from field_rows("span", _span_words(place), width)


def hex_words(token: bytes) -> list[Word]:
    """Return the first bytes of a token in hexadecimal; a click on any copies all bytes."""
    copy = Copy(token.hex(" "), "the token bytes")
    words: list[Word] = [(Span(f"{byte:02x}", "link", copy),) for byte in token[:_MAX_HEX_BYTES]]
    if len(token) > _MAX_HEX_BYTES:
        words += words_of(f"… {len(token) - _MAX_HEX_BYTES:,} more", "dim", copy)
    return words


def merge_rows(entry: Entry, width: int) -> list[Row]:
    """Draw the number of the merge that makes a token, or why there is none."""
    none = "none: a special token" if entry.special else "none: no merge makes it"
    number = none if entry.merge is None else f"{entry.merge:,}"
    return field_rows("merge", words_of(number), width)


def _length_words(entry: Entry, place: TokenPlace) -> list[Word]:
    n_bytes = pluralize(len(entry.token), "byte")
    if entry.n_chars is not None:
        return [(Span(f"{n_bytes},"),), (Span(pluralize(entry.n_chars, "character"), "dim"),)]
    if any(cut.last - cut.first + 1 == len(entry.token) for cut in place.cut):
        return [(Span(f"{n_bytes},"),), (Span("part of a character", "warning"),)]
    return [(Span(n_bytes),)]


def _cut_words(cut: CutCharacter) -> list[Word]:
    which = f"byte {cut.first}" if cut.first == cut.last else f"bytes {cut.first}-{cut.last}"
    code = f"U+{ord(cut.character):04X}"
    return [
        *words_of(f"{which} of {cut.n_bytes} of", "warning"),
        (Span(safe(cut.character), "made"),),
        *words_of(code),
    ]


def _span_words(place: TokenPlace) -> list[Word]:
    (first_byte, last_byte), (first_char, last_char) = place.bytes, place.chars
    return [
        (Span(f"bytes {first_byte:,}-{last_byte:,},"),),
        (Span(f"characters {first_char:,}-{last_char:,}", "dim"),),
    ]


def _occurrence_rows(place: TokenPlace, occurrences: Occurrences | None, width: int) -> list[Row]:
    """Draw always two rows, so that later rows do not move when the occurrences are known."""
    if occurrences is None:
        return [*field_rows("occurs", words_of("…", "dim"), width), ()]
    if occurrences.count <= 1:
        return [*field_rows("occurs", words_of("only here"), width), ()]
    room = width - LABEL_COLUMNS - 1
    times = pluralize(occurrences.count, "time") if room > 20 else f"{occurrences.count:,}×"
    previous, following = ("‹ previous", "next ›") if room > len(times) + 19 else ("‹", "›")
    words = words_of(times)
    words += [(Span(" "), Span(previous, "link", Step(-1)))]
    words += [(Span(" "), Span(following, "link", Step(1)))]
    places: list[Word] = [
        (Span(f"#{index:,}", "heading" if index == place.index else "link", GoTo(index)),)
        for index in occurrences.first
    ]
    indent = (Span(" " * (LABEL_COLUMNS + 1)),)
    row = flow(places, width - len(" …"), indent)[0]
    if sum(span.action is not None for span in row) < occurrences.count:
        row += (Span(" …", "dim"),)
    return [*field_rows("occurs", words, width)[:1], row]


def lineage_rows(node: LineageNode, width: int, link: Link | None = None) -> Iterator[Row]:
    """Draw the merges that made a token as a tree."""
    if node.merge is None:
        yield (Span("Merges", "heading"),)
        yield from flow(words_of(_leaf_sentence(node)), width)
        yield ()
        return
    left, right = (Span(fit(label_of(part), width), "made") for part in node.merge)
    heading = (Span("Made by merging", "heading"),)
    yield from flow((heading, (left,), (Span("+"),), (right,)), width)
    yield from tree_rows(node, width, link)
    yield ()


def tree_rows(node: LineageNode, width: int, link: Link | None = None) -> Iterator[Row]:
    """Draw a token and, below it, the tokens that it is made of, with their ids."""
    for row in render_lineage(node):
        token_id = "" if row.node.id is None else f" {row.node.id}"
        note = f" {row.node.note}" if row.node.note and row.node.note != "a single byte" else ""
        room = max(1, width - len(row.prefix) - len(row.twice) - len(token_id))
        action = _linked(row.node.id, link)
        yield (
            Span(row.prefix, "tree"),
            Span(fit(label_of(row.node.token), room), "made", action),
            Span(row.twice, "text", action),
            _id_span(token_id, row.node.id, link),
            Span(note, "warning"),
        )


def _leaf_sentence(node: LineageNode) -> str:
    sentence = f"None: it is {node.note}." if node.note == "a single byte" else f"{node.note}."
    return sentence[0].upper() + sentence[1:]


def _linked(token_id: int | None, link: Link | None) -> Action | None:
    return None if link is None or token_id is None else link(token_id)


def _id_span(text: str, token_id: int | None, link: Link | None) -> Span:
    action = _linked(token_id, link)
    return Span(text, "link" if action else "dim", action)


def look_alike_rows(entry: Entry, width: int, link: Link | None = None) -> Iterator[Row]:
    """List the tokens that differ by a leading space or by case."""
    if entry.look_alikes:
        yield (Span("Looks like", "heading"),)
        yield from flow((named_word(token, i, link) for token, i in entry.look_alikes), width)
        yield ()


def neighbour_rows(entry: Entry, width: int, link: Link | None = None) -> Iterator[Row]:
    """List the tokens with the ids before and after."""
    yield (Span("In the vocabulary", "heading"),)
    neighbours = (
        (entry.id - 1, entry.before),
        (entry.id, entry.token),
        (entry.id + 1, entry.after),
    )
    for token_id, token in neighbours:
        if token_id < 0:
            continue
        here = token_id == entry.id
        name = f"{token_id:>{len(str(entry.id + 1))}} "
        if token is None:
            yield (Span(name, "dim"), Span("no token", "dim"))
        else:
            number = Span(name) if here else _id_span(name, token_id, link)
            label = fit(label_of(token), max(1, width - len(name)))
            yield (number, Span(label, "made", None if here else _linked(token_id, link)))


def named_word(token: bytes, token_id: int, link: Link | None = None) -> Word:
    """Name a token by its text and its id."""
    number = _id_span(f" {token_id}", token_id, link)
    return (Span(fit(label_of(token), 24), "made", _linked(token_id, link)), number, Span(" "))


def selection_rows(
    selected: SelectedTokens, labels: Sequence[bytes], explanation: Explanation | None, width: int
) -> list[Row]:
    """Draw a selection of several tokens, and why it is not one token.

    Args:
        selected: The tokens.
        labels: The bytes of each token of `selected.tokens`.
        explanation: Why it is not one token, None while the reason is not known.
        width: Columns of a row.
    """
    rows: list[Row] = [
        (
            Span(pluralize(selected.n_tokens, "token"), "heading"),
            Span(f" from #{selected.first:,}", "dim"),
        )
    ]
    chips: list[Word] = [
        (Span(label_of(token), "token", GoTo(selected.first + place), hue),)
        for place, ((_, hue), token) in enumerate(
            zip(selected.tokens[:_MAX_CHIPS], labels, strict=False)
        )
    ]
    if selected.n_tokens > len(chips):
        chips += words_of(f"… {selected.n_tokens - len(chips):,} more", "dim")
    rows += flow(chips, width)
    rows += [(), (Span("Why not one token?", "heading"),)]
    if not selected.data:
        return rows + flow(words_of("Too many tokens to explain."), width)
    if not selected.whole:
        rows += flow(words_of("The selection starts or ends inside a token.", "warning"), width)
    if explanation is None:
        return [*rows, (Span("…", "dim"),)]
    for sentence in explanation.sentences:
        rows += flow(sentence_words(sentence), width)
    if explanation.reason == "one token":
        rows += flow(words_of("In the text its neighbors change how it is split."), width)
    if explanation.trace is not None:
        rows += [(), *trace_rows(explanation.trace, width)]
    return rows


def merge_cells(
    number: int, token: bytes, pair: tuple[bytes, bytes] | None, count: int | None, width: int
) -> list[Span]:
    """Draw a row of a list of merges: the number, the token, its parts and their count.

    Args:
        number: The number of the merge.
        token: The token that it makes.
        pair: The parts of the token, None if no merge makes it.
        count: The count of the pair, None if it is not known.
        width: Columns of the row.
    """
    head = f"{number:>7,} "
    times = "" if count is None else f" {count:,}×"
    room = width - len(head) - len(times)
    if room < 14:
        return [Span(head, "dim"), Span(fit(label_of(token), room), "heading")]
    token_width = max(6, min(room // 2, 28))
    parts = "no merge" if pair is None else " + ".join(map(label_of, pair))
    return [
        Span(head, "dim"),
        Span(column(label_of(token), token_width), "heading"),
        Span(" " + column(parts, room - token_width - 1), "dim"),
        Span(times, "dim"),
    ]


def sentence_words(
    sentence: Iterable[str | bytes], link: Callable[[bytes], Action | None] = lambda token: None
) -> list[Word]:
    """Split a sentence into words; bytes become tokens that stay with adjacent text.

    Args:
        sentence: Texts, and the bytes of tokens.
        link: Returns the action of a click on a token.
    """
    words: list[list[Span]] = [[]]
    for part in sentence:
        if isinstance(part, bytes):
            token = Span(label_of(part), "made", link(part))
            words[-1] += (Span("“", "dim"), token, Span("”", "dim"))
            continue
        first, *others = part.split(" ")
        if first:
            words[-1].append(Span(first))
        for other in others:
            words.append([Span(other)] if other else [])
    return [word for word in words if word]


def trace_rows(trace: EncodeTrace, width: int) -> list[Row]:
    """Draw the encoding of a pre-token: a row per merge, with its number and the new token."""
    heading: Row = (Span("How it is encoded", "heading"),)
    if trace.note and not trace.steps:
        return [heading, *flow(words_of(trace.note), width)]
    numbers = [f"{step.number:,}" for step in trace.steps]
    states = zip(["", *numbers], trace.states(), strict=True)
    steps = [
        StoryRow(label, tokens, trace.steps[number - 1].position if number else None)
        for number, (label, tokens) in enumerate(islice(states, _MAX_STEPS + 1))
    ]
    rows = [heading, *step_rows(steps, width)]
    if len(numbers) > _MAX_STEPS:
        rows.append((Span(f"… {len(numbers) - _MAX_STEPS:,} more merges", "dim"),))
    return rows


def step_rows(steps: Sequence[StoryRow], width: int) -> list[Row]:
    """Draw the tokens after each step in a row, with the step's label before them."""
    digits = max((len(step.label) for step in steps), default=0)
    room = max(1, width - digits - 1)
    return [
        (Span(f"{step.label:>{digits}} ", "dim"), *_state(step.tokens, step.new, room))
        for step in steps
        if step.tokens
    ]


def _state(tokens: Sequence[bytes], new: int | None, room: int) -> list[Span]:
    """Draw the tokens after a step in one row: as many around the new one as fit."""
    labels = [label_of(token) for token in tokens]
    widths = [cell_len(label) for label in labels]
    first = _first_shown(widths, new or 0, room)
    spans: list[Span] = [Span("… ", "dim")] if first else []
    used = 2 if first else 0
    for place in range(first, len(labels)):
        more = 2 if place < len(labels) - 1 else 0
        if used + widths[place] + more > room:
            here = place == new
            cut = fit(labels[place], room - used) if here else "…"
            spans.append(Span(cut, "new" if here else "dim"))
            break
        spans += [Span(labels[place], "new" if place == new else "text"), Span(" ")]
        used += widths[place] + 1
    return spans


def _first_shown(widths: Sequence[int], new: int, room: int) -> int:
    """Return the first token to show so that the new one is in view.

    It is the first of all if the new token is then in view, else the one from which the row reaches
    the end, else one that puts the new token near the middle.
    """
    ends = list(accumulate(width + 1 for width in widths))
    if ends[-1] - 1 <= room or ends[new] + 1 <= room:
        return 0
    last = len(widths) - 1
    reach = room - 2
    first = last
    while first and ends[last] - ends[first - 1] + widths[first - 1] <= reach:
        first -= 1
    if first <= new:
        return first
    first = new
    while first and ends[new] - ends[first - 1] + widths[first - 1] <= reach // 2:
        first -= 1
    return first
