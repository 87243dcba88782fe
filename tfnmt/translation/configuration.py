"""What a translator is made of: its configuration. Values that work well together are in presets.py."""

from dataclasses import dataclass
from typing import Literal

from tfnmt.configuration import check_types, option, require


@dataclass(frozen=True)
class TranslatorConfiguration:
    """Sizes and kinds of a translator's layers. See `Encoder` and `Decoder` for the equations."""

    source_embedding_size: int = option(256, "size of a source word's vector s_i = E w_i")
    target_embedding_size: int = option(256, "size of a target word's vector u_i, and of the deep output t_i")
    encoder_units: int = option(256, "size of the encoder's state h_i, in each direction")
    decoder_units: int = option(512, "size of the decoder's state z_i")
    encoder_layers: int = option(1, "recurrent layers in the encoder")
    decoder_layers: int = option(1, "recurrent layers in the decoder")
    residual: bool = option(False, "add a layer's input to its output, from the second layer on")
    cell: Literal["gru", "lstm"] = option("gru", "the recurrent activation function φ")
    bidirectional: bool = option(True, "read the source from both ends")
    attention: Literal["none", "additive", "dot", "general"] = option(
        "additive", "how a context is chosen for each word; none: the summary h_T is all the decoder knows"
    )
    attention_units: int = option(256, "size of the additive attention's hidden layer")
    conditional: bool = option(True, "attend between two transitions of the decoder (conditional GRU)")
    deep_output: bool = option(True, "score words from tanh(z_i W_1 + u_{i-1} W_2 + c_i W_3 + b) and not from z_i")
    input_feeding: bool = option(False, "t_{i-1} enters the decoder's first layer; needs deep_output")
    tied_embeddings: bool = option(False, "score words with the target embedding's own vectors; needs deep_output")
    layer_normalization: bool = option(False, "normalise both products of every cell")
    word_dropout: float = option(0.0, "part of the words of either side whose whole vectors are dropped")
    source_dropout: float = option(0.0, "part of the source words' vectors dropped, one mask for all words")
    target_dropout: float = option(0.0, "part of the target words' vectors dropped, one mask for all words")
    state_dropout: float = option(0.0, "part of h and z dropped in their products with U, one mask for all words")
    encoder_dropout: float = option(
        0.0, "part of the encoder's states dropped, or of the summary where that is all the decoder sees"
    )
    output_dropout: float = option(0.0, "part of what words are scored from dropped")
    maximum_source_length: int = option(
        400, "tokens of a source sentence that are read; what is longer is cut, with a warning"
    )

    def __post_init__(self):
        check_types(self)
        for key, value in vars(self).items():
            if key.endswith(("_size", "_units", "_layers", "_length")):
                require(value >= 1, key, value, "a whole number from 1")
            if key.endswith("_dropout"):
                require(0 <= value < 1, key, value, "0 <= dropout < 1")
        for key in ("input_feeding", "tied_embeddings"):
            require(self.deep_output or not getattr(self, key), key, True, "false without deep_output")
        encoder_size = self.encoder_units * (2 if self.bidirectional else 1)
        if self.attention == "dot":
            require(
                encoder_size == self.decoder_units,
                "attention",
                self.attention,
                f"additive, general or none where the encoder's states ({encoder_size}) and the decoder's"
                f" ({self.decoder_units}) differ in size",
            )
