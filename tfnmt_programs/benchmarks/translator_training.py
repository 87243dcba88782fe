"""How fast a translator is trained here, beside JoeyNMT 2.3 or Marian on the same sentences, in target words a second.

The model is that of JoeyNMT's recurrent decoder with additive ("bahdanau") attention: at `model_size` 512 vectors of
256 for the words of both sides, a bidirectional GRU of 256 in each direction, a GRU decoder of 512, 512 in the
attention's hidden layer. With the words of Multi30k (English to German, lowercased and tokenized, those that occur
twice or more: 5.9k and 7.9k) that is 11.6 million weights. Adam, no label smoothing, no dropout, float32.

The two projects' decoders are not made of the same parts. In multiplications for a target word, at that size (each is 2
FLOP in the forward pass, 6 in a training step):

    part                                     JoeyNMT      conditional    input_feeding
    word, and with it t_{i-1}, to the GRU    1,179,648      393,216       1,572,864
    state to the GRU                           786,432      786,432         786,432
    second GRU transition (c, z')                    –    1,572,864               –
    attention's query                          262,144      262,144         262,144
    readout t_i                                524,288            –         786,432
    logits of 7.9k words                     4,023,808    4,023,808       4,023,808
    all                                      6,776,320    7,038,464       7,431,680

 - JoeyNMT: input feeding (t_{i-1} and the word enter one GRU); t_i = tanh of state and context, of the decoder's size.
 - `conditional`, ours for the comparison: attention between two GRU transitions, logits from the state. 4% more
   products, and 2% more weights.
 - `input_feeding`: JoeyNMT's kind of decoder. Our readout is of the size of a target word's vector, so that is 512 here
   in place of 256, and sees the word too: 10% more products, 22% more weights.
 - `multi30k`: the preset's own sizes, without its dropout, on both sides: a smaller model, for what a user of it gets.

Marian's model is of the kind `conditional`; all of its states have the decoder's size, and the attention's hidden layer
has twice that.

The encoder's products, the keys and the first state are the same as JoeyNMT's. Gradients are clipped: ours and Marian's
by their norm, as our training script does; JoeyNMT's value by value, as its sample configuration does. JoeyNMT and we
count correct words in each step, we perplexity too.
"""

import logging
import statistics
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np

from tfnmt.data.batching_configuration import BatchingConfiguration
from tfnmt.data.pair_batches import training_batches
from tfnmt.data.parallel import ParallelFiles
from tfnmt.errors import UserError
from tfnmt.text.tokenizer import SPECIAL_TOKENS
from tfnmt.text.tokenizers import WordTokenizer
from tfnmt.training.configuration import TrainingConfiguration
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.presets import find_preset
from tfnmt.translation.training import compile_for_training
from tfnmt.translation.translator import Translator
from tfnmt_programs.benchmarks import joeynmt_peer, marian_peer
from tfnmt_programs.benchmarks.alternation import alternate, ratio_figures
from tfnmt_programs.benchmarks.machine_rates import SMALL, machine_rate, matrix_rate
from tfnmt_programs.benchmarks.timed_fit import timed_fit
from tfnmt_programs.benchmarks.work import training_flop_per_target_word, translator_multiplications

logger = logging.getLogger(__name__)

PEERS = {
    "joeynmt": (joeynmt_peer.start_training, joeynmt_peer.joeynmt_multiplications),
    "marian": (marian_peer.start_training, marian_peer.marian_multiplications),
}
SEED = 1
TRAINING = TrainingConfiguration(learning_rate=0.0005)


