"""Offsets of tokens in characters: the same for all tokens at once as one by one."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles import offsets
from tests.profiles import examples
from tokviz.tokenizer.encoding.normalization import Normalizer
from tokviz.tokenizer.encoding.specials import PostProcessor

TEXTS = st.lists(
    st.sampled_from(
        [" ", "  ", "a", "the", "\n", "é", "e\u0301", "世界", "😀", "\udce9", " x", "<|im_end|>"]
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("name", ["gpt2", "qwen2"])
@pytest.mark.parametrize("trims", [False, True])
@examples(150)
@given(text=TEXTS)
def test_all_at_once_is_as_one_by_one(name, trims, text):
    tokenizer = tokviz.load(name)
    tokenizer.post_processor = PostProcessor(trims_offsets=trims)
    ids = tokenizer.byte_text.encode(text).tolist()
    for lasts in (None, tokenizer.byte_text.tokenize(text).byte_spans[:, 1]):
        starts, ends = tokenizer.char_offsets(text, ids, lasts)
        found = [*zip(starts.tolist(), ends.tolist(), strict=True)]
        assert found == [*offsets.char_offsets(tokenizer, text, ids)]


CLUSTERS = st.text(
    st.sampled_from("a e\u0301\u0323\u2126\uf900\u1100\u1161\u11a8\uac00\U0001f600\u0344é"),
    max_size=14,
)


@examples(300)
@given(text=CLUSTERS)
def test_places_in_normalized_text_are_found_cluster_by_cluster(text):
    normalizer = Normalizer("NFC")
    nfc = normalizer.apply
    clusters = regex.findall(r"[\s\S](?:[\p{M}\u1160-\u11FF\uD7B0-\uD7FF])*+", text)
    if "".join(map(nfc, clusters)) != nfc(text):
        clusters = [text]
    places: list[int] = []
    at = 0
    for cluster in clusters:
        n, n_made = len(cluster), len(nfc(cluster))
        is_same = nfc(cluster) == cluster
        places += range(at, at + n) if is_same else [at, *[at + n] * (n_made - 1)]
        at += n
    assert normalizer.origins(text, len) == [*places, at]


def test_sizes_of_tokens_by_id():
    for tokenizer in (
        tokviz.load("gpt2"),
        tokviz.train(["the theme"], 260, split_pattern="gpt2").tokenizer,
    ):
        sizes = tokenizer.token_sizes
        assert len(sizes) == tokenizer.n_vocab
        assert all(sizes[i] == len(token) for i, token in tokenizer.vocab.items())
    gaps = tokviz.Tokenizer({0: b"a", 5: b"b"}, [], {"<s>": 9}, split_pattern="gpt2")
    assert gaps.token_sizes.tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 0, 3]
