"""The pages as one document: links within it, pictures, and a PDF that Chromium prints."""

import re
from pathlib import Path

import pytest

from tfnmt.errors import UserError
from tfnmt_programs.book import PAGES, book_html, write_book

DOCS = Path(__file__).parents[2] / "docs"


def test_every_link_within_the_book_has_its_target():
    html = book_html(DOCS)
    targets = set(re.findall(r'id="([^"]+)"', html))
    links = re.findall(r'href="#([^"]+)"', html)
    assert len(links) > 50 and not set(links) - targets
    assert {Path(page).stem for page in PAGES} <= targets


def test_every_picture_is_found():
    pictures = re.findall(r'src="([^"]+)"', book_html(DOCS))
    assert len(pictures) > 20 and all((DOCS / picture).exists() for picture in pictures)


def test_links_to_a_page_and_to_a_heading(tmp_path):
    (tmp_path / "a.md").write_text("# Über p(w), twice\n\n[there](b.md#z_i--φ) [file](../x.py)\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("## z_i = φ\n\n[back](a.md) [up](#z_i--φ)\n", encoding="utf-8")
    html = book_html(tmp_path, ("a.md", "b.md"))
    assert 'id="a--über-pw-twice"' in html and html.count('href="#b--z_i--φ"') == 2 and 'id="b--z_i--φ"' in html
    assert 'href="#a"' in html and 'href="../x.py"' in html


def test_it_is_printed(browser, tmp_path, monkeypatch):
    import contextlib

    (tmp_path / "a.md").write_text("# A page\n\ntext\n", encoding="utf-8")
    monkeypatch.setattr("tfnmt_programs.book.open_browser", lambda chromium: contextlib.nullcontext(browser))
    write_book(tmp_path, tmp_path / "book.pdf", ("a.md",))
    assert (tmp_path / "book.pdf").read_bytes().startswith(b"%PDF-")


def test_a_page_that_is_missing(tmp_path):
    with pytest.raises(UserError, match="none.md"):
        book_html(tmp_path, ("none.md",))
