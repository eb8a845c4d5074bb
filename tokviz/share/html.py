"""A web page that needs nothing from elsewhere and no scripts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tokviz.share.colours import DARK, LIGHT, Colours
from tokviz.share.figure import Figure

_STYLE = """\
body{margin:2rem auto;max-width:60rem;padding:0 1rem;background:var(--ground);color:var(--text);
 font:16px/1.7 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
h1{font-size:1rem;margin:0}p{color:var(--muted);margin:0 0 1rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:0}
b{font-weight:400;border-radius:3px;position:relative;box-shadow:inset 1px 0 var(--ground)}
b.s{font-weight:700;font-style:italic;color:var(--special)}
b:hover,b:focus{outline:2px solid var(--text)}
b:hover::after,b:focus::after{content:attr(data-t);position:absolute;left:0;top:1.9em;z-index:1;
 width:max-content;max-width:min(36rem,80vw);padding:.2em .6em;border-radius:4px;
 font:400 13px/1.4 system-ui,sans-serif;white-space:normal;color:var(--ground);
 background:var(--text)}"""


def write(figure: Figure) -> Iterator[str]:
    """Write the page, a line for each line of the text."""
    title = escape(figure.title)
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
    policy = "default-src 'none';style-src 'unsafe-inline'"
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield f"<title>{title}</title><style>{_variables(LIGHT)}"
    yield f"@media(prefers-color-scheme:dark){{{_variables(DARK)}}}"
    yield from (f"b.h{hue}{{background:var(--h{hue})}}" for hue in range(len(LIGHT.fills)))
    yield f"{_STYLE}</style></head><body><h1>{title}</h1><p>{escape(figure.facts)}</p>"
    yield "<pre>"
    for row in figure.rows():
        yield "".join(
            f'<b tabindex="0" class="h{chip.hue}{" s" if chip.is_special else ""}" '
            f'data-t="{escape(chip.about)}">{escape(label)}</b>'
            for chip, label in row
        )
    yield "</pre></body></html>"


def _variables(colours: Colours) -> str:
    named = colours._asdict()
    fills = named.pop("fills")
    named |= {f"h{hue}": fill for hue, fill in enumerate(fills)}
    return ":root{" + ";".join(f"--{name}:{value}" for name, value in named.items()) + "}"
