"""The translator as a whole: gradients, invariance, saving, learning, translating."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.text.tokenizers import END, START, UNKNOWN, WordTokenizer
from tfnmt.training.losses import MaskedCrossEntropy
from tfnmt.training.metrics import Perplexity, TokenAccuracy
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.presets import find_preset
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.translator import Translator

LETTERS = list("abcdef")
SIZES = {
    "source_embedding_size": 5,
    "target_embedding_size": 4,
    "encoder_units": 3,
    "decoder_units": 6,
    "attention_units": 4,
}
EVERYTHING = {
    "cell": "lstm",
    "encoder_layers": 2,
    "decoder_layers": 2,
    "residual": True,
    "attention": "dot",
    "input_feeding": True,
    "tied_embeddings": True,
    "layer_normalization": True,
}
SMALL = {"bidirectional": False, "conditional": False}
CHO2014 = {"attention": "none", "deep_output": False, "bidirectional": False}
TEXTS = ["a b c", "", "d", "f e d c b a", "   ", "b z b", "c c"]


def made(seed=1, **options):
    keras.utils.set_random_seed(seed)
    configuration = TranslatorConfiguration(**SIZES | options)
    return Translator(configuration, WordTokenizer(LETTERS), WordTokenizer(LETTERS[::-1]))


def copies(size=64):
    """A task to learn: the target is the source. Batches as `tfnmt.data.pair_batches` makes them."""
    random = np.random.default_rng(1)
    lengths = random.integers(1, 5, size=[size, 1])
    places = np.arange(5)
    words = np.where(places < lengths, random.integers(4, 10, size=[size, 5]), 0)
    source = np.where(places == lengths, END, words)
    target = np.concatenate([np.full([size, 1], START), words[:, :-1]], axis=1)
    inputs = {"source": source.astype(np.int32), "target": target.astype(np.int32)}
    return inputs, source.astype(np.int32)


def mean_log_p(logits, labels):
    """The mean over real words, in the precision of the logits."""
    log_p = tf.gather(tf.nn.log_softmax(logits), labels, batch_dims=2)
    return tf.reduce_mean(tf.boolean_mask(log_p, labels != 0))


@pytest.mark.parametrize("options", [{}, EVERYTHING, CHO2014], ids=["plain", "everything", "cho2014"])
def test_gradients_of_the_loss_are_the_slopes_of_finite_differences(options):
    keras.config.set_dtype_policy("float64")
    try:
        translator = made(**options)
    finally:
        keras.config.set_dtype_policy("float32")
    inputs, labels = copies(3)
    random = np.random.default_rng(2)

    loss = tf.function(lambda: -mean_log_p(translator(inputs), labels), autograph=False)
    with tf.GradientTape() as tape:
        value = -mean_log_p(translator(inputs), labels)
    gradients = tape.gradient(value, [weight.value for weight in translator.trainable_variables])
    for weight, gradient in zip(translator.trainable_variables, gradients, strict=True):
        kept, direction = weight.numpy(), 1e-5 * random.normal(size=weight.shape)
        weight.assign(kept + direction)
        above = loss()
        weight.assign(kept - direction)
        below = loss()
        weight.assign(kept)
        expected = np.sum(gradient * direction)
        np.testing.assert_allclose((above - below) / 2, expected, rtol=1e-5, atol=1e-13, err_msg=weight.path)


@pytest.mark.parametrize("options", [{}, EVERYTHING], ids=["plain", "everything"])
def test_padding_and_order_of_a_batch_change_nothing(options):
    translator = made(**options)
    inputs, labels = copies(4)
    loss = MaskedCrossEntropy(0.1)
    logits = translator(inputs).numpy()
    wider = {name: np.pad(ids, [(0, 0), (0, 3)]) for name, ids in inputs.items()}
    padded = translator(wider)
    np.testing.assert_allclose(padded[:, : logits.shape[1]], logits, atol=1e-5)
    np.testing.assert_allclose(loss(np.pad(labels, [(0, 0), (0, 3)]), padded), loss(labels, logits), atol=1e-5)
    turned = translator({name: ids[::-1].copy() for name, ids in inputs.items()})
    np.testing.assert_allclose(turned[::-1], logits, atol=1e-5)
    np.testing.assert_allclose(loss(labels[::-1], turned), loss(labels, logits), atol=1e-5)
    for n in range(4):
        alone = translator({name: ids[n : n + 1, : (labels[n] != 0).sum()] for name, ids in inputs.items()})
        np.testing.assert_allclose(alone[0], logits[n, : alone.shape[1]], atol=1e-5)


@pytest.fixture(scope="module")
def trained():
    """After a few steps of training, and its losses on the way."""
    translator = made(**SMALL)
    translator.compile(
        optimizer=keras.optimizers.Adam(0.02), loss=MaskedCrossEntropy(0.1), metrics=[Perplexity(), TokenAccuracy()]
    )
    inputs, labels = copies()
    return translator, translator.fit(inputs, labels, batch_size=64, epochs=30, verbose=0).history


@pytest.mark.parametrize(("options", "eagerly"), [(SMALL, False), (EVERYTHING, True), (CHO2014, True)])
def test_a_batch_in_micro_batches_is_learned_as_one(options, eagerly):
    inputs, labels = copies(size=7)
    results = []
    for micro_batches in (1, 3):
        model = made(**options, micro_batches=micro_batches)
        metrics = [Perplexity(), TokenAccuracy()]
        model.compile(keras.optimizers.SGD(1.0), MaskedCrossEntropy(0.1), metrics=metrics, run_eagerly=eagerly)
        figures = model.fit(tf.data.Dataset.from_tensors((inputs, labels)), shuffle=False, verbose=0).history
        results.append((*(figures[name] for name in ("loss", "perplexity", "token_accuracy")), *model.get_weights()))
    for value, expected in zip(*results, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 7])
def test_a_batch_in_micro_batches_is_evaluated_as_one(size):
    inputs, labels = copies(size=size)
    results = []
    for micro_batches in (1, 3):
        model = made(**SMALL, micro_batches=micro_batches)
        model.compile("sgd", MaskedCrossEntropy(0.1), metrics=[Perplexity(), TokenAccuracy()])
        results.append(model.evaluate(inputs, labels, verbose=0))
    np.testing.assert_allclose(*results, rtol=1e-5)


def test_a_loss_by_name_is_the_same_in_micro_batches():
    """The mean over words, as Keras has it, where no sentence is padded."""
    labels = np.random.default_rng(2).integers(4, 10, size=[6, 5]).astype(np.int32)
    inputs = {"source": labels, "target": labels}
    results = []
    for micro_batches in (1, 2):
        model = made(**SMALL, micro_batches=micro_batches)
        model.compile("sgd", "sparse_categorical_crossentropy")
        results.append(model.evaluate(inputs, labels, verbose=0))
    np.testing.assert_allclose(*results, rtol=1e-5)


# Normalizing three numbers to variance 1 would magnify what rounding does.
ROUNDED = {"plain": {"attention": "dot"}, "everything": EVERYTHING | {"layer_normalization": False}, "cho2014": CHO2014}


@pytest.mark.parametrize("options", ROUNDED.values(), ids=ROUNDED)
def test_products_in_bfloat16(options):
    """All products with matrices of the model, forward and backward, and nothing else."""
    exact, rough = made(**options), made(**options)
    rough.product_dtype = "bfloat16"
    x, y = copies(8)

    @tf.function
    def step(model):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = mean_log_p(logits, y)
        return logits, tape.gradient(loss, [weight.value for weight in model.trainable_weights])

    logits, gradients = step(rough)
    expected_logits, expected_gradients = step(exact)
    for value, expected in ((logits, expected_logits), *zip(gradients, expected_gradients, strict=True)):
        value, expected = (tf.convert_to_tensor(each) for each in (value, expected))
        assert value.dtype == tf.float32
        np.testing.assert_allclose(value, expected, atol=0.02 + 0.05 * np.abs(expected).max())
    assert not np.allclose(logits, expected_logits, atol=1e-5)

    definition = step.get_concrete_function(rough).graph.as_graph_def()
    nodes = [*definition.node, *(node for function in definition.library.function for node in function.node_def)]
    products = [node for node in nodes if node.op == "MatMul"]
    assert products and {node.attr["T"].type for node in products} == {tf.bfloat16.as_datatype_enum}
    others = [node for node in nodes if node.op in ("Tanh", "Sigmoid", "TanhGrad", "SigmoidGrad", "BatchMatMulV2")]
    assert others and {node.attr["T"].type for node in others} == {tf.float32.as_datatype_enum}


def test_learns(trained):
    translator, history = trained
    inputs, labels = copies()
    before, after = (-mean_log_p(model(inputs), labels).numpy() for model in (made(**SMALL), translator))
    assert after < 0.8 * before
    np.testing.assert_allclose(history["perplexity"][0], np.exp(before), rtol=1e-4)
    assert history["loss"][-1] < history["loss"][10] < history["loss"][0]


def test_what_keras_shows_is_what_it_says(trained):
    translator, _ = trained
    inputs, labels = copies()
    logits = translator(inputs)
    shown = translator.evaluate(inputs, labels, batch_size=64, verbose=0, return_dict=True)
    np.testing.assert_allclose(shown["loss"], MaskedCrossEntropy(0.1)(labels, logits), rtol=1e-4)
    np.testing.assert_allclose(shown["perplexity"], np.exp(-mean_log_p(logits, labels)), rtol=1e-4)
    right = np.argmax(logits, axis=-1)[labels != 0] == labels[labels != 0]
    np.testing.assert_allclose(shown["token_accuracy"], right.mean(), rtol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_translations_do_not_depend_on_the_batch(trained, beam_size):
    translator, _ = trained
    together = translator.translate(TEXTS, beam_size)
    assert [bool(text) for text in together] == [True, False, True, True, False, True, True]
    assert len(set(together)) > 3
    for options in ({"batch_size": 1}, {"batch_size": 2}):
        assert translator.translate(TEXTS, beam_size, **options) == together
    assert translator.translate(TEXTS[::-1], beam_size) == together[::-1]
    assert translator.translate([], beam_size) == []


def test_a_seed_set_after_the_tokenizers_were_made_does_no_harm(trained):
    translator, _ = trained
    expected = translator.translate(TEXTS, 3)
    source_tokenizer, target_tokenizer = WordTokenizer(LETTERS), WordTokenizer(LETTERS[::-1])
    keras.utils.set_random_seed(5)
    again = Translator(translator.configuration, source_tokenizer, target_tokenizer)
    again.set_weights(translator.get_weights())
    keras.utils.set_random_seed(5)
    assert again.translate(TEXTS, 3) == expected
    assert translator.translate(TEXTS, 3) == expected


def test_dropout_is_for_training_alone(trained):
    translator, _ = trained
    rates = ("source_dropout", "target_dropout", "state_dropout", "encoder_dropout", "output_dropout")
    dropping = made(**SMALL, **dict.fromkeys(rates, 0.5))
    for theirs, ours in zip(dropping.trainable_variables, translator.trainable_variables, strict=True):
        theirs.assign(ours.numpy())
    inputs, _ = copies(4)
    np.testing.assert_array_equal(dropping(inputs), translator(inputs))
    assert not np.allclose(dropping(inputs, training=True), translator(inputs))
    assert dropping.translate(TEXTS, 1) == translator.translate(TEXTS, 1)


def test_every_rate_is_that_of_its_own_dropout():
    names = ("word_dropout", "source_dropout", "target_dropout", "state_dropout", "encoder_dropout", "output_dropout")
    rates = dict(zip(names, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), strict=True))
    translator = made(**SMALL, **rates)
    encoder, decoder = translator.encoder, translator.decoder
    of_encoder = (encoder.word_dropout, encoder.embedding_dropout, encoder.state_dropout, encoder.output_dropout)
    of_decoder = (decoder.word_dropout, decoder.embedding_dropout, decoder.state_dropout, decoder.output_dropout)
    assert [layer.rate for layer in of_encoder] == [0.1, 0.2, 0.4, 0.5]
    assert [layer.rate for layer in of_decoder] == [0.1, 0.3, 0.4, 0.6]
    assert encoder.summary_dropout.rate == 0 and made(**CHO2014, **rates).encoder.summary_dropout.rate == 0.5


def test_source_ids():
    ids = made().source_ids(tf.constant(["a b c", "", "b zebra"]))
    assert ids.dtype == tf.int32
    assert ids.numpy().tolist() == [[4, 5, 6, END], [END, 0, 0, 0], [5, UNKNOWN, END, 0]]
    short = made(maximum_source_length=2)
    assert short.source_ids(tf.constant(["a b c"])).numpy().tolist() == [[4, 5, END]]


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("options", [{}, EVERYTHING], ids=["plain", "everything"])
def test_scores_of_a_search_are_those_of_the_model(options, beam_size):
    """What is found word by word is scored again with all words at once."""
    translator = made(seed=3, **options)
    texts = tf.constant(["a b c", "d", "f e"])
    found = Searcher(translator, SearchConfiguration(beam_size=beam_size, n_best=beam_size)).find(texts)
    ids, scores = found.ids.numpy(), found.log_probabilities.numpy()
    source, maximum_lengths = translator.source_ids(texts), 2 * np.array([4, 2, 3]) + 10
    for place in range(beam_size):
        words = ids[:, place]
        lengths = (words != 0).sum(axis=1)
        assert (lengths <= maximum_lengths).all()
        labels = np.pad(words, [(0, 0), (0, 1)])
        labels[np.arange(3), lengths] = np.where(lengths < maximum_lengths, END, 0)
        target = np.concatenate([np.full([3, 1], START), labels[:, :-1]], axis=1).astype(np.int32)
        log_p = tf.nn.log_softmax(translator({"source": source, "target": target}))
        of_labels = np.take_along_axis(log_p.numpy(), labels[..., np.newaxis], axis=-1)[..., 0]
        np.testing.assert_allclose(scores[:, place], np.sum(of_labels * (labels != 0), axis=1), atol=1e-4)


def test_round_trip_through_its_configuration():
    translator = made(**EVERYTHING)
    config = json.loads(json.dumps(translator.get_config()))
    again = Translator.from_config(config)
    assert again.configuration == translator.configuration
    assert again.get_config() == translator.get_config()
    again.set_weights(translator.get_weights())
    inputs, _ = copies(4)
    np.testing.assert_array_equal(again(inputs), translator(inputs))


def test_round_trip_through_a_keras_file(tmp_path):
    translator, random = made(**EVERYTHING), np.random.default_rng(1)
    for weight in translator.trainable_variables:  # those too that begin with zeros or ones
        weight.assign(random.normal(size=weight.shape))
    translator.save(tmp_path / "translator.keras")
    again = keras.models.load_model(tmp_path / "translator.keras")
    for ours, theirs in zip(translator.trainable_variables, again.trainable_variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=ours.path)
    inputs, _ = copies(4)
    np.testing.assert_array_equal(again(inputs), translator(inputs))
    assert again.translate(TEXTS, 1) == translator.translate(TEXTS, 1)


def test_a_keras_file_keeps_what_a_model_was_compiled_with(trained, tmp_path):
    translator, _ = trained
    inputs, labels = copies()
    translator.save(tmp_path / "translator.keras")
    again = keras.models.load_model(tmp_path / "translator.keras")
    assert again.optimizer.iterations == translator.optimizer.iterations
    shown, expected = (model.evaluate(inputs, labels, verbose=0) for model in (again, translator))
    np.testing.assert_allclose(shown, expected, rtol=1e-6)


def test_a_saved_model_keeps_a_search(trained, tmp_path):
    """Even after other searches: nothing that the translator keeps for itself stands in the way."""
    translator, _ = trained
    expected = [translator.translate(TEXTS, beam_size) for beam_size in (3, 1)][0]
    module = tf.Module()
    module.searcher = Searcher(translator, SearchConfiguration(beam_size=3))
    module.search = module.searcher.function()
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert [text.decode() for text in loaded.search(tf.constant(TEXTS)).texts[:, 0].numpy()] == expected


def test_a_preset_is_no_configuration_of_a_model():
    preset, tokenizer = find_preset("tiny"), WordTokenizer(["a"])
    message = "the configuration is a TranslatorConfiguration, as preset.model is, not"
    for configuration in (preset, preset.training):
        with pytest.raises(TypeError, match=message):
            Translator(configuration, tokenizer, tokenizer)


@pytest.mark.parametrize("dtype", ["float64", "mixed_bfloat16"])
def test_a_dtype_is_that_of_all_layers_and_is_kept(dtype, tmp_path):
    plain = made(cell="lstm", scheduled_sampling=0.1)
    translator = Translator.from_config(plain.get_config() | {"dtype": dtype, "trainable": False})
    assert not translator.trainable_variables
    expected = keras.DTypePolicy(dtype)
    translator.save(tmp_path / "translator.keras")
    for model in (translator, keras.models.load_model(tmp_path / "translator.keras")):
        assert not model.trainable
        inputs, _ = copies(2)
        assert model(inputs).dtype == expected.compute_dtype
        for layer in (model.encoder, model.decoder):
            assert layer.dtype_policy == expected


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_a_loss_must_be_named(micro_batches):
    translator = made(micro_batches=micro_batches)
    translator.compile("sgd")
    with pytest.raises(ValueError, match="[Nn]o loss"):
        translator.train_on_batch(*copies(4))


def test_weights_of_losses_are_refused_where_they_have_no_effect():
    whole, divided = made(), made(micro_batches=2)
    divided.set_weights(whole.get_weights())
    for model in (whole, divided):
        model.compile("sgd", loss=MaskedCrossEntropy(), loss_weights=[2.0])
    inputs, labels = copies(4)
    twice = 2 * MaskedCrossEntropy()(labels, whole(inputs))
    np.testing.assert_allclose(whole.train_on_batch(inputs, labels), twice, rtol=1e-5)
    with pytest.raises(ValueError, match="loss_weights has no effect on a batch in parts"):
        divided.train_on_batch(inputs, labels)


def test_a_search_has_the_batch_size_asked_for(monkeypatch):
    asked = []

    def translate(self, texts, batch_size, advance):
        asked.append((self.configuration.beam_size, texts, batch_size))
        return []

    monkeypatch.setattr(Searcher, "translate", translate)
    made(**SMALL).translate(TEXTS, 3, 2)
    assert asked == [(3, TEXTS, 2)]


OF_BOTH = {"cell": "lstm", "residual": True, "layer_normalization": True}
OF_THE_ENCODER = OF_BOTH | {"source_embedding_size": 7, "encoder_units": 4, "encoder_layers": 3, "bidirectional": False}
OF_THE_DECODER = OF_BOTH | {
    "target_embedding_size": 7,
    "decoder_units": 7,
    "decoder_layers": 3,
    "attention": "general",
    "attention_units": 7,
    "conditional": True,
    "attend_first": True,
    "output_units": 7,
    "output_activation": "maxout",
    "input_feeding": True,
    "tied_embeddings": True,
}


def structure(side, options):
    """The shape of each weight of the encoder or the decoder, and whether its layers are added to their inputs."""
    layer = getattr(made(**options), side)
    return layer.residual, {weight.path: tuple(weight.shape) for weight in layer.weights}


@pytest.mark.parametrize(("side", "others"), [("encoder", OF_THE_ENCODER), ("decoder", OF_THE_DECODER)])
def test_every_option_of_the_configuration_changes_the_layer_that_it_is_of(side, others):
    plain = {"conditional": False}
    before = structure(side, plain)
    for key, value in others.items():
        assert structure(side, plain | {key: value}) != before, key


@pytest.mark.parametrize("rate", ["source_dropout", "target_dropout"])
def test_either_side_drops_out_in_training(rate):
    model, (inputs, _) = made(**SMALL, **{rate: 0.5}), copies(9)
    assert not np.allclose(*(model(inputs, training=True) for _ in range(2)))
