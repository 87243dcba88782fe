"""The registry of attentions. To add one, write its layer (`tfnmt.layers.attention`) and name it in `ATTENTIONS`."""

from tfnmt.registry import Registry

ATTENTIONS = Registry(
    {
        "none": None,
        "additive": "tfnmt.layers.attention:AdditiveAttention",
        "dot": "tfnmt.layers.attention:DotAttention",
        "general": "tfnmt.layers.attention:GeneralAttention",
    }
)
"""Name -> subclass of `Attention`; None for a decoder without."""
