"""Every form shows each token of any text once, and escapes it."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles.nasty import FRAGMENTS
from tests.profiles import examples
from tokviz.chat.conversation import Conversation
from tokviz.chat.render import render
from tokviz.compare.boundaries import compare
from tokviz.errors import TokvizError, missing_package
from tokviz.share import FORMS, write_figure
from tokviz.share.figure import (
    MOST_TOKENS,
    Chip,
    Figure,
    chips_of,
    comparison_figure,
    figure_of,
    mask_figure,
)
from tokviz.share.replayed import replay_figure
from tokviz.share.svg import MOST_PNG_LINES
from tokviz.text import bytetext
from tokviz.text.glyphs import UNSAFE
from tokviz.training.replay.replay import Replay

PAYLOADS = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</pre></style>",
            "\x1b[31m", "\x1b]52;c;aGk=\x07", "\u202eevil\u202c", "\u2066x\u2069", "a\u2028b",
            "\ud800", "[x](javascript:alert(1))"]  # fmt: skip
texts = st.lists(
    st.sampled_from([*FRAGMENTS, *PAYLOADS, "&amp;", "`", "``|`", "<|endoftext|>", "]]>"]),
    max_size=20,
).map(lambda parts: bytetext.replace_surrogates("".join(parts))[0])
LINES_OF_TEXT = [form for form in FORMS if form != "png"]


def figure(text: str, name: str = "a <name> | `text`") -> Figure:
    return figure_of(tokviz.load("cl100k_base"), name, bytetext.to_bytes(text))


def comparison(text: str) -> Figure:
    return comparison_figure(text, compare(text, list(map(tokviz.load, ("gpt2", "cl100k_base")))))


def mask(text: str) -> Figure:
    said = [{"role": "user", "content": text}, {"role": "assistant", "content": text}]
    conversation = Conversation.from_json(said)
    return mask_figure(text, render(tokviz.load("cl100k_base"), conversation))


def merge(text: str) -> Figure:
    run = tokviz.train([text, "abab"], 257, split_pattern="none")
    replay = Replay.open(run)
    return replay_figure(replay, 1, replay.text(text))


KINDS = (figure, comparison, mask, merge)


def shown(text: str, form: str) -> str:
    return b"".join(write_figure(figure(text), form)).decode()


def chips(made: Figure) -> list[Chip]:
    return [chip for _, chip in made.chips]


@given(texts)
def test_the_tokens_of_a_figure_tile_the_text_and_no_neighbours_look_alike(text: str) -> None:
    made = figure(text)
    assert b"".join(chip.data for chip in chips(made)) == bytetext.to_bytes(text)
    assert [chip.id for chip in chips(made)] == tokviz.load("cl100k_base").byte_text.encode(
        text
    ).tolist()
    rows = [label for part in made.parts for row in part.rows() for _, label in row]
    assert "".join(rows) == "".join(chip.label for chip in chips(made))
    for kind in KINDS:
        for part in kind(text).parts:
            hues = [item.hue if isinstance(item, Chip) else None for item in part.items]
            assert all(one != other for one, other in pairwise(hues))


@given(texts)
def test_what_stands_out_is_what_differs_what_is_learned_and_what_is_merged(text: str) -> None:
    found = compare(text, list(map(tokviz.load, ("gpt2", "cl100k_base")))).disagreements
    spans = [chip.start for chip in chips(comparison(text)) if chip.mark]
    assert {start for start in spans} >= {one.byte_span[0] for one in found}
    assert all(any(a <= start < b for a, b in (one.byte_span for one in found)) for start in spans)
    learned = [chip for chip in chips(mask(text)) if chip.mark]
    assert all(chip.note.startswith("1: ") for chip in learned)
    assert b"".join(chip.data for chip in learned).startswith(bytetext.to_bytes(text))
    words, after = merge("abab").parts[:2]
    assert [(item.data, item.mark) for item in words.items if isinstance(item, Chip)][-2:] == [
        (b"a", "merged"),
        (b"b", "merged"),
    ]
    made = after.items[-1]
    assert isinstance(made, Chip) and (made.data, made.mark) == (b"ab", "made")


@pytest.mark.parametrize("form", LINES_OF_TEXT)
@examples(40)
@given(text=texts)
def test_nothing_in_a_text_reaches_whoever_draws_it(form: str, text: str) -> None:
    for kind in KINDS:
        lines = b"".join(write_figure(kind(text), form)).decode().split("\n")
        plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) if form == "ansi" else line for line in lines]
        assert [line for line in plain if UNSAFE.search(line)] == []


def test_a_megabyte_is_shown_but_is_too_long_for_a_picture_of_points() -> None:
    made = figure(" " * 999_000 + "\n" * 1000)
    for form in ("html", "svg"):
        assert sum(map(len, write_figure(made, form))) > 1_000_000
    with pytest.raises(TokvizError, match=f"which holds at most {MOST_PNG_LINES}"):
        write_figure(made, "png")


def test_what_memory_should_not_hold_is_refused() -> None:
    with pytest.raises(TokvizError, match="1,000,001 tokens are too many"):
        chips_of([0] * (MOST_TOKENS + 1), [])


def test_a_png_is_a_picture_of_the_size_of_the_svg(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = b"".join(write_figure(figure("hello 世界 <b>"), "png"))
    picture = ElementTree.fromstring(shown("hello 世界 <b>", "svg"))
    assert drawn[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(drawn[16:20], "big") == 2 * int(picture.attrib["width"])
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(TokvizError, match=re.escape(f"a PNG {missing_package('resvg-py')}")):
        write_figure(figure("hello"), "png")


class _Tokens(HTMLParser):
    """Parser of the labels and descriptions of the tokens of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.labels: list[str] = []
        self.abouts: list[str | None] = []
        self._is_token = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._is_token = tag == "b"
        if self._is_token:
            self.abouts.append(dict(attrs)["data-t"])

    def handle_endtag(self, tag: str) -> None:
        self._is_token = False

    def handle_data(self, data: str) -> None:
        if self._is_token:
            self.labels.append(data)


