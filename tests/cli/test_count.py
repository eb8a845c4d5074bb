from __future__ import annotations

import json


def test_counts_are_tokens_characters_bytes_and_their_ratio(tokviz, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("naïve world")
    # "na", "ï", "ve", " world"
    assert tokviz("count", file).text.split() == ["4", "11", "12", "3.00", str(file)]


def test_standard_input_alone_has_no_name(tokviz):
    assert tokviz("count", stdin=b"hello world").text.split() == ["2", "11", "11", "5.50"]


def test_several_inputs_get_a_total(tokviz, tmp_path):
    (tmp_path / "a").write_text("hello")
    (tmp_path / "b").write_text("hello world")
    lines = tokviz("count", tmp_path / "a", "-", tmp_path / "b", stdin=b" world").text.splitlines()
    assert [line.split() for line in lines] == [
        ["1", "5", "5", "5.00", str(tmp_path / "a")],
        ["1", "6", "6", "6.00", "-"],
        ["2", "11", "11", "5.50", str(tmp_path / "b")],
        ["4", "22", "22", "5.50", "total"],
    ]


def test_an_empty_input_has_no_ratio(tokviz):
    assert tokviz("count").text.split() == ["0", "0", "0", "-"]
    assert json.loads(tokviz("count", "--json").out)["bytes_per_token"] is None


def test_a_byte_that_is_not_utf8_is_one_character(tokviz):
    record = json.loads(tokviz("count", "--json", stdin=b"a\xff\xe4\xb8").out)
    assert (record["n_chars"], record["n_bytes"]) == (4, 4)


def test_json_is_one_object_an_input_without_a_total(tokviz, tmp_path):
    (tmp_path / "a").write_text("hello world")
    lines = tokviz("count", "--json", "-t", "gpt2", tmp_path / "a", "-").text.splitlines()
    records = [json.loads(line) for line in lines]
    assert records == [
        {
            "file": str(tmp_path / "a"),
            "tokenizer": "gpt2",
            "specials": "parsed",
            "n_tokens": 2,
            "n_chars": 11,
            "n_bytes": 11,
            "bytes_per_token": 5.5,
        },
        {
            "file": "-",
            "tokenizer": "gpt2",
            "specials": "parsed",
            "n_tokens": 0,
            "n_chars": 0,
            "n_bytes": 0,
            "bytes_per_token": None,
        },
    ]


def test_a_bad_file_does_not_keep_the_others_from_being_counted(tokviz, tmp_path):
    (tmp_path / "good").write_text("hello world")
    result = tokviz("count", tmp_path, tmp_path / "none", tmp_path / "good")
    assert result.code == 2
    assert result.err.splitlines() == [
        f"tokviz: {tmp_path}: is a folder, not a file",
        f"tokviz: {tmp_path}/none: there is no such file",
    ]
    assert result.text.splitlines()[0].split()[-1] == str(tmp_path / "good")
    assert result.text.splitlines()[-1].split() == ["2", "11", "11", "5.50", "total"]


def test_on_a_terminal_the_columns_have_names(tokviz_on_terminal, tokviz):
    first, second, _ = tokviz_on_terminal("count", stdin=b"hello").decode().split("\r\n")
    assert first.split() == ["tokens", "chars", "bytes", "bytes/token"]
    assert second.split() == ["1", "5", "5", "5.00"]
    assert "tokens" not in tokviz("count", stdin=b"hello").text


def test_a_file_name_cannot_send_an_escape_sequence(tokviz, tmp_path):
    (tmp_path / "a\x1b[31m\nb").write_text("hello")
    result = tokviz("count", tmp_path / "a\x1b[31m\nb", tmp_path / "c\x1b]0;x\x07")
    assert "\x1b" not in result.text + result.err
    assert len(result.text.splitlines()) == 2
    assert len(result.err.splitlines()) == 1


def test_costs_come_from_the_users_own_table(tokviz, tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("hello world")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = tokviz("count", "--cost", path)
    assert done.code == 2 and "there is no price table" in done.err and "models.toml" in done.err
    table = tmp_path / "tokviz" / "models.toml"
    table.parent.mkdir()
    table.write_text('[[model]]\nname = "m"\nwindow = 8\nprice = 2.5\ncurrency = "EUR"\n')
    assert "m  0.0000050 EUR, 25 % of 8" in tokviz("count", "--cost", path).text
    (record,) = map(json.loads, tokviz("count", "--cost", "--json", path).text.splitlines())
    assert record["costs"] == [
        {"model": "m", "cost": 5e-6, "currency": "EUR", "window": 8, "window_share": 0.25}
    ]
    assert "costs" not in json.loads(tokviz("count", "--json", path).text)
    *files, total, cost = tokviz("count", "--cost", path, path).text.splitlines()
    assert (total.split()[0], cost.split()[1]) == ("4", "0.000010")
    assert len(files) == 2, "costs only of the total"
    table.write_text('[[model]]\nname = "m"\nwindow = -1\n')
    done = tokviz("count", "--cost", path)
    assert done.code == 2 and "line 3: window" in done.err
