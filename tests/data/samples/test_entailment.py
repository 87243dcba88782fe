"""Entailment between the scenes of the sample corpus, by hand."""

import random

import pytest

from tfnmt.data.samples.entailment import CONTRADICTION, ENTAILMENT, NEUTRAL, Scene, draw, relation

DOG = Scene("dog", "running", "small", "( in ( a park ) )")


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"adjective": None, "place": "outside"}, ENTAILMENT),
        ({"subject": "animal", "action": "moving", "place": None}, ENTAILMENT),
        ({"adjective": "big"}, CONTRADICTION),
        ({"subject": "person"}, CONTRADICTION),
        ({"place": "inside"}, CONTRADICTION),
        ({"place": "( in ( a kitchen ) )", "adjective": None}, CONTRADICTION),
    ],
)
def test_relations_to_a_small_dog_running_in_a_park(changes, expected):
    assert relation(DOG, DOG._replace(**changes)) == expected


def test_a_more_specific_hypothesis_is_neutral():
    assert relation(DOG._replace(place=None), DOG) == NEUTRAL
    assert relation(DOG._replace(action="moving"), DOG) == NEUTRAL
    assert relation(DOG._replace(adjective=None), DOG) == NEUTRAL


def test_scenes_in_brackets():
    assert DOG.to_brackets() == "( ( a ( small dog ) ) ( ( is running ) ( in ( a park ) ) ) )"
    assert Scene("animal", "resting").to_brackets() == "( ( an animal ) ( is resting ) )"


def test_drawn_pairs_have_the_relation_asked_for():
    rng = random.Random(2)
    for wanted in (ENTAILMENT, NEUTRAL, CONTRADICTION):
        assert all(relation(*draw(rng, wanted)) == wanted for _ in range(50))
