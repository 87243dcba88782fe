"""Optimizers at a saddle point: which of them leave it, and on which path (Cho 2015, part 2, Figure 10).

f(x, y) = (x² − y²) / 2 rises along x and falls along y; at (0, 0) its gradient is 0. All start high on the ridge,
almost exactly above the saddle, so that the gradient leads straight to it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from tfnmt.inspection.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, new_figure, save

START = (-1.5, 0.001)
FRAMES = 48
STYLES = {
    "SGD": (BLACK, "o"),
    "momentum": (BLUE, "s"),
    "Nesterov": (SKY, "P"),
    "Adagrad": (RED, "X"),
    "Adadelta": (ORANGE, "^"),
    "Adam": (GREEN, "D"),
    "RMSprop": (PURPLE, "v"),
}


def height(x: ArrayLike, y: ArrayLike) -> ArrayLike:
    """f(x, y) = (x² − y²) / 2, of numbers or arrays."""
    return (x * x - y * y) / 2


def optimizers(rate: float, adaptive_rate: float) -> dict[str, keras.optimizers.Optimizer]:
    """Anew, by name, with these learning rates; Adadelta with the constants of its paper, which has none."""
    return {
        "SGD": keras.optimizers.SGD(rate),
        "momentum": keras.optimizers.SGD(rate, momentum=0.9),
        "Nesterov": keras.optimizers.SGD(rate, momentum=0.9, nesterov=True),
        "Adagrad": keras.optimizers.Adagrad(adaptive_rate),
        "Adadelta": keras.optimizers.Adadelta(1.0, rho=0.95, epsilon=1e-6),
        "Adam": keras.optimizers.Adam(adaptive_rate),
        "RMSprop": keras.optimizers.RMSprop(adaptive_rate),
    }


def descend(
    optimizer: keras.optimizers.Optimizer,
    steps: int,
    start: tuple[float, float] = START,
    loss_at: Callable = lambda x, y, step: height(x, y),
) -> np.ndarray:
    """The path of a Keras optimizer down `loss_at(x, y, step)`: float [steps + 1, 2], from `start`."""
    point = keras.Variable(np.array(start, np.float32))
    optimizer.build([point])

    @tf.function(autograph=False)
    def step(number):
        with tf.GradientTape() as tape:
            loss = loss_at(point.value[0], point.value[1], number)
        optimizer.apply_gradients([(tape.gradient(loss, point.value), point)])

    path = [point.numpy()]
    for number in range(steps):
        step(tf.constant(number))
        path.append(point.numpy())
    return np.stack(path)


def escape_step(path: np.ndarray, distance: float = 1.0) -> int | None:
    """After how many steps |y| is first that distance or more; None if it never is."""
    beyond = np.abs(path[:, 1]) >= distance
    return int(beyond.argmax()) if beyond.any() else None


def paths(steps: int = 400) -> dict[str, np.ndarray]:
    """The path of each optimizer by name, all but Adadelta with the same learning rate."""
    return {name: descend(optimizer, steps) for name, optimizer in optimizers(0.02, 0.02).items()}


def draw_saddle(paths: Mapping[str, np.ndarray]) -> Figure:
    """A figure of the paths on the surface, and of how far from the saddle they are at each step."""
    figure, surface, progress, _ = _new_drawing(paths)
    for name, path in paths.items():
        color, marker = STYLES[name]
        left = escape_step(path)
        label = f"{name}: y = 1 after {left} steps" if left else f"{name}: y = {path[-1, 1]:.2f} at the end"
        options = {"color": color, "linewidth": 2, "marker": marker, "markersize": 5, "markevery": 10}
        surface.plot(*path.T, label=name, **options)
        progress.plot(path[:, 1], label=label, **options | {"markevery": 0.1})
    progress.legend(fontsize=9, loc="upper left")
    return figure


def animate_saddle(paths: Mapping[str, np.ndarray], file: str | Path) -> None:
    """Write the paths as an animated picture (.gif) of `FRAMES` frames, each some steps on."""
    figure, surface, progress, steps = _new_drawing(paths)
    lines = {}
    for name in paths:
        color, marker = STYLES[name]
        trail = surface.plot([], [], color=color, linewidth=2)[0]
        head = surface.plot([], [], marker, color=color, markersize=9)[0]
        lines[name] = trail, head, progress.plot([], [], color=color, linewidth=2, label=name)[0]
    progress.legend(fontsize=9, loc="upper left")

    def update(frame):
        step = round((steps + 1) ** (frame / (FRAMES - 1))) - 1  # slowly at first, as the axis of the steps
        for name, (trail, head, line) in lines.items():
            so_far = paths[name][: step + 1]
            trail.set_data(*so_far.T)
            head.set_data(*so_far[-1:].T)
            line.set_data(np.arange(len(so_far)), so_far[:, 1])
        progress.set_title(f"step {step}", fontsize=10)

    FuncAnimation(figure, update, FRAMES).save(file, PillowWriter(fps=8), dpi=70)


def write_saddle(file: str | Path, steps: int = 400) -> dict[str, int | None]:
    """Draw the paths of all optimizers to .png, .svg or .gif. Returns {name: steps until it has left, or None}."""
    found = paths(steps)
    if str(file).endswith(".gif"):
        animate_saddle(found, file)
    else:
        save(draw_saddle(found), file)
    return {name: escape_step(path) for name, path in found.items()}


def _new_drawing(paths):
    """The empty drawing: figure, surface, progress, and how many steps there are."""
    figure = new_figure(10.5, 4.4)
    surface, progress = figure.subplots(1, 2)
    grid = np.linspace(-1.7, 1.7, 69)
    x, y = np.meshgrid(grid, grid)
    levels = surface.contour(x, y, height(x, y), np.arange(-1.25, 1.3, 0.25), cmap="cividis", linewidths=1)
    surface.clabel(levels, fontsize=7)
    surface.plot(0, 0, "x", color="black", markersize=10)
    surface.annotate("saddle", (0, 0), (0.15, -0.35), fontsize=9)
    surface.set(xlim=(-1.7, 1.7), ylim=(-0.7, 1.7), xlabel="x", ylabel="y", title="heights (x² − y²) / 2")
    steps = len(next(iter(paths.values()))) - 1
    progress.set(xscale="symlog", xlim=(0, steps), ylim=(-0.1, 1.6), xlabel="steps", ylabel="y, the way out")
    progress.set_xticks([0, 1, 10, 100, steps], ["0", "1", "10", "100", str(steps)])
    progress.grid(alpha=0.3)
    return figure, surface, progress, steps
