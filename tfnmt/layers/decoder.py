"""The decoder: writes the translation, one word after the other, from what the encoder read."""

import functools
from typing import Any

import keras
import tensorflow as tf

from tfnmt.layers.cells import Cell
from tfnmt.layers.deep_output import DeepOutput
from tfnmt.layers.embedding import Embedding, variational_dropout, whole_word_dropout
from tfnmt.layers.int8 import Int8Matrix
from tfnmt.layers.invariants import cast_matrix, cast_weight, invariants_for_one_step, multiply, scoped
from tfnmt.layers.options import require_whole
from tfnmt.layers.recurrence import Tensors, recur
from tfnmt.layers.registry import ATTENTIONS, CELLS
from tfnmt.registry import find_entry


@keras.saving.register_keras_serializable("tfnmt")
class Decoder(keras.layers.Layer):
    """z_i = φ(h_T, u_{i−1}, z_{i−1}) and the logits e(k) = w_kᵀ z_i + b_k of every word k (Cho 2015, part 2).

    With attention, a context c_i = Σ_j α_ij h_j, chosen anew for each word, takes the place of the summary
    h_T (Bahdanau et al. 2015). The first state z_0 is made from the summary: z_0 = tanh(h_T W_0 + b).

    Args:
        vocabulary_size: number of target words K.
        embedding_size: size of a target word's vector.
        units: size of z_i.
        layers: number of layers; those above the first read the one below and the context.
        cell: φ, "gru" or "lstm".
        attention: a name in `tfnmt.layers.registry.ATTENTIONS`; "none": h_T at every step. Others need conditional,
            deep_output or several layers, which are what reads the context.
        attention_units: size of the additive attention's hidden layer.
        conditional: look at the source between two transitions of the first layer, z' = φ(u_{i−1}, z_{i−1}),
            c_i = att(z'), z_i = φ'(c_i, z') (the conditional GRU of dl4mt and Nematus: Firat & Cho 2016).
        attend_first: look at the source before the one transition, which reads the context, and score the word from the
            state before it: c_i = att(z_{i−1}), z_i = φ(u_{i−1}, c_i, z_{i−1}), and t_i has z_{i−1} for z_i (Bahdanau
            et al. 2015, appendix A.2.2). Needs attention, deep_output, without which a word would not depend on the one
            before, and a single layer, and neither conditional nor input_feeding.
        deep_output: t_i = tanh(z_i W_1 + u_{i−1} W_2 + c_i W_3 + b) in place of z_i in the logits; see `DeepOutput`.
        output_units: size of t_i; None for the embedding's.
        output_activation: "tanh", or "maxout" in its place; see `DeepOutput`.
        input_feeding: t_{i−1} enters the first layer (Luong et al. 2015, section 3.3). Needs deep_output.
        tied_embeddings: the word vectors w_k are the rows of the embedding (Press & Wolf 2017). t_i, or z_i without
            deep_output, has to be of the embedding's size.
        residual: add each layer's input to its output, from the second layer on.
        layer_normalization: see `Cell`.
        word_dropout: see `Encoder`.
        embedding_dropout, state_dropout, output_dropout: fractions dropped of the words' vectors, of z in its
            product with U, and of what the logits are computed from; one mask for all times
            (Gal & Ghahramani 2016).

    Raises:
        ValueError: a cell or an attention that there is not, no layers or units, or options that do not go together.
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_size: int,
        units: int,
        layers: int = 1,
        cell: str = "gru",
        attention: str = "additive",
        attention_units: int = 256,
        conditional: bool = True,
        attend_first: bool = False,
        deep_output: bool = True,
        output_units: int | None = None,
        output_activation: str = "tanh",
        input_feeding: bool = False,
        tied_embeddings: bool = False,
        residual: bool = False,
        layer_normalization: bool = False,
        word_dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        state_dropout: float = 0.0,
        output_dropout: float = 0.0,
        **options: Any,
    ):
        super().__init__(autocast=False, **options)
        require_whole(1, layers=layers, units=units)
        if input_feeding and not deep_output:
            raise ValueError("input_feeding needs deep_output")
        readout_size = (output_units or embedding_size) if deep_output else units
        if tied_embeddings and readout_size != embedding_size:
            raise ValueError(f"tied_embeddings: words are scored from {readout_size} numbers, not {embedding_size}")
        if attend_first and (attention == "none" or not deep_output or layers > 1 or conditional or input_feeding):
            need = "attention, deep_output and one layer, and neither conditional nor input_feeding"
            raise ValueError(f"attend_first needs {need}")
        if attention != "none" and not (conditional or deep_output or layers > 1):
            raise ValueError(f"attention={attention!r} needs conditional, deep_output or several layers to read c_i")
        new_cell = functools.partial(
            find_entry("cell", cell, CELLS), units, layer_normalization, dtype=self.dtype_policy.name
        )
        self.E = Embedding(vocabulary_size, embedding_size, name="E", dtype=self.dtype_policy.name)
        self.attention = self.second = self.readout = None
        if attend := find_entry("attention", attention, ATTENTIONS):
            self.attention = attend(attention_units, name="attention", dtype=self.dtype_policy.name)
        self.first = new_cell(name="first")
        if conditional and self.attention:
            self.second = new_cell(name="second")
        self.upper = [new_cell(name=f"layer_{i}") for i in range(1, layers)]
        count = layers * self.first.number_of_states
        self.initial = [
            keras.layers.Dense(units, "tanh", name=f"z_0_{i}", dtype=self.dtype_policy.name) for i in range(count)
        ]
        if deep_output:
            self.readout = DeepOutput(readout_size, output_activation, name="readout", dtype=self.dtype_policy.name)
        self.readout_size = readout_size
        self.attend_first = attend_first
        self.input_feeding = input_feeding
        self.tied_embeddings = tied_embeddings
        self.residual = residual
        self.word_dropout = whole_word_dropout(word_dropout, self.dtype_policy.name)
        self.embedding_dropout = variational_dropout(embedding_dropout, self.dtype_policy.name)
        self.state_dropout = keras.layers.Dropout(state_dropout, dtype=self.dtype_policy.name)
        self.output_dropout = variational_dropout(output_dropout, self.dtype_policy.name)

    def build(self, ids_shape: tuple | None, encoded_shape: dict[str, tuple]) -> None:
        """`encoded_shape`: the shapes of what `Encoder` returns; only the last dimension of "summary" matters."""
        embedding_size, units, encoder_size = self.E.output_dim, self.first.units, encoded_shape["summary"][-1]
        self.E.build(ids_shape)
        for layer in self.initial:
            layer.build((None, encoder_size))
        self.first.build((None, embedding_size + (0 if self.attention else encoder_size)))
        if self.attention:
            self.attention.build([(None, units), (None, None, encoder_size)])
        if self.second:
            self.second.build((None, encoder_size))
        for cell in self.upper:
            cell.build((None, units + encoder_size))
        if self.readout:
            self.readout.build((None, units), (None, embedding_size), (None, encoder_size))
        if self.attend_first:
            shape = (encoder_size, self.first.gates * units)
            self.W_c = self.add_weight(name="W_c", shape=shape, initializer="glorot_uniform")
        if self.input_feeding:
            shape = (self.readout_size, self.first.gates * units)
            self.W_f = self.add_weight(name="W_f", shape=shape, initializer="glorot_uniform")
        if not self.tied_embeddings:
            shape = (self.readout_size, self.E.input_dim)
            self.w = self.add_weight(name="w", shape=shape, initializer="glorot_uniform")
        self.b = self.add_weight(name="b", shape=(self.E.input_dim,), initializer="zeros")

    def start(self, encoded: dict[str, tf.Tensor]) -> tuple[Tensors, dict[str, tf.Tensor]]:
        """The states before the first word and the source as the steps need it.

        Args:
            encoded: what `Encoder` returns.

        Returns:
            (states, memory): a tuple of tensors [batch, units] (z_0 of every layer, and t_0 = 0 with input
            feeding), and a dictionary of tensors whose first dimension is the batch.
        """
        states = tuple(_first_state(layer, encoded["summary"]) for layer in self.initial)
        if self.input_feeding:
            states += (tf.zeros([tf.shape(encoded["summary"])[0], self.readout_size], states[0].dtype),)
        memory = {"summary": encoded["summary"]}
        if self.attention:
            memory |= self.attention.memory(encoded["states"], encoded["mask"])
        return states, memory

    def call(self, ids: tf.Tensor, encoded: dict[str, tf.Tensor], training: bool | None = False) -> tf.Tensor:
        """The logits of every word at every place of given translations.

        Args:
            ids: int32 [batch, target_length], the word before each place: START, then the translation. Padded
                with 0.
            encoded: what `Encoder` returns.
            training: whether to drop out.

        Returns:
            The logits e(k), float [batch, target_length, vocabulary_size].
        """
        states, memory = self.start(encoded)
        u = self.word_dropout(self.E(tf.transpose(ids)), training=training)
        u = self.embedding_dropout(u, training=training)
        dropout_masks = {}
        if self.state_dropout.rate:
            ones = tf.ones_like(states[0])
            dropout_masks = {name: self.state_dropout(ones, training=training) for name in self._cells()}

        def step(inputs, states, invariants):
            z, c, states, _ = self._transition(inputs, states, invariants)
            return (states[-1],) if self.input_feeding else (z, c), states

        memory_invariants = self._memory_invariants(memory)
        outputs, _ = recur(
            step,
            inputs=self._project(u, memory),
            states=states,
            weights=self._loop_weights() | memory_invariants["weights"],
            output_sizes=(self.readout_size,)
            if self.input_feeding
            else (self.first.units, memory["summary"].shape[-1]),
            constants=self._loop_constants(dropout_masks) | memory_invariants["constants"],
        )
        if self.input_feeding:
            (t,) = outputs
        else:
            z, c = outputs
            t = self._readout(z, c, u)
        t = self.output_dropout(t, training=training)
        return self.logits(tf.transpose(t, [1, 0, 2]))

    def for_steps(self, words: tf.Tensor | None = None) -> dict[str, dict[str, tf.Tensor]]:
        """The weights of the steps that a search takes one by one, the same for every source and every step.

        Args:
            words: int32 [n], ids of the words whose logits are computed; None for all.

        Returns:
            A dictionary of dictionaries of tensors, for `step`.
        """
        weights = self._loop_weights() | scoped({"first": self.first.loop_weights(with_inputs=True)})
        if self.readout:
            weights |= scoped({"readout": self.readout.loop_weights(with_words=True)})
        w, b = self._output_weight(), cast_weight(self, self.b)
        b = b if words is None else tf.gather(b, words)
        if isinstance(w, Int8Matrix):
            weights["w"] = w if words is None else w.columns(words)
        else:
            w = w if words is None else tf.gather(w, words, axis=0 if self.tied_embeddings else 1)
            weights["w"] = tf.transpose(w) if self.tied_embeddings else w
        return {"weights": weights, "constants": self._loop_constants({}) | {"b": b}}

    def step(
        self,
        ids: tf.Tensor,
        states: Tensors,
        memory: dict[str, tf.Tensor],
        shared: dict[str, dict[str, tf.Tensor]] | None = None,
        rows: int = 1,
    ) -> tuple[tf.Tensor, Tensors, tf.Tensor | None]:
        """One word on: what a search calls.

        Args:
            ids: int [batch], the words before.
            states, memory: as `start` or the step before returns them.
            shared: what `for_steps` returns; None to compute it here.
            rows: how many rows of `ids` and `states` there are for each of the memory, one after the other.

        Returns:
            (logits, states, attention): e(k) float [batch, vocabulary_size] (or of the words given to `for_steps`),
            the new states, and α [batch, source_length] (None without attention).
        """
        shared = self.for_steps() if shared is None else shared
        if not self.attention and rows > 1:
            memory = {"summary": tf.repeat(memory["summary"], rows, axis=0)}
        memory_invariants = self._memory_invariants(memory)
        invariants = invariants_for_one_step(
            **{name: shared[name] | memory_invariants[name] for name in shared}, rows=rows
        )
        u = self.E(ids)
        z, c, states, attention = self._transition(self._project(u, memory, invariants), states, invariants)
        t = z
        if self.input_feeding:
            t = states[-1]
        elif self.readout:
            readout = invariants.scope("readout")
            t = self.readout.step(self.readout.project(u, readout), z, c, readout)
        return invariants.matmul("w", t) + invariants["b"], states, attention

    def logits(self, t: tf.Tensor) -> tf.Tensor:
        """e(k) = w_kᵀ t + b_k of every word k: t [..., readout_size] → [..., vocabulary_size]."""
        rows, w = tf.reshape(t, [-1, self.readout_size]), self._output_weight()
        if isinstance(w, Int8Matrix):
            e = multiply(rows, w)
        else:
            e = tf.matmul(tf.cast(rows, w.dtype), w, transpose_b=self.tied_embeddings)
            e = tf.cast(e, rows.dtype)
        e = tf.nn.bias_add(e, cast_weight(self, self.b))
        return tf.reshape(e, tf.concat([tf.shape(t)[:-1], [self.E.input_dim]], axis=0))

    def _output_weight(self):
        """w [readout_size, vocabulary_size], or its transpose, which is E, where they are tied and no `Int8Matrix`."""
        return cast_matrix(self, self.E.embeddings if self.tied_embeddings else self.w)

    def _project(self, u, memory, invariants=None):
        """What the first layer and, with input feeding, the readout need of the words before, at all times at once."""
        s = u
        if not self.attention:
            summary = memory["summary"]
            summaries = tf.broadcast_to(summary, tf.concat([tf.shape(u)[:-1], [summary.shape[-1]]], axis=0))
            s = tf.concat([u, summaries], axis=-1)
        first, readout = (invariants and invariants.scope(name) for name in ("first", "readout"))
        projected = (self.first.project(s, first),)
        return (*projected, self.readout.project(u, readout)) if self.input_feeding else projected

    def _transition(self, inputs, states, invariants):
        """z_{i−1} → z_i for all layers: the z that words are scored from, the context c, all new states, and α."""
        if self.attend_first:
            c, alpha = self.attention.attend(states[0], invariants.scope("attention"))
            x = inputs[0] + invariants.matmul("W_c", c)
            return states[0], c, self.first.step(x, states, invariants.scope("first")), alpha
        count = self.first.number_of_states
        x = inputs[0] + invariants.matmul("W_f", states[-1]) if self.input_feeding else inputs[0]
        layer = self.first.step(x, states[:count], invariants.scope("first"))
        if self.attention:
            c, alpha = self.attention.attend(layer[0], invariants.scope("attention"))
        else:
            c, alpha = invariants["summary"], None
        if self.second:
            second = invariants.scope("second")
            layer = self.second.step(self.second.project(c, second), layer, second)
        z, new_states = layer[0], layer
        for i, cell in enumerate(self.upper, start=1):
            upper = invariants.scope(f"upper_{i}")
            x = cell.project(tf.concat([z, c], axis=-1), upper)
            layer = cell.step(x, states[i * count : (i + 1) * count], upper)
            z, new_states = z + layer[0] if self.residual else layer[0], new_states + layer
        if self.input_feeding:
            new_states += (self.readout.step(inputs[1], z, c, invariants.scope("readout")),)
        return z, c, new_states, alpha

    def _readout(self, z, c, u):
        """t_i [..., readout_size], or z_i itself without deep output."""
        return self.readout(z, u, c) if self.readout else z

    def _cells(self) -> dict[str, Cell]:
        """All cells, by the names of their scopes in a step."""
        second = {"second": self.second} if self.second else {}
        return {"first": self.first} | second | {f"upper_{i}": cell for i, cell in enumerate(self.upper, start=1)}

    def _loop_weights(self):
        weights = {name: cell.loop_weights(with_inputs=name != "first") for name, cell in self._cells().items()}
        if self.attention:
            weights["attention"] = self.attention.loop_weights()
        if self.attend_first:
            return scoped(weights) | {"W_c": cast_matrix(self, self.W_c)}
        if not self.input_feeding:
            return scoped(weights)
        return scoped(weights | {"readout": self.readout.loop_weights()}) | {"W_f": cast_matrix(self, self.W_f)}

    def _loop_constants(self, dropout_masks):
        constants = {name: cell.loop_constants(dropout_masks.get(name)) for name, cell in self._cells().items()}
        if self.attention:
            constants["attention"] = self.attention.loop_constants()
        return scoped(constants)

    def _memory_invariants(self, memory):
        """The "weights" and "constants" of a step that depend on the source."""
        if not self.attention:
            return {"weights": {}, "constants": {"summary": memory["summary"]}}
        weights, constants = self.attention.memory_invariants(memory)
        return {"weights": scoped({"attention": weights}), "constants": scoped({"attention": constants})}


def _first_state(layer, summary):
    """What a dense layer gives for h_T, in its product's precision."""
    z = multiply(summary, cast_matrix(layer, layer.kernel)) + cast_weight(layer, layer.bias)
    return layer.activation(z)
