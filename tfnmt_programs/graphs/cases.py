"""The models that are built both ways: static graph and define-by-run, over the same layers and weights."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

from tfnmt.data.example_batches import example_arrays
from tfnmt.data.examples import Example, Sentence
from tfnmt.define_by_run import decoder as decoder_by_run
from tfnmt.define_by_run import encoder as encoder_by_run
from tfnmt.define_by_run import spinn as spinn_by_run
from tfnmt.layers import recurrence, recurrent_layers, saved_product
from tfnmt.layers.decoder import Decoder
from tfnmt.layers.deep_output import DeepOutput
from tfnmt.layers.embedding import WordVectors
from tfnmt.layers.encoder import Encoder
from tfnmt.layers.rnn import read_sequences
from tfnmt.layers.trees import loop, parser, schedule, table
from tfnmt.layers.trees.encoder import TreeLSTMEncoder
from tfnmt.layers.trees.spinn import SPINN
from tfnmt.text import transitions
from tfnmt_programs.benchmarks.tree_batches import random_transitions
from tfnmt_programs.graphs.steps_in_torch import steps_of_spinn, steps_of_translator

VOCABULARY = 1000


@dataclass(frozen=True)
class Case:
    """One model, both ways. The calls take a batch and return the tensors that are compared."""

    name: str
    make: Callable
    """units → a Keras layer, built, with all the weights."""
    static: Callable
    """(layer, batch) → tensors, in a static graph's operations."""
    by_run: Callable
    """(layer, batch) → the same, as a Python loop."""
    make_batch: Callable
    """(batch_size, length, random) → a dictionary of int32 tensors."""
    model_code: tuple
    """The functions that are this model's own in the static graph."""
    loop_code: tuple
    """The modules of the loop, which all models share."""
    by_run_code: tuple
    """The modules of the Python loop."""
    steps_in_torch: Callable
    """Of `tfnmt_programs.graphs.steps_in_torch`: what times the same model in PyTorch."""
    torch_settings: Callable
    """units → the settings by which it is the same model, but for "threads"."""

    def step(self, call: Callable, layer: keras.layers.Layer) -> Callable:
        """A function: batch → (results, gradients of all weights), of a loss that weights each result differently."""
        variables = [variable.value for variable in layer.trainable_variables]

        def step(batch):
            with tf.GradientTape() as tape:
                results = tf.nest.flatten(call(layer, batch))
                flat = tf.concat([tf.reshape(result, [-1]) for result in results], axis=0)
                loss = tf.reduce_mean(flat * tf.sin(1.0 + tf.range(tf.size(flat), dtype=flat.dtype)))
            return results, tape.gradient(loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)

        return step

    def in_graph(self, layer: keras.layers.Layer, batch: dict[str, tf.Tensor]) -> Callable:
        """The step as one `tf.function` that takes batches of all sizes; traced when it is first called."""
        signature = {name: tf.TensorSpec([None] * ids.ndim, tf.int32) for name, ids in batch.items()}
        return tf.function(self.step(self.static, layer), input_signature=[signature], autograph=False)


def make_cases() -> dict[str, Case]:
    """All cases by name."""
    tree_loop = (loop, saved_product, schedule, table, transitions)
    spinn_code = (SPINN.call, SPINN._composed, SPINN._step)
    trees = {
        "make_batch": tree_batch,
        "loop_code": tree_loop,
        "by_run_code": (spinn_by_run,),
        "steps_in_torch": steps_of_spinn,
    }
    read_code = (recurrent_layers.read_layers, recurrent_layers._read_layer, read_sequences)
    chains = {
        "make_batch": sentence_batch,
        "loop_code": (recurrence, saved_product),
        "steps_in_torch": steps_of_translator,
    }
    cases = (
        Case(
            "encoder",
            lambda units: _built(Encoder(VOCABULARY, units, units)),
            lambda encoder, batch: encoder(batch["source"])["summary"],
            lambda encoder, batch: encoder_by_run.encode(encoder, batch["source"])["summary"],
            model_code=(Encoder.call, *read_code),
            by_run_code=(encoder_by_run,),
            torch_settings=lambda units: _translator_settings(units, decodes=False),
            **chains,
        ),
        Case(
            "decoder",
            _translator,
            lambda both, batch: both.decoder(batch["target"], both.encoder(batch["source"])),
            lambda both, batch: decoder_by_run.decode(
                both.decoder, batch["target"], encoder_by_run.encode(both.encoder, batch["source"])
            ),
            model_code=(
                Decoder.call,
                Decoder._project,
                Decoder._readout,
                DeepOutput.call,
                Encoder.call,
                *read_code,
            ),
            by_run_code=(decoder_by_run, encoder_by_run),
            torch_settings=lambda units: _translator_settings(units, decodes=True),
            **chains,
        ),
        Case(
            "spinn-pi-nt",
            lambda units: _built(TreeLSTMEncoder(_word_vectors(units), units)),
            lambda encoder, batch: _compared(encoder(batch)),
            lambda encoder, batch: _compared(spinn_by_run.encode(encoder, batch)),
            model_code=(TreeLSTMEncoder.call, TreeLSTMEncoder._step),
            torch_settings=lambda units: _spinn_settings(units, None, "given"),
            **trees,
        ),
        _spinn("spinn-pi", "given", model_code=spinn_code, **trees),
        _spinn("spinn", "predicted", model_code=spinn_code, training=True, **trees),
        _spinn(
            "rl-spinn",
            "sampled",
            model_code=(*spinn_code, SPINN._parses),
            training=True,
            seed=tf.constant([1, 2]),
            **trees | {"loop_code": (*tree_loop, parser)},
        ),
    )
    return {case.name: case for case in cases}


