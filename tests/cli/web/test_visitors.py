"""Folders of the visitors of the web server."""

from __future__ import annotations

from tokviz.cli.web.server import Visitor, Visitors


def visitor_of(visitors: Visitors, cookie: str | None) -> Visitor:
    visitor = visitors.find(cookie)
    assert visitor is not None
    return visitor


def test_a_browser_keeps_its_files_after_a_restart_of_the_server_but_not_from_an_open_session():
    tokens: list[str] = []
    visitors = Visitors(None, tokens.append)
    assert visitors.enter("wrong", None) is None
    cookie = visitors.enter(tokens[-1], None)
    (visitor_of(visitors, cookie).files / "notes.txt").write_text("unsaved")

    restarted = Visitors(None, tokens.append)
    assert restarted.find(cookie) is None
    again = restarted.enter(tokens[-1], cookie)
    assert (visitor_of(restarted, again).files / "notes.txt").read_text() == "unsaved"

    visitor_of(restarted, again).n_terminals = 1
    other = restarted.enter(tokens[-1], again)
    assert not (visitor_of(restarted, other).files / "notes.txt").exists()
    assert restarted.find(again) is not None
