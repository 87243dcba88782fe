"""The decoder against its equations in NumPy, and all words at once against one word at a time."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.layers.decoder import Decoder
from tfnmt.layers.encoder import Encoder

pytestmark = pytest.mark.usefixtures("float64")

SOURCE = np.array([[5, 4, 6, 7, 3], [7, 5, 3, 0, 0], [3, 0, 0, 0, 0]], np.int32)
SOURCE_LENGTHS = (5, 3, 1)
TARGET = np.array([[2, 4, 5, 8], [2, 8, 8, 0], [2, 0, 0, 0]], np.int32)
UNITS, EMBEDDING, VOCABULARY = 4, 3, 9

OPTIONS = {
    "plain": {},
    "lstm": {"cell": "lstm"},
    "dot": {"attention": "dot"},
    "general": {"attention": "general"},
    "no attention": {"attention": "none"},
    "cho2014": {"attention": "none", "deep_output": False},
    "no attention, lstm, two layers": {"attention": "none", "cell": "lstm", "layers": 2},
    "unconditional": {"conditional": False},
    "unconditional dot lstm": {"conditional": False, "attention": "dot", "cell": "lstm"},
    "plain output": {"deep_output": False},
    "bahdanau": {"conditional": False, "attend_first": True, "output_units": 2, "output_activation": "maxout"},
    "two layers": {"layers": 2},
    "three residual lstm layers": {"layers": 3, "residual": True, "cell": "lstm"},
    "input feeding": {"input_feeding": True},
    "input feeding, no attention": {"input_feeding": True, "attention": "none"},
    "input feeding, lstm, two layers": {"input_feeding": True, "cell": "lstm", "layers": 2, "conditional": False},
    "tied embeddings": {"tied_embeddings": True},
    "layer normalization": {"layer_normalization": True},
    "everything": {
        "attention": "general",
        "cell": "lstm",
        "layers": 2,
        "residual": True,
        "input_feeding": True,
        "tied_embeddings": True,
        "layer_normalization": True,
    },
}


def made(**options):
    """An encoder and a decoder whose every weight, biases too, is a random number."""
    encoder = Encoder(8, EMBEDDING, UNITS)
    decoder = Decoder(VOCABULARY, EMBEDDING, UNITS, attention_units=2, **options)
    encoder.build(None)
    decoder.build(None, {"summary": (None, UNITS)})
    random = np.random.default_rng(1)
    for weight in weights_of(encoder, decoder):
        weight.assign(random.normal(size=weight.shape))
    return encoder, decoder


def all_at_once(encoder, decoder, source=SOURCE, target=TARGET, **options):
    """The logits of all words as training takes them."""
    return decoder(tf.convert_to_tensor(target), encoder(tf.convert_to_tensor(source)), **options)


def word_by_word(encoder, decoder, source=SOURCE, target=TARGET):
    """The logits of all words as a search takes them, and the attention at each."""
    states, memory = decoder.start(encoder(tf.constant(source)))
    all_scores, all_attention = [], []
    for t in range(target.shape[1]):
        logits, states, attention = decoder.step(tf.constant(target[:, t]), states, memory)
        all_scores.append(logits)
        all_attention.append(attention)
    return tf.stack(all_scores, axis=1), all_attention


def weights_of(encoder, decoder):
    return encoder.trainable_variables + decoder.trainable_variables


def gradients_of(logits, tape, encoder, decoder):
    """Those of a sum of all logits bent by a sine, of every weight."""
    with tape:
        loss = tf.reduce_sum(tf.sin(logits + 0.5))
    return tape.gradient(loss, [weight.value for weight in weights_of(encoder, decoder)])


def gru(cell, s, h, W_s=None):
    """The equations of `GRUCell`, with its W or another one for the inputs."""
    W_s = cell.W.numpy() if W_s is None else W_s
    W, U, b = (np.split(weight, 3, axis=-1) for weight in (W_s, cell.U.numpy(), cell.b.numpy()))
    r, u = (1 / (1 + np.exp(-(s @ W[k] + h @ U[k] + b[k]))) for k in (0, 1))
    return u * h + (1 - u) * np.tanh(s @ W[2] + r * (h @ U[2]) + b[2])


def lstm(cell, s, h, c):
    """The equations of `LSTMCell`: (h', c')."""
    i, f, o, g = np.split(s @ cell.W.numpy() + h @ cell.U.numpy() + cell.b.numpy(), 4)
    i, f, o = (1 / (1 + np.exp(-x)) for x in (i, f + 1, o))
    c = f * c + i * np.tanh(g)
    return o * np.tanh(c), c


def softmax(e):
    return np.exp(e) / np.sum(np.exp(e), axis=-1, keepdims=True)


def encoder_states(encoder, words):
    """h_i = φ(h_{i−1}, s_i) with h_0 = 0, of one sentence: [length, UNITS]."""
    h, all_h = np.zeros(UNITS), []
    for word in words:
        h = gru(encoder.cells[0], encoder.E.embeddings.numpy()[word], h)
        all_h.append(h)
    return np.array(all_h)


def compare_with(equations, encoder, decoder):
    """`equations(h, target)` gives the logits of one sentence from the encoder's states, in NumPy."""
    expected = [
        equations(encoder_states(encoder, SOURCE[n, :length]), TARGET[n]) for n, length in enumerate(SOURCE_LENGTHS)
    ]
    np.testing.assert_allclose(all_at_once(encoder, decoder), expected, atol=1e-12)
    logits, _ = word_by_word(encoder, decoder)
    np.testing.assert_allclose(logits, expected, atol=1e-12)
    probabilities = tf.nn.softmax(logits)
    np.testing.assert_allclose(probabilities, softmax(np.array(expected)), atol=1e-12)


