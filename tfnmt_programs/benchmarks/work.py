"""How many multiplications a translator's training step needs, from the shapes of its weights and the lengths of its
sentences. What is computed beyond that, for padding or again in the backward pass, counts as waste, and so does all
that is no product."""

import re

import numpy as np

# What a weight matrix meets once, by its name, in this project and in JoeyNMT. The first that fits counts.
MEETS = (
    ("nothing", r"(^|/)E/|embed"),  # a look-up
    ("source words", r"^encoder|/U_a$|key_layer"),
    ("sentences", r"/z_0|bridge_layer"),
    ("pairs of words", r"attention/v$|energy_layer"),
    ("target words", r""),
)
PAIRS = "pairs of words"


def products_per_target_word(weights, encoder_size, batches):
    """Multiplications and additions of the products of a forward pass, over the number of target words.

    Every matrix [in, out] is multiplied with a vector, in · out multiplications and as many additions, once for each
    word, sentence, or pair of a source and a target word, as `MEETS` says. The context c_i = Σ_j α_ij h_j is
    `encoder_size` more of each for each pair of words.

    Args:
        weights: the shapes of all weights by name; what is no matrix does not count. A look-up table that words are
            scored with, too, is to be there once more under another name.
        encoder_size: size of the encoder's states h_j.
        batches: as `tfnmt.data.pair_batches` makes them, as NumPy arrays.

    Returns:
        Floating-point operations (FLOP), a float.
    """
    source = np.concatenate([(inputs["source"] != 0).sum(axis=1) for inputs, _ in batches])
    target = np.concatenate([(labels != 0).sum(axis=1) for _, labels in batches])
    multiplications = multiplications_by_weight(weights, encoder_size, source, target)
    return float(2 * sum(multiplications.values()) / target.sum())


def multiplications_by_weight(weights, pair_size, source, target):
    """How often each weight matrix's numbers are multiplied in a forward pass.

    Args:
        weights: shapes by name, as above.
        pair_size: multiplications without weights for each pair of a source and a target word.
        source, target: words of each sentence, END counted, int [sentences].

    Returns:
        {name: multiplications} of all matrices, and under `PAIRS` those without weights.
    """
    times = {
        "nothing": 0,
        "source words": source.sum(),
        "sentences": len(source),
        "pairs of words": (source * target).sum(),
        "target words": target.sum(),
    }
    matrices = {name: shape for name, shape in weights.items() if len(shape) == 2}
    multiplications = {name: int(times[meets(name)]) * rows * columns for name, (rows, columns) in matrices.items()}
    return multiplications | {PAIRS: int(times["pairs of words"]) * pair_size}


def training_products_per_target_word(weights, encoder_size, batches):
    """The same of a training step: for each product forward there are two backward, the gradients of its factors."""
    return 3 * products_per_target_word(weights, encoder_size, batches)


def our_weights(model):
    """The shapes of a `Translator`'s weights by name, and the size of its encoder's states."""
    shapes = {weight.path: tuple(weight.shape) for weight in model.weights}
    if model.configuration.tied_embeddings:
        shapes["decoder/w"] = tuple(model.decoder.E.embeddings.shape)
    if model.configuration.attention == "general":  # its matrix makes the keys, which additive attention's U_a does
        shapes["decoder/attention/U_a"] = shapes.pop("decoder/attention/W_a")
    return shapes, model.encoder.output_size


def meets(name):
    """What the weight matrix of that name meets: a key of `MEETS`."""
    return next(what for what, pattern in MEETS if re.search(pattern, name))
