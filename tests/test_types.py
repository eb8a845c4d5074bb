"""What type checkers say about programs that use tokviz."""

from __future__ import annotations

from pathlib import Path

from mypy import api

RIGHT = """
from collections.abc import Sequence

import tokviz

tok: tokviz.Tokenizer = tokviz.load("gpt2")
ids: list[int] = tok.encode("Hello", allowed_special={"<|endoftext|>"})
tok.encode("Hello", "none")
tok.encode("Hello", ["<|endoftext|>"])
text: str = tok.decode(ids)
data: bytes = tok.decode_bytes(tok.encode_batch(["a", "b"])[0])
spans = tok.tokenize("Hello").byte_spans.tolist()
run: tokviz.TrainingRun = tokviz.train(["low lower"], 260, split_pattern="gpt4")
merges: Sequence[tuple[bytes, bytes]] = run.tokenizer.merges
rendering: tokviz.Rendering = tokviz.render(
    tok, {"messages": [{"role": "user", "content": "Hi"}]}, "chatml", specials="transformers"
)
rows = tokviz.compression_report([tok, "gpt2"], {"name": "text"})
counts: tuple[int, ...] = tokviz.compare("text", ["gpt2", tok]).counts
n: int = tok.count("text", "none")
texts: list[str] = tok.decode_batch([[1], [2]])
tokens: list[bytes] = tok.tokenize("text").tokens
tokviz.render("gpt2", [{"role": "user", "content": "Hi"}])
"""

WRONG = {
    'tokviz.lod("gpt2")': "attr-defined",
    "tokviz.load(1)": "arg-type",
    'tok.encode("a", allowed_special="nonsense")': "arg-type",
    'tok.encode(b"a")': "arg-type",
    "tok.encode(None)": "arg-type",
    'tok.encode("a", add_special_token=True)': "call-arg",
    'tok.decode("a")': "arg-type",
    'tokviz.train("a", "300")': "arg-type",
    'tokviz.train(["a"], 300, special_ids="middle")': "arg-type",
    "tokviz.render(tok, [], specials=1)": "arg-type",
    "tok.tokenize(1)": "arg-type",
    "tok.decode_batch([1])": "list-item",
    "tokviz.diff(tok, 1)": "arg-type",
    "tok.tokenize('a').pieces": "attr-defined",
    'x: str = tok.encode("a")': "assignment",
}


def test_wrong_lines_are_errors_and_no_others(tmp_path: Path) -> None:
    def errors(program: str) -> list[str]:
        file = tmp_path / "program.py"
        file.write_text(program)
        cache = f"--cache-dir={tmp_path / 'cache'}"
        found, problem, _ = api.run(["--strict", cache, "--config-file=", str(file)])
        assert not problem
        return [line for line in found.splitlines() if ": error:" in line]

    assert errors(RIGHT) == []
    start = 'import tokviz\n\ntok = tokviz.load("gpt2")\n'
    found = errors(start + "\n".join(WRONG))
    lines = [int(line.split(":")[1]) for line in found]
    assert sorted({*lines}) == [*range(4, 4 + len(WRONG))]
    for line, (wrong, code) in zip(
        sorted(found, key=lambda it: int(it.split(":")[1])), WRONG.items(), strict=True
    ):
        assert f"[{code}]" in line, (wrong, line)
