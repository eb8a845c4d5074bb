from __future__ import annotations

import gzip
import json
import shlex
from base64 import b64encode
from itertools import pairwise

import pytest

import tokviz as core
from tests.formats.samples import trained

NASTY = (
    b"\xef\xbb\xbfhello\r\nworld\r\0\x1b[31m na\xc3\xafve \xff\xfe\xe4\xb8 \xe2\x80\xa8\x0b\x0c"
    b" \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9 <|endoftext|>  \n"
)


def test_ids_are_on_one_line(tokviz, tmp_path):
    (tmp_path / "a.txt").write_text("hello world")
    assert tokviz("encode", tmp_path / "a.txt").text == "15339 1917\n"


def test_standard_input_is_read_where_no_file_is_given(tokviz):
    assert tokviz("encode", stdin=b"hello world").text == "15339 1917\n"
    assert tokviz("encode", "-", stdin=b"hello world").text == "15339 1917\n"


def test_an_empty_input_is_an_empty_line(tokviz):
    assert tokviz("encode").out == b"\n"


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base", "qwen2"])
def test_decode_gives_every_byte_back(tokviz, name):
    ids = tokviz("encode", "-t", name, stdin=NASTY).out
    assert tokviz("decode", "-t", name, stdin=ids).out == NASTY


