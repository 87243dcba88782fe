"""The registry of attentions. To add one, write its layer (`tfnmt.layers.attention`) and name it in `ATTENTIONS`.

Layers are imported when they are made, so that reading the registry needs no TensorFlow.
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfnmt.layers.attention import Attention

ATTENTIONS: dict[str, str | type[Attention] | None] = {
    "none": None,
    "additive": "tfnmt.layers.attention:AdditiveAttention",
    "dot": "tfnmt.layers.attention:DotAttention",
    "general": "tfnmt.layers.attention:GeneralAttention",
}
"""What a configuration calls it, and its class, or where that is: "module:Class"; None for a decoder without."""


def attention_class(name: str) -> type[Attention] | None:
    """The class of the attention of that name; None for "none"."""
    attention = ATTENTIONS[name]
    return pkgutil.resolve_name(attention) if isinstance(attention, str) else attention
