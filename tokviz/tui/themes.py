"""Themes: the colors of tokens and widgets, a `Look` each.

Token colors carry meaning on every screen, so the other colors are calm: surfaces close to the
background, quiet borders, and one accent (the pointer's color) for active elements.

Each dark theme has a light counterpart. In a terminal with 16 colors, all themes look like the two
that use the terminal's own colors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rich.color import blend_rgb, parse_rgb_hex
from textual.theme import Theme

from tokviz.errors import TokvizError
from tokviz.share.colours import DARK as DARK_COLOURS
from tokviz.share.colours import LIGHT as LIGHT_COLOURS
from tokviz.share.colours import Colours
from tokviz.storage.toml_file import line_of, read_toml
from tokviz.workspace.settings import SettingError, config_path, did_you_mean

DARK = "tokviz-dark"
"""Name of the dark theme."""
LIGHT = "tokviz-light"
"""Name of the light theme."""
OWN = "terminal"
"""Prefix of the themes that use the terminal's own sixteen colors."""
SIXTEEN = ("standard", "windows")
"""Rich's names of terminals with 16 colors."""


class Look(NamedTuple):
    """The colors of a theme, as #rrggbb; omitted ones are mixed from the others."""

    help: str
    """Description for the user."""
    tokens: Colours
    """Token colors. An empty `special` is the color of the text: see `tokviz.tui.palette`."""
    signs: tuple[str, str, str, str]
    """Active elements and the token under the pointer, warnings, errors, success."""
    gap: tuple[str, str]
    """Text and fill of characters that a split pattern does not match."""
    dark: bool = True
    split: str = ""
    """Characters in several tokens; empty for the color of the text."""
    pointer: tuple[str, str] = ("", "")
    """Fill and text of the pinned token; empty for the accent and the background."""
    hover: str = ""
    selection: str = ""
    ink: tuple[str, ...] = ()
    """The text on each fill; empty for the theme's text color."""
    dim: tuple[str, ...] = ()
    """Dim glyphs on each fill."""
    selected: tuple[str, ...] = ()
    """The tinted fills."""
    selected_ink: tuple[str, ...] = ()
    """The text on each tinted fill; empty for `ink`."""
    cursor: tuple[str, str] = ("", "")
    """Text and fill of the cursor; empty for the theme's colors reversed."""
    quiet: Mapping[str, str] = {}
    """Colors of widgets, by names of `_SHARES` and `_USES`."""


def mix(colour: str, other: str, share: float) -> str:
    """Mix two colors such as #8ab4f8; `share` is the fraction of `other`, 0 to 1."""
    first, second = (parse_rgb_hex(name.removeprefix("#")) for name in (colour, other))
    return blend_rgb(first, second, share).hex


_TOKVIZ_DARK = Look(
    "Light on dark, muted colors.",
    tokens=DARK_COLOURS,
    signs=("#8ab4f8", "#e6b566", "#f28b82", "#81c995"),
    gap=("#ffd9d4", "#7a1f2b"),
    split="#ffb86b",
)
_TOKVIZ_LIGHT = Look(
    "Dark on light, muted colors.",
    dark=False,
    tokens=LIGHT_COLOURS,
    signs=("#1f5fbf", "#8a5a00", "#b3261e", "#1b6e3c"),
    gap=("#7a1120", "#ffc9c9"),
    split="#a1340b",
)

