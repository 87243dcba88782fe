"""Tokenizers: round trips of text, in the graph, through files, in a SavedModel, and after a seed is set."""

import copy
import io
import json
import os
import pickle
import subprocess
import sys
import unicodedata
from collections import Counter

import pytest
import sentencepiece
import tensorflow as tf

from tfnmt.configuration import from_json
from tfnmt.errors import UserError
from tfnmt.text.tokenizer_configuration import TextConfiguration
from tfnmt.text.tokenizers import (
    END,
    PADDING,
    START,
    UNKNOWN,
    SubwordTokenizer,
    WordTokenizer,
    load_tokenizer,
    make_tokenizers,
    tokenizer_from_config,
)

SUBJECTS = ["Ein Mann", "Eine Frau", "Der große Hund", "Das Mädchen", "Ein kleiner Junge", "Die Straße"]
VERBS = ["sieht", "liest", "trägt", "findet", "verkauft"]
OBJECTS = ["ein Buch", "zwei Äpfel", "den Limonade- und Bierstand", "nichts", "die „Zeitung“", "½ Glas"]
PLAIN = [f"{s} {v} {o}." for s in SUBJECTS for v in VERBS for o in OBJECTS]
TOKENIZED = [
    "a man &apos;s hat",
    "the well @-@ known dogs .",
    "two dogs &quot; run &quot; .",
    "a hat , a man",
]


def subwords(**options) -> SubwordTokenizer:
    return SubwordTokenizer.train(PLAIN, vocabulary_size=60, **options)


TOKENIZERS = {
    "unigram": subwords,
    "bpe": lambda: subwords(model_type="bpe"),
    "lowercase": lambda: subwords(lowercase=True),
    "words": lambda: WordTokenizer.train(PLAIN),
    "words and punctuation": lambda: WordTokenizer.train(PLAIN, split_punctuation=True, lowercase=True),
}


@pytest.fixture(params=TOKENIZERS, scope="module")
def tokenizer(request):
    return TOKENIZERS[request.param]()


def decoded(tokenizer, text: list[str]) -> list[str]:
    return [line.decode() for line in tokenizer.decode(tokenizer.encode(tf.constant(text))).numpy()]


def test_round_trip(tokenizer):
    expected = [line.lower() if tokenizer.lowercase else line for line in PLAIN]
    assert decoded(tokenizer, PLAIN) == expected


def test_ids_are_int32_and_within_the_vocabulary(tokenizer):
    ids = tokenizer.encode(tf.constant(PLAIN))
    assert ids.dtype == tf.int32
    assert ids.shape.rank == 2
    flat = ids.flat_values.numpy()
    assert flat.min() > END
    assert flat.max() < tokenizer.vocabulary_size


def test_decoding_stops_at_end_and_ignores_padding_and_start(tokenizer):
    first, second = (row.tolist() for row in tokenizer.encode(tf.constant(["Ein Mann", "zwei"])).numpy())
    rows = [[START, *first, END, *second], [PADDING, *second, PADDING, END], [END], []]
    ragged = tf.ragged.constant(rows, dtype=tf.int64)
    expected = decoded(tokenizer, ["Ein Mann", "zwei", "", ""])
    assert [line.decode() for line in tokenizer.decode(ragged).numpy()] == expected
    assert [line.decode() for line in tokenizer.decode(ragged.to_tensor(PADDING)).numpy()] == expected


def test_empty_text_and_empty_batch(tokenizer):
    assert decoded(tokenizer, ["", "Ein Mann", " "])[::2] == ["", ""]
    assert tokenizer.encode(tf.zeros([0], tf.string)).nrows() == 0
    assert tokenizer.decode(tf.zeros([2, 0], tf.int32)).numpy().tolist() == [b"", b""]


def test_every_id_has_a_token(tokenizer):
    assert tokenizer.ids_to_tokens(tf.constant([[PADDING, UNKNOWN], [START, END]])).numpy().tolist() == [
        [b"<pad>", b"<unk>"],
        [b"<s>", b"</s>"],
    ]
    names = tokenizer.ids_to_tokens(tf.range(tokenizer.vocabulary_size)).numpy()
    assert len(set(names)) == tokenizer.vocabulary_size
    assert tokenizer.ids_to_tokens(tokenizer.vocabulary_size).numpy() == b"<unk>"


