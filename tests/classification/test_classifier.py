"""Every encoder with every kind of head: learning, losses, invariance to padding, and predictions from text."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.classification.classifier import Classifier, at_root
from tfnmt.classification.configuration import ClassifierConfiguration
from tfnmt.classification.encoders import ENCODERS
from tfnmt.classification.reinforce import loss_terms
from tfnmt.classification.streaming import parse_stream
from tfnmt.data.example_batches import example_arrays, sentence_batch
from tfnmt.data.examples import Example, Sentence
from tfnmt.errors import UserError
from tfnmt.text.brackets import from_brackets
from tfnmt.text.tokenizers import WordTokenizer

TOKENIZER = WordTokenizer(list("abcdef"))
TREES = ["( a ( b c ) )", "( a b )", "( ( d e ) f )", "( f ( f a ) )", "e", "( ( a e ) d )"]
SENTENCES = [Sentence(*from_brackets(tree)) for tree in TREES]


def labels_of(sentence):
    """A label for each node, some without."""
    return [(node % 5) if node % 3 else -1 for node in range(len(sentence.transitions) - 1)] + [1]


EXAMPLES = {
    "snli": [Example((SENTENCES[i], SENTENCES[-1 - i]), i % 3) for i in range(3)],
    "sst": [Example((sentence,), 1, labels_of(sentence)) for sentence in SENTENCES],
    "listops": [Example((sentence,), len(sentence.words)) for sentence in SENTENCES],
}


def made(encoder, task="snli", **options):
    keras.utils.set_random_seed(1)
    sizes = {"embedding_size": 6, "units": 8, "tracker_units": 5, "head_units": 8}
    return Classifier(ClassifierConfiguration(task=task, encoder=encoder, **sizes | options), TOKENIZER)


def batch_of(examples, padding=0):
    """A batch as `tfnmt.data.example_batches` makes it, with padding for this many more words."""
    inputs, labels = example_arrays(examples)
    words = TOKENIZER.encode(tf.constant(inputs["words"])).to_tensor().numpy()
    arrays = {name: array for name, array in inputs.items() if name != "words"}
    padded = {name: np.pad(array, [(0, 0), (0, 2 * padding)]) for name, array in arrays.items()}
    padded["words"] = np.pad(words, [(0, 0), (0, padding)])
    if labels.ndim == 2:
        labels = np.pad(labels, [(0, 0), (0, 2 * padding)], constant_values=-1)
    return tf.nest.map_structure(tf.constant, (padded, labels))


@pytest.mark.parametrize("options", [{"loss": "mse"}, {"metrics": ["accuracy"]}, {"weighted_metrics": ["accuracy"]}])
def test_a_loss_and_metrics_beside_its_own_are_refused(options):
    with pytest.raises(ValueError, match="a Classifier has its own loss and metrics: compile it without"):
        made("bag", "snli").compile("sgd", **options)


def test_metrics_that_are_given_by_position_are_refused_too():
    with pytest.raises(ValueError, match="a Classifier has its own loss and metrics: compile it without"):
        made("bag", "snli").compile("sgd", None, None, ["accuracy"])


OTHER_TASKS = {"sst": ("lstm", "spinn-pi-nt", "spinn"), "listops": ("cnn", "spinn", "rl-spinn")}


@pytest.mark.parametrize(
    "encoder, task",
    [(encoder, "snli") for encoder in ENCODERS]
    + [(encoder, task) for task, encoders in OTHER_TASKS.items() for encoder in encoders],
)
def test_every_encoder_and_every_head_learn(encoder, task):
    model = made(encoder, task, batch_normalization=task != "snli")
    model.compile(keras.optimizers.Adam(0.05), run_eagerly=True)
    batch = batch_of(EXAMPLES[task])
    losses = []
    for _ in range(2):
        figures = model.train_on_batch(*batch, return_dict=True)
        losses.append(figures["loss"])
        model.reset_metrics()
    assert losses[1] < losses[0]
    assert set(figures) == {"loss", "accuracy"} | ({"transition_accuracy"} if encoder == "spinn" else set())


@pytest.mark.parametrize(
    "encoder, task",
    [("lstm", "snli"), ("spinn-pi-nt", "snli"), ("spinn-pi-nt", "sst"), ("spinn", "sst"), ("spinn", "snli")],
)
def test_micro_batches_give_the_update_of_the_whole_batch(encoder, task):
    batch, results = batch_of(EXAMPLES[task]), []
    for micro_batches in (1, 2):
        model = made(encoder, task, micro_batches=micro_batches)
        model.compile(keras.optimizers.SGD(1.0), run_eagerly=True)
        figures = model.train_on_batch(*batch, return_dict=True)
        results.append((*(figures[name] for name in sorted(figures)), *model.get_weights()))
    for value, expected in zip(*results, strict=True):
        np.testing.assert_allclose(value, expected, atol=1e-5)


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_the_regularizer_of_a_weight_counts(micro_batches):
    batch, losses = batch_of(EXAMPLES["snli"]), []
    for regularizer in (None, keras.regularizers.L2(0.5)):
        model = made("bag", micro_batches=micro_batches)
        model.trainable_weights[0].regularizer = regularizer
        model.compile("sgd", run_eagerly=True)
        losses.append(model.test_on_batch(*batch, return_dict=True)["loss"])
    penalty = 0.5 * np.sum(np.square(model.trainable_weights[0]))
    np.testing.assert_allclose(losses[1], losses[0] + penalty, rtol=1e-5)


@pytest.mark.parametrize(
    "encoder, task",
    [(encoder, "snli") for encoder in ENCODERS]
    + [(encoder, task) for task, encoders in OTHER_TASKS.items() for encoder in encoders],
)
@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_micro_batches_are_evaluated_as_the_whole_batch(encoder, task, size):
    batch, results = batch_of(EXAMPLES[task][:size]), []
    for micro_batches in (1, 2):
        model = made(encoder, task, micro_batches=micro_batches)
        model.compile("sgd")
        results.append(model.test_on_batch(*batch))
    np.testing.assert_allclose(*results, rtol=1e-5)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_encoder_learns_with_attention_between_both_sentences(encoder):
    model = made(encoder, pair_attention=True)
    model.compile(keras.optimizers.Adam(0.01), run_eagerly=True)
    inputs, labels = batch_of(EXAMPLES["snli"])
    padded, _ = batch_of(EXAMPLES["snli"], padding=3)
    np.testing.assert_allclose(model(padded)["logits"], model(inputs)["logits"], atol=1e-5)
    compared = model.pair_attention.get_weights()
    losses = []
    for _ in range(4):
        losses.append(model.train_on_batch(inputs, labels)[0])
        model.reset_metrics()
    assert losses[-1] < losses[0]
    assert all(np.any(old != new) for old, new in zip(compared, model.pair_attention.get_weights(), strict=True))


def test_attention_between_both_sentences_in_micro_batches_gives_the_update_of_the_whole_batch():
    results = []
    for micro_batches in (1, 2):
        model = made("spinn-pi-nt", pair_attention=True, micro_batches=micro_batches)
        model.compile(keras.optimizers.SGD(1.0), run_eagerly=True)
        results.append((model.train_on_batch(*batch_of(EXAMPLES["snli"]))[0], *model.get_weights()))
    for value, expected in zip(*results, strict=True):
        np.testing.assert_allclose(value, expected, atol=1e-5)


def test_a_vocabulary_without_brackets_leaves_none_to_the_tracker():
    options = {"brackets_as_words": True, "tracker_reads": "words", "tracked_composition": False}
    with pytest.raises(UserError, match="composed_brackets=false: allowed is true with a vocabulary without brackets"):
        made("spinn", "snli", composed_brackets=False, **options)


def test_attention_needs_two_sentences():
    with pytest.raises(UserError, match="pair_attention=true: allowed is false with task=listops, which has no pairs"):
        made("bag", "listops", pair_attention=True)


@pytest.mark.parametrize("reward", ["log_likelihood", "accuracy", "mean_likelihood"])
def test_sampled_parses_are_learned_in_micro_batches(reward):
    model = made("rl-spinn", "listops", samples=3, reward=reward, micro_batches=4)
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    before = model.get_weights()
    figures = model.train_on_batch(*batch_of(EXAMPLES["listops"]), return_dict=True)
    assert np.isfinite(figures["loss"])
    assert any(np.any(old != new) for old, new in zip(before, model.get_weights(), strict=True))


@pytest.mark.parametrize("dtype", ["float64", "mixed_bfloat16"])
@pytest.mark.parametrize("options", [{}, {"reward": "accuracy", "baseline": "running"}], ids=["draws", "averages"])
def test_sampled_parses_are_learned_in_any_dtype(options, dtype):
    config = made("rl-spinn", "listops", **options).get_config()
    model = Classifier.from_config(config | {"dtype": dtype})
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    before = model.get_weights()
    assert np.all(np.isfinite(model.train_on_batch(*batch_of(EXAMPLES["listops"]))))
    assert any(np.any(old != new) for old, new in zip(before, model.get_weights(), strict=True))


@pytest.mark.parametrize("tracker_reads", ["phrases", "words"])
def test_without_samples_the_best_parses_are_trained_along_and_the_parser_is_left(tracker_reads):
    options = {"tracker_reads": tracker_reads, "tracked_composition": False}
    model = made("rl-spinn", "listops", samples=0, **options)
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    inputs, labels = batch_of(EXAMPLES["listops"])
    parsed = model(inputs)["transitions"]
    np.testing.assert_array_equal(model(inputs, training=True)["transitions"], parsed)
    before = {weight.path: weight.numpy() for weight in model.weights}
    model.train_on_batch(inputs, labels)
    changed = {weight.path for weight in model.weights if np.any(weight.numpy() != before[weight.path])}
    assert any("/words/" in path for path in changed) and any("compos" in path for path in changed)
    assert not any("tracker" in path for path in changed)
    assert [weight.path for weight in model.weights] == [
        weight.path for weight in made("rl-spinn", "listops", samples=2, **options).weights
    ]


@pytest.mark.parametrize("task", ["listops", "snli"])
def test_samples_of_a_sentence_stand_side_by_side(task):
    """Of one or two words there is one tree, so every sample has the logits of the sentence."""
    short = [Sentence(*from_brackets(text)) for text in ("e", "( a b )", "( f c )", "d")]
    pairs = list(zip(short[:2], short[2:], strict=True))
    inputs, labels = batch_of([Example(pair if task == "snli" else pair[:1], 1) for pair in pairs])
    model = made("rl-spinn", task, samples=3)
    expected, found = model(inputs)["logits"].numpy(), model(inputs, training=True)["logits"].numpy()
    assert abs(expected[0] - expected[1]).max() > 1e-4
    np.testing.assert_allclose(found, np.repeat(expected, 3, axis=0), rtol=1e-4, atol=1e-7)


def test_every_sample_and_every_batch_is_drawn_anew():
    sentence = Sentence(*from_brackets("( a ( b ( c ( d ( e f ) ) ) ) )"))
    inputs, _ = batch_of([Example((sentence,), 1)])
    model = made("rl-spinn", "listops", samples=20)
    batches = [model(inputs, training=True)["transitions"].numpy().tolist() for _ in range(2)]
    assert batches[0] != batches[1] and len({tuple(tree) for tree in batches[0]}) > 5


def test_the_loss_with_a_common_reward_is_the_mean_likelihood_of_the_samples():
    model = made("rl-spinn", "listops", samples=3, reward="mean_likelihood")
    inputs, labels = batch_of(EXAMPLES["listops"])
    predictions = model(inputs, training=True)
    (of_classes, _), *_ = model.loss_terms(inputs, labels, predictions)
    p = tf.nn.softmax(predictions["logits"]).numpy().reshape(len(labels), 3, -1)
    p_of_label = [example[:, label] for example, label in zip(p, labels.numpy(), strict=True)]
    np.testing.assert_allclose(of_classes, -np.mean(np.log(np.mean(p_of_label, axis=1))), rtol=1e-5)
    with pytest.raises(UserError, match="samples=1: allowed is 2 or more with reward=mean_likelihood"):
        made("rl-spinn", "listops", samples=1, reward="mean_likelihood")


def test_running_averages_are_kept_over_batches_and_are_weights_of_the_model():
    model = made("rl-spinn", "listops", baseline="running")
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    for _ in range(2):
        figures = model.train_on_batch(*batch_of(EXAMPLES["listops"]), return_dict=True)
        assert np.isfinite(figures["loss"])
    batches, mean, mean_square = (float(weight.numpy()) for weight in model.standardize.weights)
    assert batches == 2 and mean < 0 < mean_square
    assert {id(weight) for weight in model.standardize.weights} <= {id(weight) for weight in model.weights}
    with pytest.raises(UserError, match="baseline=running: allowed is leave_one_out with reward=mean_likelihood"):
        made("rl-spinn", "listops", baseline="running", reward="mean_likelihood")


@pytest.mark.parametrize(
    "encoder, task",
    [("cnn", "snli"), ("gru", "sst"), ("spinn-pi-nt", "snli"), ("spinn-pi-nt", "sst"), ("spinn", "listops")],
)
def test_padding_does_not_change_training(encoder, task):
    results = []
    for padding in (0, 3):
        model = made(encoder, task, batch_normalization=True)
        inputs, labels = batch_of(EXAMPLES[task], padding)
        predictions = model(inputs, training=True)
        loss = model.compute_loss(inputs, labels, predictions, training=True)
        results.append((loss, predictions["logits"], model(inputs)["logits"], *model.get_weights()))
    for value, expected in zip(*results, strict=True):
        np.testing.assert_allclose(value, expected, atol=1e-5)


def test_the_loss_counts_all_labelled_phrases_and_the_logits_are_the_root_s():
    model = made("spinn-pi-nt", "sst")
    inputs, labels = batch_of(EXAMPLES["sst"])
    predictions = model(inputs, training=True)
    log_p = tf.nn.log_softmax(predictions["phrase_logits"]).numpy()
    losses = [-log_p[s, node, label] for (s, node), label in np.ndenumerate(labels.numpy()) if label >= 0]
    np.testing.assert_allclose(model.compute_loss(inputs, labels, predictions), np.mean(losses), rtol=1e-5)
    np.testing.assert_allclose(predictions["logits"], model(inputs)["logits"], atol=1e-6)
    np.testing.assert_array_equal(at_root(labels, inputs["transitions"]), np.ones(6))


def test_the_loss_includes_the_weighted_loss_of_the_transitions():
    inputs, labels = batch_of(EXAMPLES["snli"])
    losses = []
    for weight in (0.0, 2.0):
        model = made("spinn", transition_weight=weight)
        predictions = model(inputs, training=True)
        losses.append(float(model.compute_loss(inputs, labels, predictions)))
    log_p = tf.nn.log_softmax(predictions["transition_logits"]).numpy()
    taken = inputs["transitions"].numpy()
    expected = np.mean([-log_p[s, t, move - 1] for (s, t), move in np.ndenumerate(taken) if move])
    np.testing.assert_allclose(losses[1] - losses[0], 2 * expected, rtol=1e-5)


def test_the_head_is_made_as_configured():
    head = made("bag", head_units=7, head_layers=2, activation="maxout", batch_normalization=True).head
    assert (head.units, len(head.hidden), head.activation, len(head.normalizations)) == (7, 2, "maxout", 3)


@pytest.mark.parametrize("encoder, task", [("bag", "listops"), ("spinn-pi-nt", "sst")])
def test_features_are_dropped_out_in_training_alone(encoder, task):
    """Of sentences and, where these have labels, of phrases."""
    model, (inputs, _) = made(encoder, task, head_dropout=0.5), batch_of(EXAMPLES[task])
    for training in (False, True):
        first, second = (model(inputs, training=training)["logits"].numpy() for _ in range(2))
        assert np.array_equal(first, second) == (not training)


def test_labels_of_transitions_are_not_smoothed():
    """Where one move alone is legal, the other's logit is −10,000."""
    inputs, labels = batch_of(EXAMPLES["snli"])
    model = made("spinn")
    predictions = model(inputs, training=True)
    (plain, _), (plain_moves, _) = model.loss_terms(inputs, labels, predictions)
    model.label_smoothing = 0.3
    (smooth, _), (smooth_moves, _) = model.loss_terms(inputs, labels, predictions)
    assert plain != smooth and plain_moves == smooth_moves


