"""A translator's figures on files of sentence pairs."""

import time

import tensorflow as tf

from tfnmt.data.pair_batches import evaluation_batches
from tfnmt.training.metrics import Perplexity, TokenAccuracy
from tfnmt.translation.bleu import translation_scores
from tfnmt.translation.long_sentences import cut_long


def evaluate_translator(model, files, beam_size=5, batch_size=64, length_penalty=1.0, tokenize="13a", lowercase=False):
    """Every figure of a translator on files of sentence pairs.

    Returns:
        (figures, translations): a dictionary with "loss" (natural logarithm, a word), "perplexity" and
        "token_accuracy" given the reference's words before, "bleu" and "chrf" of the search's output with their
        signatures, "sentences" and "sentences_per_second" of the search; and the list of translations.
    """
    files.check()
    sources, references = files.sides()
    sources, references = list(cut_long(model, sources, files.source)), list(references)
    figures = teacher_forced_figures(model, files, batch_size)
    model.translate(["a"], beam_size, batch_size, length_penalty=length_penalty)  # tracing is not part of the speed
    start = time.perf_counter()
    translations = model.translate(sources, beam_size, batch_size, length_penalty=length_penalty)
    seconds = time.perf_counter() - start
    figures |= translation_scores(translations, references, tokenize, lowercase)
    figures |= {"sentences": len(sources), "sentences_per_second": len(sources) / seconds}
    return figures, translations


def teacher_forced_figures(model, files, batch_size=64):
    """ "loss", "perplexity" and "token_accuracy" of a translator given every reference's words before."""
    tokenizers = model.source_tokenizer, model.target_tokenizer
    batches = evaluation_batches(files.pairs(), *tokenizers, batch_size, model.configuration.maximum_source_length)
    perplexity, accuracy = Perplexity(), TokenAccuracy()

    @tf.function(input_signature=batches.element_spec, autograph=False)
    def update(inputs, labels):
        logits = model(inputs)
        perplexity.update_state(labels, logits)
        accuracy.update_state(labels, logits)

    for inputs, labels in batches:
        update(inputs, labels)
    return {
        "loss": float(perplexity.total / perplexity.words),
        "perplexity": float(perplexity.result()),
        "token_accuracy": float(accuracy.result()),
    }
