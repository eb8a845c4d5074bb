"""Detect a node that is being removed.

Upstream problem: between `DOMNode.remove` and `Unmount`, a node is attached and running but has
already lost its children, so a callback that queries them raises `NoMatches`. No public property
reports this state.
"""

from __future__ import annotations

from textual.dom import DOMNode


def is_being_removed(node: DOMNode) -> bool:
    """Return whether the node is being removed from the DOM."""
    return node._pruning