def test_unseen_text_is_unknown(tokenizer):
    assert UNKNOWN in tokenizer.encode(tf.constant(["日本"])).numpy()[0]
    assert "<unk>" in decoded(tokenizer, ["日本"])[0]
    assert tokenizer.encode(tf.constant([b"\xff\xfe"])).numpy()[0][-1] == UNKNOWN


def test_surface_forms_match_the_ids_and_can_replace_unknown_tokens(tokenizer):
    texts = tf.constant([PLAIN[0], "Ein 猫 sieht", ""])
    ids, forms = tokenizer.encode(texts), tokenizer.surface_forms(texts)
    assert forms.row_lengths().numpy().tolist() == ids.row_lengths().numpy().tolist()
    back = tokenizer.decode(ids.to_tensor(PADDING), unknown_tokens=forms.to_tensor(""))
    assert back[1:].numpy().tolist() == [text.encode() for text in tokenized(["Ein 猫 sieht", ""], tokenizer)]
    assert back[0] == tokenizer.decode(ids)[0]
    begins = tokenizer.begins_word(ids.to_tensor(PADDING)[0, : ids.row_lengths()[0]])
    words = len(tokenizer.surface_forms([PLAIN[0]])[0]) if tokenizer.kind == "word" else len(PLAIN[0].split())
    assert int(tf.reduce_sum(tf.cast(begins, tf.int32))) == words


def tokenized(texts, tokenizer):
    return [text.lower() if tokenizer.options()["lowercase"] else text for text in texts]


def test_special_tokens_in_the_text_are_plain_text(tokenizer):
    ids = tokenizer.encode(tf.constant(["<s> <pad> </s>"])).numpy()[0]
    assert not {PADDING, START, END} & set(ids.tolist())


def test_composed_and_decomposed_letters_are_the_same(tokenizer):
    text = tf.constant(["Das Mädchen", unicodedata.normalize("NFD", "Das Mädchen")])
    composed, decomposed = tokenizer.encode(text).numpy()
    assert composed.tolist() == decomposed.tolist()


def save(tokenizer, directory):
    for name, content in tokenizer.files("source").items():
        (directory / name).write_bytes(content)


def test_saved_files_restore_it(tokenizer, tmp_path):
    save(tokenizer, tmp_path)
    loaded = load_tokenizer(tmp_path, "source")
    assert loaded.get_config() == tokenizer.get_config()
    assert decoded(loaded, PLAIN) == decoded(tokenizer, PLAIN)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_is_the_same(copied, tokenizer):
    again = copied(tokenizer)
    assert again is not tokenizer and again.get_config() == tokenizer.get_config()
    assert again.encode(tf.constant(PLAIN[:3])).to_list() == tokenizer.encode(tf.constant(PLAIN[:3])).to_list()


def test_its_digest_is_that_of_its_vocabulary_and_its_options(tokenizer, tmp_path):
    for name, content in tokenizer.files("words").items():
        (tmp_path / name).write_bytes(content)
    assert load_tokenizer(tmp_path, "words").digest() == tokenizer.digest()
    options = tokenizer.options()
    other = type(tokenizer).from_asset(tokenizer.asset(), options | {"lowercase": not options["lowercase"]})
    assert other.digest() != tokenizer.digest()


def test_its_configuration_restores_it(tokenizer):
    config = json.loads(json.dumps(tokenizer.get_config()))
    assert tokenizer_from_config(config).get_config() == tokenizer.get_config()
    assert type(tokenizer).from_config(config).get_config() == tokenizer.get_config()


