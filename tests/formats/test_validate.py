"""The report names each problem, its place and its remedy; a valid tokenizer has none."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

import tokviz
from tests.formats.samples import beginning, shuffled, trained
from tokviz.formats.huggingface import to_tokenizer_json
from tokviz.formats.library import LibraryTokenizer
from tokviz.formats.rank_order import unmerged
from tokviz.formats.validate import validate
from tokviz.tokenizer.report import FileFinding, Report

BASE = {byte: bytes([byte]) for byte in range(256)}
CONTENT = json.loads(to_tokenizer_json(trained("gpt4", ("<|endoftext|>",))))


def codes(report):
    return {(finding.severity, finding.code) for finding in report.findings}


def write(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_a_sound_file_is_compared_with_the_library(tmp_path):
    pytest.importorskip("tokenizers")
    report = validate(write(tmp_path, CONTENT))
    assert report.findings == ()
    assert any("library gives the same ids" in check for check in report.checks)
    assert "every token of several bytes is made by merges" in report.checks
    assert report.worst is None


def test_built_in_tokenizers_are_sound():
    assert validate("gpt2").worst in (None, "note")
    assert validate(beginning("qwen2")).worst in (None, "note")


def test_a_library_that_disagrees_is_an_error(tmp_path, monkeypatch):
    real = LibraryTokenizer.encode

    def other(self, text, specials="all"):
        return real(self, text + "!", specials)

    monkeypatch.setattr(LibraryTokenizer, "encode", other)
    report = validate(write(tmp_path, CONTENT))
    assert ("error", "library-differs") in codes(report)


def test_every_kind_of_fault_is_found():
    vocab = BASE | {257: b"ab", 258: b"abc", 260: b"zq"}
    tok = tokviz.Tokenizer(
        vocab, [(b"ab", b"c"), (b"a", b"b"), (b"a", b"b")], {"ab": 270}, split_pattern="gpt4"
    )
    report = validate(tok)
    assert codes(report) == {
        ("warning", "early-merge"),
        ("warning", "duplicate-merge"),
        ("warning", "special-is-token"),
        ("warning", "unmerged"),
        ("note", "gapped-ids"),
    }
    text = "\n".join(map(str, report.findings))
    assert "merge 1: no merge before makes its part b'ab'" in text
    assert "merge 3: b'a' + b'b' is listed before" in text
    assert "1 token is made by no merge of their bytes: 260 b'zq'" in text
    assert "special token 0: 'ab' is an ordinary token too" in text
    assert "ids below the largest have no token, first 256" in text


@pytest.mark.parametrize(
    ("merges", "early"),
    [
        ([(b"a", b"b"), (b"ab", b"c"), (b"a", b"b")], None),
        ([(b"b", b"c"), (b"a", b"bc"), (b"b", b"c")], None),
        ([(b"ab", b"c"), (b"a", b"b")], "merge 1: no merge before makes its part b'ab'"),
        ([(b"c", b"ab"), (b"a", b"b")], "merge 1: no merge before makes its part b'ab'"),
        ([(b"a", b"b"), (b"bc", b"a"), (b"b", b"c")], "merge 2: no merge before makes its part"),
    ],
)
def test_a_merge_is_early_only_before_its_parts_are_made(merges, early):
    """Also in a list with another problem, which is checked merge by merge."""
    vocab = [*BASE.values(), *dict.fromkeys(left + right for left, right in merges)]
    report = validate(tokviz.Tokenizer(dict(enumerate(vocab)), merges, split_pattern="gpt4"))
    found = [str(finding) for finding in report.findings if finding.code == "early-merge"]
    assert len(found) == (early is not None)
    assert all(early in text for text in found)
    assert ("warning", "duplicate-merge" if early is None else "early-merge") in codes(report)


def test_a_list_of_every_way_to_build_a_token_is_one_note():
    """So transformers converts tiktoken's files: also ways by a part with a later rank."""
    tokens = [b"  ", b"    ", b"   ", b"     "]
    ways = [(token[:i], token[i:]) for token in tokens for i in range(1, len(token))]
    merges = [way for way in ways if {*way} <= {b" ", *tokens}]
    vocab = dict(enumerate([*BASE.values(), *tokens]))
    report = validate(tokviz.Tokenizer(vocab, merges, split_pattern="gpt4"))
    assert [(finding.severity, str(finding)) for finding in report.findings] == [
        (
            "note",
            "merge 2: another merge makes b'    ' before its part b'   ' is made (and 1 more like "
            "it): a file converted from tiktoken lists every way to build a token; the ids are "
            "right",
        )
    ]


def test_unmerged_tokens_are_exactly_those_whose_bytes_do_not_give_them():
    tok = tokviz.Tokenizer(BASE | {256: b"ab", 257: b"bc", 258: b"abc"}, [
        (b"b", b"c"), (b"a", b"b"), (b"ab", b"c")
    ], split_pattern="none")  # fmt: skip
    assert [tok.token_id(token) for token in unmerged(tok)] == [258]
    assert tok.encode("abc") != [258]
    assert list(unmerged(shuffled())) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c["model"]["merges"].append("q q"), "the product b'qq' is not a token"),
        (lambda c: c["model"]["vocab"].pop("he"), "the product b'he' is not a token"),
        (
            lambda c: c["model"]["vocab"].update({"zz": 97}),
            "(model.vocab['zz']): the id 97 is also",
        ),
        (
            lambda c: c["added_tokens"][0].update(content="zz", id=len(c["model"]["vocab"])),
            "",
        ),
    ],
    ids=range(4),
)
def test_a_broken_file_has_its_place_named(change, words, tmp_path):
    content = json.loads(json.dumps(CONTENT))
    change(content)
    report = validate(write(tmp_path, content))
    text = "\n".join(map(str, report.findings))
    assert words in text
    assert (report.worst == "error") == bool(words)


def test_all_errors_of_a_rank_file_are_listed(tmp_path):
    lines = b"".join(b"%s %d\n" % (b64encode(bytes([i])), i) for i in range(250))
    path = tmp_path / "x"
    path.write_bytes(lines + b"YWI= 7\nYWI= 260\n")
    report = validate(path)
    assert {code for severity, code in codes(report) if severity == "error"} == {
        "missing-bytes",
        "duplicate-id",
        "duplicate-token",
    }
    assert all(finding.remedy for finding in report.findings)
    assert report.findings[0].severity == "error"


def test_what_cannot_be_read_is_an_error_in_the_report(tmp_path):
    report = validate(tmp_path / "no.json")
    assert [finding.code for finding in report.findings] == ["unreadable"]
    assert "there is no such file" in str(report.findings[0])


def test_findings_are_sorted_and_read_as_sentences():
    note, error = (
        FileFinding("note", "n", "", "it is so"),
        FileFinding("error", "e", "line 3", "is bad", "mend it"),
    )
    report = Report("x").joined([note, error])
    assert report.findings == (error, note)
    assert str(error) == "line 3: is bad: mend it"
    assert str(note) == "it is so"
