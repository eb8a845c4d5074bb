"""The two themes of the app, made for the token palettes of `tokviz.tui.palette`.

Token colours carry the meaning on every screen, so everything around them stays calm: surfaces one
step from the background, quiet borders, one accent (the pointer's colour) for what is active.
"""

from __future__ import annotations

from typing import Any

from textual.theme import Theme

DARK = "tokviz-dark"
"""Name of the dark theme."""
LIGHT = "tokviz-light"
"""Name of the light theme."""

_USES = {
    "accent": "border text-accent input-cursor-background footer-key-foreground scrollbar-active "
    "link-color link-background-hover",
    "background": "input-cursor-foreground link-color-hover",
    "foreground": "block-cursor-foreground block-cursor-blurred-foreground",
    "border": "border-blurred border-quiet",
    "muted": "text-muted foreground-muted footer-foreground footer-description-foreground",
    "disabled": "text-disabled foreground-disabled",
    "warning": "text-warning",
    "error": "text-error",
    "success": "text-success",
    "selection": "block-cursor-background block-cursor-blurred-background "
    "input-selection-background",
    "row": "block-hover-background",
    "track": "scrollbar-background scrollbar-background-hover scrollbar-background-active "
    "scrollbar-corner-color",
    "veil": "veil",
    "thumb": "scrollbar",
    "thumb_hover": "scrollbar-hover",
    "transparent": "footer-background footer-item-background footer-key-background "
    "footer-description-background link-background",
    "none": "input-cursor-text-style link-style link-style-hover",
    "bold": "block-cursor-text-style block-cursor-blurred-text-style button-focus-text-style",
}
"""What Textual would otherwise derive louder than we want it: a colour of the theme, or a word of
Textual's, and the variables that are it."""


def _theme(name: str, *, dark: bool, quiet: dict[str, str], **colours: Any) -> Theme:
    """Make a theme of colours that Textual names, and of quiet ones of our own."""
    meanings = quiet | colours
    variables = {
        variable: meanings.get(what, what)
        for what, names in _USES.items()
        for variable in names.split()
    }
    return Theme(name, colours["accent"], dark=dark, text_alpha=1.0, variables=variables, **colours)


THEMES: tuple[Theme, Theme] = (
    # Light text on near black; accent and pointer are the same pale blue.
    _theme(
        DARK,
        dark=True,
        secondary="#9aa7b8",
        accent="#8ab4f8",
        warning="#e6b566",
        error="#f28b82",
        success="#81c995",
        foreground="#f0f2f5",
        background="#111318",
        surface="#181b22",
        panel="#1e222a",
        boost="#ffffff0a",
        quiet={
            "border": "#3b424f",
            "muted": "#a3acba",
            "disabled": "#737d8c",
            "selection": "#2b4568",
            "row": "#232831",
            "track": "#15181e",
            "veil": "#111318b3",
            "thumb": "#343b47",
            "thumb_hover": "#4a5362",
        },
    ),
    # Near black text on white; accent and pointer are the same deep blue.
    _theme(
        LIGHT,
        dark=False,
        secondary="#5b6675",
        accent="#1f5fbf",
        warning="#8a5a00",
        error="#b3261e",
        success="#1b6e3c",
        foreground="#16181d",
        background="#ffffff",
        surface="#f5f6f8",
        panel="#eceef2",
        boost="#0000000a",
        quiet={
            "border": "#bcc3cd",
            "muted": "#545d6b",
            "disabled": "#77808d",
            "selection": "#c9defa",
            "row": "#e7ebf1",
            "track": "#f1f2f5",
            "veil": "#ffffffb3",
            "thumb": "#c3c9d2",
            "thumb_hover": "#a5adb9",
        },
    ),
)
"""Both themes, for `App.register_theme`."""

# A veil would make black of grey on black.
_QUIET_16 = {"border": "#555555", "thumb": "#555555", "veil": "transparent"}
THEMES_16: tuple[Theme, Theme] = (
    # Colours of the terminal's own palette, which rounding cannot make one.
    _theme(
        DARK,
        dark=True,
        secondary="#aaaaaa",
        accent="#55ffff",
        warning="#ffff55",
        error="#ff5555",
        success="#55ff55",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#555555",
        quiet=_QUIET_16
        | {
            "muted": "#aaaaaa",
            "disabled": "#aaaaaa",
            "selection": "#0000aa",
            "row": "#555555",
            "track": "#000000",
            "thumb_hover": "#aaaaaa",
        },
    ),
    # Of the darker ones green and brown cannot be read on white in most terminals.
    _theme(
        LIGHT,
        dark=False,
        secondary="#555555",
        accent="#0000aa",
        warning="#aa00aa",
        error="#aa0000",
        success="#0000aa",
        foreground="#000000",
        background="#ffffff",
        surface="#ffffff",
        panel="#aaaaaa",
        quiet=_QUIET_16
        | {
            "muted": "#555555",
            "disabled": "#555555",
            "selection": "#55ffff",
            "row": "#aaaaaa",
            "track": "#ffffff",
            "thumb_hover": "#000000",
        },
    ),
)
"""Both themes for a terminal of 16 colours."""
