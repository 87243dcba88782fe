"""What one forward pass of a translator costs: the eight lines of Cho's post (2015, part 2), for any configuration.

The post counts multiplications by the sizes of its plain encoder–decoder. Beside that stands what a model here
multiplies (`tfnmt_programs.benchmarks.work`): an embedding is looked up, and not multiplied with a 1-of-K vector; the
encoder may read from both ends; there may be attention, a second transition, a deep output.
"""

import math
from typing import Any

import tensorflow as tf

from tfnmt.search.constraints import ban_tokens
from tfnmt.search.greedy import greedy_search
from tfnmt.text.tokenizer import SPECIAL_TOKENS
from tfnmt.text.tokenizers import END, START
from tfnmt.translation.ensemble import search_step
from tfnmt.translation.translator import Translator
from tfnmt_programs.benchmarks.machine_rates import LARGE, SMALL, matrix_rate
from tfnmt_programs.benchmarks.work import forward_multiplications, matrix_sizes
from tfnmt_programs.measuring import least_seconds_in_turn

LINES = (
    "1. source words to embeddings",
    "2. source embeddings to the encoder",
    "3. h_{i-1} to h_i",
    "   attention",
    "4. context to the decoder",
    "   h_T to z_0",
    "   u_{i-1} to z_i",
    "5. z_{i-1} to z_i",
    "6. decoder to target embeddings",
    "7. target embeddings to output",
    "8. softmax",
)


def multiplications_by_line(model: Translator, source_words: int, target_words: int) -> dict[str, int]:
    """Multiplications of one sentence's forward pass.

    Args:
        source_words, target_words: T and T', END counted.

    Returns:
        {line: multiplications}, in the order of `LINES`. The attention has all that no other line accounts for; the
        softmax has one for each word that could be next.
    """
    encoder, decoder = model.encoder, model.decoder
    inputs = sum(_size(cell.W) for cell in encoder.cells[: encoder.directions])
    word_rows, summary_rows = decoder.E.output_dim, 0 if decoder.attention else encoder.output_size
    columns = decoder.first.W.shape[1]  # first.W multiplies [u_{i−1}, h_T] where there is no attention
    context = summary_rows * columns + (_size(decoder.second.W) if decoder.second else 0)
    context += _size(decoder.W_c) if decoder.attend_first else 0
    words = word_rows * columns + (_size(decoder.W_f) if decoder.input_feeding else 0)
    cells = [decoder.first, *decoder.upper, *([decoder.second] if decoder.second else [])]
    transitions = matrix_sizes(*cells) - summary_rows * columns - word_rows * columns
    transitions -= _size(decoder.second.W) if decoder.second else 0
    readout = matrix_sizes(decoder.readout) if decoder.readout else 0
    vocabulary_size = model.target_tokenizer.vocabulary_size
    counts = (
        0,
        source_words * inputs,
        source_words * (matrix_sizes(*encoder.cells) - inputs),
        0,
        target_words * context,
        matrix_sizes(*decoder.initial),
        target_words * words,
        target_words * transitions,
        target_words * readout,
        target_words * decoder.readout_size * vocabulary_size,
        0,
    )
    lines = dict(zip(LINES, counts, strict=True))
    lines["   attention"] = forward_multiplications(model, source_words, target_words) - sum(counts)
    lines["8. softmax"] = target_words * vocabulary_size
    return lines


def _size(weight):
    return math.prod(weight.shape)


def multiplications_of_the_post(model: Translator, source_words: int, target_words: int) -> dict[str, int]:
    """The post's eight lines with this model's sizes: {line: multiplications}, 0 for what the post does not count."""
    c, T, T_ = model.configuration, source_words, target_words
    V, V_ = model.source_tokenizer.vocabulary_size, model.target_tokenizer.vocabulary_size
    n_e, n_e_, n_h, n_z = c.source_embedding_size, c.target_embedding_size, c.encoder_units, c.decoder_units
    counts = {
        "1": T * V,
        "2": T * n_e * 3 * n_h,
        "3": T * n_h * 3 * n_h,
        "4": T * n_h * 3 * n_z,
        "5": T * n_z * 3 * n_z,
        "6": T_ * n_z * n_e_,
        "7": T_ * n_e_ * V_,
        "8": T_ * V_,
    }
    return {line: counts.get(line[0], 0) for line in LINES}