def test_a_saved_model_includes_it(tokenizer, tmp_path):
    module = tf.Module()
    module.tokenizer = tokenizer
    module.there_and_back = tf.function(
        lambda text: tokenizer.decode(tokenizer.encode(text)),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert [line.decode() for line in loaded.there_and_back(tf.constant(PLAIN)).numpy()] == decoded(tokenizer, PLAIN)


def test_setting_a_seed_does_not_break_it(tokenizer):
    encode = tf.function(lambda text: tokenizer.encode(text).flat_values)
    text = tf.constant(PLAIN[:2])
    before = encode(text).numpy().tolist()
    tf.random.set_seed(1)
    assert encode(text).numpy().tolist() == before
    assert tokenizer.encode(text).flat_values.numpy().tolist() == before


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_subwords_that_are_drawn_are_of_the_same_text_and_depend_on_the_seed(model_type):
    tokenizer = subwords(model_type=model_type, lowercase=True)
    draw = tf.function(lambda text, seed: tokenizer.sample(text, 0.3, seed))
    first, other, again = (draw(tf.constant(PLAIN), tf.constant(seed)).to_list() for seed in (1, 2, 1))
    assert first == again != other
    assert first != tokenizer.encode(tf.constant(PLAIN)).to_list()
    for ids in (first, other):
        decoded_ids = tokenizer.decode(tf.ragged.constant(ids, tf.int32)).numpy()
        assert [line.decode() for line in decoded_ids] == [line.lower() for line in PLAIN]
    assert draw(tf.constant([], tf.string), tf.constant(1)).to_list() == []


@pytest.mark.parametrize("train", [SubwordTokenizer.train, WordTokenizer.train])
def test_tokenized_text_comes_back_exactly(train):
    assert decoded(train(TOKENIZED, vocabulary_size=32), TOKENIZED) == TOKENIZED


def test_subwords_keep_characters_that_compatibility_forms_would_rewrite():
    assert decoded(subwords(), ["½ Äpfel  \u00a0und\tHund "]) == ["½ Äpfel und Hund"]


def test_lowercase_is_the_same_in_every_locale():
    """ICU takes the locale from the environment, once; it need not be installed."""
    texts = ["IT IS I", *"İÌÍĨĮ", "I\u0307", "Į\u0303", "ÄÉΣ"]
    program = (
        "import sys, tensorflow as tf\n"
        "from tfnmt.text.tokenizer import normalize\n"
        "sys.stdout.buffer.write(b'\\n'.join(normalize(tf.constant(sys.argv[1:]), True).numpy()))"
    )
    command = [sys.executable, "-c", program, *texts]
    locales = ("C.UTF-8", "tr_TR.UTF-8", "lt_LT.UTF-8")
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"LC_ALL": locale}) for locale in locales
    ]
    expected = [unicodedata.normalize("NFC", text).lower().replace("ς", "σ") for text in texts]
    for process in processes:
        written, _ = process.communicate()
        assert written.decode().replace("ς", "σ").split("\n") == expected


def test_a_nul_does_not_end_a_lowercased_text():
    tokenizer = WordTokenizer(["a", "dog", "runs"], lowercase=True)
    assert tokenizer.encode(tf.constant(["A DOG\0 RUNS", "\0"])).to_list() == [[4, UNKNOWN, 6], [UNKNOWN]]


def test_lowercase_keeps_the_german_s():
    assert decoded(subwords(lowercase=True), ["Die Straße ÄPFEL"]) == ["die straße äpfel"]


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_training_subwords_twice_gives_the_same(model_type):
    assert subwords(model_type=model_type).model == subwords(model_type=model_type).model


