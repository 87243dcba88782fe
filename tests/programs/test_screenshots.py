"""Pages are opened, looked into and drawn; what is missing is said."""

import io
import shutil
from types import SimpleNamespace

import pytest
from PIL import Image

from tfnmt.errors import UserError
from tfnmt_programs.commands import screenshots
from tfnmt_programs.figures.screenshots import COLORS, FIND, SIZE, Browser, take

PAGE = """data:text/html,<body style="background:%23ff0000"><p>outside</p><div></div><script>
document.querySelector('div').attachShadow({mode: 'open'}).innerHTML = '<p>inside</p>'
</script>"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
def test_a_page_is_looked_into_and_drawn(tmp_path):
    with Browser("chromium") as browser:
        browser.do("Page.navigate", url=PAGE)
        browser.wait_for("document.readyState == 'complete'")
        browser.value(FIND)
        assert browser.value("find('p').map(e => e.textContent)") == ["outside", "inside"]
        take(browser, tmp_path / "page.png")
        with pytest.raises(RuntimeError, match="nonsense"):
            browser.do("nonsense")
    picture = Image.open(tmp_path / "page.png")
    assert picture.size == SIZE
    assert len(picture.getcolors()) <= COLORS
    assert picture.convert("RGB").getpixel((600, 600)) == (255, 0, 0)


def test_a_browser_that_does_not_start_is_told():
    with pytest.raises(UserError, match="true has ended"), Browser("true"):
        pass


@pytest.mark.parametrize(
    "chromium, complaint", [("absent", "--chromium absent: there is no such program"), ("true", "logs: there are no")]
)
def test_what_is_missing_is_said(chromium, complaint, tmp_path):
    arguments = SimpleNamespace(chromium=chromium, model=tmp_path, output=tmp_path / "pictures", tabs=["text"])
    with pytest.raises(UserError, match=complaint):
        screenshots.main(arguments, io.StringIO())
    assert not (tmp_path / "pictures").exists()
