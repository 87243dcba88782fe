"""The pages as one document: links within it, pictures, and a PDF that Chromium prints."""

import re
from pathlib import Path

import pytest

from tests.commands.calls import call, start
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
    prefix = DOCS.resolve().as_uri() + "/"
    assert len(pictures) > 20 and all((DOCS / picture.removeprefix(prefix)).exists() for picture in pictures)


def test_no_link_leads_to_a_file_of_this_machine(tmp_path):
    """And no base is set, with which links within the book would lead out of it."""
    assert not re.findall(r'href="(?!#|https?:)[^"]*"', book_html(DOCS))
    page = "# A\n\n[`x.py`](../code/x.py) [it](../code/x.py#there) [b](b.png) ![b](b.png)\n"
    (tmp_path / "a.md").write_text(page, encoding="utf-8")
    html = book_html(tmp_path, ("a.md",))
    assert '<code>code/x.py</code> it <a href="#b.png">b</a> <img alt="b" id="b.png" src="file:' in html


def test_links_to_a_page_and_to_a_heading(tmp_path):
    (tmp_path / "a.md").write_text("# Über p(w), twice\n\n[there](b.md#z_i--φ) [file](../x.py)\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("## z_i = φ\n\n[back](a.md) [up](#z_i--φ)\n", encoding="utf-8")
    html = book_html(tmp_path, ("a.md", "b.md"))  # the contents link to each heading, too
    assert 'id="a--über-pw-twice"' in html and html.count('href="#b--z_i--φ"') == 3 and 'id="b--z_i--φ"' in html
    assert 'href="#a"' in html and "[file]" not in html


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UserError, match=f"{tmp_path / 'docs'}: no such folder; --pages names"):
        call("book", "--output", tmp_path / "book.pdf", "--pages", tmp_path / "docs")


def test_it_is_printed(browser, tmp_path, monkeypatch):
    import contextlib

    (tmp_path / "a.md").write_text("# A page\n\ntext\n", encoding="utf-8")
    monkeypatch.setattr("tfnmt_programs.book.open_browser", lambda chromium: contextlib.nullcontext(browser))
    write_book(tmp_path, tmp_path / "book.pdf", ("a.md",))
    printed = (tmp_path / "book.pdf").read_bytes()
    assert printed.startswith(b"%PDF-") and b"/Outlines" in printed


def test_a_page_that_is_missing_is_one_line(tmp_path):
    """And TensorFlow, which is imported on the way, says nothing."""
    process = start("book", "--output", tmp_path / "book.pdf", "--pages", tmp_path, text=True)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (2, f"error: {tmp_path / PAGES[0]}: No such file or directory\n")
