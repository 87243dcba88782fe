"""Every task has a sample corpus in its own format, with the labels that it must have."""

from collections import Counter

import pytest

from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.data.examples import Example
from tfnmt.data.tasks import TASKS, Task
from tfnmt.data.tasks.task import DEV_SIZE, TRAIN_SIZE
from tfnmt.errors import UserError
from tfnmt.text.brackets import from_brackets


@pytest.mark.parametrize("name", TASKS)
def test_texts_of_the_sample_are_trees_of_its_words(name, tmp_path):
    task = TASKS[name]
    texts = task.sample_texts(20)
    assert len(texts) == 20 and texts == task.sample_texts(20) != task.sample_texts(20, seed=1)
    known = set(ExampleDataset(task, task.write_sample(tmp_path)["train"]).word_counts)
    assert all(set(from_brackets(text)[0]) <= known for text in texts)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_a_sample(name, tmp_path):
    task = TASKS[name]
    paths = TASKS[name].write_sample(tmp_path / "new")
    lines = [line for path in paths.values() for line in path.read_text().splitlines()]
    assert len(lines) == len(set(lines)) == TRAIN_SIZE + DEV_SIZE
    train, dev = (ExampleDataset(task, paths[split]) for split in ("train", "dev"))
    assert not train.summary.skipped or name == "sst2"
    assert set(dev.word_counts) <= set(train.word_counts)
    labels = Counter(example.label for example in train)
    assert sorted(labels) == list(range(len(task.labels)))
    assert max(labels.values()) < 0.6 * len(train)
    assert {len(example.sentences) for example in dev} == {task.sentences}
    assert {example.phrase_labels is not None for example in dev} == {task.phrase_labels}


def test_a_seed_decides_everything(tmp_path):
    texts = [TASKS["sst"].write_sample(tmp_path / str(seed), seed)["dev"].read_text() for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


class Spelling(Task):
    """A task of which nothing is drawn."""

    name = "spelling"
    labels = ("wrong", "right")

    def read_line(self, line, reader):
        label, text = line.split(" ", maxsplit=1)
        return Example((reader.read(text),), self.label_id(label))


def test_a_task_without_a_sample_corpus_says_so(tmp_path):
    with pytest.raises(UserError, match="task=spelling: there is no sample corpus for it; name files of your own"):
        Spelling().write_sample(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_task_that_draws_too_few_lines_says_so(tmp_path):
    class Coin(Spelling):
        def draw_line(self, rng):
            return rng.choice(["right a", "wrong b"])

    with pytest.raises(UserError, match="task=spelling: draw_line draws only 2 different lines; a sample has 6,500"):
        Coin().write_sample(tmp_path)


def test_a_label_that_the_task_does_not_have_is_named(tmp_path):
    path = tmp_path / "words"
    path.write_text("right ( a b )\nleft c\n")
    with pytest.raises(UserError, match="words, line 2: the label is 'left'; it must be one of wrong right"):
        ExampleDataset(Spelling(), path)
