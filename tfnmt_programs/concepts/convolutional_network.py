"""The post's Figure 5: a small convolutional network that tells traffic signs apart.

    4 kernels of 5×5 → greatest of 2×2 → 10 kernels of 5×5 → greatest of 2×2 → fully connected, softmax

The last layer is a multinomial logistic regression on features that the layers below have learned.
"""

import functools
import itertools

import keras
import numpy as np
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, new_figure
from tfnmt_programs.concepts.drawing import show_map
from tfnmt_programs.concepts.signs import SIGNS, SIZE, draw_signs, some_signs

EXAMPLES, TEST_EXAMPLES = 3000, 600


def sign_network(seed: int = 1) -> keras.Sequential:
    """Figure 5 as a Keras model: float [batch, 32, 32, 1] → probabilities [batch, 6]."""
    keras.utils.set_random_seed(seed)
    layers = keras.layers
    # Rectifiers that answer to everything at first die less often.
    options = {"activation": "relu", "bias_initializer": keras.initializers.Constant(0.3)}
    return keras.Sequential(
        [
            keras.Input((SIZE, SIZE, 1)),
            layers.Conv2D(4, 5, name="kernels_1", **options),  # [batch, 28, 28, 4]
            layers.MaxPooling2D(2, name="pooled_1"),  # [batch, 14, 14, 4]
            layers.Conv2D(10, 5, name="kernels_2", **options),  # [batch, 10, 10, 10]
            layers.MaxPooling2D(2, name="pooled_2"),  # [batch, 5, 5, 10]
            layers.Flatten(),
            layers.Dense(len(SIGNS), activation="softmax", name="classes"),
        ]
    )


def train(model: keras.Model, pictures: np.ndarray, labels: np.ndarray, epochs: int = 10) -> keras.Model:
    """Fit by Adam on the cross-entropy, 32 pictures at once. Returns the model."""
    model.compile(keras.optimizers.Adam(0.004), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(pictures, labels, batch_size=32, epochs=epochs, verbose=0)
    return model


def accuracy(model: keras.Model, pictures: np.ndarray, labels: np.ndarray) -> float:
    """The share of pictures whose most probable sign is the right one."""
    return float(np.mean(model.predict(pictures, verbose=0).argmax(axis=1) == labels))


def feature_maps(model: keras.Model, pictures: np.ndarray) -> dict[str, np.ndarray]:
    """What every convolution, pooling and the last layer gives: {layer's name: [examples, rows, columns, maps]}."""
    names = [layer.name for layer in model.layers if not isinstance(layer, keras.layers.Flatten)]
    inside = keras.Model(model.inputs, {name: model.get_layer(name).output for name in names})
    return {name: np.asarray(values) for name, values in inside.predict(pictures, verbose=0).items()}


def dead_units(model: keras.Model, pictures: np.ndarray) -> int:
    """How many of the kernels answer 0 everywhere in all pictures: the gradient no longer changes them."""
    maps = feature_maps(model, pictures)
    return sum(int(np.sum(maps[name].max(axis=(0, 1, 2)) == 0)) for name in ("kernels_1", "kernels_2"))


@functools.cache
def trained_network() -> keras.Model:
    """The network after training on drawn signs, for the pictures; of the first seed that leaves no kernel dead."""
    pictures, labels = some_signs(EXAMPLES, seed=1)
    networks = (train(sign_network(seed), pictures, labels) for seed in itertools.count(1))
    return next(network for network in networks if not dead_units(network, pictures))


def show() -> tuple[Figure, str]:
    """A sign's way through the trained network."""
    model = trained_network()
    sign = SIGNS.index("warning")
    picture = draw_signs([sign], seed=2, noise=0.08)
    maps = feature_maps(model, picture)

    figure = new_figure(11, 4.6)
    columns = figure.subfigures(1, 6, width_ratios=[1.3, 0.72, 0.6, 1.15, 0.95, 2.0])
    show_map(columns[0].subplots(), picture[0, :, :, 0], "a drawn sign\n32 × 32")
    for column, name, shape, title in (
        (columns[1], "kernels_1", (4, 1), "4 kernels 5 × 5\n28 × 28"),
        (columns[2], "pooled_1", (4, 1), "pooled\n14 × 14"),
        (columns[3], "kernels_2", (5, 2), "10 kernels 5 × 5\n10 × 10"),
        (columns[4], "pooled_2", (5, 2), "pooled\n5 × 5"),
    ):
        column.suptitle(title, fontsize=10)
        for axes, values in zip(column.subplots(*shape).ravel(), np.moveaxis(maps[name][0], -1, 0), strict=True):
            show_map(axes, values, "")
    bars = columns[5].subplots()
    bars.barh(SIGNS, maps["classes"][0], color=BLUE)
    bars.set(xlim=(0, 1), xlabel="probability", title="fully connected")
    bars.invert_yaxis()
    right = accuracy(model, *some_signs(TEST_EXAMPLES, seed=2))
    return figure, f"{right:.1%} of {TEST_EXAMPLES} new signs right, {model.count_params():,} weights"
