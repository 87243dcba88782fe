"""Pages are opened, searched and drawn; what is missing is reported."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from tfnmt.errors import UserError
from tfnmt_programs.commands import screenshots
from tfnmt_programs.figures import browser as browsers
from tfnmt_programs.figures.browser import SIZE, open_browser, wait_for
from tfnmt_programs.figures.screenshots import COLORS, FIND, TABS, save_screenshot

PAGE = """data:text/html,<body style="background:%23ff0000"><p>outside</p><div></div><script>
document.querySelector('div').attachShadow({mode: 'open'}).innerHTML = '<p>inside</p>'
</script>"""
NOTHING = {"model": None, "page": False, "report": None, "site": None}


def test_a_page_is_searched_and_drawn(browser, tmp_path):
    browser.get(PAGE)
    browser.execute_script(FIND)
    assert wait_for(browser, "find('p').map(e => e.textContent)") == ["outside", "inside"]
    save_screenshot(browser, tmp_path / "page.png")
    picture = Image.open(tmp_path / "page.png")
    assert picture.size == SIZE
    assert len(picture.getcolors()) <= COLORS
    assert picture.convert("RGB").getpixel((600, 600)) == (255, 0, 0)


def test_a_page_that_is_never_ready(browser, monkeypatch):
    monkeypatch.setattr(browsers, "SECONDS", 0.2)
    with pytest.raises(UserError, match="the page was not ready after 0.2 seconds: 1 > 2"):
        wait_for(browser, "1 > 2")


def test_a_browser_that_does_not_start(browser):
    with pytest.raises(UserError, match="true does not start: "), open_browser("true"):
        pass


def test_a_browser_that_is_not_installed(tmp_path):
    for taken in ({"model": tmp_path}, {"page": True}, {"report": tmp_path / "report.html"}, {"site": tmp_path}):
        options = {"output": tmp_path / "pictures", "tabs": ["text"]} | NOTHING | taken
        with pytest.raises(UserError, match="absent: there is no such program; on Debian: apt-get install chromium"):
            screenshots.main(SimpleNamespace(chromium="absent", **options), io.StringIO())
    with pytest.raises(UserError, match="nothing to take: give --model DIR, --page, --report F, --site DIR or several"):
        screenshots.main(SimpleNamespace(**options | NOTHING), io.StringIO())
    assert not (tmp_path / "pictures").exists()


def test_a_run_without_logs(monkeypatch, tmp_path):
    monkeypatch.setattr("tfnmt_programs.figures.screenshots.find_programs", lambda chromium: None)
    options = {"model": tmp_path, "output": tmp_path / "pictures", "tabs": ["text"]}
    arguments = SimpleNamespace(chromium="chromium", **NOTHING | options)
    with pytest.raises(UserError, match="logs: there are no logs; train without --no-board"):
        screenshots.main(arguments, io.StringIO())
    assert not (tmp_path / "pictures").exists()


@pytest.mark.slow
def test_a_document_is_taken_in_both_themes(browser, tmp_path):
    (tmp_path / "index.html").write_text("""<!doctype html><style>
        html { background: white } @media (prefers-color-scheme: dark) { html { background: black } }</style>""")
    options = NOTHING | {"site": tmp_path, "output": tmp_path / "pictures", "chromium": "chromium"}
    output = io.StringIO()
    screenshots.main(SimpleNamespace(**options), output)
    paths = output.getvalue().splitlines()
    assert [Path(path).name for path in paths] == ["site-light.png", "site-dark.png"]
    colors = [Image.open(path).convert("RGB").getpixel((600, 600)) for path in paths]
    assert colors == [(255, 255, 255), (0, 0, 0)]
    (tmp_path / "index.html").unlink()
    with pytest.raises(UserError, match="index.html: there is no such file"):
        screenshots.main(SimpleNamespace(**options), io.StringIO())


def test_the_command_offers_every_tab():
    assert screenshots.TABS == TABS
