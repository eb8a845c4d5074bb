"""Objects in notebooks and in Rich: every value is escaped, and the size is bounded."""

from __future__ import annotations

import ast
import html
import json
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.pretty import pretty_repr

import tokviz
from tests.oracles.nasty import FRAGMENTS
from tokviz.share.colours import DARK, LIGHT, TRANSLUCENT
from tokviz.share.notebook import MOST_TOKENS
from tokviz.text.glyphs import UNSAFE

NOTEBOOK = Path(tokviz.__file__).parent / "guide" / "notebook.ipynb"
GPT2, GPT4 = tokviz.load("gpt2"), tokviz.load("gpt-4")
NASTY = "".join([*FRAGMENTS, "<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>"])
TAGS = {"div", "b", "span", "br", "svg", "text", "polyline"}
ATTRIBUTES = {
    "style", "title", "width", "height", "font-size", "font-family", "fill", "role", "aria-label",
    "x", "y", "text-anchor", "points", "stroke", "stroke-width", "stroke-linecap",
}  # fmt: skip


CLASSES = (
    *("Tokenizer", "Tokenization", "Comparison", "Rendering"),
    *("TrainingRun", "TrainingHistory"),
)


@cache
def objects(text: str) -> dict[str, Any]:
    """Return an object of every class that notebooks display, each with a text in it."""
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": text}]
    run = tokviz.train([text, "low lower"], 262, special_tokens=[text[:9]], split_pattern="none")
    run.tokenizer.name = text
    shown = (
        run.tokenizer,
        GPT4.tokenize(text),
        tokviz.compare(text, [GPT2, GPT4]),
        tokviz.render(GPT4, {"messages": messages}, "chatml", max_tokens=10**6),
        run,
        run.history,
    )
    return dict(zip(CLASSES, shown, strict=True))


class Page(HTMLParser):
    """The text of a page, and the tags and attributes that it uses."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags, self.attributes, self.words = set[str](), set[str](), ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += [tag] if tag != "br" else []
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.parametrize("name", CLASSES)
def test_html_has_no_scripts_and_no_unsafe_characters(name: str) -> None:
    page = objects(NASTY)[name]._repr_html_()
    parsed = Page(page)
    assert parsed.words.lstrip().startswith(name)
    assert (parsed.tags <= TAGS, parsed.attributes <= ATTRIBUTES) == (True, True)
    assert "://" not in page and "url(" not in page
    assert UNSAFE.search(html.unescape(page).replace("\n", "")) is None


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("text", ["unbelievable 1984 " * 20_000, "a\n" * 20_000])
def test_html_of_a_long_text_is_short_and_says_so(name: str, text: str) -> None:
    page = objects(text)[name]._repr_html_()
    assert len(page) < 400 * 1024
    assert page.count("<br>") <= 2 * MOST_TOKENS
    if name in ("Tokenization", "Comparison", "Rendering"):
        assert " are shown." in page


def test_a_long_token_is_cut() -> None:
    token = "\n" * 100_000
    mine = tokviz.Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], [token])
    page = mine.tokenize(f"a{token}b")._repr_html_()
    assert len(page) < 400 * 1024 and page.rstrip().endswith("…</div>\n</div>")


def test_tokens_have_their_label_id_and_mask() -> None:
    parts = Page(GPT4.tokenize("Hello world\n<|endoftext|>")._repr_html_()).words
    assert parts.endswith("Hello·world⏎<|endoftext|>\n")
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    rendering = tokviz.render(GPT4, messages, "chatml")
    page = rendering._repr_html_()
    assert page.count("text-decoration:underline") == rendering.n_learned
    assert 'title="token #' in page and "the model learns to write it" in page
    differing = tokviz.compare("I paid 12345", [GPT2, GPT4])._repr_html_()
    assert differing.count("text-decoration:underline") == 3


def test_a_chart_ends_at_the_last_merge() -> None:
    run = tokviz.train(["low low low lower", "newest newest widest"], 262)
    ratio = run.pre_token_counts.n_bytes / run.n_tokens
    page = run._repr_html_()
    assert page.count("<polyline") == run.history._repr_html_().count("<polyline") == 2
    assert f">{ratio:,.5g}<" in page and ">merge 6<" in page
    assert "<svg" not in tokviz.train(["a"], 256)._repr_html_()


def luminance(colour: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_readable_on_every_hue_in_light_and_dark(theme) -> None:
    page, text = (bytes.fromhex(it[1:]) for it in (theme.ground, theme.text))
    assert len(TRANSLUCENT) == len(theme.all_fills)
    for hue in TRANSLUCENT:
        *colour, alpha = bytes.fromhex(hue[1:])
        share = alpha / 255
        mixed = tuple(
            (c * share + p * (1 - share)) / 255 for c, p in zip(colour, page, strict=True)
        )
        dark, light = sorted([luminance(mixed), luminance(tuple(c / 255 for c in text))])
        assert (light + 0.05) / (dark + 0.05) > 7


def test_rich_shows_facts() -> None:
    assert pretty_repr(GPT2, max_width=200).startswith("Tokenizer(name='gpt2', n_vocab=50257, ")
    comparison = tokviz.compare("I paid 12345", [GPT2, GPT4])
    described = pretty_repr(comparison, max_width=200).partition(", n_bytes")
    assert described[0] == "Comparison(tokenizers=('gpt2', 'cl100k_base')"
    assert described[2] == "=12, n_tokens=(4, 5), n_disagreements=1)"


def test_the_notebook_runs_and_displays_every_class() -> None:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    names: dict[str, object] = {}
    shown = []
    for cell in cells:
        if cell["cell_type"] == "code":
            *statements, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(statements, []), NOTEBOOK.name, "exec"), names)
            assert isinstance(last, ast.Expr), "a cell ends in the value that it displays"
            shown.append(eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names))
    assert all(Page(it._repr_html_()).words for it in shown)
    assert {type(it).__name__ for it in shown} == {*CLASSES}
