"""`tokviz replay`: merges as text and JSON, and comparisons of trainings."""

from __future__ import annotations

import json

import pytest

import tokviz as package
from tokviz.cli import replay as command
from tokviz.cli.replay_frames import frames, line

TINY = """\
before merge 1 of 2
  corpus      8 tokens, 1 distinct pre-token
              a b a b a b c b
merge 1 of 2: a + b → ab  (id 256)
  why         a + b occurs 3 times, more than any other pair; b + a follows with 2, 1 fewer.
  candidates  [a + b 3], b + a 2, b + c 1, c + b 1
  corpus      8 → 5 tokens
    before    [a b] [a b] [a b] c b
    after     [ab] [ab] [ab] c b
merge 2 of 2: ab + ab → abab  (id 257)
  why         ab + ab occurs twice, more than any other pair; ab + c follows with 1, 1 fewer. \
The merge makes 1 replacement, not 2: occurrences that overlap share a token, and a token is \
merged only once.
  candidates  [ab + ab 2], ab + c 1, c + b 1
  corpus      5 → 4 tokens
    before    [ab ab] ab c b
    after     [abab] ab c b
"""


@pytest.fixture
def tiny(tmp_path):
    package.train(["abababcb"], 258, split_pattern="none").save(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def words(tmp_path):
    text = " ".join(f"word{n % 17} other{n % 5}" for n in range(200))
    for rule in ("first", "lexicographic"):
        run = package.train([text], 290, split_pattern="gpt2", tie_break=rule)
        run.save(tmp_path / rule)
    return tmp_path


def records_of(result):
    assert (result.code, result.err) == (0, "")
    return [json.loads(line) for line in result.text.splitlines()]


def test_the_textbook_example_is_printed_whole(tokviz, tiny):
    result = tokviz("replay", tiny, "--print")
    assert (result.code, result.err, result.text) == (0, "", TINY)


def test_overlapping_occurrences_are_told_from_replacements(tokviz, tmp_path):
    package.train(["aaabdaaabac"], 257, split_pattern="none").save(tmp_path / "minbpe")
    result = tokviz("replay", tmp_path / "minbpe", "--print", "--at", 1)
    assert "a + a occurs 4 times" in result.text
    assert "The merge makes 2 replacements, not 4: occurrences that overlap share" in result.text
    assert "corpus      11 → 9 tokens" in result.text


def test_one_merge_and_some_merges(tokviz, tiny):
    assert tokviz("replay", tiny, "--print", "--at", 2).text == "".join(TINY.splitlines(True)[-6:])
    first = tokviz("replay", "--print", "--steps", 1, "-t", tiny).text
    assert first.splitlines()[0].startswith("merge 1 of 2")
    assert first.endswith("… 1 more merge: use --at K or --steps N\n")


def test_a_text_is_shown_at_every_step(tokviz):
    result = tokviz("replay", "gpt2", "--print", "--at", 2, "--text", "a theater")
    assert (result.code, result.err) == (0, "")
    assert result.text == (
        "merge 2 of 50,000: · + a → ·a  (id 257)\n"
        "  why         · + a was recovered from the vocabulary; its count is unknown.\n"
        "  text        8 → 8 tokens\n"
        "    before    a ·t h e a t e r\n"
        "    after     a ·t h e a t e r\n"
        "… 49,998 more merges: use --at K or --steps N\n"
    )
    third = tokviz("replay", "gpt2", "--print", "--at", 3, "--text", "a theater").text
    assert "    before    a ·t [h e] a t e r\n    after     a ·t [he] a t e r\n" in third


def test_text_comes_from_a_file_or_a_pipe(tokviz, tmp_path):
    (tmp_path / "t.txt").write_bytes(b"th\xff")
    named = tokviz("replay", "gpt2", "--print", "--at", 20, "--text", f"@{tmp_path}/t.txt")
    piped = tokviz("replay", "gpt2", "--print", "--at", 20, "--text", "@-", stdin=b"th\xff")
    assert named.text == piped.text
    assert "‹ff›" in named.text
    missing = tokviz("replay", "gpt2", "--print", "--text", "@/no/file")
    assert (missing.code, missing.err) == (2, "tokviz: /no/file: there is no such file\n")
    assert "; without @ it is the text itself" in tokviz("replay", "gpt2", "--text", "@none").err


def test_no_escape_gets_out_in_a_pipe_and_colour_lights_up_on_a_terminal(
    tokviz, tokviz_on_terminal, tiny, monkeypatch
):
    assert b"\x1b" not in tokviz("replay", tiny, "--print").out
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert b"\x1b[1;7m[a b]\x1b[0m" in tokviz_on_terminal("replay", tiny, "--print")
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b" not in tokviz_on_terminal("replay", tiny, "--print")


def test_what_a_text_holds_never_reaches_the_terminal_raw(tokviz_on_terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    shown = tokviz_on_terminal(
        "replay", "gpt2", "--print", "--at", 1, "--text", "\x1b]0;x\x07\u202e"
    )
    assert b"\x1b" not in shown
    assert "\u202e".encode() not in shown


def test_json_tells_every_merge(tokviz, tiny):
    records = records_of(tokviz("replay", tiny, "--json", "--text", "abab"))
    assert [record["k"] for record in records] == [1, 2]
    assert records[0] == {
        "k": 1, "left_id": 97, "right_id": 98, "new_id": 256, "left": "61", "right": "62",
        "text": "ab", "count": 3, "n_tied": 1, "runner_up": [98, 97], "runner_up_count": 2,
        "n_tokens_before": 8, "n_tokens_after": 5,
        "why": "'a' + 'b' occurs 3 times, more than any other pair; 'b' + 'a' follows with "
        "2, 1 fewer.",
        "ids": [256, 256],
    }  # fmt: skip
    (record,) = records_of(tokviz("replay", "gpt2", "--json", "--at", 5))
    assert (record["k"], record["count"], record["new_id"]) == (5, None, 260)


def test_the_difference_of_two_runs(tokviz, words):
    result = tokviz(
        *("replay", words / "first", "--diff", words / "lexicographic", "--print"),
        *("--text", "word1 other2 wor"),
    )
    assert (result.code, result.err) == (1, "")
    assert f"A  {words}/first: " in result.text
    assert "It is a tie" in result.text
    assert "settings\n  tie-breaking rule: A first, B lexicographic" in result.text
    assert "\ntext: " in result.text
    done = tokviz("replay", words / "first", "--diff", words / "lexicographic", "--json")
    assert (done.code, done.err) == (1, "")
    record = json.loads(done.text)
    assert record["first_difference"]["kind"] == "tie"
    assert record["n_equal"] == record["first_difference"]["k"] - 1
    same = tokviz("replay", words / "first", "--diff", words / "first", "--print")
    assert same.code == 0
    assert f"All {record['n_merges'][0]} merges are equal." in same.text


def test_a_file_of_merges_is_compared(tokviz, words):
    merges = package.load(words / "first").merges
    path = words / "mine.txt"
    path.write_text("\n".join(map(repr, [*merges[:7], merges[8], merges[7], *merges[9:]])))
    result = tokviz("replay", words / "first", "--diff", path, "--print")
    assert "merges 1 … 7 are equal\nmerge 8\n" in result.text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["gpt222", "--print"], 2, "did you mean gpt2"),
        (["gpt222"], 2, "did you mean gpt2"),
        (["gpt2", "--diff", "gpt222"], 2, "did you mean gpt2"),
        (["gpt2", "--print", "--at", "60000"], 2, "--at 60,000: there are only"),
        (["gpt2", "--at", "-1"], 2, "is not a whole number|expected one argument"),
        (["gpt2", "--print", "--steps", "0"], 2, "is not a whole number above 0"),
        (["/no/such/run/", "--print"], 2, "no such file"),
    ],
)
def test_mistakes_are_told_in_a_line(tokviz, arguments, code, words):
    result = tokviz("replay", *arguments)
    assert result.code == code
    assert result.out == b""
    assert result.err.count("\n") == 1
    assert any(word in result.err for word in words.split("|"))


