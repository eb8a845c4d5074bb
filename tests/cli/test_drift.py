from __future__ import annotations

import json

SPELLED = [71, 4896, 1917]  # h, ello, world


def test_the_lanes_and_the_cause_are_shown(tokviz, tmp_path):
    file = tmp_path / "ids.json"
    file.write_text(json.dumps(SPELLED))
    done = tokviz("drift", file, "-t", "gpt-4")
    assert (done.code, done.err) == (1, "")
    assert done.text.splitlines() == [
        "2 of 3 tokens drift",
        "token #0: hello",
        "  sampled  h ello",
        "  encoded  hello",
        "  merges: In the pre-token hello, encoding merges h + ello (merge 15,084).",
    ]
    assert tokviz("drift", *SPELLED).out == done.out
    assert tokviz("drift", stdin=b'{"ids": [71, 4896, 1917], "tokenizer": "gpt-4"}').out == done.out


def test_json_lists_every_span(tokviz):
    record = json.loads(tokviz("drift", "--json", *SPELLED).out)
    assert (record["n_tokens"], record["n_drifting"]) == (3, 2)
    [span] = record["spans"]
    assert (span["sampled"], span["encoded"], span["bytes"]) == ([71, 4896], [15339], [0, 5])


def test_a_special_token_that_is_spelled_out_drifts_unless_specials_are_text(tokviz):
    ids = tokviz("encode", "--text", "<|endoftext|>", "--specials", "text").text.split()
    assert "specials: <|endoftext|> is plain text in the sampled ids" in tokviz("drift", *ids).text
    same = tokviz("drift", *ids, "--specials", "text")
    assert (same.code, same.text) == (0, f"0 of {len(ids)} tokens drift\n")


def test_of_many_spans_the_first_are_listed(tokviz):
    done = tokviz("drift", *SPELLED * 3, "--most", 1)
    assert sum(line.startswith("token #") for line in done.text.splitlines()) == 1
    assert done.text.splitlines()[-1] == "… and 2 more; use --most to list more"
    assert "'-1' is not a whole number above 0" in tokviz("drift", *SPELLED, "--most", "-1").err


def test_an_unknown_id_is_named(tokviz):
    done = tokviz("drift", 1, 999999)
    assert done.code == 2
    assert "no token has the id 999999 (position 1 of the ids)" in done.err


def test_a_stream_shows_each_step_and_what_is_held_back(tokviz):
    ids = tokviz("encode", "-t", "gpt2", "--text", "a 世").text.split()
    done = tokviz("decode", "--stream", "-t", "gpt2", *ids)
    assert [line.split() for line in done.text.splitlines()] == [
        ["id", "token", "shown", "held", "alone"],
        ["0", "64", "a", "a"],
        ["1", "220", "·", "·"],
        ["2", "10310", "‹e4", "b8›", "e4", "b8", "�"],
        ["3", "244", "‹96›", "世", "�"],
    ]
    done = tokviz("decode", "--stream", "--json", "-t", "gpt2", *ids)
    steps = json.loads(done.out)["steps"]
    assert [step["held"] for step in steps] == ["", "", "e4b8", ""]
    assert "".join(step["shown"] for step in steps) == "a 世"


def test_each_object_is_a_text_of_its_own_and_blocks_of_numbers_are_one(tokviz, tmp_path):
    for text in ("hel", "lo"):
        (tmp_path / text).write_text(text)
    objects = tokviz("encode", "--json", tmp_path / "hel", tmp_path / "lo").out
    assert tokviz("drift", stdin=objects).text == "0 of 1 token drifts\n" * 2
    many = " ".join(["15339", "1917"] * 200_000).encode()
    assert len(many) > 2 << 20
    assert tokviz("drift", stdin=many).text.startswith("0 of 400,000 tokens drift")