def first_state(decoder, h, layer=0):
    """z_0 = tanh(h_T W_z + b). An LSTM's c_0 counts as a layer after its z_0."""
    W_z, b = decoder.initial[layer].get_weights()
    return np.tanh(h[-1] @ W_z + b)


def context(attention, z, h):
    """c = Σ_j α_j h_j with e_j = vᵀ tanh(z W_a + h_j U_a + b)."""
    hidden = np.tanh(z @ attention.W_a.numpy() + h @ attention.U_a.numpy() + attention.b.numpy())
    return softmax(hidden @ attention.v.numpy()[:, 0]) @ h


def deep_output(decoder, z, u, c):
    """t = tanh(z W_1 + u W_2 + c W_3 + b)."""
    readout = decoder.readout
    W_1, W_2, W_3 = (weight.numpy() for weight in (readout.W_1, readout.W_2, readout.W_3))
    return np.tanh(z @ W_1 + u @ W_2 + c @ W_3 + readout.b.numpy())


def test_summary_alone_is_the_equations():
    """z_i = φ(h_T, u_{i−1}, z_{i−1}), e(k) = w_kᵀ z_i + b_k, p = softmax(e): Cho et al. 2014."""
    encoder, decoder = made(attention="none", deep_output=False)

    def equations(h, target):
        z, all_e = first_state(decoder, h), []
        for word in target:
            u = decoder.E.embeddings.numpy()[word]
            z = gru(decoder.first, np.concatenate([u, h[-1]]), z)
            all_e.append(z @ decoder.w.numpy() + decoder.b.numpy())
        return all_e

    compare_with(equations, encoder, decoder)


def test_conditional_attention_and_deep_output_are_the_equations():
    """z' = φ(u_{i−1}, z_{i−1}), c_i = att(z'), z_i = φ'(c_i, z'), t_i = tanh(z_i W_1 + u_{i−1} W_2 + c_i W_3 + b)."""
    encoder, decoder = made()

    def equations(h, target):
        z, all_e = first_state(decoder, h), []
        for word in target:
            u = decoder.E.embeddings.numpy()[word]
            between = gru(decoder.first, u, z)
            c = context(decoder.attention, between, h)
            z = gru(decoder.second, c, between)
            t = deep_output(decoder, z, u, c)
            all_e.append(t @ decoder.w.numpy() + decoder.b.numpy())
        return all_e

    compare_with(equations, encoder, decoder)