# Darker and lighter kinds of the colours of Okabe and Ito, "Color Universal Design" (2008), chosen
# so that any two of them are distinguishable with every kind of color vision.
_OKABE_ITO_DARK = _TOKVIZ_DARK._replace(
    help="Colors of Okabe and Ito, for every kind of color vision; light on dark.",
    tokens=DARK_COLOURS._replace(
        fills=("#312814", "#0269a3", "#545225", "#ae4f05", "#1f3342", "#8b5575"), special=""
    ),
    signs=("#56b4e9", "#f0e442", "#ff9a5c", "#2cc295"),
    split="",
)
_OKABE_ITO_LIGHT = _TOKVIZ_LIGHT._replace(
    help="Colors of Okabe and Ito, for every kind of color vision; dark on light.",
    tokens=LIGHT_COLOURS._replace(
        fills=("#f1ca73", "#80c7ee", "#bfe7dc", "#dd7e33", "#f9f4b3", "#cf80ab"), special=""
    ),
    signs=("#00588c", "#7a5200", "#a33f00", "#00664a"),
    split="",
)
# Blues and oranges, distinguishable with every kind of color blindness, three steps of each.
_BLUE_ORANGE_DARK = _OKABE_ITO_DARK._replace(
    help="Blues and oranges that also differ in brightness; light on dark.",
    tokens=_OKABE_ITO_DARK.tokens._replace(
        fills=("#664499", "#331100", "#335566", "#883300", "#001155", "#885544")
    ),
    signs=("#77bbff", "#ffcc88", "#ff9955", "#99ccff"),
)
_BLUE_ORANGE_LIGHT = _OKABE_ITO_LIGHT._replace(
    help="Blues and oranges that also differ in brightness; dark on light.",
    tokens=_OKABE_ITO_LIGHT.tokens._replace(
        fills=("#8899aa", "#ff7777", "#bbddff", "#cc9933", "#3399ff", "#eeddcc")
    ),
    signs=("#004499", "#774400", "#992200", "#115588"),
)

_BLACK, _GREY, _SILVER, _WHITE = "#000000", "#555555", "#aaaaaa", "#ffffff"
_CONTRAST_DARK = Look(
    "High contrast: white on black.",
    tokens=Colours(
        *(_BLACK, _WHITE, "#d0d0d0", ""),
        ("#330000", "#990066", "#001177", "#991100", "#004400", "#004466"),
    ),
    signs=("#00ffff", "#ffff00", "#ff9999", "#66ff66"),
    gap=(_BLACK, "#ff9999"),
    hover="#004a80",
    selection="#0044a0",
    quiet={"border": "#808080", "muted": "#d0d0d0", "disabled": "#b0b0b0", "selection": "#003a66"},
)
_CONTRAST_LIGHT = Look(
    "High contrast: black on white.",
    dark=False,
    tokens=Colours(
        *(_WHITE, _BLACK, "#404040", ""),
        ("#00ccff", "#ffaaff", "#ccee88", "#ffaa66", "#11eecc", "#eedddd"),
    ),
    signs=("#00308f", "#5c3a00", "#8a0000", "#004d26"),
    gap=(_WHITE, "#8a0000"),
    quiet={"border": "#9a9a9a", "muted": "#404040", "disabled": "#555555", "selection": "#b3d7ff"},
)

# The terminal defines these sixteen colors: "#aa5500" is brown in one and bright yellow
# in another, and bold black may be grey. The texts on them can be read in all. Of the darker ones
# green and brown cannot be read on white in most. A veil would make black of grey on black.
_TERMINAL_DARK = Look(
    "The sixteen colors of your terminal, on its black.",
    tokens=Colours(
        *(_BLACK, _WHITE, _SILVER, ""),
        ("#00aaaa", "#aa5500", "#0000aa", "#aa00aa", _GREY, "#00aa00"),
    ),
    signs=("#55ffff", "#ffff55", "#ff5555", "#55ff55"),
    ink=(_BLACK, _BLACK, _WHITE, _WHITE, _WHITE, _BLACK),
    dim=(_BLACK, _BLACK, _SILVER, _SILVER, _SILVER, _BLACK),
    selected=("#55ffff", "#ff5555", _WHITE, "#ff55ff", _SILVER, "#55ff55"),
    selected_ink=(_BLACK,) * 6,
    pointer=(_WHITE, _BLACK),
    hover="#aa0000",
    selection=_SILVER,
    gap=(_BLACK, "#ff5555"),
    cursor=(_BLACK, "#ffff55"),
    quiet={
        "surface track": _BLACK,
        "panel border thumb row": _GREY,
        "secondary muted disabled thumb_hover": _SILVER,
        "selection": "#0000aa",
        "veil": "transparent",
    },
)
_TERMINAL_LIGHT = Look(
    "The sixteen colors of your terminal, on its white.",
    dark=False,
    tokens=Colours(
        *(_WHITE, _BLACK, _GREY, ""),
        ("#55ffff", "#ffff55", "#0000aa", "#aa00aa", _SILVER, "#55ff55"),
    ),
    signs=("#0000aa", "#aa00aa", "#aa0000", "#0000aa"),
    ink=(_BLACK, _BLACK, _WHITE, _WHITE, _BLACK, _BLACK),
    dim=(_GREY, _GREY, _SILVER, _SILVER, _GREY, _GREY),
    selected=("#00aaaa", "#aa5500", _GREY, "#ff55ff", _BLACK, "#00aa00"),
    selected_ink=(_BLACK, _BLACK, _WHITE, _BLACK, _WHITE, _BLACK),
    pointer=(_BLACK, _WHITE),
    hover="#ff5555",
    selection=_SILVER,
    gap=(_WHITE, "#aa0000"),
    cursor=(_WHITE, "#aa0000"),
    quiet={
        "surface track": _WHITE,
        "panel row": _SILVER,
        "secondary muted disabled border thumb": _GREY,
        "thumb_hover": _BLACK,
        "selection": "#55ffff",
        "veil": "transparent",
    },
)

