"""The convolution theorem: under the Fourier transform, convolution is a mere product of numbers.

F(f ∗ g) = F(f) · F(g), so f ∗ g = F⁻¹(F(f) · F(g)): three transforms, however large the kernel is.
"""

import functools

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure

from tfnmt.inspection.figures import BLUE, ORANGE, new_figure
from tfnmt_programs.concepts.convolution import EDGES
from tfnmt_programs.concepts.drawing import house, show_map
from tfnmt_programs.measuring import least_seconds


def convolve_fourier(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """`convolve`, computed as F⁻¹(F(f) · F(g)). Shapes as there; where the ends wrap around is cut off."""
    spectrum = np.fft.rfft2(image) * np.fft.rfft2(kernel, image.shape)
    around = np.fft.irfft2(spectrum, image.shape)
    return around[kernel.shape[0] - 1 :, kernel.shape[1] - 1 :]


def direct_multiplications(size: int, kernel_size: int | np.ndarray) -> int | np.ndarray:
    """Of `convolve` for a square image: (size − kernel_size + 1)² places, kernel_size² each."""
    return (size - kernel_size + 1) ** 2 * kernel_size**2


def fourier_multiplications(size: int) -> int:
    """Of `convolve_fourier` for a square image whose size is a power of 2, by the radix-2 transform.

    With n = size² numbers a transform takes n/2 log₂ n complex products of 4 real ones each; for real numbers half
    of that. There are three, and the spectra's product takes n/2 complex products more.
    """
    n = size**2
    return round(3 * n * np.log2(n) + 2 * n)


def faster_from(size: int) -> int | None:
    """The least kernel size for which the Fourier form needs fewer multiplications; None if there is none."""
    kernels = range(1, size + 1)
    return next((k for k in kernels if fourier_multiplications(size) < direct_multiplications(size, k)), None)


def measured_faster_from(size: int) -> int | None:
    """The least of some kernel sizes for which TensorFlow's transforms beat its convolution here, or None.

    One image and one kernel, float32, by the clock: what the machine and the library make of it, beside the count.
    """
    random = np.random.default_rng(1)
    image = tf.constant(random.normal(size=(size, size)), tf.float32)
    for kernel_size in (3, 5, 7, 9, 11, 15, 21, 31):
        kernel = tf.constant(random.normal(size=(kernel_size, kernel_size)), tf.float32)
        functions = (functools.partial(function, image, kernel) for function in (_fourier, _direct))
        fourier, direct = (least_seconds(function, times=10) for function in functions)
        if fourier < direct:
            return kernel_size
    return None


@tf.function
def _direct(image, kernel):
    return tf.nn.conv2d(image[tf.newaxis, :, :, tf.newaxis], kernel[:, :, tf.newaxis, tf.newaxis], 1, "VALID")


@tf.function
def _fourier(image, kernel):
    spectrum = tf.signal.rfft2d(image) * tf.signal.rfft2d(kernel, tf.shape(image))
    return tf.signal.irfft2d(spectrum, tf.shape(image))


def show() -> tuple[Figure, str]:
    """A picture's and a kernel's spectrum, and the multiplications of both forms by the kernel's size."""
    picture, size = house(128), 256
    figure = new_figure(11, 3.6)
    spectrum, response, count = figure.subplots(1, 3, width_ratios=[1, 1, 1.4])
    for axes, values, title in (
        (
            spectrum,
            np.log(np.abs(np.fft.fft2(picture)) + 1e-2),
            "a picture's spectrum (logarithm):\nslow changes in the middle",
        ),
        (response, np.abs(np.fft.fft2(EDGES, picture.shape)), "the edge kernel's:\nonly fast changes pass"),
    ):
        show_map(axes, np.fft.fftshift(values), title)
    kernels, limit = np.arange(1, 32), faster_from(size)
    count.plot(kernels, direct_multiplications(size, kernels) / 1e6, color=BLUE, label="direct")
    count.axhline(fourier_multiplications(size) / 1e6, color=ORANGE, linestyle="--", label="Fourier")
    count.axvline(limit, color="grey", linestyle=":", linewidth=1)
    count.text(limit + 0.4, 0.1, f"from {limit} × {limit} on Fourier needs fewer", fontsize=9)
    count.set(yscale="log", xlabel="rows and columns of the kernel", ylabel="million multiplications")
    count.set_title(f"one {size} × {size} image", fontsize=10)
    count.grid(alpha=0.3)
    count.legend()
    measured = measured_faster_from(size)
    clock = f"from {measured} × {measured}" if measured else "at no size tried"
    return figure, f"Fourier is faster from {limit} × {limit} by multiplications, by this machine's clock {clock}"
