"""One sentence through an encoder–decoder, step by step: figures 1 to 5 and 7 to 9 of Cho's post (2015, part 2).

All numbers are those of a model that runs. Each strip of colours is a vector: brown for negative, violet for positive.
"""

from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tfnmt.configuration import require
from tfnmt.errors import UserError
from tfnmt.inspection.figures import BLUE, GREEN, ORANGE, new_figure, plain_text
from tfnmt.text.tokenizers import END, START
from tfnmt.translation.translator import Translator

SENTENCE = "The small dog sees a red ball."
DRAWS = 1000


@dataclass(frozen=True)
class Walk:
    """What a model computes for one sentence, translated greedily. Words are strings, END counted as `</s>`."""

    source: list[str]
    s: np.ndarray
    """s_i = E w_i, float [source words, embedding_size]."""
    h: np.ndarray
    """h_i, float [source words, units]; the last one is the summary h_T."""
    target: list[str]
    z: np.ndarray
    """z_i of each target word, float [target words, units]."""
    u: np.ndarray
    """The vector of the word before each, float [target words, embedding_size]."""
    scores: np.ndarray
    """e(k), float [target words, vocabulary_size]."""
    w: np.ndarray
    """w_k, float [vocabulary_size, units]."""
    vocabulary: list[str]
    ids: np.ndarray
    """Of the source words."""
    source_vocabulary_size: int

    @property
    def before(self) -> list[str]:
        """The word before each target word: START first, as `<s>`."""
        return ["<s>", *self.target[:-1]]

    @property
    def p(self) -> np.ndarray:
        """The softmax of the scores."""
        return tf.nn.softmax(self.scores).numpy()


def walk(model: Translator, sentence: str = SENTENCE, longest: int = 30) -> Walk:
    """Translate a sentence greedily, one step after the other, and keep everything.

    Raises:
        UserError: the model is not of the post's form: it has attention, a deep output, another cell or several
            layers, or reads both ways; the sentence has no words.
    """
    c = model.configuration
    require(c.attention == "none", "attention", c.attention, "none, as in the post")
    require(not c.deep_output, "deep_output", True, "false, as in the post")
    require(not c.bidirectional, "bidirectional", True, "false, as in the post")
    require(c.cell == "gru", "cell", c.cell, "gru, as in the post")
    for key in ("encoder_layers", "decoder_layers"):
        require(getattr(c, key) == 1, key, getattr(c, key), "1, as in the post")
    ids = model.source_ids(tf.constant([sentence]))
    if ids.shape[1] == 1:  # END
        raise UserError(f"--sentence {sentence!r}: has no words")
    encoded = model.encoder(ids)
    states, memory = model.decoder.start(encoded)
    before, words, z, u, scores = START, [], [], [], []
    while before != END and len(words) < longest:
        e, states, _ = model.decoder.step(tf.constant([before]), states, memory)
        u.append(model.decoder.E(tf.constant([before]))[0])
        before = int(tf.argmax(e[0]))
        words.append(before)
        z.append(states[-1][0])
        scores.append(e[0])
    size = model.target_tokenizer.vocabulary_size
    return Walk(
        source=_words(model.source_tokenizer, ids[0]),
        s=model.encoder.E(ids)[0].numpy(),
        h=encoded["states"][0].numpy(),
        target=_words(model.target_tokenizer, tf.constant(words)),
        z=np.array(z),
        u=np.array(u),
        scores=np.array(scores),
        w=model.decoder.w.numpy().T,
        vocabulary=_words(model.target_tokenizer, tf.range(size)),
        ids=ids[0].numpy(),
        source_vocabulary_size=model.source_tokenizer.vocabulary_size,
    )


def _words(tokenizer, ids):
    return [word.decode() for word in tokenizer.ids_to_tokens(ids[tf.newaxis]).numpy()[0]]


def _strip(axes: Axes, vector: np.ndarray, scale: float) -> None:
    """A vector as an upright strip of colours."""
    axes.imshow(vector[:, np.newaxis], cmap="PuOr", vmin=-scale, vmax=scale, aspect="auto", interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])


def _strips(figure, rows, titles, words, scales):
    """A row of strips for each matrix [words, size], with the words below."""
    axes = figure.subplots(len(rows), len(words), squeeze=False)
    for row, title, matrix, scale in zip(axes, titles, rows, scales, strict=True):
        row[0].set_ylabel(title, rotation=0, ha="right", va="center")
        for ax, vector in zip(row, matrix, strict=True):
            _strip(ax, vector, scale)
    for ax, word in zip(axes[-1], words, strict=True):
        ax.set_xlabel(word, fontsize=9)
    return axes