def test_labels_are_smoothed_in_training_alone_and_the_head_has_a_dropout_of_its_own():
    inputs, labels = batch_of(EXAMPLES["listops"])
    plain, smoothing = made("bag", "listops", embedding_dropout=0.1, head_dropout=0.2), made("bag", "listops")
    assert plain.head.dropout.rate == 0.2
    smoothing.label_smoothing = 0.3
    predictions = {"logits": 5 * tf.one_hot(labels, 10)}
    of_both = [
        [float(model.compute_loss(inputs, labels, predictions, training=training)) for model in (plain, smoothing)]
        for training in (False, True)
    ]
    assert of_both[0][0] == of_both[0][1] and of_both[1][1] > of_both[1][0] + 0.5


def test_terms_of_a_loss_of_sampled_parses():
    """By hand: of two pairs, two draws each; right are the first draw of the first pair and the second's second."""
    model = made("rl-spinn", samples=2, reward="accuracy", policy_weight=0.5, entropy_weight=0.25)
    labels, log_policy = tf.constant([1, 1, 2, 2]), tf.constant([-1.0, -2, -3, -4, -10, -20, -30, -50])
    predictions = {
        "logits": 9 * tf.one_hot([1, 0, 0, 2], 3),
        "log_probability": log_policy,
        "transition_logits": tf.zeros([8, 1, 2]),
        "transitions": tf.ones([8, 1], tf.int32),
    }
    (_, count), (policy, rewarded), (entropy, transitions) = loss_terms(model.configuration, labels, predictions, 0.0)
    of_pairs = np.array([[-11.0, -22.0], [-33.0, -54.0]])
    np.testing.assert_allclose(policy, -0.5 * np.mean(np.array([[1, -1], [-1, 1]]) * of_pairs), rtol=1e-6)
    np.testing.assert_allclose(entropy, -0.25 * np.log(2), rtol=1e-6)
    assert (int(count), int(rewarded), int(transitions)) == (4, 4, 8)


