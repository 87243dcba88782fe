"""From text to text with every search: what must not depend on what, constraints, ensembles, edge cases."""

import collections
import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfnmt.data.samples.translation import sample_pairs
from tfnmt.errors import UserError
from tfnmt.search.constraints import ban_tokens
from tfnmt.search.step import NEG_INF
from tfnmt.text.tokenizers import END, PADDING, START, UNKNOWN, SubwordTokenizer, WordTokenizer
from tfnmt.translation import searcher
from tfnmt.translation.configuration import TranslatorConfiguration
from tfnmt.translation.ensemble import Ensemble, search_step
from tfnmt.translation.search_configuration import SearchConfiguration
from tfnmt.translation.searcher import Searcher
from tfnmt.translation.shortlist import Shortlist
from tfnmt.translation.translator import Translator

PAIRS = sample_pairs(60, 1, "dev")
SOURCES, TARGETS = map(list, zip(*PAIRS, strict=True))
TEXTS = [*SOURCES[:24], "", "   ", "zebra", SOURCES[0]]
SIZES = dict.fromkeys(
    ("source_embedding_size", "target_embedding_size", "encoder_units", "decoder_units", "attention_units"), 8
)
PLAIN = {"bidirectional": False, "conditional": False}  # sooner traced


def made(tokenizers=None, seed=1, bias=None, sharpness=4.0, **options):
    """A random model, sharp enough to write something else for each sentence."""
    tokenizers = tokenizers or (WordTokenizer.train(SOURCES), WordTokenizer.train(TARGETS))
    keras.utils.set_random_seed(seed)
    model = Translator(TranslatorConfiguration(**SIZES | PLAIN | options), *tokenizers)
    for weight in model.weights:
        weight.assign(sharpness * weight)
    of_words = np.zeros(tokenizers[1].vocabulary_size)
    for word, value in (bias or {}).items():
        of_words[word] = value
    model.decoder.b.assign(of_words)
    return model


@pytest.fixture(scope="module")
def model():
    return made()


def texts_of(found):
    return [[text.decode() for text in one.texts] for one in found]


@pytest.mark.parametrize(
    "options",
    [{"method": "greedy"}, {"method": "sample", "temperature": 1.5, "top_k": 30}, {"beam_size": 5, "n_best": 2}],
    ids=["greedy", "sample", "beam"],
)
def test_a_translation_does_not_depend_on_its_batch(options):
    """To the letter, in float64: some processors round the float32 product of a row by how many rows there are, and a
    near tie of two hypotheses, of which a random model has many, may then fall either way.
    """
    keras.config.set_dtype_policy("float64")
    try:
        model = made()
    finally:
        keras.config.set_dtype_policy("float32")
    searcher = Searcher(model, SearchConfiguration(**options))
    together = searcher.translate(TEXTS)
    expected = texts_of(together)
    assert len({texts[0] for texts in expected}) > 12
    assert expected[24][0] == expected[25][0] == ""
    assert expected[0] == expected[-1]
    for batch_size in (1, 7, 64):
        order = np.random.default_rng(batch_size).permutation(len(TEXTS))
        found = searcher.translate([TEXTS[i] for i in order], batch_size)
        assert texts_of(found) == [expected[i] for i in order]
    for one in together:
        assert (np.diff(one.scores) <= 0).all()
        assert not np.isin(one.ids[:, : one.lengths.max(initial=0)], [START, END]).any()
        assert len({tuple(row) for row in one.ids.tolist()}) == max(1, (one.scores > NEG_INF).sum())


def test_a_seed_and_a_key_decide_what_is_drawn(model):
    texts = tf.constant(SOURCES[:1] * 3)
    draw = {seed: Searcher(model, SearchConfiguration(method="sample", seed=seed)) for seed in (1, 2)}
    one, same, other = draw[1].find(texts, keys=tf.constant([5, 5, 6])).texts[:, 0].numpy()
    assert one == same != other
    assert draw[2].find(texts, keys=tf.constant([5, 5, 6])).texts[0, 0].numpy() != one