def test_two_lstm_layers_are_the_equations():
    """As above with (z, c) for z. Attention, the upper layer and the output read z alone."""
    encoder, decoder = made(cell="lstm", layers=2)

    def equations(h, target):
        z, c, upper_z, upper_c = (first_state(decoder, h, i) for i in range(4))
        all_e = []
        for word in target:
            u = decoder.E.embeddings.numpy()[word]
            z, c = lstm(decoder.first, u, z, c)
            attended = context(decoder.attention, z, h)
            z, c = lstm(decoder.second, attended, z, c)
            upper_z, upper_c = lstm(decoder.upper[0], np.concatenate([z, attended]), upper_z, upper_c)
            t = deep_output(decoder, upper_z, u, attended)
            all_e.append(t @ decoder.w.numpy() + decoder.b.numpy())
        return all_e

    compare_with(equations, encoder, decoder)


def test_bahdanaus_decoder_is_the_equations():
    """c_i = att(z_{i−1}), z_i = φ(u_{i−1}, c_i, z_{i−1}), t_i the larger of two sums of z_{i−1}, u_{i−1} and c_i:
    Bahdanau et al. 2015, appendix A.2.2."""
    encoder, decoder = made(**OPTIONS["bahdanau"])
    W_both = np.concatenate([decoder.first.W.numpy(), decoder.W_c.numpy()])
    readout = decoder.readout

    def equations(h, target):
        z, all_e = first_state(decoder, h), []
        for word in target:
            u, c = decoder.E.embeddings.numpy()[word], context(decoder.attention, z, h)
            sums = z @ readout.W_1.numpy() + u @ readout.W_2.numpy() + c @ readout.W_3.numpy() + readout.b.numpy()
            t = [max(sums[0], sums[1]), max(sums[2], sums[3])]
            all_e.append(t @ decoder.w.numpy() + decoder.b.numpy())
            z = gru(decoder.first, np.concatenate([u, c]), z, W_both)
        return all_e

    compare_with(equations, encoder, decoder)


@pytest.mark.parametrize("residual", [False, True])
def test_input_feeding_and_a_second_layer_are_the_equations(residual):
    """The first layer reads u_{i−1} and t_{i−1}, with t_0 = 0; the second one z and c, and may be added to z."""
    encoder, decoder = made(conditional=False, input_feeding=True, layers=2, residual=residual, tied_embeddings=True)
    W_both = np.concatenate([decoder.first.W.numpy(), decoder.W_f.numpy()])

    def equations(h, target):
        lower, upper, t = first_state(decoder, h), first_state(decoder, h, 1), np.zeros(EMBEDDING)
        E, all_e = decoder.E.embeddings.numpy(), []
        for word in target:
            u = E[word]
            lower = gru(decoder.first, np.concatenate([u, t]), lower, W_both)
            c = context(decoder.attention, lower, h)
            upper = gru(decoder.upper[0], np.concatenate([lower, c]), upper)
            t = deep_output(decoder, lower + upper if residual else upper, u, c)
            all_e.append(E @ t + decoder.b.numpy())
        return all_e

    compare_with(equations, encoder, decoder)


@pytest.mark.parametrize("name", OPTIONS)
def test_all_words_at_once_equal_one_word_at_a_time(name):
    """Scores, and gradients too: here by the loop's own backward loop, there by TensorFlow through plain steps."""
    layers = made(**OPTIONS[name])
    with tf.GradientTape() as at_once:
        logits = all_at_once(*layers)
    with tf.GradientTape() as one_at_a_time:
        expected, _ = word_by_word(*layers)
    np.testing.assert_allclose(logits, expected, atol=1e-12)
    gradients = gradients_of(logits, at_once, *layers)
    expected_gradients = gradients_of(expected, one_at_a_time, *layers)
    for weight, gradient, expected_gradient in zip(weights_of(*layers), gradients, expected_gradients, strict=True):
        assert np.any(gradient), weight.path
        np.testing.assert_allclose(gradient, expected_gradient, atol=1e-11, err_msg=weight.path)


@pytest.mark.parametrize("name", OPTIONS)
def test_attention_at_each_word(name):
    encoder, decoder = made(**OPTIONS[name])
    for attention in word_by_word(encoder, decoder)[1]:
        if decoder.attention:
            np.testing.assert_allclose(np.sum(attention, axis=1), 1)
            assert not attention.numpy()[SOURCE == 0].any()
        else:
            assert attention is None


