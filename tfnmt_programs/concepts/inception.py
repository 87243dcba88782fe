"""Inception: 1×1 convolutions make many feature maps few, so that the larger kernels after them are cheap.

Szegedy et al. 2015, "Going Deeper with Convolutions".
"""

from collections.abc import Sequence

import keras
import tensorflow as tf
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from tfnmt.inspection.figures import BLUE, ORANGE, SKY, new_figure
from tfnmt_programs.measuring import least_seconds

SIZE, MAPS, REDUCED = 28, 192, 64
"""192 feature maps of 28×28, reduced to 64: the post's example."""
LARGE = 5
"""Rows and columns of its large kernels."""

BRANCHES = (
    (("1 × 1", 64),),
    (("1 × 1", 96), ("3 × 3", 128)),
    (("1 × 1", 16), ("5 × 5", 32)),
    (("pooling", None), ("1 × 1", 32)),
)
"""An inception module: in each branch, the kernels' sizes and how many there are (GoogLeNet's first module)."""


def multiplications(size: int, maps: int, kernels: int, kernel_size: int) -> int:
    """Of a convolution that keeps the maps' size: size² places × kernel_size² × maps in × maps out."""
    return size**2 * kernel_size**2 * maps * kernels


def directly() -> int:
    """Multiplications of 64 large kernels on all 192 maps."""
    return multiplications(SIZE, MAPS, REDUCED, LARGE)


def reduced_first() -> tuple[int, int]:
    """Of the 1×1 kernels that make 64 maps of all, and of the large kernels on those."""
    return multiplications(SIZE, MAPS, REDUCED, 1), multiplications(SIZE, REDUCED, REDUCED, LARGE)


def inception_module(maps: int, branches: Sequence[Sequence[tuple[str, int | None]]] = BRANCHES) -> keras.Model:
    """The module as a Keras model: [batch, rows, columns, maps] → the branches' maps, side by side."""
    inputs = keras.Input((None, None, maps))
    outputs = []
    for branch in branches:
        x = inputs
        for kind, kernels in branch:
            if kind == "pooling":
                x = keras.layers.MaxPooling2D(3, strides=1, padding="same")(x)
            else:
                x = keras.layers.Conv2D(kernels, int(kind[0]), padding="same", activation="relu")(x)
        outputs.append(x)
    return keras.Model(inputs, keras.layers.Concatenate()(outputs))


def measured_ratio() -> float:
    """How many times as long the large kernels take on all maps as behind the 1×1 reduction, on this machine."""
    options = {"padding": "same", "use_bias": False}
    reduction = [keras.layers.Conv2D(REDUCED, 1, **options), keras.layers.Conv2D(REDUCED, LARGE, **options)]
    x = tf.random.stateless_normal([8, SIZE, SIZE, MAPS], seed=[1, 1])
    return _seconds([keras.layers.Conv2D(REDUCED, LARGE, **options)], x) / _seconds(reduction, x)


def _seconds(layers, x):
    @tf.function
    def run(x):
        for layer in layers:
            x = layer(x)
        return x

    return least_seconds(lambda: run(x), times=5)


def show() -> tuple[Figure, str]:
    """The module, and what the reduction spares."""
    direct, (reduction, large) = directly(), reduced_first()
    total = reduction + large
    figure = new_figure(10.5, 4)
    module, bars = figure.subplots(1, 2, width_ratios=[1.5, 1])
    _draw_module(module)
    bars.bar(0, direct / 1e6, color=ORANGE, label="5 × 5")
    bars.bar(1, reduction / 1e6, color=BLUE, label="1 × 1")
    bars.bar(1, large / 1e6, bottom=reduction / 1e6, color=ORANGE)
    for place, value in ((0, direct), (1, total)):
        bars.text(place, value / 1e6 + 3, f"{value / 1e6:.1f}", ha="center")
    bars.set_xticks([0, 1], [f"{MAPS} maps →\n{REDUCED} maps", f"{MAPS} maps →\n{REDUCED} → {REDUCED} maps"])
    bars.set(ylabel="million multiplications", title=f"maps of {SIZE} × {SIZE}", ylim=(0, 285))
    bars.legend()
    return figure, (
        f"{direct / 1e6:.1f} million multiplications without the 1×1 reduction, {total / 1e6:.1f} with it:"
        f" {direct / total:.2f} times; by this machine's clock {measured_ratio():.2f} times"
    )


def _draw_module(axes):
    def box(x, y, text, color):
        shape = FancyBboxPatch((x - 0.42, y - 0.2), 0.84, 0.4, boxstyle="round,pad=0.02", facecolor=color, alpha=0.6)
        axes.add_patch(shape)
        axes.text(x, y, text, ha="center", va="center", fontsize=9)

    def arrow(start, end):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "grey"})

    total = sum(branch[-1][1] for branch in BRANCHES)
    box(1.5, 0, f"{MAPS} maps", "white")
    box(1.5, 3.6, f"{total} maps", "white")
    for column, branch in enumerate(BRANCHES):
        heights = (1.2, 2.4) if len(branch) == 2 else (1.8,)
        x = column if len(branch) == 2 else column - 0.25  # aside, out of the other arrows' way
        door = 1.5 + 0.25 * (column - 1.5)
        for height, (kind, kernels) in zip(heights, branch, strict=True):
            color = {"1 × 1": SKY, "pooling": "lightgrey"}.get(kind, ORANGE)
            box(x, height, kind if kernels is None else f"{kind}\n{kernels} kernels", color)
        arrow((door, 0.25), (x, heights[0] - 0.25))
        for lower, upper in zip(heights, heights[1:], strict=False):
            arrow((x, lower + 0.25), (x, upper - 0.25))
        arrow((x, heights[-1] + 0.25), (door, 3.35))
    axes.set(xlim=(-0.8, 3.6), ylim=(-0.3, 3.9))
    axes.set_title("an inception module", fontsize=10)
    axes.axis("off")
