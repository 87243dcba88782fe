"""Force decoding: the same numbers as the search's own and as those of the words one by one."""

import numpy as np
import pytest
import tensorflow as tf

from tests.translation.test_searcher import SOURCES, TARGETS, made
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import END, START, SubwordTokenizer
from tfnmt.translation import scoring
from tfnmt.translation.scoring import Scorer, score_stream
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher


def test_scores_are_those_of_the_beam(monkeypatch):
    model = made(bias={END: 1.0})
    found = Searcher(model, SearchConfiguration(beam_size=3, n_best=3, length_penalty=0.0)).translate(SOURCES[:6])
    pairs = [
        (source, text.decode(), score)
        for source, one in zip(SOURCES, found, strict=False)
        for text, score, length in zip(one.texts, one.scores, one.lengths, strict=True)
        if length < 2 * len(source.split()) + 12  # else its end is not counted
    ]
    assert len(pairs) > 9
    sources, texts, expected = map(list, zip(*pairs, strict=True))
    scorer = Scorer(model)
    monkeypatch.setattr(scoring, "WINDOW", 2)
    for batch_size in (2, 64):
        scored = list(score_stream(scorer, iter(sources), iter(texts), batch_size, "f"))
        np.testing.assert_allclose([one.log_probability for one in scored], expected, rtol=1e-4)
        assert [len(one.words) for one in scored] == [len(text.split()) + 1 for text in texts]
    monkeypatch.setattr(scoring, "LARGEST", 100)  # parts the batches, and is the limit of a line
    assert [len(one.words) for one in scorer.score(sources, texts)] == [len(text.split()) + 1 for text in texts]
    with pytest.raises(UserError, match="f, line 2: longer than 100 characters"):
        list(score_stream(scorer, iter("ab"), iter(["a", "a" * 101]), 2, "f"))


def test_a_word_is_the_sum_of_its_tokens():
    tokenizer = SubwordTokenizer.train(iter(SOURCES + TARGETS), 120)
    model = made((tokenizer, tokenizer), sharpness=1.0)
    source, target = SOURCES[0], TARGETS[0]
    ids = tokenizer.encode([target]).numpy()[0]
    logits = model({"source": model.source_ids([source]), "target": np.array([[START, *ids]], np.int32)})
    log_p = np.take_along_axis(tf.nn.log_softmax(logits)[0].numpy(), np.array([[*ids, 3]]).T, axis=1)[:, 0]
    begins = [piece.decode().startswith("▁") for piece in tokenizer.ids_to_tokens(ids).numpy()]
    expected = [part.sum() for part in np.split(log_p, [*np.flatnonzero(begins)[1:], len(ids)])]
    one, empty = Scorer(model).score([source, source], [target, ""])
    np.testing.assert_allclose(one.words, expected, rtol=1e-4)
    assert one.tokens == len(ids) + 1 and len(one.words) == len(target.split()) + 1
    assert empty.tokens == len(empty.words) == 1