@pytest.mark.parametrize("name", ["plain", "dot", "cho2014", "everything"])
def test_padding_and_other_rows_change_nothing(name):
    encoder, decoder = made(**OPTIONS[name])
    together = all_at_once(encoder, decoder)
    width = TARGET.shape[1]
    padded = all_at_once(encoder, decoder, np.pad(SOURCE, [(0, 0), (0, 3)]), np.pad(TARGET, [(0, 0), (0, 2)]))
    np.testing.assert_allclose(padded[:, :width], together, atol=1e-12)
    turned = all_at_once(encoder, decoder, SOURCE[::-1], TARGET[::-1])
    np.testing.assert_allclose(turned[::-1], together, atol=1e-12)
    for n, length in enumerate(SOURCE_LENGTHS):
        alone = all_at_once(encoder, decoder, SOURCE[n : n + 1, :length], TARGET[n : n + 1])
        np.testing.assert_allclose(alone[0], together[n], atol=1e-12)


def test_a_word_does_not_see_those_after_it():
    encoder, decoder = made(**OPTIONS["everything"])
    changed = TARGET.copy()
    changed[:, 2] = 6
    before, after = all_at_once(encoder, decoder), all_at_once(encoder, decoder, target=changed)
    np.testing.assert_array_equal(before[:, :2], after[:, :2])
    assert not np.allclose(before[:, 2], after[:, 2])


@pytest.mark.parametrize("name", ["dot", "everything"])
def test_a_graph_for_batches_of_any_shape_equals_eager_mode(name):
    layers = made(**OPTIONS[name])

    def scores_and_gradients(source, target):
        with tf.GradientTape() as tape:
            logits = all_at_once(*layers, source, target)
        return logits, gradients_of(logits, tape, *layers)

    ids = tf.TensorSpec([None, None], tf.int32)
    graph = tf.function(scores_and_gradients, input_signature=[ids, ids], autograph=False)
    logits, gradients = graph(SOURCE, TARGET)
    expected, expected_gradients = scores_and_gradients(SOURCE, TARGET)
    np.testing.assert_allclose(logits, expected, atol=1e-12)
    for gradient, expected_gradient in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(gradient, expected_gradient, atol=1e-12)


