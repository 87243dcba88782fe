"""The project's own corpora: every task has one, in its format; labels are what they must be."""

import random
from collections import Counter

import pytest

from tfnmt.data.examples import ExampleFiles
from tfnmt.data.samples.entailment import CONTRADICTION, ENTAILMENT, NEUTRAL, Scene, draw, relation
from tfnmt.data.samples.tasks import DEV_SIZE, TRAIN_SIZE, write_task_sample
from tfnmt.data.tasks import TASKS

DOG = Scene("dog", "running", "small", "( in ( a park ) )")


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_a_sample(name, tmp_path):
    task = TASKS[name]
    paths = write_task_sample(name, tmp_path / "new")
    lines = [line for path in paths.values() for line in path.read_text().splitlines()]
    assert len(lines) == len(set(lines)) == TRAIN_SIZE + DEV_SIZE
    train, dev = (ExampleFiles(task, paths[split]) for split in ("train", "dev"))
    assert not train.survey.left_out or name == "sst2"
    assert set(dev.word_counts) <= set(train.word_counts)
    labels = Counter(example.label for example in train)
    assert sorted(labels) == list(range(len(task.labels)))
    assert max(labels.values()) < 0.6 * len(train)
    assert {len(example.sentences) for example in dev} == {task.sentences}
    assert {example.phrase_labels is not None for example in dev} == {task.phrase_labels}


def test_a_seed_decides_everything(tmp_path):
    texts = [write_task_sample("sst", tmp_path / str(seed), seed)["dev"].read_text() for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


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
def test_what_follows_from_a_small_dog_running_in_a_park(changes, expected):
    assert relation(DOG, DOG._replace(**changes)) == expected


def test_to_say_more_is_neutral():
    assert relation(DOG._replace(place=None), DOG) == NEUTRAL
    assert relation(DOG._replace(action="moving"), DOG) == NEUTRAL
    assert relation(DOG._replace(adjective=None), DOG) == NEUTRAL


def test_scenes_as_trees():
    assert DOG.to_brackets() == "( ( a ( small dog ) ) ( ( is running ) ( in ( a park ) ) ) )"
    assert Scene("animal", "resting").to_brackets() == "( ( an animal ) ( is resting ) )"


def test_drawn_pairs_have_the_relation_asked_for():
    rng = random.Random(2)
    for wanted in (ENTAILMENT, NEUTRAL, CONTRADICTION):
        assert all(relation(*draw(rng, wanted)) == wanted for _ in range(50))
