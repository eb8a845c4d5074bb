"""minbpe's models: minbpe gives the same ids for files read and written."""

from __future__ import annotations

import pytest
from hypothesis import given

import tokviz
from tests.formats.samples import TEXT, shuffled, trained
from tests.oracles.minbpe import MinBpe
from tests.oracles.nasty import texts
from tokviz.formats.minbpe import read_minbpe, to_minbpe

GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
"""minbpe's own, from minbpe/regex.py."""

SPECIALS = ("<|endoftext|>", "<|im_start|>")


def both(pattern, specials=SPECIALS):
    from tokviz.formats.draft import build

    model = to_minbpe(trained(pattern, specials))
    return build(read_minbpe(model, "m"), "m"), MinBpe(model.decode())


REGEX, BASIC = both(GPT4), both("none", ())


@given(text=texts)
def test_ids_are_minbpes(text):
    for ours, theirs in (REGEX, BASIC):
        assert ours.encode(text) == theirs.encode(text)
        assert ours.decode(ours.encode(text)) == text


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4", "gpt4o", "none", GPT4])
def test_what_is_saved_is_read_again(pattern, tmp_path):
    ours = trained(pattern, SPECIALS)
    ours.save(tmp_path / "m.model", format="minbpe")
    again = tokviz.load(tmp_path / "m.model")
    assert again.vocab == ours.vocab
    assert again.merges == ours.merges
    assert again.special_tokens == ours.special_tokens
    assert again.split_pattern.regex == ours.split_pattern.regex
    assert again.encode(TEXT) == ours.encode(TEXT)
    assert MinBpe((tmp_path / "m.model").read_text("utf-8")).encode(TEXT) == ours.encode(TEXT)
    assert again.source.startswith("minbpe model ")


@pytest.mark.parametrize(
    ("tok", "words"),
    [
        (shuffled(), "bytes have the ids 0-255 there"),
        (tokviz.load("gpt2"), "bytes have the ids 0-255 there"),
        (trained("gpt4", ("<a b>",)), "white space in the special token '<a b>'"),
        (trained("gpt4", ("<a\u2028>",)), "white space in the special token"),
        (trained("\\S+|\n+|\\s+"), "its split pattern does not fit in a line"),
    ],
    ids=range(5),
)
def test_what_cannot_be_a_model_is_refused(tok, words, tmp_path):
    with pytest.raises(tokviz.FormatError, match="cannot be a minbpe model") as caught:
        tok.save(tmp_path / "x.model", format="minbpe")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("minbpe v2\n\n0\n", "line 1: is not 'minbpe v1'"),
        ("minbpe v1\n\nmany\n", "line 3: 'many' is not the number of special tokens"),
        ("minbpe v1\n", "line 3:"),
        ("minbpe v1\n\n5\n<a> 300\n", "5 special tokens should follow"),
        ("minbpe v1\n\n1\n<a>\n", "line 4: '<a>' is not a special token, a space and its id"),
        ("minbpe v1\n\n1\n<a> 97\n", "line 4: '<a>' has the id 97 of the token b'a'"),
        ("minbpe v1\n\n0\n1 2 3\n", "line 4: '1 2 3' is not the ids of two tokens"),
        ("minbpe v1\n\n0\n97 98\n300 1\n", "line 5: no token has the id 300 yet"),
        ("minbpe v1\n\n0\n97 98\n97 98\n", "b'ab' is a token already"),
        ("minbpe v1\n(\n0\n", "split pattern '('"),
        (
            "minbpe v1\n\n0\n97 97\n" + "".join(f"{i} {i}\n" for i in range(256, 320)),
            "makes a token of more than 65,536 bytes",
        ),
    ],
)
def test_what_is_wrong_names_the_line(lines, words, tmp_path):
    path = tmp_path / "x.model"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(tokviz.TokvizError) as caught:
        tokviz.load(path)
    assert words in str(caught.value)


def test_lines_that_double_tokens_make_no_more_than_a_file_is_worth():
    doubling = "".join(f"{i} {i}\n" for i in [97, *range(256, 270)])
    content = f"minbpe v1\n\n0\n{doubling}" + "".join(f"270 {i}\n" for i in range(256))
    with pytest.raises(tokviz.InputFileError, match=r"its tokens have more than 8,00\d,\d+ bytes"):
        read_minbpe(content.encode(), "m.model")
