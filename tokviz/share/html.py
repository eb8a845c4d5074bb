"""Tokens as a self-contained web page without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tokviz.share.colours import DARK, LIGHT, Colours
from tokviz.share.figure import Chip, Figure

_STYLE = """\
body{margin:2rem auto;max-width:60rem;padding:0 1rem;background:var(--ground);color:var(--text);
 font:16px/1.7 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
h1{font-size:1rem;margin:0}h2{font-size:.9rem;margin:1rem 0 .2rem}
p{margin:0 0 .2rem}p,h2,i{color:var(--muted);font-style:normal}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:.4rem 0 0;position:relative}
b{display:inline-block;max-width:100%;font-weight:400;border-radius:3px;
 box-shadow:inset 1px 0 var(--ground); unicode-bidi:isolate;direction:ltr}
b.s{font-weight:700;font-style:italic;color:var(--special)}
b.m{font-weight:700;text-decoration:underline 2px;text-underline-offset:4px}
b:hover,b:focus{outline:2px solid var(--text)}
b:hover::after,b:focus::after{content:attr(data-t);position:absolute;left:0;margin-top:2em;
 z-index:1;width:max-content;max-width:100%;box-sizing:border-box;
 padding:.2em .6em;border-radius:4px;
 font:400 13px/1.4 system-ui,sans-serif;white-space:normal;color:var(--ground);
 background:var(--text)}"""


def write(figure: Figure) -> Iterator[str]:
    """Write the page, one line per line of the text."""
    title = escape(figure.title)
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
    policy = "default-src 'none';style-src 'unsafe-inline'"
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield f"<title>{title}</title><style>{_variables(LIGHT)}"
    yield f"@media(prefers-color-scheme:dark){{{_variables(DARK)}}}"
    yield from (f"b.h{hue}{{background:var(--h{hue})}}" for hue in range(len(LIGHT.all_fills)))
    yield f"{_STYLE}</style></head><body><h1>{title}</h1>"
    yield from (f"<p>{escape(fact)}</p>" for fact in figure.facts)
    for part in figure.parts:
        if part.heading:
            yield f"<h2>{escape(part.heading)}</h2>"
        yield "<pre>"
        for row in part.rows():
            yield "".join(_item(chip, label) for chip, label in row)
        yield "</pre>"
    yield "</body></html>"


def _item(chip: Chip | None, label: str) -> str:
    if chip is None:
        return f"<i>{escape(label)}</i>"
    classes = f"h{chip.hue}{' s' * chip.is_special}{' m' * bool(chip.mark)}"
    return f'<b tabindex="0" class="{classes}" data-t="{escape(chip.about)}">{escape(label)}</b>'


def _variables(colours: Colours) -> str:
    names = ("ground", "text", "muted", "special")
    named = {name: getattr(colours, name) for name in names}
    named |= {f"h{hue}": fill for hue, fill in enumerate(colours.all_fills)}
    return ":root{" + ";".join(f"--{name}:{value}" for name, value in named.items()) + "}"
