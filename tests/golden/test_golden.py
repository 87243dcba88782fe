"""The layers and their define-by-run twins compute what PyTorch computed; compute.py says how golden.npz was made."""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.define_by_run import decoder as decoder_twin
from tfnmt.define_by_run import encoder as encoder_twin
from tfnmt.define_by_run import recursive
from tfnmt.define_by_run import spinn as spinn_twin
from tfnmt.layers import RNN
from tfnmt.layers.decoder import Decoder
from tfnmt.layers.encoder import Encoder
from tfnmt.layers.registry import CELLS
from tfnmt.layers.trees.encoder import TreeLSTMEncoder
from tfnmt.layers.trees.spinn import SPINN
from tfnmt.text.brackets import PAD, REDUCE, SHIFT

pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture(scope="module")
def golden():
    """Dictionaries of arrays by case and role."""
    cases = {}
    with np.load(Path(__file__).with_name("golden.npz")) as arrays:
        for key, array in arrays.items():
            case, role, name = key.split("/")
            cases.setdefault(case, {}).setdefault(role, {})[name] = array
    return cases


def tensors(case, *names):
    return {name: tf.constant(case["input"][name]) for name in names}


def check(case, compute, inputs, weights):
    """Compare results and gradients with those of a case.

    Args:
        case: its arrays.
        compute: () → a dictionary of results.
        inputs: tensors whose gradients are compared, by their names in the case.
        weights: pairs (one of our weights, its function of PyTorch's arrays, be they values or gradients).
    """
    variables = [*inputs.values(), *(weight.value for weight, _ in weights)]
    with tf.GradientTape() as tape:
        tape.watch(variables)
        results = compute()
        loss = tf.add_n([tf.reduce_sum(x * case["probe"][name]) for name, x in results.items()])
    gradients = tape.gradient(loss, variables)
    for name, x in results.items():
        counts = case["probe"][name] != 0
        np.testing.assert_allclose(x.numpy()[counts], case["result"][name][counts], rtol=1e-10, err_msg=name)
    expected = [case["gradient"][name] for name in inputs] + [ours(case["gradient"]) for _, ours in weights]
    for gradient, value in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(tf.convert_to_tensor(gradient), value, rtol=1e-9, atol=1e-13)


def assign(case, weights, cells):
    for weight, ours in weights:
        weight.assign(ours(case["weight"]))
    for cell in cells:
        if cell.gates == 4:  # to b_f the LSTM's equations add 1 here, and nothing in PyTorch
            cell.b.assign(cell.b - np.repeat([0.0, 1.0, 0.0, 0.0], cell.units))


def same(name):
    return lambda arrays: arrays[name]


def transposed(name):
    return lambda arrays: arrays[name].T


def linear(name, weight, bias=None):
    """The weights of a torch.nn.Linear."""
    pairs = [(weight, transposed(f"{name}.weight"))]
    return pairs if bias is None else [*pairs, (bias, same(f"{name}.bias"))]


def of_cell(cell, prefix="", suffix=""):
    """The weights of a cell. The blocks of a GRU are r, u, h̃ there too, those of an LSTM i, f, g, o."""
    order = [0, 1, 2] if cell.gates == 3 else [0, 1, 3, 2]

    def in_our_order(name):
        return lambda arrays: np.concatenate([np.split(arrays[name], cell.gates)[i] for i in order]).T

    names = {"weight_ih": cell.W, "weight_hh": cell.U, "bias_ih": cell.b}
    return [(weight, in_our_order(f"{prefix}{name}{suffix}")) for name, weight in names.items()]


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_recurrent_layer(golden, kind):
    case, cell = golden[kind], CELLS[kind](4)
    cell.build((None, 2))
    weights = of_cell(cell, suffix="_l0")
    assign(case, weights, [cell])
    inputs = tensors(case, *case["input"])
    layer = tf.function(RNN(cell, return_sequences=True, return_state=True))

    def compute():
        s, *states = inputs.values()
        h, *last = layer(s, initial_state=states)
        return {"h": h} | {f"last_{i}": state for i, state in enumerate(last)}

    check(case, compute, inputs, weights)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_an_encoder_and_its_twin(golden, kind):
    case, encoder = golden[f"{kind}_encoder"], Encoder(9, 2, 3, layers=2, cell=kind, bidirectional=True)
    encoder.build()
    suffixes = ["_l0", "_l0_reverse", "_l1", "_l1_reverse"]
    weights = [(encoder.E.embeddings, same("embedding.weight"))]
    for cell, suffix in zip(encoder.cells, suffixes, strict=True):
        weights += of_cell(cell, "rnn.", suffix)
    assign(case, weights, encoder.cells)
    words = tf.constant(case["input"]["words"], tf.int32)
    for encode in (tf.function(encoder), lambda words: encoder_twin.encode(encoder, words)):
        encoded = lambda encode=encode: {name: encode(words)[name] for name in ("states", "summary")}  # noqa: E731
        check(case, encoded, {}, weights)