@pytest.mark.parametrize(
    "options, complaint",
    [
        ({"cell": "foo"}, "cell='foo': one of gru, lstm"),
        ({"layers": 0}, "layers=0: must be a whole number from 1"),
        ({"attention": "foo"}, "attention='foo': one of none, additive, dot, general"),
        ({"input_feeding": True, "deep_output": False}, "input_feeding needs deep_output"),
        ({"tied_embeddings": True, "deep_output": False}, "words are scored from 4 numbers, not 3"),
        ({"tied_embeddings": True, "output_units": 7}, "words are scored from 7 numbers, not 3"),
        ({"attend_first": True}, "attend_first needs"),
        ({"attend_first": True, "conditional": False, "layers": 2}, "attend_first needs"),
        ({"attend_first": True, "conditional": False, "attention": "none"}, "attend_first needs"),
        (
            {"attend_first": True, "conditional": False, "deep_output": False},
            "attend_first needs attention, deep_output",
        ),
        (
            {"conditional": False, "deep_output": False},
            "attention='additive' needs conditional, deep_output or several",
        ),
        ({"output_activation": "relu"}, "activation='relu': allowed are tanh and maxout"),
    ],
)
def test_options_that_do_not_go_together(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        Decoder(VOCABULARY, EMBEDDING, UNITS, **options)


@pytest.mark.parametrize("option", ["word_dropout", "embedding_dropout", "state_dropout", "output_dropout"])
def test_dropout_is_for_training_alone(option):
    encoder, decoder = made(layers=2, **{option: 0.5})
    ids = [np.tile(side, [10, 1]) for side in (SOURCE, TARGET)]
    once, again = (all_at_once(encoder, decoder, *ids, training=True) for _ in range(2))
    assert not np.allclose(once, again)
    np.testing.assert_array_equal(all_at_once(encoder, decoder), all_at_once(*made(layers=2)))


def test_state_dropout_has_one_mask_for_all_times_and_another_for_each_cell():
    """With u = 0, r = 1 and no input, z_t = tanh(b + m ⊙ z_{t−1}): where the mask m is 0, z_t is tanh(b) always.

    Two such layers are added up, and their sum is the logits; which of both are dropped can be told from it.
    """
    encoder, decoder = made(attention="none", deep_output=False, layers=2, residual=True, state_dropout=0.5)
    for weight in decoder.trainable_variables:
        weight.assign(tf.zeros_like(weight))
    for cell, bias in ((decoder.first, 0.5), (decoder.upper[0], 1.0)):
        cell.U.assign(np.hstack([np.zeros([UNITS, 2 * UNITS]), np.eye(UNITS)]))
        cell.b.assign(np.repeat([100.0, -100.0, bias], UNITS))
    decoder.w.assign(np.eye(UNITS, VOCABULARY))
    ids = np.full([20, 4], 5, np.int32)
    z = all_at_once(encoder, decoder, ids, ids, training=True).numpy()[:, :, :UNITS]

    def states(bias, kept):
        """z_2, z_3, z_4 of one layer's unit."""
        z = [np.tanh(bias)]
        for _ in range(3):
            z.append(np.tanh(bias + 2 * kept * z[-1]))
        return np.array(z[1:])

    either = (False, True)
    sums = {kept: states(0.5, kept[0]) + states(1.0, kept[1]) for kept in itertools.product(either, either)}
    found = set()
    for unit in np.transpose(z[:, 1:], [0, 2, 1]).reshape(-1, 3):
        (kept,) = [kept for kept, expected in sums.items() if np.allclose(unit, expected)]
        found.add(kept)
    assert found == set(sums)


@pytest.mark.parametrize("name", ["plain", "everything", "no attention, lstm, two layers"])
def test_steps_outside_a_call_compute_in_half_precision_too(name):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        layers = made(**OPTIONS[name])
    finally:
        keras.config.set_dtype_policy("float64")
    logits, _ = word_by_word(*layers)
    assert logits.dtype == tf.bfloat16
    expected = tf.cast(all_at_once(*layers), tf.float32)
    np.testing.assert_allclose(tf.cast(logits, tf.float32), expected, rtol=2**-6, atol=2**-5)


SWITCHES = ("conditional", "attend_first", "deep_output", "input_feeding")


@pytest.mark.parametrize("values", list(itertools.product([False, True], repeat=len(SWITCHES))))
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("attention", ["none", "additive"])
def test_every_decoder_that_is_allowed_uses_all_its_weights_and_the_word_before(attention, layers, values):
    try:
        encoder, decoder = made(attention=attention, layers=layers, **dict(zip(SWITCHES, values, strict=True)))
    except ValueError as error:
        assert "needs" in str(error)
        return
    with tf.GradientTape() as tape:
        logits = all_at_once(encoder, decoder)
        loss = tf.reduce_sum(tf.nn.log_softmax(logits)[:, -1, 0])
    weights = weights_of(encoder, decoder)
    for weight, gradient in zip(weights, tape.gradient(loss, [weight.value for weight in weights]), strict=True):
        assert gradient is not None and np.abs(tf.convert_to_tensor(gradient)).max() > 0, weight.path
    other = TARGET.copy()
    other[0, -1] = 7
    assert np.abs(all_at_once(encoder, decoder, target=other) - logits)[0, -1].max() > 1e-3


@pytest.mark.parametrize("name", OPTIONS)
def test_several_rows_of_a_source_are_as_if_each_had_a_source_of_its_own(name):
    """As the hypotheses of a beam, those of one source after the other."""
    encoder, decoder = made(**OPTIONS[name])
    states, memory = decoder.start(encoder(tf.constant(SOURCE)))
    states, of_rows = tf.nest.map_structure(lambda x: tf.repeat(x, 2, axis=0), (states, memory))
    ids = tf.constant([4, 5, 8, 2, 3, 7])
    found, expected = decoder.step(ids, states, memory, rows=2), decoder.step(ids, states, of_rows)
    places = 3 if decoder.attention else 2
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-12), found[:places], expected[:places])


@pytest.mark.parametrize("name", ["plain", "tied embeddings"])
def test_the_logits_of_some_words_are_those_among_all(name):
    """As with a shortlist."""
    encoder, decoder = made(**OPTIONS[name])
    states, memory = decoder.start(encoder(tf.constant(SOURCE)))
    ids, words = tf.constant([4, 5, 8]), [7, 3, 5]
    found, _, _ = decoder.step(ids, states, memory, decoder.for_steps(tf.constant(words)))
    expected, _, _ = decoder.step(ids, states, memory)
    np.testing.assert_allclose(found, expected.numpy()[:, words], atol=1e-12)