def compare_training(files: ParallelFiles, options: Namespace) -> dict[str, Any]:
    """Train both sides in turn, always on the same batches.

    Args:
        files: the sentence pairs that both sides train on.
        options: has `model`, `model_size`, `mixed_precision` (None, "ours" or "both"), `batch_size`,
            `batches`, `micro_batches`, `rounds`, `threads`, `peer` (a key of `PEERS`) and `peer_python`, as
            `tfnmt benchmark` explains them.

    Returns:
        A dictionary of figures: medians, ratios, matrix rates, and each side's share of them.

    Raises:
        UserError: the files are wrong or too short, or the peer cannot be run.
    """
    files.check()
    keras.utils.set_random_seed(SEED)
    tokenizers = [frequent_words(lines) for lines in files.sides()]
    batches = some_batches(files, tokenizers, options.batch_size, options.batches)
    words = sum(int(np.sum(labels != 0)) for _, labels in batches)
    sizes = len(batches), options.batch_size, words
    logger.info("%d batches of %d pairs; %d target words, END counted, in each round", *sizes)
    model = our_model(options, tokenizers)
    model.product_dtype = "bfloat16" if options.mixed_precision else None
    start_training, peer_counts = PEERS[options.peer]
    with start_training(model, batches, TRAINING.learning_rate, SEED, options) as peer:
        theirs = peer.answer()
        compile_for_training(model, TRAINING, total_updates=1)
        first_step, train = timed_fit(model, batches)
        train(), peer.ask()  # every shape once, before the clock runs
        rates = alternate(
            {
                "ours": lambda: words / train(),
                "peer": lambda: words / peer.ask()["seconds"],
                "matrix": machine_rate,
                "matrix_small": lambda: matrix_rate(*SMALL),
            },
            options.rounds,
        )
    flop = training_flop_per_target_word(translator_multiplications(model), batches)
    peer_flop = training_flop_per_target_word(peer_counts(theirs["weights"], theirs["encoder_size"]), batches)
    figures = ratio_figures(rates["ours"], rates["peer"])
    matrix, small = (statistics.median(rates[name]) for name in ("matrix", "matrix_small"))
    return figures | {
        "unit": "target words/s",
        "matrix_gflops": matrix,
        "matrix_gflops_small": small,
        "share_of_matrix_rate": figures["ours"] * flop / matrix / 1e9,
        "peer_share_of_matrix_rate": figures["peer"] * peer_flop / matrix / 1e9,
        "mflop_per_word": flop / 1e6,
        "peer_mflop_per_word": peer_flop / 1e6,
        "weights": model.count_params(),
        "peer_weights": sum(int(np.prod(shape)) for shape in theirs["weights"].values()),
        "first_step_seconds": first_step,
        "micro_batches": options.micro_batches,
        "rounds": options.rounds,
        "model": options.model,
        "mixed_precision": options.mixed_precision,
    }


def frequent_words(lines: Iterable[str]) -> WordTokenizer:
    """A tokenizer of the words that occur twice or more."""
    lines = list(lines)
    counts = Counter(word for line in lines for word in line.split())
    frequent = sum(count > 1 for count in counts.values())
    return WordTokenizer.train(lines, vocabulary_size=len(SPECIAL_TOKENS) + frequent)


def some_batches(
    files: ParallelFiles, tokenizers: Sequence[WordTokenizer], batch_size: int, count: int
) -> list[tuple[dict, np.ndarray]]:
    """As many full batches as that, chosen at random from the first thousand of training on the files.

    Returns: a list of ({"source", "target"}, labels), see `tfnmt.data.pair_batches`, as NumPy arrays.
    """
    dataset = training_batches(files.pairs(), *tokenizers, BatchingConfiguration(batch_size=batch_size), SEED)
    full = [batch for batch in dataset.take(1000).as_numpy_iterator() if len(batch[1]) == batch_size]
    if len(full) < count:
        raise UserError(f"{files.source}: has {len(full)} full batches of {batch_size} pairs, fewer than {count}")
    return [full[i] for i in np.random.default_rng(SEED).choice(len(full), count, replace=False)]


def our_model(options: Namespace, tokenizers: Sequence[WordTokenizer]) -> Translator:
    """The translator that is compared; see above for the kinds."""
    if options.model == "multi30k":
        preset = find_preset("multi30k").model
        dropouts = [key for key, _ in preset if key.endswith("_dropout")]
        return Translator(
            preset.replace(**dict.fromkeys(dropouts, 0.0), micro_batches=options.micro_batches), *tokenizers
        )
    size, half = options.model_size, options.model_size // 2
    conditional = options.model == "conditional"
    configuration = TranslatorConfiguration(
        micro_batches=options.micro_batches,
        source_embedding_size=half,
        target_embedding_size=half if conditional else size,
        encoder_units=half,
        decoder_units=size,
        attention_units=size,
        conditional=conditional,
        deep_output=not conditional,
        input_feeding=not conditional,
    )
    return Translator(configuration, *tokenizers)
