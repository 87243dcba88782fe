"""What one forward pass of a translator costs: the eight lines of Cho's post (2015, part 2), for any configuration.

The post counts multiplications by the sizes of its plain encoder–decoder. Beside that stands what a model here
multiplies, by the shapes of its weights (`tfnmt_programs.benchmarks.work`): an embedding is looked up, and not
multiplied with a 1-of-K vector; the encoder may read from both ends; there may be attention, a second transition, a
deep output.
"""

import re
import time

import numpy as np
import tensorflow as tf

from tfnmt.search.constraints import ban_tokens
from tfnmt.search.greedy import greedy_search
from tfnmt.text.tokenizer import SPECIAL_TOKENS
from tfnmt.text.tokenizers import END, START, WordTokenizer
from tfnmt.translation.translator import Translator
from tfnmt_programs.benchmarks.matrix_rate import LARGE, SMALL, matrix_rate
from tfnmt_programs.benchmarks.work import PAIRS, multiplications_by_weight, our_weights

# Each part, and the weight matrices that are its own. The first that fits counts.
PARTS = (
    ("1. source words to embeddings", r"^encoder/E/"),
    ("2. source embeddings to the encoder", r"^encoder/layer_0_\w+/W$"),
    ("3. h_{i-1} to h_i", r"^encoder/"),
    ("   attention", rf"^decoder/attention/|^{PAIRS}$"),
    ("4. context to the decoder", r"^decoder/second/W$|^decoder/first/W of the summary$"),
    ("   h_T to z_0", r"^decoder/z_0"),
    ("   u_{i-1} to z_i", r"^decoder/E/|^decoder/first/W$|^decoder/W_f$"),
    ("5. z_{i-1} to z_i", r"^decoder/(first|second|layer_\d+)/"),
    ("6. decoder to target embeddings", r"^decoder/W_[123]$"),
    ("7. target embeddings to output", r"^decoder/w$"),
    ("8. softmax", r"^softmax$"),
)


def multiplications_by_part(model, source_words, target_words):
    """Multiplications of one sentence's forward pass.

    Args:
        model: a `Translator`.
        source_words, target_words: T and T', END counted.

    Returns:
        {part: multiplications}, in the order of `PARTS`. The softmax has one for each word that could be next.
    """
    weights, encoder_size = our_weights(model)
    c = model.configuration
    pair_size = {"none": 0, "additive": encoder_size}.get(c.attention, encoder_size + c.decoder_units)
    if c.attention == "none":  # the first layer reads [u_{i−1}, h_T]: two parts of one matrix
        rows, columns = weights.pop("decoder/first/W")
        weights["decoder/first/W"] = (rows - encoder_size, columns)
        weights["decoder/first/W of the summary"] = (encoder_size, columns)
    counts = multiplications_by_weight(weights, pair_size, np.array([source_words]), np.array([target_words]))
    counts["softmax"] = target_words * model.target_tokenizer.vocabulary_size
    parts = dict.fromkeys((part for part, _ in PARTS), 0)
    for name, count in counts.items():
        parts[next(part for part, pattern in PARTS if re.search(pattern, name))] += count
    return parts


def multiplications_of_the_post(model, source_words, target_words):
    """The post's eight lines with this model's sizes: {part: multiplications}, 0 for what the post does not count."""
    c, T, T_ = model.configuration, source_words, target_words
    V, V_ = model.source_tokenizer.vocabulary_size, model.target_tokenizer.vocabulary_size
    n_e, n_e_, n_h, n_z = c.source_embedding_size, c.target_embedding_size, c.encoder_units, c.decoder_units
    lines = {
        "1": T * V,
        "2": T * n_e * 3 * n_h,
        "3": T * n_h * 3 * n_h,
        "4": T * n_h * 3 * n_z,
        "5": T * n_z * 3 * n_z,
        "6": T_ * n_z * n_e_,
        "7": T_ * n_e_ * V_,
        "8": T_ * V_,
    }
    return {part: lines.get(part[0], 0) for part, _ in PARTS}


def untrained(configuration, vocabulary_size):
    """A `Translator` of that configuration that knows so many words on both sides."""
    tokenizer = WordTokenizer([f"w{i}" for i in range(vocabulary_size - len(SPECIAL_TOKENS))])
    return Translator(configuration, tokenizer, tokenizer)


def cost(model, source_words=25, target_words=25, batch_size=32):
    """Counted and measured: what `tfnmt cost` prints.

    Args:
        model: a `Translator`.
        source_words, target_words: T and T', END counted.
        batch_size: sentences at once in what is measured.

    Returns:
        A dictionary: "parts" {part: {"post", "here"}} in multiplications of a sentence; "flop_per_word", two for
        each multiplication, over the target words; "matrix_gflops" and "matrix_gflops_small", this machine's rate;
        and seconds a target word: "at_matrix_rate", "forward" (all words given) and "greedy" (the search).
    """
    parts = multiplications_by_part(model, source_words, target_words)
    post = multiplications_of_the_post(model, source_words, target_words)
    flop = 2 * sum(parts.values()) / target_words
    large, small = matrix_rate(*LARGE), matrix_rate(*SMALL)
    return {
        "source_words": source_words,
        "target_words": target_words,
        "batch_size": batch_size,
        "weights": model.count_params(),
        "parts": {part: {"post": post[part], "here": parts[part]} for part, _ in PARTS},
        "multiplications_post": sum(post.values()),
        "multiplications_here": sum(parts.values()),
        "flop_per_word": flop,
        "matrix_gflops": large,
        "matrix_gflops_small": small,
        "seconds_per_word_at_matrix_rate": flop / large / 1e9,
        "seconds_per_word_at_small_matrix_rate": flop / small / 1e9,
    } | measured_seconds(model, source_words, target_words, batch_size)


def measured_seconds(model, source_words, target_words, batch_size):
    """Seconds a target word of the forward pass and of a greedy search, on words drawn by lot."""
    first = len(SPECIAL_TOKENS)
    draw = tf.random.Generator.from_seed(1).uniform
    source = draw([batch_size, source_words], first, model.source_tokenizer.vocabulary_size, tf.int32)
    target = draw([batch_size, target_words], first, model.target_tokenizer.vocabulary_size, tf.int32)

    @tf.function(autograph=False)
    def forward():
        return tf.reduce_sum(model({"source": source, "target": target}))

    @tf.function(autograph=False)
    def search():
        step, states, memory = model.search_step(source)
        step, states = ban_tokens(step, states, [END])  # so that all sentences have T' words, trained or not
        return greedy_search(step, states, memory, START, END, tf.fill([batch_size], target_words)).ids

    words = batch_size * target_words
    return {
        "seconds_per_word_forward": _seconds(forward) / words,
        "seconds_per_word_greedy": _seconds(search) / words,
    }


def _seconds(function, times=3):
    """The least of several times, tracing apart."""
    function()

    def once():
        start = time.perf_counter()
        function().numpy()
        return time.perf_counter() - start

    return min(once() for _ in range(times))
