from __future__ import annotations

import json

import pytest

import tokviz as tokviz_package
from tests.formats.samples import trained
from tokviz.cli.main import main
from tokviz.formats.registry import BUILTIN_TOKENIZERS, OTHER_TOKENIZERS
from tokviz.training.run_library import runs_folder


def test_every_tokenizer_is_a_line_that_begins_with_its_name(tokviz):
    lines = tokviz("tokenizers").text.splitlines()
    others = lines[len(BUILTIN_TOKENIZERS) :]
    assert [line.split()[0] for line in others] == [other.name for other in OTHER_TOKENIZERS]
    assert any("not been public since Claude 3" in line for line in others)
    lines = lines[: -len(others)]
    assert [line.split()[:2] for line in lines] == [
        [builtin.name, str(builtin.n_tokens)] for builtin in BUILTIN_TOKENIZERS
    ]
    assert all(
        alias in line
        for line, builtin in zip(lines, BUILTIN_TOKENIZERS, strict=True)
        for alias in builtin.aliases
    )


def test_json_says_everything_about_each(tokviz):
    records = [json.loads(line) for line in tokviz("tokenizers", "--json").text.splitlines()]
    gpt2 = next(record for record in records if record["name"] == "gpt2")
    assert gpt2["special_tokens"] == {"<|endoftext|>": 50256}
    assert gpt2["n_vocab"] == 50257
    assert gpt2["split_pattern"] == "gpt2"
    assert "r50k_base" in gpt2["aliases"]
    assert len(records) == len(BUILTIN_TOKENIZERS)


def test_a_file_below_the_home_folder_is_checked(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    trained("gpt4").save(tmp_path / "tokenizer.json")
    assert main(["tokenizers", "--check", "~/tokenizer.json"]) == 0
    assert "Hugging Face's library gives the same ids" in capsys.readouterr().out
    (tmp_path / "x.tiktoken").write_bytes(b"IQ== 0\nIg== 0\n")
    assert main(["tokenizers", "--check", "~/x.tiktoken"]) == 1
    assert "254 of the 256 single bytes have no token" in capsys.readouterr().out


@pytest.mark.parametrize("builtin", BUILTIN_TOKENIZERS, ids=lambda builtin: builtin.name)
def test_every_name_listed_stands_for_its_tokenizer(builtin, tmp_path, capsys):
    text = "naïve 12345 你好 they'll    unbelievably"
    (tmp_path / "text").write_text(text, "utf-8")
    expected = tokviz_package.load(builtin.name).encode(text)
    data = (builtin.vocabulary, builtin.split_pattern)
    others = [b.name for b in BUILTIN_TOKENIZERS if data != (b.vocabulary, b.split_pattern)]
    assert all(tokviz_package.load(other).encode(text) != expected for other in others)
    for name in (builtin.name, *builtin.aliases):
        assert main(["encode", "-t", name, str(tmp_path / "text")]) == 0
        assert [int(number) for number in capsys.readouterr().out.split()] == expected


def test_trained_ones_are_listed_first_and_go_by_their_names(tmp_path, capsys):
    folder = runs_folder() / "mine"
    tokviz_package.train(["abab" * 9], 258).save(folder)
    assert main(["tokenizers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["mine", "258"] and "gpt4 · ties: first" in lines[0]
    assert lines[1].startswith(BUILTIN_TOKENIZERS[0].name)
    assert main(["tokenizers", "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (record["name"], record["folder"]) == ("mine", str(folder))

    (tmp_path / "text").write_text("abab")
    expected = tokviz_package.load(folder).encode("abab")
    assert main(["encode", "-t", "mine", str(tmp_path / "text")]) == 0
    assert list(map(int, capsys.readouterr().out.split())) == expected
    assert main(["replay", "mine", "--print", "--steps", "1"]) == 0
    assert main(["tokenizers", "--check", "mine"]) == 0
    capsys.readouterr()
    assert main(["count", "-t", "mone", str(tmp_path / "text")]) == 2
    assert "did you mean mine" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["tokenizers", "--check"], ["count", "-t"]], ids=["check", "t"]
)
def test_a_name_that_is_wrong_by_a_letter_is_answered_with_those_of_trainings(arguments, capsys):
    tokviz_package.train(["abab" * 9], 258).save(runs_folder() / "harbour")
    assert main([*arguments, "harbor"]) == 2
    assert "did you mean harbour?" in capsys.readouterr().err


def test_whoever_looks_on_hears_that_the_hub_is_asked(monkeypatch, capsys):
    assert main(["tokenizers", "--check", "hf:a/b/c"]) == 2
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["tokenizers", "--check", "hf:a/b/c"]) == 2
    assert "loading a/b/c from the Hugging Face Hub…" in capsys.readouterr().err