def cost(model: Translator, source_words: int = 25, target_words: int = 25, batch_size: int = 32) -> dict[str, Any]:
    """Counted and measured: what `tfnmt cost` prints.

    Args:
        source_words, target_words: T and T', END counted.
        batch_size: sentences at once in what is measured.

    Returns:
        A dictionary: "parts" {line: {"post", "here"}} in multiplications of a sentence; "flop_per_word", two for
        each multiplication, over the target words; "multiplications_backward", see
        `backward_multiplications`; "matrix_gflops" and "matrix_gflops_small", this machine's rate;
        seconds a target word: "at_matrix_rate", "forward" (all words given), "backward" (the gradient of all weights)
        and "greedy" (the search); and "backward_over_forward", the ratio of the times.
    """
    lines = multiplications_by_line(model, source_words, target_words)
    post = multiplications_of_the_post(model, source_words, target_words)
    flop = 2 * sum(lines.values()) / target_words
    large, small = matrix_rate(*LARGE), matrix_rate(*SMALL)
    return {
        "source_words": source_words,
        "target_words": target_words,
        "batch_size": batch_size,
        "weights": model.count_params(),
        "parts": {line: {"post": post[line], "here": lines[line]} for line in LINES},
        "multiplications_post": sum(post.values()),
        "multiplications_here": sum(lines.values()),
        "multiplications_backward": backward_multiplications(lines),
        "flop_per_word": flop,
        "matrix_gflops": large,
        "matrix_gflops_small": small,
        "seconds_per_word_at_matrix_rate": flop / large / 1e9,
        "seconds_per_word_at_small_matrix_rate": flop / small / 1e9,
    } | measured_seconds(model, source_words, target_words, batch_size)


def backward_multiplications(lines: dict[str, int]) -> int:
    """Of the gradient of all weights, given `multiplications_by_line`: every product forward, z = xW, has two backward,
    dx = dz Wᵀ and dW = xᵀ dz; the softmax has one multiplication for each word again."""
    softmax = lines["8. softmax"]
    return 2 * (sum(lines.values()) - softmax) + softmax


def measured_seconds(model: Translator, source_words: int, target_words: int, batch_size: int) -> dict[str, float]:
    """Seconds a target word of the forward pass, of the gradient after it and of a greedy search, on random words."""
    first = len(SPECIAL_TOKENS)
    draw = tf.random.Generator.from_seed(1).uniform
    source = draw([batch_size, source_words], first, model.source_tokenizer.vocabulary_size, tf.int32)
    target = draw([batch_size, target_words], first, model.target_tokenizer.vocabulary_size, tf.int32)

    @tf.function(autograph=False)
    def forward():
        return tf.reduce_sum(model({"source": source, "target": target}))

    variables = [variable.value for variable in model.trainable_variables]

    @tf.function(autograph=False)
    def both():
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(model({"source": source, "target": target}))
        return tape.gradient(total, variables)

    @tf.function(autograph=False)
    def search():
        step, states, memory = search_step(model, source)
        step, states = ban_tokens(step, states, [END])  # so that all sentences have T' words, trained or not
        return greedy_search(step, states, memory, START, END, tf.fill([batch_size], target_words)).ids

    words = batch_size * target_words
    of_forward, of_both, of_search = least_seconds_in_turn(forward, both, search, seconds=3.0)
    of_backward = of_both - of_forward
    return {
        "seconds_per_word_forward": of_forward / words,
        "seconds_per_word_backward": of_backward / words,
        "backward_over_forward": of_backward / of_forward,
        "seconds_per_word_greedy": of_search / words,
    }
