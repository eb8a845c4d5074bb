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


def test_a_form_may_be_asked_for_and_written_to_a_file(tokviz, tmp_path):
    page = tmp_path / "page.html"
    shown = tokviz("show", "--html", "-o", page, "--text", "hello <world>")
    assert (shown.code, shown.out) == (0, b"")
    assert page.read_text().startswith("<!doctype html>")
    assert "&lt;" in page.read_text()


def test_a_page_shows_one_text(tokviz, tmp_path):
    (tmp_path / "a").write_text("a")
    shown = tokviz("show", "--svg", tmp_path / "a", tmp_path / "a")
    assert shown.code == 1
    assert "one text" in shown.err