def test_a_damaged_run_is_told_in_a_line(tokviz, tiny):
    (tiny / "history.npz").write_bytes(b"no archive")
    result = tokviz("replay", tiny, "--print")
    assert result.code == 2
    assert f"tokviz: {tiny}/history.npz: is damaged" in result.err


def test_the_app_is_asked_to_show_what_was_asked_for(monkeypatch, tiny):
    asked = {}
    monkeypatch.setattr("tokviz.tui.run.run", lambda **options: asked.update(options))
    parser = command.argparse.ArgumentParser()
    command.add_arguments(parser)
    words = [str(tiny), "--at", "1", "--text", "ab", "--diff", "gpt2"]
    command.run(parser.parse_args(words))
    request = asked["first"]
    assert request.screen == "replay"
    assert (request.source, request.at, request.text, request.others) == (
        str(tiny), 1, "ab", ("gpt2",),
    )  # fmt: skip


def test_a_long_text_is_cut_around_the_change(tokviz):
    text = "x " * 100 + "th" + " x" * 100
    result = tokviz("replay", "gpt2", "--print", "--at", 40, "--text", text)
    assert result.code == 0
    assert all(len(row) < 250 for row in result.text.splitlines())


def test_frames_light_up_what_becomes_one_token():
    before, after = frames(b"aaab", [1, 2, 3, 4], [2, 3, 4])
    assert line(before) == "[a a] a b"
    assert line(after) == "[aa] a b"
    assert line(after, color=True) == "\x1b[1;7m[aa]\x1b[0m a b"


def test_a_long_text_is_shown_around_its_first_change(tokviz, tiny):
    text = "c" * 100 + "ab" + "c" * 100
    lines = tokviz("replay", tiny, "--at", 1, "--print", "--text", text).text.splitlines()
    before = next(line for line in reversed(lines) if line.strip().startswith("before"))
    tokens = before.split(maxsplit=1)[1]
    assert tokens.startswith("… c ") and "c [a b] c" in tokens and tokens.endswith(" c …")


def test_the_first_difference_is_marked_among_its_neighbors(tokviz, tmp_path):
    for rule in ("first", "lexicographic"):
        run = package.train(["qq qq qq xy zw"], 262, split_pattern="gpt2", tie_break=rule)
        run.save(tmp_path / rule)
    diff = ["replay", tmp_path / "first", "--diff", tmp_path / "lexicographic", "--print"]
    lines = tokviz(*diff).text.splitlines()
    (number,) = [line.split()[1] for line in lines if line.startswith("merge ")]
    assert number != "1"
    (marked,) = [line for line in lines if "▸" in line]
    assert marked.startswith(f" ▸{number:>7} ")
