"""Themes: the colors of tokens and widgets, a `Look` each.

Token colors carry meaning on every screen, so the other colors are calm: surfaces close to the
background, quiet borders, and one accent (the pointer's color) for active elements.

Each dark theme has a light counterpart. In a terminal with 16 colors, all themes look like the two
that use the terminal's own colors.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rich.color import blend_rgb, parse_rgb_hex
from textual.theme import Theme

from tokviz.errors import TokvizError
from tokviz.share.colours import DARK as DARK_COLOURS
from tokviz.share.colours import LIGHT as LIGHT_COLOURS
from tokviz.share.colours import Colours
from tokviz.storage.assets import asset_path
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


class Quiet(NamedTuple):
    """Quiet colors of widgets, see `_SHARES` and `_USES`; empty ones are mixed from the others."""

    secondary: str = ""
    surface: str = ""
    panel: str = ""
    border: str = ""
    muted: str = ""
    disabled: str = ""
    row: str = ""
    track: str = ""
    thumb: str = ""
    thumb_hover: str = ""
    selection: str = ""
    veil: str = ""


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
    quiet: Quiet = Quiet()
    """Colors of widgets."""


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

_BUILT_IN = {DARK: _TOKVIZ_DARK, LIGHT: _TOKVIZ_LIGHT}
THEMES: dict[str, Look] = {}
"""Every theme by its name."""


def load_user_themes() -> list[SettingError]:
    """Add the themes in the folder `themes` beside the user's settings to `THEMES`.

    Returns:
        The errors in files that are left out.
    """
    errors = []
    for path in sorted((config_path().parent / "themes").glob("*.toml")):
        try:
            if path.stem in _BUILT_IN:
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

    def replaced(old: Any, given: Any, within: str = "") -> Any:
        if not isinstance(given, dict):
            raise SettingError(path, line_of(text, "", within), within, "must be a table")
        for key, value in given.items():
            own = getattr(old, key, None) if key in old._fields else None
            if not isinstance(own, str | tuple) or key in ("tokens", "signs", "quiet"):
                reason = f"there is no such key{did_you_mean(key, old._fields)}"
                raise SettingError(path, line_of(text, within, key), key, reason)
            listed = value if isinstance(own, tuple) and isinstance(value, list) else [value]
            n_wanted = len(own) if isinstance(own, tuple) and own else len(listed)
            is_text = key == "help" and isinstance(value, str)
            known = (
                _COLOURS_OR_NONE if key in ("special", "split") or within == "quiet" else _COLOUR
            )
            are_colours = all(isinstance(it, str) and known.fullmatch(it) for it in listed)
            if not is_text and (len(listed) != n_wanted or not are_colours):
                wanted = "a color" if n_wanted == 1 else f"a list of {n_wanted} colors"
                reason = f'must be {wanted} such as "#8ab4f8"'
                raise SettingError(path, line_of(text, within, key), key, reason)
            old = old._replace(**{key: tuple(listed) if isinstance(own, tuple) else value})
        return old

    base = table.pop("based_on", DARK)
    if base not in _BUILT_IN:
        reason = f"there is no {base!r}{did_you_mean(str(base), _BUILT_IN)}"
        raise SettingError(path, line_of(text, "", "based_on"), "based_on", reason)
    look = _BUILT_IN[base]
    signs = replaced(
        _Signs(*look.signs), {key: table.pop(key) for key in _Signs._fields if key in table}
    )
    tokens = replaced(look.tokens, table.pop("tokens", {}), "tokens")
    quiet = replaced(look.quiet, table.pop("quiet", {}), "quiet")
    look = look._replace(signs=tuple(signs), tokens=tokens, quiet=quiet)
    return replaced(look, table)  # type: ignore[no-any-return]


class _Signs(NamedTuple):
    accent: str
    warning: str
    error: str
    success: str


_COLOUR = re.compile("#[0-9a-fA-F]{6}")
_COLOURS_OR_NONE = re.compile(f"({_COLOUR.pattern}|transparent)?")


def look_of(name: str, color_system: str | None) -> Look:
    """Return the look of a theme in a terminal; a theme of Textual looks like the first one.

    Args:
        name: The name of the theme.
        color_system: Rich's name of the terminal's color system: "truecolor", "256", "standard",
            "windows" or None.
    """
    look = THEMES.get(name, _TOKVIZ_DARK)
    if color_system in SIXTEEN:
        return THEMES[f"{OWN}-{'dark' if look.dark else 'light'}"]
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
    made |= {kind: colour for kind, colour in look.quiet._asdict().items() if colour}
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

_FOR_256 = "-256"
"""Ending of the file of a theme in a terminal with 256 colors."""
_IN_256: dict[str, Look] = {}

for _path in sorted(asset_path("themes").glob("*.toml")):
    _look, _name = read_look(_path), _path.stem
    if _name.endswith(_FOR_256):
        _IN_256[_name.removesuffix(_FOR_256)] = _look
    else:
        _BUILT_IN[_name] = _look
THEMES |= _BUILT_IN
