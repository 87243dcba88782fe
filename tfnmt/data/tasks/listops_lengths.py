"""ListOps expressions of a given number of words, each as probable as it is among all that the generator draws.

Long ones are too rare to wait for. So the probability of each number of words is computed, level by level: with p_l[n]
that an expression of at most l levels has n words, and p_l^k[n] that k of them have n words together (k - 1
convolutions),

    p_0[n] = [n = 1]        p_l[n] = (1 - λ) [n = 1] + λ mean_k p_{l-1}^k[n - 2]

where λ is the probability of a list, and k the number of its arguments. Then each list's k and the words of each of its
arguments are drawn with their probability given how many words the list is to have.
"""

import random
from collections.abc import Iterator

import numpy as np


class Lengths:
    """How probable each number of words is.

    Args:
        list_probability: that an expression is a list, where there are levels left.
        arguments: the fewest and the most of a list.
        levels: lists within each other at most.
        most_words: the greatest number of words that will be asked for.
    """

    def __init__(self, list_probability: float, arguments: tuple[int, int], levels: int, most_words: int):
        self._fewest, most = arguments
        digit = np.eye(1, most_words + 1, 1)[0]
        self._of_several = []  # for l levels: p_l^k [k, n], of 0 to the most arguments that n can have
        one = digit
        for _ in range(levels + 1):
            several = [np.eye(1, most_words + 1)[0]]
            for _ in range(min(most, most_words)):  # of more arguments no expression has so few words
                several.append(np.convolve(several[-1], one)[: most_words + 1])
            self._of_several.append(np.stack(several))
            lists = self._of_several[-1][self._fewest :].sum(axis=0) / (most - self._fewest + 1)
            one = (1 - list_probability) * digit
            one[2:] += list_probability * lists[:-2]

    def draw(self, rng: random.Random, fewest: int, most: int) -> int | None:
        """A number of words within these bounds, or None if no expression has so many, or they are so improbable that
        their probability is less than the smallest number."""
        return self._choice(rng, self._of_several[-1][1, fewest : most + 1], fewest)

    def of_arguments(self, rng: random.Random, levels: int, words: int) -> Iterator[int]:
        """The words of each argument of a list that has `levels` levels, itself one of them, and so many words."""
        of_several, left = self._of_several[levels - 1], words - 2
        count = self._choice(rng, of_several[self._fewest :, left], self._fewest)
        for others in range(count - 1, -1, -1):
            own = self._choice(rng, of_several[1, : left + 1] * of_several[others, left::-1])
            left -= own
            yield own

    def _choice(self, rng, weights, first=0):
        """`first` + i with a probability in proportion to weights[i]; None if all are 0."""
        sums = np.cumsum(weights)
        if not len(sums) or sums[-1] <= 0:
            return None
        return first + int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
