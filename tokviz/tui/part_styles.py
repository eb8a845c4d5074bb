"""Styles of the parts of widgets, its component classes, found when a part is drawn.

Textual finds those of all parts whenever it styles a widget: three quarters of all that is styled
until every screen was seen, most of it for parts that are never drawn.
"""

from __future__ import annotations

from typing import Any

from textual.css.model import RuleSet
from textual.css.styles import RenderStyles, RulesMap
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

# Textual asks all rules of the app for their hash whenever it styles a node, and answers in Python
# what this does at once.
setattr(RuleSet, "__hash__", object.__hash__)  # noqa: B010


class PartStyles(dict[str, RenderStyles]):
    """The styles of the parts of a node, each found when it is asked for first."""

    def __init__(self, node: DOMNode, sheet: Stylesheet) -> None:
        """Take the node, and what styles it."""
        super().__init__()
        self._node, self._sheet = node, sheet

    def __contains__(self, name: object) -> bool:
        """Tell whether the node has such a part."""
        return name in self._node._get_component_classes()

    def __missing__(self, name: str) -> RenderStyles:
        """Find the styles of a part, as Textual does for every part."""
        part = DOMNode(classes=name)
        part._attach(self._node)
        self._sheet.apply(part)
        self[name] = part.styles
        return part.styles


class StylesOnDemand(Stylesheet):
    """Styles of a widget's parts only those that were drawn."""

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        """Draw a node anew once, and all in it, whichever of its rules change.

        Textual does it for each rule: where colours change, nine times of ten for nothing. It also
        looks for the transition of each, where there is none.
        """
        styles: Any = node.styles.base
        asked: list[dict[str, bool]] = []
        styles.refresh = lambda **how: asked.append(how)
        try:
            super().replace_rules(node, rules, animate and "transitions" in rules)
        finally:
            del styles.refresh
        for how in {tuple(sorted(how.items())) for how in asked}:
            styles.refresh(**dict(how))

    def _process_component_classes(self, node: DOMNode) -> None:
        """Draw a node again if what it drew looks otherwise now."""
        parts = node._component_styles
        if isinstance(parts, PartStyles):
            before = parts.copy()
            parts.clear()
            if any(parts[name] != styles for name, styles in before.items()):
                node.refresh()
        elif node._get_component_classes():
            node._component_styles = PartStyles(node, self)
