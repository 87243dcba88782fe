"""Force decoding: equal to the log-probabilities of searches, of tokens one by one, and of the served signature."""

import numpy as np
import pytest
import tensorflow as tf

from tests.translation.test_searcher import SOURCES, TARGETS, made
from tfnmt.errors import UserError
from tfnmt.text.tokenizers import END, START, SubwordTokenizer, WordTokenizer
from tfnmt.translation import scoring
from tfnmt.translation.scoring import Scorer, score_stream
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.servable import TranslatorServable


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


def test_a_batch_has_no_more_characters_than_fit(monkeypatch):
    """In whatever order they come."""
    monkeypatch.setattr(scoring, "LARGEST", 100)
    scorer, texts = Scorer(made()), ["a" * 40, "b" * 50, "c" * 50, "d" * 90]
    for order in ([0, 1, 2, 3], [3, 0, 2, 1]):
        sizes = []
        scorer.score(SOURCES[:4], [texts[i] for i in order], advance=sizes.append)
        assert sizes == [2, 1, 1]


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


def test_served_scores_are_the_same_however_improbable_the_translation():
    """Of one model and of an ensemble. Tokens of log p far below −100 have it, and are not cut there."""
    first = made(sharpness=1.0)
    tokenizers = first.source_tokenizer, first.target_tokenizer
    improbable = first.target_tokenizer.vocabulary()[0]
    bias = np.zeros(tokenizers[1].vocabulary_size)
    bias[first.target_tokenizer.encode([improbable]).to_list()[0]] = -1000.0
    first.decoder.b.assign(bias)
    translations = [TARGETS[0], f"{improbable} {TARGETS[1]}", "", f"{improbable} {improbable}"]
    for models in ([first], [first, made(tokenizers, seed=2, sharpness=1.0, attention="none")]):
        served = TranslatorServable(models, SearchConfiguration(beam_size=1)).functions["score"]
        found = served(tf.constant(SOURCES[:4]), tf.constant(translations))["log_probability"]
        expected = [one.log_probability for one in Scorer(models).score(SOURCES[:4], translations)]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        if len(models) == 1:
            assert expected[1] < -900 and expected[3] < -1900
        else:  # half of what the other model gives
            assert min(expected) > -100


def test_an_ensemble_scores_by_the_mean_of_probabilities():
    models = [made(sharpness=1.0)]
    models.append(made((models[0].source_tokenizer, models[0].target_tokenizer), seed=2, sharpness=1.0))
    alone = [Scorer(model).score(SOURCES[:1], TARGETS[:1])[0] for model in models]
    (together,) = Scorer(models).score(SOURCES[:1], TARGETS[:1])
    expected = np.log(np.mean([np.exp(one.words) for one in alone], axis=0))  # every word is one token here
    np.testing.assert_allclose(together.words, expected, rtol=1e-4)


def test_as_many_translations_as_sources():
    with pytest.raises(UserError, match="translations=2: allowed is as many as sources: 1"):
        Scorer(made()).score(["a"], ["b", "c"])
    with pytest.raises(UserError, match="sources=A dog: allowed is a list of strings"):
        Scorer(made()).score("A dog", "Ein H")


def test_what_is_no_precision_no_batch_size_or_no_text():
    with pytest.raises(UserError, match="^precision=bfloat16: allowed is float32 or int8$"):
        Scorer(made(), "bfloat16")
    with pytest.raises(UserError, match="^batch_size=0: allowed is a whole number from 1$"):
        Scorer(made()).score(["a"], ["b"], batch_size=0)
    with pytest.raises(
        UserError, match=r"^translations, number 2: half a surrogate pair, '\\ud800', is not a character$"
    ):
        Scorer(made()).score(["a", "b"], ["a", "b \ud800"])


def test_too_much_to_score_at_once_is_refused():
    model = made()
    served = TranslatorServable([model], SearchConfiguration(beam_size=1)).functions["score"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than 100,000 characters of target at once"):
        served(tf.constant(SOURCES[:2]), tf.constant(["a", "a" * 50_001]))


@pytest.mark.parametrize(
    "name, inputs, message",
    [
        ("score", ("source", "target"), "as many targets as sources"),
        ("complete", ("text", "prefix"), "as many prefixes"),
    ]
    + [("alternatives", ("text", "prefix"), "as many prefixes as texts")],
)
def test_as_many_of_both_are_needed(name, inputs, message):
    """Else one source would be scored with each target."""
    function = TranslatorServable([made()], SearchConfiguration(beam_size=1)).functions[name]
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        function(**dict(zip(inputs, (tf.constant(["a"]), tf.constant(["a", "b"])), strict=True)))


def test_the_server_is_told_of_no_more_tokens_than_are_read():
    """Else the rest of a text would be left out without a word."""
    servable = TranslatorServable([made(maximum_source_length=100)], SearchConfiguration(beam_size=1))
    assert servable.limits["serving_default"] == {"text_tokens": 100, "request_tokens": 400}
    servable = TranslatorServable([made()], SearchConfiguration(beam_size=1))
    assert servable.limits["serving_default"]["text_tokens"] == 128


def test_a_line_may_be_as_long_as_is_told(monkeypatch):
    monkeypatch.setattr(scoring, "LARGEST", 100)
    (scored,) = score_stream(Scorer(made()), iter(["a"]), iter(["a" * 100]), 2, "f")
    assert scored.tokens > 1


def test_lines_are_scored_in_batches_of_the_size_asked_for():
    sizes = []
    list(score_stream(Scorer(made()), iter(SOURCES[:5]), iter(TARGETS[:5]), 2, "f", sizes.append))
    assert sizes == [2, 2, 1]


def test_the_server_counts_tokens_as_the_tokenizer_of_their_side_does():
    """Here the source's takes a full stop for a token, the target's does not."""
    tokenizers = WordTokenizer(["a"], split_punctuation=True), WordTokenizer(["a"])
    checks = TranslatorServable([made(tokenizers)], SearchConfiguration(beam_size=1)).checks
    counted = {
        (name, key): int(check(tf.constant(["a."]))["tokens"][0])
        for name in checks
        for key, check in checks[name].items()
    }
    assert counted == {place: 1 if place[1] in ("prefix", "target") else 2 for place in counted}
    assert {key for _, key in counted} == {"text", "source", "prefix", "target"}


def test_an_ensemble_encodes_a_text_by_each_of_its_models():
    first = made()
    models = [first, made(first.tokenizers, seed=2, encoder_units=5)]
    texts = tf.constant([SOURCES[0], "", SOURCES[1]])
    found = TranslatorServable(models, SearchConfiguration(beam_size=1)).functions["encode"](texts)["summary"]
    source = first.source_ids(texts)
    expected = np.concatenate([model.encoder(source)["summary"] for model in models], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-5)
