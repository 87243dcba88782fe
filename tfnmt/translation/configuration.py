"""The configuration of a translator's layers. Values that work well together are in presets.py."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tfnmt.configuration import Configuration, KeyOf, require
from tfnmt.layers.registry import ATTENTIONS, CELLS, NEED_EQUAL_SIZES


class TranslatorConfiguration(Configuration):
    """Sizes and kinds of a translator's layers. See `Encoder` and `Decoder` for the equations."""

    source_embedding_size: int = Field(256, description="size of a source word's vector s_i = E w_i", ge=1, le=8192)
    target_embedding_size: int = Field(
        256, description="size of a target word's vector u_i, and of the deep output t_i", ge=1, le=8192
    )
    encoder_units: int = Field(256, description="size of the encoder's state h_i, in each direction", ge=1, le=8192)
    decoder_units: int = Field(512, description="size of the decoder's state z_i", ge=1, le=8192)
    encoder_layers: int = Field(1, description="recurrent layers in the encoder", ge=1, le=64)
    decoder_layers: int = Field(1, description="recurrent layers in the decoder", ge=1, le=64)
    residual: bool = Field(
        False,
        description="add a layer's input to its output, from the second layer on; not to the summary h_T",
    )
    cell: Annotated[str, KeyOf(CELLS)] = Field("gru", description="the recurrent activation function φ")
    bidirectional: bool = Field(True, description="read the source from both ends")
    attention: Annotated[str, KeyOf(ATTENTIONS)] = Field(
        "additive",
        description="how a context is chosen for each word; none: the summary h_T is all the decoder knows; others need"
        " conditional, deep_output or a second decoder layer",
    )
    attention_units: int = Field(256, description="size of the additive attention's hidden layer", ge=1, le=8192)
    conditional: bool = Field(True, description="attend between two transitions of the decoder (conditional GRU)")
    attend_first: bool = Field(
        False,
        description="attend before the decoder's one transition, which reads the context, and score words from the"
        " state before it (Bahdanau et al. 2015); needs attention, deep_output, conditional=false, one decoder layer",
    )
    deep_output: bool = Field(
        True, description="score words from tanh(z_i W_1 + u_{i-1} W_2 + c_i W_3 + b) and not from z_i"
    )
    output_units: int | None = Field(
        None, description="size of the deep output t_i; none: that of the target words' vectors", ge=1, le=8192
    )
    output_activation: Literal["tanh", "maxout"] = Field(
        "tanh", description="of the deep output; maxout: the larger of two sums for each of its units"
    )
    input_feeding: bool = Field(False, description="t_{i-1} enters the decoder's first layer; needs deep_output")
    tied_embeddings: bool = Field(
        False, description="score words with the target embedding's own vectors; needs deep_output"
    )
    layer_normalization: bool = Field(False, description="normalise both products of every cell")
    word_dropout: float = Field(
        0.0, description="part of the words of either side whose whole vectors are dropped", ge=0, lt=1
    )
    source_dropout: float = Field(
        0.0, description="part of the source words' vectors dropped, one mask for all words", ge=0, lt=1
    )
    target_dropout: float = Field(
        0.0, description="part of the target words' vectors dropped, one mask for all words", ge=0, lt=1
    )
    state_dropout: float = Field(
        0.0, description="part of h and z dropped in their products with U, one mask for all words", ge=0, lt=1
    )
    encoder_dropout: float = Field(
        0.0,
        description="part of the encoder's states dropped, or of the summary where that is all the decoder sees",
        ge=0,
        lt=1,
    )
    output_dropout: float = Field(0.0, description="part of what words are scored from dropped", ge=0, lt=1)
    scheduled_sampling: float = Field(
        0.0,
        description="part of the words that the decoder reads in training which are drawn from the model itself in"
        " place of the given ones; it then learns to go on from its own mistakes",
        ge=0,
        le=1,
    )
    r_drop_weight: float = Field(
        0.0,
        description="α of R-Drop: in training each batch is read twice, with different dropout, and the divergence of"
        " both predictions is part of the loss; needs a dropout rate, and no scheduled_sampling",
        ge=0,
        le=1000,
    )
    risk_weight: float = Field(
        0.0,
        description="weight of the expected 1 − BLEU of the model's own translations in the loss (minimum risk"
        " training); for models that are trained already, see initial",
        ge=0,
        le=1000,
    )
    risk_samples: int = Field(5, description="translations drawn of each source for it", ge=2, le=1000)
    risk_sharpness: float = Field(
        0.3,
        description="α: a drawn translation of probability p counts in proportion to p^α",
        gt=0,
        le=10,
    )
    risk_temperature: float = Field(
        0.5, description="logits are divided by it where translations are drawn for it", ge=0.001, le=1000
    )
    maximum_source_length: int = Field(
        400,
        description="tokens of a source sentence that are read after training; what is longer is cut, of which commands"
        " warn",
        ge=1,
        le=100_000,
    )
    micro_batches: int = Field(
        1,
        description="parts in which a batch is trained and evaluated, in parallel, each on a processor of its own",
        ge=1,
        le=64,
    )

    @model_validator(mode="after")
    def _check(self):
        for key in ("input_feeding", "tied_embeddings"):
            require(self.deep_output or not getattr(self, key), key, True, "false without deep_output")
        plain = self.deep_output and not self.tied_embeddings and not self.input_feeding
        for key, default in (("output_units", None), ("output_activation", "tanh")):
            value = getattr(self, key)
            need = "left out unless deep_output, and without tied_embeddings and input_feeding"
            require(plain or value == default, key, value, need)
        if self.r_drop_weight:
            rates = [value for key, value in self if key.endswith("_dropout")]
            need = "0 without dropout, and with scheduled_sampling"
            require(any(rates) and not self.scheduled_sampling, "r_drop_weight", self.r_drop_weight, need)
        if self.attend_first:
            one = self.decoder_layers == 1 and not self.conditional and not self.input_feeding
            need = (
                "false without attention or deep_output, and with conditional, input_feeding or several decoder_layers"
            )
            require(one and self.attention != "none" and self.deep_output, "attend_first", True, need)
        is_read = self.conditional or self.deep_output or self.decoder_layers > 1
        need = "none without conditional, deep_output and a second decoder layer, for nothing would read its context"
        require(is_read or self.attention == "none", "attention", self.attention, need)
        encoder_size = self.encoder_units * (2 if self.bidirectional else 1)
        require(
            self.attention not in NEED_EQUAL_SIZES or encoder_size == self.decoder_units,
            "attention",
            self.attention,
            f"additive, general or none where the encoder's states ({encoder_size}) and the decoder's"
            f" ({self.decoder_units}) differ in size",
        )
        return self

    def without_effect(self) -> dict[str, str]:
        """See `Configuration.without_effect`."""
        unused = {}
        if self.attention == "none":
            unused["conditional"] = "attention=none"
        if self.attention != "additive":
            unused["attention_units"] = f"attention={self.attention}"
        if self.encoder_layers == self.decoder_layers == 1:
            unused["residual"] = "one layer in encoder and decoder"
        if not self.risk_weight:
            unused |= dict.fromkeys(("risk_samples", "risk_sharpness", "risk_temperature"), "risk_weight=0")
        return unused
