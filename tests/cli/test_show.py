from __future__ import annotations


def test_a_pipe_gets_a_line_for_each_token(tokviz):
    shown = tokviz("show", "-t", "gpt2", "--text", "hello wörld")
    assert shown.text.splitlines() == [
        "0 31373 0-5 0 68656c6c6f hello",
        "1 266 5-7 1 2077 ·w",
        "2 30570 7-10 1 c3b672 ör",
        "3 335 10-12 1 6c64 ld",
    ]


def test_a_terminal_gets_colours(tokviz_on_terminal):
    assert b"\x1b[48;2;" in tokviz_on_terminal("show", "--text", "hello world")


def test_an_empty_word_turns_no_colour_off(tokviz_on_terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "")
    assert b"\x1b[48;2;" in tokviz_on_terminal("show", "--text", "hello")
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b[" not in tokviz_on_terminal("show", "--text", "hello")


def test_a_form_may_be_asked_for_and_written_to_a_file(tokviz, tmp_path):
    page = tmp_path / "page.html"
    shown = tokviz("show", "--html", "-o", page, "--text", "hello <world>")
    assert (shown.code, shown.out) == (0, b"")
    assert page.read_text().startswith("<!doctype html>")
    assert "&lt;" in page.read_text()


def test_a_page_shows_one_text(tokviz, tmp_path):
    (tmp_path / "a").write_text("a")
    shown = tokviz("show", "--svg", tmp_path / "a", tmp_path / "a")
    assert shown.code == 2
    assert "holds only one figure" in shown.err


def test_the_name_of_the_file_says_the_form(tokviz, tmp_path):
    for name, begins in {"a.svg": b"<svg", "b.md": b"**", "c.PNG": b"\x89PNG", "d": b"0 "}.items():
        shown = tokviz("show", "-o", tmp_path / name, "--text", "hello")
        assert (shown.code, (tmp_path / name).read_bytes()[: len(begins)]) == (0, begins)
    refused = tokviz("show", "-o", tmp_path / "e.pdf", "--text", "hello")
    assert "unknown extension .pdf: use .html, .svg, .png, .md, .txt, .ansi" in refused.err
    assert (refused.code, (tmp_path / "e.pdf").exists()) == (2, False)


def test_no_json_is_left_out_for_a_file(tokviz, tmp_path):
    for command in (["compare", "-t", "gpt2", "-t", "gpt4o", "--text", "hi"], ["chat"]):
        shown = tokviz(*command, "--json", "-o", tmp_path / "x", stdin=b"[]")
        assert (shown.code, shown.out) == (2, b"")
        assert "leave out -o" in shown.err
    assert not (tmp_path / "x").exists()


def test_what_other_commands_show_can_be_a_figure_too(tokviz, tmp_path):
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "hi"}]')
    commands = {
        "compare": ("compare", "--text", "world 世界"),
        "show": ("show", "-t", "gpt2", "-t", "gpt-4", "--text", "world 世界"),
        "chat": ("chat", tmp_path / "chat.json"),
        "replay": ("replay", "gpt2", "--at", "300", "--text", "of the"),
    }
    for name, command in commands.items():
        page = tokviz(*command, "--html")
        assert page.code == 0, page.err
        assert page.text.startswith("<!doctype html>"), name
    assert tokviz(*commands["compare"], "--ansi").text == tokviz(*commands["show"], "--ansi").text


def test_a_text_that_the_tokenizer_changes_is_said_to_be_changed(tokviz):
    assert (
        "qwen2 normalizes the text (NFC)" in tokviz("show", "-t", "qwen2", "--text", "e\u0301").err
    )
    assert tokviz("show", "-t", "qwen2", "--text", "\u00e9").err == ""


def test_tables_count_pre_tokens(tokviz):
    rows = tokviz("show", "-t", "gpt2", "--text", "hello wörld", "--markdown").text.splitlines()[
        -4:
    ]
    assert [row.split(" | ")[3] for row in rows] == ["1", "2", "2", "2"]