def test_subword_vocabulary_has_the_size_asked_for():
    assert subwords().vocabulary_size == 60


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_too_large_a_subword_vocabulary_names_the_largest(model_type):
    with pytest.raises(UserError, match=r"5000 subwords is too large .* at most (\d+)") as raised:
        SubwordTokenizer.train(PLAIN, 5000, model_type)
    largest = int(str(raised.value).split("at most ")[1].split()[0])
    assert str(raised.value).endswith("; lower vocabulary_size")
    assert SubwordTokenizer.train(PLAIN, largest, model_type).vocabulary_size == largest


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_of_two_too_large_vocabularies_the_number_is_possible_for_both(model_type):
    """And the side with fewer subwords is named, whether it is the source or the target."""
    text = TextConfiguration(tokenizer=model_type, vocabulary_size=5000, joint_vocabulary=False)
    few = PLAIN[: len(PLAIN) // 2]
    for sides, side in (((PLAIN, few), "target"), ((few, PLAIN), "source")):
        with pytest.raises(UserError, match=f"^{side}: a vocabulary of 5000 subwords is too large") as raised:
            make_tokenizers(text, *map(iter, sides), seed=1)
        largest = int(str(raised.value).split("at most ")[1].split()[0])
        made = make_tokenizers(text.replace(vocabulary_size=largest), *map(iter, sides), seed=1)
        assert [tokenizer.vocabulary_size for tokenizer in made] == [largest, largest]


def test_too_small_a_subword_vocabulary_names_the_smallest():
    with pytest.raises(UserError, match=r"10 subwords is too small .* characters alone need \d+; raise vocab"):
        SubwordTokenizer.train(PLAIN, 10)


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_rare_characters_stay_out_of_the_vocabulary(model_type):
    """As the configuration says, by whose key the error names the way out; that of older models has no such key."""
    lines = [*PLAIN * 40, "a 猫"]
    configuration = TextConfiguration(tokenizer=model_type, vocabulary_size=60)
    kept, left_out = (
        make_tokenizers(configuration.replace(character_coverage=coverage), iter(lines), iter(lines), seed=1)[0]
        for coverage in (1.0, 0.999)
    )
    assert UNKNOWN not in kept.encode(["猫"]).to_list()[0]
    assert UNKNOWN in left_out.encode(["猫"]).to_list()[0]
    assert from_json(TextConfiguration, {"vocabulary_size": 60}).character_coverage == 1
    with pytest.raises(UserError, match=r"^character_coverage=0\.9: allowed is 0\.98 <= character_coverage <= 1$"):
        configuration.replace(character_coverage=0.9)  # SentencePiece takes no less than that


@pytest.mark.parametrize("lines", [[], ["", " "]])
def test_no_text_to_learn_from(lines):
    with pytest.raises(UserError, match="no text"):
        SubwordTokenizer.train(lines, 100)
    with pytest.raises(UserError, match="no words"):
        WordTokenizer.train(lines)


def test_word_vocabulary_goes_by_frequency_then_alphabet():
    lines = ["b a c", "b a d", "B <unk>"]
    assert WordTokenizer.train(lines).vocabulary() == ["a", "b", "B", "c", "d"]
    limited = WordTokenizer.train(lines, vocabulary_size=6)
    assert limited.vocabulary_size == 6
    assert limited.encode(tf.constant(["a b c"])).numpy()[0].tolist() == [4, 5, UNKNOWN]
    assert WordTokenizer.train(lines, lowercase=True).vocabulary() == ["b", "a", "c", "d"]


def test_punctuation_is_split_off_and_attached_again():
    text = "The dog's \"well-known\" bone (1,000.5 g at 8:30), isn't it? Yes: “so” it is!"
    tokenizer = WordTokenizer.train([text], split_punctuation=True)
    words = [word.decode() for word in tokenizer.ids_to_tokens(tokenizer.encode(tf.constant([text]))[0]).numpy()]
    expected = "The dog's \" well-known \" bone ( 1,000.5 g at 8:30 ) , isn't it ? Yes : “ so ” it is !"
    assert " ".join(words) == expected
    assert decoded(tokenizer, [text]) == [text]


def test_all_white_space_parts_words_and_no_character_ends_the_text():
    text = "a\tb\v\u00a0c\u2028 \x00 d\n"
    tokenizer = WordTokenizer([*"abcd", "\x00"], split_punctuation=True)
    assert tokenizer.surface_forms(tf.constant([text, " \v", ""])).to_list() == [
        [*(b"a", b"b", b"c", b"\0", b"d")],
        [],
        [],
    ]


def test_splitting_off_punctuation_checks_nothing_while_the_graph_runs():
    """Checks of what is true anyway made a fourth of the graph that trains a small translator."""
    encode = tf.function(WordTokenizer(["a"], split_punctuation=True).encode, autograph=False)
    graph = encode.get_concrete_function(tf.TensorSpec([None], tf.string)).graph.as_graph_def()
    assert {"Assert", "If"}.isdisjoint(operation.op for operation in graph.node)


def test_a_missing_or_broken_file_is_named(tokenizer, tmp_path):
    with pytest.raises(UserError, match=r"source\.json"):
        load_tokenizer(tmp_path, "source")
    save(tokenizer, tmp_path)
    asset = tmp_path / ("source" + tokenizer.extension)
    whole = asset.read_bytes()
    for broken in (b"", b"\xff", whole[: len(whole) // 2]):
        asset.write_bytes(broken)
        with pytest.raises(UserError, match=asset.name):
            load_tokenizer(tmp_path, "source")
    asset.unlink()
    with pytest.raises(UserError, match=asset.name):
        load_tokenizer(tmp_path, "source")
    for text in ('{"kind": "wo', "[" * 100_000):
        (tmp_path / "source.json").write_text(text)
        with pytest.raises(UserError, match=r"source\.json"):
            load_tokenizer(tmp_path, "source")


@pytest.mark.parametrize("text", [b"\xe2\x02\x05<unk>", "\n\x02½".encode()])
def test_a_subword_model_that_writes_what_is_not_utf8_is_refused(text, tmp_path):
    """The text for unknown pieces, of which TensorFlow Text makes bytes that are no text; or a piece."""
    save(subwords(), tmp_path)
    asset = tmp_path / "source.model"
    whole = asset.read_bytes()
    assert whole.count(text) == 1
    asset.write_bytes(whole.replace(text, text[:-2] + b"\xff" + text[-1:]))
    with pytest.raises(UserError, match=r"source\.model.* is not UTF-8"):
        load_tokenizer(tmp_path, "source")


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("size", [None, 6])
def test_counted_words_make_the_same_vocabulary(lowercase, size):
    lines = ["The dog", "the cafe\u0301 <unk>", "the Dog café", "a\u00a0b"]
    counts = Counter(word for line in lines for word in line.split(" "))
    counted = WordTokenizer.from_counts(counts, size, lowercase)
    assert counted.get_config() == WordTokenizer.train(lines, size, lowercase).get_config()
    with pytest.raises(UserError, match="no words to learn"):
        WordTokenizer.from_counts({}, size, lowercase)


@pytest.mark.parametrize("kind", ["words", "bpe"])
def test_a_configuration_decides_whether_case_counts(kind):
    lines = ["The Dog saw the dog", "the DOG saw The dog"] * 20
    for lowercase in (False, True):
        configuration = TextConfiguration(tokenizer=kind, vocabulary_size=24, lowercase=lowercase)
        tokenizer, _ = make_tokenizers(configuration, iter(lines), iter(lines), seed=1)
        upper, lower = tokenizer.encode(tf.constant(["The Dog", "the dog"])).to_list()
        assert (upper == lower) == lowercase


def test_a_model_with_other_special_ids_is_refused():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c"] * 9), model_writer=model, vocab_size=8, hard_vocab_limit=False, minloglevel=2
    )
    with pytest.raises(UserError, match=r"start and end are \(-1, 0, 1, 2\), not 0, 1, 2 and 3"):
        SubwordTokenizer(model.getvalue())


def test_apostrophes_of_both_kinds_are_within_words():
    tokenizer = WordTokenizer(["a"], split_punctuation=True)
    assert tokenizer.surface_forms(["dog\u2019s dog's"]).to_list() == [["dog\u2019s".encode(), b"dog's"]]


def test_one_string_is_no_list_of_words_or_lines():
    """Else its characters would be the words, or the lines."""
    with pytest.raises(UserError, match="vocabulary=dog: allowed is a list of words"):
        WordTokenizer("dog")
    for learn in (lambda: WordTokenizer.train("a dog"), lambda: SubwordTokenizer.train("a dog", 10)):
        with pytest.raises(UserError, match="lines=a dog: allowed is several strings"):
            learn()


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_surface_forms_have_no_white_space(model_type):
    (forms,) = subwords(model_type=model_type).surface_forms(["Ein  Mann und\tein Hund"]).to_list()
    assert b"".join(forms) == b"EinMannundeinHund" and len(forms) > 5


@pytest.mark.parametrize("kind", ["words", "bpe"])
def test_a_joint_vocabulary_is_learned_from_both_sides(kind):
    configuration = TextConfiguration(tokenizer=kind, vocabulary_size=10)
    source, target = make_tokenizers(configuration, iter(["a b"] * 9), iter(["c d"] * 9), seed=1)
    assert source is target and UNKNOWN not in source.encode(["a b c d"]).to_list()[0]
    with pytest.raises(UserError, match="^this and that: no (words|text) to learn"):
        make_tokenizers(configuration, iter([]), iter([]), 1, ("this", "that"))


def test_a_configuration_decides_whether_words_are_parted_from_punctuation():
    for split, words in ((False, ["a", "dog."]), (True, [".", "a", "dog"])):
        configuration = TextConfiguration(tokenizer="words", split_punctuation=split)
        tokenizer, _ = make_tokenizers(configuration, iter(["a dog."]), iter(["a dog."]), seed=1)
        assert tokenizer.vocabulary() == words


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_configuration_decides_how_subwords_are_learned(kind):
    configuration = TextConfiguration(tokenizer=kind, vocabulary_size=60, joint_vocabulary=False)
    source, _ = make_tokenizers(configuration, iter(PLAIN), iter(PLAIN), seed=0)
    assert source.model == subwords(model_type=kind).model


def test_a_configuration_decides_how_many_words_there_are():
    configuration = TextConfiguration(tokenizer="words", vocabulary_size=6)
    tokenizer, _ = make_tokenizers(configuration, iter(["c b a"]), iter(["a b d", "a"]), seed=1)
    assert tokenizer.vocabulary() == ["a", "b"]
