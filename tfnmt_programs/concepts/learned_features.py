"""Feature engineering and feature learning: what a network's layers look for, beside edges chosen by hand, on one task.

The same classifier, a multinomial logistic regression, is trained on each kind of feature of the same signs.
"""

import keras
import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, GREEN, new_figure
from tfnmt_programs.concepts.convolutional_network import (
    EXAMPLES,
    TEST_EXAMPLES,
    accuracy,
    feature_maps,
    train,
    trained_network,
)
from tfnmt_programs.concepts.cross_correlation import correlate
from tfnmt_programs.concepts.drawing import show_map
from tfnmt_programs.concepts.pooling import pool
from tfnmt_programs.concepts.signs import SIGNS, some_signs

_SOBEL = np.array([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
_DIAGONAL = np.array([[0.0, 1.0, 2.0], [-1.0, 0.0, 1.0], [-2.0, -1.0, 0.0]])
HAND_MADE = (_SOBEL, _SOBEL.T, _DIAGONAL, _DIAGONAL[:, ::-1])
"""Edge detectors for four directions (Sobel)."""


def edge_strengths(pictures: np.ndarray) -> np.ndarray:
    """Hand-made features: how strong edges of each direction are on average in each of 6×6 areas of 5×5 pixels.

    float [examples, 32, 32, 1] → [examples, 6 · 6 · 4].
    """
    return np.stack(
        [
            np.stack([pool(np.abs(correlate(picture[:, :, 0], kernel)), 5, np.mean) for kernel in HAND_MADE]).ravel()
            for picture in pictures
        ]
    )


def features(model: keras.Model, pictures: np.ndarray) -> dict[str, np.ndarray]:
    """Each kind of feature of the pictures, by name: [examples, features] each."""
    maps = feature_maps(model, pictures)
    return {
        "the pixels": pictures.reshape(len(pictures), -1),
        "hand-made edges": edge_strengths(pictures),
        "learned, layer 1": maps["pooled_1"].reshape(len(pictures), -1),
        "learned, layer 2": maps["pooled_2"].reshape(len(pictures), -1),
    }


def regression_accuracy(
    x: np.ndarray, labels: np.ndarray, test_x: np.ndarray, test_labels: np.ndarray, epochs: int = 20
) -> float:
    """The share of test examples that a multinomial logistic regression on x [examples, features] gets right."""
    mean, scale = x.mean(axis=0), x.std() + 1e-6
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input(x.shape[1:]), keras.layers.Dense(len(SIGNS), activation="softmax")])
    train(model, (x - mean) / scale, labels, epochs)
    return accuracy(model, (test_x - mean) / scale, test_labels)


def what_excites(
    model: keras.Model, pictures: np.ndarray, layer: str, patch: int, stride: int, count: int = 20
) -> np.ndarray:
    """The mean of the patches of pictures that a layer's units answer most to: [maps, patch, patch].

    Args:
        layer: the layer's name.
        patch, stride: how many pixels a unit sees, and how far apart two units' views begin.
        count: how many patches, each from another picture.
    """
    answers = feature_maps(model, pictures)[layer]
    seen = []
    for k in range(answers.shape[-1]):
        greatest = answers[..., k].max(axis=(1, 2))
        patches = []
        for i in greatest.argsort()[-count:]:
            place = np.unravel_index(answers[i, ..., k].argmax(), answers.shape[1:3])
            row, column = (int(n) * stride for n in place)
            patches.append(pictures[i, row : row + patch, column : column + patch, 0])
        seen.append(np.mean(patches, axis=0))
    return np.stack(seen)


def show() -> tuple[Figure, str]:
    """Kernels made by hand and learned, what layer 2 answers to, each class; how far each kind of feature gets."""
    model = trained_network()
    pictures, labels = some_signs(EXAMPLES, seed=1)
    test_pictures, test_labels = some_signs(TEST_EXAMPLES, seed=2)
    figure = new_figure(11, 4.4)
    kinds, score = figure.subfigures(1, 2, width_ratios=[2.1, 1])
    first, *rows = kinds.subfigures(3, 1)
    by_hand, learned = first.subfigures(1, 2)
    kernels = np.moveaxis(model.get_layer("kernels_1").kernel.numpy()[:, :, 0], -1, 0)
    sure = feature_maps(model, pictures)["classes"].argsort(axis=0)[-20:]  # of each class, the pictures surest to be it
    _row(by_hand, HAND_MADE, "hand-made: four edge kernels, 3 × 3", 5, signed=True)
    _row(learned, kernels, "learned, layer 1: four kernels, 5 × 5", 5, signed=True)
    seen = what_excites(model, pictures, "kernels_2", patch=14, stride=2)
    _row(rows[0], seen, "learned, layer 2: mean of the patches, 14 × 14, that each of ten kernels answers most to")
    means = [pictures[sure[:, k], :, :, 0].mean(axis=0) for k in range(len(SIGNS))]
    _row(rows[1], means, "last layer: mean of the pictures that it is surest of, 32 × 32")

    both = features(model, pictures), features(model, test_pictures)
    right = {name: regression_accuracy(x, labels, both[1][name], test_labels) for name, x in both[0].items()}
    bars = score.subplots()
    bars.barh(list(right), list(right.values()), color=[GREEN if "learned" in name else BLUE for name in right])
    for i, value in enumerate(right.values()):
        bars.text(value - 0.02, i, f"{value:.1%}", ha="right", va="center", color="white")
    bars.set(xlim=(0, 1), xlabel="new signs that are right", title="logistic regression on")
    bars.invert_yaxis()
    return figure, "; ".join(f"{name}: {value:.1%}" for name, value in right.items())


def _row(figure, maps, title, columns=10, signed=False):
    figure.suptitle(title, fontsize=10, x=0.02, ha="left")
    axes = figure.subplots(1, columns)
    for ax in axes[len(maps) :]:
        ax.axis("off")
    for ax, values in zip(axes, maps, strict=False):
        show_map(ax, values, "", signed)
