"""One HTML file that needs no other: tables, pictures and the page around them."""

import base64
import difflib
import html
import io
from collections.abc import Iterable, Mapping, Sequence

import matplotlib
from matplotlib.figure import Figure

from tfnmt.inspection.figures import missing_characters_told

STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --text: #1c2026; --muted: #59616c; --line: #d4d8de;
        --accent: #1450b4; --mark: #ffe2b8; }
@media (prefers-color-scheme: dark) {
  :root { --back: #15181c; --text: #e8eaed; --muted: #a6adb8; --line: #3a4048; --accent: #8ab4f8; --mark: #5c3d0c; }
  img { filter: invert(1) hue-rotate(180deg); }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 68rem;
       margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h1 { font-size: 1.6rem; margin: 0.5rem 0; } h2 { margin: 2.5rem 0 0.5rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.5rem 0 0.25rem; font-size: 1rem; }
nav a { margin-right: 1rem; } a { color: var(--accent); }
.wide { overflow-x: auto; } code { overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 0.5rem 0; } caption { text-align: left; color: var(--muted); }
th, td { text-align: left; padding: 0.2rem 0.9rem 0.2rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
img { max-width: 100%; height: auto; } figure { margin: 0.5rem 0; } figcaption { font-weight: bold; }
.row { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; align-items: start; } .row figure { max-width: 32rem; }
.example { margin: 0.75rem 0; padding: 0.25rem 0 0.25rem 0.9rem; border-left: 3px solid var(--line); }
.example th { font-weight: normal; color: var(--muted); min-width: min(9rem, 28vw); }
.example td, .example th { border: 0; }
mark { background: var(--mark); color: inherit; border-radius: 2px; } .faint { color: var(--muted); }
"""
"""Light or dark as the system is, in the colours of the page of `tfnmt serve`."""

Row = Sequence[object]


def page(title: str, sections: Mapping[str, str], about: str) -> str:
    """The whole page.

    Args:
        title: of the page.
        sections: {heading: HTML}; those without any are left out.
        about: a line of HTML below the title.
    """
    sections = {heading: body for heading, body in sections.items() if body}
    links = "".join(f'<a href="#{_anchor(heading)}">{escape(heading)}</a>' for heading in sections)
    body = "".join(
        f'<h2 id="{_anchor(heading)}">{escape(heading)}</h2>\n{part}\n' for heading, part in sections.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        f'<p class="faint">{about}</p>\n<nav>{links}</nav>\n{body}</body>\n</html>\n'
    )


def escape(value: object) -> str:
    """A value as text in HTML; a float with four digits that count."""
    return html.escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def table(columns: Row, rows: Sequence[Row], caption: str = "") -> str:
    """A table; numbers stand at the right."""
    numbers = [
        bool(rows) and all(isinstance(row[i], int | float) or row[i] == "" for row in rows) for i in range(len(columns))
    ]

    def cells(row, tag):
        kinds = (' class="number"' if number else "" for number in numbers)
        return "".join(f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in zip(row, kinds, strict=True))

    head = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(f"<tr>{cells(row, 'td')}</tr>\n" for row in rows)
    return f'<div class="wide"><table>{head}\n<tr>{cells(columns, "th")}</tr>\n{body}</table></div>'


def example(rows: Mapping[str, str]) -> str:
    """Lines of one example, {what it is: HTML}."""
    lines = "".join(f"<tr><th>{escape(name)}</th><td>{text}</td></tr>" for name, text in rows.items())
    return f'<div class="example"><table>{lines}</table></div>'


def marked(text: str, reference: str) -> str:
    """A text as HTML, with those of its words marked that are not as in a reference."""
    words, right = text.split(), reference.split()
    parts = []
    for tag, first, last, _, _ in difflib.SequenceMatcher(a=words, b=right, autojunk=False).get_opcodes():
        if first < last:
            part = escape(" ".join(words[first:last]))
            parts.append(part if tag == "equal" else f"<mark>{part}</mark>")
    return " ".join(parts)


def picture(figure: Figure, description: str, caption: str = "") -> str:
    """A figure as SVG within the page, perhaps with a caption; the description is for those who do not see it.

    In a dark window its lightness is inverted, and its hues are kept: black becomes white, and blue stays blue.
    """
    file = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "tfnmt"}), missing_characters_told():
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    content = base64.b64encode(file.getvalue().encode()).decode()
    title = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure>{title}<img alt="{escape(description)}" src="data:image/svg+xml;base64,{content}"></figure>'


def side_by_side(pictures: Iterable[str]) -> str:
    """Pictures beside each other, as many as the page is wide."""
    return f'<div class="row">{"".join(pictures)}</div>'


def _anchor(heading):
    return heading.lower().replace(" ", "-")