def test_a_beam_of_one_is_greedy_and_a_model_twice_is_the_model(model):
    greedy = Searcher(model, SearchConfiguration(method="greedy")).translate(TEXTS[:9])
    alone = Searcher(model, SearchConfiguration(beam_size=1)).translate(TEXTS[:9])
    twice = Searcher([model, model], SearchConfiguration(beam_size=1)).translate(TEXTS[:9])
    assert texts_of(greedy) == texts_of(alone) == texts_of(twice)
    np.testing.assert_allclose([one.scores for one in twice], [one.scores for one in greedy], rtol=1e-4)


def test_only_a_beam_of_more_than_one_divides_by_the_length(model):
    """As the descriptions of the scores say."""
    for one in Searcher(model, SearchConfiguration(beam_size=1)).translate(TEXTS[:9]):
        np.testing.assert_array_equal(one.scores, one.log_probabilities)
    for one in Searcher(model, SearchConfiguration(beam_size=2)).translate(TEXTS[:9]):
        np.testing.assert_allclose(one.scores, one.log_probabilities / (one.lengths + 1), rtol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_coverage_penalty_is_for_the_words_of_the_sentence_alone(model, beam_size):
    """By hand; neither its end counts nor padding, and a beam of one has the penalty too."""
    texts = [" ".join(SOURCES[0].split()[:4]), SOURCES[1]]
    options = {"coverage_penalty": 0.1, "maximum_length_factor": 0.0, "maximum_length_offset": 2}  # too few for all
    found = Searcher(model, SearchConfiguration(beam_size=beam_size, **options)).find(tf.constant(texts))
    for place, text in enumerate(texts):
        step, states, memory = search_step(model, model.source_ids([text]), with_attention=True)
        length, attended = found.lengths[place, 0].numpy(), 0
        for word in [START, *found.ids[place, 0, :length].numpy()]:
            _, states, auxiliary = step(tf.constant([word], tf.int64), states, memory)
            attended += auxiliary["attention"][0, : len(text.split())].numpy()
        penalty = -0.1 * np.log(np.clip(attended, 1e-9, 1)).sum()
        expected = found.log_probabilities[place, 0] / (length + 1) - penalty
        assert penalty > 0.01
        np.testing.assert_allclose(found.scores[place, 0], expected, rtol=1e-4)


def test_a_prefix_longer_than_the_limit_is_written_whole(model):
    limits = {"maximum_length_factor": 0.0, "maximum_length_offset": 1}
    prefix = " ".join(TARGETS[0].split()[:4])
    for options in ({"method": "greedy"}, {"beam_size": 2}):
        searcher = Searcher(model, SearchConfiguration(**options, **limits))
        long, none = searcher.translate(SOURCES[:2], prefixes=[prefix, ""])
        assert long.texts[0].decode() == prefix
        assert none.lengths[0] <= 1


def test_greedy_search_without_scores_finds_the_same(model):
    greedy = SearchConfiguration(method="greedy", minimum_length=2)
    scored, unscored = (Searcher(model, greedy.replace(scores=scores)).translate(TEXTS) for scores in (True, False))
    assert texts_of(scored) == texts_of(unscored)
    assert {one.scores[0] for one in unscored} == {0.0} and min(one.scores[0] for one in scored) < 0


def test_an_ensemble_must_share_its_vocabularies(model):
    others = WordTokenizer(["other", "words"])
    with pytest.raises(UserError, match="model 1 and model 2 of the ensemble differ in their target vocabulary"):
        Searcher([model, made((model.source_tokenizer, others))])
    with pytest.raises(UserError, match="models=0: allowed is one or more"):
        Searcher([])


def test_an_ensemble_takes_the_mean_of_probabilities(model):
    tokenizers = model.source_tokenizer, model.target_tokenizer
    other = made(tokenizers, seed=2, attention="none", maximum_source_length=4)
    ids, texts = tf.constant([START]), tf.constant([SOURCES[0]])
    together = Searcher([model, other], SearchConfiguration(method="greedy"))
    found = together.find(texts)
    source = other.source_ids(texts)
    assert source.shape[1] == 5
    np.testing.assert_array_equal(together.ensemble.source_ids(texts), source)  # all read as many
    steps = [search_step(part, source) for part in (model, other)]
    of_each = [step(ids, states, memory)[0] for step, states, memory in steps]
    mean = np.mean(np.exp(of_each), axis=0)
    assert found.ids[0, 0, 0] == np.argmax(np.where(np.arange(mean.shape[1]) == PADDING, 0, mean)[0])


def test_everything_at_once_is_core_operations_only():
    """And those of TensorFlow Text that the stock server links."""
    tokenizer = SubwordTokenizer.train(iter(SOURCES + TARGETS), 120)
    model = made((tokenizer, tokenizer), bias={UNKNOWN: 3.0}, bidirectional=True, conditional=True)
    configuration = SearchConfiguration(
        beam_size=3,
        n_best=2,
        coverage_penalty=0.2,
        no_repeat_ngram=3,
        minimum_length=2,
        replace_unknown=True,
        alignments=True,
    )
    searcher = Searcher([model, model], configuration)
    function = searcher.function(with_prefixes=True)
    definition = function.get_concrete_function().graph.as_graph_def()
    nodes = [*definition.node, *(node for part in definition.library.function for node in part.node_def)]
    ops = {node.op for node in nodes}
    text_ops = {op for op in ops if op not in dir(tf.raw_ops)}
    assert {op for op in text_ops if "Sentencepiece" not in op} == {"NormalizeUTF8"}
    assert not [op for op in ops if "PyFunc" in op]

    prefixes = [TARGETS[0].split()[0], "", "Ding 猫 und", "x"]
    found = searcher.translate([SOURCES[0], SOURCES[1], SOURCES[2], ""], 4, prefixes)
    assert texts_of(found)[3] == ["", ""] and found[3].scores.tolist() == [0, NEG_INF]
    for one, prefix in zip(found[:3], prefixes[:3], strict=True):
        for text, alignment in zip(one.texts, one.alignments, strict=True):
            text = text.decode()
            assert text.startswith(prefix) and "<unk>" not in text
            assert [int(pair.split(b"-")[1]) for pair in alignment.split()] == list(range(len(text.split())))


def test_unknown_words_are_replaced_by_those_attended_to():
    model = made(bias={UNKNOWN: 1000.0})
    text = "zebra and okapi"
    configuration = {"method": "greedy", "maximum_length_factor": 0.0, "maximum_length_offset": 4}
    searcher = Searcher(model, SearchConfiguration(**configuration, replace_unknown=True, alignments=True))
    (found,) = searcher.translate([text])
    places = found.attention[0, :, :3].argmax(axis=1)
    assert found.texts[0].decode().split() == [text.split()[place] for place in places]
    assert found.alignments[0].decode() == " ".join(f"{place}-{i}" for i, place in enumerate(places))
    (found,) = Searcher(model, SearchConfiguration(**configuration)).translate([text])
    assert found.texts[0] == b"<unk> <unk> <unk> <unk>"
    (found,) = Searcher(model, SearchConfiguration(**configuration, no_unknown=True)).translate([text])
    assert b"<unk>" not in found.texts[0]


def test_what_is_banned_is_never_written():
    word = WordTokenizer.train(TARGETS).vocabulary()[0]
    model = made(bias={PADDING: 1000.0, START: 1000.0, 4: 500.0})
    (found,) = Searcher(model, SearchConfiguration(beam_size=2)).translate(SOURCES[:1])
    assert set(found.ids[0, : found.lengths[0]]) == {4}
    c = SearchConfiguration(beam_size=2, banned_words=(word,), no_repeat_ngram=1, minimum_length=6)
    (found,) = Searcher(model, c).translate(SOURCES[:1])
    words = found.texts[0].decode().split()
    assert word not in words and len(set(words)) == len(words) >= 6
    with pytest.raises(UserError, match="banned_words=zebra: allowed is words that are one token"):
        Searcher(model, SearchConfiguration(banned_words=("zebra",)))


@pytest.mark.slow
def test_constraints_of_ones_own_and_a_saved_model_with_them(model, tmp_path):
    (word,) = model.target_tokenizer.encode(model.target_tokenizer.vocabulary()[:1]).to_list()[0]
    ban = functools.partial(ban_tokens, banned=[END, word])
    searcher = Searcher(model, SearchConfiguration(beam_size=2), constraints=[ban])
    (found,) = searcher.translate(SOURCES[:1])
    assert word not in found.ids
    assert found.lengths[0] == 2 * len(SOURCES[0].split()) + 12
    module = tf.Module()
    module.searcher, module.search = searcher, searcher.function()
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert loaded.search(tf.constant(SOURCES[:1])).texts[0, 0].numpy() == found.texts[0]
    shortlist = Shortlist(
        np.zeros([model.source_tokenizer.vocabulary_size, 1]), [4], model.target_tokenizer.vocabulary_size
    )
    with pytest.raises(UserError, match="constraints=1: allowed is none with a shortlist"):
        Searcher(model, shortlist=shortlist, constraints=[ban])


@pytest.mark.parametrize("options", [{"method": "sample"}, {"beam_size": 40}], ids=["sample", "wide beam"])
def test_a_sentence_that_never_ends_ends(options):
    """Also with a beam that is wider than the vocabulary, where there may be fewer translations than asked for."""
    tokenizer = WordTokenizer(["a", "b"])
    model = made((tokenizer, tokenizer), bias={END: -1000.0})
    n_best = options.get("beam_size", 1)
    limits = {"maximum_length_factor": 1.5, "maximum_length_offset": 1}
    searcher = Searcher(model, SearchConfiguration(**options, **limits, n_best=n_best))
    found = searcher.translate(["a b a", "", "b"])
    for one, length, count in zip(found, (5, 0, 2), (364, 1, 1 + 3 + 9), strict=True):
        assert (one.scores > NEG_INF).sum() == min(n_best, count)
        assert one.lengths[0] == length


def test_mixed_precision(model):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        rough = made()
    finally:
        keras.config.set_dtype_policy("float32")
    (found,), (expected,) = (
        Searcher(each, SearchConfiguration(beam_size=2, alignments=True)).translate(SOURCES[:1])
        for each in (rough, model)
    )
    np.testing.assert_allclose(found.attention[0, 0], expected.attention[0, 0], atol=0.05)


def test_all_matrices_of_a_step_are_multiplied_in_bfloat16():
    """W and U of both transitions, W_a, W_1 to W_3 and w; but not the energies' vector v_a."""
    searcher = Searcher(made(conditional=True), SearchConfiguration(beam_size=1, precision="bfloat16"))
    definition = searcher.function(with_prefixes=False).get_concrete_function().graph.as_graph_def()
    parts = [[node for node in part.node_def if node.op == "MatMul"] for part in definition.library.function]
    step = max(parts, key=len)  # the loop's body; the encoder's has one product
    types = collections.Counter(tf.DType(node.attr["T"].type).name for node in step)
    assert types == {"bfloat16": 9, "float32": 1}


def test_an_empty_batch(model):
    found = Searcher(model, SearchConfiguration(beam_size=2, alignments=True)).find(tf.constant([], tf.string))
    assert found.texts.shape == found.alignments.shape == (0, 1)


def test_lists_that_do_not_fit(model):
    searcher = Searcher(model, SearchConfiguration(beam_size=1))
    with pytest.raises(UserError, match="prefixes=1: allowed is as many as texts: 2"):
        searcher.translate(["a", "b"], prefixes=["c"])
    with pytest.raises(UserError, match="texts=A dog: allowed is a list of strings"):
        searcher.translate("A dog")
    with pytest.raises(UserError, match="prefixes=DE: allowed is a list of strings"):
        searcher.translate(["a", "b"], prefixes="DE")
    with pytest.raises(UserError, match="batch_size=0: allowed is a whole number from 1"):
        searcher.translate(["a"], batch_size=0)
    with pytest.raises(UserError, match=r"^texts, number 2: half a surrogate pair, '\\udfff', is not a character$"):
        searcher.translate(["a", "\udfff"])


@pytest.mark.parametrize(
    "options, complaint",
    [
        ({"length_penalty": 100}, "length_penalty=100.*: allowed is"),
        ({"beam_size": 0}, "beam_size=0: allowed is"),
        ({"beam_size": 65537}, "beam_size=65537: allowed is"),
        ({"seed": -1}, "seed=-1: allowed is"),
        ({"method": "greedy", "coverage_penalty": 0.5}, "coverage_penalty=0.5: allowed is 0 without method=beam"),
        ({"top_k": 0}, "top_k=0: allowed is"),
        ({"top_k": 65537}, "top_k=65537: allowed is"),
        ({"top_p": 0}, "top_p=0: allowed is"),
        ({"temperature": 0}, "temperature=0: allowed is"),
        ({"n_best": 6}, r"n_best=6: allowed is 1 to 5"),
        ({"method": "greedy", "n_best": 2}, "n_best=2: allowed is 1 with method=greedy, which finds one translation"),
        ({"maximum_length_factor": -1}, "maximum_length_factor=-1: allowed is"),
        ({"minimum_length": -1}, "minimum_length=-1: allowed is"),
        ({"minimum_length": 100_001}, "minimum_length=100001: allowed is"),
        ({"no_repeat_ngram": 0}, "no_repeat_ngram=0: allowed is"),
        ({"no_repeat_ngram": 101}, "no_repeat_ngram=101: allowed is"),
        ({"maximum_length_factor": 1001.0}, "maximum_length_factor=1001.0: allowed is"),
        ({"maximum_length_offset": 100_001}, "maximum_length_offset=100001: allowed is"),
        ({"method": "best"}, "method=best: allowed is one of greedy, sample, beam"),
    ],
)
def test_configurations_that_are_wrong(options, complaint):
    with pytest.raises(UserError, match=complaint):
        SearchConfiguration(**options)


@pytest.mark.parametrize("option", [{"alignments": True}, {"replace_unknown": True}, {"coverage_penalty": 0.1}])
def test_what_needs_attention_says_so(option):
    with pytest.raises(UserError, match=f"{next(iter(option))}=.*: allowed is false or 0 for a model without att"):
        Searcher(made(attention="none"), SearchConfiguration(**option))
    first = made()
    second = made(first.tokenizers, attention="none")
    with pytest.raises(UserError, match="allowed is false or 0 for a model without attention"):  # of an ensemble, all
        Searcher([first, second], SearchConfiguration(**option))


def test_few_texts_are_shared_among_threads():
    texts = ["a" * (10 - i) for i in range(10)]
    whole = searcher.batches_for_threads(texts, 4, 1)
    assert whole == [[9, 8, 7, 6], [5, 4, 3, 2], [1, 0]]
    shared = searcher.batches_for_threads(texts, 64, 2)
    assert shared == searcher.batches_by_length(texts, max(searcher.SMALLEST_SHARE, 5))


def test_texts_may_be_an_array(model):
    found = Searcher(model, SearchConfiguration(beam_size=1))
    assert texts_of(found.translate(np.array(TEXTS[:3]))) == texts_of(found.translate(TEXTS[:3]))


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        (["a", 3], "^texts, number 2=3: allowed is a string$"),
        ([None], "^texts, number 1=none: allowed is a string$"),
        (b"a dog", "^texts=.*: allowed is a list of strings$"),
    ],
)
def test_what_is_no_text_is_refused(texts, complaint, model):
    with pytest.raises(UserError, match=complaint):
        Searcher(model).translate(texts)