@pytest.mark.parametrize("encoder", ["bag", "spinn-pi-nt", "spinn"])
def test_a_tree_with_labels_is_not_taken_for_words(encoder):
    model, line = made(encoder, "sst"), "(3 (2 A) (3 (3 good) (2 film)))"
    with pytest.raises(UserError, match="^text 2: is a tree with labels; write its words alone"):
        model.classify(["( a b )", line])
    assert len(model.classify(["( (3 b) )"])) == 1
    if encoder == "spinn":
        with pytest.raises(UserError, match="^standard input, line 1: is a tree with labels"):
            next(parse_stream(model, [line.encode()], batch_size=1))


@pytest.mark.parametrize("encoder", ["spinn", "rl-spinn"])
def test_a_parser_that_reads_brackets_asks_for_them(encoder):
    model = made(encoder, "listops", brackets_as_words=True)
    assert len(model.classify(["( a ( b c ) )", "f"])) == len(model.parse(["( a ( b c ) )", "f"])) == 2
    for method in (model.classify, model.parse):
        for text in ("a b", "( a ( b", ") a ("):
            with pytest.raises(UserError, match="^text 2: "):
                method(["f", text])
    lines = [b"f\n", b"\n", b"a b\n"]
    trees = parse_stream(model, lines, batch_size=1)
    assert [next(trees), next(trees)] == ["f", ""]
    with pytest.raises(UserError, match="^standard input, line 3: "):
        next(trees)


