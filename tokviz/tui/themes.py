"""The two themes of the app, made for the token palettes of `tokviz.tui.palette`.

Token colours carry the meaning on every screen, so everything around them stays calm: surfaces one
step from the background, quiet borders, one accent (the pointer's colour) for what is active.
"""

from __future__ import annotations

from textual.theme import Theme

DARK = "tokviz-dark"
"""Name of the dark theme."""
LIGHT = "tokviz-light"
"""Name of the light theme."""


def _variables(
    *,
    accent: str,
    on_accent: str,
    foreground: str,
    border: str,
    muted: str,
    disabled: str,
    selection: str,
    row: str,
    scrollbar: tuple[str, str, str, str],
) -> dict[str, str]:
    """Name the colours that Textual would otherwise derive louder than we want them."""
    track, thumb, thumb_hover, thumb_active = scrollbar
    return {
        "border": accent,
        "border-blurred": border,
        "border-quiet": border,
        "text-muted": muted,
        "text-disabled": disabled,
        "foreground-muted": muted,
        "foreground-disabled": disabled,
        "text-accent": accent,
        "block-cursor-background": selection,
        "block-cursor-foreground": foreground,
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": selection,
        "block-cursor-blurred-foreground": foreground,
        "block-cursor-blurred-text-style": "bold",
        "block-hover-background": row,
        "input-cursor-background": accent,
        "input-cursor-foreground": on_accent,
        "input-cursor-text-style": "none",
        "input-selection-background": selection,
        "footer-background": "transparent",
        "footer-item-background": "transparent",
        "footer-key-background": "transparent",
        "footer-description-background": "transparent",
        "footer-foreground": muted,
        "footer-description-foreground": muted,
        "footer-key-foreground": accent,
        "scrollbar": thumb,
        "scrollbar-hover": thumb_hover,
        "scrollbar-active": thumb_active,
        "scrollbar-background": track,
        "scrollbar-background-hover": track,
        "scrollbar-background-active": track,
        "scrollbar-corner-color": track,
        "link-color": accent,
        "link-style": "none",
        "link-background": "transparent",
        "link-color-hover": on_accent,
        "link-background-hover": accent,
        "link-style-hover": "none",
        "button-focus-text-style": "bold",
    }


TOKVIZ_DARK = Theme(
    name=DARK,
    dark=True,
    primary="#8ab4f8",
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
    text_alpha=1.0,
    variables=_variables(
        accent="#8ab4f8",
        on_accent="#111318",
        foreground="#f0f2f5",
        border="#3b424f",
        muted="#a3acba",
        disabled="#737d8c",
        selection="#2b4568",
        row="#232831",
        scrollbar=("#15181e", "#343b47", "#4a5362", "#8ab4f8"),
    ),
)
"""Light text on near black; accent and pointer are the same pale blue."""

TOKVIZ_LIGHT = Theme(
    name=LIGHT,
    dark=False,
    primary="#1f5fbf",
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
    text_alpha=1.0,
    variables=_variables(
        accent="#1f5fbf",
        on_accent="#ffffff",
        foreground="#16181d",
        border="#bcc3cd",
        muted="#545d6b",
        disabled="#77808d",
        selection="#c9defa",
        row="#e7ebf1",
        scrollbar=("#f1f2f5", "#c3c9d2", "#a5adb9", "#1f5fbf"),
    ),
)
"""Near black text on white; accent and pointer are the same deep blue."""

THEMES: tuple[Theme, Theme] = (TOKVIZ_DARK, TOKVIZ_LIGHT)
"""Both themes, for `App.register_theme`."""
