"""Screenshots of what is read from files: a report, the site."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tfnmt.errors import UserError
from tfnmt_programs.figures.browser import find_programs, open_browser
from tfnmt_programs.figures.page import show_as
from tfnmt_programs.figures.screenshots import save_screenshot

SIZE = (1280, 800)
"""Of the page, in pixels: as wide as the site needs for its navigation."""


def take_document_screenshots(
    documents: Mapping[str, str | Path], directory: str | Path, chromium: str = "chromium"
) -> Iterator[Path]:
    """Write DIRECTORY/NAME-light.png and DIRECTORY/NAME-dark.png of the beginning of each document; yield the paths.

    Args:
        documents: name → an HTML file.
        directory: made if it is not there.
        chromium: the browser's name or path.

    Raises:
        UserError: a file is not there, or the browser is not installed.
    """
    find_programs(chromium)
    for path in documents.values():
        if not Path(path).is_file():
            raise UserError(f"{path}: there is no such file")
    directory = Path(directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    with open_browser(chromium) as browser:
        for name, document in documents.items():
            for theme in ("light", "dark"):
                show_as(browser, *SIZE, theme)
                browser.get(Path(document).resolve().as_uri())
                path = directory / f"{name}-{theme}.png"
                save_screenshot(browser, path)
                yield path
