"""Page of one token: its merges, the tokens made from it, and its places in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tokviz.explain.facts import Entry
from tokviz.text.sentences import pluralize
from tokviz.tui.widgets.card_rows import (
    field_rows,
    hex_words,
    label_of,
    lineage_rows,
    look_alike_rows,
    merge_rows,
    named_word,
    neighbour_rows,
    token_copies,
)
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.spans import GoTo, Role, Row, Span, ToToken, Word, flow, words_of

PLACES_LISTED = 30
_CHILDREN_SHOWN = 120


@dataclass(frozen=True, slots=True)
class TokenPage:
    """Content of the page.

    Attributes:
        entry: The vocabulary's entry of the token.
        script: The script of its letters.
        unreachable: True if encoding never produces it, None while unknown.
        n_uses: Its count in the current text.
        places: Its first indexes among the tokens of the text.
        children: Tokens that a merge makes from it, with their ids; None while they are searched.
        all_children: True if these are all.
        origin: The files of a training that it came from; "" if unknown or not a training.
    """

    entry: Entry
    script: str
    unreachable: bool | None
    n_uses: int
    places: tuple[int, ...]
    children: tuple[tuple[bytes, int], ...] | None = None
    all_children: bool = True
    origin: str = ""


def page_rows(page: TokenPage, width: int) -> list[Row]:
    """Draw the page of a token."""
    entry = page.entry
    copies = token_copies(entry)
    role: Role = "special" if entry.special else "made"
    return [
        (Span(fit(label_of(entry.token), width), role, copies[-1]),),
        (),
        *_facts(page, width),
        *_use_rows(page, width),
        (),
        *lineage_rows(entry.lineage, width, ToToken),
        *_child_rows(page, width),
        *look_alike_rows(entry, width, ToToken),
        *neighbour_rows(entry, width, ToToken),
    ]


def _facts(page: TokenPage, width: int) -> Iterator[Row]:
    entry = page.entry
    copies = token_copies(entry)
    yield from field_rows("id", words_of(copies[0].text, "link", copies[0]), width)
    if len(copies) > 2:
        copy = [(Span("copy", "link", copies[2]),)]
        yield from field_rows("text", [*copy, *words_of("it as it is", "dim")], width)
    yield from field_rows("bytes", hex_words(entry.token), width)
    yield from field_rows("length", _length_words(entry), width)
    yield from field_rows("kind", words_of(entry.kind), width)
    yield from field_rows("script", words_of(page.script.replace("-", " ")), width)
    yield from merge_rows(entry, width)
    if page.origin:
        yield from field_rows("files", words_of(page.origin), width)
    if page.unreachable:
        sentence = "unreachable: encoding its bytes gives other tokens"
        yield from field_rows("note", words_of(sentence, "warning"), width)


def _length_words(entry: Entry) -> list[Word]:
    words = words_of(pluralize(len(entry.token), "byte"))
    if entry.n_chars is None:
        return [*words, *words_of("· part of a character", "warning")]
    return [*words, *words_of(f"· {pluralize(entry.n_chars, 'character')}", "dim")]


def _use_rows(page: TokenPage, width: int) -> Iterator[Row]:
    if not page.n_uses:
        yield from field_rows("in text", words_of("not in your text", "dim"), width)
        return
    words = words_of(f"{pluralize(page.n_uses, 'time')} in your text")
    yield from field_rows("in text", words, width)
    if page.places:
        links: list[Word] = [(Span("go to", "dim"),)]
        links += [(Span(f"#{index:,}", "link", GoTo(index)),) for index in page.places]
        if page.n_uses > len(page.places):
            links.append((Span("…", "dim"),))
        yield from flow(links, width, (Span(" " * 9),))


def _child_rows(page: TokenPage, width: int) -> Iterator[Row]:
    if page.children is None:
        yield (Span("Merged into", "heading"), Span(" …", "dim"))
        yield ()
        return
    n = len(page.children)
    if not n:
        if not page.entry.special:
            yield (Span("Merged into", "heading"), Span(" no other token", "dim"))
            yield ()
        return
    more = "" if page.all_children else " or more"
    yield (Span("Merged into", "heading"), Span(f" {pluralize(n, 'token')}{more}", "dim"))
    words = [named_word(token, i, ToToken) for token, i in page.children[:_CHILDREN_SHOWN]]
    if n > _CHILDREN_SHOWN:
        words += words_of(f"… {n - _CHILDREN_SHOWN:,} more", "dim")
    yield from flow(words, width)
    yield ()
