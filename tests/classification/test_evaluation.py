"""The figures against those of one text at a time; comparing parses, by hand; and which examples are evaluated."""

import numpy as np
import pytest
import tensorflow as tf

from tests.classification.test_classifier import made
from tests.classification.test_servable import made as made_with_random_weights
from tests.commands.calls import call
from tfnmt.averaging import average_checkpoints
from tfnmt.classification.classifier import Classifier
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.classification.evaluation import compare_parses, evaluate_classifier, spans
from tfnmt.classification.outcomes import mcnemar
from tfnmt.classification.presets import CLASSIFIER_PRESETS
from tfnmt.classification.training import train_classifier
from tfnmt.data.example_batches import sentence_batch
from tfnmt.data.examples import Sentence
from tfnmt.errors import UserError
from tfnmt.text.brackets import BRACKET_WORDS, from_brackets
from tfnmt.text.tokenizers import WordTokenizer

SETTINGS = ["task=listops", "embedding_size=4", "units=4", "tracker_units=4", "head_units=4", "batch_size=4", "steps=2"]


def test_spans_of_a_tree():
    _, transitions = from_brackets("( ( a b ) ( c ( d e ) ) )")
    assert spans(np.array([*transitions, 0, 0])) == {(0, 2), (3, 5), (2, 5), (0, 5)}


def test_models_that_skip_or_order_examples_otherwise_are_compared_by_example(tmp_path):
    data = tmp_path / "data.tsv"
    data.write_text("1\t( ( 1 2 ) 3 )\n3\t( 1 2 3 )\n2\t( ( ( ( 1 ) ) ) )\n1\t( 1 2 )\n2\t1\n")
    tokenizer = WordTokenizer(["1", "2", "3", *BRACKET_WORDS])
    outcomes = {}
    for name, options in {
        "trees": {"encoder": "spinn-pi-nt"},
        "bag": {"encoder": "bag"},
        "brackets": {"encoder": "gru", "brackets_as_words": True},
    }.items():
        configuration = ClassifierConfiguration(task="listops", embedding_size=4, units=4, head_units=4, **options)
        model = Classifier(configuration, tokenizer)
        outcomes[name] = evaluate_classifier(model, [data], broken_trees="skip")[1]
    lines = {name: each.places["offset"].tolist() for name, each in outcomes.items()}
    assert [len(each) for each in lines.values()] == [3, 5, 5] and lines["bag"] != lines["brackets"]
    for each in outcomes.values():
        by_place = dict(zip(each.places["offset"].tolist(), each.labels.tolist(), strict=True))
        expected = dict(zip(data_offsets(data), [1, 3, 2, 1, 2], strict=True))
        assert by_place == {place: expected[place] for place in by_place}
    np.testing.assert_array_equal(sorted(outcomes["brackets"].words), [1, 1, 2, 3, 3])  # brackets are not counted
    assert 0 < mcnemar(outcomes["trees"], outcomes["bag"]) <= 1


def test_figures_are_those_of_one_text_at_a_time(tmp_path):
    """Whatever the batches: the loss is the mean over examples; steps and brackets are counted over all sentences."""
    texts = ["( a ( b c ) )", "( ( d e ) f )", "( a b )", "( ( a b ) ( c d ) )", "e"]
    model = made_with_random_weights("spinn", "listops")
    batches = [sentence_batch([Sentence(*from_brackets(text))], model.tokenizer) for text in texts]
    logits = [model(batch)["logits"][0] for batch in batches]
    labels = [int(np.argmax(x)) if i % 2 else 3 for i, x in enumerate(logits)]
    data = tmp_path / "data.tsv"
    data.write_text("".join(f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True)))

    losses = [-float(tf.nn.log_softmax(x)[label]) for x, label in zip(logits, labels, strict=True)]
    right = [int(np.argmax(x)) == label for x, label in zip(logits, labels, strict=True)]
    predicted, given = ([from_brackets(text)[1] for text in each] for each in (model.parse(texts), texts))
    same_steps = np.equal(np.concatenate(predicted), np.concatenate(given))
    pairs = [(spans(np.array(p)), spans(np.array(g))) for p, g in zip(predicted, given, strict=True)]
    f1 = sum(len(p & g) for p, g in pairs) / sum(len(g) for _, g in pairs)
    assert 0 < np.mean(right) < 1 and 0 < np.mean(same_steps) < 1 and 0 < f1 < 1
    for batch_size in (1, 2, 5):
        figures, _ = evaluate_classifier(model, [data], batch_size)
        assert figures["loss"] == pytest.approx(np.mean(losses), rel=1e-4)
        assert figures["accuracy"] == pytest.approx(np.mean(right))
        assert figures["transition_accuracy"] == pytest.approx(np.mean(same_steps))
        assert figures["parse_f1"] == pytest.approx(f1)


