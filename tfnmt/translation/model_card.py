"""The model card of a translator."""

from collections.abc import Mapping, Sequence
from itertools import islice

from tfnmt.data.parallel import ParallelFiles
from tfnmt.training.model_card import SAMPLES, ModelCard, shortened
from tfnmt.training.run_record import RunRecord
from tfnmt.translation.bleu import translation_scores
from tfnmt.translation.presets import PRESETS, Preset
from tfnmt.translation.translator import Translator


def model_card(
    model: Translator,
    preset: Preset,
    record: RunRecord,
    scores: Mapping[str, float],
    history: Sequence[Mapping[str, float]],
    dev_files: ParallelFiles,
) -> ModelCard:
    """The card of a trained translator.

    Args:
        model: with the weights that the card is about.
        preset, record: the run's.
        scores: of the weights, by measure.
        history: a row of figures for each epoch.
        dev_files: of which it shows some translations, by greedy search.
    """
    c = model.configuration
    attention = f"{c.attention} attention" if c.attention != "none" else "one summary vector, without attention"
    sizes = [f"{tokenizer.vocabulary_size:,}" for tokenizer in model.tokenizers]
    kind = preset.text.tokenizer
    units = "words" if kind == "words" else f"subwords ({kind})"
    names = {"bleu", "chrf"} & {measure.rpartition("_")[2] for measure in scores}
    signatures = translation_scores(["a"], ["a"], names=sorted(names))
    return ModelCard(
        what=f"A translator: an encoder–decoder of {c.cell.upper()} cells with {attention}, {model.count_params():,}"
        f" weights. It reads {sizes[0]} different {units} and writes {sizes[1]}, reserved ones counted.",
        uses=["tfnmt translate --model DIR < sentences", 'tfnmt.load("DIR").translate(["A sentence."])  # in Python'],
        preset=preset,
        presets=PRESETS,
        record=record,
        scores=scores,
        signatures={
            measure: str(signatures[f"{name}_signature"])
            for measure in scores
            if (name := measure.rpartition("_")[2]) in names
        },
        history=history,
        samples=_samples(model, dev_files),
    )


def _samples(model, dev_files):
    sources, references = (list(islice(side, SAMPLES)) for side in dev_files.sides())
    translations = model.translate(sources, beam_size=1)
    return "\n\n".join(
        f"source       {shortened(source)}\ntranslation  {shortened(made)}\nreference    {shortened(reference)}"
        for source, made, reference in zip(sources, translations, references, strict=True)
    )