THEMES = {
    DARK: _TOKVIZ_DARK,
    LIGHT: _TOKVIZ_LIGHT,
    "okabe-ito-dark": _OKABE_ITO_DARK,
    "okabe-ito-light": _OKABE_ITO_LIGHT,
    "blue-orange-dark": _BLUE_ORANGE_DARK,
    "blue-orange-light": _BLUE_ORANGE_LIGHT,
    "contrast-dark": _CONTRAST_DARK,
    "contrast-light": _CONTRAST_LIGHT,
    f"{OWN}-dark": _TERMINAL_DARK,
    f"{OWN}-light": _TERMINAL_LIGHT,
}
"""Every theme by its name."""
_OWN_THEMES = tuple(THEMES)

# Token colors must be in the terminal's palette, as in Rich's tables:
# rounded they would be equal.
_IN_256 = {
    DARK: _TOKVIZ_DARK._replace(
        tokens=Colours(
            *("#121212", "#eeeeee", "#9e9e9e", "#ffd787"),
            ("#005f87", "#5f5f00", "#005f00", "#5f005f", "#5f00af", "#005f5f"),
        ),
        pointer=("#87afff", _BLACK),
        hover="#5f87d7",
        selection="#005fd7",
        split="#ffaf5f",
        gap=("#ffd7d7", "#870000"),
    ),
    LIGHT: _TOKVIZ_LIGHT._replace(
        tokens=Colours(
            *(_WHITE, "#121212", "#767676", "#870087"),
            ("#afd7ff", "#ffd7af", "#d7ffd7", "#ffd7ff", "#d7d7ff", "#d7ffff"),
        ),
        pointer=("#005faf", _WHITE),
        hover="#87afff",
        selection="#87afd7",
        split="#af0000",
        gap=("#870000", "#ffafaf"),
    ),
}


def load_user_themes() -> list[SettingError]:
    """Add the themes in the folder `themes` beside the user's settings to `THEMES`.

    Returns:
        The errors in files that are left out.
    """
    errors = []
    for path in sorted((config_path().parent / "themes").glob("*.toml")):
        try:
            if path.stem in _OWN_THEMES:
                raise SettingError(path, 1, path.stem, "a theme of tokviz has this name")
            THEMES[path.stem] = read_look(path)
        except SettingError as error:
            errors.append(error)
        except TokvizError as error:
            errors.append(SettingError(path, 1, path.stem, getattr(error, "reason", str(error))))
    theme.cache_clear()
    return errors