def test_a_pair_is_as_long_as_its_longer_sentence(tmp_path):
    data = tmp_path / "data.tsv"
    data.write_text("neutral\t( a ( b c ) )\ta\nneutral\ta\t( a b )\nentailment\ta\tb\n")
    configuration = ClassifierConfiguration(task="snli", encoder="bag", embedding_size=4, head_units=4)
    model = Classifier(configuration, WordTokenizer(["a", "b", "c"]))
    for batch_size in (1, 3):
        _, outcomes = evaluate_classifier(model, [data], batch_size)
        assert sorted(outcomes.words) == [1, 2, 3]


def data_offsets(path):
    """Where each line begins."""
    lines = path.read_bytes().splitlines(keepends=True)
    return [sum(map(len, lines[:i])) for i in range(len(lines))]


def test_compare_parses():
    given = np.array([from_brackets("( ( a b ) ( c d ) )")[1], [1, *[0] * 6]])
    predicted = np.array([from_brackets("( ( ( a b ) c ) d )")[1], [1, *[0] * 6]])
    same = np.sum(given[0] == predicted[0]) + 1
    # Of the spans ab, cd and abcd, the predicted tree has ab and abcd.
    assert compare_parses(predicted, given) == (same, 8, 2, 3)
    assert compare_parses(np.pad(predicted, [(0, 0), (0, 4)]), given) == (same, 8, 2, 3)


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["spinn-pi-nt", "rl-spinn"])
def test_what_is_trained_without_broken_trees_is_evaluated_without_them(encoder, tmp_path):
    """In training, after the averaging of checkpoints, and by the command, if it is told to."""
    data = tmp_path / "data.tsv"
    data.write_text("1\t( [MAX 1 )\n" * 5 + "3\t( 1 2 3 )\n")
    preset = CLASSIFIER_PRESETS["tiny"].override([*SETTINGS, f"encoder={encoder}", "broken_trees=skip"])
    run, mean = tmp_path / "run", tmp_path / "mean"
    model, progress = train_classifier(run, preset, [data], [data])
    parses = {"dev_parse_f1"} if encoder == "rl-spinn" else set()
    assert parses <= progress.history[-1].keys()

    average_checkpoints(run, 1, mean)
    for name in {"dev_accuracy", *parses}:
        assert f"- {name} " in (mean / "README.md").read_text(encoding="utf-8")

    figures, _ = evaluate_classifier(model, [data], broken_trees="skip")
    assert figures["examples"] == 5
    command = ["evaluate-classifier", "--model", mean, "--data", data]
    assert "examples  5\n" in call(*command, "--broken-trees", "skip")
    if encoder == "spinn-pi-nt":
        with pytest.raises(
            UserError, match=r"line 6: .*; --set broken_trees=skip \(to evaluate: --broken-trees skip\)"
        ):
            call(*command)


def test_parses_that_are_broken_are_not_compared_with_those_of_a_parser(tmp_path, logged):
    """Unless it reads the brackets."""
    data = tmp_path / "data.tsv"
    data.write_text("1\t( a b )\n2\t( a b c )\n")
    figures, _ = evaluate_classifier(made("spinn", "listops"), [data])
    assert figures["examples"] == 2 and "parse_f1" not in figures
    (told,) = logged()
    assert told.startswith(f"parses are not evaluated: {data}, line 2: the tree is not binary")
    with pytest.raises(UserError, match=f"^{data}, line 2: the tree is not binary"):
        evaluate_classifier(made("spinn", "listops", brackets_as_words=True), [data])


def test_single_words_have_perfect_parses(tmp_path):
    (tmp_path / "data.tsv").write_text("1\ta\n2\tb\n")
    figures, _ = evaluate_classifier(made("rl-spinn", "listops"), [tmp_path / "data.tsv"])
    assert figures["transition_accuracy"] == figures["parse_f1"] == 1.0
