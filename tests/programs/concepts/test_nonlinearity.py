import numpy as np

from tfnmt_programs.concepts.nonlinearity import POINTS, bend, chain, distances

RANDOM = np.random.default_rng(1)


def test_the_pairs_lie_alike_close_together_and_far_apart():
    a1, a2, b1, b2 = POINTS
    np.testing.assert_allclose(a2 - a1, b2 - b1, atol=1e-15)
    to_a2, to_b1, to_b2 = distances(POINTS)
    assert 4 * to_a2 < min(to_b1, to_b2)


def test_no_affine_map_brings_b1_near_and_leaves_b2_far():
    for size in (1, 2, 5):
        images = POINTS @ RANDOM.normal(size=(1000, 2, size)) + RANDOM.normal(size=(1000, 1, size))
        to_a2, to_b1, to_b2 = np.moveaxis(distances(images), -1, 0)
        assert (to_b2 <= to_a2 + to_b1 + 1e-9).all()


def test_one_layer_does():
    to_a2, to_b1, to_b2 = distances(bend(POINTS))
    assert to_a2 == to_b1 == 0 and to_b2 > 2


def test_a_thousand_linear_layers_are_one():
    matrices = [np.linalg.qr(RANDOM.normal(size=(2, 2)))[0] for _ in range(1000)]
    x = POINTS
    for matrix in matrices:
        x = x @ matrix
    np.testing.assert_allclose(x, POINTS @ chain(matrices), atol=1e-12)
