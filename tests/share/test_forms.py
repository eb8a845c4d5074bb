"""Whatever a text holds, every form shows each of its tokens once, and nothing of it is obeyed."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles.nasty import FRAGMENTS
from tokviz import bytetext
from tokviz.glyphs import UNSAFE
from tokviz.share import FORMS, writer
from tokviz.share.figure import Figure, figure_of

texts = st.lists(
    st.sampled_from([*FRAGMENTS, "<b>", "&amp;", "`", "``|`", "<|endoftext|>", "]]>"]), max_size=20
).map("".join)


def figure(text: str, name: str = "a <name> | `text`") -> Figure:
    return figure_of(tokviz.load("cl100k_base"), name, bytetext.to_bytes(text))


def written(text: str, form: str) -> str:
    return "\n".join(writer(form)(figure(text)))


@given(texts)
def test_the_tokens_of_a_figure_tile_the_text_and_no_neighbours_look_alike(text: str) -> None:
    shown = figure(text)
    assert b"".join(chip.data for chip in shown.chips) == bytetext.to_bytes(text)
    assert [chip.id for chip in shown.chips] == tokviz.load("cl100k_base").encode_byte_text(text)
    hues = [chip.hue for chip in shown.chips]
    assert all(one != other for one, other in pairwise(hues))
    rows = [label for row in shown.rows() for _, label in row]
    assert "".join(rows) == "".join(chip.label for chip in shown.chips)


@pytest.mark.parametrize("form", FORMS)
@given(text=texts)
def test_nothing_in_a_text_reaches_whoever_draws_it(form: str, text: str) -> None:
    lines = written(text, form).split("\n")
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) if form == "ansi" else line for line in lines]
    assert [line for line in plain if UNSAFE.search(line)] == []


class _Tokens(HTMLParser):
    """Reads what a page shows and says of its tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.labels: list[str] = []
        self.abouts: list[str | None] = []
        self._is_token = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._is_token = tag == "b"
        if self._is_token:
            self.abouts.append(dict(attrs)["data-t"])

    def handle_endtag(self, tag: str) -> None:
        self._is_token = False

    def handle_data(self, data: str) -> None:
        if self._is_token:
            self.labels.append(data)


@given(texts)
def test_a_page_says_of_every_token_what_it_is_and_has_no_script(text: str) -> None:
    page = _Tokens()
    page.feed(written(text, "html"))
    shown = figure(text)
    parts = [(chip.about, label) for row in shown.rows() for chip, label in row]
    assert list(zip(page.abouts, page.labels, strict=True)) == parts
    assert page.tags <= {"html", "head", "meta", "title", "style", "body", "h1", "p", "pre", "b"}


@given(texts)
def test_a_picture_is_xml_and_holds_every_token_inside_its_borders(text: str) -> None:
    picture = ElementTree.fromstring(written(text, "svg"))
    space = "{http://www.w3.org/2000/svg}"
    labels = [found.text for found in picture.iter(f"{space}text")][2:]
    assert "".join(map(str, labels)) == "".join(chip.label for chip in figure(text).chips)
    width = int(picture.attrib["width"])
    boxes = [box.attrib for box in picture.iter(f"{space}rect")][1:]
    assert all(int(box["x"]) + int(box["width"]) <= width for box in boxes)


@given(texts)
def test_a_table_gives_the_text_back(text: str) -> None:
    lines = written(text, "table").splitlines() if text else []
    assert bytes.fromhex("".join(line.split()[4] for line in lines)) == bytetext.to_bytes(text)


def test_a_table_of_markdown_has_five_columns_whatever_is_in_it() -> None:
    rows = written("a|b `c` ``d`` <i> <|endoftext|>", "markdown").splitlines()[2:]
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {7}
    assert "| 100257 |" in rows[-1]
    assert r"**`<\|endoftext\|>`**" in rows[-1]