def test_words_that_a_parser_does_not_know_are_told_in_the_end(logged):
    trees = list(parse_stream(made("spinn"), [b"a unheard b\n", b"\n", b"( c of )\n"], batch_size=2))
    assert [bool(tree) for tree in trees] == [True, False, True]
    assert logged() == ["not in the model's vocabulary, so read as <unk>: 2 of 5 tokens, such as unheard of"]


def test_a_model_that_reads_brackets_and_does_not_parse_reads_texts_without_them():
    model = made("gru", "listops", brackets_as_words=True)
    assert len(model.classify(["a b", "( a b )"])) == 2


def test_text_to_labels():
    pairs = [("( a ( b c ) )", "( d e )"), ("f", "( a b )"), ("( d e )", "( a ( b unheard ) )")]
    model = made("spinn-pi-nt")
    labels = model.classify(pairs)
    assert len(labels) == 3 and set(labels) <= {"entailment", "neutral", "contradiction"}
    assert model.classify(pairs[::-1], batch_size=1) == labels[::-1]
    sentences = [Sentence(*from_brackets(side)) for side in ("f", "( a b )")]
    logits = model(sentence_batch(sentences, TOKENIZER))["logits"].numpy()
    assert model.classify([("f", "( a b )")]) == [model.configuration.labels[logits.argmax()]]
    flat = made("bag", "listops")
    assert flat.classify(["( a ( b c ) )"]) == flat.classify(["a b c"])
    assert flat.classify([]) == []