def _spinn(name, parse, model_code, make_batch, loop_code, by_run_code, steps_in_torch, **options):
    return Case(
        name,
        lambda units: _built(SPINN(_word_vectors(units), units, _tracker_units(units), parse)),
        lambda encoder, batch: _compared(encoder(batch, **options)),
        lambda encoder, batch: _compared(spinn_by_run.encode(encoder, batch, **options)),
        make_batch,
        model_code,
        loop_code,
        by_run_code,
        steps_in_torch,
        lambda units: _spinn_settings(units, _tracker_units(units), parse),
    )


def _spinn_settings(units, tracker_units, parse):
    return {"units": units, "tracker_units": tracker_units, "parse": parse, "vocabulary_size": VOCABULARY}


def _translator_settings(units, decodes):
    return {"units": units, "decodes": decodes, "vocabulary_size": VOCABULARY}


def _tracker_units(units):
    return max(1, units // 2)


def _compared(results):
    """Of what tree encoders give, what is float; logits of illegal moves would hide the others."""
    names = [name for name in ("root", "nodes", "log_probability") if name in results]
    compared = [results[name] for name in names]
    if "transition_logits" in results:
        compared.append(tf.nn.softmax(results["transition_logits"]))
    return compared


def _word_vectors(units):
    return WordVectors(VOCABULARY, 2 * units)


def _built(layer):
    layer.build(None)
    return layer


def _translator(units):
    """An encoder and an attention decoder."""
    both = keras.layers.Layer()
    both.encoder = _built(Encoder(VOCABULARY, units, units))
    both.decoder = Decoder(VOCABULARY, units, units, attention_units=units)
    both.decoder.build(None, {"summary": (None, both.encoder.output_size)})
    return both


def sentence_batch(batch_size: int, length: int, random: np.random.Generator) -> dict[str, tf.Tensor]:
    """Sentences and translations of up to `length` words."""
    return {"source": _ids(batch_size, length, random), "target": _ids(batch_size, length, random)}


def tree_batch(batch_size: int, length: int, random: np.random.Generator) -> dict[str, tf.Tensor]:
    """Sentences of up to `length` words with random trees."""
    words = _ids(batch_size, length, random).numpy()
    counts = np.count_nonzero(words, axis=1)
    sentences = [Example((Sentence([""] * n, random_transitions(n, random)),), 0) for n in counts]
    arrays, _ = example_arrays(sentences)
    return {name: tf.constant(array, tf.int32) for name, array in (arrays | {"words": words}).items()}


def _ids(batch_size, length, random):
    """int32 [batch_size, length], padded with 0; the first sentence is of the full length, others of 80% or more."""
    lengths = random.integers(max(1, int(0.8 * length)), length + 1, [batch_size, 1])
    lengths[0] = length
    ids = random.integers(4, VOCABULARY, [batch_size, length])
    return tf.constant(np.where(np.arange(length) < lengths, ids, 0), tf.int32)


def lines_of_code(*objects: object) -> int:
    """Lines of functions and modules, without comments, docstrings, imports and blank lines."""
    count = 0
    for each in objects:
        tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                node.body = node.body[1:] or [ast.Pass()]
        tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
        count += len([line for line in ast.unparse(tree).splitlines() if line.strip()])
    return count
