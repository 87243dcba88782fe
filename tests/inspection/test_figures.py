"""Pictures with characters that no font has."""

import warnings
from types import SimpleNamespace

import matplotlib
import pytest

from tfnmt.inspection import figures
from tfnmt.inspection.figures import figure_image, new_figure, plain_text, save
from tfnmt_programs.report.page import picture

NO_CHARACTER = "\U0010fffd"
"""For private use, so that no font has it."""


@pytest.fixture
def figure(monkeypatch):
    monkeypatch.setattr(figures, "_told", set())
    made = new_figure(2, 1)
    made.text(0.1, 0.5, f"a {NO_CHARACTER}\x1b")
    return made


@pytest.mark.parametrize("write", ["save", "figure_image", "picture"])
def test_characters_without_a_font_are_told_once(write, figure, logged, tmp_path):
    for _ in range(2):
        {
            "save": lambda: save(figure, tmp_path / "figure.png"),
            "figure_image": lambda: figure_image(figure),
            "picture": lambda: picture(figure, "A picture"),
        }[write]()
    (line,) = logged()
    assert r"'\x1b\U0010fffd'" in line and "fonts-noto-cjk" in line and matplotlib.get_cachedir() in line


def test_other_warnings_come_through(figure, logged):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        with figures.missing_characters_told():
            warnings.warn("another", DeprecationWarning, stacklevel=1)
    assert [(str(each.message), each.category) for each in caught] == [("another", DeprecationWarning)]
    assert logged() == []


def test_installed_fonts_have_what_matplotlibs_own_has_not(monkeypatch):
    fonts = SimpleNamespace(get_font_names=lambda: ["Arial", "WenQuanYi Zen Hei"])
    monkeypatch.setattr(figures, "fontManager", fonts)
    with plain_text():
        assert matplotlib.rcParams["font.family"] == ["DejaVu Sans", "WenQuanYi Zen Hei"]
    assert "WenQuanYi Zen Hei" not in matplotlib.rcParams["font.family"]
