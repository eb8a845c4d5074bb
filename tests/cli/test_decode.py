from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HELLO_WORLD = [15339, 1917]


@pytest.mark.parametrize(
    "written",
    [
        b"15339 1917",
        b"15339\n1917\n",
        b" 15339,1917,",
        b"[15339, 1917]",
        b"[15339]\r\n[1917]\n",
        b'{"ids": [15339, 1917]}',
        b"\xef\xbb\xbf15339 1917",
        b'\xef\xbb\xbf{"ids": [15339, 1917]}',
        b'\n{"ids": [15339]}\n\n{\n  "ids": [\n    1917]}\n',
    ],
)
def test_ids_may_be_written_in_many_ways(tokviz, written):
    assert tokviz("decode", stdin=written).out == b"hello world"


def test_nothing_decodes_to_nothing(tokviz):
    for nothing in (b"", b" \n", b"[]"):
        result = tokviz("decode", stdin=nothing)
        assert (result.code, result.out, result.err) == (0, b"", "")


def test_a_pipe_gets_the_exact_bytes(tokviz):
    data = b"\x1b\xff\xe4\xb8\x00\r\n"
    ids = tokviz("encode", stdin=data).out
    assert tokviz("decode", stdin=ids).out == data


def test_a_terminal_gets_no_escape_sequence(tokviz, tokviz_on_terminal):
    ids = tokviz("encode", stdin=b"a\x1b[31mb\xff\x9b\nc").out
    shown = tokviz_on_terminal("decode", stdin=ids)
    assert b"\x1b" not in shown
    assert b"\x9b" not in shown.replace("␛".encode(), b"")
    assert shown.startswith(b"a")
    assert shown.endswith(b"c\r\n")


def test_a_terminal_gets_characters_whole_though_their_tokens_are_parts(tokviz, tokviz_on_terminal):
    ids = tokviz("encode", "-t", "gpt2", stdin="界".encode()).text.split()
    assert len(ids) > 1
    shown = tokviz_on_terminal("decode", "-t", "gpt2", stdin=" ".join(ids).encode())
    assert shown.decode() == "界\r\n"


def test_an_id_that_is_not_in_the_vocabulary_is_named_with_its_position(tokviz):
    result = tokviz("decode", stdin=b"15339 1917 100277")
    assert result.code == 2
    assert result.err.startswith("tokviz: standard input: ")
    assert "100277" in result.err
    assert "position 2" in result.err
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        (b"1 2 three", "not a token id at position 2: 'three'"),
        (b"1 2.5", "not a token id at position 1: '2.5'"),
        (b"1 \x1b[31m", "not a token id at position 1"),
        (b"9" * 5000, "not a token id at position 0: '999"),
        (b"-1", "no token has the id -1 (position 0"),
        (b'{"ids": [1, 2', "object 1 is not valid JSON"),
        (b'{"ids": [1]} {"ids": 5}', 'object 2 has no list "ids"'),
        (b'{"ids": [1, true]}', "object 1: not a token id at position 1"),
        (b'{"ids": [1e3]}', "object 1: not a token id at position 0"),
        (b'{"ids": [1], "tokenizer": "gtp2"}', "did you mean gpt2"),
        (b'{"ids": ' + b"[" * 100_000, "object 1 is not valid JSON"),
    ],
)
def test_what_is_no_id_is_named(tokviz, written, complaint):
    result = tokviz("decode", stdin=written)
    assert result.code == 2
    assert complaint in result.err
    assert len(result.err.splitlines()) == 1
    assert "Traceback" not in result.err


def test_the_records_of_encode_know_their_tokenizer(tokviz):
    record = tokviz("encode", "--json", "-t", "gpt2", stdin=b"hello world").out
    assert tokviz("decode", stdin=record).out == b"hello world"
    assert tokviz("decode", "-t", "gpt-4", stdin=record).out != b"hello world"


def test_json_has_text_and_exact_bytes(tokviz):
    ids = tokviz("encode", stdin=b"a\xff").out
    record = json.loads(tokviz("decode", "--json", stdin=ids).out)
    assert record == {
        "file": "-",
        "tokenizer": "cl100k_base",
        "n_tokens": 2,
        "n_bytes": 2,
        "text": "a\ufffd",
        "base64": base64.b64encode(b"a\xff").decode(),
    }


def test_files_are_joined_and_a_bad_one_is_passed_over(tokviz, tmp_path):
    (tmp_path / "a").write_text("15339")
    (tmp_path / "b").write_text("oops")
    (tmp_path / "c").write_text("1917")
    result = tokviz("decode", tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert result.out == b"hello world"
    assert result.code == 2
    assert result.err.startswith(f"tokviz: {tmp_path}/b: ")


@pytest.mark.parametrize(
    "arguments", [("15339", "1917"), ("[15339, 1917]",), ("[15339,", "1917]"), ("15339,1917",)]
)
def test_ids_may_be_the_arguments_themselves(tokviz, arguments):
    done = tokviz("decode", *arguments, stdin=b"not read")
    assert (done.code, done.out, done.err) == (0, b"hello world", "")


def test_an_id_among_the_arguments_that_does_not_exist_is_named_with_its_position(tokviz):
    done = tokviz("decode", "15339", "100277", "-t", "gpt-4")
    assert done.code == 2
    assert done.err.startswith(
        "tokviz: command line: no token has the id 100277 (position 1 of the ids) in cl100k_base"
    )


def test_a_number_among_the_arguments_that_is_too_long_for_an_id_is_no_file(tokviz):
    done = tokviz("decode", "[15339,", "9" * 20, "]")
    assert (done.code, done.out) == (2, b"")
    assert done.err == (f"tokviz: command line: not a token id at position 1: '{'9' * 20}'\n")


def test_a_file_whose_name_is_a_number_is_a_file(tokviz, tmp_path):
    (tmp_path / "1917").write_text("15339")
    environment = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
    assert tokviz("decode", "1917", **environment).out == b"hello"
    assert json.loads(tokviz("decode", "1918", "--json", **environment).out)["file"] is None


def test_a_missing_file_is_told_where_ids_and_texts_go(tokviz):
    assert tokviz("decode", "hello").err == (
        "tokviz: hello: there is no such file; "
        "to pass text: tokviz encode --text hello; ids: tokviz decode 15339 1917\n"
    )


def test_special_tokens_can_be_skipped(tokviz):
    ids = "15339 100257 1917"
    assert tokviz("decode", "-t", "gpt-4", stdin=ids.encode()).out == b"hello<|endoftext|> world"
    skip = ("decode", "-t", "gpt-4", "--skip-special-tokens")
    assert tokviz(*skip, stdin=ids.encode()).out == b"hello world"
    record = json.loads(tokviz(*skip, "--json", stdin=ids.encode()).out)
    assert (record["n_tokens"], record["text"]) == (3, "hello world")
    steps = json.loads(tokviz(*skip, "--stream", "--json", stdin=ids.encode()).out)["steps"]
    assert [step["id"] for step in steps] == [15339, 1917]
    wrong = tokviz(*skip, stdin=b"100257 15339 999999")
    assert "999999 (position 2 of the ids)" in wrong.err