def test_errors_name_the_text():
    model = made("spinn-pi-nt", "listops")
    for text, complaint in (("( a b", "text 2: 1 bracket is never closed"), ("", "text 2: the tree is empty")):
        with pytest.raises(UserError) as caught:
            model.classify(["( a b )", text])
        assert str(caught.value).startswith(complaint)
    with pytest.raises(UserError, match="text 2: 1 bracket is never closed"):
        model.classify(["( a b )", "( a b"], batch_size=1)
    pairs = made("bag", "snli")
    for text in ("dogs", "ab", ("a", "b", "c"), ("a", 1)):
        with pytest.raises(UserError, match="text 2: is .*; it should be a pair of texts"):
            pairs.classify([("a", "b"), text])
    with pytest.raises(UserError, match=r"^text 2: half a surrogate pair, '\\ud800', is not a character$"):
        pairs.classify([("a", "b"), ("a", "b \ud800")])
    with pytest.raises(UserError, match=r"text 1: is \('a', 'b'\); it should be a text"):
        made("bag", "listops").classify([("a", "b")])
    with pytest.raises(UserError, match="text 1: there are no words"):
        made("bag", "listops").classify(["( )"])
    with pytest.raises(UserError, match="encoder=bag does not parse: spinn and rl-spinn do"):
        made("bag").parse(["a b"])
    parser = made("spinn", "listops")
    with pytest.raises(UserError, match=r"text 2: is \('a', 'b'\); it should be a text"):
        parser.parse(["a b", ("a", "b")])
    with pytest.raises(UserError, match=r"^text 1: half a surrogate pair, '\\ud800', is not a character$"):
        parser.parse(["\ud800"])
    for method in (parser.parse, parser.classify):
        with pytest.raises(UserError, match="texts=a b: allowed is a list of texts"):
            method("a b")
        with pytest.raises(UserError, match="batch_size=-1: allowed is a whole number from 1"):
            method(["a b"], batch_size=-1)