def test_a_decoder_with_additive_attention_and_its_twin(golden):
    case, decoder = golden["decoder"], Decoder(7, 3, 4, attention_units=6)
    decoder.build(None, {"summary": (None, 5)})
    attention, readout = decoder.attention, decoder.readout
    weights = [
        (decoder.E.embeddings, same("embedding.weight")),
        *linear("start", decoder.initial[0].kernel, decoder.initial[0].bias),
        *of_cell(decoder.first, "first."),
        *of_cell(decoder.second, "second."),
        *linear("W_a", attention.W_a),
        *linear("U_a", attention.U_a, attention.b),
        *linear("v", attention.v),
        *linear("W_1", readout.W_1, readout.b),
        *linear("W_2", readout.W_2),
        *linear("W_3", readout.W_3),
        *linear("output", decoder.w, decoder.b),
    ]
    assign(case, weights, [])
    words = tf.constant(case["input"]["words"], tf.int32)
    inputs = tensors(case, "states", "summary")
    encoded = inputs | tensors(case, "mask")
    for decode in (tf.function(decoder), lambda *arguments: decoder_twin.decode(decoder, *arguments)):
        check(case, lambda decode=decode: {"logits": decode(words, encoded)}, inputs, weights)
    states, memory = decoder.start(encoded)
    for i, word in enumerate(tf.unstack(words, axis=1)):
        _, states, alpha = decoder.step(word, states, memory)
        np.testing.assert_allclose(alpha, case["result"]["attention"][:, i], rtol=1e-10)


def of_compose(compose):
    """The matrices of the children and of the tracker are one here."""
    names = ["left", "right", "track"] if compose.tracker_units else ["left", "right"]
    return [
        (compose.W, lambda arrays: np.concatenate([arrays[f"reduce.{name}.weight"].T for name in names])),
        (compose.b, same("reduce.left.bias")),
    ]


def of_tracker(tracker):
    """Of the scores of PyTorch's four transitions (none, padding, REDUCE, SHIFT) two are here."""
    shift_reduce = [3, 2]
    return [
        *of_cell(tracker.cell, "tracker.rnn."),
        (tracker.W_p, lambda arrays: arrays["tracker.transition.weight"][shift_reduce].T),
        (tracker.b_p, lambda arrays: arrays["tracker.transition.bias"][shift_reduce]),
    ]


class Vectors(tf.Module):
    """Word vectors: those of a case, whose gradients are compared."""

    def __init__(self, table):
        super().__init__()
        self.table = keras.Variable(table)
        self.output_size = table.shape[1]

    def build(self, _):
        pass

    def __call__(self, ids, training=False):
        return tf.gather(self.table.value, ids)


def tree_batch(case):
    """Words and transitions in this project's numbers; in torchtext's padding is 1, REDUCE 2 and SHIFT 3."""
    transitions = np.array([-1, PAD, REDUCE, SHIFT])[case["input"]["transitions"]]
    arrays = {"words": case["input"]["words"], "transitions": transitions}
    return {name: tf.constant(array, tf.int32) for name, array in arrays.items()}


def of_vectors(vectors):
    """Row 0 is what the post reads at the bottom of buffer and stack. Here that is no word, and has no gradient."""
    return (vectors.table, lambda arrays: arrays["vectors"] * (np.arange(len(arrays["vectors"])) > 0)[:, np.newaxis])


def test_a_tree_lstm_and_its_twins(golden):
    case = golden["tree_lstm"]
    encoder = TreeLSTMEncoder(Vectors(case["input"]["vectors"]), 3)
    encoder.build()
    weights, batch = of_compose(encoder.compose), tree_batch(case)
    assign(case, weights, [])
    recursion, lists = (lambda batch, twin=twin: twin.encode(encoder, batch) for twin in (recursive, spinn_twin))
    for encode in (tf.function(encoder), recursion, lists):
        check(
            case, lambda encode=encode: {"root": encode(batch)["root"]}, {}, [*weights, of_vectors(encoder.embedding)]
        )


def test_spinn_and_its_twin(golden):
    """The post's SPINN over given trees, with the tracker's scores of the transitions, from which it learns them."""
    case = golden["spinn"]
    encoder = SPINN(Vectors(case["input"]["vectors"]), 3, 2, parse="predicted")
    encoder.build()
    weights, batch = of_compose(encoder.compose) + of_tracker(encoder.tracker), tree_batch(case)
    assign(case, weights, [encoder.tracker.cell])

    def compute(encode):
        results = encode(batch, training=True)
        shift, reduce = tf.unstack(tf.transpose(results["transition_logits"], [1, 0, 2]), axis=2)
        scores = [tf.zeros_like(shift), tf.zeros_like(shift), reduce, shift]
        return {"root": results["root"], "scores": tf.stack(scores, axis=2)}

    for encode in (tf.function(encoder), lambda batch, training: spinn_twin.encode(encoder, batch, training)):
        check(case, lambda encode=encode: compute(encode), {}, [*weights, of_vectors(encoder.embedding)])
