"""Explanations of the library's encodings: their steps lead to the library's ids."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given

from tests.formats.samples import TEXT
from tests.oracles.nasty import texts
from tests.profiles import examples
from tokviz.explain.algorithms.story import MOST_STORIES, Story
from tokviz.formats.byte_level import from_characters
from tokviz.process.jobs.library_stories import LibraryStories

hf = pytest.importorskip("tokenizers")
pre, models, norm, trainers = hf.pre_tokenizers, hf.models, hf.normalizers, hf.trainers
SPECIALS = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
CORPUS = [TEXT, "naïve façade déjà vu 你好 世界 ½ ﬁne Ａｂｃ Tôi học tiếng Việt\n"] * 3
SPACES = norm.Replace(" ", "▁")
SPLIT = hf.Regex(r"\p{L}+|\p{N}|[^\s\p{L}\p{N}]+")


def bpe(size=400, specials=SPECIALS, trained=(), **options):
    affixes = {key: value for key, value in options.items() if key.endswith(("prefix", "suffix"))}
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(specials), **affixes, **dict(trained)
    )
    return models.BPE(**options), trainer


def unigram(specials=SPECIALS, **options):
    trainer = trainers.UnigramTrainer(
        vocab_size=300 + len(specials), special_tokens=list(specials), unk_token="<unk>"
    )
    return models.Unigram(**options), trainer


def wordpiece(**options):
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=SPECIALS)
    return models.WordPiece(unk_token="<unk>", **options), trainer


FALLBACK = {"byte_fallback": True, "unk_token": "<unk>", "fuse_unk": True}
ALPHABET = {"initial_alphabet": pre.ByteLevel.alphabet()}
SENTENCEPIECE = 700, [*SPECIALS, *BYTES]
LLAMA = norm.Sequence([norm.Prepend("▁"), SPACES])
GEMMA = pre.Split(" ", "merged_with_previous")
FIRST = pre.Metaspace(prepend_scheme="first")
KINDS = {
    "llama2": (*bpe(*SENTENCEPIECE, **FALLBACK), LLAMA, None),
    "gemma": (*bpe(*SENTENCEPIECE, **FALLBACK), SPACES, GEMMA),
    "ignore_merges": (*bpe(*SENTENCEPIECE, ignore_merges=True, **FALLBACK), None, pre.Metaspace()),
    "fuse_unk": (*bpe(unk_token="<unk>", fuse_unk=True), norm.NFKC(), pre.Metaspace()),
    "no fuse_unk": (*bpe(unk_token="<unk>"), norm.NFD(), pre.Metaspace()),
    "no unk": (*bpe(), None, pre.Whitespace()),
    "clip": (
        *bpe(end_of_word_suffix="</w>", unk_token="<unk>"),
        norm.Sequence([norm.NFC(), norm.Replace(hf.Regex(r"\s+"), " "), norm.Lowercase()]),
        pre.Split(SPLIT, "removed", invert=True),
    ),
    "continuing": (*bpe(continuing_subword_prefix="##", unk_token="<unk>"), None, pre.Whitespace()),
    "byte level": (*bpe(trained=ALPHABET), norm.NFKC(), pre.ByteLevel(add_prefix_space=True)),
    "unigram": (*unigram(), norm.NFKC(), pre.Metaspace()),
    "unigram without pre-tokenizer": (*unigram(), norm.Sequence([norm.NFKC(), SPACES]), None),
    "unigram bytes": (*unigram([*SPECIALS, *BYTES]), norm.NFKC(), FIRST),
    "wordpiece": (*wordpiece(), norm.BertNormalizer(), pre.BertPreTokenizer()),
    "wordpiece short": (*wordpiece(max_input_chars_per_word=9), None, pre.WhitespaceSplit()),
    "wordlevel": (
        models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(special_tokens=SPECIALS),
        norm.Lowercase(), pre.Whitespace(),
    ),
}  # fmt: skip
"""Models with their trainers, normalizers and pre-tokenizers."""


def trained(kind):
    """Train a tokenizer."""
    model, trainer, normalizer, pre_tokenizer = KINDS[kind]
    tok = hf.Tokenizer(model)
    if normalizer is not None:
        tok.normalizer = normalizer
    if pre_tokenizer is not None:
        tok.pre_tokenizer = pre_tokenizer
    tok.train_from_iterator(CORPUS, trainer)
    # `Prepend` and `BertNormalizer` add text at the borders of added tokens in normalized text.
    is_normalized = kind not in ("llama2", "wordpiece")
    added = [
        hf.AddedToken("wo ", normalized=is_normalized),
        hf.AddedToken("<m>", lstrip=True, normalized=is_normalized),
    ]
    tok.add_tokens(added)
    if kind != "unigram bytes":
        return tok
    content = json.loads(tok.to_str())
    content["model"]["byte_fallback"] = True
    return hf.Tokenizer.from_str(json.dumps(content))


def shown(spelling):
    return from_characters(spelling.decode())


class Explained:
    """A tokenizer whose encodings are explained."""

    def __init__(self, kind):
        self.library = trained(kind)
        self.stories = LibraryStories(self.library, shown if kind == "byte level" else bytes)

    def check(self, text):
        """Explain all pre-tokens of a text; return how many were explained and verified."""
        found = self.library.encode(text, add_special_tokens=False)
        done, n_stories = 0, 0
        while done < len(found.ids):
            answer = self.stories.answer(text, found, done, len(found.ids))
            for body in answer["stories"]:
                assert "problem" not in body, (text, body)
                if "story" in body:
                    story = Story.unpacked(body["story"])
                    ids = found.ids[body["first"] : body["stop"]]
                    assert [token_id for _, token_id in story.tokens] == ids
                    n_stories += 1
                assert body["first"] <= done < body["stop"]
                done = body["stop"]
            assert len(answer["stories"]) <= MOST_STORIES
        return n_stories


@pytest.fixture(scope="module", params=KINDS)
def explained(request):
    return Explained(request.param)


@examples(40)
@given(text=texts)
def test_the_steps_lead_to_the_ids_of_the_library(explained, text):
    explained.check(text)


def test_hundreds_of_pre_tokens_are_explained(explained):
    rng = random.Random(49)
    words = [word for text in CORPUS for word in text.split()]
    words += ["<s>", "<m>", " <m> ", "wo ", "☃", "☃☃", "e\u0301", "\r\n", "\t", "  ", "…", "12"] * 5
    words += ["".join(rng.choices("abcdefghinorstuvw", k=rng.randrange(1, 14))) for _ in range(60)]
    n = 0
    while n < 300:
        n += explained.check(rng.choice(["", " ", " "]).join(rng.choices(words, k=20)))