@pytest.mark.parametrize("encoder", ["spinn", "rl-spinn"])
def test_text_to_trees(encoder):
    texts = ["a b c d", "e", "unheard ( a ) b"]
    model = made(encoder)
    trees = model.parse(texts)
    for tree, words in zip(trees, (["a", "b", "c", "d"], ["e"], ["unheard", "a", "b"]), strict=True):
        assert from_brackets(tree)[0] == words
    assert model.parse(texts[::-1], batch_size=1) == trees[::-1]


def test_from_config_makes_the_same_model():
    model = made("rl-spinn", samples=3)
    model.label_smoothing = 0.3
    again = Classifier.from_config(model.get_config())
    assert (again.configuration, again.label_smoothing) == (model.configuration, 0.3)
    assert [weight.shape for weight in again.weights] == [weight.shape for weight in model.weights]


def test_a_keras_file_keeps_the_state_of_the_optimizer(tmp_path):
    model, (inputs, labels) = made("spinn-pi-nt"), batch_of(EXAMPLES["snli"])
    model.compile("adam")
    model.train_on_batch(inputs, labels)
    model.save(tmp_path / "classifier.keras")
    again = keras.models.load_model(tmp_path / "classifier.keras")
    for ours, theirs in zip(model.optimizer.variables, again.optimizer.variables, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=ours.path)
    losses = [each.train_on_batch(inputs, labels, return_dict=True) for each in (model, again)]
    assert losses[0] == losses[1]


def test_a_dtype_is_that_of_all_layers():
    model = Classifier.from_config(made("spinn-pi").get_config() | {"dtype": "float64", "trainable": False})
    assert not model.trainable_variables
    for layer in (model.encoder, model.encoder.embedding, model.encoder.compose, model.head):
        assert layer.compute_dtype == "float64", layer.name
    again = Classifier.from_config(model.get_config())
    assert again.compute_dtype == "float64" and not again.trainable


def test_a_text_without_words_is_named_by_its_number_in_any_batch():
    with pytest.raises(UserError, match="^text 3: there are no words$"):
        made("spinn").parse(["a", "b", "( )"], batch_size=2)
