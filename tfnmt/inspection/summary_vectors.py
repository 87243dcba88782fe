"""Do similar sentences lie close together? Summary vectors in two dimensions (Cho 2015, part 2, Figure 6)."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from tfnmt.data.lines import read_lines
from tfnmt.errors import UserError
from tfnmt.inspection.figures import color_and_marker, new_figure, plain_text
from tfnmt.translation.translator import Translator

PARAPHRASES = (
    (
        "a man is riding a bike down the street .",
        "a man rides his bicycle along a road .",
        "a guy on a bicycle is going down a street .",
        "down the street , a man is riding a bike .",
    ),
    (
        "two dogs are playing in the snow .",
        "a pair of dogs plays in the snow .",
        "two dogs run and play outside in the snow .",
        "in the snow , two dogs are playing .",
    ),
    (
        "a woman is cooking food in a kitchen .",
        "a lady prepares a meal in the kitchen .",
        "in a kitchen , a woman is making some food .",
        "a woman stands in a kitchen and cooks .",
    ),
    (
        "a group of people is sitting at a table in a restaurant .",
        "several people sit around a restaurant table .",
        "at a table in a restaurant , some people are sitting .",
        "people are seated together at a table in a restaurant .",
    ),
    (
        "a child jumps into a swimming pool .",
        "a kid is jumping into the pool .",
        "a little child leaps into a pool of water .",
        "into a swimming pool jumps a young child .",
    ),
    (
        "a young man plays the guitar on stage .",
        "on a stage , a young man is playing guitar .",
        "a guitarist , a young man , performs on stage .",
        "a young guy is on stage playing a guitar .",
    ),
)
"""Groups of paraphrases in the style of Multi30k: what is drawn if no file is given."""


def read_groups(path: str | Path) -> tuple[tuple[str, ...], ...]:
    """Groups of sentences from a file: one sentence a line, an empty line between groups.

    Raises:
        UserError: there are not two groups of two sentences or more.
    """
    lines = [line.strip() for line in read_lines(path)]
    groups = tuple(tuple(group) for is_text, group in itertools.groupby(lines, bool) if is_text)
    if len(groups) < 2 or min(len(group) for group in groups) < 2:
        raise UserError(f"{path}: holds no two groups of two sentences or more; an empty line separates groups")
    return groups


def summary_vectors(model: Translator, texts: Sequence[str], batch_size: int = 64) -> np.ndarray:
    """The encoder's summary h_T of each text, float [texts, size]."""
    batches = [texts[i : i + batch_size] for i in range(0, len(texts), batch_size)]
    return np.concatenate([model.encoder(model.source_ids(tf.constant(b)))["summary"].numpy() for b in batches])


def principal_components(vectors: np.ndarray, count: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """The directions in which vectors vary most, by their singular values.

    Args:
        vectors: float [examples, size].

    Returns:
        (projected [examples, count], explained [count]): the vectors along those directions, and the share of the
        variance that each direction explains.

    Raises:
        UserError: all vectors are equal.
    """
    if (vectors == vectors[0]).all():
        raise UserError("all sentences are the same to the model; their words may not be in its vocabulary")
    centred = vectors - vectors.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    variance = singular**2
    return left[:, :count] * singular[:count], variance[:count] / variance.sum()


def group_figures(vectors: np.ndarray, groups: ArrayLike) -> dict[str, float]:
    """How near the vectors of a group are to one another, compared with all others, by Euclidean distance.

    Args:
        vectors: float [examples, size].
        groups: the group of each, int [examples]; each group has two members or more.

    Returns:
        A dictionary: "mean_rank" of the own group's members among all others of each vector, in order of distance;
        "best_rank" and "chance_rank", what it would be if they came first, and if the order were random;
        "nearest_in_group", the share of vectors whose nearest is of their group, and "chance_nearest"; and the mean
        "silhouette" (Rousseeuw 1987), (b − a) / max(a, b) of the mean distances a within the group and b to the
        nearest other group.
    """
    groups = np.asarray(groups)
    distances = np.linalg.norm(vectors[:, np.newaxis] - vectors, axis=-1)
    ranks, best, nearest, silhouettes = [], [], [], []
    for i, group in enumerate(groups):
        others = np.flatnonzero(np.arange(len(groups)) != i)
        own = groups[others[distances[i, others].argsort(kind="stable")]] == group
        ranks.append(np.flatnonzero(own).mean() + 1)
        best.append((own.sum() + 1) / 2)
        nearest.append(own[0])
        to_group = {g: distances[i, others[groups[others] == g]].mean() for g in set(groups)}
        a = to_group.pop(group)
        b = min(to_group.values())
        silhouettes.append((b - a) / max(a, b) if max(a, b) else 0.0)
    return {
        "mean_rank": float(np.mean(ranks)),
        "best_rank": float(np.mean(best)),
        "chance_rank": len(groups) / 2,
        "nearest_in_group": float(np.mean(nearest)),
        "chance_nearest": float(np.mean([(groups == group).sum() - 1 for group in groups])) / (len(groups) - 1),
        "silhouette": float(np.mean(silhouettes)),
    }


@plain_text()
def draw_summary_vectors(projected: np.ndarray, explained: Sequence[float], groups: Sequence[Sequence[str]]) -> Figure:
    """A figure of projected vectors [examples, 2], coloured by group. The examples are the groups' texts in order."""
    names = [_shortened(group[0]) for group in groups]
    ncols = 2 if max(map(len, names)) <= 65 else 1  # of the legend, which is as wide as the figure
    figure = new_figure(9, max(6, 4 + 0.17 * len(names) / ncols))
    axes = figure.add_subplot()
    first, handles = 0, []
    for i, group in enumerate(groups):
        points = projected[first : first + len(group)]
        first += len(group)
        color, marker = color_and_marker(i)
        handles.append(axes.scatter(*points.T, color=color, marker=marker, s=60))
        centre = points.mean(axis=0)
        for point in points:
            axes.plot(*zip(centre, point, strict=True), color=color, linewidth=0.8, alpha=0.6)
    axes.set_xlabel(f"first principal component ({explained[0]:.0%} of the variance)")
    axes.set_ylabel(f"second principal component ({explained[1]:.0%} of the variance)")
    figure.legend(
        handles,
        names,  # given, since a label that begins with _ would be left out
        loc="outside lower center",
        ncols=ncols,
        fontsize=8,
        title="each group says the same; its first sentence:",
    )
    return figure


def _shortened(sentence, length=130):
    return sentence if len(sentence) <= length else f"{sentence[: length - 1]}…"