@plain_text()
def draw_encoder_decoder(found: Walk) -> Figure:
    """Figures 1, 2, 5 and 7: all vectors from the first source word to the last target word."""
    figure = new_figure(12, 6.8)
    above, below = figure.subfigures(2, 1)
    below.suptitle("encoder: h_i = φ(h_{i−1}, s_i); its last state is the summary h_T", fontsize=11)
    axes = _strips(below, (found.h, found.s), ("h_i", "s_i = E w_i"), found.source, (1.0, np.abs(found.s).max()))
    for spine in axes[0][-1].spines.values():
        spine.set(color=ORANGE, linewidth=3)
    axes[0][-1].set_title("h_T", color=ORANGE, fontsize=10)
    title = "decoder: z_i = φ(h_T, u_{i−1}, z_{i−1}); above, the word written, the most probable; below, the one before"
    above.suptitle(title, fontsize=11)
    summaries = np.repeat(found.h[-1:], len(found.target), axis=0)
    rows, scales = (found.z, summaries, found.u), (1.0, 1.0, np.abs(found.u).max())
    axes = _strips(above, rows, ("z_i", "h_T", "u_{i−1}"), found.before, scales)
    for ax, word, p in zip(axes[0], found.target, found.p.max(axis=1), strict=True):
        ax.set_title(f"{word}\n{p:.2f}", fontsize=9)
    for ax in axes[1]:
        for spine in ax.spines.values():
            spine.set(color=ORANGE, linewidth=2)
    return figure


@plain_text()
def draw_words(found: Walk) -> tuple[Figure, dict[str, float]]:
    """Figures 3 and 4: the words as 1-of-K vectors and as s_i = E w_i, with the distances between them."""
    one_hot = np.eye(found.source_vocabulary_size)[found.ids]
    figure = new_figure(11, 5.6)
    spread = {}
    for row, (name, vectors) in zip(figure.subfigures(2, 1), (("1-of-K", one_hot), ("E w_i", found.s)), strict=True):
        picture, matrix = row.subplots(1, 2, width_ratios=[2.4, 1])
        scale = np.abs(vectors).max()
        picture.imshow(vectors, cmap="PuOr", vmin=-scale, vmax=scale, aspect="auto", interpolation="nearest")
        picture.set_yticks(range(len(found.source)), found.source)
        picture.set_title(f"{name}: {vectors.shape[1]} numbers for each word", fontsize=10)
        distances = np.linalg.norm(vectors[:, np.newaxis] - vectors, axis=-1)
        matrix.imshow(distances, cmap="cividis")
        for (i, j), value in np.ndenumerate(distances):
            matrix.text(
                j, i, f"{value:.1f}", ha="center", va="center", fontsize=7, color="white" if value < 0.8 else "black"
            )
        matrix.set_xticks([])
        matrix.set_yticks(range(len(found.source)), found.source, fontsize=8)
        matrix.set_title("distances", fontsize=10)
        between = distances[~np.eye(len(distances), dtype=bool)]
        spread[name] = float(between.max() - between.min())
    return figure, spread


@plain_text()
def draw_next_word(found: Walk, step: int = 3, seed: int = 1) -> tuple[Figure, dict[str, float]]:
    """Figures 8 and 9: scores, probabilities and draws of one step, counted from 1; and w_k beside z_i.

    Returns:
        The figure, and what it shows: the sums of the probabilities, and the share of draws of the most probable word.
    """
    e, p, z = found.scores[step - 1], found.p[step - 1], found.z[step - 1]
    best = np.argsort(-e)[:10]
    words = [found.vocabulary[k] for k in best]
    drawn = np.random.default_rng(seed).choice(len(p), DRAWS, p=p.astype(np.float64) / p.sum(dtype=np.float64))
    share = np.bincount(drawn, minlength=len(p)) / DRAWS
    similarity = found.w @ z / np.linalg.norm(found.w, axis=1) / np.linalg.norm(z)
    figure = new_figure(12, 3.8)
    scores, probabilities, draws, likeness = figure.subplots(1, 4)
    for axes, values, title, color in (
        (scores, e[best], "scores e(k) = w_kᵀ z_i + b_k", BLUE),
        (probabilities, p[best], "probabilities, softmax", GREEN),
        (draws, share[best], f"share of {DRAWS:,} draws", ORANGE),
    ):
        axes.barh(range(len(best)), values, color=color)
        axes.set_yticks(range(len(best)), words, fontsize=9)
        axes.invert_yaxis()
        axes.set_title(title, fontsize=10)
    likeness.scatter(similarity, e, s=10, color=BLUE)
    place = {"xytext": (-6, -3), "textcoords": "offset points", "ha": "right"}
    likeness.annotate(words[0], (similarity[best[0]], e[best[0]]), fontsize=8, **place)
    likeness.set(xlabel="cosine of w_k and z_i", ylabel="e(k)")
    likeness.set_title("the more alike, the higher", fontsize=10)
    so_far = " ".join(found.target[: step - 1])
    figure.suptitle(f"word {step}, after: {so_far}" if so_far else "the first word", fontsize=11)
    shown = {"sum of p": float(p.sum()), "p": float(p[best[0]]), "drawn": float(share[best[0]])}
    return figure, shown | {"correlation": float(np.corrcoef(similarity, e)[0, 1])}
