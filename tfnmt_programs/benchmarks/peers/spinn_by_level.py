"""SPINN without a tracker, with the trees batched by level: what an expert in PyTorch would write in place of the
post's loop over transitions.

Both sentences of all pairs are one batch. The words of all sentences are projected at once; then one TreeLSTM a level
composes every phrase of that height, of whatever sentence, from its two children. Which nodes these are follows from
the given transitions and is found once, before the training (`levels`).
"""

import torch
from torch import nn

from spinn_model import SHIFT, Classifier, tree_lstm


class LevelClassifier(Classifier):
    """The post's classifier, whose trees are composed level by level."""

    def __init__(self, settings):
        super().__init__(settings)
        self.encoder = ByLevel(settings["units"])

    def forward(self, trees):
        """`trees` as `levels` gives them → logits [batch, classes]."""
        leaves = self.dropout(self.normalization(self.projection(self.embed(trees["words"]))))
        p, h = self.encoder(leaves, trees["parents"])[trees["roots"]].chunk(2)
        return self.head(torch.cat([p, h, p - h, p * h], 1))


class ByLevel(nn.Module):
    """The TreeLSTM, a level at once."""

    def __init__(self, size):
        super().__init__()
        self.both = nn.Linear(2 * size, 5 * size)

    def forward(self, leaves, parents):
        """leaves [words, 2 · size], parents [(left, right)] of each level, int64 [nodes] → h of all nodes."""
        h, c = leaves.chunk(2, 1)
        for left, right in parents:
            of_children = torch.cat([h[left], h[right]], 1)
            new_h, new_c = tree_lstm(c[left], c[right], self.both(of_children))
            h, c = torch.cat([h, new_h]), torch.cat([c, new_c])
        return h


def levels(words, transitions):
    """The nodes of all trees of a batch, leaves first, then the parents from the lowest level to the highest.

    Args:
        words: int [sentences, words], padded with 0; all first sentences, then all second ones.
        transitions: int [sentences, steps], padded with 0.

    Returns:
        {"words": int64 [all words], "parents": [(left, right) nodes of each level], "roots": int64 [sentences]}.
    """
    numbers = iter(range(int((words != 0).sum())))
    by_height, roots = [], []
    for row in transitions.tolist():
        stack = []
        for transition in filter(None, row):
            if transition == SHIFT:
                stack.append((0, next(numbers)))
                continue
            right, left = stack.pop(), stack.pop()
            height = 1 + max(left[0], right[0])
            by_height.extend([] for _ in range(height - len(by_height)))
            by_height[height - 1].append((left, right))
            stack.append((height, len(by_height[height - 1]) - 1))
        roots.append(stack.pop())
    firsts = [0, int((words != 0).sum())]
    for level in by_height:
        firsts.append(firsts[-1] + len(level))

    def nodes(places):
        return torch.tensor([firsts[height] + number for height, number in places])

    parents = [tuple(map(nodes, zip(*level, strict=True))) for level in by_height]
    return {"words": torch.from_numpy(words[words != 0]).long(), "parents": parents, "roots": nodes(roots)}
