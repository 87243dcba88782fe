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

TITLE = "Three posts, retold"
STYLE = """
@page { size: A4; margin: 18mm }
body { font: 10.5pt/1.45 serif; max-width: none }
section { break-before: page }
h1 { font-size: 20pt } h1, h2, h3 { font-family: sans-serif; break-after: avoid }
p, li { orphans: 3; widows: 3 }
pre { background: #f4f4f4; padding: 2mm; font-size: 8pt; white-space: pre-wrap; overflow-wrap: anywhere }
pre { break-inside: avoid } code { font-size: 85%; overflow-wrap: anywhere }
img { max-width: 100%; max-height: 150mm; display: block; margin: 3mm auto; break-inside: avoid }
table { border-collapse: collapse; font-size: 8.5pt; width: 100% } thead { display: table-header-group }
td, th { border: 1px solid #bbb; padding: 1mm 1.5mm; text-align: left; vertical-align: top }
td { overflow-wrap: anywhere } tr { break-inside: avoid } a { color: #0050a0; text-decoration: none }
.contents { columns: 2; font: 9pt sans-serif } .contents ul { list-style: none; padding-left: 4mm; margin: 0 0 2mm }
"""
FOOTER = '<div style="font: 8px sans-serif; width: 100%; text-align: center"><span class="pageNumber"></span></div>'
PRINTING = {
    "printBackground": True,
    "preferCSSPageSize": True,
    "displayHeaderFooter": True,
    "headerTemplate": "<span></span>",
    "footerTemplate": FOOTER,
    "generateTaggedPDF": True,
    "generateDocumentOutline": True,
}
"""Chromium's options: a page's number below it, and an outline of the headings."""


def slug(heading: str) -> str:
    """The anchor that a heading has on GitHub: lower case, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def book_html(folder: str | Path, pages: Sequence[str] = PAGES) -> str:
    """The pages as one HTML document, with a table of contents.

    Links from one page to another, and to a picture, lead within the book. A link to any other file of the project
    becomes text, since the book is read without it: a file's name becomes its path.

    Args:
        folder: where the pages are; their pictures are found from there.
        pages: file names.

    Raises:
        OSError: a page cannot be read.
    """
    folder, bodies, contents = Path(folder).resolve(), [], []
    for page in pages:
        name = Path(page).stem
        text = (folder / page).read_text(encoding="utf-8")
        toc = TocExtension(slugify=lambda text, _, name=name: f"{name}--{slug(text)}")
        markdown = Markdown(extensions=["fenced_code", "tables", toc])
        body = markdown.convert(text)
        bodies.append(f'<section id="{name}">{_linked(body, name, pages)}</section>')
        contents.append(markdown.toc)
    html = "".join(bodies)
    pictures = set(re.findall(r'src="([^":]*)"', html))
    links = re.compile(r'<a href="([^":#]*)">(.*?)</a>', re.DOTALL)
    html = links.sub(lambda link: _link_to_file(*link.groups(), pictures), html)
    html = re.sub(r'src="([^":]*)"', lambda source: f'id="{source[1]}" src="{folder.as_uri()}/{source[1]}"', html)
    title = f"<h1>{TITLE}</h1><nav class='contents'>{''.join(contents)}</nav>"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tfnmt: {TITLE.lower()}</title>'
        f"<style>{STYLE}</style></head><body>{title}{html}</body></html>"
    )


def _linked(body, name, pages):
    """Links to headings and to other pages of the book as links within it; others without their anchors."""

    def target(match):
        path, _, anchor = match[1].partition("#")
        if path and path not in pages:
            return f'href="{path}"'
        page = Path(path).stem if path else name
        return f'href="#{page}--{anchor}"' if anchor else f'href="#{page}"'

    return re.sub(r'href="([^":]*)"', target, body)


def _link_to_file(path, text, pictures):
    """A link to a picture of the book leads there; one to another file is its text, or the path if that is its name."""
    if path in pictures:
        return f'<a href="#{path}">{text}</a>'
    is_name = text == f"<code>{Path(path).name}</code>"
    return f"<code>{path.removeprefix('../')}</code>" if is_name else text


def write_book(folder: str | Path, file: str | Path, pages: Sequence[str] = PAGES, chromium: str = "chromium") -> None:
    """Print the pages to a PDF.

    Raises:
        OSError: a page cannot be read.
        UserError: the file cannot be written, or there is no Chromium.
    """
    html = book_html(folder, pages)
    with tempfile.TemporaryDirectory() as temporary, open_browser(chromium) as browser:
        page = Path(temporary, "book.html")
        page.write_text(html, encoding="utf-8")
        browser.get(page.as_uri())
        printed = browser.execute_cdp_cmd("Page.printToPDF", PRINTING)
    with file_errors(file):
        Path(file).write_bytes(base64.b64decode(printed["data"]))
