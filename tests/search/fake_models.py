"""A small random model, and in plain Python all that it can write."""

import itertools

import numpy as np
import tensorflow as tf

from tfnmt.search.step import NEG_INF

START, END, VOCABULARY = 1, 2, 4  # what is written are the words 0, 1 and 3: even the first two mean nothing here
PLACES = 3  # that attention is paid to
PATHS = 997


class FakeModel:
    """log p(next word | sentence, all words before) and the attention with it, from random tables.

    The sentence is the memory; all words before are the digits of a number, modulo `PATHS`. A step auxiliary it and the
    sentence, so that a test sees where each note came from.
    """

    def __init__(self, seed, sharpness=1.0, vocabulary_size=VOCABULARY, sentences=3):
        random = np.random.default_rng(seed)
        e = sharpness * random.normal(size=[sentences, PATHS, vocabulary_size])
        self.log_p = (e - np.log(np.exp(e).sum(axis=-1, keepdims=True))).astype(np.float32)
        self.attention = random.dirichlet([1.0] * PLACES, size=[sentences, PATHS]).astype(np.float32)

    def step(self, ids, states, sentence):
        (path,) = states["words"]
        path = (10 * path + ids) % PATHS
        sentences = tf.repeat(self.memory(sentence), tf.size(ids) // tf.maximum(tf.size(sentence), 1))
        at = tf.stack([sentences, path], axis=1)
        auxiliary = {"attention": tf.gather_nd(self.attention, at), "origin": (at, path)}
        return tf.gather_nd(self.log_p, at), {"words": (path,)}, auxiliary

    def states(self, sentences):
        return {"words": (tf.zeros_like(self.memory(sentences)),)}

    @staticmethod
    def memory(sentences):
        return tf.cast(sentences, tf.int64)

    @staticmethod
    def path(words):
        """Where the tables tell of what comes after `words`."""
        return int("".join(map(str, (START, *words)))) % PATHS

    def of_words(self, sentence, words, maximum_length):
        """log p of each word and, if it is written, of END; and the attention at each, END in any case."""
        paths = [self.path(words[:i]) for i in range(len(words) + 1)]
        written = [*words, END] if len(words) < maximum_length else words
        log_p = [self.log_p[sentence, path, word] for path, word in zip(paths, written, strict=False)]
        return np.array(log_p, np.float64), self.attention[sentence, paths]

    def all_results(
        self, sentence, maximum_length, score=lambda log_p, attention: log_p.sum(), allowed=lambda words: True
    ):
        """(score, words) of all sequences, or of those that are allowed, best first."""
        others = [word for word in range(self.log_p.shape[-1]) if word != END]
        sequences = [s for n in range(maximum_length + 1) for s in itertools.product(others, repeat=n)]
        results = [(score(*self.of_words(sentence, s, maximum_length)), s) for s in filter(allowed, sequences)]
        return sorted(results, reverse=True)

    def check_auxiliary(self, found, sentences):
        """Every word's auxiliary are those of its sentence and of the words before it."""
        of_path, path_again = found.auxiliary["origin"]
        for place, n in np.ndindex(*found.lengths.shape):
            words = words_of(found, place, n)
            for i in range(len(words)):
                at, sentence, path = (place, n, i), sentences[place], self.path(words[:i])
                assert (of_path[at] == (sentence, path)).all()
                assert path_again[at] == path
                assert (found.auxiliary["attention"][at] == self.attention[sentence, path]).all()


def in_numpy(found):
    """Results as arrays, once they are seen to be well formed: no END, 0 after the last word, the best first."""
    found = tf.nest.map_structure(lambda x: x.numpy(), found)
    after = np.arange(found.ids.shape[2]) >= found.lengths[..., np.newaxis]
    assert (found.ids != END).all()
    assert (np.diff(found.scores, axis=1) <= 0).all()
    for x in (found.ids, *tf.nest.flatten(found.auxiliary)):
        assert x.shape[:3] == found.ids.shape
        assert not x[after].any()
    not_found = found.scores == NEG_INF
    assert (found.log_probabilities[not_found] == NEG_INF).all()
    assert (found.lengths[not_found] == 0).all()
    return found


def words_of(found, place, n=0):
    """The words of a result, as a tuple."""
    return tuple(found.ids[place, n, : found.lengths[place, n]].tolist())


def check_same(found, expected, places, rtol=0.0):
    """Results equal the `places` of others, but for how far they are padded."""

    def check(x, y):
        width = min(x.shape[2], y.shape[2])
        np.testing.assert_array_equal(x[:, :, :width], y[:, :, :width])
        assert not x[:, :, width:].any()
        assert not y[:, :, width:].any()

    expected = tf.nest.map_structure(lambda x: x[list(places)], expected)
    for name in ("lengths", "scores", "log_probabilities"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=rtol)
    tf.nest.map_structure(check, (found.ids, found.auxiliary), (expected.ids, expected.auxiliary))
