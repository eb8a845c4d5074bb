"""Styles that are known from before are those that all rules give."""

from __future__ import annotations

from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.pilot import Pilot

from tests.tui import known_styles
from tests.tui.known_styles import KnownStyles
from tests.tui.waiting import settle
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.app import TokvizApp
from tokviz.workspace.session import Opened, Session

BYTES = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], name="bytes")

Styles = list[tuple[DOMNode, dict[str, object], dict[str, dict[str, object]]]]


def styles_of(pilot: Pilot[None]) -> Styles:
    """Read the rules of every node that is shown, and of its component classes."""
    return [
        (
            node,
            dict(node.styles.base._rules),
            {name: dict(part.base._rules) for name, part in node._component_styles.items()},
        )
        for screen in pilot.app.screen_stack
        for node in screen.walk_children(with_self=True)
    ]


async def is_as_all_rules_say(pilot: Pilot[None]) -> None:
    await settle(pilot)
    found = styles_of(pilot)
    assert isinstance(pilot.app.stylesheet, KnownStyles)
    plain = Stylesheet(variables=pilot.app.get_css_variables())
    plain.source = pilot.app.stylesheet.source.copy()
    plain.parse()
    for screen in pilot.app.screen_stack:
        plain.update(screen)
    for (node, rules, parts), (_, all_rules, all_parts) in zip(
        found, styles_of(pilot), strict=True
    ):
        assert rules == all_rules, node
        assert parts.items() <= all_parts.items(), node


async def test_classes_the_keyboard_and_the_theme_leave_the_styles_that_all_rules_give() -> None:
    app = TokvizApp(Session(Opened("hello"), BYTES, remember=False))
    async with app.run_test(size=(120, 40)) as pilot:
        await is_as_all_rules_say(pilot)
        for keys in (("f5",), ("f5",), ("f1",), ("escape",), ("ctrl+f",), ("escape",), ("alt+v",)):
            await pilot.press(*keys)
            await is_as_all_rules_say(pilot)
        app.action_toggle_theme()
        await is_as_all_rules_say(pilot)
        app.screen.set_class(True, "-reading")
        await pilot.resize_terminal(50, 14)
        await is_as_all_rules_say(pilot)
        app.action_show_screen("chat")
        await is_as_all_rules_say(pilot)
        await pilot.press("tab", "tab")
        await is_as_all_rules_say(pilot)


async def test_a_class_that_comes_back_finds_its_styles_and_few_rules_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for known in ("FOUND", "BY_RULES"):
        monkeypatch.setattr(known_styles, known, {})
    app = TokvizApp(Session(Opened("hello"), BYTES, remember=False))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        tried = list[object]()
        check = app.stylesheet._check_rule

        def check_rule(*rule: Any) -> Any:
            tried.append(rule)
            return check(*rule)

        app.stylesheet._check_rule = check_rule
        known_styles.FOUND.clear()
        known_styles.BY_RULES.clear()
        app.stylesheet._forget()
        counts = []
        for _ in range(3):
            tried.clear()
            app.screen.toggle_class("-wide")
            counts.append(len(tried))
        assert counts[2] < counts[0] / 5, counts
