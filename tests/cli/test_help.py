from __future__ import annotations

from tokviz.guide import PAGES, page


def test_without_a_topic_it_lists_the_pages(tokviz):
    lines = tokviz("help").text.splitlines()
    assert [line.split()[0] for line in lines] == list(PAGES)


def test_a_page_is_printed_as_it_is_written(tokviz):
    assert tokviz("help", "why").text == page("why")


def test_a_terminal_gets_it_set(tokviz_on_terminal):
    assert b"\x1b[1m" in tokviz_on_terminal("help", "algorithm")


def test_words_are_looked_for_in_all_pages(tokviz):
    assert tokviz("help", "set-clipboard").text.split()[0] == "troubleshooting"
    nothing = tokviz("help", "no such thing")
    assert (nothing.code, nothing.out) == (1, b"")
    assert "says nothing about 'no such thing'" in nothing.err
