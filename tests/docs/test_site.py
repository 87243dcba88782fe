"""The site of README.md and docs/: it builds without a warning, is whole, and its search works from files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def test_links_to_source_files_lead_to_pages_of_them(site):
    page = (site / "spinn.html").read_text(encoding="utf-8")
    links = [link for link in re.findall(r'href="([^"#]+)', page) if link.startswith("code/")]
    assert links and all((site / link).is_file() for link in links)


def test_the_reference_has_every_public_name(site):
    import tfnmt
    import tfnmt.layers

    for page, package in {"tfnmt": tfnmt, "layers": tfnmt.layers}.items():
        headings = re.findall(r'<h2 id="[\w.]+\.(\w+)"', (site / "reference" / f"{page}.html").read_text("utf-8"))
        assert sorted(headings) == sorted(name for name in package.__all__ if name != "__version__")


def test_it_searches_from_files(site, browser):
    from tfnmt_programs.figures.browser import wait_for

    browser.get(f"{site.as_uri()}/index.html")
    browser.execute_script("document.querySelector('[data-md-toggle=search]').click()")
    browser.find_element("css selector", "input[data-md-component=search-query]").send_keys("shortlist")
    found = "[...document.querySelectorAll('.md-search-result__item a')].map(link => link.getAttribute('href'))"
    assert wait_for(browser, f"{found}.find(link => link.includes('search.html'))")


def test_it_loads_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?(\w+:[^\s\">]*)", page.read_text("utf-8")
        )
        assert [address for address in loaded if not address.startswith("data:")] == [], page
