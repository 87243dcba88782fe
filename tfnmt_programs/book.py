"""The pages that retell the posts as one printable PDF: Markdown to HTML, and Chromium prints it."""

import base64
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from markdown import Markdown
from markdown.extensions.toc import TocExtension

from tfnmt.files import file_errors
from tfnmt_programs.figures.browser import open_browser

PAGES = ("concepts.md", "translation.md", "spinn.md", "static-vs-dynamic.md", "posts.md")
"""In the order of the book."""

STYLE = """
@page { size: A4; margin: 18mm }
body { font: 10.5pt/1.45 serif; max-width: none }
h1 { break-before: page; font-size: 20pt } h1:first-of-type { break-before: auto }
h1, h2, h3 { font-family: sans-serif; break-after: avoid }
pre { background: #f4f4f4; padding: 2mm; font-size: 8pt; white-space: pre-wrap; break-inside: avoid }
code { font-size: 85%; overflow-wrap: anywhere }
img { max-width: 100%; display: block; margin: 3mm auto; break-inside: avoid }
table { border-collapse: collapse; font-size: 8.5pt } td, th { border: 1px solid #bbb; padding: 1mm 1.5mm }
td { overflow-wrap: anywhere } tr { break-inside: avoid } a { color: #0050a0; text-decoration: none }
"""


def slug(heading: str, separator: str = "-") -> str:
    """The anchor that a heading has on GitHub: lower case, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def book_html(folder: str | Path, pages: Sequence[str] = PAGES) -> str:
    """The pages as one HTML document; links from one to another lead within it.

    Args:
        folder: where the pages are; their pictures are found from there.
        pages: file names.
    """
    folder, bodies = Path(folder).resolve(), []
    for page in pages:
        name = Path(page).stem
        with file_errors(folder / page):
            text = (folder / page).read_text(encoding="utf-8")
        extensions = ["fenced_code", "tables", TocExtension(slugify=lambda text, _, name=name: f"{name}--{slug(text)}")]
        body = Markdown(extensions=extensions).convert(text)
        bodies.append(f'<section id="{name}">{_linked(body, name, pages)}</section>')
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><base href="{folder.as_uri()}/">'
        f"<title>tfnmt: three posts, retold</title><style>{STYLE}</style></head><body>{''.join(bodies)}</body></html>"
    )


def _linked(body, name, pages):
    """Links to headings and to other pages of the book as links within it."""

    def target(match):
        path, _, anchor = match[1].partition("#")
        if path and path not in pages:
            return match[0]
        page = Path(path).stem if path else name
        return f'href="#{page}--{anchor}"' if anchor else f'href="#{page}"'

    return re.sub(r'href="([^":]*)"', target, body)


def write_book(folder: str | Path, file: str | Path, pages: Sequence[str] = PAGES, chromium: str = "chromium") -> None:
    """Print the pages to a PDF.

    Raises:
        UserError: a page is missing, the file cannot be written, or there is no Chromium.
    """
    html = book_html(folder, pages)
    with tempfile.TemporaryDirectory() as temporary, open_browser(chromium) as browser:
        page = Path(temporary, "book.html")
        page.write_text(html, encoding="utf-8")
        browser.get(page.as_uri())
        printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
    with file_errors(file):
        Path(file).write_bytes(base64.b64decode(printed["data"]))