def read_look(path: Path) -> Look:
    """Read a theme: the colors that differ from those of the theme under `based_on`.

    Raises:
        InputFileError: If the file cannot be read, or is not TOML.
        SettingError: If a key or a value is wrong.
    """
    table, text = read_toml(path)

    def replaced(old: Any, given: Mapping[str, Any], within: str = "") -> Any:
        for key, value in given.items():
            own = getattr(old, key, None) if key in old._fields else None
            if not isinstance(own, str | tuple) or key in ("tokens", "signs"):
                reason = f"there is no such key{did_you_mean(key, old._fields)}"
                raise SettingError(path, line_of(text, within, key), key, reason)
            listed = value if isinstance(own, tuple) and isinstance(value, list) else [value]
            n_wanted = len(own) if isinstance(own, tuple) and own else len(listed)
            is_text = key == "help" and isinstance(value, str)
            are_colours = all(isinstance(it, str) and _COLOUR.fullmatch(it) for it in listed)
            if not is_text and (len(listed) != n_wanted or not are_colours):
                wanted = "a color" if n_wanted == 1 else f"a list of {n_wanted} colors"
                reason = f'must be {wanted} such as "#8ab4f8"'
                raise SettingError(path, line_of(text, within, key), key, reason)
            old = old._replace(**{key: tuple(listed) if isinstance(own, tuple) else value})
        return old

    base = table.pop("based_on", DARK)
    if base not in _OWN_THEMES:
        reason = f"there is no {base!r}{did_you_mean(str(base), _OWN_THEMES)}"
        raise SettingError(path, line_of(text, "", "based_on"), "based_on", reason)
    look = THEMES[base]
    signs = replaced(
        _Signs(*look.signs), {key: table.pop(key) for key in _Signs._fields if key in table}
    )
    tokens = table.pop("tokens", {})
    if not isinstance(tokens, dict):
        raise SettingError(path, line_of(text, "", "tokens"), "tokens", "must be a table")
    tokens = replaced(look.tokens, tokens, "tokens")
    return replaced(look._replace(signs=tuple(signs), tokens=tokens), table)  # type: ignore[no-any-return]


class _Signs(NamedTuple):
    accent: str
    warning: str
    error: str
    success: str


_COLOUR = re.compile("#[0-9a-fA-F]{6}")


def look_of(name: str, color_system: str | None) -> Look:
    """Return the look of a theme in a terminal; a theme of Textual looks like the first one.

    Args:
        name: The name of the theme.
        color_system: Rich's name of the terminal's color system: "truecolor", "256", "standard",
            "windows" or None.
    """
    look = THEMES.get(name, _TOKVIZ_DARK)
    if color_system in SIXTEEN:
        return _TERMINAL_DARK if look.dark else _TERMINAL_LIGHT
    return _IN_256.get(name, look) if color_system == "256" else look


def fellow(name: str) -> str:
    """Return the light counterpart of a dark theme, or the reverse; tokviz's own if it has none."""
    kind, _, _ = name.rpartition("-")
    is_dark = name not in THEMES or THEMES[name].dark
    other = f"{kind}-{'light' if is_dark else 'dark'}"
    return other if other in THEMES else LIGHT if is_dark else DARK


_SHARES = {
    "secondary": 0.6,
    "surface": 0.035,
    "panel": 0.07,
    "border": 0.24,
    "muted": 0.68,
    "disabled": 0.5,
    "row": 0.09,
    "track": 0.03,
    "thumb": 0.2,
    "thumb_hover": 0.32,
}
"""Fraction of the text's color in quiet colors; the rest is background."""

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
"""Variables that Textual would derive in louder colors: a color of the theme, or a Textual keyword,
and the variables that get it."""


@cache
def theme(name: str, color_system: str | None = "truecolor") -> Theme:
    """Create a theme for Textual; see `look_of`."""
    look = look_of(name, None if color_system == "256" else color_system)
    ground, text = look.tokens.ground, look.tokens.text
    accent, warning, error, success = look.signs
    made = {kind: mix(ground, text, share) for kind, share in _SHARES.items()}
    made |= {"selection": mix(ground, accent, 0.3), "veil": f"{ground}b3"}
    made |= {kind: colour for kinds, colour in look.quiet.items() for kind in kinds.split()}
    made |= {"accent": accent, "warning": warning, "error": error, "success": success}
    made |= {"background": ground, "foreground": text}
    named: dict[str, Any] = {kind: made[kind] for kind in _NAMED.split()}
    variables = {
        variable: made.get(what, what)
        for what, names in _USES.items()
        for variable in names.split()
    }
    boost = None if look.ink else f"{text}0a"
    return Theme(
        name, accent, dark=look.dark, text_alpha=1.0, boost=boost, variables=variables, **named
    )


_NAMED = "secondary accent warning error success foreground background surface panel"
"""Names of Textual's color variables."""