def test_the_nth_line_belongs_to_the_nth_file_even_if_one_is_missing(tokviz, tmp_path):
    (tmp_path / "a").write_text("hello")
    (tmp_path / "c").write_text(" world")
    result = tokviz("encode", tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert result.text == "15339\n\n1917\n"
    assert result.err == f"tokviz: {tmp_path}/b: there is no such file\n"
    assert result.code == 2


@pytest.mark.parametrize("command", ["encode", "show"])
def test_a_guessed_split_pattern_is_said(tokviz, tmp_path, command):
    path = tmp_path / "some.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (b64encode(bytes([i])), i) for i in range(256)))
    said = tokviz(command, "-t", path, stdin=b"hi").err
    assert said == (
        f"tokviz: note: {path}: the split pattern gpt4 is a guess: a rank file holds none; "
        "set another with --split-pattern\n"
    )
    assert tokviz(command, "-t", path, "--split-pattern", "gpt2", stdin=b"hi").err == ""
    # Commands without this option do not mention it.
    guessed = said.replace("; set another with --split-pattern", "")
    for others in (["compare", "-t", "gpt2"], ["eval"]):
        assert tokviz(*others, "-t", path, stdin=b"hi").err == guessed
    both = b'{"ids": [104]}\n{"ids": [105]}'
    assert tokviz("drift", "-t", path, stdin=both).err == guessed


def test_hugging_faces_own_way_with_specials_is_there_by_name(tokviz, tmp_path):
    trained = core.train(["hi there"], 260, special_tokens=["<|endoftext|>"]).tokenizer
    trained.save(tmp_path / "tokenizer.json")
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    think = {"id": trained.n_vocab, "content": "<think>", "special": False}
    content["added_tokens"].append(content["added_tokens"][0] | think)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    text = "<think>hi<|endoftext|>"

    def ids(specials: str) -> list[int]:
        options = ("-t", tmp_path / "tokenizer.json", "--specials", specials)
        counted = json.loads(tokviz("count", *options, "--json", stdin=text.encode()).text)
        found = json.loads(tokviz("encode", *options, "--spans", stdin=text.encode()).text)
        assert counted["n_tokens"] == len(found["byte_spans"])
        assert found["byte_spans"][-1][1] == len(text)
        return found["ids"]

    rest = "hi<|endoftext|>"
    assert ids("parsed") == [trained.n_vocab, *trained.encode(rest)]
    assert ids("text") == trained.encode(text, "none")
    assert ids("huggingface") == [trained.n_vocab, *trained.encode(rest, "none")]


def test_special_tokens_are_parsed_or_text(tokviz):
    assert tokviz("encode", stdin=b"<|endoftext|>").text == "100257\n"
    as_text = tokviz("encode", "--specials", "text", stdin=b"<|endoftext|>").text.split()
    assert "100257" not in as_text
    assert len(as_text) > 1


def test_the_environment_names_the_tokenizer_and_the_option_overrules_it(tokviz, monkeypatch):
    monkeypatch.setenv("TOKVIZ_TOKENIZER", "gpt2")
    assert tokviz("encode", stdin=b"hello world").text == "31373 995\n"
    assert tokviz("encode", "-t", "gpt-4", stdin=b"hello world").text == "15339 1917\n"


def test_json_says_everything_about_an_input(tokviz, tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes("naïve\xa0".encode() + b"\xff")
    (line,) = tokviz("encode", "--json", "-t", "gpt-4", file).text.splitlines()
    record = json.loads(line)
    ids = core.load("cl100k_base").encode_bytes(file.read_bytes())
    assert record == {
        "file": str(file),
        "tokenizer": "cl100k_base",
        "specials": "parsed",
        "n_tokens": len(ids),
        "n_chars": 7,
        "n_bytes": 9,
        "bytes_per_token": round(9 / len(ids), 6),
        "ids": ids,
    }


def test_spans_tile_the_bytes_and_tokens_say_what_is_in_them(tokviz):
    record = json.loads(tokviz("encode", "--spans", stdin=NASTY).out)
    spans = record["byte_spans"]
    assert spans[0][0] == 0
    assert spans[-1][1] == len(NASTY)
    assert all(left[1] == right[0] for left, right in pairwise(spans))
    expected = [NASTY[a:b].decode("utf-8", "backslashreplace") for a, b in spans]
    assert record["tokens"] == expected


def test_json_holds_no_raw_control_character(tokviz):
    out = tokviz("encode", "--spans", stdin=NASTY).out
    assert all(0x20 <= byte < 0x7F for byte in out.rstrip(b"\n"))


def test_an_unknown_tokenizer_is_a_usage_error_that_offers_names(tokviz):
    result = tokviz("encode", "-t", "gpt-4p")
    assert result.code == 2
    assert result.out == b""
    assert result.err.startswith("tokviz: unknown tokenizer 'gpt-4p'")
    assert "gpt-4" in result.err


@pytest.mark.parametrize("command", ["encode", "show"])
@pytest.mark.parametrize("text", ["hello world", "What is this? A.", "hello"])
def test_a_text_where_a_file_is_expected_is_told_where_it_goes(tokviz, command, text):
    result = tokviz(command, text)
    assert result.code == 2
    assert result.err == (
        f"tokviz: {text}: there is no such file; "
        f"to pass text: tokviz {command} --text {shlex.quote(text)}\n"
    )


def test_a_missing_file_that_can_only_be_one_gets_no_hint(tokviz):
    assert tokviz("encode", "notes.md").err == "tokviz: notes.md: there is no such file\n"


def test_a_text_may_be_given_itself(tokviz, tmp_path):
    assert tokviz("encode", "--text", "hello world").text == "15339 1917\n"
    assert tokviz("count", "--text", "hello world").text.split() == ["2", "11", "11", "5.50"]
    assert tokviz("encode", "--text", "").text == "\n"
    raw = tokviz("encode", "--text", b"a\xff\n".decode("utf-8", "surrogateescape"))
    assert raw.text == tokviz("encode", stdin=b"a\xff\n").text
    file = tmp_path / "a.txt"
    file.write_text("hello")
    done = tokviz("count", file, "--text", "hello world", stdin=b"not read")
    names = [line.split()[-1] for line in done.text.splitlines()]
    assert names == ["--text", str(file), "total"]


def test_json_of_a_text_names_no_file(tokviz):
    for command in ("encode", "count"):
        assert json.loads(tokviz(command, "--text", "hi", "--json").out)["file"] is None


def test_two_texts_are_one_too_many(tokviz):
    done = tokviz("encode", "--text", "a", "--text", "b")
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("tokviz: --text is given twice (")


@pytest.fixture
def with_bos_and_eos(tmp_path):
    hf = pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    trained("gpt4", ("<s>", "</s>")).save(path)
    theirs = hf.Tokenizer.from_file(str(path))
    bos, eos = ((text, theirs.token_to_id(text)) for text in ("<s>", "</s>"))
    theirs.post_processor = hf.processors.TemplateProcessing("<s> $A </s>", None, [bos, eos])
    theirs.save(str(path))
    return path, theirs


def test_special_tokens_are_added_once_around_each_input(tokviz, tmp_path, with_bos_and_eos):
    path, theirs = with_bos_and_eos
    texts = ["low lower " * 60_000, "", "low <s>"]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    files = [tmp_path / f"{number}.txt" for number in range(len(texts))]
    added = tokviz("encode", "-t", path, "--add-special-tokens", *files)
    assert added.text.splitlines() == [" ".join(map(str, theirs.encode(t).ids)) for t in texts]
    plain = tokviz("encode", "-t", path, files[2])
    assert plain.text.split() == [*map(str, theirs.encode(texts[2]).ids[1:-1])]
    back = tokviz("decode", "-t", path, "--skip-special-tokens", stdin=added.out)
    assert back.text == "".join(texts).replace("<s>", "")


def test_added_special_tokens_have_empty_spans(tokviz, with_bos_and_eos):
    path, theirs = with_bos_and_eos
    done = tokviz("encode", "-t", path, "--add-special-tokens", "--spans", "--text", "low")
    record = json.loads(done.out)
    assert record["ids"] == theirs.encode("low").ids
    assert record["n_tokens"] == len(record["ids"]) == len(record["byte_spans"])
    assert (record["byte_spans"][0], record["byte_spans"][-1]) == ([0, 0], [3, 3])
    assert (record["tokens"][0], record["tokens"][-1]) == ("<s>", "</s>")


def test_a_post_processor_that_cannot_be_followed_ends_before_any_output(tokviz, with_bos_and_eos):
    path, _ = with_bos_and_eos
    content = json.loads(path.read_text())
    content["post_processor"]["single"] *= 2
    path.write_text(json.dumps(content))
    done = tokviz("encode", "-t", path, "--add-special-tokens", "--text", "low")
    assert (done.code, done.out) == (2, b"")
    assert "cannot add what its post-processor (TemplateProcessing) adds around a text" in done.err
    assert tokviz("encode", "-t", path, "--text", "low").code == 0


def test_documents_of_corpus_files_are_lines_of_ids(tokviz, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "hello world"}\n{"text": " hello"}\n')
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"hello"))
    assert tokviz("encode", "--field", "text", tmp_path).text == "15339 1917\n24748\n15339\n"