def test_alternatives_have_probabilities_also_where_no_scores_are_asked_for(model):
    text, prefix = tf.constant(TEXTS[:1]), tf.constant([""])
    found = {
        scores: Searcher(model, SearchConfiguration(beam_size=1, scores=scores)).find(text, prefix, alternatives=4)
        for scores in (True, False)
    }
    assert 0 < found[False].next_probabilities.numpy().sum() <= 1 + 1e-5
    np.testing.assert_allclose(found[False].next_probabilities, found[True].next_probabilities, rtol=1e-5)


def test_other_arguments_are_refused(model):
    with pytest.raises(TypeError, match="the configuration is a SearchConfiguration, not dict"):
        Searcher(model, {"beam_size": 3})
    texts = tf.constant(TEXTS[:2])
    with pytest.raises(UserError, match="^alternatives=3: allowed is None without prefixes"):
        Searcher(model).find(texts, alternatives=3)
    with pytest.raises(UserError, match="^alternatives=0: allowed is a whole number from 1"):
        Searcher(model).find(texts, tf.constant(["", ""]), alternatives=0)


def test_an_ensemble_gives_log_probabilities_though_logits_are_enough_for_one_model(model):
    """The mean is of probabilities, which logits are not yet."""
    ensemble = Ensemble([model, made(model.tokenizers, seed=2, attention="none")])
    source, found = ensemble.source_ids(tf.constant(SOURCES[:2])), []
    for normalized in (True, False):
        step, states, memory = ensemble.search_step(source, normalized=normalized)
        found.append(step(tf.constant([START, START]), states, memory)[0])
    np.testing.assert_allclose(np.exp(found[0]).sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(*found)


def test_a_beam_takes_no_step_for_translations_that_are_not_asked_for():
    """Without a length penalty every further word costs: which is the best is known before which are the best five."""
    model, options = made(bias={END: 8.0}), {"beam_size": 5, "length_penalty": 0.0}
    one, five = (
        Searcher(model, SearchConfiguration(**options, n_best=n_best)).find(tf.constant(SOURCES[:6]))
        for n_best in (1, 5)
    )
    np.testing.assert_array_equal(one.texts[:, 0], five.texts[:, 0])
    assert one.ids.shape[2] < five.ids.shape[2]


def test_there_are_no_more_alternatives_than_tokens():
    """<unk>, a and b; and none where there is no text."""
    tokenizer, limits = WordTokenizer(["a", "b"]), {"maximum_length_factor": 0.0, "maximum_length_offset": 1}
    searcher = Searcher(made((tokenizer, tokenizer)), SearchConfiguration(beam_size=1, **limits))
    found = searcher.find(tf.constant(["a", ""]), tf.constant(["", ""]), alternatives=5)
    probabilities = found.next_probabilities[:, 0].numpy()
    assert (probabilities[:3] > 0).all() and not probabilities[3:].any()
    assert found.texts[3:, 0].numpy().tolist() == [b""] * 7


def test_without_scores_it_is_told_too_that_nothing_was_found(model):
    ban = functools.partial(ban_tokens, banned=range(model.target_tokenizer.vocabulary_size))
    searcher = Searcher(model, SearchConfiguration(beam_size=1, scores=False), constraints=[ban])
    found = searcher.find(tf.constant([SOURCES[0], ""]))
    np.testing.assert_array_equal(found.texts, [[b""], [b""]])
    for scores in (found.scores, found.log_probabilities):
        np.testing.assert_array_equal(scores, np.float32([[NEG_INF], [0]]))
