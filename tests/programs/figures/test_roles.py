"""Who does what to whom in summary vectors: what is counted, of vectors whose answers are known."""

import numpy as np
import pytest

from tests.commands.calls import call
from tfnmt_programs.figures.roles import EVENTS, draw_roles, role_figures

CAPTIONS = EVENTS["multi30k"]
TEXTS = [CAPTIONS.sentence(form, *event) for form in CAPTIONS.forms for event in CAPTIONS.all()]
WORDS = sorted({word for text in TEXTS for word in text.split()})
EVENT = ("man", "dog", CAPTIONS.verbs[-1], "in the park")


def by_words(texts):
    """A bag of words."""
    return np.array([[float(text.split().count(word)) for word in WORDS] for text in texts])


def by_first_being(texts):
    """Knows the being that is named first, and nothing else."""
    return np.array([[float(CAPTIONS.beings.index(_first_being(text)))] for text in texts])


def by_agent(texts):
    """Knows who does it, in either voice."""
    agents = [text.split(" by a ")[-1].split()[0] if " by a " in text else _first_being(text) for text in texts]
    return np.array([[float(CAPTIONS.beings.index(agent))] for agent in agents])


def _first_being(text):
    return next(word for word in text.split() if word in CAPTIONS.beings)


def test_the_forms_say_the_same():
    assert CAPTIONS.sentence("active", *EVENT) == "a man is chasing a dog in the park ."
    assert CAPTIONS.sentence("passive", *EVENT) == "a dog is being chased by a man in the park ."
    place_first = EVENTS["sample"].sentence("place first", "man", "dog", ("sees", "seen", "looks at"), "in the city")
    assert place_first == "In the city the man sees the dog."
    assert len(set(CAPTIONS.all())) == 5 * 4 * 4 * 3


def test_a_bag_of_words_does_not_know_who_does_it():
    assert role_figures(by_words, CAPTIONS)["passive"] == {"same_of_two": 0.5, "before_swapped": 0}


def test_who_knows_the_agent_is_always_right():
    assert {tuple(each.values()) for each in role_figures(by_agent, CAPTIONS).values()} == {(1.0, 1.0)}


def test_who_sees_the_first_being_takes_the_passive_for_its_opposite():
    figures = role_figures(by_first_being, CAPTIONS)
    assert figures["passive"] == {"same_of_two": 0, "before_swapped": 0.5}
    assert figures["place first"] == {"same_of_two": 1, "before_swapped": 1}


@pytest.mark.parametrize("events", EVENTS.values(), ids=EVENTS)
def test_the_picture_has_six_sentences_in_each_panel(events):
    panels = draw_roles(lambda texts: np.array([[len(text), len(set(text))] for text in texts], float), events).axes
    assert [len(axes.collections) for axes in panels] == [6, 6]


def test_the_command_draws_a_model_that_is_there(tmp_path):
    printed = call("plot", "roles", "--model", "sample-en-de-summary", "--output", tmp_path / "roles.png")
    assert "another tense, before_swapped" in printed and (tmp_path / "roles.png").exists()
