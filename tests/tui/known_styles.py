"""Styles that are known from before: a place in the app that was styled once is styled at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

if TYPE_CHECKING:
    from textual.css.model import RuleSet
    from textual.css.styles import RulesMap


PARSE_RULES = Stylesheet._parse_rules
"""What is used where it matters how often style sheets are read."""

PLACES: dict[tuple[Any, ...], int] = {}
"""The number of every place in an app, by what it is and the number of the place above it."""


class Known(NamedTuple):
    """What a place is styled by, and what else Textual notes about its rules."""

    styles: RulesMap | None
    has_hover: bool
    has_focus: bool
    has_order: bool
    has_odd: bool
    rules: tuple[RuleSet, ...]
    """Those that were tried, kept so that no others get their ids."""


FOUND: dict[tuple[int, ...], Known] = {}
"""What is known of a place, by its number and the ids of the rules that may hold there."""


class _Found(dict[Any, "RulesMap"]):
    """What a node's rules are written to, and whether they may be kept.

    Textual looks into it first, unless they depend on the node's neighbours or on what is in it.
    """

    may_be_kept = False

    def get(self, key: Any, default: Any = None) -> Any:
        """Note that somebody looks."""
        self.may_be_kept = True
        return super().get(key, default)


class KnownStyles(Stylesheet):
    """Remembers which rules hold for a node.

    They depend on what it and those above it are: their types, names, classes and states. So they
    are the same in every app of a process. Textual tries all rules every time, for a widget and for
    each of its component classes.
    """

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        """Begin with nothing known."""
        super().__init__(variables=variables)
        self._places: dict[DOMNode, int] | None = None
        self._is_sure = True
        self._forget()

    def parse(self) -> None:
        """Forget what held by the rules of before."""
        super().parse()
        self._forget()

    def reparse(self) -> None:
        """Forget what held by the rules of before."""
        super().reparse()
        self._forget()

    def _forget(self) -> None:
        self._known: dict[int, Known] = {}
        self._by_name: dict[str, list[int]] | None = None
        self._begin = object()

    def update_nodes(self, nodes: Iterable[DOMNode], animate: bool = False) -> None:
        """Style nodes; meanwhile no state of any of them changes."""
        before, self._places = self._places, {}
        super().update_nodes(nodes, animate)
        self._places = before

    def apply(
        self, node: DOMNode, *, animate: bool = False, cache: dict[Any, RulesMap] | None = None
    ) -> None:
        """Give a node its styles."""
        assert self.rules is not None  # new ones are parsed now
        place = self._place(node)
        known = self._known.get(place)
        if known is None:
            tried = self._tried(node)
            key = place, *map(id, tried)
            known = FOUND.get(key)
            if known is None:
                found = _Found()
                super().apply(node, animate=animate, cache=found)
                self._is_sure = self._is_sure and found.may_be_kept
                if found.may_be_kept:
                    styles = next(iter(found.values()), None)
                    hover_and_focus = node._has_hover_style, node._has_focus_within
                    order = node._has_order_style, node._has_odd_or_even
                    FOUND[key] = self._known[place] = Known(styles, *hover_and_focus, *order, tried)
                return
            self._known[place] = known
        node._has_hover_style, node._has_focus_within = known.has_hover, known.has_focus
        node._has_order_style, node._has_odd_or_even = known.has_order, known.has_odd
        if known.styles is not None:
            self.replace_rules(node, known.styles, animate=animate)
        self._process_component_classes(node)

    def _tried(self, node: DOMNode) -> tuple[RuleSet, ...]:
        """Give the rules that may hold for a node by its type, name and classes, in their order."""
        if self._by_name is None:
            self._by_name = {}
            for number, rule in enumerate(self.rules):
                for name in rule.selector_names:
                    self._by_name.setdefault(name, []).append(number)
        names = self._by_name.keys() & node._selector_names
        numbers = {number for name in names for number in self._by_name[name]}
        return tuple(self.rules[number] for number in sorted(numbers))

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        """Give a node its rules, one by one only if they are others than before."""
        if node.styles.base._rules == rules:
            node.notify_style_update()
        else:
            super().replace_rules(node, rules, animate)

    def _process_component_classes(self, node: DOMNode) -> None:
        styled = self._begin, self._place(node)
        about: Any = node
        if getattr(about, "_styled", None) == styled:
            return
        self._is_sure = True
        super()._process_component_classes(node)
        if self._is_sure:
            about._styled = styled

    def _place(self, node: Any) -> int:
        """Number what the rules for a node depend on."""
        known = self._places
        if known is not None and node in known:
            return known[node]
        above = -1 if node._parent is None else self._place(node._parent)
        state: tuple[Any, ...] = node._pseudo_classes_cache_key
        if isinstance(node, App):
            state += node.app_focus, node.theme, node.is_inline, node.no_color
        place = PLACES.setdefault((above, type(node), node._id, node.classes, state), len(PLACES))
        if known is not None:
            known[node] = place
        return place
