"""Sentences longer than a model reads are cut before anything is spent on them, and the user is told."""

import sys

from tfnmt.data.pair_batches import LONGEST_TOKEN


def cut_long(model, sentences, file, first_line=1):
    """Pass on sentences, each without what lies beyond the tokens that a translator reads; say which were cut.

    Args:
        model: a `Translator`.
        sentences: an iterable of strings.
        file: where they are from, for the warnings on standard error.
        first_line: the line of the first one.

    Yields:
        A string for each sentence.
    """
    limit = model.configuration.maximum_source_length
    characters = LONGEST_TOKEN * limit
    for line, sentence in enumerate(sentences, start=first_line):
        if len(sentence) >= limit:  # characters; fewer cannot be more tokens
            kept = sentence[:characters]
            tokens = int(model.source_tokenizer.encode([kept]).row_lengths()[0])
            if tokens > limit or kept != sentence:
                print(f"{file}, line {line:,}: too long, only its first {limit} tokens are translated", file=sys.stderr)
            sentence = kept
        yield sentence
