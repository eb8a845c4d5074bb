"""Styles that are known from before: a place in the app that was styled once is styled at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.app import App
from textual.css.model import SelectorType
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


FOUND: dict[Any, Known] = {}
"""What is known by the ids of the rules that may hold, and by what they could ask about a place."""

BY_RULES: dict[tuple[int, ...], _ByRules] = {}
"""What is known in every app that has the same rules."""

BY_SHEETS: dict[tuple[Any, ...], _ByRules] = {}
"""The same, by the sheets and variables that the rules are of."""


class _Tried(NamedTuple):
    """The rules that may hold for a node by its type, name and classes, in their order."""

    rules: tuple[RuleSet, ...]
    ids: tuple[int, ...]
    classes: frozenset[str]
    """Those that they ask for, of the node or of one above it."""


class _ByRules:
    """What is known of the places where some rules hold."""

    def __init__(self, rules: list[RuleSet]) -> None:
        self.rules = rules
        self.known: dict[int, Known] = {}
        self.by_names: dict[frozenset[str], _Tried] = {}
        self._by_name: dict[str, list[int]] = {}
        for number, rule in enumerate(rules):
            for name in rule.selector_names:
                self._by_name.setdefault(name, []).append(number)

    def tried(self, names: frozenset[str]) -> _Tried:
        """Find the rules that may hold for what has these names."""
        if names not in self.by_names:
            numbers = {number for name in names for number in self._by_name.get(name, ())}
            rules = tuple(self.rules[number] for number in sorted(numbers))
            classes = frozenset(
                selector.name
                for rule in rules
                for selectors in rule.selector_set
                for selector in selectors.selectors
                if selector.type == SelectorType.CLASS
            )
            self.by_names[names] = _Tried(rules, tuple(map(id, rules)), classes)
        return self.by_names[names]


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
        self._forget()

    def parse(self) -> None:
        """Forget what held by the rules of before; read no sheets again that another app has."""
        key = *self.source.items(), *self._variables.items()
        if key in BY_SHEETS:
            self._by_rules = BY_SHEETS[key]
            self._rules, self._rules_map = self._by_rules.rules, None
            self._require_parse = False
        else:
            super().parse()
            self._forget()
            BY_SHEETS[key] = self._by_rules

    def reparse(self) -> None:
        """Forget what held by the rules of before."""
        super().reparse()
        self._forget()

    def _forget(self) -> None:
        key = tuple(map(id, self._rules))
        if key not in BY_RULES:
            BY_RULES[key] = _ByRules(self._rules)
        self._by_rules = BY_RULES[key]

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
        known = self._by_rules.known.get(place)
        if known is None:
            tried = self._by_rules.tried(frozenset(node._selector_names))
            key = tried.ids, self._path(node, tried.classes)
            known = FOUND.get(key)
            if known is None:
                found = _Found()
                super().apply(node, animate=animate, cache=found)
                if found.may_be_kept:
                    styles = next(iter(found.values()), None)
                    hover_and_focus = node._has_hover_style, node._has_focus_within
                    order = node._has_order_style, node._has_odd_or_even
                    FOUND[key] = self._by_rules.known[place] = Known(
                        styles, *hover_and_focus, *order, tried
                    )
                return
            self._by_rules.known[place] = known
        node._has_hover_style, node._has_focus_within = known.has_hover, known.has_focus
        node._has_order_style, node._has_odd_or_even = known.has_order, known.has_odd
        if known.styles is not None:
            self.replace_rules(node, known.styles, animate=animate)
        self._process_component_classes(node)

    def _path(self, node: Any, classes: frozenset[str]) -> tuple[Any, ...]:
        """Give what rules that ask for some classes can know of a node and those above it."""
        path: list[Any] = []
        while node is not None:
            path += type(node), node._id, node.classes & classes, _state(node)
            node = node._parent
        return tuple(path)

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        """Give a node its rules, one by one only if they are others than before."""
        if node.styles.base._rules == rules:
            node.notify_style_update()
        else:
            super().replace_rules(node, rules, animate)

    def _place(self, node: Any) -> int:
        """Number what the rules for a node depend on."""
        known = self._places
        if known is not None and node in known:
            return known[node]
        above = -1 if node._parent is None else self._place(node._parent)
        place = PLACES.setdefault(
            (above, type(node), node._id, node.classes, _state(node)), len(PLACES)
        )
        if known is not None:
            known[node] = place
        return place


def _state(node: Any) -> tuple[Any, ...]:
    """Give the state of a node that rules can ask for."""
    state: tuple[Any, ...] = node._pseudo_classes_cache_key
    if isinstance(node, App):
        state += node.app_focus, node.theme, node.is_inline, node.no_color
    return state