_TAGS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "pre", "b", "i"}
_ATTRIBUTES = {"lang", "charset", "name", "content", "http-equiv", "tabindex", "class", "data-t"}


@examples(40)
@given(texts)
def test_a_page_says_of_every_token_what_it_is_and_has_no_script(text: str) -> None:
    for kind in KINDS:
        page, made = _Tokens(), kind(text)
        page.feed(b"".join(write_figure(made, "html")).decode())
        rows = [row for part in made.parts for row in part.rows()]
        parts = [(chip.about, label) for row in rows for chip, label in row if chip]
        assert list(zip(page.abouts, page.labels, strict=True)) == parts
        assert page.tags <= _TAGS
        assert page.attributes <= _ATTRIBUTES


@examples(40)
@given(texts)
def test_a_picture_is_xml_and_holds_every_token_inside_its_borders(text: str) -> None:
    space = "{http://www.w3.org/2000/svg}"
    for kind in KINDS:
        made = kind(text)
        picture = ElementTree.fromstring(b"".join(write_figure(made, "svg")))
        tokens = [found for found in picture.iter(f"{space}text") if len(found)]
        assert "".join(str(found.text) for found in tokens) == "".join(
            chip.label for chip in chips(made)
        )
        width, height = int(picture.attrib["width"]), int(picture.attrib["height"])
        boxes = [box.attrib for box in picture.iter(f"{space}rect")][1:]
        assert all(int(box["x"]) + int(box["width"]) <= width for box in boxes)
        assert all(int(box["y"]) + int(box["height"]) <= height for box in boxes)


@given(texts)
def test_a_table_gives_the_text_back(text: str) -> None:
    lines = shown(text, "table").splitlines() if text else []
    assert bytes.fromhex("".join(line.split()[4] for line in lines)) == bytetext.to_bytes(text)


def test_the_lines_of_a_page_break_between_tokens() -> None:
    page = b"".join(
        write_figure(figure_of(tokviz.load("gpt2"), "x", "你好".encode()), "html")
    ).decode()
    assert "b{display:inline-block;max-width:100%;" in page


def test_a_table_of_markdown_has_five_columns_whatever_is_in_it() -> None:
    rows = shown("a|b `c` ``d`` <i> <|endoftext|>", "markdown").splitlines()[4:]
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {7}
    assert "| 100257 |" in rows[-1]
    assert r"**`<\|endoftext\|>`**" in rows[-1]
