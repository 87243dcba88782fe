"""The registries of cells, attentions and compositions. To add one, write its layer and name it here."""

from tfnmt.registry import Registry

CELLS = Registry({"gru": "tfnmt.layers.cells:GRUCell", "lstm": "tfnmt.layers.cells:LSTMCell"})
"""Name -> subclass of `tfnmt.layers.cells.Cell`, the recurrent activation function φ."""

ATTENTIONS = Registry(
    {
        "none": None,
        "additive": "tfnmt.layers.attention:AdditiveAttention",
        "dot": "tfnmt.layers.attention:DotAttention",
        "general": "tfnmt.layers.attention:GeneralAttention",
    }
)
"""Name -> subclass of `tfnmt.layers.attention.Attention`; None for a decoder without."""

NEED_EQUAL_SIZES = frozenset({"dot"})
"""The attentions for which the decoder's and the encoder's states must be of one size."""

COMPOSITIONS = Registry(
    {
        "tree-lstm": "tfnmt.layers.trees.tree_lstm:TreeLSTM",
        "grc": "tfnmt.layers.trees.gated_recursive:GatedRecursiveCell",
    }
)
"""Name -> layer by which two phrases become one, made as `layer(units, tracker_units)`. Its class says whether it
`has_memory`, a c beside h."""
