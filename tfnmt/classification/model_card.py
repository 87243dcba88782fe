"""The model card of a classifier."""

from collections.abc import Mapping, Sequence
from itertools import islice

from tfnmt.classification.classifier import Classifier
from tfnmt.classification.presets import CLASSIFIER_PRESETS, ClassifierPreset
from tfnmt.data.example_batches import sentence_batch, sentences_of
from tfnmt.data.example_dataset import ExampleDataset
from tfnmt.text.brackets import to_brackets
from tfnmt.training.model_card import SAMPLES, ModelCard, shortened
from tfnmt.training.run_record import RunRecord


def model_card(
    model: Classifier,
    preset: ClassifierPreset,
    record: RunRecord,
    scores: Mapping[str, float],
    history: Sequence[Mapping[str, float]],
    dev_examples: ExampleDataset,
) -> ModelCard:
    """The card of a trained classifier; see `tfnmt.translation.model_card.model_card`.

    Args:
        dev_examples: of which it shows some labels and, of a model that parses, trees.
    """
    c = model.configuration
    uses = ["tfnmt evaluate-classifier --model DIR --data examples"]
    if model.encoder_spec.predicts_parses:
        uses.append("tfnmt parse --model DIR < sentences")
    pairs = "pairs of sentences" if c.reads_pairs else "sentences"
    return ModelCard(
        what=f"A classifier of {pairs}, of the task `{c.task}`: {', '.join(c.labels)}. Its encoder is `{c.encoder}`,"
        f" and it has {model.count_params():,} weights and knows {model.tokenizer.vocabulary_size:,} words.",
        uses=uses,
        preset=preset,
        presets=CLASSIFIER_PRESETS,
        record=record,
        scores=scores,
        signatures={},
        history=history,
        samples=_samples(model, dev_examples),
    )


def _samples(model, dev_examples):
    examples = list(islice(dev_examples, SAMPLES))
    sentences = sentences_of(examples)
    predictions = model.predict_on_batch(sentence_batch(sentences, model.tokenizer))
    trees = predictions.get("transitions") if model.encoder_spec.predicts_parses else None
    texts = [
        shortened(" ".join(sentence.words) if trees is None else to_brackets(sentence.words, trees[i]))
        for i, sentence in enumerate(sentences)
    ]
    labels = model.configuration.labels
    samples = []
    for i, (example, logits) in enumerate(zip(examples, predictions["logits"], strict=True)):
        lines = texts[i :: len(examples)]  # all first sentences come before all second ones
        predicted, right = labels[logits.argmax()], labels[example.label]
        judged = predicted if predicted == right else f"{predicted}; right is {right}"
        samples.append("\n".join([*lines, f"label: {judged}"]))
    return "\n\n".join(samples)
